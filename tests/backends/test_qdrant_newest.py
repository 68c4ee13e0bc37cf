"""From the greatest id down, where a scroll only goes up: few requests, whatever the number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultsync.backends.qdrant.operations import PointFilter, ScrolledCollection, ScrollPage

NOW = datetime(2026, 2, 14, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
DAY_MS = 86_400_000
ALL = PointFilter(())


class SortedPoints:
    """Ids, scrolled as a server does."""

    walk: Any = ScrolledCollection.walk
    walk_down: Any = ScrolledCollection.walk_down

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = sorted(ids)
        self.requests = 0

    def _scroll(self, page: ScrollPage) -> tuple[Iterable[Any], object]:
        self.requests += 1
        start = bisect_left(self.ids, str(page.offset or ""))
        found = self.ids[start : start + page.limit]
        return [SimpleNamespace(id=each, payload={}) for each in found], None


def uuid_at(milliseconds: int, rest: int = 0) -> str:
    return str(UUID(int=(milliseconds << 80) + rest))


def walked(points: SortedPoints, before: str = "") -> list[str]:
    return [*chain.from_iterable(points.walk_down(ALL, now=NOW, before=before))]


_IDS = st.lists(
    st.one_of(
        st.integers(0, (1 << 128) - 1).map(lambda n: uuid_at(0, n)),
        st.builds(uuid_at, st.integers(NOW_MS - 2000, NOW_MS), st.integers(0, (1 << 80) - 1)),
        st.builds(uuid_at, st.just(NOW_MS), st.integers(0, 600)),
    ),
    max_size=900,
    unique=True,
)


@settings(max_examples=60, deadline=None)
@given(_IDS, st.data())
def test_all_ids_come_once_from_the_greatest_down(ids: list[str], data: st.DataObject) -> None:
    points = SortedPoints(ids)
    assert walked(points) == points.ids[::-1]
    before = data.draw(st.sampled_from(ids) if ids else st.just(uuid_at(NOW_MS)))
    assert walked(points, before) == [each for each in points.ids[::-1] if each < before]


SPANS = {"in a second": 1_000, "in a week": 7 * DAY_MS, "in ten years": 3_650 * DAY_MS}


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize("count", [1_000, 50_000])
def test_a_page_of_the_newest_takes_few_requests(span: int, count: int) -> None:
    ids = [uuid_at(NOW_MS - span * n // count, n * 7919) for n in range(count)]
    points = SortedPoints(ids)
    found = chain.from_iterable(points.walk_down(ALL, now=NOW))
    assert list(islice(found, 100)) == points.ids[:-101:-1]
    assert points.requests <= 40
