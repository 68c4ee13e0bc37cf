"""The composition root: settings -> `Memory`. The only place that knows the adapters.

What a command does not need, it does not load: a question is answered without the engine
that writes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultsync.api.memory import Memory
    from vaultsync.api.opening import Initialised, init, open  # noqa: A004 - what its users say

_WHERE = {
    "Initialised": "vaultsync.api.opening",
    "Memory": "vaultsync.api.memory",
    "init": "vaultsync.api.opening",
    "open": "vaultsync.api.opening",
}

__all__ = ["Initialised", "Memory", "init", "open"]


def __getattr__(name: str) -> object:
    """Load what is behind a name."""
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(name)
