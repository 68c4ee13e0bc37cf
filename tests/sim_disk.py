"""A disk in memory, with the editors of its users, and its failures.

Names point to inodes, so that an editor may keep a displaced file open. A crash loses what
was not synced, partially or completely; the edits of users count as
synced.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vaultsync.model.file_names import is_foreign_conflict_copy
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import FileStamp

MARKER = ".meta/config.toml"


def lose_all(_: bytes) -> bytes:
    """The default result of a crash for a new file that was not synced."""
    return b""


@dataclass(eq=False, slots=True)
class Inode:
    """A file, independent of its names."""

    number: int
    data: bytes
    mtime_ns: int
    ctime_ns: int
    kind: str = "file"
    """The kind of one that is no regular file: `a link`, `a hard link`, `a folder`, …"""
    synced: bytes | None = None
    """The data that survives a crash; None while there is none."""

    @property
    def stamp(self) -> FileStamp:
        return FileStamp(len(self.data), self.mtime_ns, self.ctime_ns, self.number)

    @property
    def sha(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(slots=True)
class Handle:
    """An editor's open file: it writes to the inode, even if that was renamed."""

    _disk: Disk
    inode: Inode

    def write(self, data: bytes) -> None:
        self._disk.overwrite(self.inode, data)

    def close(self) -> None:
        self._disk.handles = [each for each in self._disk.handles if each is not self]


