from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.doubles.note_index import TemporaryIndex
from tests.packs import Words
from tests.recalls import RecallWorld
from vaultsync.context_packs.pack import ContextPack
from vaultsync.context_packs.relevance import hit_relevance, relevance_of, words_share
from vaultsync.context_packs.service import (
    MAX_ENTITIES,
    MAX_RECALLED,
    NOTHING_FITS,
    NOTHING_FOUND,
    REASON_LITTLE_FIT,
    REASON_ORDER,
    REASON_PENDING,
    REASON_STATE,
    REASON_TYPE,
    REASON_UNSURE,
    build_context,
)
from vaultsync.errors import InvalidFieldError, UnknownTypeError
from vaultsync.indexing.ports import IndexMatch
from vaultsync.model.filters import FactFilters
from vaultsync.recall.ranking import MIN_ANSWERABLE
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.service import RecallSearch


class PackWorld(RecallWorld):
    """A world in which context is asked for."""

    def pack(
        self,
        question: str,
        *,
        agent: str | None = "indy",
        **more: Any,  # noqa: ANN401 - what context() takes
    ) -> ContextPack:
        return build_context(self.sources, Words(), ContextRequest(question, agent=agent, **more))

    def titles(self, question: str, **more: Any) -> list[str]:  # noqa: ANN401
        return [each.title for each in self.pack(question, **more).items]


@pytest.fixture
def world() -> PackWorld:
    return PackWorld()


def test_a_pack_holds_what_was_found_with_reasons_and_citations(world: PackWorld) -> None:
    fact = world.mirrored("Slack water lasts 22 minutes.", title="Slack water")
    pack = world.pack("how long is slack water?")
    (item,) = pack.items
    assert item.id == fact.id
    assert "“slack”" in item.reason.lower()
    assert item.citation == f"{world.path(fact.id)}#Slack water"
    assert "Slack water lasts 22 minutes." in pack.text
    assert pack.counter == "words"
    assert not pack.truncated


class Counted(TemporaryIndex):
    """Knows how many facts it was asked for at most."""

    most = 0

    def search(
        self,
        words: str,
        filters: FactFilters,
        *,
        phrases: Sequence[str] = (),
        limit: int,
        names_only: bool = False,
    ) -> list[IndexMatch]:
        self.most = max(limit, self.most)
        return super().search(words, filters, phrases=phrases, limit=limit, names_only=names_only)


def test_a_pack_about_a_topic_looks_at_no_more_candidates_than_its_recall(world: PackWorld) -> None:
    for number in range(4 * MAX_RECALLED):
        world.mirrored(f"Slack water lasts {number} minutes.", type="lesson")
    world.index = index = Counted()
    world.ask("slack water", limit=MAX_RECALLED, max_priority=4)
    least, index.most = index.most, 0
    world.pack("slack water", budget=8_000)
    assert index.most == least
    assert len(world.pack("type:lesson", budget=8_000).items) > MAX_RECALLED


def test_a_critical_fact_says_so(world: PackWorld) -> None:
    world.mirrored("No deploy.", title="Friday", type="convention", priority=0)
    (item,) = world.pack("friday deploy").items
    assert item.reason.startswith("critical convention; has “")


def test_background_facts_have_their_share(world: PackWorld) -> None:
    world.mirrored("The cabinet gets warm.", title="Cabinet", priority=4)
    assert world.titles("cabinet") == ["Cabinet"]
    assert world.titles("cabinet", max_priority=2) == []


