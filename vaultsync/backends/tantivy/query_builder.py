"""Queries of the note index, and the best of their hits that match the filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import tantivy
from tantivy import DocAddress, Occur, Query

from vaultsync.backends.tantivy.analysis import Analyzers
from vaultsync.backends.tantivy.index_fields import PHRASE_FIELDS, id_from_columns, name_code
from vaultsync.indexing.ports import IndexMatch
from vaultsync.model.canonical import FOREVER, NEVER
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import LOWEST_PRIORITY
from vaultsync.recall.ranking import NAME_MATCH_WEIGHT

NAME_FIELDS = {"title": 1.0, "aliases": 1.0}
"""The fields with names of a fact, and their weights where only names are searched."""


class ColumnRange(NamedTuple):
    """The numbers of a column that match a filter."""

    codes: frozenset[int] | None = None
    """The numbers; None: the range decides."""
    low: int = NEVER
    high: int = FOREVER

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - a column holds anything
        """Whether a number passes."""
        if self.codes is not None:
            return value in self.codes
        return bool(self.low <= value <= self.high)


def column_ranges(filters: FactFilters) -> dict[str, ColumnRange]:
    """The ranges of the columns that the filters restrict."""
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
    """Makes queries for one schema. A question has no syntax."""

    def __init__(
        self, schema: tantivy.Schema, terms: Analyzers, weights: Mapping[str, float]
    ) -> None:
        self._schema = schema
        self._terms = terms
        self._weights = {name: each for name, each in weights.items() if each > 0}

    def asked(
        self, words: str, phrases: Sequence[str], languages: Sequence[str]
    ) -> list[tuple[Occur, Query]]:
        """All phrases and some of the words; with phrases, words only rank."""
        wanted = [self._phrase(each, languages) for each in phrases]
        asked = [(Occur.Must, each) for each in wanted if each is not None]
        terms = self._terms.of_question(words, languages)
        if terms:
            named = self._called(words, languages)
            some = self._in_any([self._in_each(each) for each in terms], named)
            asked.append((Occur.Should if asked else Occur.Must, some))
        return asked

    def _phrase(self, text: str, languages: Sequence[str]) -> Query | None:
        """All words in this order, in one field; None when there are none."""
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
        """The facts whose whole title or alias is the question."""
        return [
            Query.boost_query(
                self._term("name", f"{field} {name}"), NAME_MATCH_WEIGHT * len(name.split())
            )
            for name in self._terms.of_names(words, languages)
            for field in NAME_FIELDS
            if field in self._weights
        ]

    def _in_any(self, some: Sequence[Mapping[str, Query]], more: Sequence[Query] = ()) -> Query:
        """Any of some queries by field, with the weights of the fields, and of more queries.

        It is one flat list: tantivy then skips documents that cannot be among the best.
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
        """All tags that a fact must have, without a score."""
        return [_must(self._term("tag", each)) for each in sorted(filters.plain_tags)]

    def filters(self, filters: FactFilters) -> list[tuple[Occur, Query]]:
        """The same as `column_ranges()` in a query, without a score."""
        return [_must(self._range(*each)) for each in column_ranges(filters).items()]

    def _term(self, name: str, value: str | int) -> Query:
        return Query.term_query(self._schema, name, value)

    def _range(self, name: str, span: ColumnRange) -> Query:
        if span.codes is not None:
            return Query.term_set_query(self._schema, name, sorted(span.codes))
        return Query.range_query(
            self._schema,
            name,
            tantivy.FieldType.Integer,
            lower_bound=span.low,
            upper_bound=span.high,
        )


def _must(query: Query) -> tuple[Occur, Query]:
    return Occur.Must, Query.const_score_query(query, 0.0)


_SPARE = 100
"""Hits that are read beyond twice the limit, and four times as many when those are not
enough. Up to this number, hits of one score are ordered by id."""

_FEW = 0.1
"""The share of matching facts below which the filters are part of the query."""

ScoredDoc: TypeAlias = tuple[float, DocAddress]
"""A hit of tantivy: its score and its address."""


def best_hits(
    searcher: tantivy.Searcher,
    asked: list[tuple[tantivy.Occur, Query]],
    ranges: Mapping[str, ColumnRange],
    limit: int,
) -> list[ScoredDoc] | None:
    """The best hits that match the filters, and those that tie with the last of them.

    None when so few match that the filters should be part of the query. As long as many
    match, reading a few more hits is faster: tantivy skips documents that cannot be among
    the best, but only in queries of words alone. With 100,000 facts of which 60 % match,
    that takes 1.5 times as long as words alone, and filters in the query 3 times. Where
    10 % or fewer pass, filters in the query take no longer than words alone.
    """
    share = _selectivity(searcher, ranges)
    if not share:
        return []
    if share < _FEW:
        return None
    query = asked[0][1] if len(asked) == 1 else Query.boolean_query(asked)
    passed: list[ScoredDoc] = []
    for wanted in (2 * limit + _SPARE, 4 * (2 * limit + _SPARE)):
        hits = searcher.search(query, wanted, count=False).hits
        passed = _passing(searcher, hits, ranges)
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


def _selectivity(searcher: tantivy.Searcher, ranges: Mapping[str, ColumnRange]) -> float:
    """The share of facts that would match if the filters were independent."""
    share = 1.0
    for name, span in ranges.items():
        if span.codes is not None:
            held = sum(searcher.doc_freq(name, each) for each in span.codes)
            share *= held / searcher.num_docs
    return share


def _passing(
    searcher: tantivy.Searcher, hits: list[ScoredDoc], ranges: Mapping[str, ColumnRange]
) -> list[ScoredDoc]:
    for name, span in ranges.items():
        values = searcher.fast_field_values(name, [where for _, where in hits])
        hits = list(compress(hits, map(span.passes, values)))
    return hits


def read_columns(
    searcher: tantivy.Searcher, hits: Sequence[ScoredDoc], *names: str
) -> list[tuple[Any, ...]]:
    """The numbers of some hits, by column."""
    where = [address for _, address in hits]
    columns = [searcher.fast_field_values(name, where) for name in names]
    return list(zip(*columns, strict=True))
