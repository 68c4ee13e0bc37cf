"""The note index follows the store."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.archives import a_base
from tests.doubles.note_index import TemporaryIndex
from tests.doubles.store import MemoryStore
from tests.world import World
from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.errors import IndexBusyError
from vaultsync.indexing import note_index_sync as indexing
from vaultsync.indexing import session_neighbours as neighbours
from vaultsync.indexing.note_index_sync import IndexReport, catch_up_note_index, count_visible_facts
from vaultsync.indexing.ports import IndexDocument
from vaultsync.indexing.session_neighbours import neighbour_texts
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import Value
from vaultsync.storage.store import StoreWrite


class Watched(TemporaryIndex):
    """An index that tells what it was given, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.holds: dict[str, IndexDocument] = {}
        self.puts: list[list[str]] = []
        self.error: Exception | None = None

    def update(self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str) -> None:
        if self.error is not None:
            raise self.error
        put, drop = list(put), list(drop)
        super().update(put, drop, version=version)
        self.puts.append([each.fact.id for each in put])
        for each in drop:
            self.holds.pop(each, None)
        self.holds |= {each.fact.id: each for each in put}

    def clear(self) -> None:
        super().clear()
        self.holds.clear()

    def said(self) -> dict[str, tuple[str, str]]:
        return {each: (entry.fact.content, entry.around) for each, entry in self.holds.items()}


@pytest.fixture(autouse=True)
def _one_neighbour_on_each_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "TURNS_BEFORE", 1)
    monkeypatch.setattr(neighbours, "TURNS_AFTER", 1)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def index() -> Watched:
    return Watched()


@pytest.fixture
def held(world: World, index: Watched) -> Fact:
    """A fact that the index holds."""
    fact = world.agent_remembers("Green tea.")
    catch_up_note_index(world.ctx, index)
    index.puts.clear()
    return fact


def rebuilt(world: World) -> dict[str, tuple[str, str]]:
    index = Watched()
    catch_up_note_index(world.ctx, index)
    return index.said()


def session(world: World, *contents: str) -> list[Fact]:
    return [world.agent_remembers(each, title="T", sessionId="s") for each in contents]


def around(index: Watched, fact: Fact) -> str:
    return index.holds[fact.id].around.replace("T\n", "")


def test_the_index_is_built_and_then_followed(world: World, index: Watched) -> None:
    assert catch_up_note_index(world.ctx, index).rebuilt
    assert catch_up_note_index(world.ctx, index) == IndexReport()
    one = world.agent_remembers("Green tea.")
    report = catch_up_note_index(world.ctx, index)
    assert (index.count(), report.put, report.rebuilt) == (1, 1, False)
    two = world.agent_remembers("Black tea.")
    report = catch_up_note_index(world.ctx, index)
    assert (index.count(), report.put, report.rebuilt) == (2, 1, False)
    hits = index.search("tea", FactFilters(), limit=5)
    assert [each.fact_id for each in hits] == [one.id, two.id]


def test_only_a_rebuild_writes_a_current_index(world: World, index: Watched, held: Fact) -> None:
    assert catch_up_note_index(world.ctx, index) == IndexReport()
    assert index.count() == 1
    assert index.puts == []
    assert catch_up_note_index(world.ctx, index, rebuild=True).rebuilt
    assert index.puts == [[held.id]]


def test_a_rebuild_keeps_what_another_process_puts_into_the_index_meanwhile(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "FACTS_PER_COMMIT", 1)
    index, other = (TantivyIndex(tmp_path / "words") for _ in range(2))
    for number in range(6):
        world.agent_remembers(f"Fact {number}")
    puts = []

    def stop(*_: object) -> None:
        raise InterruptedError

    def progress(_: str, done: int, total: int) -> None:
        puts.append(total)
        with suppress(InterruptedError):
            catch_up_note_index(world.ctx, other, progress=stop)

    report = catch_up_note_index(world.ctx, index, rebuild=True, progress=progress)
    assert (report.rebuilt, report.degraded, index.count()) == (True, "", 6)
    assert (report.put, puts) == (3, [6, 4, 2])


