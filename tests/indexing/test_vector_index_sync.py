"""The vectors follow the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from tests.doubles.note_index import TemporaryIndex
from tests.doubles.store import MemoryStore
from tests.doubles.vectors import MemoryVectors
from tests.indexing.test_note_index_sync import NOT_WRITTEN
from tests.world import World
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.errors import DerivedError, EmbedderError
from vaultsync.indexing import vector_index_sync as embedding
from vaultsync.indexing.chunking import CHUNK_RULES, Chunk, chunk_fact
from vaultsync.indexing.embedding_texts import (
    EmbeddingCost,
    embedding_chunks,
    embedding_identity,
    estimate_embedding_cost,
)
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import NoteIndex, VectorRow
from vaultsync.indexing.vector_index_sync import PROBE_TEXT, embed_pending
from vaultsync.model.fact import Fact
from vaultsync.storage.store import Store
from vaultsync.sync.report import EmbedReport, Progress

LONG = "\n\n".join(f"## Part {each}\n\n{f'word{each} and more ' * 40}" for each in "abcd")


Contents: TypeAlias = dict[tuple[str, str], tuple[object, ...]]


class Model(HashEmbedder):
    """An embedder that tells what it was asked, and fails on demand."""

    def __init__(self, name: str = "model") -> None:
        super().__init__(16)
        self.model = name
        self.asked: list[str] = []
        self.batches: list[list[str]] = []
        self.cannot: set[str] = set()
        """Texts that it fails on, by a word of theirs."""
        self.away = False
        self.takes: Callable[[], None] = lambda: None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.away:
            raise EmbedderError("the model is away")
        for text in texts:
            if text != PROBE_TEXT and any(word in text for word in self.cannot):
                raise EmbedderError(f"not {text[:20]!r}")
        if list(texts) != [PROBE_TEXT]:
            self.asked += texts
            self.batches.append(list(texts))
        self.takes()
        return super().embed(texts)


class Watched(MemoryVectors):
    """An index that tells what it was given, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.puts: list[list[str]] = []
        self.tidied = 0
        self.error: Exception | None = None
        self.after_put: Callable[[], object] = lambda: None

    def put(
        self, rows: Sequence[VectorRow], *, replace: Iterable[str] = (), record: str | None = None
    ) -> None:
        if self.error is not None:
            raise self.error
        super().put(rows, replace=replace, record=record)
        self.puts.append([row.fact.id for row in rows])
        self.after_put()

    def tidy(self) -> None:
        self.tidied += 1

    def said(self) -> Contents:
        """What it holds, but for the version: a fact that is as it was needs no new row."""
        no_version = {"access_count": 0, "revision": "", "updated_at": None}
        return {
            key: (tuple(row.vector), row.fact.evolve(**no_version))
            for key, row in self._rows.items()
        }


class EmbeddingWorld(World):
    """A world whose facts are embedded in their session context."""

    def __init__(self) -> None:
        super().__init__()
        self.index, self.vectors, self.model = TemporaryIndex(), Watched(), Model()

    def says(self, text: str, session: str | None = "s") -> Fact:
        return self.agent_remembers(text, title="T", sessionId=session)

    def embed(
        self,
        model: Model | None = None,
        *,
        behind: bool = False,
        follow: bool = False,
        progress: Progress | None = None,
    ) -> EmbedReport:
        def catch_up() -> None:
            if not behind:
                catch_up_note_index(self.ctx, self.index)

        model = model or self.model
        catch_up()
        return embed_pending(
            self.ctx,
            self.vectors,
            model,
            self.index,
            progress=progress,
            catch_up=catch_up if follow else None,
        )

    def cost(self) -> EmbeddingCost | None:
        return estimate_embedding_cost(self.ctx, self.vectors, self.model, self.index)

    def rebuilt(self) -> Contents:
        """What an index holds that is built from nothing."""
        vectors = Watched()
        embed_pending(self.ctx, vectors, Model(), self.index)
        return vectors.said()


@pytest.fixture
def world() -> EmbeddingWorld:
    return EmbeddingWorld()


def ids(fact: Fact) -> frozenset[str]:
    return frozenset(each.id for each in chunk_fact(fact))


