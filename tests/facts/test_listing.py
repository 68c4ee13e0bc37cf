"""Pages of facts: what is listed by default, and what the page says it hides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.world import World
from vaultsync.errors import FactNotFoundError
from vaultsync.facts.listing import (
    MAX_COUNTED_DELETED,
    MAX_MATCHING,
    FactPage,
    NewestIds,
    select_facts,
)
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import HiddenMatches
from vaultsync.storage.store import StoreWrite


def listed(world: World, agent: str | None = None, **filters: Any) -> FactPage:  # noqa: ANN401 - what select_facts() takes
    return select_facts(world.ctx, agent=agent, **filters)


def titles(page: FactPage) -> list[str]:
    return [fact.title for fact in page.facts]


def test_a_list_hides_deleted_facts_alone_and_says_how_many(world: World) -> None:
    for status in ("done", "archived", "active"):
        world.agent_remembers(f"It is {status}", status=status, priority=4)
    gone = world.agent_remembers("Gone", tags=["x"])
    world.agent_forgets(gone.id)
    other = world.agent_remembers("Of Ada", agent="ada", scope="private-ada")
    world.agent_forgets(other.id, agent="ada")

    page = listed(world, agent="indy")
    assert titles(page) == ["It is done", "It is archived", "It is active"]
    assert page.hidden == (HiddenMatches(1, "forgotten"),)
    assert listed(world).hidden == (HiddenMatches(2, "forgotten"),)
    assert listed(world, tags=["x"], agent="indy").hidden == (HiddenMatches(1, "forgotten"),)
    assert listed(world, tags=["y"]).hidden == ()
    assert listed(world, among={gone.id}).hidden == (HiddenMatches(1, "forgotten"),)

    everything = listed(world, agent="indy", include_deleted=True)
    assert titles(everything) == [*titles(page), "Gone"]
    assert (everything.facts[-1].status, everything.hidden) == ("forgotten", ())
    assert titles(listed(world, agent="indy", status="forgotten")) == ["Gone"]
    assert titles(listed(world, status="archived")) == ["It is archived"]
    newest = listed(world, agent="indy", include_deleted=True, newest=True)
    assert titles(newest) == titles(everything)[::-1]


def test_facts_with_the_status_forgotten_are_listed_with_the_deleted_ones(world: World) -> None:
    world.agent_remembers("Said to be", status="forgotten")
    world.agent_forgets(world.agent_remembers("Gone").id)
    world.agent_remembers("There")
    page = listed(world, status="forgotten")
    assert titles(page) == ["Said to be", "Gone"]
    assert {fact.status for fact in page.facts} == {"forgotten"}
    assert titles(listed(world)) == ["Said to be", "There"]


def test_superseded_facts_are_listed_and_can_be_listed_alone(world: World) -> None:
    old = world.mirrored("Old")
    new = world.mirrored("New", supersedesId=old.id)
    world.agent_updates(old.id, supersededById=new.id)
    assert len(listed(world).facts) == 2
    assert [fact.id for fact in listed(world, status="superseded").facts] == [old.id]


def test_the_newest_page_reads_few_more_facts_than_it_shows(world: World) -> None:
    for number in range(200):
        world.agent_remembers(f"Fact {number}")
    find, read = world.store.find_many, []

    def counting(fact_ids: Iterable[str]) -> dict[str, Fact]:
        ids = list(fact_ids)
        read.extend(ids)
        return find(ids)

    world.store.find_many = counting  # type: ignore[method-assign]
    page = listed(world, newest=True, limit=20, newest_ids=by_creation(world))
    assert len(page.facts) == 20
    assert len(read) <= 22


@pytest.mark.parametrize("more", [{}, {"include_deleted": True}, {"among": None}, {"tags": ["x"]}])
@pytest.mark.parametrize("has_index", [True, False])
def test_the_newest_are_listed_by_their_creation_whatever_their_ids(
    world: World, more: dict[str, Any], *, has_index: bool
) -> None:
    made = []
    for number in range(24):
        # Facts of hooks, modules and imports have ids without a time; some share a second.
        at = f"2026-01-{1 + number * 7 % 12:02}T10:00:00{'.5' if number % 5 == 0 else ''}Z"
        at = at if number % 7 else ["", "9999-12-31T23:59:59.999999Z"][number % 2]
        fact_id = f"{number * 41 % 97:08x}-0000-8000-8000-000000000000"
        tags = ["x"] if number % 2 else []
        made.append(world.agent_remembers(f"Fact {number}", id=fact_id, createdAt=at, tags=tags))
    for fact in made[::6]:
        world.agent_forgets(fact.id)
    expected = sorted(made, key=lambda x: (to_microseconds(x.created_at), x.id), reverse=True)
    hidden = set() if "include_deleted" in more else {fact.id for fact in made[::6]}
    given = more | ({"among": {fact.id for fact in made}} if "among" in more else {})
    expected = [x for x in expected if x.id not in hidden and ("tags" not in more or x.tags)]

    for limit in (1, 3, 30):
        after: str | None = None
        walked: list[str] = []
        while not walked or after:
            index: dict[str, Any] = {"newest_ids": by_creation(world)} if has_index else {}
            page = listed(world, newest=True, limit=limit, after=after, **index, **given)
            walked += titles(page)
            after = page.next
        assert walked == [fact.title for fact in expected]


def by_creation(world: World) -> NewestIds:
    """What a note index knows; facts that were created at the same time are in any order."""

    def find(filters: FactFilters, limit: int) -> list[str]:
        assert limit <= MAX_MATCHING + 1
        facts = [fact for fact in world.store.iter_facts() if filters.admits(fact)]
        facts.sort(key=lambda fact: (to_microseconds(fact.created_at), fact.title), reverse=True)
        return [fact.id for fact in facts[:limit]]

    return find


def test_the_newest_continue_only_after_a_fact_that_the_agent_may_know(world: World) -> None:
    unknown = world.clock.new_id()
    hidden = world.agent_remembers("Of Ada", agent="ada", scope="private-ada").id
    for after in (unknown, hidden):
        with pytest.raises(FactNotFoundError):
            listed(world, agent="indy", newest=True, after=after, newest_ids=by_creation(world))
    known = world.agent_remembers("Of all", scope="public").id
    page = listed(world, agent="indy", newest=True, after=known, newest_ids=by_creation(world))
    assert page.facts == ()


def test_of_very_many_deleted_facts_only_the_first_are_counted(world: World) -> None:
    fact = world.agent_remembers("Gone")
    ids = [world.clock.new_id() for _ in range(MAX_COUNTED_DELETED + 5)]
    first = [StoreWrite(each, fact.evolve(id=each), None, "x") for each in ids]
    revisions = world.store.write(first)
    world.store.write(
        [StoreWrite(each, None, str(r), "x") for each, r in zip(ids, revisions, strict=True)]
    )
    (hidden,) = listed(world).hidden
    assert hidden.count == MAX_COUNTED_DELETED


def test_a_list_shows_no_path_of_a_note_that_is_missing(world: World) -> None:
    fact = world.mirrored("Tea is green")
    assert [each.path for each in listed(world).facts] == [world.path(fact.id)]
    missing = world.base(fact.id)._replace(missing_since="2026-01-01T00:00:00Z")
    with world.archive.transaction():
        world.archive.put_bases([missing])
    assert [each.path for each in listed(world).facts] == [None]


@pytest.mark.parametrize("newest", [False, True])
def test_a_list_of_few_facts_is_the_same_by_their_ids(world: World, newest: bool) -> None:
    for number in range(9):
        world.agent_remembers(f"Fact {number}", tags=["rare"] if number % 3 else [])
    world.agent_forgets(world.agent_remembers("Gone", tags=["rare"]).id)

    def matching(filters: FactFilters) -> list[str]:
        return [fact.id for fact in world.store.iter_facts() if filters.admits(fact)]

    for more in ({}, {"include_deleted": True}, {"status": "forgotten"}, {"among": matching}):
        given = more | {"among": matching(FactFilters())} if "among" in more else more
        after: str | None = None
        for _ in range(3):
            asked: dict[str, Any] = {
                "tags": ["rare"],
                "newest": newest,
                "limit": 3,
                "after": after,
                **given,
            }
            page = listed(world, **asked)
            assert listed(world, newest_ids=by_creation(world), **asked) == page
            after = page.next or after


def test_a_list_that_filters_nothing_asks_no_index(world: World) -> None:
    world.agent_remembers("A fact")

    def fails(*_: object) -> None:
        raise AssertionError

    page = listed(world, newest_ids=fails, limit=1)
    assert (titles(page), page.next) == (["A fact"], None)
