from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import qdrants
from tests.doubles.store import MemoryStore
from tests.fakes import FakeClock
from vaultsync.backends.qdrant.operations import POINTS_PER_REQUEST, Point, UpsertPoints
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.errors import DamagedFactError, FactNotFoundError, StoreUnavailableError
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.storage.clock import Clock
from vaultsync.storage.store import (
    AccessCount,
    FeedRow,
    ReplacedVersion,
    RevisionMismatch,
    Store,
    StoreWrite,
)

pytestmark = pytest.mark.long(5)


def _qdrant_http(_: Path, clock: Clock) -> Store:
    qdrants.served().clear()
    return qdrants.store_in(qdrants.over_http(qdrants.served(), clock), clock)


STORES: dict[str, Callable[[Path, Clock], Store]] = {
    "sqlite": lambda folder, clock: SqliteStore(folder / "store.db", clock=clock, create=True),
    "memory": lambda _, clock: MemoryStore(clock),
    "qdrant local": lambda _, clock: qdrants.store_in(qdrants.in_memory(clock=clock), clock),
    "qdrant over http": _qdrant_http,
    "qdrant isolated": lambda _, clock: qdrants.store_in(qdrants.isolated(clock=clock), clock),
    "qdrant edge": lambda _, clock: qdrants.store_in(qdrants.emptied(clock), clock),
    "qdrant edge isolated": lambda _, clock: qdrants.store_in(
        qdrants.isolated_shards(clock), clock
    ),
}
WHOLE = [name for name in STORES if not name.startswith("qdrant edge")]
"""Those that every case is held against; the engine differs from the local mode in what
`test_points` compares, in how it pages, and in nothing of a story."""
if qdrants.SERVER:
    STORES["qdrant at a server"] = lambda _, clock: qdrants.store_in(
        qdrants.at_server(clock), clock
    )
    WHOLE.append("qdrant at a server")
QUICK = ("sqlite", "memory", "qdrant local", "qdrant isolated", "qdrant edge")
"""One of each kind, without those that wait for a disk or a server at each step."""
PAGED = pytest.mark.parametrize("store", STORES, indirect=True)

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(1_200)]
A, B, C = IDS[:3]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=WHOLE)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path, clock)
    yield opened
    opened.close()


@pytest.fixture
def many(request: pytest.FixtureRequest) -> list[str]:
    """More ids than any store takes in one step."""
    slow = "qdrant" in request.node.callspec.params["store"]
    return IDS[: POINTS_PER_REQUEST + 10] if slow else IDS


def a_fact(fact_id: str = A, **values: Value) -> Fact:
    return make_fact({"id": fact_id, "title": "Tea", "content": "Green.", **values})


def create(store: Store, fact: Fact, actor: str = "indy") -> str:
    return wrote(store, StoreWrite(fact.id, fact, None, actor))


def wrote(store: Store, write: StoreWrite) -> str:
    (answer,) = store.write([write])
    assert isinstance(answer, str)
    return answer


def everything(store: Store) -> tuple[object, ...]:
    facts = [(fact, fact.revision) for fact in store.iter_facts()]
    return store.state(), store.feed(), facts


def test_a_write_that_needs_another_is_done_with_it_or_not_at_all(store: Store) -> None:
    first = create(store, a_fact(A))
    both = [
        StoreWrite(A, a_fact(A, title="Old tea"), first, "indy"),
        StoreWrite(B, a_fact(B), None, "indy", needs=A),
    ]
    assert store.write(both) == [store.get(A).revision, store.get(B).revision]
    before = everything(store)

    again = [both[0], StoreWrite(C, a_fact(C), None, "indy", needs=A)]

    assert store.write(again) == [
        RevisionMismatch(A, store.get(A).revision),
        RevisionMismatch(C, None),
    ]
    assert everything(store) == before


