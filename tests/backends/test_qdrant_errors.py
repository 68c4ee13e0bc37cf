"""A Qdrant that is away, slow, busy, broken, full, or loses its answers."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from qdrant_client import QdrantClient, models

from tests import qdrant_server
from tests.fakes import FakeClock
from tests.qdrant_server import FakeQdrant, Fault
from tests.qdrants import PLACE, in_folder, in_memory, in_process, over_http, served, store_in
from tests.vector_rows import ALL, X, row
from vaultsync import errors
from vaultsync.backends.qdrant import client as qdrant_models
from vaultsync.backends.qdrant import collection as qdrant_layout
from vaultsync.backends.qdrant import commit_log as qdrant_head
from vaultsync.backends.qdrant import edge as qdrant_edge_points
from vaultsync.backends.qdrant import qdrant_store
from vaultsync.backends.qdrant.client import ClientPointCollection
from vaultsync.backends.qdrant.commit_log import COMMIT_RECORD_ID, CommitRecord
from vaultsync.backends.qdrant.edge import translate_edge_error as by_engine
from vaultsync.backends.qdrant.operations import (
    DeletePoints,
    MatchAny,
    Point,
    PointCollection,
    PointFilter,
    PointOperation,
    UpsertPoints,
)
from vaultsync.backends.qdrant.qdrant_errors import translate_error as by_client
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.backends.qdrant.retry import RequestFailure, RetryPolicy
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.model.fact import make_fact
from vaultsync.settings import QdrantSettings
from vaultsync.storage.erasure import Traces
from vaultsync.storage.store import RevisionMismatch, StoreWrite

pytestmark = pytest.mark.long(5)

CLOCK = FakeClock()
A, B, C = (CLOCK.new_id() for _ in range(3))


class WatchedClock(FakeClock):
    """A clock that records each pause, and acts meanwhile."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self._meanwhile = meanwhile

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().sleep(seconds)
        self._meanwhile()


@pytest.fixture
def clock() -> WatchedClock:
    return WatchedClock()


@pytest.fixture
def server() -> FakeQdrant:
    shared = served()
    shared.clear()
    shared.start()
    return shared


@pytest.fixture
def store(server: FakeQdrant, clock: WatchedClock) -> Iterator[QdrantStore]:
    opened = store_in(over_http(server, clock), clock)
    opened.state()
    yield opened
    opened.close()


def a_write(fact_id: str = A, title: str = "Tea", expect: str | None = None) -> StoreWrite:
    return StoreWrite(fact_id, make_fact({"id": fact_id, "title": title}), expect, "indy")


def once(fault: Fault, where: str = "/points/batch") -> Callable[[str, str], Fault]:
    """The first request to a path fails."""
    left = [fault]

    def happens(method: str, path: str) -> Fault:
        return left.pop() if left and path.endswith(where) else Fault()

    return happens


def always(fault: Fault, where: str = "") -> Callable[[str, str], Fault]:
    return lambda method, path: fault if path.endswith(where) else Fault()


@pytest.mark.parametrize(
    ("fault", "pauses"),
    [
        *((Fault(status), (0.5, 1.0)) for status in (429, 500, 502, 503)),
        (Fault(429, headers={"Retry-After": "7"}), (7.0, 7.0)),
    ],
)
def test_a_store_that_fails_for_a_moment_is_asked_again(
    store: QdrantStore,
    server: FakeQdrant,
    clock: WatchedClock,
    fault: Fault,
    pauses: tuple[float, float],
) -> None:
    server.fault = once(fault)

    assert isinstance(store.write([a_write()])[0], str)
    assert store.get(A).title == "Tea"
    (pause,) = clock.pauses
    assert pauses[0] <= pause <= pauses[1]


def retries(clock: FakeClock, seconds: float) -> RetryPolicy:
    busy = RequestFailure("busy", passing=True)
    return RetryPolicy(clock, lambda _: busy, seconds=seconds, jitter=lambda: 1)


