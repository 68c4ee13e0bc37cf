"""The contract for files of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class SourceFiles(Protocol):
    """Read-only access to a file, or to the files of a folder or a ZIP archive."""

    def names(self) -> list[str]:
        """Paths relative to the folder, with `/`, sorted.

        Hidden files are left out, except those in `.cursor`.

        Raises:
            ExchangeFileError: a folder cannot be read, or there are too many files.
        """
        ...

    def text(self, name: str) -> Iterator[str]:
        """The text of a file in pieces, without a byte order mark.

        It is UTF-8, or UTF-16 if it begins with the byte order mark of that. Each byte that is
        not UTF-8 becomes a lone surrogate, so that `is_damaged()` finds it.

        Raises:
            ExchangeFileError: it cannot be read, or is too large.
        """
        ...
