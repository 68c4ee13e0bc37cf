"""Translate a question into English, word by word, and for notes in other languages from it.

A question in German, French, Spanish or Japanese shares few words with an English note, and the
default model knows only English. A small dictionary of common words, which is part of the
package, translates most of it; words that it does not have, such as names, are kept.
"""

from __future__ import annotations

import pkgutil
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise, product
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS, GERMAN, language_of
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.text_normalization import split_words
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.explanation import QueryTerms

JAPANESE = "japanese"
GLOSSED = (GERMAN, "french", "spanish", JAPANESE)
"""Languages of the dictionary, in the order of its columns."""
BLANK_SEPARATED = GLOSSED[:3]
"""Those in which the beginnings of words can be looked up in an index."""
MAX_TERMS = 8
"""Maximum number of terms for one English word."""
MAX_WORD = 40
"""Maximum number of letters of a word that is looked up."""
_KANA = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa]")
_HIRAGANA = lazy_pattern("[\u3041-\u3096]+")
_PARTICIPLE = lazy_pattern("(ab|an|auf|aus|ein|her|hin|mit|um|vor|weg|zu|zuruck|)ge(?=...)")
"""The *ge* of a German participle, which may follow a prefix: *ausgeschaltet*."""
_ENDINGS = (0, 0, 0, 1, 3, 4, 6)
"""Maximum number of letters after a word beginning, by the length of the beginning."""
_ENDING_OF_WORD = 3
"""The same for a German word; with more letters it may be a compound."""
_LINKS_OF_COMPOUNDS = ("", "s", "n", "en", "e", "er")
"""What may be between the parts of a German compound."""
_LEAST_PART = 4
"""Minimum number of letters of a part of a German compound."""

_Beginnings: TypeAlias = Mapping[str, tuple[str, ...]]


class Gloss(NamedTuple):
    """A word of a question, and its English translations; none if it is unknown."""

    word: str
    english: tuple[str, ...]

    @property
    def best(self) -> str:
        """The first translation, or the word itself."""
        return (*self.english, self.word)[0]


def translated_terms(
    question: str, index: NoteIndex, language: str | None = None
) -> tuple[str, QueryTerms, str] | None:
    """Translate a question: the English text, its terms, and all additional search words.

    Args:
        question: or a part of one.
        index: the note index, up to date.
        language: of the whole question, if only a part is translated.

    Returns: None, unless for most words the English occurs in more facts; so a question in
        the language of the facts is not translated.
    """
    glossed = glosses(question, language)
    translated = [each for each in glossed if each.english]
    looked_up = (x for each in translated for x in (each.word.lower(), *each.english))
    counts, lead = index.facts_with(looked_up), 0
    for each in translated:
        own_count = counts[each.word.lower()]
        english_count = max(map(counts.__getitem__, each.english))
        if not (own_count or english_count):  # *meeting* is indexed as *meet*
            stems = index.tokens(each.best)
            english_count = min(index.facts_with(stems).values(), default=0)
        lead += (english_count > own_count) - (english_count < own_count)
    if lead <= 0:
        return None
    text = " ".join(each.best for each in glossed)
    terms = QueryTerms(index.tokens(text), index.stemmer(question))
    for each in translated:
        first, *alternatives = (index.tokens(x) for x in (*each.english, each.word))
        for stem in chain.from_iterable(alternatives):
            if first and first[0] in terms.stems:
                terms.add_spelling(first[0], stem)
    return text, terms, " ".join(x for each in translated for x in each.english)


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
        terms.update(_english_in_notes(question, index, unknown))
    if language in (GERMAN, None):
        words = [x for x in split_words(question) if x.lower() not in FUNCTION_WORDS[GERMAN]]
        # In German, nouns are capitalized, but not in all questions.
        nouns = [each for each in words if each[:1].isupper()] or words
        # Without a known language, a known word may be in another one.
        compounds = index.compounds([x for x in nouns if language or x.lower() in unknown])
        terms |= {word: [*terms.get(word, ()), *some] for word, some in compounds.items()}
    return terms


def _english_in_notes(
    question: str, index: NoteIndex, unknown: Collection[str]
) -> Mapping[str, Sequence[str]]:
    """English words of a question -> the terms for them of notes in other languages.

    `unknown` are its words, in lower case, that no fact has.

    Returns: an empty mapping, unless most words occur in no fact and these terms do. So a
        question in other words than those of an English note finds no foreign one instead.
    """
    spoken = index.languages()
    found, lead = dict[str, list[str]](), 0
    own = [x for x in split_words(question.lower()) if x not in FUNCTION_WORDS[ENGLISH]]
    beginnings = {
        word: [
            begin
            for language in BLANK_SEPARATED
            if language in spoken
            for begin in _translation_by_stem(word, _reverse_dictionary()[language])
        ]
        for word in own
    }
    stems_of = index.stemmer(question)
    # The index has stems: that of *waschmaschine* is shorter.
    for begins in beginnings.values():
        shorter = {stem for each in begins for stem in stems_of(each) if each[:-1] == stem}
        begins.extend(shorter.difference(begins))
    number = sum(map(bool, beginnings.values()))
    if 2 * sum(word in unknown for word, begins in beginnings.items() if begins) <= number:
        return {}
    if GERMAN in spoken:
        beginnings |= _compounds_in_notes(own, index, stems_of)
    known = index.terms_beginning_with(dict.fromkeys(chain.from_iterable(beginnings.values())))
    counts = index.facts_with({*own, *chain.from_iterable(known.values())})
    for word, begins in beginnings.items():
        terms = {
            term
            for begin in begins
            for term in known[begin]
            if len(term) - len(begin) <= _ENDINGS[min(len(begin), len(_ENDINGS) - 1)]
        } - {word}
        if begins:
            count = max(map(counts.__getitem__, terms), default=0)
            lead += (count > counts[word]) - (counts[word] > 0)
        if terms:
            found[word] = sorted(terms, key=lambda term: (-counts[term], term))[:MAX_TERMS]
    return found if 2 * lead > number else {}