def test_the_forgotten_go_and_the_restored_return(world: World, index: Watched, held: Fact) -> None:
    world.agent_forgets(held.id)
    report = catch_up_note_index(world.ctx, index)
    assert (index.count(), report.dropped) == (0, 1)
    gone = world.store.last_write(held.id)
    assert gone is not None
    world.store.write([StoreWrite(held.id, held, gone.revision, "indy")])
    catch_up_note_index(world.ctx, index)
    assert index.count() == 1


def test_what_cannot_be_searched_for_changes_nothing(world: World, index: Watched) -> None:
    fact = session(world, "One.", "Two.")[0]
    catch_up_note_index(world.ctx, index)
    index.puts.clear()
    held = world.store.get(fact.id)
    read = held.evolve(access_count=5)
    world.store.write([StoreWrite(fact.id, read, held.revision, "indy")])
    assert catch_up_note_index(world.ctx, index).put == 0
    assert index.puts == [[]]
    assert catch_up_note_index(world.ctx, index).put == 0
    assert index.puts == [[]]


@pytest.mark.usefixtures("held")
def test_an_index_of_another_store_is_rebuilt(index: Watched) -> None:
    other = World()
    other.store = MemoryStore(other.clock, "memory:2")
    other.ctx = replace(other.ctx, store=other.store)
    fact = other.agent_remembers("Black tea.")
    assert catch_up_note_index(other.ctx, index).rebuilt
    assert index.said() == {fact.id: ("Black tea.", "")}
    assert not catch_up_note_index(other.ctx, index).rebuilt


@pytest.mark.parametrize("later", [[], ["White tea."]])
def test_a_restored_store_is_indexed_again(world: World, index: Watched, later: list[str]) -> None:
    one = world.agent_remembers("Green tea.")
    backup = world.store.snapshot()
    world.agent_remembers("Black tea.")
    catch_up_note_index(world.ctx, index)
    world.store.restore(backup)
    kept = [one, *map(world.agent_remembers, later)]
    assert catch_up_note_index(world.ctx, index).rebuilt
    assert list(index.said()) == [each.id for each in kept]


@pytest.mark.parametrize("version", ["", "x", "memory", "memory:", "memory:x:1:", "memory:²:"])
def test_an_invalid_version_rebuilds_the_index(world: World, index: Watched, version: str) -> None:
    fact = world.agent_remembers("Green tea.")
    index.update([], [], version=version)
    assert catch_up_note_index(world.ctx, index).rebuilt
    assert list(index.said()) == [fact.id]


@pytest.mark.parametrize("stops_at", [None, 4])
def test_a_long_backlog_is_indexed_in_batches_and_goes_on_where_it_stopped(
    world: World, index: Watched, monkeypatch: pytest.MonkeyPatch, stops_at: int | None
) -> None:
    monkeypatch.setattr(indexing, "FACTS_PER_COMMIT", 2)
    for each in "abcde":
        world.agent_remembers(each)
    told: list[tuple[str, int, int]] = []

    def progress(stage: str, done: int, of: int) -> None:
        told.append((stage, done, of))
        if done == stops_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) if stops_at else nullcontext():
        catch_up_note_index(world.ctx, index, progress=progress)
    assert told == [("index", done, 5) for done in (2, 4, 5)[: len(told)]]
    report = catch_up_note_index(world.ctx, index)
    assert [len(each) for each in index.puts] == [2, 2, 1]
    assert (report.rebuilt, index.count(), len(told)) == (False, 5, 2 if stops_at else 3)


NOT_WRITTEN = [
    (IndexBusyError("another process is writing"), "another process is writing"),
    (OSError(errno.ENOSPC, "Full"), "the {} cannot be written: Full"),
    (OSError("it broke"), "the {} cannot be written: it broke"),
]


@pytest.mark.parametrize(("error", "why"), NOT_WRITTEN)
def test_an_index_that_cannot_be_written_does_not_fail_the_run(
    world: World, index: Watched, error: Exception, why: str
) -> None:
    world.agent_remembers("Green tea.")
    index.error = error
    report = catch_up_note_index(world.ctx, index)
    assert report.busy is isinstance(error, IndexBusyError)
    assert report.degraded == why.format("note index")
    index.error = None
    catch_up_note_index(world.ctx, index)
    assert index.count() == 1


