"""The composition root: settings -> `Memory`. The only place that knows the adapters.

What a command does not need, it does not load: a question is answered without the engine
that writes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultsync.app.memory import Memory
    from vaultsync.app.opening import Initialised, init, open  # noqa: A004 - what its users say

_WHERE = {
    "Initialised": "vaultsync.app.opening",
    "Memory": "vaultsync.app.memory",
    "init": "vaultsync.app.opening",
    "open": "vaultsync.app.opening",
}

__all__ = ["Initialised", "Memory", "init", "open"]


def __getattr__(name: str) -> object:
    """Load what is behind a name."""
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(name)
