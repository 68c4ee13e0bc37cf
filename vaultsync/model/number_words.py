"""Numbers up to 99 that are written as words: `seven`, `fünfundzwanzig`, `quatre-vingt-dix`.

In English, German, French, Spanish and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class _Language(NamedTuple):
    """How one language writes numbers."""

    ones: str
    """The words from one on, in order, up to where they are composed."""
    tens: str
    """Those from twenty on."""
    joint: str
    """What joins two words, as a pattern."""
    before_nouns: Mapping[str, int] = MappingProxyType({})
    """Other forms of the words, which stand before nouns."""


_LANGUAGES: Sequence[_Language] = (
    _Language(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
        " sixteen seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        r"[-\s]",
    ),
    _Language(
        "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn"
        " sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "und",
    ),
    _Language(
        "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
        "vingts? trente quarante cinquante soixante septante octante nonante",
        r"[-\s](?:et[-\s])?",
        MappingProxyType({"une": 1}),
    ),
    _Language(
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
        " dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés"
        " veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        r"\sy\s",
        MappingProxyType({"un": 1, "una": 1, "veintiún": 21, "veintiuna": 21}),
    ),
)
_VALUES = {
    word.removesuffix("s?"): number
    for each in _LANGUAGES
    for word, number in (
        *zip(each.ones.split(), range(1, 100), strict=False),
        *zip(each.tens.split(), range(20, 100, 10), strict=True),
        *each.before_nouns.items(),
    )
}
_GERMAN = _LANGUAGES[1]
NUMBER_OF_WORD: Mapping[str, int] = MappingProxyType(
    {word: number for word, number in _VALUES.items() if number > 1}
    | {
        f"{one}und{ten}": _VALUES[one] + _VALUES[ten]
        for one in _GERMAN.ones.split()[:9]
        for ten in _GERMAN.tens.split()
    }
)
"""The numbers from two on that are a single word; *one* is mostly an article."""
_SOME = MappingProxyType({"few": 3, "paar": 3, "couple": 2})
_DIGITS = "〇一二三四五六七八九"
JAPANESE_NUMBER = "[一二三四五六七八九十]{1,3}"


def number_patterns() -> Iterator[str]:
    """The pattern of a number in words, for English, German, French and Spanish."""
    for ones, tens, joint, before_nouns in _LANGUAGES:
        words = "|".join([*ones.split(), *tens.split(), *before_nouns])
        yield rf"(?:{words})(?:{joint}(?:{words})){{0,3}}"


def number_of(text: str) -> int:
    """A number in digits or words, in lower case: `3`, `drei`, `twenty-one`, `a few`.

    An article is one.
    """
    if text.isdigit():
        return int(text)
    if re.fullmatch(JAPANESE_NUMBER, text):
        tens, ten, ones = text.rpartition("十")
        return 10 * bool(ten) * _DIGITS.find(tens or "一") + _DIGITS.find(ones)
    words = re.split(r"[-\s]+|und", re.sub(r"quatre[-\s]vingts?", "octante", text))
    return sum(_VALUES.get(each) or _SOME.get(each, 0) for each in words) or 1
