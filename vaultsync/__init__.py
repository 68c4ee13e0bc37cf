"""The memory that people and agents share: a store of facts, a vault of notes.

    import vaultsync

    with vaultsync.open("~/Memory", agent="indy") as memory:
        fact = memory.remember("We chose LanceDB because it is embedded.", type="decision")
        report = memory.sync()

Importing this package loads nothing heavy: each name is loaded when it is first used.
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

_MODULES = {
    "Fact": "vaultsync.model.fact",
    "Memory": "vaultsync.api.memory",
    "VaultsyncError": "vaultsync.errors",
    "init": "vaultsync.api.opening",
    "open": "vaultsync.api.opening",
}

__all__ = ["Fact", "Memory", "VaultsyncError", "errors", "init", "open"]


def __getattr__(name: str) -> object:
    """Load a public name."""
    if name == "errors":
        return importlib.import_module("vaultsync.errors")
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(name)


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return ["__version__", *__all__]
