"""Files of other tools: a file, a folder or a ZIP archive to read; a folder to write."""

from __future__ import annotations

import codecs
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, TypeAlias

from vaultsync.errors import ExchangeFileError
from vaultsync.exchange.ports import SourceFiles

_PIECE = 1 << 20
MAX_FILE = 8 << 30
"""Maximum size of one unpacked file, in bytes, against ZIP bombs."""
_TOO_LARGE = f"it is larger than {MAX_FILE >> 30} GiB"
MAX_FILES = 1_000_000
_DAMAGED = (
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What `zipfile` raises for a file that is damaged, encrypted, or packed in an unknown way."""
_Place: TypeAlias = tuple[zipfile.ZipFile, str]
"""An archive, and the name of a file in it."""
_SHOWN_FOLDERS = frozenset({".cursor", ".cursorrules"})


@contextmanager
def open_source(path: Path) -> Iterator[SourceFiles]:
    """The files at a path.

    Raises:
        ExchangeFileError: nothing exists there, or it is a damaged archive.
    """
    try:
        if path.is_dir():
            yield _Folder(path)
        elif path.is_file() and zipfile.is_zipfile(path):  # a device may have no end to search
            with ExitStack() as opened:
                yield _Archive(path, opened)
        else:
            path.stat()
            yield _File(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise ExchangeFileError(str(path), _why(error)) from None


class _Folder:
    """The regular files of a folder; links are not followed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        found: list[str] = []
        for folder, folders, files in os.walk(self._path, onerror=_unreadable):
            folders[:] = [each for each in folders if _is_shown(each)]
            place = Path(folder)
            paths = [place / name for name in files if _is_shown(name)]
            found += [
                x.relative_to(self._path).as_posix()
                for x in paths
                if x.is_file() and not x.is_symlink()  # to open a pipe waits for a writer
            ]
            if len(found) > MAX_FILES:
                raise ExchangeFileError(str(self._path), f"it has more than {MAX_FILES:,} files")
        return sorted(found)

    def text(self, name: str) -> Iterator[str]:
        return _text_of(self._path / name)


def _unreadable(error: OSError) -> None:
    raise ExchangeFileError(error.filename, _why(error))


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        return [self._path.name]

    def text(self, name: str) -> Iterator[str]:  # noqa: ARG002 - there is only one
        return _text_of(self._path)


class _Archive:
    """The files of a ZIP archive, or of those in it if it has no others, as Notion's exports."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self._path = path
        self._opened = opened
        self._places = self._files_of(zipfile.ZipFile(path))
        if self._places and all(name.casefold().endswith(".zip") for name in self._places):
            parts = [(name, self._files_of(self._part(name))) for name in self._places]
            self._places = {
                f"{part}/{name}": place for part, found in parts for name, place in found.items()
            }

    def _files_of(self, archive: zipfile.ZipFile) -> dict[str, _Place]:
        self._opened.enter_context(archive)
        files = (each.filename for each in archive.infolist() if not each.is_dir())
        return {x: (archive, x) for x in files if all(map(_is_shown, PurePosixPath(x).parts))}

    def _part(self, name: str) -> zipfile.ZipFile:
        """An archive in this one, unpacked into a temporary file, in which it can be searched."""
        copy = self._opened.enter_context(TemporaryFile())  # noqa: SIM115 - the stack closes it
        for block in self._blocks(name):
            copy.write(block)
        return zipfile.ZipFile(copy)

    def names(self) -> list[str]:
        return sorted(self._places)

    def text(self, name: str) -> Iterator[str]:
        return _decoded(self._blocks(name))

    def _blocks(self, name: str) -> Iterator[bytes]:
        where = f"{self._path}: {name}"
        archive, member = self._places[name]
        try:
            with archive.open(member) as file:
                yield from _blocks_of(file, where)
        except _DAMAGED as error:
            raise ExchangeFileError(where, _why(error)) from None


def _is_shown(name: str) -> bool:
    return not name.startswith((".", "__MACOSX")) or name in _SHOWN_FOLDERS


def _text_of(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            yield from _decoded(_blocks_of(file, str(path)))
    except OSError as error:
        raise ExchangeFileError(str(path), _why(error)) from None


def _blocks_of(file: IO[bytes], name: str) -> Iterator[bytes]:
    size = 0
    while block := file.read(_PIECE):
        size += len(block)
        if size > MAX_FILE:
            raise ExchangeFileError(name, _TOO_LARGE)
        yield block


def _decoded(blocks: Iterator[bytes]) -> Iterator[str]:
    first = next(blocks, b"")
    is_utf_16 = first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    form, errors = ("utf-16", "replace") if is_utf_16 else ("utf-8-sig", "surrogateescape")
    decoder = codecs.getincrementaldecoder(form)(errors)
    for block in chain([first], blocks):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


class TargetFolder:
    """A folder to which facts are exported, with their secrets: only its owner may read it."""

    def __init__(self, path: Path) -> None:
        """Create the folder.

        Raises:
            ExchangeFileError: it is not empty, or cannot be created.
        """
        self._path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise ExchangeFileError(str(path), "it is not empty", is_target=True)
        except OSError as error:
            raise ExchangeFileError(str(path), _why(error), is_target=True) from None

    def write(self, name: str, pieces: Iterable[str]) -> None:
        """Write a file below the folder.

        Raises:
            ExchangeFileError: it cannot be written, exists already, or is outside the folder.
        """
        path = self._path / name
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ExchangeFileError(str(path), "it is outside the folder", is_target=True)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(
                path, "x", encoding="utf-8", errors="replace", newline="", opener=_private
            ) as file:
                file.writelines(pieces)
        except OSError as error:
            raise ExchangeFileError(str(path), _why(error), is_target=True) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or repr(error)
