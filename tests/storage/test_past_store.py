"""A store of some versions, to be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vaultsync.errors import FactNotFoundError
from vaultsync.model.fact import Fact
from vaultsync.recall.past_facts import PastStore

A, B = (Fact(each * 36, title=each, revision=f"1-{each}") for each in "ab")


@pytest.fixture
def store() -> PastStore:
    return PastStore({B.id: B, A.id: A}, store_id="s", at="2026-03-01")


def test_it_holds_the_facts(store: PastStore) -> None:
    assert store.get(A.id) == A
    with pytest.raises(FactNotFoundError):
        store.get("c")
    assert store.find_many([B.id, "c"]) == {B.id: B}
    assert [fact.title for fact in store.iter_facts()] == ["a", "b"]
    assert [fact.title for fact in store.iter_facts(newest=True)] == ["b", "a"]
    assert [fact.title for fact in store.iter_facts(A.id)] == ["b"]
    assert [fact.title for fact in store.iter_facts(B.id, newest=True)] == ["a"]
    assert list(store.iter_facts(deleted=True)) == []
    assert store.tombstone(A.id) is None
    assert store.damaged() == {}


def test_its_feed_names_each_fact(store: PastStore) -> None:
    first, second = store.feed()
    assert [first.fact_id, second.fact_id] == [A.id, B.id]
    assert store.feed(1) == [second]
    assert store.last_write(B.id) == second
    assert store.last_write("c") is None
    assert [store.revision_at(seq) for seq in (0, 1, 2, 3)] == [None, "1-a", "1-b", None]
    assert store.state() == ("s@2026-03-01", 2, 2, "1-b")
    assert PastStore({}, store_id="s", at="").state() == ("s@", 0, 0, "")


def test_nothing_can_be_written(store: PastStore) -> None:
    refused: list[Callable[[], object]] = [
        lambda: store.write([]),
        lambda: store.last_ops([]),
        lambda: store.count_accesses({}, ""),
        lambda: store.drop_replaced([]),
        store.replaced_ids,
        lambda: store.replaced_versions([]),
    ]
    for each in refused:
        with pytest.raises(NotImplementedError):
            each()
    store.close()
    assert store.get(A.id) == A
