"""Memory files: `MEMORY.md` and its like, which lie outside the vault."""

from __future__ import annotations

from vaultsync.errors.root import VaultsyncError
from vaultsync.errors.usage import UsageError


class MemoryFileError(VaultsyncError):
    """One memory file; the others go on."""

    def __init__(self, message: str, *, hint: str, name: str) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class MemoryFileMissingError(MemoryFileError):
    """No file there, and no fact came from it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no memory file {name}, and no fact came from it",
            hint="see that the name is right; `memory-file add` makes a new file",
            name=name,
        )


class UnreadableMemoryFileError(MemoryFileError):
    """Binary, badly encoded, too large, not to be opened: its facts stay as they are."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name} was left out: {why}",
            hint="a memory file is markdown in UTF-8; what came from it before stays",
            name=name,
        )
        self.why = why


class MemoryFileChangedError(MemoryFileError):
    """Somebody saved the file while an agent wrote into it; the save stands."""

    def __init__(self, name: str, saved: tuple[bytes, ...] = ()) -> None:
        super().__init__(
            f"{name} was saved by somebody else at the same moment; that save stands",
            hint="what the agent wrote waits in the queue; the next `memory-file sync`"
            " writes it",
            name=name,
        )
        self.saved = saved
        """What was saved and is in no file any more, for somebody saved again."""


class MemoryFileBusyError(MemoryFileError):
    """Another process works with the file."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(
            f"another process has been working with {name} for {seconds:g} s",
            hint="try again when it is done",
            name=name,
        )


class TooManyFilesError(UsageError):
    """More memory files than anybody means."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(
            f"{count} files were found, {most} are the most that can be meant",
            hint="name the files, or narrow it down with --include and --exclude",
        )
