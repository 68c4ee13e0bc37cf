"""What the words of a question are in an index: its terms, their forms, spellings and languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from itertools import filterfalse, product
from math import fsum
from typing import TYPE_CHECKING

from vaultsync.indexing.language import ENGLISH, GERMAN, IRREGULAR_FORMS, language_of
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.text_normalization import split_words
from vaultsync.model.fact import Fact
from vaultsync.recall.asked_words import AskedFor
from vaultsync.recall.explanation import QueryTerms, fact_text
from vaultsync.recall.ranking import rarity

if TYPE_CHECKING:  # few questions need it
    from vaultsync.indexing.spelling import KnownWords

_PARTICLES = (" up", " down", " in", " out", " off", " over")
"""Of these, a question with a verb such as *back up* has one."""


class QuestionWords:
    """The words of a question, and the facts that have them.

    Args:
        is_word: whether a word is common in English.
    """

    def __init__(
        self, words: str, asked: AskedFor, index: NoteIndex, is_word: Callable[[str], bool]
    ) -> None:
        self.index = index
        """It is replaced by the updated one, before any property is used."""
        last = index.last_commit()  # one look at it for both
        self.terms = QueryTerms(last.tokens(words), last.stemmer(words))
        self.searched = words
        """The words for keyword search, including spelling corrections."""
        self.in_english = ""
        """The English translation of a question in another language; empty if not needed."""
        self._asked_words = words
        self._asked = asked
        self._is_common = is_word
        self._known_otherwise = set[str]()
        """The terms of the question that facts have in another form or language."""
        self._counts: Mapping[str, int] | None = None
        self._misspelled: dict[str, str] = {}
        """Word of the question that no fact has -> the term that it means."""
        self._matched_words: dict[str, dict[int, str]] = {}
        self._texts: dict[str, str] = {}
        self._named: dict[str, bool] = {}

    # --------------------------------------------------------------------- in facts

    def of(self, fact: Fact) -> Mapping[int, str]:
        """The terms that a fact contains, as written; computed once per fact."""
        if fact.id not in self._matched_words:
            self._matched_words[fact.id] = self.terms.matched_words(self.text_of(fact))
        return self._matched_words[fact.id]

    def are_all_in(self, fact: Fact) -> bool:
        """Whether a fact contains all terms, as few candidates do."""
        is_known = fact.id in self._matched_words
        if not is_known and self.terms.surely_lacks_any(self.text_of(fact)):
            return False
        return len(self.of(fact)) == len(self.terms.stems)

    def text_of(self, fact: Fact) -> str:
        """The searchable text of a fact; computed once per fact."""
        if fact.id not in self._texts:
            self._texts[fact.id] = fact_text(fact)
        return self._texts[fact.id]

    def weight(self, fact: Fact) -> float:
        """The sum of the rarities of the terms that a fact contains."""
        return fsum(self.rarities[self.terms.stems[each]] for each in self.of(fact))

    def names(self, name: str) -> bool:
        """Whether the question contains all words of a name, which many facts may have."""
        if name not in self._named:
            stems = self.index.tokens(name)
            self._named[name] = bool(stems) and set(stems) <= set(self.terms.stems)
        return self._named[name]

    # --------------------------------------------------------------------- in the index

    def counts(self) -> Mapping[str, int]:
        """Term of the question -> how many facts of the index contain it."""
        if self._counts is None:
            self._counts = self.index.facts_with(self.terms.stems)
        return self._counts

    @cached_property
    def fact_count(self) -> int:
        """The number of facts in the updated index."""
        return self.index.count()

    @cached_property
    def rarities(self) -> Mapping[str, float]:
        """Term of the question -> its `rarity()`."""
        return {stem: rarity(count, self.fact_count) for stem, count in self.counts().items()}

    @cached_property
    def stems_of(self) -> Callable[[str], Collection[str]]:
        """Word of the question -> its stems, by the updated index."""
        return self.index.stemmer(self._asked_words)

    @cached_property
    def language(self) -> str | None:
        """The language of the question, which may have a single function word."""
        return language_of(self._asked_words, least=1, likely=self.index.languages())

    def likely_languages(self) -> list[str]:
        """The language of the question, or those of notes in others if no word of it is English.

        So *recetas veganas* may be in Spanish if notes are, though it has no function word.
        """
        if self.language is not None:
            return [self.language]
        is_english = any(map(self._is_common, split_words(self._asked_words.lower())))
        return [] if is_english else sorted(self.index.languages() - {ENGLISH})

    @cached_property
    def topic(self) -> frozenset[int]:
        """The numbers of the terms that are the topic: not *decision* in *our latest decision*.

        *People* in *How many people came?* belongs to the topic.
        """
        asked, stems = self._asked, self.terms.stems
        every = frozenset(range(len(stems)))
        names_more = asked.order or asked.types - {"person"}
        if not (asked.topic and names_more):
            return every
        words = asked.topic
        if self.in_english:
            from vaultsync.recall.glosses import glosses  # noqa: PLC0415 - already loaded

            translated = glosses(" ".join(asked.topic), self.language)
            words = tuple(word for each in translated for word in each.best.split())
        topic = frozenset(stem for word in words for stem in self.stems_of(word))
        return frozenset(n for n, stem in enumerate(stems) if stem in topic) or every

    def unknown(self) -> set[str]:
        """The terms that no fact contains, not even in another form or language."""
        return self._without_facts() - self._known_otherwise

    def _without_facts(self) -> set[str]:
        return {stem for stem, count in self.counts().items() if not count}

    # --------------------------------------------------------------------- other words

    def translate(self) -> None:
        """Also search in English, if that occurs in more facts for most words of the question."""
        words, language = self._asked_words, self.language
        if self.in_english or language == ENGLISH or (language is None and self._is_plain(words)):
            return
        if language is None and any(map(self.known.before_slip, self._without_facts())):
            return  # *paginaton* is no foreign word
        from vaultsync.recall.glosses import translated_terms  # noqa: PLC0415 - few questions

        if translation := translated_terms(words, self.index):
            self.in_english, self.terms, extra_words = translation
            self._counts = None
            self.searched += f" {extra_words}"

    def _is_plain(self, words: str) -> bool:
        """Whether facts or English have all words: a question of a few words has no language."""
        if not words.isascii():
            return False
        others = filterfalse(self._is_common, split_words(words.lower()))
        return all(any(map(self.counts().get, self.stems_of(each))) for each in others)

    def add_irregular_forms(self) -> None:
        """Also search for another form of a word that no fact has in its own: *sold* for *sell*."""
        without_facts = self._without_facts()
        if not without_facts or self.in_english or self.language not in (None, ENGLISH):
            return
        for word in {*split_words(self._asked_words.lower())} & IRREGULAR_FORMS.keys():
            own = without_facts.intersection(self.stems_of(word))
            others = {stem: form for form in IRREGULAR_FORMS[word] for stem in self.stems_of(form)}
            counts = self.index.facts_with(others.keys() - own) if own else {}
            known = [stem for stem, count in counts.items() if count]
            self.searched = " ".join((self.searched, *map(others.__getitem__, known)))
            self._known_otherwise |= own if known else set()
            for stem, other in product(own, known):
                self.terms.add_spelling(stem, other)

    def add_nouns_of_verbs(self) -> None:
        """Also search for the noun of a verb with a particle: *backup* for *back up*."""
        if not any(map(self._asked_words.lower().__contains__, _PARTICLES)):
            return
        for noun, stems in self.known.nouns_of_verbs().items():
            self.searched += f" {noun}"
            for stem in filter(stems.__contains__, self.terms.stems):
                self.terms.add_spelling(stem, noun)

    def add_terms_of_notes(self) -> None:
        """Also search for what notes in other languages than English have for the words."""
        if self.in_english or self.index.languages() <= {ENGLISH}:
            return
        without_facts = self._without_facts()
        if self.language != GERMAN and not without_facts:
            return
        from vaultsync.recall.glosses import terms_of_notes  # noqa: PLC0415 - few memories

        words, stems_of = self._asked_words, self.stems_of
        unknown = {x.lower() for x in split_words(words) if without_facts.intersection(stems_of(x))}
        for word, terms in terms_of_notes(words, self.language, self.index, unknown).items():
            self.searched = " ".join((self.searched, *terms))
            stems = set(self.terms.stems).intersection(stems_of(word))
            self._known_otherwise |= stems
            for stem, term in product(stems, terms):
                self.terms.add_spelling(stem, term)

    def correct_spelling(self) -> None:
        """Also search for the nearest known words, for misspelled words that no fact has."""
        unknown = [
            stem
            for stem, count in self.counts().items()
            if stem not in self._known_otherwise
            and (not count or (stem.endswith("e") and self._is_lengthened(stem)))
        ]
        for stem in unknown:
            for spelling in self.known.spelling_of(stem):
                self.terms.add_spelling(stem, spelling)
                self.searched += f" {self.known.word_with(spelling)}"
                words = split_words(self._asked_words)
                typed = (each for each in words if stem in self.stems_of(each))
                self._misspelled |= dict.fromkeys(typed, spelling)

    def spelled_right(self, text: str) -> str:
        """A text with the corrected spellings: a model hardly knows a misspelled word."""
        for typed, spelling in self._misspelled.items():
            text = re.sub(rf"\b{typed}\b", self.known.corrected(typed.lower(), spelling), text)
        return text

    @cached_property
    def known(self) -> KnownWords:
        """Its words beside those of facts, for their spelling."""
        from vaultsync.indexing.spelling import KnownWords  # noqa: PLC0415 - few questions

        return KnownWords(self._asked_words, self.index, self.stems_of, self._is_common)

    def _is_lengthened(self, stem: str) -> bool:
        """Whether a stemmer added an e to a word, and no fact has that: *thuding*."""
        is_of_word = stem in self._asked_words.lower()
        return not is_of_word and stem not in self.index.terms_beginning_with([stem])[stem]
