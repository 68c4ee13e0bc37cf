"""Numbers up to 99 that are written as words: `seven`, `fünfundzwanzig`, `quatre-vingt-dix`.

In English, German, French, Spanish and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.model.lazy_pattern import lazy_pattern


class _NumberWords(NamedTuple):
    """How one language writes numbers."""

    ones: str
    """The words from one on, in order, up to where they are composed, with their forms."""
    tens: str
    """Those from twenty on."""
    joint: str
    """What joins two words, as a pattern."""


_LANGUAGES: Sequence[_NumberWords] = (
    _NumberWords(
        "one|an|a two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        r"[-\s]",
    ),
    _NumberWords(
        "ein|eine|einem|einen|einer zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
        " dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreißig|dreissig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "und",
    ),
    _NumberWords(
        "un|une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze"
        " seize",
        "vingt|vingts trente quarante cinquante soixante septante octante nonante",
        r"[-\s](?:et[-\s])?",
    ),
    _NumberWords(
        "uno|un|una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
        " dieciséis diecisiete dieciocho diecinueve veinte veintiuno|veintiún|veintiuna veintidós"
        " veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        r"\sy\s",
    ),
)
_ONES, _TENS = (
    {
        form: factor * at
        for each in _LANGUAGES
        for at, forms in enumerate(each[field].split(), field + 1)
        for form in forms.split("|")
    }
    for field, factor in ((0, 1), (1, 10))
)
_VALUES = MappingProxyType(_ONES | _TENS)
NUMBER_OF_WORD: Mapping[str, int] = MappingProxyType(
    {word: number for word, number in _VALUES.items() if number > 1}
    | {
        f"{one}und{ten}": _ONES[one] + _TENS[ten]
        for one in ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
        for ten in _LANGUAGES[1].tens.replace("|", " ").split()
    }
)
"""The numbers from two on that are a single word; *one* is mostly an article."""
_SOME = MappingProxyType({"few": 3, "paar": 3, "couple": 2})
_DIGITS = "〇一二三四五六七八九"
JAPANESE_NUMBER = "[一二三四五六七八九十]{1,3}"


def number_patterns() -> Iterator[str]:
    """The pattern of a number in words, for English, German, French and Spanish."""
    for ones, tens, joint in _LANGUAGES:
        words = "|".join([*ones.split(), *tens.split()])
        yield rf"(?:{words})(?:{joint}(?:{words})){{0,3}}"


_SEVERAL_WORDS = lazy_pattern(
    rf"(?<![\w-])(?:{'|'.join(_TENS)})"
    rf"(?:(?:-(?:et-)?|\set\s|\sy\s)(?:{'|'.join(_ONES)})){{1,2}}(?![\w-])"
)


_JOINTS = frozenset({"et", "y"})
"""Of these or a hyphen, a number of several words has one."""


def with_digits(text: str) -> str:
    """A text in lower case with digits for numbers of several words: *forty-two*."""
    has_joint = "-" in text or not _JOINTS.isdisjoint(text.split())
    if not has_joint or not any(map(text.__contains__, _TENS)):
        return text
    return _SEVERAL_WORDS.sub(lambda match: str(number_of(match[0])), text)


def number_of(text: str) -> int:
    """A number in digits or words, in lower case: `3`, `drei`, `twenty-one`, `a few`."""
    if text.isdigit():
        return int(text)
    if re.fullmatch(JAPANESE_NUMBER, text):
        tens, ten, ones = text.rpartition("十")
        return 10 * bool(ten) * _DIGITS.find(tens or "一") + _DIGITS.find(ones)
    words = re.split(r"[-\s]+|und", re.sub(r"quatre[-\s]vingts?", "octante", text))
    return next((_SOME[each] for each in words if each in _SOME), 0) or sum(
        _VALUES.get(each, 0) for each in words
    )
