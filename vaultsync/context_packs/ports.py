"""Contract of the token counter."""

from __future__ import annotations

from typing import Protocol


class TokenCounter(Protocol):
    """Counts the tokens that a text takes in a context window."""

    @property
    def name(self) -> str:
        """Name of the tokenizer, such as `o200k_base`, or `estimate`."""
        ...

    @property
    def exact(self) -> bool:
        """Whether a tokenizer counts; an estimate includes a safety margin."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a text; 0 for an empty one."""
        ...
