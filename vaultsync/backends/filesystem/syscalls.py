"""Files by open folder and name: system calls that `os` lacks, and fallbacks for them.

An `EntryAt` is a name in an open folder; no function here walks a path or follows a link.
Exchange and no-replace are `renameat2` on Linux (ext4, xfs, btrfs, tmpfs, f2fs) and
`renameatx_np` on macOS; overlays, FUSE and network file systems often refuse both.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")

_SWAPS = 64
"""Maximum number of exchanges; no editor saves so often, each time between two of them."""
_LIBC = ctypes.CDLL(None, use_errno=True)
_MAC = sys.platform == "darwin"
_RENAME = getattr(_LIBC, "renameatx_np" if _MAC else "renameat2", None)
_SYNCFS = getattr(_LIBC, "syncfs", None)
_NOREPLACE = 4 if _MAC else 1
_EXCHANGE = 2
_FULLFSYNC = 51
"""macOS: `fsync` alone leaves the data in the drive's cache."""
if _RENAME is not None:
    _NAME = (ctypes.c_int, ctypes.c_char_p)
    _RENAME.argtypes = (*_NAME, *_NAME, ctypes.c_uint)

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""NONBLOCK, because opening a pipe must not wait for its other end."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_NOATIME: int = getattr(os, "O_NOATIME", 0)
READ_NOATIME_FLAGS = READ_FLAGS | _NOATIME
"""Without changing the access time, because otherwise each first read writes an inode."""
_REFUSED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_NO_LINKS = _REFUSED | {errno.EPERM, errno.EMLINK}


class EntryAt(NamedTuple):
    """A name in an open folder."""

    folder: int
    name: str


class FileMetadata(NamedTuple):
    """The metadata of a file, besides its times."""

    mode: int
    owner: tuple[int, int]
    xattrs: dict[str, bytes]


def exchange(one: EntryAt, other: EntryAt) -> bool:
    """Atomically exchange two existing names; False if this is not supported."""
    return _rename(one, other, _EXCHANGE)


def rename_new(source: EntryAt, target: EntryAt) -> bool:
    """Atomically rename, unless the target exists; False if this is not supported."""
    return _rename(source, target, _NOREPLACE)


def link_new(source: EntryAt, target: EntryAt) -> None:
    """`rename_new()` for a source that no other program replaces: link, then unlink.

    A crash in between leaves both names.
    """
    if _link(source, target):
        remove(source)
    else:
        claim_new(source, target)


def claim_new(source: EntryAt, target: EntryAt) -> None:
    """`rename_new()` for any source: claim the name with an empty file, then rename over it.

    It may overwrite only what another program writes into that file in the microseconds in
    between; a crash then leaves the empty file.
    """
    stat_of(source)
    os.close(os.open(target.name, _NEW, 0o600, dir_fd=target.folder))
    try:
        replace(source, target)
    except OSError:
        remove(target)
        raise


def put_new(source: EntryAt, target: EntryAt) -> None:
    """`rename_new()`, or `link_new()` if that is not supported."""
    if not rename_new(source, target):
        link_new(source, target)


def aside_name(staged: EntryAt) -> EntryAt:
    """The name under which `swap_by_link()` keeps the displaced file until it is done."""
    return EntryAt(staged.folder, staged.name + "~")


def swap_by_link(staged: EntryAt, note: EntryAt) -> None:
    """Swap without `exchange()`: link the note aside, replace it, stage the link.

    Bytes that an editor writes into the old file are always kept. A file that an editor
    renames to the note's name in the microseconds between the last check and the
    replacement is lost. Without hard links the old bytes are copied, and any save between
    copy and replacement is lost.
    """
    stat_of(staged)
    kept = aside_name(staged)
    same = False
    while not same:
        remove_any(kept)
        try:
            linked = _link(note, kept)
        except FileNotFoundError:
            stat_of(note)  # it exists, but was replaced while it was linked
            continue
        if not linked:
            copy_file(note, kept)
            break
        same = os.path.samestat(stat_of(note), stat_of(kept))
    replace(staged, note)
    replace(kept, staged)


