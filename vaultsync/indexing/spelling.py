"""Find the terms of an index that a misspelled term may mean."""

from __future__ import annotations

from collections.abc import Iterable

_NEAR_LENGTHS = (5, 8)
"""Minimum lengths of a term of which one letter, and two letters, may differ. Most shorter terms
have neighbours that mean something else."""
_SIMILAR = 0.8
"""How much of two terms must be the same, as `difflib` counts."""


def letters_off(term: str) -> int:
    """How many letters of a term may differ: 0 to 2."""
    return sum(len(term) >= least for least in _NEAR_LENGTHS)


def near_terms(term: str, known: Iterable[str]) -> list[str]:
    """The terms that differ from one in a letter or two, the nearest first; three at most.

    The first letter has to be the same, as it is in nearly all misspellings (Yannakoudakis and
    Fawthrop, *The Rules of Spelling Errors*, 1983).

    Args:
        term: stemmed.
        known: stemmed.
    """
    most, letters = letters_off(term), set(term)
    near = {
        each
        for each in known
        # A letter that differs adds one letter, takes one away, or both.
        if abs(len(each) - len(term)) <= most
        and each[:1] == term[:1]
        and len(letters.symmetric_difference(each)) <= 2 * most
    } - {term}
    if not near or not most:
        return []
    # Few questions come this far: a cold start does without it.
    from difflib import get_close_matches  # noqa: PLC0415

    return get_close_matches(term, sorted(near), cutoff=_SIMILAR)