def test_what_needs_a_refused_write_is_refused_alone(store: Store) -> None:
    writes = [
        StoreWrite(A, a_fact(A), "7-x", "indy"),
        StoreWrite(B, a_fact(B), None, "indy", needs=A),
        StoreWrite(C, a_fact(C), None, "indy", needs=B),
    ]
    other = IDS[3]

    *refused, done = store.write([*writes, StoreWrite(other, a_fact(other), None, "indy")])

    assert refused == [RevisionMismatch(each, None) for each in (A, B, C)]
    assert [each.id for each in store.iter_facts()] == [other]
    assert done == store.get(other).revision


def test_a_new_store_is_empty_and_knows_nothing(store: Store) -> None:
    state = store.state()

    assert (state.seq, state.facts, state.revision) == (0, 0, "")
    assert state.store_id
    assert store.feed() == list(store.iter_facts()) == []
    create(store, a_fact(B))
    assert (store.last_write(A), store.tombstone(A)) == (None, None)
    assert store.find_many([A]) == {}
    with pytest.raises(FactNotFoundError):
        store.get(A)


@PAGED
@pytest.mark.parametrize("text", ["", "None", "0193f6c2-0000-7000-8000-00000000000g", "\u00e4"])
def test_a_text_that_is_no_id_names_no_fact(store: Store, text: str) -> None:
    """A note or a client may say anything."""
    assert store.find_many([text]) == {}
    assert store.tombstone(text) is None
    assert store.last_write(text) is None
    assert store.last_ops([text]) == {}
    assert store.replaced_versions([text]) == []
    with pytest.raises(FactNotFoundError):
        store.get(text)


def test_a_fact_comes_back_as_it_was_written(store: Store) -> None:
    fact = a_fact(
        type="decision",
        content="Grün.\n\n\u2028 \x7f 🍵\n\tend",
        context="at tea",
        priority=0,
        status="dormant",
        tags=["a", "b/ü"],
        entities=["Café"],
        relatedFactIds=[B],
        scope="project-tea",
        createdAt="2026-02-14T13:45:00Z",
        importance=0.25,
        accessCount=3,
        decisionOutcome="done",
        decisionAlternatives=["x", "y"],
        rating={"deep": [1, None, {"x": 2.5}], "ü": True},
        reports_to=["[[Bob]]"],
    )
    revision = create(store, fact.evolve(path=VaultPath("a.md"), revision="mine"))

    found = store.get(A)

    assert found == fact
    assert found.path is None
    assert (dict(found.properties), found.revision) == (dict(fact.properties), revision)
    assert store.find_many([A])[A].revision == revision
    assert [each.revision for each in store.iter_facts()] == [revision]


def test_a_fact_is_known_by_the_last_write(store: Store, clock: FakeClock) -> None:
    revision = create(store, a_fact(), "indy")
    assert store.last_write(A) == FeedRow(1, A, revision, False, "indy", "2026-02-14T13:45:00Z")

    clock.advance(75)
    revision = wrote(store, StoreWrite(A, a_fact(title="Mate"), revision, "vault"))

    last = FeedRow(2, A, revision, False, "vault", "2026-02-14T13:46:15Z")
    assert store.last_write(A) == last
    assert store.feed() == [last]
    assert store.get(A).title == "Mate"


@pytest.mark.parametrize("fact", [a_fact(title="Other"), None])
def test_a_write_on_an_old_revision_is_refused(store: Store, fact: Fact | None) -> None:
    old = create(store, a_fact())
    new = wrote(store, StoreWrite(A, a_fact(title="Mate"), old, "indy"))
    before = everything(store)

    for expect in (old, None, "1-x") if fact else (old, "1-x"):
        assert store.write([StoreWrite(A, fact, expect, "x")]) == [RevisionMismatch(A, new)]
    assert store.write([StoreWrite(B, fact, "1-x", "x")]) == [RevisionMismatch(B, None)]
    assert store.write([]) == []
    assert everything(store) == before


