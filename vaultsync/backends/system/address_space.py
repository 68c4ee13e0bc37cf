"""The memory that this process may still use (`ulimit -v`), and the memory that its heaps keep."""

from __future__ import annotations

import sys
from pathlib import Path

from vaultsync.errors import EmbedderError

MODEL_BYTES = 448 << 20
"""What libraries for vectors and a model reserve. They end the process, without an exception,
where they get less."""


def address_space_left(*, statm: Path = Path("/proc/self/statm")) -> int | None:
    """Bytes; None if there is no limit or it is unknown."""
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
"""One for Python, one for all threads of libraries; with 16 on two processors, making all
indexes of 30,000 facts again held 168 MB instead of 121, and took no less CPU."""


def limit_heaps() -> bool:
    """Let the threads of this process share few heaps, each of which keeps what it has got.

    Returns:
        Whether the C library lets them; that of GNU does.
    """
    import ctypes  # late: most that read here need it not

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(_M_ARENA_MAX, _HEAPS))
