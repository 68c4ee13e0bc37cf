"""Shorten an observation to one sentence of at most 20 words, all of them its own.

The clause with the highest weight is kept; the next best ones follow while there is room, in the
order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from vaultsync.indexing.language import FUNCTION_WORDS
from vaultsync.observations.classifier import CRITICAL, NOTABLE
from vaultsync.observations.rules import find_signals, sentences_of
from vaultsync.observations.text_features import EXAMINED_CHARS

MAX_WORDS = 20
NUMBER_WEIGHT, NAME_WEIGHT, WORD_WEIGHT = 4.0, 1.5, 0.6
"""The weights of a number, a name and another content word of a clause."""
SIGNAL_WEIGHTS: Mapping[str, float] = {CRITICAL: 2.0, NOTABLE: 1.0}
"""The weight of a signal, by its tier."""
LENGTH_EXPONENT = 0.3
"""How much a clause loses by its length. Measured, as the weights are, on the development half of
golden/observations."""
MIN_CLAUSE_WORDS = 3
"""Words of the shortest clause that is added to another one."""

_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())
_CLAUSE_END = re.compile(r"\s*(?:[,;:]\s+|\s[–—-]\s|[()]\s*)\s*")
_STAMP = re.compile(
    r"\A(?:[-*>#+]\s+|\[?\d{4}-\d\d-\d\d[T ]?[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?\]?\s*"
    r"|\[?\d\d?:\d\d(?::\d\d)?\]?\s+|(?:INFO|DEBUG|TRACE|NOTICE)\b:?\s*)+"
)
_NUMBER = re.compile(r"\d")
_IDENTIFIER = re.compile(r"\w[._/:@-]\w|_|[a-z][A-Z]|`")


class _Clause(NamedTuple):
    place: int
    words: tuple[str, ...]
    weight: float


def compress(text: str) -> str:
    """A summary of at most 20 words, taken from the text; a text that short is its own summary."""
    if len(text.split()) <= MAX_WORDS:
        return " ".join(text.split())
    clauses = _clauses(text.lstrip()[:EXAMINED_CHARS])
    best = max(clauses, key=lambda each: each.weight)
    kept, room = [best], MAX_WORDS - len(best.words)
    for each in sorted(clauses, key=lambda clause: -clause.weight / len(clause.words)):
        if each is not best and MIN_CLAUSE_WORDS <= len(each.words) <= room:
            kept.append(each)
            room -= len(each.words)
    parts = [" ".join(each.words).strip(".;,: ") for each in sorted(kept)]
    return "; ".join(parts) + "."


def _clauses(text: str) -> list[_Clause]:
    """The clauses of a text in order, long ones cut; one at least."""
    found: list[_Clause] = []
    for sentence in sentences_of(text):
        for clause in _CLAUSE_END.split(_STAMP.sub("", sentence)):
            words = clause.split()
            for start in range(0, len(words), MAX_WORDS):
                part = tuple(words[start : start + MAX_WORDS])
                found.append(_Clause(len(found), part, _weight(part)))
    return found or [_Clause(0, tuple(text.split()[:MAX_WORDS]), 0.0)]


def _weight(words: tuple[str, ...]) -> float:
    """The total weight of some words."""
    total = sum(_word_weight(word, is_first=not place) for place, word in enumerate(words))
    kinds = {(each.kind, each.tier) for each in find_signals(" ".join(words))}
    total += sum(SIGNAL_WEIGHTS.get(tier, 0.0) for _, tier in kinds)
    length: float = len(words) ** LENGTH_EXPONENT
    return total / length


def _word_weight(word: str, *, is_first: bool) -> float:
    bare = word.strip("\"'“”„«».,;:!?()[]*")
    if _NUMBER.search(bare):
        return NUMBER_WEIGHT
    if _IDENTIFIER.search(bare) or (bare[:1].isupper() and not is_first):
        return NAME_WEIGHT
    return 0.0 if bare.lower() in _FUNCTION_WORDS else WORD_WEIGHT
