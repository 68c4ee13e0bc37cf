"""How much memory this process may still use, where a limit is set (`ulimit -v`)."""

from __future__ import annotations

import sys
from pathlib import Path

from vaultsync.errors import EmbedderError

MODEL_BYTES = 448 << 20
"""What libraries for vectors and a model reserve. They end the process, without an exception,
where they get less."""


def address_space_left(*, statm: Path = Path("/proc/self/statm")) -> int | None:
    """Bytes; None where there is no limit, or it cannot be told."""
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
    """Raise `EmbedderError` where the libraries for vectors would end the process."""
    left = address_space_left()
    if left is not None and left < MODEL_BYTES:
        raise EmbedderError(
            f"this process may use only {left >> 20} MiB more memory, and a model takes"
            f" {MODEL_BYTES >> 20} MiB",
            hint="raise the limit: `ulimit -v unlimited`",
        )