@pytest.mark.parametrize("times", [1, 99])
@pytest.mark.parametrize("rebuild", [True, False])
def test_an_index_that_others_write_meanwhile_is_followed_from_there(
    world: World, tmp_path: Path, times: int, *, rebuild: bool
) -> None:
    other = TantivyIndex(tmp_path / "words")
    writes = iter(range(times))

    class Late(TantivyIndex):
        def update(
            self, put: Iterable[IndexDocument], drop: Iterable[str], *, version: str
        ) -> None:
            if next(writes, None) is not None:
                gone = world.agent_remembers("Black tea.")
                other.clear()
                catch_up_note_index(world.ctx, other)
                world.agent_forgets(gone.id)
                world.agent_remembers("White tea.")
            super().update(put, drop, version=version)

    first = world.agent_remembers("Green tea.")
    index = Late(tmp_path / "words")
    report = catch_up_note_index(world.ctx, index, rebuild=rebuild)
    # Others have indexed what there was when it began, which is no rebuild.
    assert report.busy is (times > 1 and rebuild)
    facts = {fact.id for fact in world.store.iter_facts()}
    assert ({*index.browse(FactFilters(), limit=9)} == facts) is (times == 1)
    assert index.turns([], [first.id])


@pytest.mark.parametrize(("tries", "new", "is_busy"), [(3, 1, False), (99, 1, True), (3, 6, True)])
def test_a_few_facts_wait_for_another_process_that_writes_the_index(
    world: World,
    index: Watched,
    monkeypatch: pytest.MonkeyPatch,
    tries: int,
    new: int,
    *,
    is_busy: bool,
) -> None:
    monkeypatch.setattr(indexing, "MAX_AWAITED", 5)
    for number in range(new):
        world.agent_remembers(f"Tea {number}.")
    began, busy = world.clock.monotonic(), iter(range(tries))

    def sleep(seconds: float) -> None:
        world.clock.advance(seconds)
        index.error = IndexBusyError("busy") if next(busy, None) is not None else None

    monkeypatch.setattr(world.clock, "sleep", sleep)
    index.error = IndexBusyError("busy")
    report = catch_up_note_index(world.ctx, index)
    assert (report.busy, index.count()) == (is_busy, 0 if is_busy else new)
    assert world.clock.monotonic() - began <= indexing.BUSY_SECONDS + indexing.BUSY_POLL_SECONDS


@pytest.mark.usefixtures("held")
def test_a_store_that_is_away_leaves_the_index_as_it_was(world: World, index: Watched) -> None:
    world.store.away = True
    report = catch_up_note_index(world.ctx, index)
    assert index.count() == 1
    assert "does not answer" in report.degraded


# --- neighbours ------------------------------------------------------------------------


def test_facts_of_a_session_lend_each_other_their_text(world: World, index: Watched) -> None:
    one, two, three = session(world, "One.", "Two.", "Three.")
    alone = world.agent_remembers("Alone.")
    catch_up_note_index(world.ctx, index)
    wanted = {one.id: "Two.", two.id: "One.\nThree.", three.id: "Two."}
    facts = {each.id: each for each in (one, two, three, alone)}
    assert {key: around(index, each) for key, each in facts.items()} == {**wanted, alone.id: ""}
    told = neighbour_texts(world.store, index, facts)
    assert {key: text.replace("T\n", "") for key, text in told.items()} == wanted


def test_a_long_text_borrows_none_and_lends_its_beginning(world: World, index: Watched) -> None:
    long = "x" * (neighbours.MAX_BORROWER + 1)
    one, two, three = session(world, "One.", long, "x" * neighbours.MAX_BORROWER)
    catch_up_note_index(world.ctx, index)
    begin = long[: neighbours.CONTEXT_SHARE]
    assert around(index, two) == ""
    assert around(index, one) == begin
    assert around(index, three) == begin