def test_a_refusal_does_not_stop_the_other_writes_which_see_those_before_them(store: Store) -> None:
    old = create(store, a_fact(B))

    answers = store.write(
        [
            StoreWrite(A, a_fact(A), None, "x"),
            StoreWrite(B, a_fact(B, title="No"), None, "x"),
            StoreWrite(C, a_fact(C), None, "x"),
            StoreWrite(A, a_fact(A, title="No"), None, "x"),
        ]
    )

    assert answers[1] == RevisionMismatch(B, old)
    assert answers[3] == RevisionMismatch(A, str(answers[0]))
    assert [store.get(A).revision, store.get(C).revision] == [answers[0], answers[2]]
    assert store.get(A).title == "Tea"
    assert store.get(B).title == "Tea"
    assert [each.seq for each in store.feed()] == [1, 2, 3]


def test_of_a_deleted_fact_the_feed_and_a_tombstone_are_left_until_it_is_back(store: Store) -> None:
    fact = a_fact(title="Mate", mood="good")
    revision = create(store, fact)
    assert store.tombstone(A) is None
    gone = wrote(store, StoreWrite(A, None, revision, "vault"))
    left = store.tombstone(A)
    assert left == fact
    assert left.revision == gone

    with pytest.raises(FactNotFoundError):
        store.get(A)
    assert store.find_many([A]) == {}
    assert list(store.iter_facts()) == []
    assert store.state().facts == 0
    (row,) = store.feed()
    assert (row.seq, row.revision, row.deleted, row.actor) == (2, gone, True, "vault")
    assert store.last_write(A) == row

    back = a_fact(title="Back")
    assert store.write([StoreWrite(A, back, None, "x")]) == [RevisionMismatch(A, gone)]
    revision = wrote(store, StoreWrite(A, back, gone, "x"))
    assert store.get(A) == back
    assert store.get(A).revision == revision
    assert store.tombstone(A) is None
    assert store.state().facts == 1


def test_a_tombstone_can_be_made_anew_and_of_what_was_never_there(store: Store) -> None:
    gone = wrote(store, StoreWrite(A, None, create(store, a_fact()), "x"))
    again = wrote(store, StoreWrite(A, None, gone, "y"))
    bare = wrote(store, StoreWrite(B, None, None, "y"))

    buried = store.tombstone(A)
    assert buried is not None
    assert buried.revision == again != gone
    assert store.tombstone(B) is None
    assert [(each.fact_id, each.revision) for each in store.feed()] == [(A, again), (B, bare)]
    assert store.state().facts == 0


def test_the_feed_goes_on_after_what_was_seen_and_numbers_keep_revisions(store: Store) -> None:
    first = create(store, a_fact(A))
    second = create(store, a_fact(B))
    seen = store.state().seq
    third = create(store, a_fact(C))
    fourth = wrote(store, StoreWrite(A, None, first, "x"))
    store.write([StoreWrite(A, a_fact(), first, "x")])

    assert [(row.seq, row.fact_id) for row in store.feed(seen)] == [(3, C), (4, A)]
    assert [(row.seq, row.fact_id) for row in store.feed()] == [(2, B), (3, C), (4, A)]
    assert store.feed(store.state().seq) == []
    revisions = [None, first, second, third, fourth, None]
    assert [store.revision_at(seq) for seq in range(6)] == revisions
    assert (store.state().seq, store.state().revision) == (4, fourth)


def test_a_write_that_bore_a_name_is_known_by_it_until_another_has_one(store: Store) -> None:
    assert store.last_ops([A]) == {}
    first = wrote(store, StoreWrite(A, a_fact(), None, "vault", op="first"))
    second = wrote(store, StoreWrite(A, a_fact(title="Mate"), first, "indy"))
    assert store.last_ops([A]) == {A: "first"}
    third = wrote(store, StoreWrite(A, None, second, "indy"))
    assert store.last_ops([A]) == {A: "first"}

    store.write([StoreWrite(A, a_fact(), first, "vault", op="refused")])
    create(store, a_fact(B))
    assert store.last_ops([A, B, C]) == {A: "first"}
    wrote(store, StoreWrite(A, None, third, "vault", op="second"))
    assert store.last_ops([A]) == {A: "second"}


