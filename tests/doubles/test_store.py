from __future__ import annotations

import pytest

from tests.doubles.store import MemoryStore
from tests.fakes import FakeClock
from vaultsync.errors import FactNotFoundError, StoreUnavailableError
from vaultsync.model.fact import make_fact
from vaultsync.storage.store import StoreWrite

A = FakeClock().new_id()
FACT = make_fact({"id": A, "title": "Tea"})


def create(store: MemoryStore) -> str:
    (answer,) = store.write([StoreWrite(A, FACT, None, "indy")])
    assert isinstance(answer, str)
    return answer


def test_a_store_that_is_away_comes_back_and_a_lost_answer_is_of_a_write_that_was_done() -> None:
    store = MemoryStore(FakeClock())
    store.lose_ack = True
    with pytest.raises(StoreUnavailableError):
        create(store)
    store.away = True
    for call in (store.state, store.feed, lambda: list(store.iter_facts()), lambda: create(store)):
        with pytest.raises(StoreUnavailableError):
            call()

    store.away = False
    assert store.get(A) == FACT


def test_the_hook_runs_before_each_method_and_may_stop_it() -> None:
    store = MemoryStore(FakeClock())
    seen: list[str] = []

    def stop_writes(method: str) -> None:
        seen.append(method)
        if method == "write":
            raise InterruptedError

    store.before = stop_writes
    with pytest.raises(InterruptedError):
        create(store)
    with pytest.raises(FactNotFoundError):
        store.get(A)
    assert store.state().seq == 0
    assert seen == ["write", "get", "state"]


def test_a_restored_store_is_back_in_time_but_repeats_no_revision() -> None:
    store = MemoryStore(FakeClock(), "mine")
    backup = store.snapshot()
    lost = create(store)
    before = store.state()
    store.restore(backup)

    assert (store.state().seq, store.feed()) == (0, [])
    again = create(store)
    assert again != lost
    assert store.state() == before._replace(revision=again)

    store.clear()

    state = store.state()
    assert (state.store_id, state.seq, state.facts) == ("mine", 0, 0)
    assert store.last_write(A) is None


def test_nobody_changes_the_store_through_a_fact_it_gave() -> None:
    store = MemoryStore(FakeClock())
    store.write([StoreWrite(A, FACT.replace({"list": [1]}), None, "x")])
    held = store.get(A).properties["list"]
    assert isinstance(held, list)
    held.append(2)

    assert store.get(A).properties["list"] == [1]
