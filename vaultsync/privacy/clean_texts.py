"""Whether a text surely has neither secrets nor active content: most texts need no search."""

from __future__ import annotations

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
INVISIBLE = frozenset(
    chr(code)
    for codes in (
        *((0xAD,), (0x34F,), (0x61C,), (0x115F, 0x1160), (0x17B4, 0x17B5), range(0x180B, 0x1810)),
        *(range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070), (0x3164,)),
        *(range(0xFE00, 0xFE10), (0xFEFF, 0xFFA0), range(0xFFF0, 0xFFFC)),
        *(range(0x1BCA0, 0x1BCA4), range(0x1D173, 0x1D17B), range(0xE0000, 0xE01F0)),
    )
    for code in codes
)
"""Invisible characters (Unicode's Default_Ignorable_Code_Point), which get into a token that is
copied from a page, or split it on purpose, and those that change the direction of text."""


def is_surely_clean(text: str) -> bool:
    """Whether a text has neither a long word, nor a name of secrets, nor what active content needs.

    Most texts do not; the check takes three microseconds for a thousand characters.
    """
    letters = text.encode(errors="replace")
    kinds = letters.translate(_KINDS)
    if b"!" in kinds or LONG_WORD in kinds:
        return False
    if not INVISIBLE.isdisjoint(non_ascii(letters)) or stems_in(text):
        return False
    mixed = has_letter_beside_digit(letters)
    if not (mixed or has_codes(letters)):
        return True
    from vaultsync.privacy.credential_forms import words_of  # noqa: PLC0415 - see above

    return not words_of(letters, mixed=mixed)
