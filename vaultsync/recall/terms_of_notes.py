"""Further search terms for notes in other languages than English: translations and compounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS, GERMAN
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.text_normalization import split_words
from vaultsync.recall.glosses import terms_in_notes


def terms_of_notes(
    question: str, language: str | None, index: NoteIndex, unknown: Collection[str]
) -> dict[str, Sequence[str]]:
    """Word of a question -> the terms that notes have for it.

    Args:
        question: without filters.
        language: of the question; None if it is not known.
        index: an index with facts in other languages than English.
        unknown: the words of the question, in lower case, that no fact has in any form.
    """
    terms: dict[str, Sequence[str]] = {}
    if language in (ENGLISH, None):
        terms.update(terms_in_notes(question, index, unknown))
    if language in (GERMAN, None):
        # Without a known language, a known word may be in another one.
        compounds = _compounds(question, index, None if language else unknown)
        terms |= {word: [*terms.get(word, ()), *some] for word, some in compounds.items()}
    return terms


def _compounds(
    question: str, index: NoteIndex, among: Collection[str] | None
) -> Mapping[str, Sequence[str]]:
    skipped = FUNCTION_WORDS[GERMAN]
    words = [each for each in split_words(question) if each.lower() not in skipped]
    # In German, nouns are capitalized, but not in all questions.
    nouns = [each for each in words if each[:1].isupper()] or words
    return index.compounds([x for x in nouns if among is None or x.lower() in among])