def test_the_neighbours_before_come_first_and_of_them_the_nearest(
    world: World, index: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "TURNS_BEFORE", 2)
    monkeypatch.setattr(neighbours, "TURNS_AFTER", 2)
    facts = session(world, "One.", "Two.", "Three.", "Four.", "Five.")
    catch_up_note_index(world.ctx, index)
    assert around(index, facts[2]) == "Two.\nOne.\nFour.\nFive."


def test_a_new_or_changed_fact_reindexes_its_neighbours(world: World, index: Watched) -> None:
    one, two, three = session(world, "One.", "Two.", "Three.")
    catch_up_note_index(world.ctx, index)
    index.puts.clear()
    (four,) = session(world, "Four.")
    catch_up_note_index(world.ctx, index)
    world.agent_updates(one.id, content="Uno.")
    catch_up_note_index(world.ctx, index)
    assert index.puts == [[three.id, four.id], [one.id, two.id]]
    assert around(index, three) == "Two.\nFour."
    assert around(index, two) == "Uno.\nThree."


def test_a_private_fact_lends_nothing_to_a_public_one(world: World, index: Watched) -> None:
    seen = world.agent_remembers("Seen.", sessionId="s", scope="public")
    hidden = world.agent_remembers("Hidden.", sessionId="s", scope="private-indy")
    catch_up_note_index(world.ctx, index)
    assert (around(index, seen), around(index, hidden)) == ("", "")


def test_a_fact_that_went_meanwhile_is_left_to_the_next_time(world: World, index: Watched) -> None:
    one, two = session(world, "One.", "Two.")
    catch_up_note_index(world.ctx, index)
    world.agent_updates(one.id, content="Uno.")
    _once_before(world.store, 2, lambda: world.agent_forgets(two.id))
    catch_up_note_index(world.ctx, index)
    assert index.said()[one.id] == ("Uno.", "")
    catch_up_note_index(world.ctx, index)
    assert list(index.said()) == [one.id]


def _once_before(store: MemoryStore, number: int, act: Callable[[], None]) -> None:
    """Let something happen before the n-th time that facts are read."""
    left = number

    def before(method: str) -> None:
        nonlocal left
        left -= method == "find_many"
        if not left:
            store.before = lambda _: None
            act()

    store.before = before


# --- notes in a row --------------------------------------------------------------------


def lies_at(world: World, fact_id: str, path: str | None) -> None:
    """The note of a fact comes to a path, moves there, or goes."""
    with world.archive.transaction():
        if path is None:
            world.archive.drop_bases([fact_id])
        else:
            world.archive.put_bases([a_base(fact_id, path)])


def notes(world: World, *paths: str, **values: Value) -> list[Fact]:
    found = []
    for path in paths:
        said = f"{path[-6:-3]}."
        fact = world.agent_remembers(said, agent="indy", title="T", **values)
        lies_at(world, fact.id, path)
        found.append(fact)
    return found


def test_notes_in_a_row_lend_each_other_their_text(world: World, index: Watched) -> None:
    two, one, three, tea = notes(world, "a/002.md", "a/001.md", "a/003.md", "a/tea.md")
    catch_up_note_index(world.ctx, index)
    assert [around(index, each) for each in (one, two, three)] == ["002.", "001.\n003.", "002."]
    assert around(index, tea) == ""


def test_notes_with_a_gap_between_them_lend_nothing(world: World, index: Watched) -> None:
    some = notes(world, "a/001.md", "a/004.md", "a/020.md")
    catch_up_note_index(world.ctx, index)
    assert [around(index, each) for each in some] == ["", "", ""]


def test_a_session_counts_before_the_name_of_a_note(world: World, index: Watched) -> None:
    (one,) = notes(world, "a/001.md", sessionId="s")
    (two,) = notes(world, "a/002.md")
    (said,) = session(world, "Said.")
    catch_up_note_index(world.ctx, index)
    assert [around(index, each) for each in (one, two, said)] == ["Said.", "", "001."]


def test_a_private_note_lends_nothing_to_a_public_one(world: World, index: Watched) -> None:
    (seen,) = notes(world, "a/001.md", scope="public")
    (hidden,) = notes(world, "a/002.md", scope="private-indy")
    catch_up_note_index(world.ctx, index)
    assert (around(index, seen), around(index, hidden)) == ("", "")


