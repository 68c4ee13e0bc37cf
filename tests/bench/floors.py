"""What stands beside ours: the least that the same work could cost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

WALK = "scandir + stat walk"
CAT = "find | xargs cat"
FILES = "temp file, fsync, rename each"
APPEND = "append + fsync"


def walk(root: Path) -> int:
    """List every folder and ask for the stamp of every file; returns how many."""
    count = 0
    pending = [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def cat(root: Path) -> None:
    """Read every note with the tools of the system."""
    find = shutil.which("find") or "find"
    xargs = shutil.which("xargs") or "xargs"
    with subprocess.Popen(
        [find, ".", "-name", "*.md", "-type", "f", "-not", "-path", "*/.*", "-print0"],
        cwd=root,
        stdout=subprocess.PIPE,
    ) as names:
        out = subprocess.DEVNULL
        subprocess.run([xargs, "-0", "cat"], cwd=root, stdin=names.stdout, stdout=out, check=True)


def write_files(root: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files as careful programs do: beside, fsync, rename; one after the other."""
    for name, data in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name("temp")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.write(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        beside.replace(path)


def append(fd: int, data: bytes) -> None:
    """Put data at the end of a file, and wait for the disk."""
    os.write(fd, data)
    os.fsync(fd)