def test_a_dissimilar_fact_is_left_out_and_listed(world: PackWorld) -> None:
    world.mirrored("Berths, berths and berths.", title="Guest berths at the pier")
    filler = " ".join(f"word{n}" for n in range(300))
    world.mirrored(f"{filler} pier", title="Something else")
    pack = world.pack("guest berths at the pier")
    assert [each.title for each in pack.items] == ["Guest berths at the pier"]
    assert [(x.title, x.reason) for x in pack.left_out] == [("Something else", REASON_LITTLE_FIT)]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What decisions did we make?", ["First", "Second", "Third"]),
        ("type:decision", ["First", "Second", "Third"]),
        ("What promises did we make?", ["Promise"]),
        ("open promises", ["Promise"]),
        ("Which lessons have we learned?", []),
    ],
)
def test_a_set_is_packed_by_priority(world: PackWorld, question: str, found: list[str]) -> None:
    world.mirrored("We moor by hand.", title="Third", type="decision", priority=2)
    world.mirrored("Berths are numbered.", title="First", type="decision", priority=0)
    world.mirrored("The gate stays.", title="Second", type="decision", priority=1)
    world.mirrored("A report by May.", title="Promise", type="commitment")
    world.mirrored("What decisions did we make? A note on decisions.", title="Decisions")
    pack = world.pack(question)
    assert ([each.title for each in pack.items], pack.left_out) == (found, ())
    assert bool(pack.nothing_known) is not bool(found)


def test_of_a_set_in_order_its_first_fact_is_packed_if_one_is_asked_for(world: PackWorld) -> None:
    world.mirrored("We moor by hand.", title="Old", type="decision", priority=0)
    world.clock.advance(100_000)
    world.mirrored("Berths are numbered.", title="New", type="decision")

    pack = world.pack("What is our latest decision?")
    assert [each.title for each in pack.items] == ["New"]
    assert [(each.title, each.reason) for each in pack.left_out] == [("Old", REASON_ORDER)]
    assert world.titles("What is our first decision?") == ["Old"]
    assert set(world.titles("our latest decisions")) == {"Old", "New"}