def _compounds_in_notes(
    words: Sequence[str], index: NoteIndex, stems_of: Callable[[str], Collection[str]]
) -> Mapping[str, list[str]]:
    """English word -> the stems of the German compounds in notes for it and the word beside it.

    Such as that of *Steuerberater* for *tax adviser*.
    """
    german, found = _reverse_dictionary()[GERMAN], dict[str, list[str]]()
    for pair in pairwise(words):
        parts = product(*(_translation_by_stem(each, german) for each in pair))
        compounds = (f"{x}{link}{y}" for x, y in parts for link in _LINKS_OF_COMPOUNDS)
        stems = {stem for each in compounds for stem in stems_of(each)}
        known = index.terms_beginning_with(stems)
        if in_notes := sorted(filter(known.get, stems)):
            found |= dict.fromkeys(pair, in_notes)
    return found


def glosses(text: str, language: str | None = None) -> list[Gloss]:
    """The words of a question with their translations, without function words.

    Returns: an empty list if the language is unknown, or not one of `GLOSSED`.
    """
    if _KANA.search(text):
        return _japanese(text)
    language = language or language_of(text, least=1) or _language_by_dictionary(text)
    if language not in GLOSSED:
        return []
    entries, skipped = _dictionary()[language], FUNCTION_WORDS[language]
    words = (each for each in split_words(text) if each.lower() not in skipped)
    return [Gloss(each, _translate_word(_bare(each), entries, language)) for each in words]


def _language_by_dictionary(text: str) -> str | None:
    """The language whose dictionary has most of the words of a text, if one has."""
    words = [*map(_bare, split_words(text))]
    counts = {
        sum(bool(_translate_word(word, _dictionary()[each], each)) for word in words): each
        for each in reversed(BLANK_SEPARATED)
    }
    return counts[max(counts)] if 2 * max(counts) > len(words) else None


def _japanese(text: str) -> list[Gloss]:
    """The dictionary's words in a text, and what is between them except grammar."""
    entries, glossed = _dictionary()[JAPANESE], []
    for number, part in enumerate(_japanese_words().split(text)):
        if number % 2:
            glossed.append(Gloss(part, entries[part]))
        else:
            words = (word for piece in _HIRAGANA.split(part) for word in split_words(piece))
            glossed += [Gloss(word, ()) for word in words]
    return glossed


@cache
def _japanese_words() -> re.Pattern[str]:
    words = sorted(_dictionary()[JAPANESE], key=len, reverse=True)
    return re.compile(f"({'|'.join(words)})")


def _translate_word(word: str, entries: _Beginnings, language: str) -> tuple[str, ...]:
    if len(word) > MAX_WORD:
        return ()
    if language != GERMAN:
        return _translation_by_stem(word, entries)
    participle = _PARTICIPLE.match(word)
    base = participle[1] + word[participle.end() :] if participle else word
    return (
        _translation_by_stem(word, entries, ending=_ENDING_OF_WORD)
        or _translation_by_stem(base, entries, ending=_ENDING_OF_WORD)
        or _compound(word, entries)
        or _translation_by_stem(word, entries)
    )


def _compound(word: str, entries: _Beginnings) -> tuple[str, ...]:
    """The translation of a German compound, as two words, and their alternatives."""
    for at in range(len(word) - _LEAST_PART, _LEAST_PART - 1, -1):
        last = _translation_by_stem(word[at:], entries)
        first = last and _translation_by_stem(word[:at], entries, ending=_ENDING_OF_WORD)
        if first:
            return (f"{first[0]} {last[0]}", *first[1:], *last[1:])
    return ()


def _translation_by_stem(
    word: str, entries: _Beginnings, *, ending: int = _ENDINGS[-1]
) -> tuple[str, ...]:
    """The translation of a word's longest known beginning, if only an ending follows."""
    for end in range(len(word), max(1, len(word) - ending - 1), -1):
        if word[:end] in entries and len(word) - end <= _ENDINGS[min(end, len(_ENDINGS) - 1)]:
            return entries[word[:end]]
    return ()


def _bare(word: str) -> str:
    """A word in lower case, without accents."""
    split = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return "".join(each for each in split if not unicodedata.combining(each))


@cache
def _dictionary() -> Mapping[str, _Beginnings]:
    """Language -> word beginning -> its English translations."""
    by_language: dict[str, dict[str, tuple[str, ...]]] = {each: {} for each in GLOSSED}
    lines = (pkgutil.get_data(__package__, "english_words.txt") or b"").decode().splitlines()
    for line in lines:
        if not line.startswith("#"):
            english, *columns = (each.split() for each in line.split("|"))
            for language, words in zip(GLOSSED, columns, strict=True):
                for word in words:
                    previous = by_language[language].get(word, ())
                    by_language[language][word] = tuple(dict.fromkeys((*previous, *english)))
    return MappingProxyType(by_language)


@cache
def _reverse_dictionary() -> Mapping[str, _Beginnings]:
    """Language -> English word -> the beginnings of words for it."""
    reverse: dict[str, dict[str, tuple[str, ...]]] = {each: {} for each in BLANK_SEPARATED}
    for language, by_word in reverse.items():
        for begin, english in _dictionary()[language].items():
            for word in english:
                by_word[word] = (*by_word.get(word, ()), begin)
    return MappingProxyType(reverse)
