"""What an answer hides: what vaultsync retired, never what a person wrote in words of their own."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.doubles.note_index import TemporaryIndex
from tests.recalls import RecallWorld
from vaultsync.errors import InvalidFieldError
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.model.hiding import HiddenMatches
from vaultsync.model.permissions import Permissions, Reader
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.service import RecallSearch
from vaultsync.storage.store import StoreWrite
from vaultsync.storage.store_view import visible_store


def hidden(
    world: RecallWorld,
    question: str = "berths",
    **more: Any,  # noqa: ANN401 - what a `RecallRequest` takes
) -> dict[str, int]:
    return {each.reason: each.count for each in world.ask(question, **more).hidden}


@pytest.mark.parametrize("status", ["done", "reading", "Erledigt", "dormant"])
def test_a_status_of_the_author_hides_nothing(world: RecallWorld, status: str) -> None:
    fact = world.agent_remembers("Berths are numbered.", status=status)
    found = world.ask("berths")
    assert ([hit.id for hit in found], found.hidden) == ([fact.id], ())


@pytest.mark.parametrize("priority", [3, 4])
def test_a_low_priority_hides_nothing_of_a_person(world: RecallWorld, priority: int) -> None:
    own = world.agent_remembers("Berths of a person.", agent="", priority=priority)
    theirs = world.agent_remembers("Berths of an agent.", priority=priority)
    found = world.ask("berths")
    assert [hit.id for hit in found] == [own.id]
    assert found.hidden == (HiddenMatches(1, "background"),)
    lifts: list[dict[str, Any]] = [{"max_priority": 4}, {"all": True}]
    for lifted in lifts:
        assert {hit.id for hit in world.ask("berths", **lifted)} == {own.id, theirs.id}
        assert hidden(world, **lifted) == {}
    assert len(world.ask("berths", max_priority=2)) == 0
    assert len(world.ask("berths tier:background")) == 2


@pytest.mark.parametrize("status", ["superseded", "archived", "expired", "forgotten"])
def test_a_retired_fact_is_hidden_and_the_answer_says_so(world: RecallWorld, status: str) -> None:
    world.agent_remembers("Berths of old.", status=status)
    found = world.ask("berths")
    assert len(found) == 0
    assert found.hidden == (HiddenMatches(1, status),)
    assert len(world.ask("berths", all=True)) == 1


def test_a_fact_that_expired_is_hidden_and_counted(world: RecallWorld) -> None:
    world.agent_remembers("Berths until spring.", expiresAt="2020-01-01T00:00:00Z")
    later = world.agent_remembers("Berths for ever.", expiresAt="2999-01-01T00:00:00Z")
    found = world.ask("berths")
    assert [hit.id for hit in found] == [later.id]
    assert found.hidden == (HiddenMatches(1, "expired"),)
    assert len(world.ask("berths", all=True)) == 2


def test_a_hidden_match_is_counted_by_the_first_default_that_hides_it(world: RecallWorld) -> None:
    for number in range(3):
        old = world.agent_remembers(f"Berths cost {number}.", status="archived", priority=4)
        world.supersedes(old.id, f"Moorings cost {number}.")
    world.agent_remembers("Berths in the attic.", status="archived", priority=4)
    world.agent_remembers("Berths in the background.", priority=4)
    world.agent_remembers("Berths today.")
    assert hidden(world) == {"superseded": 3, "archived": 1, "background": 1}
    assert hidden(world, heads_only=False) == {"archived": 4, "background": 1}


def test_only_matches_are_counted_and_only_those_that_pass_the_filters(world: RecallWorld) -> None:
    world.agent_remembers("Berths of old.", status="archived", type="lesson", userId="u-1")
    world.agent_remembers("Berths by priority.", status="archived", priority=0)
    world.agent_remembers("Something else.", status="archived")
    assert hidden(world) == {"archived": 2}
    assert hidden(world, types=["lesson"]) == {"archived": 1}
    assert hidden(world, user="u-1") == {"archived": 1}
    assert hidden(world, "berths tier:critical") == {"archived": 1}
    assert hidden(world, '"of old" berths') == {"archived": 1}
    assert hidden(world, "nothing of it") == {}


def test_hidden_facts_of_a_theme_are_counted(world: RecallWorld) -> None:
    world.agent_remembers("Berths of old.", status="archived", themeIds=["Harbour"])
    world.agent_remembers("Berths of another theme.", status="archived", themeIds=["money"])
    world.agent_remembers("Moorings of old.", status="archived", themeIds=["harbour"])
    assert hidden(world, "berths theme:harbour") == {"archived": 1}
    assert hidden(world, "theme:harbour") == {"archived": 2}


def test_what_an_agent_cannot_see_is_not_counted(world: RecallWorld) -> None:
    world.agent_remembers("Berths of Ada.", agent="ada", status="archived", scope="private-ada")
    world.agent_remembers("Berths of all.", status="archived", scope="public")
    assert hidden(world, agent="indy") == {"archived": 1}
    assert hidden(world, agent="ada") == {"archived": 2}
    assert hidden(world, agent=None) == {"archived": 2}


def test_a_status_that_is_asked_for_is_found_whatever_it_means(world: RecallWorld) -> None:
    archived = world.agent_remembers("Berths of old.", status="archived")
    old = world.agent_remembers("Berths cost 100.")
    new = world.supersedes(old.id, "Berths cost 120.")
    assert [hit.id for hit in world.ask("berths", status="archived")] == [archived.id]
    assert [hit.id for hit in world.ask("berths", status="superseded")] == [old.id]
    assert [hit.id for hit in world.ask("berths", status="active")] == [new.id]
    with pytest.raises(InvalidFieldError, match="list --status forgotten"):
        world.ask("berths", status="forgotten")


def test_vectors_of_facts_that_an_agent_cannot_see_shift_no_score(world: RecallWorld) -> None:
    for number in range(60):
        world.agent_remembers(f"The berth of boat {number} is numbered.", scope="public")
    world.embed()
    alone = world.ask("which berth", mode="vector", limit=50)
    for number in range(300):
        text = f"Which berth is numbered {number}?"
        world.agent_remembers(text, agent="ada", scope="private-ada")
    world.embed()
    beside = world.ask("which berth", mode="vector", limit=50)
    found, expected = ({hit.id: hit.similarity for hit in each} for each in (beside, alone))
    assert found == expected
    assert [hit.id for hit in world.ask("which berth", mode="vector", agent="ada")] != [
        hit.id for hit in alone.hits[:10]
    ]


def test_an_agent_is_answered_from_the_index_of_what_it_sees(world: RecallWorld) -> None:
    world.agent_remembers("Berths of Ada.", agent="ada", scope="private-ada")
    own = world.agent_remembers("Berths of all.", scope="public")
    index = TemporaryIndex()
    ctx = replace(world.ctx, store=visible_store(world.store, Reader("indy", Permissions())))
    sources = replace(world.sources, visible_index=lambda: (index, catch_up_note_index(ctx, index)))
    search = RecallSearch(sources, RecallRequest("berths", agent="indy"))
    assert [hit.id for hit in search.answer()] == [own.id]
    assert search.index.count() == index.count() == 1


def test_many_hidden_facts_that_are_nearer_do_not_crowd_out_the_others(world: RecallWorld) -> None:
    for number in range(120):
        world.agent_remembers(f"Which berth is it? {number}", status="archived")
    kept = world.agent_remembers("A berth of the harbour, numbered from the sea.")
    world.embed()
    assert [hit.id for hit in world.ask("Which berth is it?", mode="vector", agent=None)] == [
        kept.id
    ]


def test_what_replaced_the_best_match_comes_first(world: RecallWorld) -> None:
    old = world.agent_remembers("Use RabbitMQ between the services.", type="decision")
    middle = world.supersedes(old.id, "Send events through Kafka.")
    world.agent_remembers("The services are small, and one of them sends mails.")
    why = "Why did we drop RabbitMQ between services?"
    assert world.titles(why)[0] == middle.title
    newest = world.supersedes(middle.id, "JetStream carries all events.")
    found = world.ask(why)
    assert found.hits[0].id == newest.id
    assert "replaces what matches best" in found.hits[0].why
    assert found.answerable > 0
    assert newest.id not in {hit.id for hit in world.ask("Which of the services sends mails?")}
    lesson = world.agent_remembers("Learned: count messages.", title="Lost", type="lesson")
    assert world.titles("What did we learn of RabbitMQ between services?")[0] == lesson.title
    later = world.supersedes(newest.id, "Nothing is sent.")
    world.agent_updates(later.id, status="archived")
    assert later.id not in {hit.id for hit in world.ask(why)}


def test_what_replaced_a_fact_is_not_shown_to_those_who_may_not_see_it(world: RecallWorld) -> None:
    old = world.agent_remembers("Berths are free.", scope="public")
    new = world.supersedes(old.id, "Moorings cost 100.")
    world.agent_updates(new.id, scope="private-indy")
    assert world.titles("Are berths free?") == ["Moorings cost 100"]
    assert world.titles("Are berths free?", agent="ada") == []


def test_a_chain_of_replaced_facts_without_an_end_has_no_newest_version(world: RecallWorld) -> None:
    world.agent_remembers("Boats are free.")
    old = world.agent_remembers("Berths are free.")
    new = world.supersedes(old.id, "Moorings cost 100.")
    assert world.titles("Are berths free?")[0] == "Moorings cost 100"
    circle = new.evolve(superseded_by_id=old.id, revision="")
    world.store.write([StoreWrite(new.id, circle, world.store.get(new.id).revision, "x")])
    assert world.titles("Are berths free?") == ["Boats are free"]
    world.agent_forgets(new.id)
    assert world.titles("Are berths free?") == ["Boats are free"]


def test_what_replaced_a_match_that_is_hardly_better_is_not_added(world: RecallWorld) -> None:
    old = world.agent_remembers("Joaquim keeps the server of the harbour.")
    world.supersedes(old.id, "The box is in the attic.")
    world.agent_remembers("Mara looks after the server.")
    assert world.titles("Who looks after the server of the harbour?")[0].startswith("Mara")
    world.embed()
    assert not any("replaces" in hit.why for hit in world.ask("Joaquim keeps", mode="vector"))
    assert any("replaces" in hit.why for hit in world.ask("Joaquim keeps", mode="fused"))