def test_pauses_double_up_to_half_a_minute(clock: WatchedClock) -> None:
    with pytest.raises(errors.StoreUnavailableError, match="busy"):
        retries(clock, 120).ask(lambda: 1 // 0)

    assert clock.pauses == [1, 2, 4, 8, 16, 30, 30]


def failing(clock: FakeClock, seconds: float) -> tuple[list[float], Callable[[], None]]:
    """A request that fails after some time, and when it was made."""
    tries: list[float] = []

    def fails() -> None:
        tries.append(clock.monotonic())
        clock.advance(seconds)
        raise OSError

    return tries, fails


def test_once_given_up_each_request_is_tried_once_until_one_succeeds(clock: WatchedClock) -> None:
    patience = retries(clock, 5)
    tries, fails = failing(clock, 0)

    for _ in range(3):
        with pytest.raises(errors.StoreUnavailableError, match="busy"):
            patience.ask(fails)
    assert clock.pauses == [1, 2]
    assert len(tries) == 3 + 1 + 1

    assert patience.ask(lambda: "answer") == "answer"
    with pytest.raises(errors.StoreUnavailableError):
        patience.ask(fails)
    assert clock.pauses == [1, 2, 1, 2]


def test_a_store_that_hangs_is_left_alone_as_long_as_it_was_waited_for(clock: WatchedClock) -> None:
    patience = retries(clock, 15)
    tries, hangs = failing(clock, 10)

    for _ in range(4):
        with pytest.raises(errors.StoreUnavailableError, match="busy"):
            patience.ask(hangs)
    assert len(tries) == 2
    assert clock.monotonic() < 22

    clock.advance(22)
    assert patience.ask(lambda: "answer") == "answer"


def test_a_restart_amid_a_batch_is_waited_for(store: QdrantStore, server: FakeQdrant) -> None:
    batches = []

    def goes_away(method: str, path: str) -> Fault:
        if path.endswith("/points/batch"):
            batches.append(path)
            if len(batches) == 2:
                threading.Thread(target=server.stop).start()
                return Fault(lost=True)
        return Fault()

    def comes_back() -> None:
        while server._server is not None and len(again.pauses) == 1:
            threading.Event().wait(0.001)
        server.start()

    server.fault = goes_away
    again = WatchedClock(comes_back)
    store._points._retry._clock = again  # type: ignore[attr-defined]
    answers = store.write([a_write(A), a_write(B)])

    assert again.pauses
    assert [store.get(A).revision, store.get(B).revision] == answers
    head = store._head()
    assert head is not None
    assert head.is_committed


@pytest.mark.parametrize("lost", range(1, 3))
def test_a_lost_answer_repeats_nothing(store: QdrantStore, server: FakeQdrant, lost: int) -> None:
    asked = count()
    server.fault = lambda _, path: Fault(lost=path.endswith("/batch") and next(asked) < lost)
    (revision,) = store.write([a_write()])

    assert next(asked) > lost
    assert store.get(A).revision == revision
    assert store.state().seq == 1
    assert store.write([a_write()]) == [RevisionMismatch(A, str(revision))]


def test_a_batch_of_an_older_version_has_no_names() -> None:
    (old,) = qdrant_head.rows_of('[[1, "a", "1-x", false, "indy", "", "{}"]]')
    assert (old.fact_json, old.op) == ("{}", "")


def test_a_batch_that_broke_off_is_carried_out_once_by_whoever_comes(clock: WatchedClock) -> None:
    client = QdrantClient(":memory:", force_disable_check_same_thread=True)
    ours, theirs = in_memory(client, clock), in_memory(client, clock)
    store, other = store_in(ours, clock), store_in(theirs, clock)
    store.state()
    with broken(ours, after=1):
        answers = store.write([a_write(A)._replace(op="ours"), a_write(B)])
    take, turns = ours.take, iter(range(9))

    def late(ids: Collection[str], fields: Sequence[str] | None = None) -> object:
        if next(turns) == 1:
            assert [row.fact_id for row in other.feed()] == [A, B]
        return take(ids, fields)

    ours.take = late  # type: ignore[method-assign,assignment]
    with broken(ours, after=0):
        assert [store.get(A).revision, store.get(B).revision] == answers
    assert other.last_ops([A, B]) == {A: "ours"}
    assert other.state().facts == 2
    client.close()


def test_a_large_batch_that_broke_off_is_whole_or_not_there(
    clock: WatchedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_head, "MAX_INLINE_ROWS", 8)
    ids = [clock.new_id() for _ in range(20)]
    for stop in range(1, 4):
        points = in_memory(clock=clock)
        store = store_in(points, clock)
        store.state()
        written = False
        with broken(points, after=stop - 1), suppress(errors.StoreUnavailableError):
            store.write([a_write(each) for each in ids])
            written = True
        facts = [fact.id for fact in store.iter_facts()]

        assert facts == (ids if written else [])
        assert store.state().facts == len(facts)
        assert written == (stop == 3)


def broken(points: PointCollection, *, after: int) -> AbstractContextManager[object]:
    """It does as it is told, a number of times, and breaks."""
    whole, left = points.do, iter(range(after))

    def breaks(steps: Sequence[PointOperation]) -> None:
        if next(left, None) is None:
            raise errors.StoreUnavailableError("gone")
        whole(steps)

    return patch.object(points, "do", breaks)


@pytest.fixture
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sizes are a 128th of what they are."""
    for module, name in (
        (qdrant_server, "LARGEST"),
        (qdrant_models, "MAX_REQUEST_BYTES"),
        (qdrant_head, "MAX_ROWS_CHARS"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) // 128)


@pytest.mark.usefixtures("small_requests")
def test_large_writes_go_in_parts_that_fit(store: QdrantStore, server: FakeQdrant) -> None:
    ids = [CLOCK.new_id() for _ in range(200)]
    facts = [make_fact({"id": each, "content": "tea\n" * 2_000 + "."}) for each in ids[:60]]

    answers = store.write([StoreWrite(fact.id, fact, None, "indy") for fact in facts])

    assert [fact.revision for fact in store.iter_facts()] == answers
    assert {fact.content for fact in store.iter_facts()} == {facts[0].content}
    assert qdrant_models.MAX_REQUEST_BYTES / 2 < server.largest < qdrant_server.LARGEST / 2

    vectors = QdrantVectors(over_http(server), dimension=lambda: 64)
    vectors.reset("m/64")
    vectors.put([row(each, "one", (0.125,) * 64) for each in ids], record="r")
    assert (vectors.count(), vectors.record()) == (200, "r")
    assert server.largest < qdrant_server.LARGEST / 2


def test_the_past_of_the_store_is_read_only_by_those_who_need_it(clock: WatchedClock) -> None:
    points = in_memory(clock=clock)
    store = store_in(points, clock)
    store.write([a_write()])
    whole, told = points.take, []

    def take(ids: Collection[str], fields: Sequence[str] | None = None) -> object:
        found = whole(ids, fields)
        told.append("log" in found.get(COMMIT_RECORD_ID, {}))
        return found

    points.take = take  # type: ignore[method-assign,assignment]
    for read in (store.state, lambda: store.get(A), store.feed, lambda: [*store.iter_facts()]):
        read()
    assert told == [False] * 5
    assert store.revision_at(1)
    assert told[5:] == [True]


def test_reads_ask_a_majority_once_and_writes_are_waited_for_in_order(server: FakeQdrant) -> None:
    store = store_in(over_http(server))
    store.write([a_write()])
    vectors = QdrantVectors(over_http(server), dimension=lambda: 3)
    vectors.reset("m/3")
    vectors.put([row(A, "one", X)])
    vectors.search(X, ALL, limit=1)

    requests: dict[Callable[[], object], list[str]] = {
        lambda: store.get(A): ["points"],
        store.state: ["points"],
        store.feed: ["points", "scroll"],
        # The last are the counts of uses of a page of facts.
        lambda: list(store.iter_facts()): ["points", "scroll", "points"],
        vectors.chunks: ["scroll"],
    }
    for read, expected in requests.items():
        server.asked.clear()
        read()
        assert [each.rpartition("/")[2] for each in server.asked] == expected
    assert server.words["batch"] == {"wait=true&ordering=strong"}
    for each in ("points", "scroll", "query"):
        assert server.words[each] == {"consistency=majority"}, each


def test_a_key_that_is_refused_is_told_with_a_hint(
    server: FakeQdrant, clock: WatchedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    store = store_in(over_http(server, clock, key="MY_KEY", tls=False), clock)
    server.fault = always(Fault(401))

    with (
        pytest.warns(UserWarning, match="insecure"),
        pytest.raises(errors.StoreUnavailableError, match="key") as error,
    ):
        store.state()

    assert server.keys == {"secret"}
    assert "secret" not in error.value.message + error.value.hint
    assert "as MY_KEY" in error.value.helps


FULL = "Service internal error: No space left on device: WAL buffer"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(500, "Service internal error: trouble"), "it returned 500: Service"),
        (Fault(429), r"it is too busy \(429\)"),
        (Fault(429, headers={"Retry-After": "1"}), r"it is too busy \(429\)"),
        (Fault(502, ""), "it returned 502"),
        (Fault(404, "Not found: Collection `x` doesn't exist!"), "collection is not"),
        (Fault(418, "a teapot"), "418.*teapot"),
        (Fault(500, FULL), "disk is full"),
    ],
)
def test_what_a_server_says_is_told_in_words_and_by_whom(
    store: QdrantStore, server: FakeQdrant, clock: WatchedClock, fault: Fault, why: str
) -> None:
    server.fault = always(fault)

    with pytest.raises(errors.StoreUnavailableError, match=why) as error:
        store.state()

    assert error.value.why.endswith(f" (qdrant://127.0.0.1:{server.port}/test)")
    assert "{" not in error.value.why
    assert (
        ("free some space" in error.value.hint) == bool(error.value.helps) == (fault.said == FULL)
    )
    assert bool(clock.pauses) == (fault.status in (429, 500, 502) and fault.said != FULL)
    assert sum(clock.pauses) <= 15
    server.fault = always(Fault())
    assert store.state().seq == 0


def test_nobody_who_listens_is_told_at_once_with_the_address(clock: WatchedClock) -> None:
    place = replace(PLACE, kind="server", host="127.0.0.1", port=1)
    store = store_in(ClientPointCollection(place, clock=clock), clock)

    with pytest.raises(errors.StoreUnavailableError, match=r"refused.*127\.0\.0\.1:1/test"):
        store.state()
    assert clock.pauses == []


@pytest.mark.parametrize("version", ["1.16.3", "0.11.7", "1.9.1-dev"])
def test_a_server_that_would_not_heed_conditions_is_refused_and_nothing_is_made(
    server: FakeQdrant, clock: WatchedClock, version: str
) -> None:
    server.version = version
    store = store_in(over_http(server, clock), clock)

    with pytest.raises(errors.ConfigError, match=f"Qdrant {version}") as error:
        store.write([a_write()])

    assert "1.17" in error.value.hint
    assert server.client.get_collections().collections == []
    server.version = "1.17.0"
    assert isinstance(store.write([a_write()])[0], str)


def _remade(server: FakeQdrant, **vectors: dict[str, Any]) -> None:
    (name,) = server.config
    server.client.delete_collection(name)
    server.client.create_collection(
        name, vectors_config={key: models.VectorParams(**said) for key, said in vectors.items()}
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda server: _remade(server, content3={"size": 3, "distance": "Dot"}), "Dot"),
        (_remade, "no named vectors"),
        ({"hnsw_config": {"m": 32, "ef_construct": 128}}, "m is 32"),
        ({"replication_factor": 2}, "replication_factor is 2, not 1"),
        ({"quantization_config": None}, "int8"),
        ({"quantization_config": {"scalar": {"type": "int8", "quantile": 0.99}}}, "in memory"),
    ],
)
def test_a_collection_that_was_made_otherwise_is_refused_and_left_alone(
    server: FakeQdrant,
    clock: WatchedClock,
    change: dict[str, object] | Callable[[FakeQdrant], None],
    told: str,
) -> None:
    first = store_in(over_http(server, clock), clock)
    first.state()
    first.close()
    if isinstance(change, dict):
        (config,) = server.config.values()
        config |= change
    else:
        change(server)
    server.asked.clear()
    store = store_in(over_http(server, clock, replication_factor=1), clock)

    with pytest.raises(errors.StoreLayoutError, match=told) as refused:
        store.write([a_write()])

    assert "vaultsync migrate" in refused.value.hint
    assert all(asked.startswith("GET") for asked in server.asked)
    store.close()


def test_collections_have_their_clusters_settings(server: FakeQdrant, clock: WatchedClock) -> None:
    factors = {"shard_number": 6, "replication_factor": 2, "write_consistency_factor": 2}
    store = store_in(over_http(server, clock, **factors), clock)
    store.state()

    (said,) = server.config.values()
    assert {key: said[key] for key in factors} == factors
    assert said["hnsw_config"]["ef_construct"] == 128
    assert said["quantization_config"]["scalar"]["quantile"] == 0.99
    assert said["quantization_config"]["scalar"]["always_ram"] is True
    assert server.indexes["supersededById"] == "keyword"
    assert server.indexes["expiresAt"] == "integer"
    store.close()


def test_the_server_may_take_in_another_length(server: FakeQdrant, clock: WatchedClock) -> None:
    points = over_http(server, clock)
    vectors = QdrantVectors(points, dimension=lambda: 384)
    vectors.reset("m/3")
    vectors.put([row(A, "one", X)])
    assert [each.fact_id for each in vectors.search(X, ALL, limit=1)] == [A]

    server.widens = False
    vectors.reset("m/2")
    with pytest.raises(errors.StoreLayoutError, match="this server cannot add others"):
        vectors.put([row(A, "one", (1.0, 0.0))])
    server.fault = once(
        Fault(409, "Wrong input: Vector name `content2` already exists"), "/content2"
    )
    points.add_dimension(2)
    server.fault = once(Fault(403), "/content2")
    with pytest.raises(errors.StoreUnavailableError, match="key"):
        points.add_dimension(2)
    vectors.close()


@pytest.mark.parametrize("damage", [{"fact": None}, {"fact": 5}, {"chunk": None}, {"seal": None}])
def test_a_damaged_chunk_is_written_again(clock: WatchedClock, damage: dict[str, object]) -> None:
    points = in_memory(clock=clock)
    vectors = QdrantVectors(points, dimension=lambda: 3)
    vectors.reset("m/3")
    rows = [row(A, "one", X), row(B, "two", (0.0, 1.0, 0.0))]
    vectors.put(rows)
    chunks = PointFilter((MatchAny("fact", [A]),))
    for key, payload in points.walk(chunks, ("kind", "fact", "chunk", "seal", "first")):
        points.do([UpsertPoints([Point(key, {**payload, **damage}, X)])])

    is_named = "seal" in damage
    assert (A in vectors.chunks(), B in vectors.chunks()) == (is_named, True)
    assert vectors.outdated([rows[0].fact, rows[1].fact]) == ({A} if is_named else set())
    assert {each.fact_id for each in vectors.search(X, ALL, limit=9)} == (
        {A, B} if is_named else {B}
    )
    vectors.put(rows)
    assert vectors.outdated([rows[0].fact, rows[1].fact]) == set()
    assert vectors.chunks() == {A: {"one"}, B: {"two"}}


def test_vectors_of_a_missing_store_are_not_asked(server: FakeQdrant, clock: WatchedClock) -> None:
    points = over_http(server, clock, patience_seconds=0.0)
    vectors = QdrantVectors(points, dimension=lambda: 3)
    vectors.reset("m/3")
    server.fault = always(Fault(503))

    for ask in (
        vectors.identity,
        vectors.count,
        lambda: vectors.search(X, ALL, limit=1),
        lambda: vectors.put([row(A, "one", X)]),
    ):
        with pytest.raises(errors.DerivedError, match="503"):
            ask()
    vectors.close()


def test_a_store_that_is_gone_or_replaced_is_away(clock: WatchedClock) -> None:
    client = QdrantClient(":memory:")
    store = store_in(in_memory(client, clock), clock)
    store.write([a_write()])
    client.delete_collection(PLACE.collection)
    late = QdrantStore(in_memory(client, clock), clock=clock, create=False, dimension=lambda: 3)

    for each in (store, late):
        with pytest.raises(errors.StoreUnavailableError):
            each.state()
    assert not client.collection_exists(PLACE.collection)
    store_in(in_memory(client, clock), clock).state()
    with pytest.raises(errors.StoreUnavailableError, match="another store"):
        store.state()


def test_a_head_that_others_change_all_the_time_is_given_up(
    clock: WatchedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_store, "_TRIES", 20)
    client = QdrantClient(":memory:")
    points = in_memory(client, clock)
    store, other = store_in(points, clock), store_in(in_memory(client, clock), clock)
    store.state()
    whole, theirs = points.do, [None]

    def after_somebody_else(steps: Sequence[PointOperation]) -> None:
        theirs.extend(other.write([a_write(B, f"{len(theirs)}", expect=theirs[-1])]))  # type: ignore[arg-type]
        whole(steps)

    points.do = after_somebody_else  # type: ignore[method-assign]
    with pytest.raises(errors.StoreUnavailableError, match="other programs keep writing"):
        store.write([a_write(A)])
    points.do = whole  # type: ignore[method-assign]

    assert store.last_write(A) is None
    assert store.get(B).title == f"{len(theirs) - 1}"


def test_old_numbers_keep_revisions(clock: WatchedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_head, "MAX_LOGGED_BATCHES", 32)
    store = store_in(in_memory(clock=clock), clock)
    seen: list[str | None] = [None]
    for turn in range(60):
        (answer,) = store.write([a_write(A, f"{turn}", seen[-1])])
        assert isinstance(answer, str)
        seen.append(answer)

    assert [store.revision_at(seq) for seq in range(len(seen))] == seen
    head = store._points.take([COMMIT_RECORD_ID])[COMMIT_RECORD_ID]
    assert len(head["log"].split()) <= 32
    lost = CommitRecord.parse({**head, "log": ""})
    store._points.do([UpsertPoints([lost.point()])])
    assert store.revision_at(60) is None


def test_tombstones_and_what_broke_off_go_after_their_time(clock: WatchedClock) -> None:
    points = in_memory(clock=clock)
    store = store_in(points, clock)
    first, second = store.write([a_write(A), a_write(B)])
    store.write([StoreWrite(A, None, str(first), "x")])
    with broken(points, after=1), pytest.raises(errors.StoreUnavailableError):
        store.write([a_write(clock.new_id()) for _ in range(140)])
    pages = PointFilter((MatchAny("kind", ["page"]),))
    assert points.count(pages) == 2
    clock.advance(100 * 86_400)
    store.write([StoreWrite(B, None, str(second), "x"), a_write(C)])

    held = points.walk(PointFilter(()), ("revision",))
    assert store.purge(days=90, dry_run=True) == 1
    assert points.walk(PointFilter(()), ("revision",)) == held
    assert store.purge(days=90) == 1

    assert points.count(pages) == 0
    assert (store.last_write(A), store.tombstone(B) is None) == (None, False)
    assert [row.fact_id for row in store.feed()] == [B, C]
    assert store.state().facts == 1


def test_many_tombstones_go_in_few_steps(clock: WatchedClock) -> None:
    """A step reads all tombstones."""
    points = in_memory(clock=clock)
    store = store_in(points, clock)
    store.write([StoreWrite(CLOCK.new_id(), None, None, "x") for _ in range(300)])
    clock.advance(100 * 86_400)
    with patch.object(points, "do", wraps=points.do) as done:
        assert store.purge(days=90) == 300
    assert sum(len(call.args[0]) for call in done.call_args_list) == 4  # with counts of uses


def test_what_broke_off_says_nothing_of_an_erased_fact(clock: WatchedClock) -> None:
    points = in_memory(clock=clock)
    store = store_in(points, clock)
    (first,) = store.write([a_write(A)])
    facts = [
        make_fact({"id": key, "content": f"Word {key}."})
        for key in (B, *(CLOCK.new_id() for _ in range(140)))
    ]
    with broken(points, after=1), pytest.raises(errors.StoreUnavailableError):
        store.write([StoreWrite(each.id, each, None, "x") for each in facts])
    (second,) = store.write([StoreWrite(B, facts[0], None, "x")])
    store.write([StoreWrite(B, None, str(second), "x", recorded=True)])

    store.erase(Traces([B]))

    left = str(points.walk(PointFilter(()), ("rows", "content", "rest")))
    assert (facts[0].content in left, facts[-1].content in left) == (False, True)
    assert store.get(A).revision == first


def test_facts_are_counted_anew_when_some_were_lost(clock: WatchedClock) -> None:
    points = in_memory(clock=clock)
    store = store_in(points, clock)
    store.write([a_write(A), a_write(B)])
    points.do([DeletePoints(PointFilter((MatchAny("kind", ["fact"]), MatchAny("seq", [1]))))])
    store.write([a_write(A)])
    assert store.state().facts == 3

    store.purge(days=90)

    assert store.state().facts == 2
    assert [store.revision_at(seq) for seq in (1, 2, 3)].count(None) == 0
    assert isinstance(store.write([a_write(C)])[0], str)
    assert store.state().facts == 3


class UnexpectedResponse(Exception):  # noqa: N818 - as the client names it
    status_code, content = 502, b"<html>Bad Gateway</html>"


class GrpcRefusal(Exception):  # noqa: N818 - as grpc's is
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def code(self) -> GrpcRefusal:
        return self

    def details(self) -> str:
        return "nobody there"


TAKEN = ("another process has it", True, True)
BROKEN = "Service runtime error: a segment is broken"


@pytest.mark.parametrize(
    ("translate", "error", "failure"),
    [
        (by_client, UnexpectedResponse(), ("it returned 502: <html>Bad Gateway</html>", True)),
        (by_client, GrpcRefusal("UNAVAILABLE"), ("unavailable: nobody there", True, True)),
        (by_client, GrpcRefusal("RESOURCE_EXHAUSTED"), ("resource exhausted: nobody there", True)),
        (by_client, GrpcRefusal("PERMISSION_DENIED"), ("it refused the key (PERMISSION_DENIED)",)),
        (by_client, GrpcRefusal("INVALID_ARGUMENT"), None),
        (by_client, RuntimeError("x is already accessed by y"), TAKEN),
        (by_client, sqlite3.OperationalError("database or disk is full"), ("its disk is full",)),
        (by_client, OSError("odd"), ("odd",)),
        (by_client, TypeError("a bug of ours"), None),
        (by_engine, Exception("Service runtime error: No space left"), ("its disk is full",)),
        (by_engine, PermissionError("odd"), ("odd",)),
        (by_engine, Exception(BROKEN), (BROKEN,)),
        (by_engine, TypeError("a bug of ours"), None),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_errors_are_translated(
    translate: Callable[[Exception], RequestFailure | None],
    error: Exception,
    failure: tuple[Any, ...] | None,
) -> None:
    found = translate(error)

    assert (found and (found.why, found.passing, found.refused)) == (
        failure and (*failure, False, False)[:3]
    )


def test_over_grpc_the_same_conditions_are_sent(clock: WatchedClock) -> None:
    import grpc  # type: ignore[import-untyped]
    from qdrant_client.grpc import UpdateBatchPoints, UpdateMode

    sent: dict[str, bytes] = {}

    class Busy(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, call: Any) -> Any:  # noqa: ANN401 - grpc has no types
            def answer(request: bytes, context: Any) -> None:  # noqa: ANN401
                sent[call.method.rpartition("/")[2]] = request
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "busy")

            return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.server(ThreadPoolExecutor(1), handlers=[Busy()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    settings = QdrantSettings(patience_seconds=0, grpc_port=port)
    place = replace(PLACE, kind="server", host="127.0.0.1", settings=settings)
    points = ClientPointCollection(place, clock=clock)
    mine = PointFilter((MatchAny("revision", ["r"]),))
    point = Point(A, {"revision": "s"}, X)
    requests: list[Callable[[], object]] = [
        lambda: points.do(
            [UpsertPoints([point], mine, "known"), UpsertPoints([point], mode="new")]
        ),
        lambda: points.take([A]),
        lambda: points.walk(mine, ["kind"], after=A),
        lambda: points.search(X, mine, ["kind"], limit=3),
        lambda: points.count(mine),
    ]
    for request in requests:
        with pytest.raises(errors.StoreUnavailableError, match="busy"):
            request()
    points.close()
    server.stop(None)

    assert sent.keys() == {"UpdateBatch", "Get", "Scroll", "Query", "Count"}
    first, second = UpdateBatchPoints.FromString(sent["UpdateBatch"]).operations
    (condition,) = first.upsert.update_filter.must
    assert condition.field.key == "revision"
    assert [each.upsert.update_mode for each in (first, second)] == [
        UpdateMode.UpdateOnly,
        UpdateMode.InsertOnly,
    ]


def test_a_shard_of_an_older_version_gets_the_indexes_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(qdrant_edge_points, "_ASKED", ("kind", "seq"))
        old = in_process(tmp_path)
        old.make(3)
        assert set(old._shard.info().payload_schema) == {"kind", "seq"}
        old.close()

    new = in_process(tmp_path)
    assert new.exists()
    assert {"priority", "status"} < set(new._shard.info().payload_schema)
    new.close()


def test_the_engine_drops_replaced_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_layout, "INDEXING_THRESHOLD", 10)
    points = in_process(tmp_path)
    vectors = QdrantVectors(points, dimension=lambda: 64)
    vectors.reset("m/64")
    rng = random.Random(1)
    made = [tuple(rng.uniform(-1, 1) for _ in range(64)) for _ in range(400)]
    vectors.put([row(CLOCK.new_id(), "one", each) for each in made])

    def segments() -> int:
        return len([*tmp_path.rglob("segments/*/segment.json")])

    before = segments()
    vectors.tidy()
    after = segments()
    points.close()
    assert before > 0
    assert after == segments()


@pytest.mark.parametrize("renamed", [-1, 0, 1, 2], ids=["copy", "before", "between", "after"])
def test_a_compaction_that_breaks_off_loses_nothing_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    """While it copies, and by a crash before, between and after its two renames."""
    points = in_process(tmp_path)
    points.make(3)
    points.do([UpsertPoints([Point(A, {"kind": "fact"}, X), Point(B, {"kind": "fact"})])])
    points.do([DeletePoints(PointFilter((), must_not=(A,)))])
    done: list[str] = []

    def breaks_off(*names: Path) -> None:
        if len(done) >= renamed:
            raise OSError("the disk is gone")
        done.append("renamed")
        names[0].replace(names[1])

    with monkeypatch.context() as broken:
        broken.setattr(Path, "rename", breaks_off)
        broken.setattr(qdrant_edge_points, "sync_folder", breaks_off)
        if renamed < 0:
            broken.setattr(qdrant_edge_points, "_copy_points", breaks_off)
        with pytest.raises(errors.StoreUnavailableError):
            points.compact()

    again = points
    if renamed < 0:
        again.compact()
    else:
        points.close()
        again = in_process(tmp_path)
    assert again.exists()
    assert again.take([A, B]) == {A: {"kind": "fact"}}
    assert again.vectors(PointFilter(()), "kind", 3).keys() == {"fact"}
    assert sorted(each.name for each in (tmp_path / "edge").iterdir()) == [
        PLACE.collection,
        f"{PLACE.collection}.lock",
        f"{PLACE.collection}.lock.next",
    ]
    again.compact()
    assert again.take([A]) == {A: {"kind": "fact"}}
    again.close()


def test_the_engine_says_why_it_cannot_and_a_bug_of_ours_is_no_absence(tmp_path: Path) -> None:
    first, second = in_process(tmp_path), in_process(tmp_path)
    first.make(3)
    with pytest.raises(errors.StoreUnavailableError, match="this process has it open"):
        second.exists()
    first.close()
    assert second.exists()
    second.close()
    with pytest.raises(errors.StoreUnavailableError, match="closed"):
        second.exists()
    with pytest.raises(AttributeError):
        ClientPointCollection(PLACE, clock=FakeClock(), client=object()).exists()


def test_a_closed_connection_is_not_opened_for_a_collection_beside_it(tmp_path: Path) -> None:
    place = replace(PLACE, path=tmp_path)
    shared = ClientPointCollection(place, clock=FakeClock())
    beside = ClientPointCollection(place.of_scope("team-x"), clock=FakeClock(), beside=shared)
    shared.make(3)
    shared.close()
    with pytest.raises(errors.StoreUnavailableError, match="closed"):
        beside.exists()


@pytest.mark.parametrize("package", ["qdrant_client", "qdrant_edge"])
def test_without_its_package_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    points = in_folder(tmp_path) if package == "qdrant_client" else in_process(tmp_path)

    def used() -> None:
        if not points.exists():
            points.make(3)

    with pytest.raises(errors.MissingExtraError, match="is not installed") as error:
        used()
    assert "vaultsync[qdrant]" in error.value.hint


def test_what_a_fact_says_is_legible_to_others(store: QdrantStore, server: FakeQdrant) -> None:
    said = {"type": "preference", "content": "Terraform over Pulumi.", "userId": "u-1"}
    times = {"createdAt": "2026-02-14T13:45:00Z", "expiresAt": "2026-03-01T00:00:00Z"}
    fact = make_fact({"id": A, "tags": ["iac"], **said, **times})
    store.write([StoreWrite(A, fact, None, "indy")])

    (point,) = server.client.retrieve("agent_memory_test", [A])
    payload = point.payload or {}

    stored = {"createdAt": 1_771_076_700_000, "expiresAt": 1_772_323_200_000}
    wanted: dict[str, object] = {**said, **stored, "supersededById": None}
    assert {key: payload[key] for key in wanted} == wanted
    assert "content" not in json.loads(payload["rest"])


def test_while_one_thread_waits_to_ask_again_the_others_ask() -> None:
    waits, go_on = threading.Event(), threading.Event()

    class Paused(FakeClock):
        def sleep(self, seconds: float) -> None:
            waits.set()
            go_on.wait(60)
            super().sleep(seconds)

    answers = iter(["", "late"])

    def fails_once() -> str:
        answer = next(answers)
        if not answer:
            raise OSError("busy")
        return answer

    def judge(error: Exception) -> RequestFailure:
        return RequestFailure(str(error), passing=True)

    retry = RetryPolicy(Paused(), judge, seconds=15)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(retry.ask, fails_once)
        assert waits.wait(60)
        try:
            assert pool.submit(retry.ask, lambda: "at once").result(60) == "at once"
        finally:
            go_on.set()
        assert first.result(60) == "late"
