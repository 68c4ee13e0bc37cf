"""Notice that an open archive is no longer that of this program: a backup, or a newer version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from vaultsync.backends.sqlite.archive_rows import MIGRATIONS
from vaultsync.backends.sqlite.database import was_migrated
from vaultsync.errors import ArchiveReplacedError

_AGAIN = "start this program again: it then uses what is there"
_SECOND = 1_000_000_000
"""In nanoseconds."""


class ArchiveFile:
    """The file of an open archive."""

    def __init__(self, path: Path) -> None:
        """Remember which file has the path now."""
        self._path = path
        found = path.stat()
        self._place, self._modified = (found.st_dev, found.st_ino), found.st_mtime_ns

    def check(self) -> None:
        """Check that it is still the same file; a missing one may be put back.

        Raises:
            ArchiveReplacedError: it is another one, or an older copy was written into it. What
                only the log has since the copy was made does not show in the file.
        """
        try:
            found = self._path.stat()
        except OSError:
            return
        if (found.st_dev, found.st_ino) != self._place:
            message = f"the archive {self._path} was replaced while it was open"
            raise ArchiveReplacedError(message, hint=_AGAIN)
        # A copy that keeps the time of the original; a clock that was set back changes both times.
        is_older = found.st_mtime_ns < self._modified
        if is_older and found.st_ctime_ns > found.st_mtime_ns + _SECOND:
            message = (
                f"an older copy was written into the archive {self._path} while it was open, so"
                " both may be mixed"
            )
            hint = "end all programs that use the vault, and restore its state folder again"
            raise ArchiveReplacedError(message, hint=hint)
        self._modified = found.st_mtime_ns


def check_version(db: sqlite3.Connection, path: str) -> None:
    """Check, after a statement failed, that no newer vaultsync migrated the open archive.

    Raises:
        ArchiveReplacedError: it has migrations that this version does not know.
    """
    if was_migrated(db, MIGRATIONS):
        message = f"a newer version of vaultsync changed the archive {path} while it was open"
        raise ArchiveReplacedError(message, hint=_AGAIN)
