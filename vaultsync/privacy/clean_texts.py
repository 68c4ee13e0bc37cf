"""Whether a text surely has neither secrets nor active content: most texts need no search."""

from __future__ import annotations

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.privacy.providers import MIN_TOKEN_RUN
from vaultsync.privacy.secret_names import has_codes, has_letter_beside_digit, non_ascii, stems_in

_SIGNS = ":=<`\\!$~&"
"""Characters of which each named secret, URL and active content contains one."""


def _kind(letter: str) -> str:
    if letter in _SIGNS:
        return "!"
    return "x" if letter.isascii() and (letter.isalnum() or letter in "-_+") else " "


_KINDS = "".join(_kind(chr(each)) for each in range(256)).encode()
RUNS = _KINDS.replace(b"!", b" ")
"""Byte -> `x` for a character of words that may be tokens, a blank for all others."""
LONG_WORD = b"x" * MIN_TOKEN_RUN
"""The shortest of them, translated by `RUNS`."""
INVISIBLE = lazy_pattern(
    r"[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e01ef]"
)
"""Invisible characters (Unicode's Default_Ignorable_Code_Point), which get into a token that is
copied from a page, or split it on purpose, and those that change the direction of text."""
_EMOJI = "\ufe0f"
"""It makes a symbol an emoji, as in ⚠️; behind a symbol, it splits nothing."""
_MISPLACED_EMOJI = lazy_pattern(rf"{_EMOJI}(?<![^\w\s!-~]{_EMOJI})")


def has_invisible(text: str, letters: bytes) -> bool:
    """Whether invisible characters may split a secret in a text, or the name before it.

    Args:
        text: the text.
        letters: the text in UTF-8.
    """
    others = non_ascii(letters)
    if INVISIBLE.search(others.replace(_EMOJI, "")):
        return True
    return _EMOJI in others and _MISPLACED_EMOJI.search(text) is not None


def is_surely_clean(text: str) -> bool:
    """Whether a text has neither a long word, nor a name of secrets, nor what active content needs.

    Most texts do not; the check takes three microseconds for a thousand characters.
    """
    letters = text.encode(errors="replace")
    kinds = letters.translate(_KINDS)
    if b"!" in kinds or LONG_WORD in kinds:
        return False
    if has_invisible(text, letters) or stems_in(text):
        return False
    mixed = has_letter_beside_digit(letters)
    if not (mixed or has_codes(letters)):
        return True
    from vaultsync.privacy.credential_forms import words_of  # noqa: PLC0415 - see above

    return not words_of(letters, mixed=mixed)
