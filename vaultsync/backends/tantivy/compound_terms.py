"""Find the German compounds of the words of a question in a note index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import tantivy

from vaultsync.backends.tantivy.analysis import analyzer, stemming_analyzer
from vaultsync.indexing.compounds import (
    FactsWith,
    Vocabulary,
    compounds_with,
    other_form,
    part_of,
    parts_of,
)
from vaultsync.indexing.language import GERMAN
from vaultsync.indexing.spelling import near_terms

_LEAST = 4
"""Minimum number of letters of a stem that is also looked for in another form."""
_BEFORE = "haupt"
"""A first part that any noun may have."""


def find_compounds(
    words: Sequence[str], vocabulary: Vocabulary, facts_with: FactsWith
) -> dict[str, list[str]]:
    """Word -> its parts, and the compounds with it; see `NoteIndex.compounds()`."""
    stem, found = stemming_analyzer(GERMAN).analyze, dict[str, list[str]]()
    stems = {word: "".join(stem(word)) for word in words}
    forms = {word: other_form(each) for word, each in stems.items() if len(each) >= _LEAST}
    counts = facts_with({*stems.values(), *forms.values()})
    for word in words:
        plain = "".join(_folding_analyzer().analyze(word))
        # The stemmer shortens *projektplanung* to *projektplan*, but not *planung*.
        last = "".join(stem(f"{_BEFORE}{word}"))[len(_BEFORE) :]
        beside = {*stems.values()} - {stems[word]}
        compounds = compounds_with(plain, last, vocabulary, facts_with, beside=beside)
        form = forms.get(word, "")
        others = [form] if form and not counts[stems[word]] and counts[form] else []
        terms = [*parts_of(plain, facts_with), *compounds, *others]
        if not (terms or counts[stems[word]]):
            # A misspelled word is none that facts have a part of.
            near = near_terms(stems[word], vocabulary.beginning_with(plain[:1]))
            terms = [] if near else [*part_of(plain, facts_with)]
        if terms:
            found[word] = terms
    return found


@cache
def _folding_analyzer() -> tantivy.TextAnalyzer:
    return analyzer(tantivy.Filter.ascii_fold())
