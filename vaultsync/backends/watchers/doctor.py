"""Whether this machine can watch a vault: the checks of `doctor` that are about watching."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vaultsync.backends.system.doctor import Finding
from vaultsync.backends.watchers.mounts import silent_mount

_LIMITS = Path("/proc/sys/fs/inotify")
_AMPLE = 524_288
"""What many editors ask for too."""


def watch_checks(root: Path, *, limits: Path = _LIMITS) -> Iterator[Finding]:
    """Look at the mount, and at how many folders the system watches for one user."""
    yield _mount(root)
    limit = _number(limits / "max_user_watches")
    if limit is not None:
        yield _watches(root, limit)


def _mount(root: Path) -> Finding:
    kind = silent_mount(root)
    if not kind:
        return Finding("mount", ok=True, message="the system tells what changes here")
    return Finding(
        "mount",
        ok=True,
        message=f"the vault is on {kind}, where the system does not tell what changes",
        hint="`vaultsync watch` looks by itself every `poll_seconds`",
    )


def _watches(root: Path, limit: int) -> Finding:
    folders = sum(1 for _ in os.walk(root))
    # Half of them, for editors and cloud clients of the same user watch folders too.
    enough = folders * 2 <= limit
    hint = f"sudo sysctl fs.inotify.max_user_watches={max(_AMPLE, folders * 4)}"
    return Finding(
        "inotify",
        ok=enough,
        message=f"{folders:,} folders are to be watched; the system allows {limit:,}",
        hint="" if enough else hint,
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
