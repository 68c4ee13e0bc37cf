"""The folder of modules on disk."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from vaultsync.backends.contended_files import locked_file
from vaultsync.backends.filesystem.memory_file import STAGING_DIR, DiskMemoryFile
from vaultsync.errors import (
    MemoryFileChangedError,
    ModuleChangedError,
    ModulesBusyError,
    UnreadableMemoryFileError,
    UnreadableModuleError,
)
from vaultsync.modules.ports import MAX_MODULE_BYTES, DisplacedVersion, ModuleListing

MODULES_FOLDER = "docs/memories"
_KEPT = (".md", "manifest.yaml")


class DiskModuleFolder:
    """A `ModuleFolder` that replaces files by exchange, and does not follow links."""

    def __init__(self, path: Path, *, root: Path, locks: Path) -> None:
        """Name it.

        Args:
            path: the folder, which may be missing.
            root: the root of the repository or the vault, to which names are relative.
            locks: another folder, for the lock.
        """
        self.path = path
        self._root = root
        self._locks = locks
        self.name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        if self.name == ".":
            self.name = path.name
        self.key = str(path)

    def listing(self) -> ModuleListing:
        documents, topics = [], {}
        for name, is_folder in _entries(self.path):
            if is_folder:
                names = [each for each, inner in _entries(self.path / name) if not inner]
                kept = tuple(each for each in names if each.endswith(_KEPT))
                if kept:
                    topics[name] = kept
            elif name.endswith(".md"):
                documents.append(name)
        return ModuleListing(tuple(documents), topics)

    def read(self, path: str) -> bytes | None:
        where = self._checked(path)
        if where is None:
            return None
        try:
            return DiskMemoryFile(where, self._shown(path)).read(MAX_MODULE_BYTES)
        except UnreadableMemoryFileError as error:  # whose hint is about memory files
            raise UnreadableModuleError(self._shown(path), error.why) from None

    def replace(self, path: str, data: bytes, expect: bytes | None) -> None:
        with self._files(path, create=True) as files:
            for each in files:
                each.replace(data, expect)

    def has_leftovers(self) -> bool:
        with contextlib.suppress(OSError):  # a folder that cannot be read has none for the user
            topics = (self.path / name for name, is_folder in _entries(self.path) if is_folder)
            return any((each / STAGING_DIR).is_dir() for each in (self.path, *topics))
        return False

    def displaced(self, path: str) -> Sequence[DisplacedVersion]:
        place = f"{self._shown(path).rpartition('/')[0]}/{STAGING_DIR}"
        with self._files(path) as files:
            return [DisplacedVersion(*x, place) for each in files for x in each.displaced()]

    def drop_displaced(self, path: str, data: bytes) -> None:
        with self._files(path) as files:
            for each in files:
                each.drop_leftovers(data)

    @contextlib.contextmanager
    def _files(self, path: str, *, create: bool = False) -> Iterator[Sequence[DiskMemoryFile]]:
        """The file at a path, unless its folder is missing, with the errors of modules."""
        shown, where = self._shown(path), self._checked(path, create=create)
        try:
            yield [] if where is None else [DiskMemoryFile(where, shown)]
        except MemoryFileChangedError as error:
            raise ModuleChangedError(shown, error.saved) from None
        except UnreadableMemoryFileError as error:
            raise UnreadableModuleError(shown, error.why, hint=error.hint) from None

    def lock(self, seconds: float) -> contextlib.AbstractContextManager[None]:
        self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = sha256(self.key.encode(errors="surrogatepass")).hexdigest()[:16]
        busy = ModulesBusyError(self.name, seconds)
        return locked_file(self._locks / f"{name}.lock", seconds, busy)

    def _shown(self, path: str) -> str:
        return f"{self.name}/{path}"

    def _checked(self, path: str, *, create: bool = False) -> Path | None:
        """The path on disk, if it contains no link; None if its folder is missing."""
        parts = path.split("/")
        if not all(parts) or {".", ".."} & {*parts} or "\0" in path:
            raise UnreadableModuleError(self._shown(path), "it is not in the folder")
        folder = self._root if self.path.is_relative_to(self._root) else self.path.parent
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        for part in (*self.path.relative_to(folder).parts, *parts[:-1]):
            folder /= part
            if create:
                with contextlib.suppress(FileExistsError):
                    folder.mkdir()
            try:
                found = folder.lstat()
            except FileNotFoundError:
                return None
            if not stat.S_ISDIR(found.st_mode):
                why = f"{folder.name} is a link or not a folder"
                raise UnreadableModuleError(self._shown(path), why)
        where = folder / parts[-1]
        if where.is_symlink():
            raise UnreadableModuleError(self._shown(path), "it is a link, which is not followed")
        return where


def _entries(folder: Path) -> list[tuple[str, bool]]:
    """The sorted names in a folder that is not a link, and whether each is a folder.

    The index could not contain a name that is not UTF-8.
    """
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as found:
            entries = [
                (each.name, each.is_dir(follow_symlinks=False))
                for each in found
                if not each.name.startswith(".") and not each.is_symlink() and _is_utf8(each.name)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(entries)


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in name)