@PAGED
def test_any_number_of_facts_is_found_at_once(store: Store, many: list[str]) -> None:
    known = many[:-5]
    answers = store.write([StoreWrite(each, a_fact(each), None, "x") for each in known])
    assert all(isinstance(answer, str) for answer in answers)

    found = store.find_many(iter(many))

    assert {each: fact.id for each, fact in found.items()} == {each: each for each in known}
    assert store.find_many([]) == {}


@PAGED
def test_facts_are_walked_by_id_from_where_one_wants(store: Store, many: list[str]) -> None:
    store.write([StoreWrite(each, a_fact(each), None, "x") for each in reversed(many)])

    assert [fact.id for fact in store.iter_facts()] == many
    assert [fact.id for fact in store.iter_facts(after=many[70])] == many[71:]
    assert list(store.iter_facts(after=many[-1])) == []


@PAGED
def test_facts_are_walked_newest_first_deleted_ones_apart(store: Store, many: list[str]) -> None:
    revisions = store.write([StoreWrite(each, a_fact(each), None, "x") for each in many])
    gone = many[::3]
    known = dict(zip(many, revisions, strict=True))
    store.write([StoreWrite(each, None, str(known[each]), "x") for each in gone])
    alive = sorted({*many} - {*gone})

    for deleted, expected in ((False, alive), (True, gone)):
        start = expected[20]

        def ids(after: str = "", *, newest: bool = False, deleted: bool = deleted) -> list[str]:
            found = store.iter_facts(after, newest=newest, deleted=deleted)
            return [fact.id for fact in found]

        assert ids() == expected
        assert ids(start) == expected[21:]
        assert ids(newest=True) == expected[::-1]
        assert ids(start, newest=True) == expected[19::-1]
        assert ids(expected[0], newest=True) == []
    for fact in store.iter_facts(deleted=True):
        tombstone = store.tombstone(fact.id)
        assert tombstone is not None
        assert tombstone.revision == fact.revision


@PAGED
def test_facts_can_be_written_while_they_are_walked(store: Store, many: list[str]) -> None:
    store.write([StoreWrite(each, a_fact(each), None, "x") for each in many])

    walked: list[str] = []
    for fact in store.iter_facts():
        if len(walked) % 9 == 0:
            new = a_fact(fact.id, title="New")
            wrote(store, StoreWrite(fact.id, new, fact.revision, "x"))
        walked.append(fact.id)

    assert walked == many
    written = [fact.id for fact in store.iter_facts() if fact.title == "New"]
    assert written == many[::9]
    assert store.state().seq == len(many) + len(written)


def test_a_closed_store_does_not_answer(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreUnavailableError):
        store.state()


EARLY, LATE = "2026-02-14T13:45:00Z", "2026-02-14T13:46:00Z"


def uses(fact: Fact | None) -> tuple[int, str | None]:
    assert fact is not None
    return fact.access_count, fact.last_accessed_at


def test_a_use_is_counted_beside_the_fact_and_is_no_change_of_it(store: Store) -> None:
    store.write([StoreWrite(each, a_fact(each), None, "indy") for each in (A, B, C)])
    before, feed = store.state(), store.feed()
    revisions = [each.revision for each in store.iter_facts()]

    assert store.count_accesses({A: AccessCount(2, EARLY), B: AccessCount(1, EARLY)}, "x") == 2
    assert store.count_accesses({A: AccessCount(1, LATE)}, "y") == 1
    assert store.count_accesses({}, "z") == 0

    assert uses(store.get(A)) == (3, LATE)
    assert [uses(each) for each in store.iter_facts()] == [(3, LATE), (1, EARLY), (0, None)]
    assert [uses(each) for each in store.find_many([A, B]).values()] == [(3, LATE), (1, EARLY)]
    assert (store.state(), store.feed()) == (before, feed)
    assert [each.revision for each in store.iter_facts()] == revisions
    assert store.replaced_versions(store.replaced_ids()) == []
    wrote(store, StoreWrite(A, a_fact(title="Mate"), revisions[0], "indy"))


