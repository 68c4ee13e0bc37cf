"""The vault: the files of one vault.

A *stamp* is the metadata of a file, known without reading it: a hint only. A
*sha* is the hex sha256 of a file's bytes, which all decisions depend on. An *op* is the id
of one intended write, and the name of its file in the staging folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from vaultsync.model.paths import VaultPath


class FileStamp(NamedTuple):
    """Metadata of a file; equal stamps mean "probably unchanged"."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def path_in(folder: VaultPath, name: str) -> VaultPath:
    """The path of a file by the exact name the file system gives it."""
    return VaultPath(f"{folder}/{name}" if folder else name)


class FolderListing(NamedTuple):
    """What a scan found directly in one folder."""

    path: VaultPath
    """`""` is the root."""
    fingerprint: bytes
    """A hash of the names and stamps of all files, regular or not."""
    files: Mapping[str, FileStamp]
    """Regular files whose name ends in `.md`, by name as listed on disk."""
    non_regular: Mapping[str, str]
    """Other entries whose name ends in `.md`, with what they are: "a link", …"""
    copies: tuple[str, ...] = ()
    """Names of conflict copies that sync tools made (`conflict_copy_of()`), sorted: no notes."""


INVALID_NAME = "a name that is not valid in a path"
"""What a note is whose name has control characters or backslashes, or is not UTF-8."""
INVALID_FOLDER_NAME = "its name is not valid in a path"
"""Why such a folder is not listed."""
LINKED_FOLDER = "it is a link, or is in a folder that is one"
"""Why a folder that was listed before is not any more."""
NOT_DOWNLOADED = "a note that iCloud Drive has removed from this machine to save space"
"""What a note is that only has a placeholder, `.Name.md.icloud`."""
OTHER_VAULT = "it is a vault itself"
"""Why the folder of a vault inside this one is not listed."""
IGNORED = "`ignore` excludes it, so its facts are no longer synced"
"""Why a folder or a note of facts that was listed before is not any more."""


class VaultScan(NamedTuple):
    """What one walk over the vault found."""

    folders: Mapping[VaultPath, FolderListing]
    unreadable: Mapping[VaultPath, str]
    """Folders that could not be listed, and why. Nothing is known about their contents."""
    at_ns: int
    """The vault's time (as in stamps) when the walk began."""

    def notes(self) -> Iterator[tuple[VaultPath, FileStamp]]:
        """The path of each note, by the exact names that the file system gives, and its stamp."""
        for folder in self.folders.values():
            for name, stamp in folder.files.items():
                yield path_in(folder.path, name), stamp


class NoteFile(NamedTuple):
    """A file that was read completely while it did not change."""

    data: bytes
    sha: str
    stamp: FileStamp