def test_all_facts_get_vectors(world: EmbeddingWorld) -> None:
    facts = [world.agent_remembers(text) for text in ("one", "two", LONG)]
    report = world.embed()
    assert dict(world.vectors.chunks()) == {fact.id: ids(fact) for fact in facts}
    assert (report.facts, report.put, report.removed, report.reused) == (3, 3, 0, 0)
    assert report.embedded == len(world.model.asked) == sum(len(ids(f)) for f in facts)
    assert (report.left, report.degraded, dict(report.waiting)) == (0, "", {})
    assert world.vectors.identity() == f"model/16/{CHUNK_RULES}+around-1"


def test_when_nothing_changed_but_a_count_no_vector_is_written(world: EmbeddingWorld) -> None:
    fact = world.agent_remembers("one")
    world.embed()
    puts = len(world.vectors.puts)
    report = world.embed()
    assert (report.facts, report.put, report.embedded) == (1, 0, 0)
    assert (len(world.model.asked), len(world.vectors.puts), world.vectors.tidied) == (1, puts, 1)
    assert world.cost() is None
    world.agent_updates(fact.id, accessCount=7)
    report = world.embed()
    assert (report.put, report.left) == (0, 0)
    assert (world.vectors.puts[-1], world.vectors.tidied) == ([], 1)


def test_an_empty_store_is_noted_once_and_costs_nothing(world: EmbeddingWorld) -> None:
    cost = world.cost()
    assert cost is not None
    assert (cost.before, cost.facts, cost.texts, cost.seconds) == (None, 0, 0, 0.0)
    world.embed()
    world.embed()
    assert world.vectors.puts == [[]]
    assert world.vectors.record()


def test_only_texts_that_changed_are_embedded(world: EmbeddingWorld) -> None:
    world.agent_remembers("one")
    fact = world.agent_remembers("two", priority=1)
    world.embed()
    for change, counts in (
        ({"content": "three"}, (1, 1, 0, 0)),
        ({"priority": 3}, (1, 0, 1, 0)),  # a filter asks for it
    ):
        world.agent_updates(fact.id, **change)
        report = world.embed()
        assert (report.put, report.embedded, report.reused, report.left) == counts
        assert world.vectors.chunks()[fact.id] == ids(world.fact(fact.id))
        assert world.vectors.said() == world.rebuilt()


def test_to_move_a_paragraph_embeds_nothing_but_the_lead(world: EmbeddingWorld) -> None:
    fact = world.agent_remembers(LONG)
    world.embed()
    parts = LONG.split("\n\n")
    moved = "\n\n".join([*parts[2:4], *parts[:2], *parts[4:]])
    world.agent_updates(fact.id, content=moved)
    world.model.asked.clear()
    report = world.embed()
    assert not [each for each in world.model.asked if "and more" in each]
    assert report.reused == 4
    assert world.vectors.said() == world.rebuilt()


def test_the_vectors_of_a_deleted_fact_are_removed(world: EmbeddingWorld) -> None:
    one, two = world.agent_remembers("one"), world.agent_remembers("two")
    world.embed()
    world.agent_forgets(one.id)
    world.agent_forgets(world.agent_remembers("came and went").id)
    report = world.embed()
    assert (report.removed, report.put, report.facts) == (1, 0, 1)
    assert set(world.vectors.chunks()) == {two.id}
    assert len(world.model.asked) == 2


def test_a_text_that_two_facts_have_is_embedded_once(world: EmbeddingWorld) -> None:
    for agent in ("indy", "ada"):
        world.agent_remembers("the same", agent=agent, scope=f"private-{agent}")
    report = world.embed()
    assert (report.put, report.embedded, len(world.model.asked)) == (2, 1, 1)
    assert world.vectors.count() == 2


def test_orphans_are_removed_and_lost_rows_come_back(world: EmbeddingWorld) -> None:
    one, two = world.agent_remembers("one"), world.agent_remembers("two")
    world.embed()
    stray = [one.evolve(id=world.clock.new_id()) for _ in "ab"]
    unit = (1.0, *[0.0] * 15)
    world.vectors.put([VectorRow(each, "x", unit) for each in stray], replace=[one.id])
    world.agent_updates(two.id, content="three")
    report = world.embed()
    assert world.vectors.said() == world.rebuilt()
    assert (report.facts, report.removed, report.put) == (2, 2, 2)


