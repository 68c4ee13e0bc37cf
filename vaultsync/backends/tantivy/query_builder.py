"""Queries of the note index, and the best of their hits that match the filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress, repeat
from typing import Any, TypeAlias

import tantivy
from msgspec import Struct
from tantivy import DocAddress, Occur, Query

from vaultsync.backends.tantivy.analysis import Analyzers
from vaultsync.backends.tantivy.index_fields import PHRASE_FIELDS, name_code, user_code
from vaultsync.indexing.ports import IndexMatch
from vaultsync.model.canonical import FOREVER, NEVER, to_microseconds
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import BACKGROUND, EXPIRED, RETIRED_STATUSES, SUPERSEDED
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS
from vaultsync.recall.ranking import NAME_MATCH_WEIGHT

NAME_FIELDS = {"title": 1.0, "aliases": 1.0}
"""The fields with the names of a fact, and their weights if only names are searched."""
Clause: TypeAlias = tuple[Occur, Query]


class ColumnRange(Struct, frozen=True):
    """The numbers of a column that match a filter."""

    codes: frozenset[int] | None = None
    """The numbers; None if the range applies."""
    is_not: bool = False
    """Whether the numbers are excluded instead of included."""
    low: int = NEVER
    high: int = FOREVER

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - a column holds anything
        if self.codes is not None:
            return (value in self.codes) != self.is_not
        return bool(self.low <= value <= self.high)


def column_ranges(filters: FactFilters, scopes: Iterable[str]) -> dict[str, ColumnRange]:
    """The ranges of the columns that the filters restrict.

    Args:
        filters: the filters of a search.
        scopes: the scopes of the facts in the index.
    """
    words, known = filters.words, frozenset(scopes)
    if filters.reader is not None:
        readable = frozenset(filter(filters.reader.reads, words.get("scope", known)))
        if "scope" in words or readable != known:
            words["scope"] = readable
    found = {
        field: ColumnRange(frozenset(map(name_code, allowed))) for field, allowed in words.items()
    }
    if filters.heads_only or filters.superseded_only:
        both = filters.heads_only and filters.superseded_only
        found["replaced"] = ColumnRange(frozenset(() if both else {int(filters.superseded_only)}))
    if filters.max_priority < LOWEST_PRIORITY or filters.tiers:
        tiers = filters.tiers or TIERS
        priorities = frozenset(each for tier in tiers for each in TIERS[tier])
        found["priority"] = ColumnRange(priorities & frozenset(range(filters.max_priority + 1)))
    hidden = frozenset(map(name_code, filters.hidden_statuses))
    if hidden:
        asked = found["status"].codes if "status" in found else None
        found["status"] = (
            ColumnRange(hidden, is_not=True) if asked is None else ColumnRange(asked - hidden)
        )
    if filters.hide_background:
        found["background"] = ColumnRange(frozenset({0}))
    if filters.user is not None:
        found["user"] = ColumnRange(frozenset({user_code(filters.user)}))
    if filters.alive_at is not None:
        found["expires"] = ColumnRange(low=to_microseconds(filters.alive_at) + 1)
    first, until = filters.moments
    if first > NEVER or until < FOREVER:
        found["created"] = ColumnRange(low=first, high=until - 1)
    return found


class QueryBuilder:
    """Builds queries for one schema. A question has no syntax."""

    def __init__(
        self, schema: tantivy.Schema, terms: Analyzers, weights: Mapping[str, float]
    ) -> None:
        self._schema = schema
        self._terms = terms
        self._weights = {name: each for name, each in weights.items() if each > 0}

    def asked(
        self,
        searcher: tantivy.Searcher,
        words: str,
        phrases: Sequence[str],
        languages: Sequence[str],
        filters: FactFilters,
    ) -> list[Clause]:
        """All phrases, some of the words, and all labels; with phrases, words only rank.

        Each is one flat list of queries, of any language in any field: tantivy then skips
        documents that cannot be among the best. Words that do not occur in a field are left
        out, which saves three of four queries. Empty if nothing is searched.
        """
        asked: list[Clause] = []
        for phrase in phrases:
            ways = self._terms.of_phrase(phrase, languages)
            if ways:
                asked.append((Occur.Must, Query.boolean_query(self._in_fields(searcher, ways))))
        terms, names = self._terms.of_question(words, languages)
        queries = [*self._in_fields(searcher, ([(0, term)] for term in terms))]
        queries += self._named(searcher, names)
        if queries:
            asked.append((Occur.Should if asked else Occur.Must, Query.boolean_query(queries)))
        return asked and asked + self._labelled(filters)

    def browsed(
        self,
        filters: FactFilters,
        ranges: Mapping[str, ColumnRange],
        tags: AbstractSet[str] = frozenset(),
    ) -> list[Clause]:
        """All facts with all tags and themes, one of `tags` if any, and columns in the ranges."""
        # The document with the version has no priority.
        every = {"priority": ColumnRange(frozenset(range(LOWEST_PRIORITY + 1)))}
        any_tag = [_must(Query.term_set_query(self._schema, "tag", sorted(tags)))] if tags else []
        return self._labelled(filters) + any_tag + self.ranges(every | dict(ranges))

    def _labelled(self, filters: FactFilters) -> list[Clause]:
        """All tags and themes of the filters, without a score."""
        labels = {"tag": filters.plain_tags, "theme": filters.themes}
        return [
            _must(Query.term_query(self._schema, name, label))
            for name, some in labels.items()
            for label in sorted(some)
        ]

    def _in_fields(
        self, searcher: tantivy.Searcher, ways: Iterable[list[tuple[int, str]]]
    ) -> list[Clause]:
        """Any term, or terms in order, in any field, with the weight of the field."""
        found = []
        for way in ways:
            terms = [term for _, term in way]
            for name, weight in self._weights.items():
                if not all(map(searcher.doc_freq, repeat(name), terms)):
                    continue
                if len(way) == 1:
                    query = Query.term_query(self._schema, name, way[0][1])
                elif name in PHRASE_FIELDS:
                    query = Query.phrase_query(self._schema, name, list(way))
                else:
                    continue
                found.append((Occur.Should, Query.boost_query(query, weight)))
        return found

    def _named(self, searcher: tantivy.Searcher, names: Sequence[str]) -> list[Clause]:
        """The facts whose title or alias equals one of the names."""
        found = []
        for name in names:
            weight = NAME_MATCH_WEIGHT * len(name.split())
            for field in NAME_FIELDS:
                term = f"{field} {name}"
                if field in self._weights and searcher.doc_freq("name", term):
                    query = Query.term_query(self._schema, "name", term)
                    found.append((Occur.Should, Query.boost_query(query, weight)))
        return found

    def ranges(self, ranges: Mapping[str, ColumnRange]) -> list[Clause]:
        """All ranges that the columns of a fact must be in, without a score."""
        return [
            (Occur.MustNot, self._range(name, span))
            if span.is_not
            else _must(self._range(name, span))
            for name, span in ranges.items()
        ]

    def hiding(
        self, view: tantivy.Searcher, first_expiry: int, filters: FactFilters
    ) -> dict[str, Query]:
        """Default -> the query for the facts that it hides; a fact may be in several."""
        found = {}
        for reason, columns in _hiding_columns(filters).items():
            some = [
                (Occur.Should, self._range(name, span))
                for name, span in columns
                if (span.high >= first_expiry if span.codes is None else _held(view, name, span))
            ]
            if some:
                found[reason] = Query.boolean_query(some)
        return found

    def _range(self, name: str, span: ColumnRange) -> Query:
        """The facts whose value is in a range, or is one of its numbers."""
        if span.codes is None:
            kind = tantivy.FieldType.Integer
            return Query.range_query(self._schema, name, kind, span.low, span.high)
        if len(span.codes) > _FEW_CODES:
            return Query.term_set_query(self._schema, name, sorted(span.codes))
        some = (Query.term_query(self._schema, name, each) for each in sorted(span.codes))
        return Query.boolean_query([(Occur.Should, each) for each in some])


def _hiding_columns(filters: FactFilters) -> dict[str, list[tuple[str, ColumnRange]]]:
    """The columns by which each default hides facts, in the order of `hidden_by()`."""
    found: dict[str, list[tuple[str, ColumnRange]]] = {}
    if filters.heads_only:
        found[SUPERSEDED] = [("replaced", ColumnRange(frozenset({1})))]
    for reason in dict.fromkeys((*RETIRED_STATUSES, *sorted(filters.hidden_statuses))):
        if reason == EXPIRED and filters.alive_at is not None:
            passed = ColumnRange(high=to_microseconds(filters.alive_at))
            found[reason] = [("expires", passed)]
        if reason in filters.hidden_statuses:
            status = ColumnRange(frozenset({name_code(reason)}))
            found.setdefault(reason, []).append(("status", status))
    if filters.hide_background:
        found[BACKGROUND] = [("background", ColumnRange(frozenset({1})))]
    return found


def _must(query: Query) -> Clause:
    return Occur.Must, Query.const_score_query(query, 0.0)


_SPARE = 100
"""Number of hits read beyond twice the limit, and four times as many if those are not enough. Up to
this number, hits with equal scores are ordered by id."""

_FEW_CODES = 8
"""Up to this count, numbers are queried one by one; building a set query is ten times slower."""
_FEW = 0.1
"""Below this share of matching facts, the filters are part of the query."""

ScoredDoc: TypeAlias = tuple[float, DocAddress]
"""A hit of tantivy: its score and its address."""


def best_hits(
    searcher: tantivy.Searcher, asked: list[Clause], ranges: Mapping[str, ColumnRange], limit: int
) -> list[ScoredDoc] | None:
    """The best hits that match the filters, and those that tie with the last of them.

    None if so few match that the filters should be part of the query. If many match, reading
    a few more hits is faster: tantivy skips documents that cannot be among
    the best, but only in queries without filters. With 100,000 facts of which 60 % match,
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
    """The best matches; equal scores are ordered by id."""
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
            passing = _held(searcher, name, span) / searcher.num_docs
            share *= max(0.0, 1 - passing) if span.is_not else passing
    return share


def _held(searcher: tantivy.Searcher, name: str, span: ColumnRange) -> int:
    """The number of facts that have one of the numbers in a column."""
    return sum(map(searcher.doc_freq, repeat(name), span.codes or ()))


def _passing(
    searcher: tantivy.Searcher, hits: list[ScoredDoc], ranges: Mapping[str, ColumnRange]
) -> list[ScoredDoc]:
    for name, span in ranges.items():
        values = searcher.fast_field_values(name, [where for _, where in hits])
        hits = list(compress(hits, map(span.passes, values)))
    return hits


def id_from_columns(high: int, low: int) -> str:
    """The id of a fact, from the two columns that store it."""
    text = f"{high:016x}{low:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def read_columns(
    searcher: tantivy.Searcher, hits: Sequence[ScoredDoc], *names: str
) -> list[tuple[Any, ...]]:
    """The numbers of some hits, by column."""
    where = [address for _, address in hits]
    columns = [searcher.fast_field_values(name, where) for name in names]
    return list(zip(*columns, strict=True))
