"""Freed memory that the allocator keeps."""

from __future__ import annotations

import ctypes
import sys

_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def return_free_memory() -> None:
    """Return freed memory to the system, if the C library supports it, as that of GNU does.

    A writer's threads have their own arenas, which keep freed memory. Without this, 10,000
    imported conversations (70 MB) leave 188 MB of anonymous memory instead of 109.
    """
    if _TRIM is not None:
        _TRIM(0)
