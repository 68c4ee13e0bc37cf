"""Write a file that its host, or any other program, may save at any moment."""

from __future__ import annotations

from pathlib import Path

from vaultsync.backends.filesystem.memory_file import STAGING_DIR, DiskMemoryFile
from vaultsync.errors import (
    HostFileError,
    MemoryFileChangedError,
    UnreadableMemoryFileError,
    system_hint,
)


def write_host_file(
    path: Path, text: str | None, *, seen: str | None, is_private: bool = True
) -> None:
    """Create, replace or delete a file, which links may lead to.

    Args:
        path: the file; its folder is created.
        text: the new text; None to delete the file.
        seen: the text on which the change is based; None if there was no file.
        is_private: whether only the user may read a file that is created; else all that may
            read its folder.

    Raises:
        HostFileError: it has changed since, or cannot be written.
    """
    file = DiskMemoryFile(path.resolve(), str(path))
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        if file.displaced():
            why = f"a write that was interrupted left what it displaced in {STAGING_DIR} beside it"
            raise HostFileError(file.name, why, hint="compare both, and delete that one")
        expect = None if seen is None else seen.encode()
        if text is not None:
            mode = 0o600 if is_private else file.path.parent.stat().st_mode & 0o664
            file.replace(text.encode(), expect, mode=mode)
        elif expect is not None:
            file.remove(expect)
    except MemoryFileChangedError:
        raise HostFileError(file.name, "it changed in the meantime") from None
    except UnreadableMemoryFileError as error:
        raise HostFileError(file.name, error.why, hint=error.hint) from None
    except OSError as error:
        why = error.strerror or "it cannot be written"
        raise HostFileError(file.name, why, hint=system_hint(error, "")) from None
