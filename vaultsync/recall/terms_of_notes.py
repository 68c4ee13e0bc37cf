"""Further search terms for notes in other languages than English: translations and compounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS, GERMAN
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.split_words import split_words
from vaultsync.recall.glosses import terms_in_notes


def terms_of_notes(
    question: str, language: str | None, index: NoteIndex
) -> dict[str, Sequence[str]]:
    """Word of a question -> the terms that notes have for it.

    Args:
        question: without filters.
        language: of the question; None if it is not known.
        index: an index with facts in other languages than English.
    """
    terms: dict[str, Sequence[str]] = {}
    if language in (ENGLISH, None):
        terms.update(terms_in_notes(question, index))
    if language in (GERMAN, None):
        compounds = _compounds(question, index, is_german=language == GERMAN)
        terms |= {word: [*terms.get(word, ()), *some] for word, some in compounds.items()}
    return terms


def _compounds(question: str, index: NoteIndex, *, is_german: bool) -> Mapping[str, Sequence[str]]:
    skipped = FUNCTION_WORDS[GERMAN]
    words = [each for each in split_words(question) if each.lower() not in skipped]
    # In German, nouns are capitalized, but not in all questions.
    nouns = [each for each in words if each[:1].isupper()] or words
    if not is_german:  # a known word may be in another language
        counts = index.facts_with(map(str.lower, nouns))
        nouns = [each for each in nouns if not counts[each.lower()]]
    return index.compounds(nouns)
