"""Passphrases of several words, which only their name tells from prose."""

from __future__ import annotations

import tomllib
from functools import cache

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.privacy.providers import data_text

MIN_WORDS = 4
MAX_WORDS = 25

_LETTERS = r"[^\W\d_]{1,15}"
_BREAK = (
    r"(?:[ \t]{0,2}(?:,[ \t]?|\r?\n[ \t]{0,4}(?:>[ \t])?)|[ \t]{1,2})"
    r"(?:\d{1,2}[.):]?[ \t]|[-*][ \t])?"
)
"""Between two words: blanks, a comma, a new line with a number or a bullet."""
_IS = (
    r"(?:[ \t]{1,2}(?:is|was|is now|ist|war|lautet|heißt|est|es|era|é|è)(?:[ \t]?:)?[ \t]"
    r"|[ \t]{0,2}(?::|=>?|->|[\uff1a\uff1d→—–]|は|是)[*_]{0,3}[ \t]{0,2})"
)
PHRASE = (
    r"[\w'’-]{0,20}(?:[ \t][^\s.:;=!?]{1,20}){0,6}?[*_]{0,3}[\"'`”»]?"
    rf"{_IS}(?:\r?\n[ \t>]{{0,8}}){{0,2}}(?:[-*>][ \t]|\d{{1,2}}[.)][ \t])?"
    r"(?P<quote>[\"'`*「“„«]{0,3})"
    rf"(?P<s>{_LETTERS}(?:(?:{_BREAK}|[-.]){_LETTERS}){{{MIN_WORDS - 1},{MAX_WORDS}}})"
)
"""What follows the name of a passphrase: `is`, or a sign, and the words."""
_IS_PHRASE = lazy_pattern(
    r"(?i)(?:pass|recovery|seed|secret|backup|mnemonic|wallet|unlock)[ _-]?phrase"
    r"|phrase[ _-](?:secrète|mnémonique|de (?:passe|sécurité|récupération))"
    r"|frase[ _-](?:secreta|semilla|de (?:contraseña|seguridad|recuperación|paso))"
    r"|(?:passwort|kennwort)-?satz|mnemonic|フレーズ|短语|短語|seed words?"
    r"|app(?:lication)?[ -](?:specific[ -])?pass(?:word|wort)"
)
_WORD = lazy_pattern(_LETTERS)


@cache
def _words(kind: str) -> frozenset[str]:
    """Words of prose in some languages, from the table of this name."""
    return frozenset(tomllib.loads(data_text("prose_words.toml"))[kind])


_ENDINGS_OF_PROSE = ("ed", "ly", "ing", "é", "ée", "és", "ado", "ida", "ada", "ido")


def is_phrase_name(text: str, at: int) -> bool:
    """Whether the name around a position is that of a passphrase, not of a password."""
    return _IS_PHRASE.search(text, max(at - 20, 0), at + 24) is not None


def phrase_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words up to the first one of prose, if these are enough for a passphrase."""
    count, stop = 0, start
    for word in _WORD.finditer(text, start, end):
        low = word[0].lower()
        if low in _words("prose") or (
            count == 0 and (low in _words("opening") or low.endswith(_ENDINGS_OF_PROSE))
        ):
            break
        count, stop = count + 1, word.end()
    return (start, stop) if count >= MIN_WORDS else None


def wallet_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words up to the first one that no wallet has, if these are enough for a wallet."""
    from vaultsync.privacy.bip39 import PHRASE_SIZES, numbers  # noqa: PLC0415 - few need it

    count, stop = 0, start
    for word in _WORD.finditer(text, start, end):
        if word[0].lower() not in numbers():
            break
        count, stop = count + 1, word.end()
    return (start, stop) if count >= PHRASE_SIZES[-1] else None


_JOINED = lazy_pattern(r"[^\W\d_]{3,12}([-._])[^\W\d_]{3,12}(?:\1[^\W\d_]{3,12}){2,20}")


def are_joined_words(value: str) -> bool:
    """Whether a value is a passphrase with the same sign between all words."""
    if not _JOINED.fullmatch(value) or not (value.islower() or value.istitle()):
        return False
    return phrase_span(value, 0, len(value)) == (0, len(value))
