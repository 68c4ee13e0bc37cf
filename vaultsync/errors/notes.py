"""One note cannot be read, written or found; the pass goes on with the others."""

from __future__ import annotations

from vaultsync.errors.root import VaultsyncError


class NoteError(VaultsyncError):
    """One note; the pass goes on with the others."""

    def __init__(
        self, path: str, message: str, *, hint: str = "", line: int | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.line = line


class UnreadableNoteError(NoteError):
    """The file cannot be read as a note; it is never written and never deleted."""

    def __init__(
        self, path: str, why: str, *, hint: str = "", line: int | None = None
    ) -> None:
        where = f"{path}:{line}" if line else path
        super().__init__(
            path,
            f"{where}: {why}",
            hint=hint or "mend the note and save it; the next pass takes it up",
            line=line,
        )
        self.why = why


class UnsafeSpliceError(NoteError):
    """An edit of a note could not be proved to change one thing only."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: not written, because {why}",
            hint="simplify the frontmatter of this note, or make the change by hand",
        )


class UnsafePathError(NoteError):
    """The path would leave the vault, or names what is not ours to touch."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path!r}: {why}", hint="use a path inside the vault")


class NoteMissingError(NoteError):
    """There is no file at the path."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: no such note")


class NoteExistsError(NoteError):
    """There is a file at the path already; it was left alone."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: something is there already")


class NoteChangedError(NoteError):
    """The file is not what the writer thought it replaced; it was left as found.

    `displaced` holds every complete content that was met on the way and that is
    not in the file now, so that the caller can keep it in the history.
    """

    def __init__(self, path: str, displaced: tuple[bytes, ...] = ()) -> None:
        super().__init__(path, f"{path}: changed meanwhile")
        self.displaced = displaced


class NotRegularFileError(NoteError):
    """A link, a folder or a device where a note is expected."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            path,
            f"{path}: is {what}, not a file",
            hint="vaultsync reads and writes regular files only; move it away or"
            " rename it",
        )
