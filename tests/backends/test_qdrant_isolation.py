"""Scopes with their own collections: no other holds a word of them, and all are one store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from qdrant_client import QdrantClient

from tests.doubles.store import MemoryStore
from tests.fakes import FakeClock
from tests.qdrants import ISOLATED, PLACE, in_memory, isolated, store_in
from tests.vector_rows import X, Y, row
from tests.vector_rows import a_fact as fact_of
from vaultsync.backends.qdrant.client import ClientPointCollection
from vaultsync.backends.qdrant.commit_log import COMMIT_RECORD_ID
from vaultsync.backends.qdrant.connection import parse_qdrant_settings
from vaultsync.backends.qdrant.edge import EdgePointCollection
from vaultsync.backends.qdrant.isolation import IsolatedCollections, open_collection
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.errors import StoreLayoutError, StoreUnavailableError
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.filters import FactFilters
from vaultsync.settings import QdrantSettings
from vaultsync.storage.store import AccessCount, Store, StoreWrite

pytestmark = pytest.mark.long(5)

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(3)]
SCOPES = ("project-x", "public", "private-indy", "private-bob")
SHARED = PLACE.collection
Moves = list[list[tuple[str, str]]]
MOVES = st.lists(
    st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([*SCOPES, "dead"])), max_size=3),
    min_size=1,
    max_size=6,
)


class _Tapped(ClientPointCollection):
    """A collection that reports each request to a function."""

    def __init__(self, place: object, tap: Callable[[], None], client: QdrantClient) -> None:
        super().__init__(place, clock=FakeClock(), client=client)  # type: ignore[arg-type]
        self._tap = tap

    def send(self, request: object, retry: object) -> object:
        self._tap()
        return super().send(request, retry)  # type: ignore[arg-type]


def _client() -> QdrantClient:
    return QdrantClient(":memory:", force_disable_check_same_thread=True)


def _tapped(client: QdrantClient, tap: Callable[[], None]) -> QdrantStore:
    def open_one(scope: str) -> _Tapped:
        return _Tapped(PLACE.of_scope(scope), tap, client)

    shared = _Tapped(PLACE, tap, client)
    return store_in(IsolatedCollections(shared, ISOLATED, open_one))


def _fact(fact_id: str, scope: str, turn: int = 0) -> Fact:
    """A fact each of whose texts has a word that only its scope has."""
    word = f"word-of-{scope}"
    return make_fact({"id": fact_id, "title": f"{word} {turn}", "content": word, "scope": scope})


def _write(store: Store, fact_id: str, scope: str, turn: int = 0) -> StoreWrite:
    last = store.last_write(fact_id)
    fact = None if scope == "dead" else _fact(fact_id, scope, turn)
    return StoreWrite(fact_id, fact, last and last.revision, "indy")


def _check_words(client: QdrantClient) -> None:
    """No collection has a word of a scope that has another one."""
    for each in client.get_collections().collections:
        own = each.name.removeprefix(f"{SHARED}.")
        foreign = {"public", "private-indy", "private-bob"} if own == SHARED else {*SCOPES} - {own}
        for point in client.scroll(each.name, limit=1_000)[0]:
            for scope in foreign:
                assert f"word-of-{scope}" not in repr(point.payload), (each.name, point)


def _facts(store: Store) -> dict[str, tuple[str, str]]:
    found = {each.id: (each.scope, each.title) for each in store.iter_facts()}
    assert {key: (each.scope, each.title) for key, each in store.find_many(IDS).items()} == found
    assert store.state().facts == len(found)
    alive = [each.fact_id for each in store.feed() if not each.deleted]
    assert sorted(alive) == sorted(found)
    return found


def _replaced(store: Store) -> list[Fact]:
    return [each.fact for each in store.replaced_versions(store.replaced_ids())]


class _DiedError(Exception):
    """The process ended."""


@given(MOVES, st.integers(1, 60))
@example([[(IDS[0], "private-indy")], [(IDS[0], "project-x"), (IDS[1], "private-bob")]], 31)
def test_a_crash_at_any_request_leaves_a_batch_in_one_piece(moves: Moves, dies_at: int) -> None:
    client, model = _client(), MemoryStore(FakeClock())
    left = dies_at

    def tap() -> None:
        nonlocal left
        _check_words(client)
        left -= 1
        if not left:
            raise _DiedError

    for turn, batch in enumerate(moves):
        before = _facts(model)
        writes = [_write(model, *each, turn) for each in dict(batch).items()]
        model.write(writes)
        store = _tapped(client, tap)
        try:
            store.write([_write(store, *each, turn) for each in dict(batch).items()])
            assert _facts(store) == _facts(model)
            assert _replaced(store) == _replaced(model)
        except _DiedError:
            assert _facts(_tapped(client, lambda: None)) in (before, _facts(model))
            return
    _check_words(client)


READS: dict[str, Callable[[Store], object]] = {
    "get": lambda store: store.get(IDS[0]).id,
    "iter_facts": lambda store: [each.id for each in store.iter_facts()],
    "newest": lambda store: [each.id for each in store.iter_facts(newest=True)][::-1],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize(
    ("first", "then"), [("project-x", "private-bob"), ("private-bob", "project-x")]
)
def test_a_fact_that_moves_while_it_is_read_is_read_once(
    read: Callable[[Store], object], first: str, then: str
) -> None:
    whole = None
    for moves_at in range(12):
        client, requests = _client(), 0
        writer = _tapped(client, lambda: None)
        writer.write([_write(writer, each, first) for each in IDS])
        whole = whole or read(writer)

        def tap(at: int = moves_at, other: Store = writer) -> None:
            nonlocal requests
            requests += 1
            if requests == at:
                other.write([_write(other, IDS[0], then)])

        assert read(_tapped(client, tap)) == whole


def test_a_feed_that_is_read_while_a_fact_moves_names_each_write_at_last() -> None:
    for moves_at in range(10):
        client, requests = _client(), 0
        writer = _tapped(client, lambda: None)
        writer.write([_write(writer, each, "private-bob") for each in IDS])

        def tap(at: int = moves_at, other: Store = writer) -> None:
            nonlocal requests
            requests += 1
            if requests == at:
                other.write([_write(other, IDS[0], "project-x"), _write(other, IDS[1], "dead")])

        reader = _tapped(client, tap)
        first = reader.feed()
        rest = reader.feed(first[-1].seq)
        known = {each.fact_id: each for each in (*first, *rest)}
        assert sorted(known.values()) == _tapped(client, lambda: None).feed()


def test_what_stays_of_a_fact_that_moved_is_forgotten_in_time() -> None:
    client, clock = _client(), FakeClock()
    store = store_in(isolated(client, clock), clock)
    for scope in ("private-indy", "private-bob", "project-x"):
        store.write([_write(store, IDS[0], scope)])
    clock.advance(100 * 86_400)

    assert store.purge(days=90) == 0

    names = [each.name for each in client.get_collections().collections]
    kinds = {
        each: sorted((point.payload or {})["kind"] for point in client.scroll(each)[0])
        for each in names
    }
    own = {f"{SHARED}.private-{who}": ["replaced"] for who in ("indy", "bob")}
    assert kinds == {SHARED: ["fact", "head"], **own}
    assert _facts(store) == {IDS[0]: ("project-x", "word-of-project-x 0")}


def test_vectors_are_where_their_facts_are_and_are_found_as_one() -> None:
    client = _client()
    store, points = store_in(isolated(client)), isolated(client)
    store.write([_write(store, each, scope) for each, scope in zip(IDS, SCOPES[1:], strict=True)])
    vectors = QdrantVectors(points, dimension=lambda: 3)
    vectors.reset("m/3/c")
    facts = [fact_of(each, scope=scope) for each, scope in zip(IDS, SCOPES[1:], strict=True)]
    vectors.put([row(each, vector=near) for each, near in zip(facts, (X, X, Y), strict=True)])

    moved = fact_of(IDS[1], scope="project-x")
    store.write([_write(store, IDS[1], "project-x")])
    assert vectors.outdated([moved]) == {IDS[1]}
    vectors.put([row(moved)], replace=[IDS[1]])

    assert vectors.count() == 3
    assert {each.fact_id for each in vectors.search(X, FactFilters(), limit=2)} == {*IDS[:2]}
    assert vectors.chunks().keys() == {*IDS}
    for each in client.get_collections().collections:
        own = each.name.removeprefix(f"{SHARED}.")
        scopes = {
            (point.payload or {}).get("scope") for point in client.scroll(each.name, limit=99)[0]
        }
        assert scopes <= ({"project-x", None} if own == SHARED else {own, None})


def test_settings_that_isolate_other_scopes_are_refused() -> None:
    client = _client()
    store_in(isolated(client)).write([_write(MemoryStore(FakeClock()), IDS[0], "private-bob")])
    with pytest.raises(StoreLayoutError, match=r"private-\*, public.* the settings no scopes"):
        store_in(in_memory(client)).state()


def test_a_collection_that_is_gone_is_a_store_that_is_away() -> None:
    client = _client()
    store = store_in(isolated(client))
    store.write([_write(store, IDS[0], "private-bob")])
    client.delete_collection(f"{SHARED}.private-bob")
    with pytest.raises(StoreUnavailableError, match=r"private-bob is not there"):
        store_in(isolated(client)).state()


def test_a_list_of_collections_by_another_program_is_a_store_that_is_away() -> None:
    client = _client()
    store = store_in(isolated(client))
    store.write([_write(store, IDS[0], "private-bob")])
    client.set_payload(SHARED, {"scopes": 7}, points=[COMMIT_RECORD_ID])
    with pytest.raises(StoreUnavailableError, match="belongs to another program"):
        store_in(isolated(client)).state()


@pytest.fixture(params=["local", "edge"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[QdrantStore]:
    settings = QdrantSettings(isolated_scopes=("private-*",))
    place = parse_qdrant_settings(f"qdrant+{request.param}:here", settings, root=tmp_path)
    opened = store_in(open_collection(place, FakeClock()))
    yield opened
    opened.close()


def test_a_folder_holds_a_collection_for_each_scope(folder: QdrantStore) -> None:
    folder.write([_write(folder, each, scope) for each, scope in zip(IDS, SCOPES[1:], strict=True)])
    folder.count_accesses({IDS[0]: AccessCount(1, "2026-02-14T13:45:00Z")}, "x")
    folder._points.compact()
    folder._points.tidy()
    assert _facts(folder).keys() == {*IDS}
    assert folder.get(IDS[0]).access_count == 1
    assert isinstance(folder._points, IsolatedCollections)
    assert sorted(folder._points._known) == ["private-bob", "private-indy"]
    assert isinstance(folder._points._shared, ClientPointCollection | EdgePointCollection)