def test_a_count_only_grows(store: Store) -> None:
    first = create(store, a_fact(accessCount=3, lastAccessedAt=EARLY))
    assert uses(store.get(A)) == (3, EARLY)
    store.count_accesses({A: AccessCount(2, EARLY)}, "x")
    # Its writer read the fact before it was counted.
    second = wrote(store, StoreWrite(A, a_fact(accessCount=3, title="Mate"), first, "indy"))
    assert uses(store.get(A)) == (5, EARLY)
    third = wrote(store, StoreWrite(A, a_fact(accessCount=9, lastAccessedAt=LATE), second, "indy"))
    assert uses(store.get(A)) == (9, LATE)
    store.count_accesses({A: AccessCount(1, EARLY)}, "y")
    assert uses(store.get(A)) == (10, LATE)
    wrote(store, StoreWrite(A, None, third, "indy"))
    assert uses(store.tombstone(A)) == (10, LATE)


def test_a_batch_of_uses_counts_once(store: Store) -> None:
    create(store, a_fact())
    create(store, a_fact(B))
    for _ in range(2):
        store.count_accesses({A: AccessCount(2, EARLY)}, "x")
    assert uses(store.get(A)) == (2, EARLY)
    store.count_accesses({A: AccessCount(2, EARLY), B: AccessCount(1, EARLY)}, "x")
    assert [uses(store.get(each)) for each in (A, B)] == [(2, EARLY), (1, EARLY)]


def test_what_is_not_there_is_not_counted(store: Store) -> None:
    wrote(store, StoreWrite(A, None, create(store, a_fact()), "indy"))
    assert store.count_accesses({A: AccessCount(1, EARLY), B: AccessCount(1, EARLY)}, "x") == 0
    assert uses(store.tombstone(A)) == (0, None)


@PAGED
def test_any_number_of_facts_is_counted_at_once(store: Store, many: list[str]) -> None:
    store.write([StoreWrite(each, a_fact(each), None, "x") for each in many])
    counts = {each: AccessCount(1, EARLY) for each in many}
    assert store.count_accesses(counts, "x") == len(many)
    assert {uses(each) for each in store.iter_facts()} == {(1, EARLY)}
    assert {uses(each) for each in store.find_many(many).values()} == {(1, EARLY)}


def test_a_replaced_version_is_kept_until_it_is_recorded(store: Store, clock: FakeClock) -> None:
    first = create(store, a_fact(), "indy")
    assert store.replaced_versions(store.replaced_ids()) == []
    clock.advance(75)
    second = wrote(store, StoreWrite(A, a_fact(title="Mate"), first, "ada"))
    third = wrote(store, StoreWrite(A, a_fact(title="Water"), second, "bob"))
    create(store, a_fact(B), "ada")

    kept = store.replaced_versions(store.replaced_ids())

    assert kept == [
        ReplacedVersion(1, a_fact(), "indy", "2026-02-14T13:45:00Z"),
        ReplacedVersion(2, a_fact(title="Mate"), "ada", "2026-02-14T13:46:15Z"),
    ]
    assert [each.fact.revision for each in kept] == [first, second]
    assert store.replaced_ids() == [A]
    store.drop_replaced([])
    store.drop_replaced([first, "9-x"])
    assert store.replaced_versions(store.replaced_ids()) == kept[1:]
    store.drop_replaced([second])
    assert store.replaced_versions(store.replaced_ids()) == []
    assert store.replaced_ids() == []
    assert store.get(A).revision == third


