"""The memory that this process may still use (`ulimit -v`), and the memory that its heaps keep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from vaultsync.errors import EmbedderError

MODEL_BYTES = 448 << 20
"""Address space, in bytes, that the libraries for vectors and a model reserve. With less, they end
the process without an exception."""


def address_space_left(*, statm: Path = Path("/proc/self/statm")) -> int | None:
    """Bytes of address space left; None if there is no limit or it is unknown."""
    if sys.platform != "linux":  # pragma: no cover - other systems do not tell
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(statm.read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())


def check_room_for_model() -> None:
    """Raise `EmbedderError` if the libraries for vectors would abort the process."""
    left = address_space_left()
    if left is not None and left < MODEL_BYTES:
        raise EmbedderError(
            f"this process may use only {left >> 20} MiB more memory, and a model takes"
            f" {MODEL_BYTES >> 20} MiB",
            hint="raise the limit: `ulimit -v unlimited`",
        )


_M_ARENA_MAX = -8
_HEAPS = 2
"""One heap for Python, one for all threads of libraries; with 16 on two processors, rebuilding all
indexes of 30,000 facts held 168 MB instead of 121, and took no less CPU. Without a limit there are
eight per processor, of which each keeps the memory of a writer of the note index: a bridge among
5,000 facts held 363 MB after 150 writes instead of 169."""


def limit_heaps() -> bool:
    """Limit the number of heaps for the threads of this process, because heaps keep freed memory.

    Returns:
        Whether the C library supports it, as that of GNU does.
    """
    return bool(_c_function("mallopt")(_M_ARENA_MAX, _HEAPS))


def return_free_memory() -> bool:
    """Return freed memory to the system, if the C library supports it, as that of GNU does.

    A writer's threads have their own heaps, which keep freed memory. Without this, 10,000
    imported conversations (70 MB) leave 188 MB of anonymous memory instead of 109.

    Returns:
        Whether any was returned.
    """
    return bool(_c_function("malloc_trim")(0))


@cache
def _c_function(name: str) -> Callable[..., int]:
    """A function of the C library, or one that does nothing where there is none."""
    import ctypes  # imported here because most callers do not need it

    return getattr(ctypes.CDLL(None), name, lambda *_: 0)
