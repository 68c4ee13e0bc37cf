"""The hits of a query: the best that pass, and what is kept of them. No adapter of a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, TypeAlias

import tantivy
from tantivy import DocAddress, Query

from vaultsync.backends.tantivy.query import Gate
from vaultsync.backends.tantivy.schema import fact_id
from vaultsync.indexing.ports import Match

_SPARE = 100
"""Hits that are looked at beyond twice the limit, and four times as many when those are
not enough: so many of one score are put in order by id; of more, any may come first."""

_FEW = 0.1
"""Of the facts pass where filters are cheap."""

Hit: TypeAlias = tuple[float, DocAddress]
"""As tantivy gives it: the score, and where it lies."""


def best(
    searcher: tantivy.Searcher,
    asked: list[tuple[tantivy.Occur, Query]],
    gates: Mapping[str, Gate],
    limit: int,
) -> list[Hit] | None:
    """The best hits that pass, with those that equal the last of them.

    None when so few pass that the filters had better be part of the query. As long as
    many do, it is faster to look at a few more hits: tantivy skips what cannot be among
    the best, but only where nothing is asked but words. At 100,000 facts, of which
    60 % pass, that takes 1.5 times as long as words alone; filters in the query, 3 times.
    Where 10 % pass, filters take no longer than words alone, and where fewer do, less.
    """
    share = _share(searcher, gates)
    if not share:
        return []
    if share < _FEW:
        return None
    query = asked[0][1] if len(asked) == 1 else Query.boolean_query(asked)
    passed: list[Hit] = []
    for wanted in (2 * limit + _SPARE, 4 * (2 * limit + _SPARE)):
        hits = searcher.search(query, wanted, count=False).hits
        passed = _passing(searcher, hits, gates)
        enough = len(passed) >= limit
        if len(hits) < wanted or (enough and passed[limit - 1][0] != hits[-1][0]):
            return passed
        if len(passed) * 4 < limit:
            return None
    return passed if len(passed) >= limit else None


def in_order(searcher: tantivy.Searcher, hits: list[Hit], limit: int) -> list[Match]:
    """The best matches; equal ones by id."""
    if len(hits) > limit:
        least = hits[limit - 1][0]
        hits = [hit for hit in hits if hit[0] >= least]
    ids = columns(searcher, hits, "id_high", "id_low")
    found = [
        Match(fact_id(*each), score) for (score, _), each in zip(hits, ids, strict=True)
    ]
    return sorted(found, key=lambda each: (-each.score, each.fact_id))[:limit]


def _share(searcher: tantivy.Searcher, gates: Mapping[str, Gate]) -> float:
    """Which part of the facts passes, as if no filter had to do with another."""
    share = 1.0
    for name, gate in gates.items():
        if gate.codes is not None:
            held = sum(searcher.doc_freq(name, each) for each in gate.codes)
            share *= held / searcher.num_docs
    return share


def _passing(
    searcher: tantivy.Searcher, hits: list[Hit], gates: Mapping[str, Gate]
) -> list[Hit]:
    for name, gate in gates.items():
        values = searcher.fast_field_values(name, [where for _, where in hits])
        hits = list(compress(hits, map(gate.passes, values)))
    return hits


def columns(
    searcher: tantivy.Searcher, hits: Sequence[Hit], *names: str
) -> list[tuple[Any, ...]]:
    """The numbers that are kept of some hits, by column."""
    where = [address for _, address in hits]
    columns = [searcher.fast_field_values(name, where) for name in names]
    return list(zip(*columns, strict=True))
