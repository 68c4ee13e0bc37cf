"""A note index for a test, in a folder that is removed when the tests end."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.indexing.language import ENGLISH

_FOLDER, _NUMBERS = TemporaryDirectory(prefix="vaultsync-indexes-"), count()


class TemporaryIndex(TantivyIndex):
    """An empty note index in a folder of its own."""

    def __init__(self, language: str = ENGLISH) -> None:
        super().__init__(Path(_FOLDER.name, f"{next(_NUMBERS)}", "words"), language=language)
