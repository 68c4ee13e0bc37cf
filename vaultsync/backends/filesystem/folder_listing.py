"""Listings: the notes of one folder with their stamps, and all files of a vault."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path

from vaultsync.errors import UnsafePathError
from vaultsync.model.paths import VaultPath, is_foreign_conflict_copy, path_key, vault_path
from vaultsync.storage.vault import FileStamp, FolderListing


def vault_files(root: Path) -> Iterator[VaultPath]:
    """The paths of all files below the root that Obsidian shows, in no order.

    Hidden files and folders are left out, names that no path of a vault can hold, and
    folders that cannot be listed.
    """
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        prefix = Path(folder).relative_to(root).as_posix()
        for name in names:
            try:
                yield vault_path(name if prefix == "." else f"{prefix}/{name}")
            except UnsafePathError:
                continue


_NO_PATH = re.compile(r"[\x01-\x1f\x7f-\x9f\\\ud800-\udfff]")
_FOREIGN = ("/~$", ".sync-conflict-", "conflicted copy")
"""Each name of a file of Office, Syncthing or Dropbox has one of these."""
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class IgnoreRules:
    """What is ignored of a vault: folders, and patterns of paths as in a shell."""

    def __init__(self, ignore: Sequence[str]) -> None:
        keys = [path_key(path.strip("/")) for path in ignore]
        patterns = [fnmatch.translate(key) for key in keys if re.search(r"[*?[]", key)]
        self._folders = set(keys)
        self._patterns = re.compile("|".join(patterns)) if patterns else None

    def folder(self, path: str) -> bool:
        """Whether a folder is ignored."""
        key = path_key(path)
        return key in self._folders or bool(self._patterns and self._patterns.match(key))

    def files(self, prefix: str, names: str) -> list[str]:
        """Those names of one folder, each after a `/`, that are ignored."""
        # One search in all names: those of other programs are rare.
        lower = names.lower()
        if not self._patterns and not any(map(lower.__contains__, _FOREIGN)):
            return []
        return [name for name in names.split("/") if is_foreign(name) or self.folder(prefix + name)]

    def path(self, path: str) -> bool:
        """Whether a path, or any of its folders, is ignored."""
        if not self._folders:
            return False
        return any(map(self.folder, accumulate(path.split("/"), "{}/{}".format)))


def is_foreign(name: str) -> bool:
    """Whether it is the name of a temporary file or a copy of another program."""
    return name.startswith("~$") or is_foreign_conflict_copy(name)


def is_unusable_name(path: str) -> bool:
    """Whether a path has a name that no path of a vault can hold."""
    return _NO_PATH.search(path) is not None


def stamp_from_stat(found: os.stat_result) -> FileStamp:
    """The stamp in a stat."""
    return FileStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def irregularity(found: os.stat_result, *, links: int = 1) -> str:
    """What a file is if not a regular one with at most `links` names; empty if it is one."""
    if stat.S_ISREG(found.st_mode):
        return "a hard link" if found.st_nlink > links else ""
    return next((name for test, name in _KINDS if test(found.st_mode)), "a device")


def list_folder(fd: int, path: str, ignore: IgnoreRules) -> tuple[FolderListing, list[str]]:
    """The notes of one folder, and its subfolders; an idle run does little else."""
    prefix = path and path + "/"
    notes: dict[str, FileStamp] = {}
    irregular: dict[str, tuple[str, FileStamp]] = {}
    below = []
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            ending = name[-3:]
            if ending != ".md" and ending.lower() != ".md":
                if entry.is_dir(follow_symlinks=False):
                    below.append(prefix + name)
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            stamp = FileStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
            if found.st_nlink == 1 and stat.S_ISREG(found.st_mode):
                notes[name] = stamp
            else:
                irregular[name] = (irregularity(found), stamp)
    names = "/" + "/".join(chain(notes, irregular))
    for name in ignore.files(prefix, names):
        notes.pop(name, None)
        irregular.pop(name, None)
    if not names.isprintable() or "\\" in names:
        for name in filter(_NO_PATH.search, list(notes)):
            irregular[name] = ("a name that no path can hold", notes.pop(name))
    files = dict(sorted(notes.items()))
    stamps = {name: stamp for name, (_, stamp) in sorted(irregular.items())}
    kinds = {printable_name(name): irregular[name][0] for name in stamps}
    return FolderListing(VaultPath(path), fingerprint(files, stamps), files, kinds), below


def fingerprint(files: Mapping[str, FileStamp], irregular: Mapping[str, FileStamp]) -> bytes:
    """A digest of sorted names and stamps, the same in every process."""
    digest = hashlib.blake2b(digest_size=16)
    for group in (files, irregular):
        numbers = list(chain.from_iterable(group.values()))
        digest.update("\0".join(group).encode(errors="surrogateescape") + b"\0\0")
        try:
            digest.update(struct.pack(f"<{len(numbers)}q", *numbers))
        except struct.error:  # some network file systems use all 64 bits of an inode
            digest.update(repr(numbers).encode())
    return digest.digest()


def printable_name(name: str) -> str:
    """A name that may not be UTF-8, as text that every file and database takes."""
    return VaultPath(name.encode(errors="surrogateescape").decode(errors="replace"))