class Vault(Protocol):
    """The files of one vault.

    Paths are `VaultPath`s, relative to the root. Every method that takes one raises
    `UnsafePathError` for a path that leaves the vault, lies in a dot-folder or names a
    dot-file, and never follows a symbolic link, in no component. Nothing here is durable
    before `sync` returned; all of it is after.
    """

    def vault_id(self) -> str:
        """The id in the marker `.meta/config.toml`, read again at each call.

        Raises:
            VaultMissingError: root or marker is missing or unreadable.
        """

    def scan(self) -> VaultScan:
        """Walk all folders but those that are ignored (dot-folders, settings).

        A folder that cannot be listed, or is a vault itself (`OTHER_VAULT`), is named in
        `unreadable` and does not stop the walk.

        Raises:
            VaultMissingError: the root cannot be listed.
        """

    def folder(self, path: VaultPath) -> FolderListing | None:
        """List one folder again; None when it is missing or cannot be listed."""

    def canvases(self) -> list[VaultPath]:
        """The files whose name ends in `.canvas`, in the folders of `scan()`; sorted."""

    def stamp(self, path: VaultPath) -> FileStamp | None:
        """The stamp of a regular file; None when nothing is there.

        Raises:
            NotRegularFileError: a link, a folder, a device.
            NoteError: its folder cannot be looked into.
        """

    def unchanged(self, stamps: Iterable[tuple[VaultPath, FileStamp]]) -> set[VaultPath]:
        """The paths of those regular files that have the given stamps."""

    def read(self, path: VaultPath) -> NoteFile:
        """Read the whole file as it was at one moment (with equal stamps before and after).

        Raises:
            NoteMissingError, NotRegularFileError.
            NoteChangedError: it kept changing while being read.
            UnreadableNoteError: larger than the limit, or the system refuses.
        """

    def stage(self, op: str, data: bytes) -> None:
        """Write `data` to the staging folder as `op`, replacing what was there."""

    def staged(self, op: str) -> NoteFile | None:
        """The file staged as `op`, if any."""

    def ops(self) -> list[str]:
        """The ops of all files in the staging folder."""

    def may_be_written(self, op: str) -> bool:
        """Whether a process may have the file staged as `op` open for writing.

        True where the system cannot tell. After it was displaced no other program opens it:
        it has no name that others know.
        """

    def discard(self, op: str) -> None:
        """Remove the file staged as `op`, if any."""

    def check_new(self, path: VaultPath) -> None:
        """Refuse a path at which a new note would not be listed.

        Raises:
            UnsafePathError: the settings ignore it, or it has the name of a conflict copy or of
                a temporary file.
        """

    def check_writable(self, path: VaultPath) -> None:
        """Refuse a note that the user made read-only, or whose folder is, also for a new one.

        Other reasons why it cannot be written are left to what writes it.

        Raises:
            ReadOnlyNoteError.
        """

    def create(self, op: str, path: VaultPath) -> FileStamp:
        """Move the staged file to `path`, in one atomic step, making folders as needed.

        Raises:
            NoteExistsError: something is there; it and the staged file are untouched.
            ReadOnlyNoteError: its folder is read-only; nothing changed.
            UnwritableNoteError: the system does not allow it; nothing changed.
        """

    def exchange(self, op: str, path: VaultPath, expect: str) -> FileStamp:
        """Swap the staged file and the note, in one atomic step, if the note has sha `expect`.

        Afterwards the displaced file is what is staged under `op`; it keeps the note's
        mode. Returns the stamp of the new note.

        Raises:
            NoteMissingError: there is no note; nothing changed.
            ReadOnlyNoteError: it, or its folder, is read-only; nothing changed.
            UnwritableNoteError: the system does not allow it; nothing changed.
            NoteChangedError: the note had (or got, while swapping) other bytes. The note
                then holds what its editor saved last; `displaced` holds every complete
                content met that is neither `expect`, nor staged by us, nor in the note.
        """

    def move(self, path: VaultPath, to: VaultPath) -> None:
        """Rename a note, in one atomic step, making folders as needed.

        Raises:
            NoteMissingError.
            ReadOnlyNoteError: it, or its folder, is read-only; nothing changed.
            UnwritableNoteError: the system does not allow it; nothing changed.
            NoteExistsError: something is at `to`; nothing changed.
            NoteChangedError: an editor holds text of it that is not in the file yet;
                nothing changed.
        """

    def stage_removal(self, op: str, path: VaultPath, expect: str) -> None:
        """Take the note out of the vault into the staging folder, if it has sha `expect`.

        Raises:
            NoteMissingError: there is no note.
            ReadOnlyNoteError: it, or its folder, is read-only; nothing changed.
            UnwritableNoteError: the system does not allow it; nothing changed.
            NoteChangedError: it had other bytes; it is where it was.
        """

    def write_meta(self, path: VaultPath, data: bytes) -> bool:
        """Write a derived file below `.meta/` or `.index/` whole, unless it has these bytes.

        Returns:
            Whether it was written.

        Raises:
            NotRegularFileError, UnsafePathError: it, or its folder, is of another kind.
        """

    def read_meta(self, path: VaultPath) -> bytes | None:
        """A derived file below `.meta/` or `.index/`; None when no file can be read there."""

    def list_meta(self, folder: VaultPath) -> dict[VaultPath, FileStamp]:
        """The derived files directly in `.index`, or in a folder below one of both; their stamps.

        Sorted; none when the folder is not there.
        """

    def drop_meta(self, path: VaultPath) -> None:
        """Remove a derived file below `.meta/` or `.index/`, if there."""

    def sync(self, others: Iterable[VaultPath] = ()) -> None:
        """Return when everything done so far survives a power cut.

        So do the notes at the paths `others`, which another process may have written.
        """