def test_an_index_that_lost_its_record_keeps_its_vectors(world: EmbeddingWorld) -> None:
    for each in range(5):
        world.agent_remembers(f"{each}")
    world.embed()
    asked = len(world.model.asked)
    world.vectors._record = None
    report = world.embed()
    assert (len(world.model.asked), report.put) == (asked, 0)
    assert world.embed().put == 0


def test_another_store_is_followed_from_its_beginning(world: EmbeddingWorld) -> None:
    world.agent_remembers("one")
    world.embed()
    other = EmbeddingWorld()
    other.store = MemoryStore(other.clock, "another")
    other.ctx = replace(other.ctx, store=other.store)
    other.clock.advance(50)
    other.agent_remembers("two")
    other.vectors = world.vectors
    report = other.embed()
    assert (report.put, report.removed) == (1, 1)
    assert world.vectors.said() == other.rebuilt()


def test_a_store_that_went_back_is_followed(world: EmbeddingWorld) -> None:
    world.agent_remembers("one")
    kept = world.store.snapshot()
    world.agent_remembers("two")
    world.embed()
    world.store.restore(kept)
    world.clock.advance(1)
    world.agent_remembers("three")
    world.embed()
    assert world.vectors.said() == world.rebuilt()


def test_another_model_replaces_all_vectors_once_it_has_answered(world: EmbeddingWorld) -> None:
    world.agent_remembers("one")
    world.embed()
    other = Model("other")
    other.away = True
    assert world.embed(other).degraded == "the model is away"
    assert world.vectors.identity() == embedding_identity(world.model)
    assert world.vectors.count() == 1
    other.away = False
    report = world.embed(other)
    assert (report.embedded, report.put) == (1, 1)
    assert world.vectors.identity() == embedding_identity(other)


def test_a_model_that_is_away_is_asked_again_next_time(world: EmbeddingWorld) -> None:
    one = world.agent_remembers("one")
    world.embed()
    world.agent_remembers("two")
    world.agent_forgets(one.id)
    world.model.away = True
    report = world.embed()
    assert (report.degraded, report.left) == ("the model is away", 2)
    world.model.away = False
    assert world.embed().degraded == ""
    assert world.vectors.said() == world.rebuilt()


def test_a_text_that_cannot_be_embedded_waits_and_is_tried_again(world: EmbeddingWorld) -> None:
    facts = [world.agent_remembers(text) for text in ("good", "bad", "fine")]
    world.model.cannot = {"bad"}
    report = world.embed()
    assert report.waiting == {facts[1].id: "not 'bad'"}
    assert report.degraded == "a text of 1 fact could not be embedded"
    assert (report.embedded, report.facts, report.left) == (2, 2, 0)
    assert world.embed().waiting == report.waiting
    world.agent_remembers("more")
    assert world.embed().waiting == report.waiting
    world.model.cannot = set()
    last = world.embed()
    assert (last.embedded, dict(last.waiting), last.degraded) == (1, {}, "")
    assert world.vectors.said() == world.rebuilt()


def test_of_a_fact_that_waits_the_other_texts_are_found(world: EmbeddingWorld) -> None:
    fact = world.agent_remembers(LONG)
    world.model.cannot = {"wordb"}
    assert list(world.embed().waiting) == [fact.id]
    assert len(world.vectors.chunks()[fact.id]) == len(ids(fact)) - 1


def test_texts_are_embedded_by_length_and_put_some_at_a_time(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "TEXTS_PER_PUT", 6)
    monkeypatch.setattr(embedding, "FACTS_PER_PAGE", 10)
    monkeypatch.setattr(embedding, "TEXTS_PER_REQUEST", 3)
    for each in range(23):
        world.agent_remembers(f"{each} " * (each * 7 % 11 + 1))
    seen: list[tuple[str, int, int]] = []
    world.embed(progress=lambda *args: seen.append(args))
    assert [len(put) for put in world.vectors.puts] == [6, 6, 6, 5, 0]
    assert seen == [("embed", at, 23) for at in (6, 12, 18, 23)]
    assert [len(batch) for batch in world.model.batches] == [3, 3] * 3 + [3, 2]
    for batch in world.model.batches:
        assert [*map(len, batch)] == sorted(map(len, batch))
    assert world.vectors.said() == world.rebuilt()


