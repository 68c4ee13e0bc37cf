"""One folder, listed: its notes with their stamps, what is odd, what is left out.

All files of a vault, notes or not: what links can lead to.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat
from pathlib import Path

from vaultsync.errors import UnsafePathError
from vaultsync.model.paths import VaultPath, is_foreign_conflict_copy, path_key, vault_path
from vaultsync.storage.vault import FileStamp, FolderListing


def vault_files(root: Path) -> Iterator[VaultPath]:
    """The paths of all files below the root that Obsidian shows, in no order.

    Hidden files and folders are left out, and so is what no path of a vault can name.
    Folders that cannot be listed are passed over.
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
"""One of these is in each name of a file of Office, Syncthing or Dropbox."""
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class IgnoreRules:
    """What of a vault is not looked at: folders, and patterns of paths as in a shell."""

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
        # One look at all names: those of other programs are rare.
        lower = names.lower()
        if not self._patterns and not any(map(lower.__contains__, _FOREIGN)):
            return []
        return [name for name in names.split("/") if is_foreign(name) or self.folder(prefix + name)]

    def path(self, path: str) -> bool:
        """Whether a path, or any folder on the way, is ignored."""
        if not self._folders:
            return False
        return any(map(self.folder, accumulate(path.split("/"), "{}/{}".format)))


def is_foreign(name: str) -> bool:
    """Whether another program made a file of that name for itself."""
    return name.startswith("~$") or is_foreign_conflict_copy(name)


def is_unusable_name(path: str) -> bool:
    """Whether a name in a path is none that a path of a vault can hold."""
    return _NO_PATH.search(path) is not None


def stamp_from_stat(found: os.stat_result) -> FileStamp:
    """The stamp in a stat."""
    return FileStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def is_same_stamp(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both stats of one open file have the same stamp."""
    return (
        one.st_mtime_ns == other.st_mtime_ns
        and one.st_ctime_ns == other.st_ctime_ns
        and one.st_size == other.st_size
    )


def irregularity(found: os.stat_result, *, links: int = 1) -> str:
    """What a file is if it is no regular file of so many names; empty if it is."""
    if stat.S_ISREG(found.st_mode):
        return "a hard link" if found.st_nlink > links else ""
    return next((name for test, name in _KINDS if test(found.st_mode)), "a device")


def list_folder(fd: int, path: str, ignore: IgnoreRules) -> tuple[FolderListing, list[str]]:
    """What is in one folder, and the folders in it; an idle pass does little else."""
    prefix = path and path + "/"
    plain: dict[str, tuple[int, int, int, int]] = {}
    odd: dict[str, tuple[str, FileStamp]] = {}
    below = []
    kind, regular = 0o170000, stat.S_IFREG
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
                s = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if s.st_nlink == 1 and s.st_mode & kind == regular:
                plain[name] = (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino)
            else:
                odd[name] = (irregularity(s), stamp_from_stat(s))
    names = "/" + "/".join(chain(plain, odd))
    for name in ignore.files(prefix, names):
        plain.pop(name, None)
        odd.pop(name, None)
    if not names.isprintable() or "\\" in names:
        for name in filter(_NO_PATH.search, list(plain)):
            odd[name] = ("a name that no path can hold", FileStamp(*plain.pop(name)))
    listed = sorted(plain)
    stamps = map(tuple.__new__, repeat(FileStamp), map(plain.__getitem__, listed))
    files: dict[str, FileStamp] = dict(zip(listed, stamps, strict=True))
    strange = {name: odd[name][1] for name in sorted(odd)}
    kinds = {printable_name(name): odd[name][0] for name in strange}
    return FolderListing(VaultPath(path), fingerprint(files, strange), files, kinds), below


def fingerprint(files: Mapping[str, FileStamp], odd: Mapping[str, FileStamp]) -> bytes:
    """A digest of sorted names and stamps, the same in every process."""
    digest = hashlib.blake2b(digest_size=16)
    for group in (files, odd):
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
