"""Numbers with their nouns."""

from __future__ import annotations


def count_noun(number: int, word: str, *, many: str = "") -> str:
    """Format a number with its noun: `1 note`, `2 notes`; `many` is an irregular plural."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"