def test_what_was_put_before_a_failure_is_not_embedded_again(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "TEXTS_PER_PUT", 2)
    for each in range(6):
        world.agent_remembers(f"{each}")

    def die() -> None:
        world.model.away = len(world.model.asked) >= 4

    world.model.takes = die
    report = world.embed()
    assert (report.embedded, report.left) == (4, 2)
    assert world.vectors.tidied == 0
    world.model.takes, world.model.away = lambda: None, False
    world.embed()
    assert len(world.model.asked) == len(set(world.model.asked)) == 6


def test_what_is_most_important_and_newest_is_embedded_first(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "TEXTS_PER_PUT", 1)
    old, critical, new, background = (
        world.agent_remembers(text, priority=priority)
        for text, priority in (("old", 2), ("critical", 0), ("new", 2), ("background", 4))
    )
    world.agent_updates(background.id, content="just changed")
    world.embed()
    order = [fact.id for fact in (critical, new, old, background)]
    assert [put[0] for put in world.vectors.puts if put] == order


class Killed(BaseException):
    """The process has ended."""


def test_an_interrupted_run_goes_on_where_it_stopped_whatever_came_meanwhile(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "TEXTS_PER_PUT", 2)
    facts = [world.agent_remembers(f"fact {each}", priority=each % 5) for each in range(20)]

    def die() -> None:
        if len(world.model.asked) % 4 == 3:
            raise Killed

    world.model.takes = die
    for round_ in range(12):
        try:
            world.embed()
            break
        except Killed:
            world.model.asked.append("so that the next one lives")
            fact = facts[round_ % len(facts)]
            world.agent_updates(fact.id, content=f"changed {round_}", priority=round_ % 3)
            world.agent_forgets(world.agent_remembers(f"came and went {round_}").id)
    world.model.takes = lambda: None
    last = world.embed()
    assert (last.left, last.degraded, last.embedded) == (0, "", 0)
    assert world.vectors.said() == world.rebuilt()


def test_a_resumed_run_does_not_even_look_at_what_it_has_done(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "TEXTS_PER_PUT", 2)
    for each in range(8):
        world.agent_remembers(f"fact {each}")

    def die() -> None:
        if len(world.model.asked) == 6:
            raise Killed

    world.model.takes = die
    with pytest.raises(Killed):
        world.embed()
    world.model.takes = lambda: None
    looked: list[str] = []
    chunks = embedding_chunks

    def looking(
        store: Store, index: NoteIndex, facts: Mapping[str, Fact]
    ) -> dict[str, list[Chunk]]:
        looked.extend(facts)
        return chunks(store, index, facts)

    monkeypatch.setattr(embedding, "embedding_chunks", looking)
    assert world.embed().put == 4
    assert len(looked) == 4


def test_what_is_written_meanwhile_goes_before_what_waits(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "TEXTS_PER_PUT", 1)
    for each in range(4):
        world.agent_remembers(f"fact {each}")
    late: list[Fact] = []

    def arrive() -> None:
        if world.model.asked and not late:
            late.append(world.agent_remembers("late"))

    world.model.takes = arrive
    seen: list[tuple[str, int, int]] = []
    report = world.embed(follow=True, progress=lambda *args: seen.append(args))
    order = [put[0] for put in world.vectors.puts if put]
    assert order[1] == late[0].id
    assert len(order) == 5
    assert (report.put, report.left, report.degraded) == (5, 0, "")
    assert seen[-1] == ("embed", 5, 5)
    assert world.vectors.said() == world.rebuilt()


def test_what_is_written_at_the_very_end_is_followed_too(world: EmbeddingWorld) -> None:
    first = world.agent_remembers("first")

    def arrive() -> None:
        if world.vectors.puts[-1] == [] and world.store.state().facts == 1:
            world.agent_remembers("late")

    world.vectors.after_put = arrive
    report = world.embed(follow=True)
    assert (report.put, report.left, report.degraded) == (2, 0, "")
    assert first.id in world.vectors.chunks()
    assert world.vectors.said() == world.rebuilt()