def swap_files(staged: EntryAt, note: EntryAt) -> None:
    """`exchange()`, or `swap_by_link()` if that is not supported."""
    if not exchange(staged, note):
        swap_by_link(staged, note)


def swap_checked(
    swap: Callable[[], None],
    look: Callable[[T], T],
    restore: Callable[[], bool],
    *,
    ours: T,
    expect: T,
) -> tuple[T | None, list[T]]:
    """Exchange a staged file (with `ours`) and another until the displaced content is `expect`.

    Any other content was saved meanwhile, is newer, and is exchanged back. `look` reads the
    staged file, given the content expected there; `restore` gives it the name of the other
    file after that was deleted or renamed, or returns False.

    Returns:
        The current content of the other file (None if it is gone), and the unexpected
        contents that were displaced, none if the first exchange succeeded.

    Raises:
        FileNotFoundError: there was no other file at first.
    """
    put, under = ours, expect
    met: list[T] = []
    for _ in range(_SWAPS):
        try:
            swap()
        except FileNotFoundError:
            if not met:
                raise
            with contextlib.suppress(FileExistsError):  # exchange again
                return (put if restore() else None), met
            continue
        found = look(under)
        if found == under:
            return put, met
        met.append(found)
        put, under = found, put
    return under, met


def stage_across_devices(act: Callable[[EntryAt], T], staged: EntryAt, note: EntryAt) -> T:
    """Act on the staged file, or on a copy next to a note on another file system."""
    try:
        return act(staged)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    there = EntryAt(note.folder, f".vs-{staged.name}.tmp")
    remove_any(there)
    if exists(staged):
        copy_file(staged, there)
    try:
        return act(there)
    finally:
        if exists(there):
            back = aside_name(staged)
            remove_any(back)
            copy_file(there, back)
            replace(back, staged)
            remove(there)
        else:
            remove_any(staged)


def finish_interrupted(staging: int) -> None:
    """Finish or undo interrupted exchanges and links, and remove temporary files."""
    for name in list_names(staging):
        place = EntryAt(staging, name)
        if name.startswith("~"):
            remove_any(place)  # another process may have finished it
        elif name.endswith("~"):
            staged = EntryAt(staging, name.removesuffix("~"))
            if exists(staged):
                remove(place)
            else:
                replace(place, staged)
        elif stat_of(place).st_nlink > 1:
            remove(place)


