"""Characters that are not shown and may split a secret; only texts not in ASCII have some."""

from __future__ import annotations

from vaultsync.model.canonical import TAG_CHARACTERS
from vaultsync.model.lazy_pattern import lazy_pattern

INVISIBLE = lazy_pattern(
    r"[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    rf"{TAG_CHARACTERS}\U000e0080-\U000e01ef]"
)
"""Invisible characters (Unicode's Default_Ignorable_Code_Point), which get into a token that is
copied from a page, or split it on purpose, and those that change the direction of text."""
_EMOJI = "\ufe0f"
"""It makes a symbol an emoji, as in ⚠️; behind a symbol, it splits nothing."""
_MISPLACED_EMOJI = lazy_pattern(rf"{_EMOJI}(?<![^\w\s!-~]{_EMOJI})")


def may_split_secrets(others: str, text: str) -> bool:
    """Whether invisible characters may split a secret in a text, or the name before it.

    Args:
        others: its characters that are not of ASCII.
        text: the text.
    """
    if INVISIBLE.search(others.replace(_EMOJI, "")):
        return True
    return _EMOJI in others and _MISPLACED_EMOJI.search(text) is not None
