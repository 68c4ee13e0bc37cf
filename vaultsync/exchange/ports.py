"""The contract for files of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class SourceFiles(Protocol):
    """A file, or the files of a folder or a ZIP archive, that are only read."""

    def names(self) -> list[str]:
        """Their names relative to the folder, with `/`, in the order of their names.

        Hidden files are left out, but for those in `.cursor`.
        """
        ...

    def text(self, name: str) -> Iterator[str]:
        """The text of a file in pieces; what is not UTF-8 becomes U+FFFD.

        Raises:
            ExchangeFileError: it cannot be read, or is too large.
        """
        ...
