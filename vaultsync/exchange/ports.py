"""The contract for files of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class SourceFiles(Protocol):
    """Read-only access to a file, or to the files of a folder or a ZIP archive."""

    def names(self) -> list[str]:
        """Paths relative to the folder, with `/`, sorted.

        Hidden files are left out, except those in `.cursor`.
        """
        ...

    def text(self, name: str) -> Iterator[str]:
        """The text of a file in pieces, without a byte order mark; invalid UTF-8 becomes U+FFFD.

        A file that begins with the mark of UTF-16 is read as that.

        Raises:
            ExchangeFileError: it cannot be read, or is too large.
        """
        ...
