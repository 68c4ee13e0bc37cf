"""A `Vault` in memory, on a disk that users edit and that may fail."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from tests.sim_disk import MARKER, Disk, Inode, above, is_foreign, is_note
from vaultsync import errors
from vaultsync.model.file_names import is_foreign_conflict_copy
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.storage.vault import FileStamp, FolderListing, NoteFile, VaultScan

WHERE = "memory"
STAGING = ".meta/staging/"
_OP = re.compile(r"[A-Za-z0-9_-]{1,80}")
_DERIVED = re.compile(
    r"\.(?:index|meta(?!/(?:staging|config\.toml)(?:/|$)))(?:/[^./\\\0][^/\\\0]*)+", re.IGNORECASE
)
_SWAPS = 64


def nothing(_: object) -> None:
    """The default action before an effect."""


@dataclass(slots=True)
class SimVault(Disk):
    """A vault in memory.

    `before` is called with the name of a method before it does anything, and with
    `exchange.swap`, `exchange.examine`, `exchange.back`, `withdraw.take`,
    `withdraw.examine` and `withdraw.back` before those steps. It may raise, or let a
    user do something.
    """

    vault_uuid: str = "0193f6c2-0000-7000-8000-000000000001"
    quota: int | None = None
    """Capacity in bytes; beyond it, staging fails as on a full disk."""
    before: Callable[[str], None] = nothing
    ignore: frozenset[str] = frozenset()
    max_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        self.swap_id(self.vault_uuid)

    def vault_id(self) -> str:
        self._begin("vault_id")
        if MARKER not in self.names:
            raise errors.VaultMissingError(WHERE, "it has no marker")
        try:
            return str(tomllib.loads(self.names[MARKER].data.decode())["vault_id"])
        except (KeyError, ValueError) as error:
            raise errors.VaultMissingError(WHERE, str(error)) from error

    def scan(self) -> VaultScan:
        self._begin("scan")
        at_ns = self._tick() - self._ahead_ns()  # by the clock of the machine
        unreadable = {
            VaultPath(folder): os.strerror(errno.EACCES)
            for folder in self.broken
            if not self._is_broken(folder.rpartition("/")[0])
        }
        folders = self._list(
            folder for folder in self._all_folders() if not self._is_unseen(folder)
        )
        return VaultScan(folders, unreadable, at_ns)

    def folder(self, path: VaultPath) -> FolderListing | None:
        self._begin("folder", path or None)
        if path not in self._all_folders() or self._is_unseen(path):
            return None
        return self._list([path])[path]

    def canvases(self) -> list[VaultPath]:
        self._begin("canvases")
        seen = (x for x in sorted(self.names) if "/." not in f"/{x}" and not self._is_ignored(x))
        return [VaultPath(name) for name in seen if name.lower().endswith(".canvas")]

    def stamp(self, path: VaultPath) -> FileStamp | None:
        self._begin("stamp", path)
        self._check_readable(path)
        name = self._find(path)
        return self._regular(path, self.names[name]).stamp if name else None

    def unchanged(self, stamps: Iterable[tuple[VaultPath, FileStamp]]) -> set[VaultPath]:
        same = set()
        for path, stamp in stamps:
            with suppress(errors.NoteError):
                same |= {path} if self.stamp(path) == stamp else set()
        return same

    def read(self, path: VaultPath) -> NoteFile:
        self._begin("read", path)
        self._check_readable(path)
        inode = self._regular(path, self._note(path))
        if len(inode.data) > self.max_bytes:
            why = f"it is larger than {self.max_bytes:,} bytes"
            raise errors.UnreadableNoteError(path, why, hint="max_note_bytes")
        return NoteFile(inode.data, inode.sha, inode.stamp)

    def stage(self, op: str, data: bytes) -> None:
        self._begin("stage")
        name = self._op(op)
        self._spend(data, instead_of=name)
        self._set({name: self._new(data)})

    def staged(self, op: str) -> NoteFile | None:
        self._begin("staged")
        inode = self.names.get(self._op(op))
        return NoteFile(inode.data, inode.sha, inode.stamp) if inode else None

    def may_be_written(self, op: str) -> bool:
        self._begin("may_be_written")
        inode = self.names.get(self._op(op))
        return not self.knows_writers or any(each.inode is inode for each in self.handles)

    def ops(self) -> list[str]:
        self._begin("ops")
        return sorted(name.removeprefix(STAGING) for name in self.names if name.startswith(STAGING))

    def discard(self, op: str) -> None:
        self._begin("discard")
        if self._op(op) in self.names:
            self._set({self._op(op): None})

    def create(self, op: str, path: VaultPath) -> FileStamp:
        self._begin("create", path)
        staged = self._op(op)
        inode = self._staged(op)
        self.check_new(path)
        self.check_writable(path)
        if self._find(path) or self._is_folder(path):
            raise errors.NoteExistsError(path)
        return self._rename(inode, staged, path)

    def exchange(self, op: str, path: VaultPath, expect: str) -> FileStamp:
        self._begin("exchange", path)
        self._check_writable(path)
        self.check_writable(path)
        staged, ours = self._op(op), self._staged(op)
        self._check_readable(path)
        if self._regular(path, self._note(path)).sha != expect:
            raise errors.NoteChangedError(path)
        # Repeat until the displaced file is the one that was last put in.
        our_sha, size, mtime_ns = ours.sha, len(ours.data), ours.mtime_ns
        put, under, met = (our_sha, mtime_ns), ("", 0), dict[str, bytes]()
        for swaps in range(_SWAPS):
            self.before("exchange.back" if swaps else "exchange.swap")
            name = self._find(path)
            if not name:
                if not swaps:
                    raise errors.NoteMissingError(path)
                self._rename(self.names[staged], staged, path)
                break
            self._swap(staged, name)
            self.before("exchange.examine")
            found = self.names[staged]
            seen = (found.sha, found.mtime_ns)
            if not swaps and found.sha == expect:
                return FileStamp(size, mtime_ns, ours.ctime_ns, ours.number)
            if seen == under:
                break
            met[found.sha] = found.data
            put, under = seen, put
        known = {put[0], expect, our_sha}
        raise errors.NoteChangedError(path, tuple(met[sha] for sha in met if sha not in known))

    def move(self, path: VaultPath, to: VaultPath) -> None:
        self._begin("move", path)
        self._check_writable(path)
        self.check_writable(path)
        self.check_new(to)
        name = self._find(path)
        if not name:
            raise errors.NoteMissingError(path)
        inode = self._regular(path, self.names[name])
        there = self._find(to)
        if self._is_folder(to) or (there and (there != name or to == name)):
            raise errors.NoteExistsError(to)
        self._rename(inode, name, to)

    def stage_removal(self, op: str, path: VaultPath, expect: str) -> None:
        self._begin("stage_removal", path)
        self._check_writable(path)
        self.check_writable(path)
        staged = self._op(op)
        self._check_readable(path)
        if self._regular(path, self._note(path)).sha != expect:
            raise errors.NoteChangedError(path)
        if staged in self.names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), op)
        self.before("stage_removal.take")
        name = self._find(path)
        if not name:
            raise errors.NoteMissingError(path)
        inode = self.names[name]
        self._rename(inode, name, staged)
        self.before("stage_removal.examine")
        if inode.sha == expect:
            return
        self.before("stage_removal.back")
        if self._find(path):
            raise errors.NoteChangedError(path, (inode.data,))
        self._rename(inode, staged, name)
        raise errors.NoteChangedError(path)

    def write_meta(self, path: VaultPath, data: bytes) -> bool:
        self._begin("write_meta")
        self._check_derived(path)
        inode = self.names.get(path)
        if inode and inode.kind == "a folder":
            raise errors.NotRegularFileError(path, inode.kind)
        if inode and inode.data == data:
            return False
        self._spend(data, instead_of=path)
        self._set({path: self._new(data)})
        return True

    def read_meta(self, path: VaultPath) -> bytes | None:
        self._begin("read_meta")
        self._check_derived(path)
        inode = self.names.get(path)
        return inode.data if inode and inode.kind == "file" else None

    def list_meta(self, folder: VaultPath) -> dict[VaultPath, FileStamp]:
        self._begin("list_meta")
        self._check_derived(VaultPath(f"{folder}/x"))
        return {
            VaultPath(path): inode.stamp
            for path, inode in sorted(self.names.items())
            if path.rpartition("/")[0] == folder
            and inode.kind == "file"
            and _DERIVED.fullmatch(path)
        }

    def drop_meta(self, path: VaultPath) -> None:
        self._begin("drop_meta")
        self._check_derived(path)
        if path in self.names:
            self._set({path: None})

    def touched(self, path: VaultPath, *gone: VaultPath) -> None:
        self._begin("touched")

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def sync(self, others: Iterable[VaultPath] = ()) -> None:
        self._begin("sync")
        self.elsewhere -= set(others)
        self._safe |= {name: x for name, x in self.names.items() if name not in self.elsewhere}
        self._safe = {name: x for name, x in self._safe.items() if name in self.names}
        self._volatile = [{name: self.names[name] for name in self.elsewhere & set(self.names)}]
        for inode in self._safe.values():
            inode.synced = inode.data

    def swap_id(self, new: str) -> None:
        """Put another vault's marker in place; an empty id is a marker without one."""
        self.vault_uuid = new
        text = f'vault_id = "{new}"\n' if new else ""
        self._person({MARKER: self._new(text.encode(), synced=True)})

    def _begin(self, method: str, path: VaultPath | None = None) -> None:
        self.before(method)
        if self.missing:
            raise errors.VaultMissingError(WHERE, "it is not mounted")
        if path is not None:
            vault_path(path)
            for folder in above(path):
                if folder in self.names and self.names[folder].kind == "a link":
                    raise errors.UnsafePathError(path, f"{folder} is a link, not a folder")

    def _spend(self, data: bytes, *, instead_of: str) -> None:
        if self.quota is None:
            return
        freed = self.names[instead_of].data if instead_of in self.names else b""
        used = sum(len(inode.data) for inode in self.names.values())
        if used - len(freed) + len(data) > self.quota:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _note(self, path: VaultPath) -> Inode:
        name = self._find(path)
        if name:
            return self.names[name]
        if self._is_folder(path):
            raise errors.NotRegularFileError(path, "a folder")
        raise errors.NoteMissingError(path)

    def _regular(self, path: VaultPath, inode: Inode) -> Inode:
        if inode.kind != "file":
            raise errors.NotRegularFileError(path, inode.kind)
        return inode

    def _op(self, op: str) -> str:
        if not _OP.fullmatch(op):
            raise errors.UnsafePathError(op, "it is not a valid name of a staged file")
        return STAGING + op

    def _staged(self, op: str) -> Inode:
        if STAGING + op not in self.names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), op)
        return self.names[STAGING + op]

    def _list(self, folders: Iterable[VaultPath]) -> dict[VaultPath, FolderListing]:
        found: dict[str, dict[str, Inode]] = {folder: {} for folder in sorted(folders)}
        for path, inode in sorted(self.names.items()):
            folder, _, name = path.rpartition("/")
            if folder in found and is_note(path) and not self._is_ignored(path):
                found[folder][name] = inode
        return {
            VaultPath(folder): _folder(VaultPath(folder), inodes)._replace(
                copies=self._copies(folder)
            )
            for folder, inodes in found.items()
        }

    def _copies(self, folder: str) -> tuple[str, ...]:
        names = (path.rpartition("/") for path in self.names)
        copies = sorted(n for f, _, n in names if f == folder and is_foreign_conflict_copy(n))
        return tuple(n for n in copies if not self._is_ignored(f"{folder}/{n}".lstrip("/")))

    def _is_unseen(self, folder: VaultPath) -> bool:
        """Whether a scan skips a folder: unreadable, ignored, or with the name of a note."""
        return (
            self._is_broken(folder)
            or self._is_ignored(folder)
            or any(map(is_note, [folder, *above(folder)]))
        )

    def _is_ignored(self, path: str) -> bool:
        return bool(self.ignore) and not self.ignore.isdisjoint([path, *above(path)])

    def _check_readable(self, path: VaultPath) -> None:
        if self._is_broken(path):
            raise errors.UnreadableNoteError(path, os.strerror(errno.EACCES))

    def check_writable(self, path: VaultPath) -> None:
        for what, place in (("the note", path), ("its folder", path.rpartition("/")[0])):
            if place in self.read_only and (self._find(place) or self._is_folder(place)):
                raise errors.ReadOnlyNoteError(path, what)

    def _check_writable(self, path: VaultPath) -> None:
        if self._is_broken(path):
            raise errors.UnwritableNoteError(path, os.strerror(errno.EACCES))

    def check_new(self, path: VaultPath) -> None:
        vault_path(path)
        self._check_writable(path)
        if self._is_ignored(path) or is_foreign(path):
            raise errors.UnsafePathError(path, "it is ignored by the settings of this vault")
        for folder in above(path):
            if self._find(folder):
                raise errors.UnsafePathError(path, f"{folder} is no folder")

    def _check_derived(self, path: VaultPath) -> None:
        if not _DERIVED.fullmatch(path):
            raise errors.UnsafePathError(path, "it is not a derived file")


def _folder(path: VaultPath, inodes: dict[str, Inode]) -> FolderListing:
    seen = repr([(name, i.kind, i.stamp) for name, i in inodes.items()])
    return FolderListing(
        path,
        hashlib.blake2b(seen.encode(), digest_size=16).digest(),
        {name: inode.stamp for name, inode in inodes.items() if inode.kind == "file"},
        {name: inode.kind for name, inode in inodes.items() if inode.kind != "file"},
    )
