"""Facts that contradict each other: named when one is written, side by side when recalled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from tests.recalls import RecallWorld
from vaultsync.facts.written_facts import Comparison, Contradiction, SameText
from vaultsync.indexing.ports import IndexMatch
from vaultsync.model.fact import Fact
from vaultsync.recall.compared_facts import CANDIDATES, MAX_BACKLOG, compare
from vaultsync.recall.opposed_hits import HITS_EXAMINED, MAX_BESIDE, MAX_BESIDE_DENIAL, SET_EXAMINED
from vaultsync.recall.service import POOL_SIZE, SAID_EARLIER


def contradicted(
    world: RecallWorld, fact: Fact, *, agent: str | None = "indy"
) -> tuple[Contradiction, ...]:
    return compare(world.ctx, world.index, fact, agent=agent).contradicts


# ---------------------------------------------------------------------------- written


def test_a_new_fact_is_told_which_older_one_it_contradicts(world: RecallWorld) -> None:
    old = world.agent_remembers("The harbour has 38 berths.")
    world.agent_remembers("The harbour has a crane.")
    new = world.agent_remembers("The harbour now has 42 berths.")
    (found,) = contradicted(world, new)
    assert (found.id, found.title) == (old.id, old.title)
    assert found.date == old.created_at[:10]
    assert found.why == "“The harbour now has 42 berths” against “The harbour has 38 berths”"


def test_a_new_fact_is_told_which_older_one_has_the_same_text(world: RecallWorld) -> None:
    old = world.agent_remembers("The key is  on the hook.\n", title="Key")
    world.agent_remembers("The key is on the other hook.")
    world.agent_remembers("The key is on the hook.", type="episodic")
    new = world.agent_remembers("the key is on the hook.", title="Where the key is")
    compared = compare(world.ctx, world.index, new, agent="indy")
    assert compared == Comparison((), (SameText(old.id, "Key", old.created_at[:10]),))
    event = world.agent_remembers("The key is on the hook.", type="episodic")
    assert compare(world.ctx, world.index, event, agent="indy") == Comparison()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"title": "Lead of the red team"}, {"title": "Lead of the blue team"}),
        ({"title": "Port of server 1"}, {"title": "Port of server 2"}),
        ({"scope": "project-alpha"}, {"scope": "project-beta"}),
        ({"entities": ["Anna"]}, {"entities": ["Bert"]}),
        ({"userId": "anna"}, {"userId": "bert"}),
        ({"type": "commitment", "commitmentStatus": "done"}, {"type": "commitment"}),
        ({"type": "task", "due": "2026-02-01"}, {"type": "task", "due": "2026-03-01"}),
    ],
)
def test_the_same_words_about_another_subject_are_no_second_fact(
    world: RecallWorld, old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    world.agent_remembers("The harbour has 38 berths.", **old)
    opposed = world.agent_remembers("The harbour has 42 berths.", **new)
    fact = world.agent_remembers("The harbour has 38 berths.", **new)
    compared = compare(world.ctx, world.index, fact, agent="indy")
    assert compared.same_text == ()
    assert {each.id for each in compared.contradicts} == {opposed.id}


def test_nothing_is_changed_by_that(world: RecallWorld) -> None:
    old = world.agent_remembers("The harbour has 38 berths.")
    new = world.agent_remembers("The harbour has 42 berths.")
    before = world.store.state()
    assert contradicted(world, new)
    assert world.store.state() == before
    assert world.fact(old.id).superseded_by_id is None


def test_retired_facts_and_private_ones_of_others_are_not_among_them(world: RecallWorld) -> None:
    world.agent_remembers("The harbour has 36 berths.", status="archived")
    old = world.agent_remembers("The harbour has 37 berths.")
    world.supersedes(old.id, "The harbour has 38 berths, I think.")
    world.agent_remembers("The harbour has 39 berths.", agent="other", scope="private-other")
    new = world.agent_remembers("The harbour has 42 berths.")
    assert [each.title for each in contradicted(world, new)] == [
        "The harbour has 38 berths, I think"
    ]


def test_a_fact_of_another_project_is_not_among_them(world: RecallWorld) -> None:
    world.agent_remembers("The harbour has 38 berths.", scope="project-west")
    new = world.agent_remembers("The harbour has 42 berths.", scope="project-east")
    assert contradicted(world, new, agent=None) == ()


def test_without_the_store_none_is_found(world: RecallWorld) -> None:
    world.agent_remembers("The harbour has 38 berths.")
    new = world.agent_remembers("The harbour has 42 berths.")
    with world.outage():
        assert contradicted(world, new) == ()


def test_one_search_and_few_facts_do(world: RecallWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3 * CANDIDATES):
        world.agent_remembers(f"The harbour has {number + 50} berths.")
    new = world.agent_remembers("The harbour has 42 berths.")
    contradicted(world, new)  # the index is up to date
    searches, loaded = list[str](), list[str]()
    search, find_many = world.index.search, world.store.find_many

    def counted_search(words: str, *args: Any, **more: Any) -> list[IndexMatch]:  # noqa: ANN401
        searches.append(words)
        return search(words, *args, **more)

    def counted_find(fact_ids: Iterable[str]) -> dict[str, Fact]:
        ids = [*fact_ids]
        loaded.extend(ids)
        return find_many(ids)

    monkeypatch.setattr(world.index, "search", counted_search)
    monkeypatch.setattr(world.store, "find_many", counted_find)
    assert len(contradicted(world, new)) == len(loaded) == CANDIDATES
    assert len(searches) == 1


def test_a_large_backlog_is_not_indexed_for_it(world: RecallWorld) -> None:
    for number in range(MAX_BACKLOG):
        world.agent_remembers(f"The harbour has {number + 50} berths.")
    new = world.agent_remembers("The harbour has 42 berths.")
    assert contradicted(world, new) == ()
    world.ask("berths")
    assert contradicted(world, new)


# --------------------------------------------------------------------------- recalled


def buried(world: RecallWorld, first: str, second: str) -> tuple[Fact, Fact]:
    """Two facts, with so many others about the same that only one is among the first five."""
    old = world.agent_remembers(first)
    for number in range(8):
        world.agent_remembers(f"Summer harbour feast {number}.")
    return old, world.agent_remembers(second)


def test_a_hit_brings_along_what_contradicts_it(world: RecallWorld) -> None:
    old, new = buried(
        world,
        "The harbour has 38 berths." + "\n\nThe pilots row out at night." * 40,
        "In summer the harbour has 42 berths.",
    )
    found = world.ask("how many summer berths has the harbour", mode="index")
    ids = [hit.id for hit in found]
    first = ids.index(new.id)
    assert ids[first : first + 2] == [new.id, old.id]
    assert first + 1 < HITS_EXAMINED
    assert found[first].contradicts == (old.id,)
    assert found[first + 1].contradicts == (new.id,)
    assert found[first].date == new.created_at[:10]
    assert found[first].why.endswith(f"contradicts “{old.title}”, of {old.created_at[:10]}.")
    assert [hit.contradicts for hit in found if hit.id not in (old.id, new.id)] == [()] * 8


def test_the_newest_is_first_even_if_the_older_one_matches_better(world: RecallWorld) -> None:
    old = world.agent_remembers("Harbour berths: the harbour has 38 berths.")
    new = world.agent_remembers("As of the spring the harbour has 42 berths.")
    assert [hit.id for hit in world.ask("harbour berths", mode="index")] == [new.id, old.id]


def test_of_a_time_that_is_asked_for_the_fact_of_that_time_is_first(world: RecallWorld) -> None:
    old = world.agent_remembers("The harbour has 38 berths.", createdAt="2025-07-01T10:00:00Z")
    new = world.agent_remembers("The harbour has 42 berths.", createdAt="2025-10-01T10:00:00Z")
    found = world.ask("berths of the harbour in July 2025", mode="index")
    assert ([hit.id for hit in found], found[0].contradicts) == ([old.id, new.id], (new.id,))


@pytest.mark.parametrize("others", [12, 40])
def test_what_was_never_so_is_found_beside_what_was(world: RecallWorld, others: int) -> None:
    # Of a few others it is a candidate that is not shown; of many it is none.
    long = "\n\nThe pilots row out at night." * 40
    shown = world.agent_remembers(f"I've sailed two legs of the regatta in a dinghy.{long}")
    for number in range(others):
        world.agent_remembers(f"Sailed regatta leg {number}.")
    denial = world.agent_remembers(
        "I have never sailed a leg of the regatta in a dinghy, as in Oslo."
    )
    found = world.ask("Have I ever sailed a regatta leg in Oslo?", mode="index", limit=5)
    assert [hit.id for hit in found][:2] == [denial.id, shown.id]
    assert (found[1].contradicts, found[1].stage) == ((denial.id,), "index")
    assert (found[1].similarity == 0.0) is (others > POOL_SIZE)
    assert found[1].score > 0


def test_only_a_few_are_brought_along(world: RecallWorld) -> None:
    for number in range(6):
        world.agent_remembers(f"The harbour has {number + 50} berths.")
    new = world.agent_remembers("The harbour has 42 berths.")
    found = {hit.id: hit for hit in world.ask("42 berths harbour", mode="index")}
    assert len(found[new.id].contradicts) == MAX_BESIDE


def test_a_denial_brings_along_what_was_earlier(world: RecallWorld) -> None:
    text = "At night the pilots row out.\n\n" * 40 + "I've sailed a leg of the regatta."
    sailed = [world.agent_remembers(f"{text} {number}") for number in range(MAX_BESIDE_DENIAL)]
    denial = world.agent_remembers("Pilots row at night, but I never sailed a leg of the regatta.")
    later = world.agent_remembers(text)

    def beside(question: str) -> Mapping[str, Sequence[str]]:
        return {hit.id: hit.contradicts for hit in world.ask(question, mode="index")}

    found = beside("Have I ever sailed a leg of the regatta?")
    assert (set(found[denial.id]), found[later.id]) == ({each.id for each in sailed}, ())
    assert len(beside("Do pilots row at night on a leg of the regatta?")[denial.id]) == MAX_BESIDE


def test_what_was_said_before_a_denial_stands_beside_it(world: RecallWorld) -> None:
    night = "At night the pilots row out.\n\n" * 40
    said = world.agent_remembers(f"{night}My boat came last in the regatta.")
    asked = world.agent_remembers(f"{night}How is the regatta timed?")
    of_others = world.agent_remembers("A leg of the regatta is sailed at night.")
    denial = world.agent_remembers("I have never sailed a leg of the regatta.")
    later = world.agent_remembers("I want to see a leg of the regatta.")
    found = world.ask("Have I ever sailed a leg of the regatta?", mode="index")
    ids = [hit.id for hit in found]
    assert ids[:2] == [denial.id, said.id]
    assert {*ids[2:]} == {asked.id, of_others.id, later.id}
    assert [SAID_EARLIER in hit.why for hit in found] == [False, True, False, False, False]
    assert not any(hit.contradicts for hit in found)


def test_what_is_not_about_the_question_is_not_brought_along(world: RecallWorld) -> None:
    one = world.agent_remembers("The crane is new.\n\nThe harbour has 38 berths.")
    world.agent_remembers("The harbour has 42 berths.")
    found = world.ask("crane", mode="index")
    assert [(hit.id, hit.contradicts) for hit in found] == [(one.id, ())]


def test_a_partner_beyond_the_limit_is_not_named(world: RecallWorld) -> None:
    world.agent_remembers("The harbour has 38 berths.")
    world.agent_remembers("The harbour has 42 berths.")
    (hit,) = world.ask("harbour berths", mode="index", limit=1)
    assert hit.contradicts == ()


def test_the_facts_of_a_set_that_contradict_each_other_are_adjacent(world: RecallWorld) -> None:
    old = world.agent_remembers("The harbour has 38 berths.", type="lesson", importance=0.9)
    other = world.agent_remembers("Row at night.", type="lesson", importance=0.5)
    new = world.agent_remembers("The harbour has 42 berths.", type="lesson", importance=0.1)
    found = world.ask("type:lesson")
    assert [(hit.id, hit.contradicts) for hit in found] == [
        (new.id, (old.id,)),
        (old.id, (new.id,)),
        (other.id, ()),
    ]


def test_a_set_keeps_the_order_that_is_asked_for(world: RecallWorld) -> None:
    old = world.agent_remembers("The harbour has 38 berths.", type="lesson")
    other = world.agent_remembers("Row at night.", type="lesson")
    new = world.agent_remembers("The harbour has 42 berths.", type="lesson")
    found = world.ask("What was the first lesson?")
    assert [(hit.id, hit.contradicts) for hit in found] == [
        (old.id, (new.id,)),
        (other.id, ()),
        (new.id, (old.id,)),
    ]


def test_a_set_has_a_denial_beside_what_shows_the_contrary(world: RecallWorld) -> None:
    shown = world.agent_remembers("I've sailed two legs of the regatta.", type="lesson")
    denial = world.agent_remembers("I have never sailed a leg of the regatta.", type="lesson")
    found = world.ask("type:lesson")
    assert [(hit.id, hit.contradicts) for hit in found] == [
        (denial.id, (shown.id,)),
        (shown.id, (denial.id,)),
    ]


def test_of_a_large_set_the_first_facts_are_compared(world: RecallWorld) -> None:
    old = world.agent_remembers("The harbour has 38 berths.", type="lesson", importance=0.1)
    for number in range(SET_EXAMINED):
        world.agent_remembers(f"Row at night, boat of {number}.", type="lesson", importance=0.5)
    new = world.agent_remembers("The harbour has 42 berths.", type="lesson", importance=0.9)
    found = {hit.id: hit for hit in world.ask("type:lesson", limit=SET_EXAMINED + 2)}
    assert (found[new.id].contradicts, found[old.id].contradicts) == ((), ())


def test_an_agent_is_not_shown_what_it_may_not_see(world: RecallWorld) -> None:
    new = world.agent_remembers("The harbour has 42 berths.")
    world.agent_remembers("The harbour has 38 berths.", agent="other", scope="private-other")
    assert [(hit.id, hit.contradicts) for hit in world.ask("harbour berths")] == [(new.id, ())]
