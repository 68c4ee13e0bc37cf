"""Names in a question, recognized by their capital letters."""

from __future__ import annotations

import re
from calendar import day_name, month_name
from itertools import pairwise

_TITLE = r"[\"“„«][^\"“”„«»]*[\"”“»]"
"""In quotation marks; its words have capital letters although they are no names."""
_MOST_NAMES = 0.5
"""Maximum share of words with a capital letter in a question that is no title as a whole."""
_TIMES = frozenset(
    {*map(str.lower, (*day_name, *month_name)), "christmas", "easter", "thanksgiving"}
)
"""English writes them with a capital letter; the other languages do not, or all nouns."""


def names_in(question: str) -> list[str]:
    """The names in the middle of a sentence, with the signs behind them.

    Abbreviations are no names, and a name behind a comma only addresses a person.
    It is not for languages in which all nouns have capital letters.
    """
    words = re.sub(_TITLE, " ", question).split()
    if sum(each[0].isupper() for each in words) > _MOST_NAMES * len(words):
        return []
    return [
        word
        for before, word in pairwise(words)
        if word[0].isupper()
        and not word.isupper()
        and not before[0].isupper()
        and before[-1].isalpha()
        and not _is_time(word)
    ]


def _is_time(word: str) -> bool:
    name = re.split(r"\W", word.lower(), maxsplit=1)[0]
    return name in _TIMES or name.removesuffix("s") in _TIMES
