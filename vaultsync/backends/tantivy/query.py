"""A question in words -> a query of the note index. No adapter of a port.

The hits of a query: the best that pass, and what is kept of them. No adapter of a port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import tantivy
from tantivy import DocAddress, Occur, Query

from vaultsync.backends.tantivy.analysis import Analyzers
from vaultsync.backends.tantivy.schema import PHRASE_FIELDS, id_from_columns, name_code
from vaultsync.indexing.ports import IndexMatch
from vaultsync.model.canonical import FOREVER, NEVER
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import LOWEST_PRIORITY
from vaultsync.recall.ranking import NAME_MATCH_WEIGHT

NAME_FIELDS = {"title": 1.0, "aliases": 1.0}
"""Where a fact says what it is called, whatever the weights of questions are."""


class ColumnRange(NamedTuple):
    """Which numbers of a column pass."""

    codes: frozenset[int] | None = None
    """One of these; None: the range decides."""
    low: int = NEVER
    high: int = FOREVER

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - a column holds anything
        """Whether a number passes."""
        if self.codes is not None:
            return value in self.codes
        return bool(self.low <= value <= self.high)


def column_ranges(filters: FactFilters) -> dict[str, ColumnRange]:
    """Column -> what passes; columns where everything does are left out."""
    found = {}
    if filters.types:
        found["type"] = ColumnRange(frozenset(map(name_code, filters.types)))
    if filters.scopes is not None:
        found["scope"] = ColumnRange(frozenset(map(name_code, filters.scopes)))
    if filters.status is not None:
        found["status"] = ColumnRange(frozenset({name_code(filters.status)}))
    if filters.heads_only:
        found["replaced"] = ColumnRange(frozenset({0}))
    if filters.max_priority < LOWEST_PRIORITY:
        found["priority"] = ColumnRange(frozenset(range(filters.max_priority + 1)))
    first, until = filters.moments
    if first > NEVER or until < FOREVER:
        found["created"] = ColumnRange(low=first, high=until - 1)
    return found


class QueryBuilder:
    """Makes queries for one schema. Nothing in a question is syntax."""

    def __init__(
        self, schema: tantivy.Schema, terms: Analyzers, weights: Mapping[str, float]
    ) -> None:
        self._schema = schema
        self._terms = terms
        self._weights = {name: each for name, each in weights.items() if each > 0}

    def asked(
        self, words: str, phrases: Sequence[str], languages: Sequence[str]
    ) -> list[tuple[Occur, Query]]:
        """All phrases and some of the words; beside phrases, words only rank."""
        wanted = [self._phrase(each, languages) for each in phrases]
        asked = [(Occur.Must, each) for each in wanted if each is not None]
        terms = self._terms.of_question(words, languages)
        if terms:
            named = self._called(words, languages)
            some = self._in_any([self._in_each(each) for each in terms], named)
            asked.append((Occur.Should if asked else Occur.Must, some))
        return asked

    def _phrase(self, text: str, languages: Sequence[str]) -> Query | None:
        """All words in this order, in one field; None when there is no word."""
        ways = self._terms.of_phrase(text, languages)
        if not ways:
            return None
        return self._in_any(
            [
                self._in_each(way[0][1])
                if len(way) == 1
                else {
                    name: Query.phrase_query(self._schema, name, list(way))
                    for name in self._weights
                    if name in PHRASE_FIELDS
                }
                for way in ways
            ]
        )

    def _in_each(self, term: str) -> dict[str, Query]:
        return {name: self._term(name, term) for name in self._weights}

    def _called(self, words: str, languages: Sequence[str]) -> list[Query]:
        """What is called what is asked, by its whole title or an alias."""
        return [
            Query.boost_query(
                self._term("name", f"{field} {name}"), NAME_MATCH_WEIGHT * len(name.split())
            )
            for name in self._terms.of_names(words, languages)
            for field in NAME_FIELDS
            if field in self._weights
        ]

    def _in_any(self, some: Sequence[Mapping[str, Query]], more: Sequence[Query] = ()) -> Query:
        """Any of some queries by field, each with the weight of its field, and of more.

        One flat list, without which tantivy would not skip what cannot be among the best.
        """
        return Query.boolean_query(
            [
                (Occur.Should, Query.boost_query(query, self._weights[name]))
                for each in some
                for name, query in each.items()
            ]
            + [(Occur.Should, query) for query in more]
        )

    def tags(self, filters: FactFilters) -> list[tuple[Occur, Query]]:
        """All tags that a fact must have; they count nothing."""
        return [_must(self._term("tag", each)) for each in sorted(filters.plain_tags)]

    def filters(self, filters: FactFilters) -> list[tuple[Occur, Query]]:
        """What else a fact must be, the same as `gates()`; it counts nothing."""
        some: list[Query] = []
        for name, gate in column_ranges(filters).items():
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
            self._schema, name, tantivy.FieldType.Integer, lower_bound=low, upper_bound=high
        )


def _must(query: Query) -> tuple[Occur, Query]:
    return Occur.Must, Query.const_score_query(query, 0.0)


_SPARE = 100
"""Hits that are looked at beyond twice the limit, and four times as many when those are
not enough: so many of one score are put in order by id; of more, any may come first."""

_FEW = 0.1
"""Of the facts pass where filters are cheap."""

ScoredDoc: TypeAlias = tuple[float, DocAddress]
"""As tantivy gives it: the score, and where it lies."""


def best_hits(
    searcher: tantivy.Searcher,
    asked: list[tuple[tantivy.Occur, Query]],
    gates: Mapping[str, ColumnRange],
    limit: int,
) -> list[ScoredDoc] | None:
    """The best hits that pass, with those that equal the last of them.

    None when so few pass that the filters had better be part of the query. As long as
    many do, it is faster to look at a few more hits: tantivy skips what cannot be among
    the best, but only where nothing is asked but words. At 100,000 facts, of which
    60 % pass, that takes 1.5 times as long as words alone; filters in the query, 3 times.
    Where 10 % pass, filters take no longer than words alone, and where fewer do, less.
    """
    share = _selectivity(searcher, gates)
    if not share:
        return []
    if share < _FEW:
        return None
    query = asked[0][1] if len(asked) == 1 else Query.boolean_query(asked)
    passed: list[ScoredDoc] = []
    for wanted in (2 * limit + _SPARE, 4 * (2 * limit + _SPARE)):
        hits = searcher.search(query, wanted, count=False).hits
        passed = _passing(searcher, hits, gates)
        enough = len(passed) >= limit
        if len(hits) < wanted or (enough and passed[limit - 1][0] != hits[-1][0]):
            return passed
        if len(passed) * 4 < limit:
            return None
    return passed if len(passed) >= limit else None


def sort_matches(searcher: tantivy.Searcher, hits: list[ScoredDoc], limit: int) -> list[IndexMatch]:
    """The best matches; equal ones by id."""
    if len(hits) > limit:
        least = hits[limit - 1][0]
        hits = [hit for hit in hits if hit[0] >= least]
    ids = read_columns(searcher, hits, "id_high", "id_low")
    found = [
        IndexMatch(id_from_columns(*each), score)
        for (score, _), each in zip(hits, ids, strict=True)
    ]
    return sorted(found, key=lambda each: (-each.score, each.fact_id))[:limit]


def _selectivity(searcher: tantivy.Searcher, gates: Mapping[str, ColumnRange]) -> float:
    """Which part of the facts passes, as if no filter had to do with another."""
    share = 1.0
    for name, gate in gates.items():
        if gate.codes is not None:
            held = sum(searcher.doc_freq(name, each) for each in gate.codes)
            share *= held / searcher.num_docs
    return share


def _passing(
    searcher: tantivy.Searcher, hits: list[ScoredDoc], gates: Mapping[str, ColumnRange]
) -> list[ScoredDoc]:
    for name, gate in gates.items():
        values = searcher.fast_field_values(name, [where for _, where in hits])
        hits = list(compress(hits, map(gate.passes, values)))
    return hits


def read_columns(
    searcher: tantivy.Searcher, hits: Sequence[ScoredDoc], *names: str
) -> list[tuple[Any, ...]]:
    """The numbers that are kept of some hits, by column."""
    where = [address for _, address in hits]
    columns = [searcher.fast_field_values(name, where) for name in names]
    return list(zip(*columns, strict=True))
