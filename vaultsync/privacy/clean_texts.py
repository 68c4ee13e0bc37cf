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


def is_surely_clean(text: str) -> bool:
    """Whether a text has neither a long word, nor a name of secrets, nor what active content needs.

    Most texts do not; the check takes three microseconds for a thousand characters.
    """
    letters = text.encode(errors="replace")
    kinds = letters.translate(_KINDS)
    if b"!" in kinds or LONG_WORD in kinds:
        return False
    if stems_in(text):
        return False
    if others := non_ascii(letters):
        from vaultsync.privacy.invisible_letters import may_split_secrets  # noqa: PLC0415 - not in ASCII

        if may_split_secrets(others, text):
            return False
    mixed = has_letter_beside_digit(letters)
    if not (mixed or has_codes(letters)):
        return True
    from vaultsync.privacy.credential_forms import words_of  # noqa: PLC0415 - see above

    return not words_of(letters, mixed=mixed)
