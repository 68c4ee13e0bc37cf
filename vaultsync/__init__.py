"""The memory that people and agents share: a store of facts, a vault of notes.

    import vaultsync

    with vaultsync.open("~/Memory", agent="indy") as memory:
        fact = memory.remember("We chose LanceDB because it is embedded.", type="decision")
        report = memory.sync()

Importing this package loads nothing heavy: what is behind a name is loaded when it is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultsync import errors
    from vaultsync.api.memory import Memory
    from vaultsync.api.opening import init, open  # noqa: A004 - what its users say
    from vaultsync.errors import VaultsyncError
    from vaultsync.model.fact import Fact

__version__ = "0.1.0"

_WHERE = {
    "Fact": "vaultsync.model.fact",
    "Memory": "vaultsync.api",
    "VaultsyncError": "vaultsync.errors",
    "errors": "vaultsync",
    "init": "vaultsync.api",
    "open": "vaultsync.api",
}

__all__ = ["Fact", "Memory", "VaultsyncError", "errors", "init", "open"]


def __getattr__(name: str) -> object:
    """Load what is behind a public name."""
    if name == "errors":
        return importlib.import_module("vaultsync.errors")
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(name)
