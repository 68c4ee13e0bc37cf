"""The token counter: what a text costs in a context window."""

from __future__ import annotations

from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens."""

    @property
    def name(self) -> str:
        """What counts, for the reader of a pack: `o200k_base`, or `estimate`."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the count is a tokenizer's; else it is an estimate with its margin."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a text; an estimate includes its margin. 0 for an empty text."""
        ...
