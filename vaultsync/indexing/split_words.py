"""Split a text into words."""

from __future__ import annotations

import unicodedata


def split_words(text: str) -> list[str]:
    """The words of a text, split at all but letters, marks and digits, as tantivy does."""
    characters = (each if unicodedata.category(each)[0] in "LMN" else " " for each in text)
    return "".join(characters).split()