def test_what_the_note_index_cannot_take_in_meanwhile_is_left(world: EmbeddingWorld) -> None:
    world.agent_remembers("first")
    catch_up_note_index(world.ctx, world.index)

    def arrive() -> None:
        if world.model.asked and world.store.state().facts == 1:
            world.agent_remembers("late")

    world.model.takes = arrive
    report = world.embed(behind=True, follow=True)
    assert report.left == 1
    assert report.degraded.startswith("the note index is out of date")
    assert world.embed().left == 0
    assert world.vectors.said() == world.rebuilt()


def test_the_longer_a_text_takes_the_sooner_it_is_written(world: EmbeddingWorld) -> None:
    for each in range(300):
        world.agent_remembers(f"fact {each}")
    world.model.batches.append([])
    world.model.takes = lambda: world.clock.advance(0.1 * len(world.model.batches[-1]))
    world.embed()
    assert [len(put) for put in world.vectors.puts][:3] == [64, 40, 40]


def test_a_slow_model_is_asked_for_little_to_hear_a_stop_in_a_second(world: EmbeddingWorld) -> None:
    for each in range(80):
        world.agent_remembers(f"fact {each}" if each % 4 else LONG.replace("word", f"w{each}"))
    world.model.batches.append([])
    world.model.takes = lambda: world.clock.advance(0.0004 * len("".join(world.model.batches[-1])))
    moments = [world.clock.monotonic()]

    world.embed(progress=lambda *_: moments.append(world.clock.monotonic()))

    assert moments[-1] - moments[0] > 15
    assert max(later - before for before, later in pairwise(moments)) <= 1.0
    # Not one text at a time either.
    assert len(world.model.asked) / len(world.model.batches) >= 2


@pytest.mark.parametrize(("error", "why"), NOT_WRITTEN)
def test_a_write_that_fails_is_reported(world: EmbeddingWorld, error: Exception, why: str) -> None:
    world.agent_remembers("one")
    world.vectors.error = error
    report = world.embed()
    assert (report.degraded, report.left, report.put) == (why.format("vectors"), 1, 0)
    world.vectors.error = None
    assert world.embed().put == 1
    world.store.away = True
    assert "does not answer" in world.embed().degraded


