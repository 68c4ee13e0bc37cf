"""Token counts of o200k_base by tiktoken, if its table is on this machine.

tiktoken downloads a missing table. This module never does: it looks for the file where
tiktoken keeps it, reads it, and passes its content to tiktoken's encoder.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

ENCODING_NAME = "o200k_base"
TABLE_FILE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The name of the table in tiktoken's folder: the SHA-1 of its address."""
TABLE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""The SHA-256 of the table that tiktoken (`tiktoken_ext/openai_public.py`) expects."""
_FOLDERS = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
# How o200k_base splits a text before joining bytes; from the same file of tiktoken.
_BEGIN, _END = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_PATTERN = "|".join(
    (
        f"{_BEGIN}{_UPPER}*{_LOWER}+{_END}",
        f"{_BEGIN}{_UPPER}+{_LOWER}*{_END}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class TiktokenCounter:
    """`TokenCounter` by o200k_base. The table is loaded by the first count (0.4 s)."""

    name = ENCODING_NAME
    exact = True

    def __init__(self, table: bytes) -> None:
        self._table = table
        self._encode: Callable[[str], Sequence[int]] | None = None

    @classmethod
    def find(cls) -> Self | None:
        """The counter; None if tiktoken or its table is not on this machine."""
        folder = _folder() if importlib.util.find_spec("tiktoken") else None
        if folder is None:
            return None
        try:
            table = (folder / TABLE_FILE_NAME).read_bytes()
        except OSError:
            return None
        # tiktoken writes downloads atomically, but others copy files.
        if hashlib.sha256(table).hexdigest() != TABLE_SHA256:
            return None
        return cls(table)

    def count(self, text: str) -> int:
        """The number of tokens; special tokens in the text count as ordinary text."""
        if self._encode is None:
            self._encode = _encoder(self._table)
            self._table = b""
        return len(self._encode(text))


def _folder() -> Path | None:
    """The folder in which tiktoken caches tables; None if it is configured not to."""
    for variable in _FOLDERS:
        folder = os.environ.get(variable)
        if folder is not None:
            return Path(folder) if folder else None
    import tempfile  # loads compressors and random numbers

    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _encoder(table: bytes) -> Callable[[str], Sequence[int]]:
    from tiktoken import Encoding

    rows = (line.split() for line in table.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in rows}
    encoding = Encoding(ENCODING_NAME, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    return encoding.encode_ordinary
