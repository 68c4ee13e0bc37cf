"""A question in words -> a query of the note index. No adapter of a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tantivy
from tantivy import Occur, Query

from vaultsync.adapters.index_schema import code, folded_tag
from vaultsync.core.around import moment
from vaultsync.core.fields import TIERS
from vaultsync.core.words import words_to_find
from vaultsync.ports import Filters

LAST = (1 << 63) - 1
LOWEST = max(TIERS["background"])
MOST_TERMS = 100
"""Of a question; a pasted document is no better question by its thousandth word."""


class Gate(NamedTuple):
    """Which numbers of a column pass."""

    codes: frozenset[int] | None = None
    """One of these; None: the range decides."""
    low: int = 0
    high: int = LAST

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - a column holds anything
        """Whether a number passes."""
        if self.codes is not None:
            return value in self.codes
        return bool(self.low <= value <= self.high)


def gates(filters: Filters) -> dict[str, Gate]:
    """Column -> what passes; columns where everything does are left out."""
    found = {}
    if filters.types:
        found["type"] = Gate(frozenset(map(code, filters.types)))
    if filters.scopes is not None:
        found["scope"] = Gate(frozenset(map(code, filters.scopes)))
    if filters.status is not None:
        found["status"] = Gate(frozenset({code(filters.status)}))
    if filters.heads_only:
        found["replaced"] = Gate(high=0)
    if filters.max_priority < LOWEST:
        found["priority"] = Gate(high=max(0, filters.max_priority))
    if filters.since is not None or filters.until is not None:
        last = moment(filters.until) - 1 if filters.until is not None else LAST
        found["created"] = Gate(low=moment(filters.since or ""), high=last)
    return found


class Asking:
    """Makes queries for one schema. Nothing in a question is syntax."""

    def __init__(
        self,
        schema: tantivy.Schema,
        analyzer: tantivy.TextAnalyzer,
        weights: Mapping[str, float],
    ) -> None:
        self._schema = schema
        self._analyzer = analyzer
        self._weights = {name: each for name, each in weights.items() if each > 0}

    def terms(self, text: str) -> list[str]:
        """The terms of a question, each once, as they come."""
        found = dict.fromkeys(self._analyzer.analyze(words_to_find(text)))
        return list(found)[:MOST_TERMS]

    def words(self, text: str) -> Query | None:
        """Any of the words in any field; None when there is no word."""
        terms = self.terms(text)
        if not terms:
            return None
        some = [
            (Occur.Should, Query.boost_query(self._term(name, term), weight))
            for name, weight in self._weights.items()
            for term in terms
        ]
        return Query.boolean_query(some)

    def phrase(self, text: str) -> Query | None:
        """All words in this order, in one field; None when there is no word."""
        tokens = self._analyzer.pre_tokenize(words_to_find(text)).tokens
        if not tokens:
            return None
        first = tokens[0].position
        words: list[str | tuple[int, str]] = [
            (each.position - first, each.text) for each in tokens
        ]
        some = []
        for name, weight in self._weights.items():
            found = (
                Query.phrase_query(self._schema, name, words)
                if len(words) > 1
                else self._term(name, tokens[0].text)
            )
            some.append((Occur.Should, Query.boost_query(found, weight)))
        return Query.boolean_query(some)

    def asked(self, words: str, phrases: Sequence[str]) -> list[tuple[Occur, Query]]:
        """All phrases and some of the words; beside phrases, words only rank."""
        wanted = [self.phrase(each) for each in phrases]
        must = [(Occur.Must, each) for each in wanted if each is not None]
        some = self.words(words)
        if some is not None:
            must.append((Occur.Should if must else Occur.Must, some))
        return must

    def tags(self, filters: Filters) -> list[tuple[Occur, Query]]:
        """All tags that a fact must have; they count nothing."""
        tags = sorted({folded_tag(each) for each in filters.tags})
        return [_must(self._term("tag", each)) for each in tags]

    def filters(self, filters: Filters) -> list[tuple[Occur, Query]]:
        """What else a fact must be, the same as `gates()`; it counts nothing."""
        some: list[Query] = []
        for name, gate in gates(filters).items():
            if gate.codes is not None:
                found = Query.term_set_query(self._schema, name, sorted(gate.codes))
            else:
                found = self._range(name, gate.low, gate.high)
            some.append(found)
        return [_must(each) for each in some]

    def _term(self, name: str, value: str | int) -> Query:
        return Query.term_query(self._schema, name, value)

    def _range(self, name: str, low: int, high: int) -> Query:
        return Query.range_query(
            self._schema,
            name,
            tantivy.FieldType.Unsigned,
            lower_bound=low,
            upper_bound=high,
        )


def _must(query: Query) -> tuple[Occur, Query]:
    return Occur.Must, Query.const_score_query(query, 0.0)