def replace(source: EntryAt, target: EntryAt) -> None:
    """Rename over any file."""
    os.replace(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def may_be_written(place: EntryAt) -> bool:
    """Whether a process may have a file open for writing; True if the system cannot tell.

    Linux grants a read lease only on a file that no program has open for writing.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return True
    try:
        fd = os.open(place.name, READ_FLAGS, dir_fd=place.folder)
    except PermissionError:
        return True
    try:
        # A program that opens it meanwhile would cause SIGIO, whose default ends the process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:  # another program has it open; or the file system has no leases
        return True
    finally:
        os.close(fd)
    return False


def remove(place: EntryAt) -> None:
    """Unlink."""
    os.unlink(place.name, dir_fd=place.folder)


def remove_any(place: EntryAt) -> None:
    """Unlink, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        remove(place)


def copy_file(source: EntryAt, target: EntryAt) -> None:
    """Copy the bytes of a file, its metadata and its times to a new one."""
    with os.fdopen(open_to_read(source), "rb") as file:
        times = os.fstat(file.fileno())
        metadata = metadata_of(file.fileno(), times)
        data = file.read()
    write_new(target, data)
    copy_metadata(metadata, target, stat_of(target))
    ns = (times.st_atime_ns, times.st_mtime_ns)
    os.utime(target.name, ns=ns, dir_fd=target.folder, follow_symlinks=False)


def write_new(place: EntryAt, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file that must not exist, with the mode as far as the umask allows."""
    fd = os.open(place.name, _NEW, mode, dir_fd=place.folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as error:
        remove(place)
        error.filename = place.name  # as in an error of `open()`
        raise
    finally:
        os.close(fd)


def write_over(place: EntryAt, data: bytes) -> None:
    """Write a new file, after unlinking an existing one with this name."""
    try:
        write_new(place, data)
    except FileExistsError:
        remove(place)
        write_new(place, data)


def open_to_read(place: EntryAt) -> int:
    """Open without changing the access time, if that is allowed."""
    try:
        return os.open(place.name, READ_NOATIME_FLAGS, dir_fd=place.folder)
    except PermissionError:  # NOATIME is refused for other users' files
        return os.open(place.name, READ_FLAGS, dir_fd=place.folder)


def read_bytes(place: EntryAt) -> bytes:
    """The content of a file."""
    with os.fdopen(open_to_read(place), "rb") as file:
        return file.read()


def metadata_of(fd: int, found: os.stat_result) -> FileMetadata:
    """The metadata of an open file, given its stat."""
    xattrs: dict[str, bytes] = {}
    if sys.platform == "linux":  # on macOS, Python has no functions for them
        keys: list[str] = []
        with contextlib.suppress(OSError):  # not supported by all file systems
            keys = os.listxattr(fd)
        for key in keys:
            with contextlib.suppress(OSError):  # the system may refuse a single one
                xattrs[key] = os.getxattr(fd, key)
    return FileMetadata(found.st_mode, (found.st_uid, found.st_gid), xattrs)


def copy_metadata(metadata: FileMetadata, target: EntryAt, found: os.stat_result) -> None:
    """Give a file, whose stat is `found`, the metadata of another, as far as is allowed."""
    same_owner = metadata.owner == (found.st_uid, found.st_gid)
    if same_owner and metadata.mode == found.st_mode and not metadata.xattrs:
        return
    fd = os.open(target.name, READ_FLAGS, dir_fd=target.folder)
    try:
        if not same_owner:
            with contextlib.suppress(OSError):  # only root may
                os.fchown(fd, *metadata.owner)
        if metadata.mode != found.st_mode:
            os.fchmod(fd, stat.S_IMODE(metadata.mode))
        if sys.platform == "linux":
            for key, value in metadata.xattrs.items():
                with contextlib.suppress(OSError):  # for some, only root may
                    os.setxattr(fd, key, value)
    finally:
        os.close(fd)


def list_names(folder: int) -> list[str]:
    """All names in a folder."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def stat_of(place: EntryAt) -> os.stat_result:
    """The stat of a name; links are not followed."""
    return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)


def exists(place: EntryAt) -> bool:
    """Whether the name is taken."""
    with contextlib.suppress(FileNotFoundError):
        stat_of(place)
        return True
    return False


def flush(fd: int) -> None:
    """Flush a file or folder to disk."""
    if _MAC:
        fcntl.fcntl(fd, _FULLFSYNC)
    else:
        os.fsync(fd)


def flush_at(place: EntryAt) -> None:
    """`flush()` a file or folder by name, without following links."""
    fd = os.open(place.name, READ_FLAGS, dir_fd=place.folder)
    try:
        flush(fd)
    finally:
        os.close(fd)


def flush_all(fd: int) -> bool:
    """`flush()` the file system of an open file; False if this is not supported."""
    if _SYNCFS is None:
        return False
    if _SYNCFS(fd):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return True


def _rename(source: EntryAt, target: EntryAt, flags: int) -> bool:
    if _RENAME is None:
        return False
    one, other = os.fsencode(source.name), os.fsencode(target.name)
    if not _RENAME(source.folder, one, target.folder, other, flags):
        return True
    code = ctypes.get_errno()
    if code in _REFUSED:
        return False
    raise OSError(code, os.strerror(code), target.name)


def _link(source: EntryAt, target: EntryAt) -> bool:
    """Give a file a second name; False if hard links are not supported."""
    folders = {"src_dir_fd": source.folder, "dst_dir_fd": target.folder}
    try:
        os.link(source.name, target.name, **folders, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True