@dataclass(slots=True)
class Disk:
    """The current contents of a disk, and those that certainly survive a crash."""

    case_insensitive: bool = False
    now_ns: Callable[[], int] = lambda: 0
    """The clock of the machine."""
    files_ahead: float = 0.0
    """Seconds by which the clock of the files is ahead, as that of a file server may be."""
    names: dict[str, Inode] = field(default_factory=dict)
    """All files, including staged and derived ones."""
    folders: set[str] = field(default_factory=set)
    """Existing folders, even if they are empty."""
    broken: set[str] = field(default_factory=set)
    read_only: set[str] = field(default_factory=set)
    missing: bool = False
    knows_writers: bool = False
    """Whether the system knows which files are open."""
    handles: list[Handle] = field(default_factory=list)
    """The files that are open in editors."""
    _last_ns: int = 0
    _inodes: int = 0
    _safe: dict[str, Inode] = field(default_factory=dict)
    """The names that survive a crash."""
    _volatile: list[dict[str, Inode | None]] = field(default_factory=list)
    """What happened since: each step gives names to inodes, or takes them away. One
    with the name `""` survives."""
    elsewhere: set[str] = field(default_factory=set)
    """What another process wrote and did not sync."""

    # --- people ----------------------------------------------------------------------

    @property
    def files(self) -> dict[str, Inode]:
        return {name: i for name, i in self.names.items() if not name.startswith(".")}

    def save_in_place(self, path: str, data: bytes) -> None:
        name = self._find(path)
        if name:
            self.overwrite(self.names[name], data)
        else:
            self._person({path: self._new(data, synced=True)})

    def save_by_rename(self, path: str, data: bytes) -> None:
        self._person({self._find(path) or path: self._new(data, synced=True)})

    def open_handle(self, path: str) -> Handle:
        self.handles.append(Handle(self, self.names[path]))
        return self.handles[-1]

    def overwrite(self, inode: Inode, data: bytes) -> None:
        inode.data = inode.synced = data
        inode.mtime_ns = inode.ctime_ns = self._tick()
        self._person({name: i for name, i in self.files.items() if i is inode})

    def delete(self, path: str) -> None:
        self._person({path: None})

    def rename(self, path: str, to: str) -> None:
        inode = self.names[path]
        inode.ctime_ns = self._tick()
        self._person({path: None, to: inode})

    def rename_folder(self, path: str, to: str) -> None:
        step: dict[str, Inode | None] = {}
        for name, inode in self.files.items():
            if name.startswith(path + "/"):
                step |= {name: None, to + name.removeprefix(path): inode}
        moved = {to, *above(to)}
        moved |= {
            to + name.removeprefix(path) if f"{name}/".startswith(path + "/") else name
            for name in self.folders
        }
        self._person(step)
        self.folders = moved

    def delete_folder(self, path: str) -> None:
        inside = [name for name in self.files if name.startswith(path + "/")]
        self._person(dict.fromkeys(inside))
        self.folders = {name for name in self.folders if not f"{name}/".startswith(path + "/")}

    def copy(self, path: str, to: str) -> None:
        self._person({to: self._new(self.names[path].data, synced=True)})

    def make_folder(self, path: str) -> None:
        self.folders.update([path, *above(path)])
        if is_note(path):
            self.make_odd(path, "a folder")

    def make_odd(self, path: str, kind: str) -> None:
        """Create something that is no regular file: `a link`, `a hard link`, …"""
        inode = self._new(b"", synced=True)
        inode.kind = kind
        self._person({path: inode})

    def make_read_only(self, path: str) -> None:
        self.read_only.add(path)

    def make_writable(self, path: str) -> None:
        self.read_only.remove(path)

    def break_folder(self, path: str) -> None:
        """Make a folder and everything below it unreadable."""
        self.broken.add(path)

    def mend_folder(self, path: str) -> None:
        self.broken.discard(path)

    def vanish(self) -> None:
        """Unmount the disk."""
        self.missing = True

    def return_(self) -> None:
        self.missing = False

    # --- accidents -------------------------------------------------------------------

    def crash(
        self,
        keep: Callable[[int], bool] | None = None,
        *,
        torn: Callable[[bytes], bytes] = lose_all,
    ) -> None:
        """Stop the machine; only what was synced certainly survives.

        `keep` says of each step since the last sync whether it survives; None means
        that only the program died, so that all does. `torn` says what is left of the
        bytes of a new file.
        """
        if keep is None:
            return
        names = dict(self._safe)
        for number, step in enumerate(self._volatile):
            if "" in step or keep(number):
                names |= {name: inode for name, inode in step.items() if name and inode}
                for name in [name for name, inode in step.items() if inode is None]:
                    names.pop(name, None)
        self.names, self._safe = names, dict(names)
        self._volatile.clear()
        for inode in names.values():
            if inode.synced is None:
                inode.data = torn(inode.data)
                inode.synced = inode.data
            elif inode.data != inode.synced:
                inode.data = inode.synced

    # --- for the vault ----------------------------------------------------------------

    def _tick(self) -> int:
        """The current time of the file system."""
        self._last_ns = max(self._last_ns + 1, self._files_ns())
        return self._last_ns

    def _files_ns(self) -> int:
        return self.now_ns() + self._ahead_ns()

    def _ahead_ns(self) -> int:
        return int(self.files_ahead * 1e9)

    def _new(self, data: bytes, *, synced: bool = False) -> Inode:
        self._inodes += 1
        now = self._tick()
        return Inode(self._inodes, data, now, now, synced=data if synced else None)

    def _set(self, step: dict[str, Inode | None]) -> None:
        self._volatile.append(step)
        for name, inode in step.items():
            if inode is None:
                self.names.pop(name, None)
            elif name:
                self.names[name] = inode
                self.folders.update(above(name))

    def _person(self, step: Mapping[str, Inode | None]) -> None:
        """Do something that survives a crash, together with the steps that created its files."""
        sure = dict(step)
        for earlier in self._volatile:
            if any(i is not None and i in sure.values() for i in earlier.values()):
                earlier[""] = None
        self._set(sure)
        sure[""] = None

    def _rename(self, inode: Inode, name: str, to: str) -> FileStamp:
        inode.ctime_ns = self._tick()
        self._set({name: None, to: inode})
        return inode.stamp

    def _swap(self, staged: str, name: str) -> None:
        one, other = self.names[staged], self.names[name]
        one.ctime_ns = other.ctime_ns = self._tick()
        self._set({staged: other, name: one})

    def _find(self, path: str) -> str | None:
        """The name as the folder lists it."""
        if path in self.names or not self.case_insensitive:
            return path if path in self.names else None
        return next((n for n in self.names if _key(n) == _key(path)), None)

    def _all_folders(self) -> set[VaultPath]:
        hidden = re.compile(r"(?:.*/)?\.")
        return {VaultPath(p) for p in ["", *self.folders] if not hidden.match(p)}

    def _is_folder(self, path: str) -> bool:
        key = self._key(path)
        return any(self._key(folder) == key for folder in self._all_folders())

    def _key(self, path: str) -> str:
        return _key(path) if self.case_insensitive else path

    def _is_broken(self, path: str) -> bool:
        return bool(self.broken) and not self.broken.isdisjoint([path, *above(path)])


def above(path: str) -> list[str]:
    """All folders that a path is in, but the root."""
    names = path.split("/")
    return ["/".join(names[:depth]) for depth in range(1, len(names))]


def is_note(path: str) -> bool:
    """Whether a scan should find a file."""
    hidden = any(name.startswith(".") for name in path.split("/"))
    return path.lower().endswith(".md") and not hidden and not is_foreign(path)


def is_foreign(path: str) -> bool:
    """Whether Office, Syncthing or Dropbox created a file."""
    name = path.rpartition("/")[2]
    return name.startswith("~$") or is_foreign_conflict_copy(name)


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