def test_a_note_that_comes_moves_or_goes_has_other_neighbours(world: World, index: Watched) -> None:
    one, two = notes(world, "a/001.md", "a/002.md")
    new = world.agent_remembers("New.", title="T")
    catch_up_note_index(world.ctx, index)
    lies_at(world, new.id, "a/003.md")
    catch_up_note_index(world.ctx, index)
    assert (around(index, new), around(index, two)) == ("002.", "001.\nNew.")
    lies_at(world, two.id, "b/002.md")
    catch_up_note_index(world.ctx, index)
    assert [around(index, each) for each in (one, two, new)] == ["New.", "", "001."]
    lies_at(world, new.id, None)
    report = catch_up_note_index(world.ctx, index)
    assert [around(index, each) for each in (one, two, new)] == ["", "", ""]
    assert report.put == 2
    assert catch_up_note_index(world.ctx, index) == IndexReport()


def test_a_move_that_changes_no_neighbours_indexes_nothing(world: World, index: Watched) -> None:
    (tea,) = notes(world, "a/tea.md")
    catch_up_note_index(world.ctx, index)
    lies_at(world, tea.id, "b/tea.md")
    assert catch_up_note_index(world.ctx, index).put == 0


def test_an_archive_that_began_anew_rebuilds_the_index(world: World, index: Watched) -> None:
    notes(world, "a/001.md", "a/002.md")
    catch_up_note_index(world.ctx, index)
    world.lose_archive()
    assert catch_up_note_index(world.ctx, index).rebuilt
    assert set(index.said().values()) == {("001.", ""), ("002.", "")}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["new", "say", "move", "time", "drop", "index", "lie"]),
        st.integers(0, 7),
        st.sampled_from(["s", "t", None]),
    ),
    max_size=25,
)
PATHS = {"s": "a/{:03}.md", "t": "b/{:03}.md", None: None}


@given(STEPS, st.integers(1, 4), st.integers(0, 2), st.integers(0, 2))
def test_catching_up_gives_the_same_index_as_rebuilding(
    steps: list[tuple[str, int, str | None]], batch: int, before: int, after: int
) -> None:
    world, index = World(), Watched()
    fact_ids: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "FACTS_PER_COMMIT", batch)
        patch.setattr(neighbours, "TURNS_BEFORE", before)
        patch.setattr(neighbours, "TURNS_AFTER", after)
        for n, (what, which, name) in enumerate(steps):
            if what == "index":
                catch_up_note_index(world.ctx, index)
            elif what == "new":
                fact_ids.append(world.agent_remembers(f"{n}.", sessionId=name).id)
            elif fact_ids and what == "lie":
                fact_id, path = fact_ids[which % len(fact_ids)], PATHS[name]
                if world.store.find_many([fact_id]):
                    lies_at(world, fact_id, path and path.format(n))
            elif fact_ids:
                _change(world, fact_ids[which % len(fact_ids)], what, name, n)
        catch_up_note_index(world.ctx, index)
        assert index.said() == rebuilt(world)


def _change(world: World, fact_id: str, what: str, name: str | None, n: int) -> None:
    known = world.store.last_write(fact_id)
    fact = world.store.find_many([fact_id]).get(fact_id) or world.store.tombstone(fact_id)
    assert known is not None
    assert fact is not None
    changed: dict[str, Fact | None] = {
        "say": fact.evolve(content=f"{n}!"),
        "move": fact.evolve(session_id=name),
        "time": fact.evolve(created_at=f"2026-02-14T13:45:{n:02}Z"),
        "drop": None,
    }
    world.store.write([StoreWrite(fact_id, changed[what], known.revision, "indy")])


@pytest.mark.parametrize("indexed", [True, False])
def test_visible_facts_are_counted_whether_the_index_is_current_or_not(indexed: bool) -> None:
    world, index = World(), TemporaryIndex()
    world.agent_remembers("Of all.", scope="public")
    world.agent_remembers("Of Ada.", agent="ada", scope="private-ada")
    if indexed:
        catch_up_note_index(world.ctx, index)
    assert [count_visible_facts(world.ctx, index, each) for each in ("ada", "indy")] == [2, 1]
