"""Small files that are replaced atomically, and logs to which whole lines are appended.

Readers find either the old bytes of a file or the new ones.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Replace a file atomically, by renaming a new one over it.

    Args:
        path: the file, which may not exist yet, in an existing folder.
        data: its new content.
        mode: its permissions.
        durable: whether to wait for the disk; otherwise a power cut may undo the write.

    Raises:
        OSError: the disk is full or broken; the file is unchanged.
    """
    with draft_file(path, data, mode=mode, durable=durable) as draft:
        draft.replace(path)
    if durable:
        sync_folder(path.parent)


@contextmanager
def draft_file(path: Path, data: bytes, *, mode: int | None, durable: bool) -> Iterator[Path]:
    """A new file beside another, removed if an error follows."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    fd = os.open(draft, _NEW, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            file.write(data)
            if durable:
                file.flush()
                os.fsync(fd)
        yield draft
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # of a call with a descriptor
            error.filename = str(path)
        raise


def try_replace(path: Path, data: bytes) -> bool:
    """Replace a file that others only read to be informed; returns whether it was written.

    Does not wait for the disk; a full one is logged.
    """
    try:
        replace_file(path, data, durable=False)
    except OSError as error:
        _log.debug("%s was not written: %s", path, error)
        return False
    return True


def append_line(path: Path, line: str, *, errors: str = "strict", most: int = 0) -> int:
    """Append a line to a file, as `append_bytes()`; returns the new size of the file in bytes.

    A file that has reached `most` bytes is then renamed to its name with `.1`.
    """
    size = append_bytes(path, f"{line}\n".encode(errors=errors))
    if 0 < most <= size:
        with suppress(FileNotFoundError):  # another process has just put it aside
            path.replace(path.with_name(f"{path.name}.1"))
    return size


def append_bytes(path: Path, data: bytes, *, durable: bool = False) -> int:
    """Append to a file, which is created if missing, in one write.

    Waits for the disk only if the write is `durable`. Returns the new size of the file in bytes.

    Raises:
        OSError: the disk is full or broken, or there is no folder.
    """
    fd = os.open(path, _APPEND, 0o600)
    try:
        write_whole(fd, data, path)
        if durable:
            os.fsync(fd)
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def write_whole(fd: int, data: bytes, path: Path) -> None:
    """Write to a file in one call, which `O_APPEND` appends as a whole.

    If only a part fits on the disk, it is removed, unless another process has appended to it.

    Raises:
        OSError: the disk is full or broken.
    """
    done = os.write(fd, data)
    if done == len(data):
        return
    end = os.lseek(fd, 0, os.SEEK_CUR)
    if os.fstat(fd).st_size == end:
        os.ftruncate(fd, end - done)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def keep_copy(folder: Path, data: bytes) -> str:
    """Keep bytes in a private folder; returns the name of the file, which is their SHA-256."""
    name = sha256(data).hexdigest()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(folder / name, data)
    return name


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_file(path: Path) -> bytes:
    """Read a file, without following a link or waiting for a pipe.

    Raises:
        OSError: it is missing, unreadable, or not a regular file.
    """
    fd = os.open(path, _READ)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read a JSON file.

    Raises:
        OSError: as `read_file()`.
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(read_file(path))
    except RecursionError:
        message = f"{path} is nested too deeply"
        raise ValueError(message) from None


def read_records(paths: Iterable[Path], kind: type[T]) -> Iterator[T]:
    """The values in JSON files; those that are missing or damaged are left out."""
    import msgspec  # questions read none

    for path in paths:
        try:
            yield msgspec.convert(read_json(path), kind)
        except FileNotFoundError:
            continue  # another process wrote or removed it just now
        except (OSError, ValueError) as error:
            _log.warning("%s cannot be read: %s", path, error)
