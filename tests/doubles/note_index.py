"""A note index in memory: the simple reference implementation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass
from itertools import chain

from vaultsync.indexing.compounds import Vocabulary, compounds_with, parts_of
from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS, GERMAN, language_of
from vaultsync.indexing.ports import IMPORTANT, OLDEST, IndexDocument, IndexMatch, SessionTurn
from vaultsync.indexing.session_context import turn_of
from vaultsync.indexing.spelling import near_terms
from vaultsync.indexing.text_normalization import (
    index_words,
    phrase_words,
    query_words,
    split_words,
)
from vaultsync.markdown.blocks import note_headings
from vaultsync.model.canonical import tag_keys_with_parents, to_microseconds
from vaultsync.model.decay import by_importance
from vaultsync.model.fact import Fact, property_lines
from vaultsync.model.filters import FactFilters
from vaultsync.model.inline_tags import all_tags
from vaultsync.model.permissions import Reader
from vaultsync.model.schema import Value
from vaultsync.recall.asked_for import status_word, type_word
from vaultsync.recall.ranking import NAME_MATCH_WEIGHT
from vaultsync.recall.task_states import CheckBox, check_boxes
from vaultsync.storage.erasure import Traces

_ENDINGS = ("ingly", "edly", "ing", "ed", "es", "ly", "s", "e")
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class _IndexedFact:
    fact: Fact
    turn: SessionTurn
    """Its position in its session when it was indexed."""
    terms: tuple[str, ...]
    names: frozenset[tuple[str, ...]]


class MemoryIndex:
    """A `NoteIndex` in memory: BM25 over all text as one field.

    Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with the
    parameters of Lucene. `language` is used for questions whose language is not recognised:
    its stop words are removed.
    """

    def __init__(self, language: str = ENGLISH) -> None:
        self._language = language
        self._held: dict[str, _IndexedFact] = {}
        self._version: str | None = None

    def version(self) -> str | None:
        return self._version

    def last_commit(self) -> MemoryIndex:
        return copy(self)

    def update(self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str) -> None:
        held = dict(self._held)
        for each in drop:
            held.pop(each, None)
        for entry in put:
            terms = _terms(index_words("\n".join(_texts(entry))))
            turn = entry.turn or turn_of(entry.fact)
            called = (entry.fact.title, *entry.fact.aliases)
            names = frozenset(map(self._name, called))
            held[entry.fact.id] = _IndexedFact(entry.fact, turn, terms, names)
        self._held, self._version = held, version

    def clear(self) -> None:
        self._held, self._version = {}, None

    def search(
        self,
        words: str,
        filters: FactFilters,
        *,
        phrases: Sequence[str] = (),
        limit: int,
        names_only: bool = False,
    ) -> list[IndexMatch]:
        must = [each for each in map(_terms, map(phrase_words, phrases)) if each]
        asked = query_words(words)
        some = {*(_terms(asked, self._stop(words)) or _terms(asked)), *chain(*must)}
        known = Counter(t for each in self._held.values() for t in set(each.terms))
        total = sum(len(each.terms) for each in self._held.values())
        average = (total or 1) / (len(self._held) or 1)
        name = self._name(words)
        rare = math.log(1 + len(self._held) / 1.5)
        found = []
        for fact_id, held in self._held.items():
            if not filters.admits(held.fact):
                continue
            terms = held.terms
            if names_only:
                names = "\n".join((held.fact.title, *held.fact.aliases))
                terms = _terms(index_words(names))
            if not all(_has_phrase(terms, each) for each in must):
                continue
            counts = Counter(terms)
            score = NAME_MATCH_WEIGHT * rare * len(name) if name in held.names else 0.0
            for term in sorted(some & counts.keys()):
                rest = len(self._held) - known[term] + 0.5
                weight = math.log(1 + rest / (known[term] + 0.5))
                length = 1 - _B + _B * len(terms) / average
                n = counts[term]
                score += weight * n * (_K1 + 1) / (n + _K1 * length)
            if score:
                found.append(IndexMatch(fact_id, score))
        found.sort(key=lambda each: (-each.score, each.fact_id))
        return found[: max(0, limit)]

    def browse(
        self,
        filters: FactFilters,
        *,
        order: str = IMPORTANT,
        limit: int,
        boxes: str = "",
        tags: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        def is_asked(box: CheckBox) -> bool:
            return box.is_open == (boxes == "open")

        facts = [each.fact for each in self._held.values() if filters.admits(each.fact)]
        if tags:
            facts = [x for x in facts if tags & tag_keys_with_parents(all_tags(x))]
        if boxes:
            facts = [x for x in facts if any(map(is_asked, check_boxes(x.content)))]
        facts.sort(key=lambda fact: to_microseconds(fact.created_at), reverse=order != OLDEST)
        if order == IMPORTANT:
            facts.sort(key=by_importance)
        return [fact.id for fact in facts[: max(0, limit)]]

    def facts_with(self, terms: Iterable[str]) -> dict[str, int]:
        held = self._held.values()
        return {each: sum(each in one.terms for one in held) for each in terms}

    def near_terms(self, term: str) -> list[str]:
        return near_terms(term, (one for each in self._held.values() for one in each.terms))

    def languages(self) -> frozenset[str]:
        contents = (each.fact.content for each in self._held.values())
        return frozenset(language_of(each) or self._language for each in contents)

    def terms_beginning_with(self, beginnings: Iterable[str]) -> dict[str, set[str]]:
        terms = {one for each in self._held.values() for one in each.terms}
        return {each: {x for x in terms if x.startswith(each)} for each in beginnings}

    def compounds(self, words: Sequence[str]) -> dict[str, list[str]]:
        facts = [each.fact for each in self._held.values()]
        if not any(language_of(fact.content) == GERMAN for fact in facts):
            return {}
        vocabulary = Vocabulary(one for each in self._held.values() for one in each.terms)
        found = {}
        for word in words:
            others = {*_terms(" ".join(words))} - {*_terms(word)}
            forms = word.casefold(), _terms(word)[-1]
            compounds = compounds_with(*forms, vocabulary, self.facts_with, beside=others)
            found[word] = [*parts_of(forms[0], self.facts_with), *compounds]
        return {word: terms for word, terms in found.items() if terms}

    def count_hidden(
        self, words: str | None, filters: FactFilters, *, phrases: Sequence[str] = ()
    ) -> Mapping[str, int]:
        unhidden, most = filters.unhidden, len(self._held)
        if words is None:
            ids = self.browse(unhidden, limit=most)
        else:
            found = self.search(words, unhidden, phrases=phrases, limit=most)
            ids = [each.fact_id for each in found]
        return Counter(filter(None, (filters.hidden_by(self._held[each].fact) for each in ids)))

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[SessionTurn]:
        held = {each: one.turn for each, one in self._held.items()}
        named = held.keys() & set(facts)
        wanted = {*sessions, *(held[each].session for each in named)} - {0}
        return [turn for each, turn in held.items() if each in named or turn.session in wanted]

    def tokens(self, text: str) -> list[str]:
        return list(_terms(phrase_words(text), self._stop(text)))

    def stemmer(self, text: str) -> Callable[[str], Collection[str]]:
        return _terms

    def _name(self, text: str) -> tuple[str, ...]:
        found = phrase_words(text)
        return _terms(found, self._stop(text)) or _terms(found)

    def _stop(self, text: str) -> frozenset[str]:
        language = language_of(text, least=1, likely=self.languages()) or self._language
        return FUNCTION_WORDS.get(language, frozenset())

    def count(self, reader: Reader | None = None) -> int:
        held = self._held.values()
        return sum(reader is None or reader.reads(each.fact.scope) for each in held)

    def erase(self, traces: Traces) -> dict[str, int]:
        self.clear()
        return {}

    def close(self) -> None:
        """Do nothing: no resource is open."""


def _terms(text: str, stop: frozenset[str] = frozenset()) -> tuple[str, ...]:
    words = split_words(text.casefold())
    return tuple(_stem(word) for word in words if word not in stop)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def _texts(entry: IndexDocument) -> Iterator[str]:
    fact, headings = entry.fact, note_headings(entry.fact.content)
    yield from (fact.title, fact.context or "", fact.content, entry.around)
    yield from (
        *fact.aliases,
        *fact.tags,
        type_word(fact),
        status_word(fact),
        *fact.entities,
        *headings,
    )
    yield from _strings([*fact.own.values()])
    yield from property_lines(fact)


def _strings(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _strings(each)


def _has_phrase(terms: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    size = len(phrase)
    return any(terms[at : at + size] == phrase for at in range(len(terms) - size + 1))