def test_of_an_asked_type_what_has_the_topic_is_packed_and_other_types_are_not(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.recall.service.confidence", lambda *_, **__: 0.9)
    world.mirrored("Moor by hand at the pier.", title="Pier", type="decision")
    world.mirrored(f"Close the gate {'of the old harbour ' * 30}", type="decision", tags=["pier"])
    world.mirrored("The pier is long, the pier is wide.", title="About the pier")

    pack = world.pack("What did we decide about the pier?")
    assert len(pack.items) == 2
    assert [(each.title, each.reason) for each in pack.left_out] == [
        ("About the pier", REASON_TYPE)
    ]
    monkeypatch.setattr("vaultsync.recall.service.answer_probability", lambda *_, **__: 0.9)
    left_out = world.pack("overdue tasks about the pier").left_out
    assert {each.reason for each in left_out} == {REASON_TYPE}


def test_of_tasks_in_a_state_those_in_other_states_are_left_out(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.recall.service.answer_probability", lambda *_, **__: 0.9)
    for title, status in (("Sign", "erledigt"), ("Van", "open")):
        world.mirrored("For the move.", title=title, type="task", status=status)
    world.mirrored("A wall.")
    pack = world.pack("What did we finish for the move?")
    assert [each.title for each in pack.items] == ["Sign"]
    assert [(each.title, each.reason) for each in pack.left_out] == [("Van", REASON_STATE)]


def test_an_observation_that_waits_to_be_classified_is_left_out(world: PackWorld) -> None:
    world.mirrored("Slack water lasts 22 minutes.", title="Slack water")
    waits: dict[str, Any] = {"type": "observation", "status": "pending"}
    world.agent_remembers("Slack water lasts 23 minutes.", title="Seen", **waits)
    pack = world.pack("slack water")
    assert [each.title for each in pack.items] == ["Slack water"]
    assert [(each.title, each.reason) for each in pack.left_out] == [("Seen", REASON_PENDING)]
    for asked in ({"all": True}, {"status": "pending"}):
        assert "Seen" in world.titles("slack water", **asked)


def test_what_is_nearer_to_the_question_is_more_relevant(world: PackWorld) -> None:
    world.mirrored("Slack water lasts 22 minutes.", title="Slack water")
    world.mirrored("Slack water is calm; paint the crane of the quay green.", title="Crane")
    world.embed()
    question = "how long does slack water last?"
    search = RecallSearch(world.sources, RecallRequest(question, agent="indy", mode="fused"))
    hits = search.answer().hits
    near, far = (
        (hit, hit_relevance(search, hit, fact))
        for hit, fact in zip(hits, search.facts, strict=True)
    )
    assert (near[0].title, far[0].title) == ("Slack water", "Crane")
    assert near[1] == pytest.approx(1)
    share = search.cosines[far[0].id] / search.cosines[near[0].id]
    words = words_share(search, search.facts[1])
    assert far[1] == pytest.approx(relevance_of(far[0].similarity, share, words))


def test_of_a_long_note_found_for_its_check_boxes_these_are_packed(world: PackWorld) -> None:
    long = "A long day at the pier.\n\n- [ ] Buy milk\n- [x] Paint\n  1. [/] Call Oskar\n"
    world.agent_remembers(f"{long}\n{'It rained. ' * 20}", title="Monday")
    world.agent_remembers("- [ ] Sweep", title="Tuesday")
    pack = world.pack("What are my open tasks?")
    assert {each.title: each.cut for each in pack.items} == {"Monday": True, "Tuesday": False}
    assert "- [ ] Buy milk\n1. [/] Call Oskar\n" in pack.text
    assert "rained" not in pack.text
    assert "rained" in world.pack("a long day at the pier").text


@pytest.mark.parametrize("budget", [40, 60, 120])
def test_of_a_long_note_the_property_that_the_question_names_is_packed(
    budget: int, world: PackWorld
) -> None:
    text = "\n\n".join(f"Mum told us about winter {each}." for each in range(60))
    world.agent_remembers(text, title="Mum", birthday="1951-12-18", mood=3)
    pack = world.pack("When is Mum's birthday?", budget=budget)
    assert pack.text.count("- birthday: 1951-12-18") == 1
    assert "winter" in pack.text
    assert "mood" not in pack.text


def test_without_a_question_the_most_important_facts_are_packed_first(world: PackWorld) -> None:
    world.agent_remembers("A berth.", importance=0.1, title="Berth")
    world.agent_remembers("A gate.", importance=0.9, title="Gate")
    assert world.titles(" ") == ["Gate", "Berth"]


def test_without_a_question_tasks_that_are_done_are_left_out(world: PackWorld) -> None:
    for status in ("active", "done"):
        world.agent_remembers(f"Call {status}", type="task", status=status, dueDate="2026-03-01")
    kept: dict[str, Any] = {"type": "commitment", "commitmentStatus": "kept"}
    world.agent_remembers("A berth for Ada", **kept)
    world.agent_remembers("A note", status="done")
    assert set(world.titles("")) == {"Call active", "A note"}
    assert set(world.titles("", status="done")) == {"Call done", "A note"}
    text = world.pack("", all=True).text
    assert {*re.findall(r"due 2026-03-01|, done|, kept", text)} == {
        "due 2026-03-01",
        ", done",
        ", kept",
    }
    assert "A berth for Ada" in (pack := world.pack("A berth for Ada", format="json")).text
    assert '"status": "kept"' in pack.text


def test_without_a_question_what_is_critical_comes_before_other_tiers(world: PackWorld) -> None:
    for number in range(45):
        world.agent_remembers(f"Rule {number}", priority=(0, 2, 3)[number % 3])
    rules = {f"Rule {number}" for number in range(0, 45, 3)}
    assert rules < {*world.titles("", budget=400)}


def test_many_observations_leave_room_for_what_was_called_important(world: PackWorld) -> None:
    for title, priority in {"Rule": 0, "Chosen": 2}.items():
        world.agent_remembers(title, createdAt="2026-01-01T00:00:00Z", priority=priority)
    for number in range(200):
        world.agent_remembers(
            f"Seen {number}",
            type="observation",
            priority=number % 2,
            importance=0.9 if number < 100 else 0.8,
            createdAt=f"2026-01-{2 + number // 10:02}T{number % 10:02}:00:00Z",
        )
    titles = world.titles("", budget=400)
    assert titles[:3] == ["Rule", "Seen 198", "Seen 196"]
    first = titles.index("Chosen")
    assert titles[first + 1 : first + 3] == ["Seen 199", "Seen 197"]


def test_a_large_set_is_packed_as_far_as_the_budget_goes(world: PackWorld) -> None:
    for number in range(MAX_RECALLED + 20):
        world.agent_remembers(f"Item {number} it is.", title=f"Item {number}", type="lesson")
    world.quiesce()
    assert len(world.pack("type:lesson", budget=0).items) == MAX_RECALLED + 20
    few = world.pack("type:lesson", budget=100)
    assert 0 < len(few.items) < len(few.items) + len(few.left_out)


def test_critical_facts_about_what_is_named_are_always_considered(world: PackWorld) -> None:
    named: dict[str, Any] = {"priority": 0, "entities": ["Skarvik Gate"]}
    world.mirrored("Never open it by hand.", title="Rule", type="convention", **named)
    world.mirrored("Whoever opens it rings.", title="Bell", type="convention", **named)
    world.mirrored("Other.", title="Elsewhere", type="convention", priority=0, entities=["Pier"])
    world.mirrored("At noon the Skarvik gate opens.", title="Skarvik gate opens at noon")
    titles = world.titles("When does the Skarvik gate open?")
    assert {"Rule", "Bell"} <= {*titles}
    assert "Elsewhere" not in titles
    assert "Rule" not in world.titles("When does the Skarvik gate open? type:note")


def test_critical_facts_that_only_share_a_name_must_fit(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.recall.service.confidence", lambda *_, **__: 0.9)
    world.mirrored("Opens at noon.", title="Skarvik gate opens at noon", entities=["Skarvik Gate"])
    named: dict[str, Any] = {"entities": ["Skarvik Gate"], "priority": 0}
    long = f"Painted green. {'It took a day. ' * 40}"
    world.mirrored(long, title="Paint", type="decision", **named)
    assert world.titles("When does the Skarvik gate open?") == ["Skarvik gate opens at noon"]
    assert "Paint" in world.titles("Who painted the Skarvik gate?")


def test_nothing_is_packed_where_the_memory_hardly_knows(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mirrored("The gate opens at noon.", title="Gate")
    for probability, packed in ((MIN_ANSWERABLE - 0.01, 0), (MIN_ANSWERABLE, 1)):
        monkeypatch.setattr(
            "vaultsync.recall.service.answer_probability", lambda *_, p=probability, **__: p
        )
        pack = world.pack("the renewal of the gate")
        assert len(pack.items) == packed
        assert bool(pack.nothing_known) is not bool(packed)
    monkeypatch.undo()
    monkeypatch.setattr("vaultsync.recall.service.answer_probability", lambda *_, **__: 0.0)
    pack = world.pack("the renewal of the gate")
    assert (pack.text, pack.nothing_known) == ("", NOTHING_FITS)
    assert [(each.title, each.reason) for each in pack.left_out] == [("Gate", REASON_UNSURE)]


def test_the_surer_an_answer_is_the_less_is_packed_beside_its_best_hit(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mirrored("Slack water and gate.", title="Opens")
    world.mirrored("Slack water.", title="Depth")
    packed = []
    for sure in (0.25, 0.95):
        monkeypatch.setattr("vaultsync.recall.service.confidence", lambda *_, c=sure, **__: c)
        packed.append(set(world.titles("slack water gate")))
    assert packed == [{"Opens", "Depth"}, {"Opens"}]


def test_a_limited_number_of_facts_is_recalled(world: PackWorld) -> None:
    for number in range(MAX_RECALLED + 10):
        world.agent_remembers(f"Berth number {number}.", title=f"Berth {number}")
    world.quiesce()
    few = world.pack("berth", budget=100)
    many = world.pack("berth", budget=100_000)
    assert 0 < len(few.items) < len(few.items) + len(few.left_out)
    assert len(many.items) <= MAX_RECALLED


def test_entities_that_the_facts_name_are_packed_beside_them(world: PackWorld) -> None:
    world.mirrored("Runs the gate.", title="Bente", type="person")
    world.mirrored("A pier.", title="Skarvik", type="entity", aliases=["The Pier"])
    world.mirrored("x", title="Nobody", type="person")
    world.mirrored("Opens at noon.", title="Gate", entities=["bente", "The Pier", "Unknown"])
    pack = world.pack("gate opens")
    cards = {each.title: each for each in pack.items if each.tier == "entities"}
    assert set(cards) <= {"Bente", "Skarvik"}
    assert "Skarvik" in cards
    assert cards["Skarvik"].reason == "named by 1 fact"
    assert cards["Skarvik"].citation.endswith("Skarvik.md")


def test_entities_that_few_of_the_facts_name_are_not_packed(world: PackWorld) -> None:
    for name in ("Bente", "Skarvik"):
        world.mirrored("x", title=name, type="person")
    for number in range(3):
        names = ["Bente", "Skarvik"][: 2 - number]
        world.mirrored(f"Gate {number} opens.", title=f"Gate {number}", entities=names)
    pack = world.pack("gate opens")
    assert [each.title for each in pack.items if each.tier == "entities"] == ["Bente"]


def test_of_another_user_nothing_is_packed(world: PackWorld) -> None:
    world.mirrored("Runs the gate.", title="Bente", type="person", userId="u-1")
    world.mirrored("Owns it.", title="Ada", type="person", userId="u-2")
    world.mirrored("A pier.", title="Skarvik", type="entity")
    named = ["Bente", "Ada", "Skarvik"]
    world.mirrored("Opens at noon.", title="Gate", entities=named, userId="u-1")
    world.mirrored("Gate shut.", title="Other gate", entities=named, userId="u-2")
    pack = world.pack("gate opens", user="u-1")
    assert {each.title for each in pack.items} <= {"Gate", "Bente", "Skarvik"}
    cards = {each.title for each in pack.items if each.tier == "entities"}
    assert cards >= {"Skarvik"}
    assert "Ada" not in pack.text


def test_the_entities_that_most_facts_name_are_looked_up(world: PackWorld) -> None:
    for number in range(MAX_ENTITIES + 2):
        world.agent_remembers("Who.", title=f"Person {number:02}", type="person")
    names = [f"Person {number:02}" for number in range(MAX_ENTITIES + 2)]
    world.agent_remembers("Gate, gate and gate one.", title="Gate one", entities=names)
    world.agent_remembers("Gate, gate and gate two.", title="Gate two", entities=names[-1:])
    world.quiesce()
    pack = world.pack("gate one two")
    cards = [each for each in pack.items if each.tier == "entities"]
    assert len(cards) == MAX_ENTITIES
    assert (cards[0].title, cards[0].reason) == (names[-1], "named by 2 facts")


def test_nothing_private_of_others_is_packed(world: PackWorld) -> None:
    for agent in ("ada", "indy"):
        own: dict[str, Any] = {"agent": agent, "scope": f"private-{agent}"}
        text, title = "The gate opens at noon.", f"Gate of {agent}"
        world.agent_remembers(text, title=title, entities=["Bente"], **own)
        world.agent_remembers(f"Known to {agent}.", title="Bente", type="person", **own)
    world.quiesce()
    for agent, other in (("ada", "indy"), ("indy", "ada")):
        pack = world.pack("when does the gate open?", agent=agent)
        assert all(said in pack.text for said in (f"Gate of {agent}", f"Known to {agent}"))
        assert other not in pack.text


def test_a_store_that_is_away_degrades_the_pack(world: PackWorld) -> None:
    world.mirrored("Opens at noon.", title="Gate", entities=["Bente"])
    world.mirrored("Runs the gate.", title="Bente", type="person")
    world.pack("gate")
    world.store.away = True
    pack = world.pack("gate opens noon")
    assert "Gate" in pack.text
    assert any("last sync run" in sentence for sentence in pack.degraded)


def test_an_entity_without_a_note_is_cited_by_its_id(world: PackWorld) -> None:
    world.mirrored("Opens at noon.", title="Gate", entities=["Bente"])
    person = world.agent_remembers("Somebody.", title="Bente", type="person")
    assert world.pack("opens noon").items[-1].citation == person.id


def test_of_an_empty_set_the_pack_says_what_there_is_instead(world: PackWorld) -> None:
    world.agent_remembers("Tea.")
    pack = world.pack("What decisions did we make?")
    assert pack.nothing_known == "The memory has no facts of the type decision."


def test_the_question_may_be_about_nothing(world: PackWorld) -> None:
    pack = world.pack("anything?")
    assert (pack.text, pack.items, pack.left_out) == ("", (), ())
    assert pack.nothing_known == NOTHING_FOUND


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"format": "html"}, {"intent": "world peace"}])
def test_an_invalid_argument_is_refused(world: PackWorld, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidFieldError):
        world.pack("gate", **wrong)
    with pytest.raises(UnknownTypeError):
        world.pack("gate", types=["song"])


def test_all_that_is_asked_for_reaches_recall_and_pack(world: PackWorld) -> None:
    world.mirrored("Opens at noon.", title="Gate", type="decision", tags=["sea"])
    world.mirrored("Opens at one.", title="Gate two", type="lesson")
    filters: dict[str, Any] = {"types": ["decision"], "tags": ["sea"], "since": "2026-01-01"}
    pack = world.pack("gate opens", format="xml", intent="recent", **filters)
    assert [each.title for each in pack.items] == ["Gate"]
    assert (pack.intent, pack.format) == ("recent", "xml")
    assert pack.text.startswith("<context")


def test_of_contradicting_facts_the_newest_has_the_older_beside_it(world: PackWorld) -> None:
    old = world.mirrored("The harbour has 38 berths.", priority=3)
    world.mirrored("The harbour has a crane.", priority=1)
    new = world.mirrored("In summer, the harbour has 42 berths.", priority=1)
    pack = world.pack("how many berths has the harbour in summer")
    ids = [each.id for each in pack.items]
    assert ids[ids.index(new.id) + 1] == old.id
    reasons = {each.id: each.reason for each in pack.items}
    day = old.created_at[:10]
    assert f"contradicts “{old.title}”, of {day}" in reasons[new.id]
    assert f"contradicts “{new.title}”, of {day}" in reasons[old.id]
    assert pack.text.count(day) >= 2


def test_of_a_set_in_any_order_the_older_one_stands_beside_the_newest(world: PackWorld) -> None:
    old = world.mirrored("The harbour has 38 berths.", type="lesson", priority=1)
    world.mirrored("Row at night.", type="lesson", priority=1)
    new = world.mirrored("The harbour has 42 berths.", type="lesson", priority=3)
    pack = world.pack("What was the first lesson?")
    ids = [each.id for each in pack.items]
    assert ids[ids.index(new.id) + 1] == old.id


def test_facts_that_differ_in_one_value_are_no_duplicates(world: PackWorld) -> None:
    text = "The harbour of the islands beyond the sound and the skerries has {} berths for guests."
    for berths in (38, 42):
        world.mirrored(text.format(berths))
    assert len(world.pack("berths of the harbour").items) == 2


def test_a_pack_lists_its_themes_those_of_most_facts_first(world: PackWorld) -> None:
    world.agent_remembers("Berths are full", themeIds=["sea", "harbour"])
    world.agent_remembers("Berths are numbered", themeIds=["harbour"])
    world.agent_remembers("Berths are cold", themeIds=["weather"])
    assert world.pack("berths theme:harbour").themes == ("harbour", "sea")
    assert world.pack("tides theme:rain").themes == ()
