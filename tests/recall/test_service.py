"""A question -> hits: what may be found, in which order, and what is said about it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json, to_builtins
from msgspec.structs import replace

from tests.doubles.note_index import TemporaryIndex
from tests.doubles.vectors import MemoryVectors
from tests.recalls import BrokenEmbedder, BrokenReranker, LengthReranker, RecallWorld
from vaultsync import errors
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.context_packs.relevance import words_share
from vaultsync.indexing.note_index_sync import NOTE_INDEX_SCHEMA, catch_up_note_index
from vaultsync.indexing.ports import IndexMatch
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import BRANCH
from vaultsync.model.schema import LINEAGE
from vaultsync.recall.event_dates import find_event
from vaultsync.recall.misspelled_requests import without_slips
from vaultsync.recall.ranking import HINT_MISMATCH_FACTOR, RankingWeights
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.recall.service import (
    FUSED_CANDIDATES,
    INDEX_ONLY_CONFIDENCE,
    POOL_SIZE,
    RecallSearch,
)
from vaultsync.storage.feed_cursor import make_version
from vaultsync.storage.store import StoreWrite


def _leave_index_as_it_is(world: RecallWorld) -> None:
    """Say that the note index has all that the store has, whatever it holds."""
    state = world.store.state()
    of_store = make_version(world.store, state.store_id, state.seq, NOTE_INDEX_SCHEMA)
    last_move = world.ctx.archive.last_move()
    world.index.update([], [], version=f"{of_store}|{last_move}")


def test_what_was_just_remembered_is_found_at_once(world: RecallWorld) -> None:
    fact = world.agent_remembers("We chose LanceDB because it is embedded.")
    found = world.ask("why LanceDB?")
    assert ([hit.id for hit in found], found[0].title) == ([fact.id], fact.title)
    assert (len(found), found.source, found.query) == (1, "index", "why LanceDB?")


def test_a_question_is_given_to_the_model_as_its_family_expects(world: RecallWorld) -> None:
    class Asked(HashEmbedder):
        model = "intfloat/e5-small-v2"
        texts: list[str]

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            self.texts = [*texts]
            return super().embed(texts)

    world.agent_remembers("Berths are numbered from the sea.")
    world.embedder = Asked()
    world.embed()

    for _ in range(2):  # the first time the cosines of the model are measured
        world.ask("numbered berths", mode="vector")

    assert world.embedder.texts == ["query: numbered berths"]

    world.ask("How long was it between the first storm and the last flood?", mode="vector")

    assert world.embedder.texts == ["query: the first storm", "query: the last flood"]


@pytest.mark.parametrize("mode", ["vector", "fused"])
def test_each_of_two_events_is_found_by_itself(mode: str, world: RecallWorld) -> None:
    told = [
        world.agent_remembers("The keel was painted with red lead."),
        world.agent_remembers("A crane lifted the mast on board."),
    ]
    for number in range(9):
        world.agent_remembers(f"How many days passed between tide {number} and the ebb?")
    world.embed()

    found = world.ask(
        "How many days passed between when the keel was painted with red lead"
        " and when a crane lifted the mast on board?",
        mode=mode,
    )

    first = [hit for hit in found if hit.id in {fact.id for fact in told}]
    assert [hit.id for hit in first] == [hit.id for hit in found.hits[:2]]
    assert all(hit.why.endswith("was compared with each of the two events.") for hit in first)


def test_a_fact_about_the_question_is_nearer_than_one_that_mentions_it(world: RecallWorld) -> None:
    berths = "The numbered berths of the harbour are the ones which are let by the season."
    pilot = "The berths of the harbour are numbered from the sea, but the first one is the pilot's."
    cake = "Grandmother bakes an apple cake with cinnamon and raisins every single Sunday morning."
    texts = [[berths, *[cake] * 12], [pilot, *[pilot.replace("sea", "s" * n) for n in range(12)]]]
    ids = [world.agent_remembers("\n\n".join(each)).id for each in texts]
    world.embed()

    found = world.ask("numbered berths of the harbour", mode="vector")

    assert [hit.id for hit in found] == ids[::-1]


def test_a_hit_is_the_fact_of_the_store_with_the_path_of_its_note(world: RecallWorld) -> None:
    fact = world.mirrored("Berths are numbered from the sea.")
    search = RecallSearch(world.sources, RecallRequest("how are berths numbered"))
    (hit,) = search.answer()
    assert search.facts == [fact]
    assert (hit.id, hit.type, hit.path) == (fact.id, "note", world.path(fact.id))


def test_a_missing_note_has_no_path_and_a_deleted_fact_is_not_found(world: RecallWorld) -> None:
    fact = world.mirrored("Berths are numbered from the sea.")
    world.person_deletes(fact)
    world.sync()
    assert world.ask("berths")[0].path is None
    world.agent_forgets(fact.id)
    assert len(world.ask("berths")) == 0


def test_a_hit_is_checked_against_the_store(world: RecallWorld) -> None:
    fact = world.agent_remembers("Berths are numbered from the sea.")
    world.ask("berths")
    hidden = fact.evolve(status="archived", revision="")
    # The index claims to be up to date, and still has the fact as it was.
    world.store.write([StoreWrite(fact.id, hidden, world.store.get(fact.id).revision, "x")])
    _leave_index_as_it_is(world)
    assert world.index.search("berths", FactFilters(), limit=1)
    assert len(world.ask("berths")) == 0


def test_only_heads_of_chains_are_found_unless_asked(world: RecallWorld) -> None:
    old = world.agent_remembers("Berths cost 100 kroner.")
    new = world.supersedes(old.id, "Berths cost 120 kroner.")
    assert [hit.id for hit in world.ask("what do berths cost")] == [new.id]
    both = world.ask("what do berths cost", heads_only=False)
    assert {hit.id for hit in both} == {old.id, new.id}


def test_only_active_facts_to_priority_2_are_found_unless_asked(world: RecallWorld) -> None:
    kept = world.agent_remembers("Berths one", priority=2)
    low = world.agent_remembers("Berths two", priority=3)
    old = world.agent_remembers("Berths three", status="archived")
    assert {hit.id for hit in world.ask("berths")} == {kept.id}
    assert {hit.id for hit in world.ask("berths", max_priority=4)} == {kept.id, low.id}
    assert {hit.id for hit in world.ask("berths", status=None)} == {kept.id, old.id}
    assert {hit.id for hit in world.ask("berths", status="archived")} == {old.id}


FACTS: list[dict[str, Any]] = [
    {"content": "Berths A", "type": "decision", "tags": ["ops/sea"], "priority": 0},
    {"content": "Berths B", "type": "lesson", "scope": "public", "userId": "u-1"},
    {"content": "Berths C", "type": "lesson", "createdAt": "2020-02-03T00:00:00Z"},
]
FILTERS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("berths", {"types": ["Lesson"]}, {"Berths B", "Berths C"}),
    ("berths", {"tags": ["#ops"]}, {"Berths A"}),
    ("berths", {"scopes": ["public"]}, {"Berths B"}),
    ("berths", {"since": "2020-02-04"}, {"Berths A", "Berths B"}),
    ("berths", {"since": "2020-03"}, {"Berths A", "Berths B"}),
    ("berths", {"until": "2020-02-04"}, {"Berths C"}),
    ("berths", {"until": "2020-02-03"}, {"Berths C"}),
    ("berths", {"until": "2020-02-03T00:00:00Z"}, set()),
    ("berths", {"until": "2020-02-03T00:30:00-01:00"}, {"Berths C"}),
    ("berths", {"user": "u-1"}, {"Berths B"}),
    ("berths", {"user": "u-2"}, set()),
    ("berths type:decision", {}, {"Berths A"}),
    ("berths tag:ops/sea", {}, {"Berths A"}),
    ("berths until:2020", {}, {"Berths C"}),
    ("berths until:2020-03", {}, {"Berths C"}),
    ("berths tier:critical", {}, {"Berths A"}),
    ("berths tier:notable", {}, {"Berths B", "Berths C"}),
    ("berths tier:background", {}, set()),
    ('"berths b"', {}, {"Berths B"}),
]


@pytest.mark.parametrize(("question", "more", "expected"), FILTERS)
def test_filters_hold(
    world: RecallWorld, question: str, more: dict[str, Any], expected: set[str]
) -> None:
    for values in FACTS:
        world.agent_remembers(**values)
    world.embed()
    for mode in ("index", "vector", "fused"):
        assert set(world.titles(question, mode=mode, **more)) == expected, mode


@pytest.mark.parametrize("question", ["#harbour", "tag:harbour/East", "notes tagged harbour"])
def test_a_tag_in_the_text_is_a_tag_of_the_note(world: RecallWorld, question: str) -> None:
    world.agent_remembers("#harbour/east\nBerths are low.", title="Inline")
    world.agent_remembers("Berths are high.", title="Field", tags=["harbour"])
    for text in (
        *("In `#harbour` code.", "```\n#harbour\n```", "page#harbour", "#1", "# harbour"),
        *("[[Port #harbour]]", "[a #harbour](b)", "%% #harbour %%", "<!-- #harbour -->"),
        *("`` a`b #harbour ``", "`two\n#harbour`", "$$\n#harbour\n$$", "$a #harbour$"),
    ):
        world.agent_remembers(text, title="None")
    world.agent_remembers("```on one line```\n#harbour costs $5 #harbour/east or $6", title="Both")
    world.embed()
    every = {"Inline", "Both", "Field"}
    assert set(world.titles(question)) == ({"Inline", "Both"} if "/" in question else every)
    near = set(world.titles(f"berths {question}", mode="vector"))
    assert {"Inline"} <= near <= every


def test_a_question_that_is_a_tag_prefers_facts_with_it(world: RecallWorld) -> None:
    world.agent_remembers("Incidents, incidents: two in a week.", title="Retro")
    for name in ("Redis", "Kafka"):
        world.agent_remembers(f"{name} was down.", title=name, tags=["incident"])
    assert set(world.titles("incidents", mode="index")[:2]) == {"Redis", "Kafka"}
    world.agent_remembers("Vegan recipes, recipes, all vegan.", title="Book")
    world.agent_remembers("Lentils.", title="Dal", tags=["recipe", "vegan"])
    world.agent_remembers("Veal.", title="Roast", tags=["recipe"])
    assert world.titles("vegan recipes", mode="index")[0] == "Dal"
    world.agent_remembers("Books. Read, read, read.", title="Library", tags=["place"])
    world.agent_remembers("Dunes.", title="Dune", tags=["book"], status="read")
    world.agent_remembers("Whales.", title="Moby", tags=["book"], status="wished")
    assert world.titles("books read", mode="index")[0] == "Dune"
    world.agent_remembers("The active volcano is active.", title="Etna")
    assert world.titles("active", mode="index")[0] == "Etna"


@pytest.mark.parametrize("question", ["How often do we back up?", "Is it backed up in Oslo?"])
def test_a_verb_with_a_particle_finds_its_noun(world: RecallWorld, question: str) -> None:
    world.agent_remembers("We came back, and up went the sails.", title="Sail")
    assert world.titles(question, mode="index") == ["Sail"]
    world.agent_remembers("A backup is made every night.", title="Copies")
    assert {*world.titles(question, mode="index")} == {"Copies", "Sail"}
    world.agent_remembers("The account of a guest has a login.", title="Account")
    (hit,) = world.ask("Who can log in?", mode="index")
    assert "“login”" in hit.why


def test_tags_with_a_time_an_order_or_a_verb_prefer_facts_with_them(world: RecallWorld) -> None:
    days = {"Oslo": "2025-08-02", "Rome": "2026-01-04", "Bath": "2025-03-01", "Bonn": "2025-01-06"}
    for title, day in days.items():
        said = f"{title} was fine."
        world.agent_remembers(said, title=title, tags=["trip"], createdAt=f"{day}T10:00:00Z")
    world.agent_remembers("Make a list of what to take.", title="To do")
    asked = "Which trips did we make"
    assert set(world.titles(f"{asked}?", mode="index")[:4]) == {*days}
    assert set(world.titles(f"{asked} last year?", mode="index")[:3]) == {*days} - {"Rome"}
    assert world.titles("What was our first trip?", mode="index")[0] == "Bonn"
    assert world.titles("our latest trip", mode="index")[0] == "Rome"
    assert set(world.titles("trips in 2019", mode="index")) == {*days}
    assert set(world.titles("all trips", mode="index")) == {*days}
    world.agent_remembers("We make bread for the trip on Sunday.", title="Bread")
    for asked in ("What did we make for the trip?", "When did we make the bread for a trip?"):
        assert world.titles(asked, mode="index")[0] == "Bread"


@pytest.mark.parametrize("question", ["最新の決定", "our latest decision", "letzte Entscheidung"])
def test_a_note_is_a_decision_by_a_japanese_tag(world: RecallWorld, question: str) -> None:
    old = world.agent_remembers("Kit A.", title="Kit", type="decision")
    new = world.agent_remembers("解析はサーバーで行う。", title="解析", tags=["決定"])
    assert [hit.id for hit in world.ask(question)] == [new.id, old.id]


@pytest.mark.parametrize("question", ["When is Mum's birthday?", "birthday mum"])
def test_a_property_is_found_by_its_name_and_shown(world: RecallWorld, question: str) -> None:
    world.agent_remembers("Mum's buns.", title="Buns")
    world.agent_remembers("Lives in Uppsala.", title="Mum", birthday="1951-12-18")
    (hit, *_) = world.ask(question, mode="index").hits
    assert hit.title == "Mum"
    assert hit.snippet == "birthday: 1951-12-18 · Lives in Uppsala."
    assert "“birthday”" in hit.why


def test_a_tier_that_is_hinted_at_may_be_found(world: RecallWorld) -> None:
    world.agent_remembers("Berths are low", type="observation", priority=4)
    assert world.titles("berths") == []
    assert world.titles("background observations about berths") == ["Berths are low"]


BAD: list[tuple[dict[str, Any], type[errors.UsageError]]] = [
    ({"limit": 0}, errors.InvalidFieldError),
    ({"max_priority": 5}, errors.InvalidFieldError),
    ({"mode": "magic"}, errors.InvalidFieldError),
    ({"since": "soon"}, errors.InvalidFieldError),
    ({"until": "2026-02-31"}, errors.InvalidFieldError),
    ({"since": "2026-02-01 or so"}, errors.InvalidFieldError),
    ({"types": ["nope"]}, errors.UnknownTypeError),
    ({"scopes": ["../x"]}, errors.InvalidScopeError),
]


@pytest.mark.parametrize(("more", "error"), BAD)
def test_an_invalid_filter_is_refused(more: dict[str, Any], error: type[errors.UsageError]) -> None:
    with pytest.raises(error):
        RecallWorld().ask("berths", **more)


# --- scopes --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["index", "vector", "fused", "auto"])
def test_of_two_identical_facts_each_agent_finds_its_own(world: RecallWorld, mode: str) -> None:
    facts = {
        agent: world.agent_remembers(
            "The code of the gate is 4711.", agent=agent, scope=f"private-{agent}"
        )
        for agent in ("indy", "moss")
    }
    world.embed()
    answers = {}
    for agent, fact in facts.items():
        found = world.ask("what is the code of the gate", agent=agent, mode=mode)
        assert [hit.id for hit in found] == [fact.id]
        answers[agent] = [(hit.score, hit.why, hit.snippet) for hit in found]
    assert answers["indy"] == answers["moss"]
    assert len(world.ask("what is the code of the gate", agent=None, mode=mode)) == 2


@pytest.mark.parametrize("mode", ["index", "fused"])
@pytest.mark.parametrize("agent", [None, "indy"])
def test_an_answer_frees_the_commit_that_it_searched(
    world: RecallWorld, agent: str | None, mode: str
) -> None:
    """A cycle would keep it, and its mapped files, until the next garbage collection."""
    world.agent_remembers("The gate.")
    world.embed()
    search = RecallSearch(world.sources, RecallRequest("gate", agent=agent, mode=mode))
    assert search.answer().hits
    gc.collect()
    gc.disable()
    try:
        ended = weakref.ref(search)
        del search
        assert ended() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
def test_what_others_hide_crowds_nothing_out(world: RecallWorld, mode: str) -> None:
    for number in range(120):
        world.agent_remembers(f"Gate {number}", agent="moss", scope="private-moss")
    mine = world.agent_remembers("The gate, in the far corner of a long sentence.")
    world.embed()
    assert [hit.id for hit in world.ask("gate", mode=mode)] == [mine.id]


def test_a_scope_that_is_asked_for_by_name_stays_closed_to_others(world: RecallWorld) -> None:
    world.agent_remembers("The gate.", agent="moss", scope="private-moss")
    assert len(world.ask("gate", scopes=["private-moss"])) == 0
    assert len(world.ask("gate", agent="moss", scopes=["private-moss"])) == 1


# --- order ---------------------------------------------------------------------------


def test_the_score_is_the_weighted_sum_of_the_parts_of_a_hit(world: RecallWorld) -> None:
    world.agent_remembers("Berths and gates", importance=0.9)
    world.agent_remembers("Berths in a sentence of some more words")
    weights = RankingWeights(0.6, 0.1, 0.3)
    sources = RecallSources(world.ctx, world.index, weights=weights)
    one, two = RecallSearch(sources, RecallRequest("berths gates")).answer()
    for hit in (one, two):
        expected = 0.6 * hit.similarity + 0.1 * hit.recency + 0.3 * hit.utility
        assert hit.score == pytest.approx(expected, abs=1e-3)


def test_words_rank_where_no_fact_that_may_be_shown_has_vectors(world: RecallWorld) -> None:
    other = world.agent_remembers("Embedded before.")
    world.embed()
    world.agent_remembers("Charge 120 for a berth.", title="Deposit", type="decision")
    world.agent_remembers("One screen for each decision.", title="Likes", type="preference")
    hard = "Which decisions were hard?"
    by_words = world.titles(hard, mode="index")
    assert by_words[0] == "Deposit"
    assert world.titles(hard, mode="fused", without=[other.id]) == by_words


def test_facts_without_vectors_yet_answer_by_their_words(world: RecallWorld) -> None:
    for number in range(9):
        world.agent_remembers(f"Invoice {number} is in the blue folder.")
    world.embed()
    world.agent_remembers("The crane hook is painted yellow.")
    question = "which colour is the crane hook?"
    by_words, by_both = (world.ask(question, mode=mode) for mode in ("index", "fused"))
    assert by_words.answerable == by_both.answerable


@pytest.mark.parametrize(("weight", "first"), [(0, "Talk"), (9, "House")])
def test_vectors_count_by_their_weight(world: RecallWorld, weight: float, first: str) -> None:
    beside = "many other things that nobody had asked about on that day"
    world.agent_remembers(f"We spoke of berths, and of {beside}.", title="Talk")
    world.agent_remembers("Gatehousekeeper berthside", title="House")
    world.embed()
    sources = replace(world.sources, weights=RankingWeights(1, 0, 0, vectors=weight))
    found = RecallSearch(sources, RecallRequest("gatehouse berths", mode="fused")).answer()
    assert found[0].title == first


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"importance": 0.9}, {"importance": 0.1}),
        ({"accessCount": 50}, {"accessCount": 0}),
        ({"createdAt": "2026-01-01T00:00:00Z"}, {"createdAt": "2025-01-01T00:00:00Z"}),
    ],
)
def test_of_equal_fits_the_more_useful_and_the_newer_comes_first(
    world: RecallWorld, better: dict[str, Any], worse: dict[str, Any]
) -> None:
    second = world.agent_remembers("Berths are full", **worse)
    first = world.agent_remembers("Berths are full", **better)
    assert [hit.id for hit in world.ask("berths")] == [first.id, second.id]


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
def test_what_the_question_hints_at_comes_first(world: RecallWorld, mode: str) -> None:
    lesson = world.agent_remembers("Berths are full", type="lesson")
    decision = world.agent_remembers("Berths are full", type="decision", importance=0)
    world.embed()
    hits = world.ask("decisions about berths", mode=mode)
    assert [hit.id for hit in hits] == [decision.id, lesson.id]
    assert "type or time asked for" in hits[0].why


@given(counts=st.lists(st.integers(0, 500), min_size=2, max_size=6, unique=True))
def test_the_more_often_recalled_of_equals_never_comes_later(counts: list[int]) -> None:
    world = RecallWorld()
    ids = {
        world.agent_remembers(
            "Berths", accessCount=count, createdAt="2026-01-01T00:00:00Z", importance=1
        ).id: count
        for count in counts
    }
    utilities = [hit.utility for hit in world.ask("berths")]
    assert utilities == sorted(utilities, reverse=True)
    assert len(utilities) == len(ids)


def test_no_more_than_asked_for_are_given(world: RecallWorld) -> None:
    for number in range(40):
        world.agent_remembers(f"Berth {number}")
    assert len(world.ask("", mode="index")) == 0
    assert len(world.ask("berth")) == 10
    assert len(world.ask("berth", limit=35)) == 35
    assert len(world.ask("berth", limit=500)) == 40


# --- stages --------------------------------------------------------------------------


class BrokenVectors(MemoryVectors):
    def identity(self) -> str:
        raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ({"vectors": MemoryVectors()}, "no vectors yet"),
        ({"embedder": HashEmbedder(32)}, "another model"),
        ({"embedder": BrokenEmbedder()}, "the model is gone"),
        ({"vectors": BrokenVectors()}, "the disk is gone"),
    ],
)
@pytest.mark.parametrize("mode", ["vector", "fused"])
def test_keyword_search_answers_where_semantic_search_is_not_possible(
    world: RecallWorld, damage: dict[str, object], why: str, mode: str
) -> None:
    world.agent_remembers("Berths are full")
    found = world.ask("berths", mode=mode)
    no_model = "there is no embedding model (the extra `local` has one)"
    assert found.degraded == (f"Semantic search was not possible: {no_model}.",)
    world.embed()
    vars(world).update(damage)
    found = world.ask("berths", mode=mode)
    assert (found.source, len(found)) == ("index", 1)
    assert why in found.degraded[0]
    assert world.ask("berths", mode="index").degraded == ()


def test_semantic_search_finds_what_keyword_search_does_not(world: RecallWorld) -> None:
    near = world.agent_remembers("Harbourmaster")
    world.embed()
    assert len(world.ask("harbourmasterish", mode="index")) == 0
    (hit,) = world.ask("harbourmasterish", mode="fused")
    assert (hit.id, hit.stage) == (near.id, "vector")
    assert "similar in meaning" in hit.why


def test_each_hit_tells_what_found_it(world: RecallWorld) -> None:
    world.agent_remembers("Berths are full of boats.")
    world.embed()
    world.agent_remembers("Berths that are not embedded yet")
    stages = {hit.title: hit.stage for hit in world.ask("berths", mode="fused")}
    assert stages == {
        "Berths are full of boats": "fused",
        "Berths that are not embedded yet": "index",
    }
    assert {hit.stage for hit in world.ask("berths", mode="index")} == {"index"}
    assert {hit.stage for hit in world.ask("berths", mode="vector")} == {"vector"}


@pytest.mark.parametrize("mode", ["auto", "vector", "fused"])
def test_a_question_without_words_finds_nothing(world: RecallWorld, mode: str) -> None:
    world.agent_remembers("Berths are full of boats.")
    world.embed()
    assert len(world.ask("  ", mode=mode)) == 0


def test_a_sure_index_answers_alone_and_an_unsure_one_asks_the_vectors(
    world: RecallWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.agent_remembers("Berths are full")
    world.embed()
    for sure, source in ((INDEX_ONLY_CONFIDENCE, "index"), (INDEX_ONLY_CONFIDENCE - 0.01, "fused")):
        monkeypatch.setattr("vaultsync.recall.service.confidence", lambda *_, sure=sure, **__: sure)
        found = world.ask("berths")
        assert (found.source, found.confidence) == (source, round(sure, 3))


def test_an_index_whose_best_hit_has_another_type_than_asked_for_does_not_answer_alone(
    world: RecallWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.agent_remembers("The berths follow a decision.", type="note")
    world.embed()
    monkeypatch.setattr("vaultsync.recall.service.confidence", lambda *_, **__: 0.9)
    assert world.ask("why was the berths decision taken").source == "index"
    assert world.ask("which decisions about berths").source == "fused"
    world.agent_remembers("Berths: number them.", type="decision", title="Berths")
    assert world.ask("which decisions about berths").source == "index"


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
@pytest.mark.parametrize("query", ["berths", "type:note"])
def test_a_limit_may_be_larger_than_any_integer(world: RecallWorld, query: str, mode: str) -> None:
    world.agent_remembers("Berths are full", type="note")
    world.embed()
    assert len(world.ask(query, mode=mode, limit=10**20)) == 1


def test_an_old_index_degrades_answers(world: RecallWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*args: object, **more: object) -> None:
        raise errors.IndexBusyError("another process is writing the note index")

    world.agent_remembers("Berths are full")
    world.ask("berths")
    world.agent_remembers("Berths are free")
    with monkeypatch.context() as patch:
        patch.setattr(world.index, "update", busy)
        found = world.ask("berths", mode="index")
    assert len(found) == 1
    assert (*found,) == found[:9] == found.hits
    assert "may be out of date" in found.degraded[0]
    assert len(world.ask("berths", mode="index")) == 2


def test_while_the_store_is_away_hits_are_as_of_the_last_run(world: RecallWorld) -> None:
    fact = world.mirrored("Berths are numbered from the sea.")
    world.ask("berths")
    world.store.away = True
    found = world.ask("berths", mode="index")
    assert [hit.id for hit in found] == [fact.id]
    assert any("as of the last sync run" in each for each in found.degraded)


def test_a_reranker_changes_the_order_unless_it_fails(world: RecallWorld) -> None:
    world.agent_remembers("Berths")
    longer = world.agent_remembers("Berths are what a harbour is there for, says Bente.")
    world.embed()
    assert world.ask("berths", mode="fused")[0].id != longer.id
    world.reranker = LengthReranker()
    first, second = world.ask("berths", mode="fused")
    assert first.id == longer.id
    assert first.why.endswith("fits better when it is read with the question.")
    assert "read with" not in second.why
    assert len(world.ask("nothing of it", mode="fused", max_priority=0)) == 0
    world.reranker = BrokenReranker()
    found = world.ask("berths", mode="fused")
    assert len(found) == 2
    assert "not reranked" in found.degraded[0]


def test_without_the_configured_reranker_the_order_stays(world: RecallWorld) -> None:
    fact = world.agent_remembers("Berths")
    world.embed()
    missing = errors.EmbedderError("the cross-encoder is not installed", hint="install it")
    sources = replace(world.sources, reranker=Mock(side_effect=missing))

    found = RecallSearch(sources, RecallRequest("berths", mode="fused")).answer()

    assert [each.id for each in found.hits] == [fact.id]
    assert "not reranked: the cross-encoder is not installed" in found.degraded[0]


class ListingReranker(LengthReranker):
    """Remembers what it was given to read."""

    def __init__(self, candidates: int = 20) -> None:
        self.candidates = candidates
        self.read: list[str] = []

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        self.read = list(texts)
        return super().scores(question, texts)


PASSAGE = "Herring is sold by the harbour master's cousin every Friday from a boat at pier two."
DAY = "\n\n".join(
    (
        "# Berths\n\nThe first part is about nothing in particular, as parts often are, and so on.",
        *["The second part fills the page with words that no one is going to ask for. " * 4] * 9,
        PASSAGE,
    )
)


@pytest.mark.parametrize("embeds", [True, False])
def test_a_reranker_reads_one_passage_of_a_long_fact(embeds: bool, world: RecallWorld) -> None:
    """The nearest one, or without vectors that with most of the words."""
    world.reranker = reranker = ListingReranker()
    world.agent_remembers("Herring is a fish.", title="Fish")
    world.embed()
    world.agent_remembers(DAY, title="A day")
    if embeds:
        world.embed()

    assert len(world.ask(PASSAGE, mode="fused")) == 2
    assert {*reranker.read} == {"Fish\nHerring is a fish.", PASSAGE}


def test_what_is_fused_in_any_case_is_asked_once_by_keywords(
    monkeypatch: pytest.MonkeyPatch, world: RecallWorld
) -> None:
    for number in range(2 * FUSED_CANDIDATES):
        world.agent_remembers(f"Boat {number} has a berth.")
    world.embed()
    asked: list[int] = []
    search = TemporaryIndex.search

    def counted(index: TemporaryIndex, *words: Any, limit: int, **more: Any) -> list[IndexMatch]:  # noqa: ANN401 - as it is
        asked.append(limit)
        return search(index, *words, limit=limit, **more)

    monkeypatch.setattr(TemporaryIndex, "search", counted)
    assert world.ask("berth", mode="fused").source == "fused"
    assert asked == [FUSED_CANDIDATES]


def test_a_reranker_reads_as_many_candidates_as_are_worth_its_time(world: RecallWorld) -> None:
    _with_one_that_fits(world, 5)
    world.embed()
    world.reranker = reranker = ListingReranker(candidates=3)

    assert len(world.ask("berths", mode="fused")) == 6
    assert len(reranker.read) == 3


def _with_one_that_fits(world: RecallWorld, others: int) -> str:
    fact = world.agent_remembers("Berths, berths, berths.", title="Berths")
    for number in range(others):
        text = f"Of {number} boats one had seen the berths." + " Then it rained." * 9
        world.agent_remembers(text, title=f"Boat {number}")
    return fact.id


def test_a_reranker_reads_nothing_that_may_not_be_shown(world: RecallWorld) -> None:
    _with_one_that_fits(world, 12)
    text = "Of all boats one had seen the berths." + " Then it rained." * 9
    gone = world.agent_remembers(text, title="A boat with a long name")
    world.embed()
    world.reranker = LengthReranker()
    shown = world.sources.ctx.redacted_store
    find = shown.find_many

    def without(fact_ids: Iterable[str]) -> dict[str, Fact]:
        found = find(fact_ids)
        found.pop(gone.id, None)
        return found

    shown.find_many = without  # type: ignore[method-assign]
    found = world.ask("berths", mode="fused", limit=30)
    assert found
    assert gone.id not in [hit.id for hit in found]


def test_an_answer_explains_itself_when_asked(world: RecallWorld) -> None:
    fact = world.agent_remembers("Berths are full")
    world.embed()
    assert world.ask("berths").stages == ()
    stages = {each.stage: each for each in world.ask("berths", mode="fused", explain=True).stages}
    assert set(stages) == {*("catch-up", "index", "embed", "vector", "fused", "score", "tell")}
    for name in ("index", "vector", "fused", "score"):
        assert [each.id for each in stages[name].candidates] == [fact.id]


def test_the_answer_as_json_has_the_keys_of_the_contract(world: RecallWorld) -> None:
    world.mirrored("Berths are full", title="Full berths")
    result = world.ask("berths", mode="index", explain=True)
    found = json.decode(json.encode(result))
    assert list(found) == [
        *("query", "source", "confidence", "answerable", "degraded", "seconds", "hits", "hidden"),
        "stages",
    ]
    assert found["degraded"] == []
    assert list(found["hits"][0]) == [
        *("id", "title", "type", "path", "score", "similarity", "recency", "utility"),
        *("stage", "why", "snippet", "origin", "date", "contradicts"),
    ]
    assert list(found["stages"][0]) == ["stage", "seconds", "candidates"]
    assert "stages" not in to_builtins(world.ask("berths"))
    assert json.decode(json.encode(result), type=RecallResult) == result


PASSAGE = "Herring is sold by the harbour master's cousin every Friday from a boat at pier two."
LONG = "\n\n".join(f"Paragraph {n} says this and that of many things." for n in range(60))


def test_the_snippet_of_a_fact_whose_chunk_is_gone_is_its_start(world: RecallWorld) -> None:
    fact = world.agent_remembers(f"{LONG}\n\nHarbourmaster.", title="Notes")
    world.embed()
    world.agent_updates(fact.id, content=LONG)
    (hit,) = world.ask("harbourmasterish", mode="vector")
    assert hit.snippet.startswith("Paragraph 0 says")


def test_the_snippet_of_a_near_chunk_is_taken_from_it(world: RecallWorld) -> None:
    text = f"{LONG}\n\nHarbourmaster Bente keeps the keys of every gate on the pier."
    world.agent_remembers(text, title="Notes")
    world.embed()
    (hit,) = world.ask("harbourmasterish", mode="vector")
    assert hit.snippet == "Harbourmaster Bente keeps the keys of every gate on the pier."
    (other,) = world.ask("paragraph", mode="vector")
    assert "Paragraph" in other.snippet


def test_asking_changes_nothing(world: RecallWorld) -> None:
    world.mirrored("Berths are full")
    world.embed()
    before = world.store.state(), world.archive.history(), world.notes()
    for mode in ("index", "vector", "fused", "auto"):
        world.ask("berths", mode=mode)
    assert (world.store.state(), world.archive.history(), world.notes()) == before


def test_what_is_hinted_at_is_looked_for_among_all_that_fits_better(world: RecallWorld) -> None:
    for number in range(80):
        world.agent_remembers(f"Berths and berths, number {number}", type="note")
    decision = world.agent_remembers(
        "Berths and berths are free for boats in need", type="decision"
    )
    found = world.ask("what was decided about berths", mode="index")
    assert decision.id in [hit.id for hit in found]


def test_days_and_tiers_that_are_hinted_at_narrow_what_is_preferred(world: RecallWorld) -> None:
    old = world.agent_remembers("Berths", createdAt="2020-01-01T00:00:00Z", priority=0)
    new = world.agent_remembers("Berths", priority=0)
    low = world.agent_remembers("Berths", priority=2)
    found = world.ask("critical facts about berths before 2021")
    similar = {hit.id: hit.similarity for hit in found}
    assert similar[old.id] == 1
    assert similar[new.id] == similar[low.id] == HINT_MISMATCH_FACTOR


SET_FACTS: list[dict[str, Any]] = [
    {"content": "Moor by hand.", "type": "decision", "priority": 2, "title": "Third"},
    {"content": "Number berths.", "type": "decision", "priority": 0, "title": "First"},
    {"content": "Keep the gate.", "type": "decision", "importance": 0.9, "title": "Second"},
    {"content": "Old.", "type": "decision", "title": "Old", "status": "archived"},
    {"content": "A report.", "type": "commitment", "title": "Report"},
    {"content": "Decisions, decisions: what did we make of them?", "title": "Essay"},
]


@pytest.mark.parametrize("mode", ["auto", "index", "vector", "fused"])
def test_a_set_is_listed_whole_by_importance_without_a_model(world: RecallWorld, mode: str) -> None:
    for values in SET_FACTS:
        world.agent_remembers(**values)
    answer = world.ask("What decisions did we make?", mode=mode)
    assert [hit.title for hit in answer] == ["First", "Second", "Third"]
    assert (answer.source, answer.degraded) == ("index", ())
    assert answer.confidence == answer.answerable == 1
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
    assert {hit.why for hit in answer} == {"Is one of the facts asked for.", answer[1].why}
    assert [(each.count, each.reason) for each in answer.hidden] == [(1, "archived")]
    assert world.titles("What decisions did we make?", limit=1) == ["First"]
    assert "Old" in world.titles("What decisions did we make?", all=True)


@pytest.mark.parametrize("mode", ["index", "fused"])
def test_a_type_asked_for_ranks_before_texts_with_its_name(world: RecallWorld, mode: str) -> None:
    for values in SET_FACTS:
        world.agent_remembers(**values)
    world.agent_remembers("Backups of the database are thinned.", type="decision", title="Backups")
    text = "One screen per decision of the database; two decisions are two screens."
    world.agent_remembers(text, title="Screens", type="preference")
    titles = world.titles("What decisions did we make about the database?", mode=mode)
    assert titles[0] == "Backups"
    assert titles.index("Screens") > titles.index("Third")


def test_a_set_may_be_empty(world: RecallWorld) -> None:
    world.agent_remembers("Tea.")
    answer = world.ask("Which lessons have we learned?")
    assert (len(answer), answer.confidence, answer.answerable) == (0, 0.0, 0.0)


COMPOUNDS: dict[str, list[str]] = {
    "Steuer": ["Steuererklärung"],
    "Wer prüft die Erklärung für die Steuer?": ["Steuererklärung"],
    "Wann beginnt die Projektplanung?": ["Planung"],
    "projektplanung": ["Planung"],
    "the steuer declaration is due": [],
    "leuchtturm": ["Planung"],
    "Wer hat die Leitung der Runde?": ["Planung"],
}


@pytest.mark.parametrize("question", COMPOUNDS)
def test_compounds_in_german_are_found_by_their_parts(world: RecallWorld, question: str) -> None:
    tax = "Die Steuererklärung muss im Sommer beim Amt sein, und Herr Brandt prüft sie."
    plan = "Die Planung vom Projekt Leuchtturm ist im Herbst, und Anna leitet die Runde."
    world.agent_remembers(tax, title="Steuererklärung")
    world.agent_remembers(plan, title="Planung")
    world.agent_remembers("Der Leuchtturmtermin ist nicht bekannt, und das ist gut.", title="No")
    answer = world.ask(question, mode="index")
    assert [hit.title for hit in answer][:1] == COMPOUNDS[question]
    assert not any("Leuchtturmtermin" in hit.why for hit in answer)


EMPTY: dict[str, str] = {
    "What decisions did we make last week?": "2 facts of the type decision, but none of that time",
    "decisions tag:sea": "2 facts of the type decision, but none with that tag or theme",
    "critical decisions": "2 facts of the type decision, but none of that priority",
    "replaced decisions": "2 facts of the type decision, but none that is replaced",
    "Which lessons have we learned?": "no facts of the type lesson",
    "type:lesson type:person": "no facts of the types lesson or person",
    "What happened in May 2021?": "5 facts, but none of that time",
    "open promises": "1 fact of the type commitment, but none that is open",
    "overdue tasks": "1 note with open check boxes, but none that is overdue",
    "What is due in May 2031?": (
        "1 fact of the types commitment or task and 1 note with open check boxes, but none that is"
        " due then"
    ),
    "type:decision until:2021 tag:sea": (
        "2 facts of the type decision, but none of that time and with that tag or theme"
    ),
    "What do berths cost in Spain?": "",
    "Which preferences are there?": "",  # the only one is hidden
}


@pytest.mark.parametrize("question", EMPTY)
def test_an_empty_answer_says_what_there_is_instead(world: RecallWorld, question: str) -> None:
    for day in (2, 3):
        world.agent_remembers(f"Use SQLite {day}.", type="decision", createdAt=f"2026-01-0{day}")
    world.agent_remembers("A", type="commitment", status="done", createdAt="2026-01-01")
    world.agent_remembers("- [ ] Sweep 📅 2098-01-01", createdAt="2026-01-01")
    world.agent_remembers("Tea.", createdAt="2026-01-01")
    world.agent_remembers("Cocoa.", type="preference", status="archived")
    answer = world.ask(question)
    assert len(answer) == 0
    expected = EMPTY[question]
    assert answer.nothing_known == (f"The memory has {expected}." if expected else "")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"scopes": ("project-x",)}, "but none in that scope."),
        ({"status": "draft"}, "but none of that status."),
        ({"since": "2031-01"}, "but none of that time."),
        ({"types": ("lesson",)}, "The memory has no facts of the type lesson."),
    ],
)
def test_filters_of_the_request_may_empty_a_set(
    world: RecallWorld, filters: dict[str, Any], expected: str
) -> None:
    world.agent_remembers("Use SQLite.", type="decision")
    world.agent_remembers("Use PostgreSQL.", type="decision", agent="bo", scope="private-bo")
    answer = world.ask("What decisions did we make?", **filters)
    assert answer.nothing_known.endswith(expected)
    assert ("1 fact " in answer.nothing_known) == expected.startswith("but")


def test_a_full_set_and_an_empty_memory_need_no_explanation(world: RecallWorld) -> None:
    assert world.ask("What happened in May?").nothing_known == ""
    world.agent_remembers("- [x] Sweep")
    nothing = "no facts of the type task, and no notes with open check boxes"
    assert world.ask("my open tasks").nothing_known == f"The memory has {nothing}."
    world.agent_remembers("Use SQLite.", type="decision")
    answer = world.ask("What decisions did we make?")
    assert (len(answer), answer.nothing_known) == (1, "")
    only = world.ask("What decisions did we make?", without=(answer[0].id,))
    assert only.nothing_known == "The memory has no facts of the type decision."


def test_states_narrow_a_set_however_many_facts_are_in_others(world: RecallWorld) -> None:
    for number in range(60):
        status = "pending" if number == 3 else "completed"
        world.agent_remembers(
            f"Promise {number}.",
            title=f"Promise {number}",
            type="commitment",
            commitmentStatus=status,
        )
    assert world.titles("Which promises are open?", limit=5) == ["Promise 3"]


def test_what_is_due_is_listed_by_its_date(world: RecallWorld) -> None:
    for due in ("2099-03-01", "2020-01-01", "2099-02-01", ""):
        world.agent_remembers("A task.", title=due or "none", type="task", due=due)
    world.agent_remembers("- [ ] Sign 📅 2099-01-15", title="box")
    dates = ["2099-02-01", "2099-03-01"]
    assert world.titles("What is due?") == ["2020-01-01", "box", *dates]
    assert world.titles("next deadline") == ["box", *dates, "2020-01-01"]
    assert world.titles("upcoming deadlines") == ["box", *dates, "2020-01-01"]
    assert world.titles("missed deadlines") == ["2020-01-01"]
    for number in range(20):
        world.agent_remembers("Later.", title=f"L{number}", type="task", due="2099-09-01")
    assert world.titles("next deadline type:task", limit=1) == ["2099-02-01"]
    assert world.titles("tasks without a due date") == ["none"]


def test_boxes_are_tasks_in_progress_and_without_a_date(world: RecallWorld) -> None:
    world.agent_remembers("A task.", title="Task", type="task", status="doing")
    for text in ("- [/] paint", "- [ ] sand", "- [ ] sign 📅 2099-01-15", "- [x] buy"):
        world.agent_remembers(text, title=text[6:])
    assert set(world.titles("tasks in progress")) == {"Task", "paint"}
    assert set(world.titles("tasks not in progress")) == {"sand", "sign 📅 2099-01-15"}
    assert set(world.titles("tasks without a due date")) == {"Task", "paint", "sand"}
    world.agent_remembers("Another task.", title="Done", type="task", status="done")
    assert world.titles("type:task open") == world.titles("type:task in progress") == ["Task"]
    assert world.titles("type:task done") == ["Done"]
    assert world.titles("type:commitment open") == []


def test_tasks_are_found_by_other_states_that_users_give_them(world: RecallWorld) -> None:
    for status in ("blocked", "on hold", "cancelled", "done", "active"):
        world.agent_remembers("A task.", title=status, type="task", status=status)
    world.agent_remembers("A pipe.", title="Blocked pipe")
    assert set(world.titles("What is blocked?")) == {"blocked", "on hold"}
    assert world.titles("cancelled tasks") == ["cancelled"]
    assert set(world.titles("open tasks")) == {"blocked", "on hold", "active"}


PROJECTS = {
    "Welche Projekte gibt es?": ["Typed", "Tagged", "Stopped", "Inline"],
    "newest projects": ["Inline", "Stopped", "Tagged", "Typed"],
    "abandoned projects": ["Stopped"],
    "laufende Projekte": ["Inline"],
    "open projects": ["Typed", "Tagged", "Inline"],
    "projects type:note": ["Tagged", "Stopped", "Inline"],
    "projects type:project": ["Typed"],
    "projects tag:pier": ["Tagged"],
}


@pytest.mark.parametrize("question", PROJECTS)
def test_a_note_with_the_tag_of_a_type_is_of_that_type(world: RecallWorld, question: str) -> None:
    for title, text, fields in (
        ("Typed", "A pier.", {"type": "project"}),
        ("Tagged", "A pier.", {"tags": ["Projekt", "pier"]}),
        ("Stopped", "A pier.", {"tags": ["project/old"], "status": "abandoned"}),
        ("Inline", "A pier. #proyecto", {"status": "läuft"}),
        ("Other", "No project.", {"tags": ["pier"]}),
        ("Decided", "A project.", {"tags": ["project"], "type": "decision"}),
    ):
        world.clock.advance(60)
        world.agent_remembers(text, title=title, **fields)
    titles = world.titles(question, mode="index")
    expected = PROJECTS[question]
    assert (titles if "newest" in question else sorted(titles)) == (
        expected if "newest" in question else sorted(expected)
    )


def test_a_note_with_the_tag_of_a_type_and_the_topic_is_before_others(world: RecallWorld) -> None:
    world.agent_remembers("Deposits of the pier.", title="Pier")
    world.agent_remembers("Pier.", title="Tagged", tags=["decision"])
    assert world.titles("decisions about the pier", mode="index")[0] == "Tagged"


def test_what_a_person_has_to_do_is_a_task_and_not_the_note_of_the_person(
    world: RecallWorld,
) -> None:
    world.agent_remembers("Pilot.", title="Clara", type="person")
    for due in ("2099-01-02", "2020-01-02"):
        world.agent_remembers("Clara paints.", title=due, type="task", due=due)
    assert set(world.titles("What does Clara have to do?")[:2]) == {"2099-01-02", "2020-01-02"}
    assert world.titles("What does Clara have to do by tomorrow?")[0] == "2020-01-02"
    assert world.titles("Clara")[0] == "Clara"


def test_a_fact_of_the_type_needs_only_words_that_any_fact_has(world: RecallWorld) -> None:
    pier = world.agent_remembers("Of oak.", title="Wicket", type="decision", tags=["pier"])
    world.agent_remembers("Decided: no zeppelins.", title="Sky", type="note")
    world.agent_remembers("Cranes.", title="Crane", type="decision")
    world.embed()
    for mode in ("index", "fused"):
        answer = world.ask("decisions about dirigibles over the pier", mode=mode)
        assert answer[0].id == pier.id


def test_a_fact_with_the_type_and_the_topic_is_an_answer_whatever_its_cosine(
    world: RecallWorld,
) -> None:
    world.agent_remembers("Of oak.", title="Wicket", type="decision", tags=["pier"])
    world.agent_remembers("Cranes.", title="Crane", type="decision")
    world.embed()
    assert world.ask("decisions about the pier", mode="fused").answerable > 0.8
    assert world.ask("decisions about the mole", mode="fused").answerable < 0.8


@pytest.mark.parametrize(
    ("question", "is_lower"),
    [
        ("How much does the crane lift?", True),
        ("When does the crane lift boats?", True),
        ("When did the crane lift boats?", False),
        ("How long ago did the crane lift boats?", False),
        ("Does the crane lift boats?", False),
        ("Which show has the crane?", False),
    ],
)
def test_a_short_fact_without_the_number_that_is_asked_for_ranks_lower(
    world: RecallWorld, question: str, *, is_lower: bool
) -> None:
    boats = world.agent_remembers("The crane lifts boats, and boats show the crane.")
    for text in (
        "The crane lifts 40 tonnes in June.",
        "The crane lifts. " + "It is of steel. " * 30,
    ):
        world.agent_remembers(text)
    found = {hit.id: hit for hit in world.ask(question, mode="index")}
    assert ("asked for (ranked lower)" in found.pop(boats.id).why) == is_lower
    assert not any("ranked lower" in each.why for each in found.values())


def test_a_set_has_no_fact_with_all_words_that_it_leaves_out(world: RecallWorld) -> None:
    for title in ("The east pier", "East winds", "Money"):
        world.agent_remembers("Decided.", title=title, type="decision")
    assert set(world.titles("decisions not about the east pier")) == {"East winds", "Money"}
    assert world.titles("decisions except winds, money and tides") == ["The east pier"]
    assert world.ask("decisions except decided").nothing_known == (
        "The memory has 3 facts of the type decision, but none without “decided”."
    )
    assert set(world.titles("Entscheidungen außer Geld")) == {"The east pier", "East winds"}
    assert set(world.titles("decisions except the")) == {"The east pier", "East winds", "Money"}
    paid = world.agent_remembers("All invoices were paid, except for Oslo's.")
    world.agent_remembers("The invoices of Oslo.")
    assert world.titles("Invoices paid except Oslo?") == [paid.title]


def test_of_facts_with_few_words_none_is_better_because_it_is_newer(world: RecallWorld) -> None:
    world.agent_remembers(
        "Emma was born in May. Her birthday.", title="Of old", createdAt="2020-01-01"
    )
    world.agent_remembers("Call Emma. Emma said so.", title="A call")
    assert world.titles("Emma's birthday", mode="index") == ["Of old", "A call"]


def test_of_facts_with_all_words_the_newest_comes_first(world: RecallWorld) -> None:
    for month in range(1, 9):
        at = f"2025-{month:02}-01T00:00:00Z"
        world.agent_remembers(f"The gate is for boats {month}.", type="episodic", createdAt=at)
    world.agent_remembers("A gate.")
    world.quiesce()
    titles = world.titles("gate boats", mode="index")
    assert titles[:8] == [f"The gate is for boats {month}" for month in range(8, 0, -1)]


def test_a_title_with_all_words_of_a_question_for_a_type_comes_first(world: RecallWorld) -> None:
    for number in range(3):
        world.agent_remembers(f"Lesson {number}: tune.", title=f"Piano {number}", type="lesson")
    world.agent_remembers("On Tuesdays at five.", title="Piano lessons")
    assert world.titles("piano lessons", mode="index")[0] == "Piano lessons"


BOXES = {
    "Monday": "A wet day.\n\n- [ ] Buy milk\n- [x] Paint berth 3 ✅ 2025-11-05\n"
    "- [ ] Call Oskar 📅 2026-01-01",
    "Garden": "The hedge is high.\n\n* [/] Cut the hedge 📅 2099-01-31",
    "Bakery": "- [x] Bread\n- [-] Butter [cancelled:: 2025-12-20]",
}
"""The notes of a person who writes tasks as check boxes."""
BOXES_ASKED: dict[str, list[str]] = {
    "What are my open tasks?": ["A task", "Garden", "Monday"],
    "What do I still have to do?": ["A task", "Garden", "Monday"],
    "offene Aufgaben?": ["A task", "Garden", "Monday"],
    "Show all my tasks": ["A task", "Garden", "Monday"],
    "overdue tasks": ["Monday"],
    "Which tasks are due in January 2099?": ["Garden"],
    "Which tasks are done?": ["Bakery", "Monday"],
    "What did we finish for the berth?": ["Monday"],
    "cancelled tasks": ["Bakery"],
    "What did we finish in November?": ["Monday"],
    "Welche Aufgaben wurden im November erledigt?": ["Monday"],
    "tasks that were cancelled in December": ["Bakery"],
    "tasks done in January": ["Bakery"],
    "open tasks type:task": ["A task"],
    "open tasks type:note": ["Garden", "Monday"],
    "open promises": [],
}


@pytest.mark.parametrize("question", BOXES_ASKED)
def test_open_check_boxes_are_tasks_after_other_tasks(world: RecallWorld, question: str) -> None:
    world.agent_remembers("Sand the deck.", title="A task", type="task", createdAt="2026-01-01")
    for day, (title, content) in enumerate(reversed(BOXES.items()), 2):
        # The state of a project is not that of its boxes.
        tags = ["project"] if title == "Monday" else []
        world.agent_remembers(content, title=title, createdAt=f"2026-01-0{5 - day}", tags=tags)
    world.agent_remembers("- [ ] Never done", title="Closed", status="done")
    assert sorted(world.titles(question)) == BOXES_ASKED[question]
    assert world.titles(question)[:1] == BOXES_ASKED[question][:1]
    assert world.titles("Was haben wir für den Berth 3 erledigt?")[0] == "Monday"


def test_tasks_of_another_time_are_neither_read_nor_counted_as_hidden(world: RecallWorld) -> None:
    of_may = world.agent_remembers("Deck.", type="task", status="done", createdAt="2025-05-01")
    world.agent_updates(of_may.id, status="archived")
    asked = RecallRequest("Which tasks were done in November?", agent="indy")
    world.agent_remembers("Sail.", type="task", status="done", createdAt="2025-05-02")
    search = RecallSearch(world.sources, asked)
    answer = search.answer()
    assert (answer.hits, answer.hidden, search.candidates.facts) == ((), (), {})


def test_the_snippet_of_check_boxes_has_what_is_to_be_done(world: RecallWorld) -> None:
    for title, content in BOXES.items():
        world.agent_remembers(content, title=title)
    for number in range(3):
        world.agent_remembers(f"A garden with hedge {number}.", title=f"Hedge {number}")
    monday = next(hit for hit in world.ask("open tasks") if hit.title == "Monday")
    assert monday.snippet == "Buy milk; Call Oskar 📅 2026-01-01"
    assert monday.why == "Is one of the facts asked for and has 2 open check boxes."
    (overdue,) = world.ask("overdue tasks")
    assert overdue.snippet == "Call Oskar 📅 2026-01-01"
    first = world.ask("open tasks about the garden")[0]
    assert (first.title, first.snippet) == ("Garden", "Cut the hedge 📅 2099-01-31")
    assert first.why.endswith("has 1 open check box.")
    assert world.ask("open tasks on a wet day")[0].snippet.startswith("A wet day.")


def test_the_reason_says_when_a_task_is_due(world: RecallWorld) -> None:
    world.agent_remembers("Sand the deck.", title="Deck", type="task", due="2099-05-01")
    hit = world.ask("open tasks")[0]
    assert hit.why == "Is one of the facts asked for and is due 2099-05-01."


def test_what_is_in_the_state_that_is_asked_for_comes_first(world: RecallWorld) -> None:
    for status in ("completed", "pending"):
        world.agent_remembers(
            "A report on berths.", title=status, type="commitment", commitmentStatus=status
        )
    assert world.titles("open promises about berths")[0] == "pending"
    assert world.titles("promises about berths that we kept")[0] == "completed"


@pytest.mark.parametrize(("order", "first"), [("latest", 3), ("first", 1)])
def test_of_a_topic_newest_or_oldest_is_first(world: RecallWorld, order: str, first: int) -> None:
    for part, seconds in {2: "00.5", 1: "00", 3: "01"}.items():
        world.agent_remembers(
            f"Berths are painted, part {part}.",
            title=f"Painting {part}",
            createdAt=f"2026-01-02T10:00:{seconds}Z",
        )
    assert world.titles(f"the {order} painting of berths")[0] == f"Painting {first}"
    assert world.titles(f"the {order} type:note")[0] == f"Painting {first}"


def test_a_process_that_stays_asks_both_and_one_that_ends_only_where_it_is_unsure(
    world: RecallWorld,
) -> None:
    for number in range(30):
        world.agent_remembers(f"Something else, number {number}, about {'tea' * (number % 7)}.")
    world.agent_remembers("The berth map stays grey on the pier.", title="Grey map")
    question = "the berth map stays grey on the pier"
    stays = replace(world.sources, warm=True)
    request = RecallRequest(question, agent="indy")
    # Without a model there is nothing to miss in an answer that is sure.
    answer = RecallSearch(stays, request).answer()
    assert (answer.source, answer.degraded) == ("index", ())
    world.embed()
    stays = replace(world.sources, warm=True)
    assert RecallSearch(stays, request).answer().source == "fused"
    assert RecallSearch(world.sources, request).answer().source == "index"


def test_the_answer_tells_how_likely_there_is_one(world: RecallWorld) -> None:
    for number in range(40):
        world.agent_remembers(f"Berth {number} lies at the pier.", title=f"Berth {number}")
    known = world.ask("berth pier").answerable
    unknown = world.ask("kubernetes ingress certificates pier").answerable
    assert known > 0.85 > unknown
    assert world.ask("kubernetes").answerable == 0.0


def test_a_rare_word_that_no_first_hit_has_lowers_the_chance_of_an_answer(
    world: RecallWorld,
) -> None:
    for number in range(20):
        world.agent_remembers(f"Berth {number} lies at the old pier.", title=f"Berth {number}")
        world.agent_remembers(f"Rope {number} hangs in the shed.", title=f"Rope {number}")
    world.agent_remembers(f"The mole has a lantern. {'It is long. ' * 60}", title="Mole")
    of_hits = world.ask("berth at the old pier").answerable
    of_another = world.ask("berth at the old pier lantern").answerable
    assert of_hits - of_another > 0.015


# --------------------------------------------------------------------- events


def _outage(
    world: RecallWorld,
    content: str = "The outage of the pier box",
    **fields: Any,  # noqa: ANN401 - values of any field
) -> tuple[Fact, Fact, Fact]:
    early = world.agent_remembers("Berths A", type="decision", createdAt="2026-01-03T00:00:00Z")
    outage = world.agent_remembers(
        content, **{"type": "episodic", "createdAt": "2026-02-03T10:00:00Z"} | fields
    )
    late = world.agent_remembers("Berths B", type="decision", createdAt="2026-03-03T00:00:00Z")
    return early, outage, late


def test_an_event_that_a_fact_tells_of_bounds_the_time(world: RecallWorld) -> None:
    early, outage, late = _outage(world)
    world.agent_remembers("An outage is long", type="lesson", createdAt="2026-03-09T00:00:00Z")
    after = world.ask("What did we decide after the outage?", explain=True)
    assert [hit.id for hit in after] == [late.id]
    (stage,) = (each for each in after.stages if each.stage == "event")
    assert [each.id for each in stage.candidates] == [outage.id]
    assert [hit.id for hit in world.ask("decisions before the outage")] == [early.id]


@pytest.mark.parametrize(
    "question",
    [
        *("Was haben wir nach dem Sturm beschlossen?", "What did we decide the day of the storm?"),
        "Entscheidugen nach dem Sturm",
    ],
)
def test_an_event_may_be_foreign_or_bound_one_day(world: RecallWorld, question: str) -> None:
    _, _, late = _outage(world, content="The storm at the pier")
    same_day = world.agent_remembers("Berths C", type="decision", createdAt="2026-02-03T11:00:00Z")
    found = [hit.id for hit in world.ask(question, mode="index")]
    assert found == ([same_day.id] if "day" in question else [late.id, same_day.id])


@pytest.mark.parametrize(
    "fields", [{"type": "preference"}, {"content": "The pier"}, {"content": "An outage at sea"}]
)
def test_an_event_in_no_fact_is_searched_for(world: RecallWorld, fields: dict[str, Any]) -> None:
    early, _, late = _outage(world, **fields)
    found = world.ask("What did we decide about berths after the outage on land?")
    assert {early.id, late.id} <= {hit.id for hit in found}


def test_no_agent_learns_the_day_of_an_event_it_cannot_see(world: RecallWorld) -> None:
    early, _, late = _outage(world, scope="private-moss", agent="moss")
    found = world.ask("What decisions about berths came after the outage?", agent="indy")
    assert {hit.id for hit in found} == {early.id, late.id}


def test_the_store_decides_whether_a_fact_may_date_an_event(world: RecallWorld) -> None:
    early, outage, late = _outage(world)
    world.ask("berths")
    moved = outage.evolve(scope="private-moss", revision="")
    world.store.write([StoreWrite(outage.id, moved, world.store.get(outage.id).revision, "x")])
    _leave_index_as_it_is(world)
    found = world.ask("What decisions about berths came after the outage?", agent="indy")
    assert {hit.id for hit in found} == {early.id, late.id}


def test_while_the_store_is_away_an_event_is_searched_for(world: RecallWorld) -> None:
    _outage(world)
    world.sync()
    world.ask("berths")
    world.store.away = True
    assert "as of the last sync run" in " ".join(world.ask("decisions after the outage").degraded)


# ------------------------------------------------------------------- people by what they do


@pytest.mark.parametrize("question", ["Who is the harbour master?", "the harbour master"])
def test_who_does_something_is_before_what_mentions_it(world: RecallWorld, question: str) -> None:
    for number in range(3):
        world.agent_remembers(f"Harbour master, ask the harbour master {number}", type="lesson")
    oskar = world.agent_remembers(
        "Harbour master at Skarvik since 2009. Keeps the old ledger beside the screen.",
        title="Oskar",
        type="person",
        createdAt="2020-01-01T00:00:00Z",
    )
    assert world.ask(question)[0].id == oskar.id


def test_a_role_of_one_word_is_a_topic_unless_a_person_is_asked_for(world: RecallWorld) -> None:
    world.agent_remembers("The server is slow. The server is old.", title="Server")
    person = world.agent_remembers("Server, data, pagers.", title="Joaquim", type="person")
    assert world.ask("server")[0].id != person.id
    assert world.ask("Who is the server?")[0].id == person.id
    assert world.ask("Which people know about data?", mode="index")[0].id == person.id


def test_a_name_that_is_spelled_otherwise_stands_first_too(world: RecallWorld) -> None:
    berg = world.agent_remembers("Children.", title="Kristoffer Berg", type="person")
    plan = "Kristoffer comes on Thursdays."
    world.agent_remembers(plan, title="Plan of Kristoffer", importance=1.0)
    assert world.ask("Kristofer", mode="index")[0].id == berg.id


def test_a_role_that_is_only_a_property_is_found_by_the_vectors_too(world: RecallWorld) -> None:
    world.agent_remembers("Owns the engine.", title="Théo, lead programmer", type="person")
    lead = world.agent_remembers("Runs the tests.", title="Sam", type="person", role="QA lead")
    world.embed()
    assert world.ask("Who is the QA lead?", mode="fused")[0].id == lead.id


@pytest.mark.parametrize("question", ["Clara", "Who is Clara?", "Tell me about Clara Osei."])
def test_who_or_what_a_question_only_names_stands_first(world: RecallWorld, question: str) -> None:
    clara = world.agent_remembers(
        "Leads support.", title="Clara Osei", type="person", createdAt="2020-01-01T00:00:00Z"
    )
    raised = world.agent_remembers(
        "Clara, Clara!", title="Offer Clara Osei a raise", importance=1.0
    )
    found = world.ask(question, mode="index")
    assert [hit.id for hit in found] == [clara.id, raised.id]
    assert found[0].why.endswith("is what the question names.")
    for other in ("the raise of Clara", "Why Clara?"):
        assert world.ask(other, mode="index")[0].id == raised.id


def test_what_mentions_a_named_thing_is_ordered_as_for_other_questions(world: RecallWorld) -> None:
    world.agent_remembers("Leads support.", title="Clara Osei", type="person")
    best = world.agent_remembers("Clara, of Clara.", title="Clara", type="episodic")
    world.clock.advance(60 * 86_400)
    world.agent_remembers("A room with windows, as Clara said.", title="Room")
    assert world.titles("Clara", mode="index")[:2] == ["Clara Osei", best.title]


def test_a_name_of_code_is_found_as_it_is_written(world: RecallWorld) -> None:
    split = world.agent_remembers(
        "A secret of the webhook. Stripe webhook!", title="Webhook secret"
    )
    whole = world.agent_remembers("Set `WEBHOOK_SECRET` and others.", title="Variables")
    assert world.ask("WEBHOOK_SECRET", mode="index")[0].id == whole.id
    assert world.ask("webhook secret", mode="index")[0].id == split.id
    assert len(world.ask("webhook/secret", mode="index")) == 2


@pytest.mark.parametrize("question", ["Promise.all", "What is wrong with Promise.all?"])
def test_a_name_of_code_asks_for_no_type(world: RecallWorld, question: str) -> None:
    launcher = world.agent_remembers("`Promise.all` hides errors.", title="Launcher")
    world.agent_remembers("The promise to all: paint.", type="commitment", importance=1.0)
    assert world.ask(question, mode="index")[0].id == launcher.id


def test_a_version_is_found_as_it_is_written(world: RecallWorld) -> None:
    world.agent_remembers("Engine 4, engine 3, engine.", title="Engine")
    world.agent_remembers("The sea is drawn by Vulkan since engine 3.4.", title="Vulkan")
    assert world.titles("What came in engine 3.4?", mode="index")[0] == "Vulkan"


def test_of_facts_with_an_identifier_the_rest_of_the_question_tells(world: RecallWorld) -> None:
    world.agent_remembers("KL-771 is full, and flies to Oslo.", title="Flight", importance=1.0)
    world.agent_remembers("KL-77 is a bus.", title="Line", importance=1.0)
    fares = world.agent_remembers("KL-77 has fares by zone: fares for all.", title="Fares")
    assert world.titles("KL-77", mode="index")[-1] == "Flight"
    assert world.ask("What are the fares of KL-77?", mode="index")[0].id == fares.id


@pytest.mark.parametrize("question", ["milk and/or sugar in tea", "tea, milk and sugar at a.m."])
def test_words_with_signs_are_no_identifiers(world: RecallWorld, question: str) -> None:
    tea = world.agent_remembers("Tea with milk, and sugar.", title="Tea")
    world.agent_remembers("Milk comes at 7 a.m. and/or later, e.g. at noon.", title="Deliveries")
    assert world.ask(question, mode="index")[0].id == tea.id


def test_what_names_a_day_is_listed_after_what_is_of_that_day(world: RecallWorld) -> None:
    said = "The log of 16 May shows eleven failed bookings."
    world.agent_remembers(said, title="Later", createdAt="2025-05-22")
    world.agent_remembers("Stopped.", title="Then", createdAt="2025-05-16T10:00:00Z")
    lesson = {"type": "lesson", "createdAt": "2025-05-19T10:00:00Z"}
    world.agent_remembers("Since 16 May, restore each copy.", title="Lesson", **lesson)
    titles = world.titles("What happened on 16 May?")
    assert (titles[0], set(titles)) == ("Then", {"Then", "Later", "Lesson"})
    assert world.titles("lessons of 16 May") == ["Lesson"]
    assert world.titles("What happened on 16 May?", limit=1) == ["Then"]


def test_a_fact_of_a_type_may_be_about_a_day_of_which_no_fact_is(world: RecallWorld) -> None:
    world.agent_remembers("Candles for Christmas.", title="Shopping", type="task")
    world.agent_remembers("No deploys on Fridays.", title="Deploys", type="decision")
    world.agent_remembers("April leads sales; Friday is free.", title="April Jones", type="person")
    world.agent_remembers("Skiing in winter.", title="Seasons", type="preference")
    assert world.titles("tasks for Christmas", mode="index") == ["Shopping"]
    assert world.titles("decisions on Friday", mode="index") == ["Deploys"]
    assert world.titles("preferences for winter", mode="index")[0] == "Seasons"
    assert world.titles("What did April decide?", mode="index")[0] == "April Jones"
    for question in ("What is due at Christmas?", "What did we decide in 2019?"):
        none = world.ask(question, mode="index")
        assert len(none) == 0
        assert none.nothing_known


def test_the_name_of_a_day_is_searched_for_if_no_fact_is_of_that_day(world: RecallWorld) -> None:
    hours: dict[str, Any] = {"title": "Hours", "type": "fact", "importance": 1.0}
    world.agent_remembers("Open on Wednesday and Sunday.", **hours)
    paper = world.agent_remembers("Paper.", title="The Wednesday of paper", type="episodic")
    for question in ("Was ist an dem Mittwoch passiert?", "What happened on Wednesday?"):
        assert world.ask(question, mode="index")[0].id == paper.id
    assert world.titles("What happened on Sunday?", mode="index") == ["Hours"]
    world.agent_remembers("The last ferry of 2019.", title="Ferry", type="fact")
    assert world.titles("What happened in 2019?", mode="index") == ["Ferry"]
    for question in ("on Thursday", "last Thursday", "on 2019-05-03", "on 3 May 2019"):
        none = world.ask(f"What happened {question}?", mode="index")
        assert len(none) == 0
        assert none.nothing_known


@pytest.mark.parametrize(
    ("asked", "filters"),
    [
        ("What happened on Wednesday?", {"types": ("fact",)}),
        ("What happened on Wednesday?", {"until": "2026-01"}),
        ("What happened on Wednesday tag:shop", {}),
        ("In June", {"types": ("fact",)}),
    ],
)
def test_an_event_of_a_day_that_the_filters_exclude_is_no_answer(
    world: RecallWorld, asked: str, filters: dict[str, Any]
) -> None:
    old: dict[str, Any] = {"createdAt": "2019-02-02T00:00:00Z", "tags": ["shop"]}
    world.agent_remembers("Open on Wednesday and in June.", title="Hours", type="fact", **old)
    world.agent_remembers("Paper.", title="The Wednesday of paper in June", type="episodic")
    assert world.titles(asked, mode="index", **filters) == ["Hours"]


# --------------------------------------------------------------------- themes


def test_a_theme_is_a_filter_in_any_case(world: RecallWorld) -> None:
    sea = world.agent_remembers("Berths A", themeIds=["Harbour", "sea"])
    world.agent_remembers("Berths B", themeIds=["weather"])
    hidden = world.agent_remembers("Berths C", status="archived")
    for question in ("theme:harbour", "berths theme:HARBOUR theme:sea"):
        found = world.ask(question)
        assert [hit.id for hit in found] == [sea.id]
        assert found.hidden == (), "no index can tell whether the other has the theme"
    assert len(world.ask("theme:harbour theme:weather")) == 0
    assert hidden.id not in {hit.id for hit in world.ask("berths")}


def test_a_theme_that_few_facts_have_is_found_among_many(world: RecallWorld) -> None:
    rare = world.agent_remembers("Berths are full", themeIds=["sea"], importance=0.1)
    for number in range(100):
        world.agent_remembers(f"Berths {number} are full", importance=0.9)
    assert [hit.id for hit in world.ask("theme:sea")] == [rare.id]
    assert [hit.id for hit in world.ask("berths theme:sea")] == [rare.id]


def test_emotional_weight_counts_in_the_score(world: RecallWorld) -> None:
    old = "2025-06-01T00:00:00Z"
    world.agent_remembers("Berths one", createdAt=old)
    strong = world.agent_remembers("Berths two", createdAt=old, emotionalWeight=1.0)
    assert world.ask("berths")[0].id == strong.id


def test_a_misspelled_word_finds_what_is_meant(world: RecallWorld) -> None:
    meant = world.agent_remembers("The tide page has nine subscribers.", title="Counted")
    world.agent_remembers("The tide page is grey.", title="Grey")
    answer = world.ask("how many subscribrs has the tide page", mode="index")
    assert answer[0].id == meant.id
    assert "“subscribers”" in answer[0].why
    assert [hit.title for hit in world.ask("subscribrs", mode="index")] == ["Counted"]

    world.agent_remembers("A tollpenny is paid.", title="Toll")
    assert "“tollpenny”" in world.ask("tollpeny", mode="index")[0].why


def test_the_model_gets_the_word_that_a_misspelled_one_means(world: RecallWorld) -> None:
    asked = list[str]()

    class Asked(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            asked.extend(texts)
            return super().embed(texts)

    world.english = frozenset({"subscribers", "bakery"})
    world.agent_remembers("The page has nine subscribers and a bakery; it rehearses.")
    world.embedder = Asked()
    world.embed()
    for question in ("Subscribrs of the page", "a bakrey", "it reherses", "the page"):
        assert world.ask(question, mode="fused").hits
    assert asked[-4:] == ["subscribers of the page", "a bakery", "it rehearse", "the page"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("We sold nine loaves.", "How many did we sell?"),
        ("A mouse ran off.", "mice"),
        ("Wir sold.", "Wer sell die Brote?"),
    ],
)
def test_an_irregular_word_is_found_in_its_other_forms(
    world: RecallWorld, text: str, question: str
) -> None:
    told = world.agent_remembers(text, title="Told")
    world.agent_remembers("A shell and a dice.", title="Shell")
    found = [hit.id for hit in world.ask(question, mode="index") if "“" in hit.why]
    assert found == ([] if "Wir" in text else [told.id])


def test_a_fact_that_names_the_month_is_of_that_month(world: RecallWorld) -> None:
    for month, written in (("September", "2025-10-07"), ("October", "2025-11-06")):
        text = f"In {month} we sold many loaves of rye."
        world.agent_remembers(text, title=month, createdAt=f"{written}T00:00:00Z")
    assert world.titles("Which loaves did we sell in October?")[0] == "October"
    assert world.titles("decisions in October") == []


def test_the_name_of_may_is_no_verb(world: RecallWorld) -> None:
    for title, text in (
        ("Shop", "Members may sell loaves of rye at the gate."),
        ("Fair", "In May we sold many loaves of rye."),
    ):
        world.agent_remembers(text, title=title, createdAt="2025-10-07T00:00:00Z")
    first, second = world.ask("Which loaves of rye were there in May?")
    assert (first.title, second.similarity < 0.7) == ("Fair", True)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The Wi-Fi drops at noon.", "wifi"),
        ("The wifi drops at noon.", "Wi-Fi drop"),
        ("We go live in May.", "golive date"),
        ("The golive is in May.", "go live"),
    ],
)
def test_a_word_may_be_joined_or_two(world: RecallWorld, text: str, question: str) -> None:
    meant = world.agent_remembers(text)
    world.agent_remembers("A fire is alive, and a wife is fit; both drop.")
    found = world.ask(question, mode="index")
    assert found[0].id == meant.id
    assert found.confidence > world.ask("drops fire nowhere", mode="index").confidence


@pytest.mark.parametrize("question", ["away", "type:note away", '"awaywego"'])
def test_a_word_is_not_parted_otherwise(world: RecallWorld, question: str) -> None:
    world.agent_remembers("There is a way, and we go; the pet is in the car.")
    assert not world.ask(question, mode="index").hits
    assert not world.ask("carpet", mode="index").hits


@pytest.mark.parametrize("word", ["shippng", "shippign", "Shippng"])
def test_the_ending_of_a_word_may_be_misspelled(world: RecallWorld, word: str) -> None:
    world.agent_remembers("We ship on Mondays.", title="Parcels")
    assert [hit.title for hit in world.ask(f"{word} day", mode="index")] == ["Parcels"]
    world.english = frozenset({word.lower()})
    assert not world.ask(f"{word} day", mode="index").hits


def test_a_name_that_ends_as_a_form_of_a_word_is_no_misspelling(world: RecallWorld) -> None:
    world.agent_remembers("The cart is red.", title="Cart")
    assert not world.ask("Carters", mode="index").hits


@pytest.mark.parametrize(
    ("word", "title"), [("harbors", "Harbour"), ("license", "Licence"), ("organisation", "Firm")]
)
def test_a_word_is_found_in_another_spelling(world: RecallWorld, word: str, title: str) -> None:
    world.english = frozenset({word})
    for name, content in {
        "Harbour": "harbour",
        "Licence": "licence",
        "Firm": "organization",
    }.items():
        world.agent_remembers(f"The {content} is large.", title=name)
    assert [hit.title for hit in world.ask(word, mode="index")] == [title]


def test_a_missing_double_letter_is_a_misspelling(world: RecallWorld) -> None:
    world.agent_remembers("Boats thud at the pier.", title="Thuds")
    assert [hit.title for hit in world.ask("thuding", mode="index")] == ["Thuds"]


@pytest.mark.parametrize("question", ["overdeu promises", "promises that are overdeu", "promiises"])
def test_a_misspelled_word_may_ask_for_something(world: RecallWorld, question: str) -> None:
    late = world.agent_remembers("Paint.", type="commitment", commitmentDueDate="2020-01-01")
    world.agent_remembers("Repaint.", type="decision")
    found = world.ask(question, mode="index")
    assert ([hit.id for hit in found], found.confidence) == ([late.id], 1)
    assert len(world.ask("overdeux", mode="index")) == 0


@pytest.mark.parametrize(
    "text", ['"decisoins" now', "“our decisoins”", "#decisoins", "tag:decisoins", "decisoins.py"]
)
def test_what_is_meant_as_it_is_written_is_not_corrected(text: str) -> None:
    question = f"promiises and {text}"
    assert without_slips(question, {""}, str.split, {"and"}.__contains__) == f"promises and {text}"


def test_a_misspelled_type_may_have_a_topic(world: RecallWorld) -> None:
    gate = world.agent_remembers("Open the gate.", type="decision", title="Gate")
    world.agent_remembers("The gate, the gate.", title="Note")
    assert world.ask("decisioons about the gate", mode="index")[0].id == gate.id


def test_a_correct_word_that_no_fact_has_is_not_taken_for_another(world: RecallWorld) -> None:
    world.agent_remembers("The locks prevent theft.", title="Locks")
    assert "prevent" in world.ask("present locks", mode="index")[0].why

    world.english = frozenset({"present"})
    assert "prevent" not in world.ask("Present locks", mode="index")[0].why


def test_a_word_that_some_fact_has_is_spelled_right(world: RecallWorld) -> None:
    world.agent_remembers("Form a queue.", title="Form")
    world.agent_remembers("The farms lie inland.", title="Farms")
    world.agent_remembers("Formal dress.", title="Formal")
    assert [hit.title for hit in world.ask("farms", mode="index")] == ["Farms"]


def test_a_private_fact_of_another_agent_corrects_nothing(world: RecallWorld) -> None:
    world.agent_remembers("Subscribers pay.", agent="ada", scope="private-ada")
    assert len(world.ask("subscribrs", agent="indy")) == 0


def test_what_was_replaced_is_hidden_unless_it_is_asked_for(world: RecallWorld) -> None:
    old = world.agent_remembers("We moor by hand.", title="Mooring", type="decision")
    world.supersedes(old.id, "We moor by winch.")
    world.agent_remembers("Berths are numbered.", title="Numbers", type="decision")
    asked = "Which decisions were replaced by later ones?"
    assert [hit.id for hit in world.ask(asked, mode="index")] == [old.id]
    assert old.id not in [hit.id for hit in world.ask("our decisions", mode="index")]


def test_how_many_hits_are_asked_for_does_not_change_the_first(world: RecallWorld) -> None:
    for number in range(60):
        world.agent_remembers(f"The berth {'is wet, ' * number}at the pier.", title=f"B{number}")
    few = world.ask("berth pier", mode="index", limit=5)
    many = world.ask("berth pier", mode="index", limit=50)
    assert [(x.id, x.score) for x in few] == [(x.id, x.score) for x in many][:5]
    assert all(0 <= hit.similarity <= 1 for hit in many)


def test_a_question_in_another_language_finds_what_is_in_english(world: RecallWorld) -> None:
    fact = world.agent_remembers("The password of the printer changes every month.")
    world.agent_remembers("Berths are numbered from the sea.")
    world.embed()
    for mode in ("index", "vector", "fused"):
        found = world.ask("Weshalb ändert sich das Passwort für den Drucker?", mode=mode)
        assert found.hits[0].id == fact.id
    assert "printer" in found.hits[0].why


def test_a_question_in_the_language_of_the_facts_is_asked_as_it_is(world: RecallWorld) -> None:
    world.agent_remembers("Das Passwort für den Drucker ändert sich jeden Monat.")
    request = RecallRequest("Wie oft ändert sich das Passwort für den Drucker?", agent="indy")
    before = RecallSearch(world.sources, request)
    before.answer()
    world.agent_remembers("A printer needs paper.")
    search = RecallSearch(world.sources, request)
    search.answer()
    assert search.words.searched == before.words.searched


def _conversation(world: RecallWorld) -> tuple[Fact, Fact]:
    """What a user told of a cache, and a longer text in which an assistant speaks of it."""
    told = world.agent_remembers(
        "User: I put Redis before the weather service.", type="episodic", sessionId="s-1"
    )
    said = world.agent_remembers(
        "Assistant: A cache of Redis before the weather service is a good choice. Configure the"
        " cache with a short time to live, and Redis answers for the weather service.",
        type="episodic",
        sessionId="s-1",
    )
    return told, said


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
def test_what_an_assistant_said_counts_less(world: RecallWorld, mode: str) -> None:
    told, said = _conversation(world)
    world.embed()

    found = world.ask("Is a cache of Redis before the weather service?", mode=mode)

    assert [hit.id for hit in found] == [told.id, said.id]
    assert found[1].why.endswith("was said by an assistant (ranked lower).")
    assert "assistant" not in found[0].why


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
def test_an_answer_moves_up_with_its_question_others_down(world: RecallWorld, mode: str) -> None:
    texts = (
        "Ben: Anna, what is your favourite harbour in Denmark?",
        "Anna: Ebeltoft.",
        "Ben: My favourite harbour is Aarhus, Anna!",
    )
    question, answer, other = (
        world.agent_remembers(text, type="episodic", sessionId="s-1") for text in texts
    )
    world.embed()

    found = world.ask("What is Anna's favourite harbour?", mode=mode)

    why = {hit.id: hit.why for hit in found}
    assert [*why].index(answer.id) < [*why].index(other.id)
    assert "follows a question on this" in why[answer.id]
    assert "was said by another person (ranked lower)" in why[other.id]
    assert "follows" not in why[question.id]


def test_an_answer_counts_with_the_words_of_its_question(
    world: RecallWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    coverages = []

    def record(*_: object, coverage: float, fact_count: int) -> float:
        coverages.append(coverage)
        return 1 / fact_count

    monkeypatch.setattr("vaultsync.recall.service.confidence", record)
    monkeypatch.setattr("vaultsync.recall.service.CONFIDENCE_HITS", 1)
    for text in (
        "Ben: Anna, which harbour in Denmark is your favourite?",
        "Anna: Ebeltoft.",
        "Anna: The harbour is far.",
        "Anna: It is in Denmark.",
    ):
        world.agent_remembers(text, type="episodic", sessionId="s-1")
    asked = RecallRequest("What is Anna's favourite harbour in Denmark?", mode="index")
    search = RecallSearch(world.sources, asked)
    first = search.answer()[0]

    assert first.snippet == "Anna: Ebeltoft."
    assert coverages[-1] == 1.0
    assert words_share(search, search.facts[0]) == 1.0


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
def test_what_only_others_did_makes_an_answer_unlikely(world: RecallWorld, mode: str) -> None:
    texts = [f"Anna: I have read book {number}." for number in range(POOL_SIZE)]
    for session, text in enumerate([*texts, "Ben: I painted the harbour of Aarhus in June."]):
        world.agent_remembers(text, type="episodic", sessionId=f"s-{session}")
    world.embed()

    by_ben, by_anna = (
        world.ask(f"When did {name} paint the harbour of Aarhus?", mode=mode).answerable
        for name in ("Ben", "Anna")
    )

    assert by_anna < 0.6 * by_ben


@pytest.mark.parametrize("mode", ["index", "vector", "fused"])
def test_a_name_never_mentioned_makes_an_answer_unlikely(world: RecallWorld, mode: str) -> None:
    world.agent_remembers("Slack water at the gate of Skarvik lasts 22 minutes.")
    world.embed()
    known, unknown, misspelled, german, timed = (
        world.ask(question, mode=mode).answerable
        for question in (
            "How long does slack water last at Skarvik?",
            "How long does slack water last at Denver?",
            "How long does slack water last at Skarvk?",
            "Wie lange dauert das slack water in Denver?",
            "How long did slack water last in Denver last week?",
        )
    )
    assert unknown < known / 1.9
    assert unknown < min(german, timed)
    if mode != "vector":
        assert misspelled > unknown


@pytest.mark.parametrize(
    ("question", "lowers"),
    [
        ("When does the gate of Denver open?", True),
        ("When does the gate of Denver open", False),
        ("Write a page about when the gate of Denver opens.", False),
        ("When does the gate open?\nThanks", False),
        ("How do we open the gate in Denver?", False),
        ("When does the gate of the PierBox open?", False),
        ("When does the gate of the PierHouse open?", True),
        ("When does the gate of Postgres open?", False),
        ("When does the gate of Lüttings open?", False),
        ("When does the gate of Lüttingshaven open?", False),
        ("When does the gate of Tollpeny open?", False),
    ],
)
def test_only_a_question_about_a_name_in_no_form_of_it_is_unlikely_to_have_an_answer(
    world: RecallWorld, question: str, *, lowers: bool
) -> None:
    world.agent_remembers("The gate of Skarvik opens at 8. The pier has a box.")
    world.agent_remembers("PostgreSQL, Lüttinge and Tollpenny.")
    asked, in_lower_case = (
        world.ask(each, mode="index").answerable for each in (question, question.lower())
    )
    assert (asked < in_lower_case) is lowers


def test_words_count_by_rarity_as_a_share_of_those_of_the_first_hit(world: RecallWorld) -> None:
    texts = ("A boat pays a deposit.", "The deposit is back.", "A boat.", "Boat two.", "A fish.")
    first, rare, common, other, without = (world.agent_remembers(text) for text in texts)
    search = RecallSearch(world.sources, RecallRequest("the deposit of a boat", mode="index"))
    search.answer()

    assert search.facts[0].id == first.id
    assert words_share(search, first) == 1
    assert 0.5 < words_share(search, rare) < 1
    assert words_share(search, common) == words_share(search, other) < 0.5
    assert words_share(search, without) == 0


def test_what_an_assistant_said_counts_in_full_where_that_is_asked_for(world: RecallWorld) -> None:
    told, said = _conversation(world)

    found = world.ask("What did you suggest as a cache before the weather service?")

    assert [hit.id for hit in found] == [said.id, told.id]
    assert found[0].why.endswith("was said by an assistant (as asked for).")


def test_a_set_says_nothing_of_speakers(world: RecallWorld) -> None:
    _conversation(world)

    found = world.ask("type:episodic")

    assert {hit.why for hit in found} == {"Is one of the facts asked for."}


def test_a_speaker_with_a_name_is_no_assistant(world: RecallWorld) -> None:
    texts = ["Caroline: My cache of Redis is before the service.", "Melanie: I use Redis."]
    ids = [world.agent_remembers(x, type="episodic", sessionId="s-1").id for x in texts]

    found = world.ask("Is a cache of Redis before the service?")

    assert [hit.id for hit in found] == ids
    assert "assistant" not in found[0].why


def test_facts_that_an_assistant_did_not_say_have_room_in_the_pool(world: RecallWorld) -> None:
    for number in range(POOL_SIZE + 5):
        text = f"Assistant: A berth is a berth, and berth {number} is one."
        world.agent_remembers(text, type="episodic", sessionId="s-1")
    told = world.agent_remembers(
        "User: We moved, after all that was said about it, to another berth in the harbour.",
        type="episodic",
        sessionId="s-1",
    )

    assert world.ask("berth", mode="index")[0].id == told.id


def test_who_asks_for_advice_gets_what_is_preferred(world: RecallWorld) -> None:
    told = world.agent_remembers("The editor of the manuscript works on Sundays.")
    preferred = world.agent_remembers("I prefer to edit in short bursts, not for a whole day.")

    advice = world.ask("How would you suggest I edit the manuscript on Sundays?")
    question = world.ask("Does the editor edit the manuscript on Sundays?")

    assert [hit.id for hit in question] == [told.id, preferred.id]
    assert "preference" not in question[1].why
    hit = next(each for each in advice if each.id == preferred.id)
    assert hit.similarity > question[1].similarity
    assert hit.why.endswith("states a preference.")


def test_advice_is_no_better_than_a_title_with_the_whole_question(world: RecallWorld) -> None:
    title = "Hold a berth for twenty minutes"
    held = world.agent_remembers("Then it is free.", title=title, type="decision")
    world.agent_remembers("Each is named by its pier.", title="Berth names", type="convention")
    for number in range(4):
        world.agent_remembers("It is full.", title=f"Boat {number} and all of its sails")
    assert world.ask("How do we hold a berth?", mode="index")[0].id == held.id
    assert world.titles("How do we name a berth?", mode="index")[0] == "Berth names"


@pytest.mark.parametrize("mode", ["index", "fused"])
def test_the_verb_of_a_type_is_not_what_a_question_is_about(world: RecallWorld, mode: str) -> None:
    world.agent_remembers("It was decided by all.", title="Labels", type="decision", importance=1.0)
    hosts = world.agent_remembers("We host it.", title="Hosting", type="decision")
    world.embed()
    assert world.ask("What did we decide about hosting?", mode=mode)[0].id == hosts.id


def test_facts_of_a_type_and_topic_are_ordered_by_date(world: RecallWorld) -> None:
    world.agent_remembers("Shipping", title="Free shipping", type="decision")
    world.clock.advance(86_400)
    world.agent_remembers("Parcels.", title="Carrier", type="decision", tags=["shipping"])
    assert world.titles("our latest decision about shipping", mode="index")[0] == "Carrier"
    assert world.titles("our first decision about shipping", mode="index")[0] == "Free shipping"
    assert world.titles("neueste Entscheidung zum Versand", mode="index")[0] == "Carrier"


def test_words_for_an_order_are_no_topic(world: RecallWorld) -> None:
    world.agent_remembers("The outage of May came from a full disk.", title="May")
    world.clock.advance(86_400)
    world.agent_remembers("The box was away for an hour.", title="Box", tags=["outage"])
    for number in range(30):
        world.agent_remembers(f"The tide table, page {number}.", title=f"Tide {number}")
    world.embed()

    assert world.titles("newest outage", mode="fused")[:2] == ["Box", "May"]


def test_the_newest_of_a_topic_has_it_in_its_title_if_any_has(world: RecallWorld) -> None:
    world.agent_remembers("It is here.", title="Build farm", type="entity", importance=1.0)
    world.clock.advance(86_400)
    world.agent_remembers("It has the harbour, and many more things to see.", title="Build 2")
    world.clock.advance(86_400)
    world.agent_remembers("The shed that we build is red, as are all sheds.", title="Shed")
    assert world.titles("latest build", mode="index")[0] == "Build 2"


def _meetings(world: RecallWorld) -> None:
    for title in ("Meeting in May", "Meeting with the choir"):
        world.agent_remembers("About the song book.", title=title, type="episodic")
        world.clock.advance(86_400)
    world.agent_remembers("It costs time.", title="Plan each meeting", type="lesson")
    world.agent_remembers("It is in the harbour.", title="Harbour level, the newest level")
    world.agent_remembers("The crab is slow.", title="First boss")
    world.clock.advance(86_400)
    world.agent_remembers("The choir is thanked by the boss.", title="Credits")


@pytest.mark.parametrize(
    ("question", "title"),
    [
        # What happened, before what is only written of it.
        ("our last meeting", "Meeting with the choir"),
        ("the first meeting", "Meeting in May"),
        ("When was the meeting?", "Meeting with the choir"),
        ("What happened at the meeting?", "Meeting with the choir"),
        ("When was the meeting held?", "Meeting with the choir"),
        ("When was the crab seen?", "First boss"),
        # No fact has the word *see*.
        ("When did we last see the choir?", "Meeting with the choir"),
        # A name in a title is no order.
        ("What is the first boss?", "First boss"),
        ("newest level", "Harbour level, the newest level"),
        # Too few words to tell the language by those that all texts have.
        ("letztes Treffen", "Meeting with the choir"),
        ("dernière réunion", "Meeting with the choir"),
        ("derniere reunion", "Meeting with the choir"),
    ],
)
def test_an_order_is_one_of_reported_events(world: RecallWorld, question: str, title: str) -> None:
    _meetings(world)
    assert world.titles(question, mode="index")[0] == title


def test_a_turn_that_mentions_an_event_is_no_report_of_it(world: RecallWorld) -> None:
    for text in ("Ben: The interview went well.", "Ben: Does the blog mention an interview?"):
        world.agent_remembers(text, type="episodic", sessionId=f"s-{len(text)}")
        world.clock.advance(86_400)
    found = world.titles("When was the interview?", mode="index")
    assert found[0].startswith("Ben: The interview")


def test_a_name_in_a_title_of_another_topic_leaves_an_order_alone(world: RecallWorld) -> None:
    for title in ("Last visit to Bergen", "Visit of Clara in May", "Visit of Clara in June"):
        world.agent_remembers("It rained.", title=title, type="episodic")
        world.clock.advance(86_400)
    assert world.titles("Clara's last visit", mode="index")[0] == "Visit of Clara in June"


def test_a_place_in_a_text_is_no_order_of_facts(world: RecallWorld) -> None:
    for title, text in {
        "Release": "Build it. The last gesture is to tag the release.",
        "Dance": "A gesture to the left, and then release.",
    }.items():
        world.agent_remembers(text, title=title)
        world.clock.advance(86_400)
    assert world.titles("What is the last gesture of a release?", mode="index")[0] == "Release"


def test_a_promise_of_a_person_is_theirs_though_another_says_promise(world: RecallWorld) -> None:
    world.agent_remembers("Promised, promised: a promise!", type="commitment", title="Promised")
    hers = world.agent_remembers(
        "Mireille draws the lighthouse, the pier, the quay, the gulls and the sea.",
        type="commitment",
        title="Sketches",
    )
    assert world.ask("What did Mireille promise?", mode="index")[0].id == hers.id


@pytest.mark.parametrize("mode", ["vector", "fused"])
def test_a_fact_of_a_repository_leaves_the_type_that_is_asked_for_in_force(mode: str) -> None:
    found = []
    for properties in ({}, {LINEAGE: "a-repository"}):
        world = RecallWorld()
        world.agent_remembers("The crane of the quay is painted green.", type="decision")
        world.agent_remembers("The crane of the quay is of green paint, crane, crane.")
        world.agent_remembers("The crane needs paint twice a year.", **properties)
        world.embed()
        answer = world.ask("decisions about the paint of the crane", mode=mode)
        found.append({hit.title: hit.similarity for hit in answer})
    assert found[1] == pytest.approx(found[0], abs=0.01)


def test_a_fact_of_another_branch_is_hidden_and_counted(world: RecallWorld) -> None:
    properties = {LINEAGE: "a-repository"}
    here = world.agent_remembers("The crane of the quay is green.", **properties)
    there = world.agent_remembers("The crane of the quay is red.", **properties)
    world.elsewhere = lambda: {there.id}
    answer = world.ask("crane", mode="index")
    assert [hit.id for hit in answer] == [here.id]
    assert [(each.reason, each.count) for each in answer.hidden] == [(BRANCH, 1)]

    def unreadable() -> Collection[str]:
        raise errors.RepositoryError("the repository is gone")

    world.elsewhere = unreadable
    answer = world.ask("crane", mode="index")
    assert {hit.id for hit in answer} == {here.id, there.id}
    assert answer.degraded == (
        "Facts of other branches cannot be told apart: the repository is gone.",
    )


def test_the_event_of_a_time_may_be_in_another_folder(world: RecallWorld) -> None:
    launch = world.agent_remembers("The launch went well.", type="episodic")
    catch_up_note_index(world.ctx, world.index)
    filters = FactFilters(among=frozenset({"another"}))
    found = find_event("launch", world.index, filters, world.store.find_many)
    assert found is not None
    assert found[0].id == launch.id