def test_the_replaced_versions_of_some_facts_are_read_alone(store: Store) -> None:
    first, second = create(store, a_fact(B)), create(store, a_fact())
    second = wrote(store, StoreWrite(A, a_fact(title="Mate"), second, "ada"))
    first = wrote(store, StoreWrite(B, a_fact(B, title="Mate"), first, "ada"))
    wrote(store, StoreWrite(B, a_fact(B, title="Water"), first, "ada"))
    wrote(store, StoreWrite(A, None, second, "ada"))

    assert store.replaced_ids() == [B, A]
    kept = store.replaced_versions(store.replaced_ids())
    assert [each.fact.id for each in kept] == [B, A, A, B]
    assert store.replaced_versions([A]) == [each for each in kept if each.fact.id == A]
    assert store.replaced_versions([B, A]) == kept
    assert store.replaced_versions([C]) == []
    assert store.replaced_versions([]) == []


def test_a_version_that_is_recorded_or_says_the_same_is_not_kept(store: Store) -> None:
    first = create(store, a_fact())
    second = wrote(store, StoreWrite(A, a_fact(title="Mate"), first, "vault", recorded=True))
    third = wrote(store, StoreWrite(A, a_fact(title="Mate"), second, "indy"))
    store.write([StoreWrite(A, a_fact(), first, "indy"), StoreWrite(B, a_fact(B), "1-x", "indy")])
    gone = wrote(store, StoreWrite(A, None, third, "vault", recorded=True))
    wrote(store, StoreWrite(A, a_fact(), gone, "indy"))
    assert store.replaced_versions(store.replaced_ids()) == []


@PAGED
def test_any_number_of_versions_is_kept(store: Store, many: list[str]) -> None:
    first = store.write([StoreWrite(each, a_fact(each), None, "x") for each in many])
    new = [
        StoreWrite(each, a_fact(each, title="New"), str(revision), "y")
        for each, revision in zip(many, first, strict=True)
    ]
    store.write(new)
    kept = store.replaced_versions(store.replaced_ids())
    assert [(each.seq, each.fact.id) for each in kept] == list(enumerate(many, 1))
    assert store.replaced_ids() == many
    assert store.replaced_versions(many) == kept
    store.drop_replaced([each.fact.revision for each in kept])
    assert store.replaced_versions(store.replaced_ids()) == []


_WRITE = st.tuples(
    st.sampled_from(IDS[:3]),
    st.sampled_from(["public", "private-indy", "project-x", "dead"]),
    st.sampled_from(["last", "old", "none"]),
)
TURNS = st.lists(st.lists(_WRITE, max_size=4), max_size=8)


