"""Names in a question, recognized by their capital letters."""

from __future__ import annotations

import re
from calendar import day_abbr, day_name, month_abbr, month_name
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from itertools import pairwise

from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.lazy_pattern import lazy_pattern

_SENTENCE_END = r"(?<=[.!?])(?<!\b(?:Dr|Mr|Ms|St)\.)(?<!\bMrs\.)(?<!\bProf\.)\s+|\n"
_REQUEST = (
    r"\b(?:can|could|will|would)\s+you\b|\b(?:peux|pourrais)-tu\b|\b(?:pouvez|pourriez)-vous\b"
    r"|\b(?:puedes?|podrías?)\b"
)
"""A request to do something; the memory need not know the names in it."""

_TITLE = r"[\"“„«][^\"“”„«»]*[\"”“»]"
"""In quotation marks; its words have capital letters although they are no names."""
_JOINED = lazy_pattern(r"[A-Z][a-z]+")
_BEGINNINGS = range(5, 30)
"""Lengths of a beginning that means the same as the whole; *Kindle* is not kind."""
_MOST_NAMES = 0.5
"""Maximum share of words with a capital letter in a question that is no title as a whole."""
_ADDRESSES = frozenset(
    (
        *("mr", "mrs", "ms", "miss", "dr", "prof", "sir", "madame", "monsieur", "señor", "señora"),
        *("frau", "herr", "herrn", "st"),
    )
)
"""Before the name of a person."""
_TIMES = frozenset(
    {
        *map(str.lower, (*day_name, *day_abbr, *month_name, *month_abbr)),
        *("sept", "christmas", "easter", "thanksgiving"),
    }
)
"""English writes them with a capital letter; the other languages do not, or all nouns."""


def names_in(question: str, *, nouns_too: bool = False) -> list[str]:
    """The names in the middle of a sentence that asks something, with the signs behind them.

    Abbreviations are no names, and a name behind a comma only addresses a person.

    Args:
        question: the question.
        nouns_too: whether all nouns have capital letters in its language, so that only a word
            behind *Frau* or *Dr.* is a name.
    """
    sentences = re.split(_SENTENCE_END, re.sub(_TITLE, " ", question))
    asked = (
        each
        for each in sentences
        if each.rstrip().endswith("?") and not re.search(_REQUEST, each, re.IGNORECASE)
    )
    words = " ".join(asked).split()
    # All questions begin with a capital letter.
    titled = [each for each in words[1:] if each[0].isupper() and _bare(each) not in _ADDRESSES]
    if len(titled) > _MOST_NAMES * len(words) and not nouns_too:
        return []
    return [
        word
        for before, word in pairwise(words)
        if word[0].isupper()
        and not word.isupper()
        and _bare(word) not in _ADDRESSES
        and (_bare(before) in _ADDRESSES or (not nouns_too and _is_inside(before)))
        and not _is_time(word)
    ]


def _is_inside(before: str) -> bool:
    """Whether what is behind a word is no beginning, and no second part of a name."""
    return before[-1].isalpha() and not before[0].isupper()


def is_known(
    name: str, stems: AbstractSet[str], index: NoteIndex, stems_of: Callable[[str], Collection[str]]
) -> bool:
    """Whether facts have a name in another form: misspelled, longer, shorter or in words.

    Args:
        name: as written, such as `TideEngine`, which may be *tide engine* in facts.
        stems: its terms that no fact has.
        index: the terms of all facts.
        stems_of: word -> its stems.
    """
    joined = {stem for word in _JOINED.findall(name) for stem in stems_of(word)}
    if joined and all(index.facts_with(joined).values()):
        return True
    short = {stem[:end] for stem in stems for end in _BEGINNINGS if end < len(stem)}
    return (
        any(map(index.near_terms, stems))
        or any(index.terms_beginning_with(stems).values())
        or any(index.facts_with(short).values())
    )


def _bare(word: str) -> str:
    return word.rstrip(".").lower()


def _is_time(word: str) -> bool:
    name = re.split(r"\W", word.lower(), maxsplit=1)[0]
    return name in _TIMES or name.removesuffix("s") in _TIMES
