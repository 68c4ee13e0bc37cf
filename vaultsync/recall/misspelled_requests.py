"""Find the word that asks for something, such as *overdue*, which a question misspells.

Loaded for questions with a word that no fact has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from itertools import chain

from vaultsync.indexing.spelling import is_slip
from vaultsync.recall.asked_words import ORDER_WORDS, STATE_WORDS, TYPE_NOUNS, TYPE_VERBS
from vaultsync.recall.query import QUOTED

_MIN_LETTERS = 7
"""Shorter words have neighbours that mean something else."""
_SAME_LETTERS = 3
"""Number of letters that a word has in common with its stem at least."""
_LONG_WORD = (
    rf"{QUOTED}|(?<![^\s(¿¡'’])(?P<word>[^\W\d_]{{{_MIN_LETTERS - 1},}})"
    r"(?=[,;.:?!)]*(?:\s|\Z)|['’])"
)
"""A word by itself. Quotations, filters, tags and names of code are meant as they are written."""
_TABLES = (TYPE_NOUNS, TYPE_VERBS, STATE_WORDS, ORDER_WORDS)
_ASKING = defaultdict[tuple[str, int], list[str]](list)
"""First letter and length -> the words that ask for something."""
for _words in chain.from_iterable(each.values() for each in _TABLES):
    for _word in _words.split():
        if len(_word) >= _MIN_LETTERS:
            _ASKING[_word[0], len(_word)].append(_word)


def without_slips(
    question: str,
    stems: Iterable[str],
    stems_of: Callable[[str], Collection[str]],
    is_word: Callable[[str], bool],
) -> str:
    """A question in which words that ask for something are spelled right.

    Only slips are corrected: another letter mostly makes another word (*Lehrer*, *Lehren*), and
    one at the end an inflection.

    Args:
        question: the question.
        stems: the unknown ones, of which a slip has one; an empty one stands for any.
        stems_of: a word -> its stems.
        is_word: whether a word is a correct one.
    """
    unknown = frozenset(stems)
    begins = tuple(each[:_SAME_LETTERS] for each in unknown)

    def corrected(match: re.Match[str]) -> str:
        word = match["word"] or ""
        lowered = word.lower()
        if not word or not lowered.startswith(begins):
            return match[0]
        lengths = range(len(lowered) - 1, len(lowered) + 2)
        known = [*chain.from_iterable(_ASKING.get((lowered[0], each), ()) for each in lengths)]
        targets = [] if lowered in known else [x for x in known if is_slip(lowered, x)]
        is_unknown = "" in unknown or bool(targets and unknown.intersection(stems_of(word)))
        return targets[0] if targets and is_unknown and not is_word(word) else word

    return re.sub(_LONG_WORD, corrected, question)