@given(TURNS)
@settings(max_examples=settings().max_examples // 2)
def test_all_stores_do_the_same(turns: list[list[tuple[str, str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stories = []
        for name in QUICK:
            store = STORES[name](Path(folder), FakeClock())
            try:
                stories.append(_story(store, turns))
            finally:
                store.close()

    assert all(story == stories[0] for story in stories)


def _story(store: Store, turns: list[list[tuple[str, str, str]]]) -> list[object]:
    told: list[object] = []
    spelled: dict[str | None, str] = {None: "none"}
    for number, turn in enumerate(turns):
        rows = {each.fact_id: each for each in store.feed()}
        writes = []
        for fact_id, wish, on in turn:
            last = rows[fact_id].revision if fact_id in rows else None
            expect = {"last": last, "old": "0-old", "none": None}[on]
            values: dict[str, Value] = {"title": f"T{number}", "scope": wish}
            fact = None if wish == "dead" else a_fact(fact_id, **values)
            op = f"op{number}" if number % 2 else ""
            writes.append(StoreWrite(fact_id, fact, expect, f"actor{number}", op=op))
        for write, answer in zip(writes, store.write(writes), strict=True):
            if isinstance(answer, str):
                assert answer not in spelled
                spelled[answer] = f"r{len(spelled)}"
                told.append((write.fact_id, spelled[answer]))
            else:
                told.append((write.fact_id, "refused", spelled[answer.found]))
        state = store.state()
        assert state.facts == sum(not row.deleted for row in store.feed())
        told += [(state.seq, state.facts)]
        told += [row._replace(revision=spelled[row.revision]) for row in store.feed()]
        told += [(each, store.find_many([each]), store.tombstone(each)) for each in IDS[:3]]
        told.append([(one, spelled[one.revision]) for one in store.iter_facts()])
        kept = store.replaced_versions(store.replaced_ids())
        told.append([(x.seq, x.fact, x.actor, spelled[x.fact.revision]) for x in kept])
        if number % 3 == 2:
            store.drop_replaced([each.fact.revision for each in kept])
        if number % 2:
            told.append(store.count_accesses({A: AccessCount(1, EARLY)}, f"op{number}"))
        told.append(store.last_ops(IDS[:3]))
    return told


Change = Callable[[str], str]


def half_of(body: str) -> str:
    return body[: len(body) // 2]


def damage(store: Store, folder: Path, fact_id: str, change: Change = half_of) -> None:
    """Change the JSON in the row of a fact; leave half of it by default."""
    if isinstance(store, MemoryStore):
        store.damage(fact_id, change)
    elif isinstance(store, QdrantStore):
        payload = store._points.take([fact_id])[fact_id]
        changed = {**payload, "rest": change(payload["rest"])}
        store._points.do([UpsertPoints([Point(fact_id, changed)])])
    else:
        with closing(sqlite3.connect(folder / "store.db")) as db, db:
            db.create_function("changed", 1, change)
            db.execute("UPDATE facts SET body = changed(body) WHERE id = ?", (fact_id,))


def foreign(key: str, value: object) -> Change:
    return lambda body: json.dumps({**json.loads(body), key: value})


DAMAGES: dict[str, Change] = {
    "half": half_of,
    "a list": lambda _: "[]",
    "milliseconds": foreign("createdAt", 1_771_000_000_000),
    "one tag": foreign("tags", "a"),
    "another priority": foreign("priority", 9),
}
"""What the disk, or a client of another program, leaves in a row."""


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_row_is_left_out_and_named(store: Store, tmp_path: Path, change: Change) -> None:
    facts = [a_fact(each) for each in (A, B, C)]
    first, second, third = (create(store, fact) for fact in facts)
    damage(store, tmp_path, B, change)

    assert not store.damaged()
    assert [each.id for each in store.iter_facts()] == [A, C]
    assert store.find_many([A, B, C]).keys() == {A, C}
    assert store.damaged().keys() == {B}
    with pytest.raises(DamagedFactError, match=B):
        store.get(B)
    assert store.get(A).revision == first
    assert store.tombstone(B) is None
    assert [row.revision for row in store.feed()] == [first, second, third]
    last = store.last_write(B)
    assert last is not None
    assert (last.revision, last.deleted) == (second, False)
    assert store.state().facts == 3

    store.count_accesses({each: AccessCount(1, "2026-02-14T13:45:00Z") for each in (A, B)}, "x")
    assert store.get(A).access_count == 1


@pytest.mark.parametrize("fact", [a_fact(title="Whole again"), None])
def test_a_write_replaces_a_damaged_row(store: Store, tmp_path: Path, fact: Fact | None) -> None:
    revision = create(store, a_fact())
    damage(store, tmp_path, A)
    assert store.find_many([A]) == {}

    wrote(store, StoreWrite(A, fact, revision, "indy"))

    assert list(store.iter_facts()) == ([fact] if fact else [])
    assert list(store.iter_facts(deleted=True)) == []
    assert store.tombstone(A) is None
    assert not store.damaged()
    assert (store.replaced_ids(), store.replaced_versions(store.replaced_ids())) == ([], [])
    assert store.state().facts == (1 if fact else 0)
