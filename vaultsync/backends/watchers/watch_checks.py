"""Check whether this machine can watch a vault: its mount, and the limit of the system."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from vaultsync.sync.report import DoctorCheck

_MOUNTS_WITHOUT_EVENTS = re.compile(
    r"9p|afpfs|afs|beegfs|ceph|cifs|davfs|drvfs|fuse\.(?!ecryptfs|gocryptfs|encfs)"
    r"|fuseblk\.network|glusterfs|lustre|ncpfs|nfs|prl_fs|smb|vboxsf|virtiofs|vmhgfs"
    r"|webdav"
)
"""Kinds of mounts on which writes by other machines cause no event here."""
_MOUNTINFO = Path("/proc/self/mountinfo")


def mount_without_events(root: Path, *, mountinfo: Path = _MOUNTINFO) -> str:
    """The kind of the mount if it does not report changes by others; otherwise empty."""
    kind = mount_kind(root, mountinfo=mountinfo)
    return kind if _MOUNTS_WITHOUT_EVENTS.match(kind) else ""


def mount_kind(root: Path, *, mountinfo: Path = _MOUNTINFO) -> str:
    """The kind of the file system of a folder; empty when it is unknown."""
    try:
        if sys.platform == "darwin":
            listed = _of_mount()
        else:
            listed = _of_mountinfo(mountinfo.read_text(encoding="utf-8", errors="replace"))
    except (OSError, subprocess.SubprocessError):
        return ""
    where = os.path.realpath(root)
    best = ("", "")
    for point, kind in listed:
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def _of_mountinfo(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) > 4:  # noqa: PLR2004 - proc(5): the fifth is where
            # Blanks and tabs are written as octal numbers.
            where = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
            yield where, after.split(" ")[0]


def _of_mount() -> Iterable[tuple[str, str]]:  # pragma: no cover - macOS has no /proc
    done = subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=True, timeout=5)
    for line in done.stdout.splitlines():
        found = re.fullmatch(r".* on (.*) \(([^,)]+).*\)", line)
        if found:
            yield found[1], found[2]


_LIMITS = Path("/proc/sys/fs/inotify")
_AMPLE = 524_288
"""The limit that many editors recommend."""


def watch_checks(root: Path, *, limits: Path = _LIMITS) -> Iterator[DoctorCheck]:
    """Check the mount, and the number of folders that the system can watch for one user."""
    message, hint = "the system reports file changes here", ""
    if kind := mount_without_events(root):
        message = f"the vault is on {kind}, where the system does not report file changes"
        hint = "`vaultsync watch` polls every `poll_seconds`"
    yield DoctorCheck("mount", ok=True, message=message, hint=hint)
    limit = system_limit("max_user_watches", limits)
    if limit is None:
        return
    folders = sum(1 for _ in os.walk(root))
    message = f"{folders:,} folders must be watched; the system allows {limit:,}"
    # Half of the limit: editors and cloud clients of the user watch folders too.
    enough = folders * 2 <= limit
    hint = f"sudo sysctl fs.inotify.max_user_watches={max(_AMPLE, folders * 4)}"
    yield DoctorCheck("inotify", enough, message, "" if enough else hint)


def system_limit(name: str, limits: Path = _LIMITS) -> int | None:
    """A limit of inotify; None on systems without inotify."""
    try:
        return int((limits / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