def test_an_index_that_becomes_unavailable_is_reported(
    world: EmbeddingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.agent_remembers("one")
    world.vectors.error = error = DerivedError("the server is away")

    def count() -> int:
        raise error

    monkeypatch.setattr(world.vectors, "count", count)
    report = world.embed()
    assert (report.degraded, report.facts, report.left) == ("the server is away", 0, 1)


def test_a_report_has_the_time_it_took_and_is_told_as_json(world: EmbeddingWorld) -> None:
    world.agent_remembers("one")
    world.model.takes = lambda: world.clock.advance(1.5)
    # One answer more, to see whether it is there.
    counts = {"facts": 1, "put": 1, "embedded": 1, "reused": 0, "removed": 0, "left": 0}
    wanted = {**counts, "waiting": {}, "degraded": "", "seconds": 3.0}
    assert json.loads(json.dumps(to_builtins(world.embed()))) == wanted


# --- neighbours ----------------------------------------------------------------------


def test_a_text_is_given_to_the_model_as_its_family_expects_and_named_by_itself(
    world: EmbeddingWorld,
) -> None:
    fact = world.agent_remembers("Berths are numbered from the sea.")
    world.model.cannot = {"Tea"}
    tea = world.agent_remembers("Tea is at four.")
    world.embed()
    world.embed(e5 := Model("multilingual-e5-small"))

    (text,) = {each.text for each in chunk_fact(fact)}
    assert text in world.model.asked
    assert f"passage: {text}" in e5.asked
    assert all(each.startswith("passage: ") for each in e5.asked)
    held = world.vectors.chunks()
    assert held == {each.id: {chunk.id for chunk in chunk_fact(each)} for each in (fact, tea)}
    assert embedding_identity(e5) != embedding_identity(Model("e5-like"))
    assert embedding_identity(e5).endswith("/e5")


def test_neighbours_lend_their_text_to_what_is_embedded(world: EmbeddingWorld) -> None:
    for text in ("alpha", "beta", "gamma"):
        world.says(text)
    world.says("alone", session=None)
    world.embed()
    assert [text.replace("T\n", "").split() for text in sorted(world.model.asked)] == [
        ["alone"],
        ["alpha", "beta", "gamma"],
        ["beta", "alpha", "gamma"],
        ["gamma", "beta", "alpha"],
    ]


def test_a_change_and_a_new_turn_are_lent_to_the_neighbours(world: EmbeddingWorld) -> None:
    facts = [world.says(text) for text in ("alpha", "beta", "gamma", "delta")]
    world.embed()
    world.agent_updates(facts[1].id, content="omega")
    assert world.embed().embedded == 4
    world.says("epsilon")
    assert world.embed().embedded == 3
    assert world.vectors.said() == world.rebuilt()


def test_what_the_note_index_has_not_taken_in_waits(world: EmbeddingWorld) -> None:
    world.says("alpha")
    early = world.embed(behind=True)
    assert (early.left, early.put) == (1, 0)
    assert early.degraded.startswith("the note index is out of date")
    catch_up_note_index(world.ctx, world.index)
    world.says("beta")
    late = world.embed(behind=True)
    assert (late.left, late.put, late.degraded) == (1, 1, "")
    world.embed()
    assert world.vectors.said() == world.rebuilt()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("says"), st.integers(0, 2), st.sampled_from(["a", "b", LONG])),
        st.tuples(st.just("edits"), st.integers(0, 9), st.sampled_from(["c", "d", LONG])),
        st.tuples(st.just("forgets"), st.integers(0, 9), st.just("")),
        st.tuples(st.just("ranks"), st.integers(0, 9), st.just("")),
        st.tuples(st.just("fails"), st.just(0), st.sampled_from(["a", "c", "more"])),
        st.tuples(st.just("follows"), st.integers(0, 5), st.just("")),
    ),
    max_size=25,
)


@given(steps=STEPS)
def test_any_history_gives_the_vectors_of_the_store(steps: list[tuple[str, int, str]]) -> None:
    world = EmbeddingWorld()
    held: list[Fact] = []
    for step, number, text in steps:
        if step == "says":
            held.append(world.says(text, session=f"{number}" if number else None))
        elif step == "edits" and held:
            world.agent_updates(held[number % len(held)].id, content=text)
        elif step == "forgets" and held:
            world.agent_forgets(held.pop(number % len(held)).id)
        elif step == "ranks" and held:
            world.agent_updates(held[number % len(held)].id, priority=number % 5)
        elif step == "fails":
            world.model.cannot = {text}
        elif step == "follows":
            world.embed(behind=number > 3)
            world.model.cannot = set()
    world.model.cannot = set()
    report = world.embed()
    assert world.vectors.said() == world.rebuilt()
    assert (report.left, report.degraded, dict(report.waiting)) == (0, "", {})


# --- what it costs -------------------------------------------------------------------


def test_the_share_of_embedded_facts_is_told_until_all_are(world: EmbeddingWorld) -> None:
    world.agent_remembers("One.")
    (said,) = embedding.unembedded_note(world.ctx, world.vectors, 0.5)
    assert "50 %" in said
    world.embed()
    assert embedding.unembedded_note(world.ctx, world.vectors, 0.5) == []


@pytest.mark.long(5)
def test_the_cost_of_another_model_is_estimated(world: EmbeddingWorld) -> None:
    for each in range(300):
        world.agent_remembers(LONG.replace("word", f"{each}") if each % 3 else f"{each}")
    world.agent_forgets(world.agent_remembers("gone").id)
    world.vectors.reset("old/16/c")
    world.model.takes = lambda: world.clock.advance(0.5)
    cost = world.cost()
    assert cost is not None
    assert (cost.before, cost.after) == ("old/16/c", embedding_identity(world.model))
    assert cost.facts == 300
    real = world.embed().embedded
    assert cost.texts == pytest.approx(real + 199, rel=0.1)  # 200 leads are the same
    assert cost.seconds == pytest.approx(cost.texts * 0.5 / 17, rel=0.2)
    assert to_builtins(cost)["texts"] == cost.texts
