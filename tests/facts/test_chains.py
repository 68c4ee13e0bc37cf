"""Chains of versions: what becomes of the older version when its head is forgotten."""

from __future__ import annotations

import pytest

from tests.world import World, die
from vaultsync.errors import FactNotFoundError, StoreUnavailableError
from vaultsync.facts import service as work
from vaultsync.model.fact import Fact

EARLIER, LATER = "0193f6c2-0000-7000-8000-000000000001", "0193f6c2-0000-7000-8000-000000000002"


def chain(world: World) -> tuple[Fact, Fact]:
    old = world.agent_remembers("It is red.")
    world.clock.advance(1)
    return old, work.supersede(world.ctx, old.id, "It is blue.", agent="indy")


def test_a_newer_version_is_of_the_same_user_and_place(world: World) -> None:
    place = {"lineage": "ab", "repo": "[[r repository]]", "branch": "feat", "commit": "c0"}
    others = {"userId": "kim", "themeIds": "repo-ab", "reviewed": "yes"}
    old = world.agent_remembers("It is red.", **place, **others)
    new = work.supersede(world.ctx, old.id, "It is blue.", agent="indy")
    assert (new.user_id, new.theme_ids, new.properties) == ("kim", ("repo-ab",), place)

    elsewhere = world.agent_remembers("It is green.", branch="my own word")
    assert work.supersede(world.ctx, elsewhere.id, "Red.", agent="indy").properties == {}


def test_an_older_version_whose_head_lives_stays_as_it_is(world: World) -> None:
    old, new = chain(world)
    work.restore(world.ctx, old.id, agent="indy")
    assert world.fact(old.id).superseded_by_id == new.id
    assert work.forget(world.ctx, old.id, agent="indy").previous is None


@pytest.mark.parametrize("meanwhile", ["nothing", "the older version changes"])
def test_the_head_is_forgotten_and_the_older_version_restored_in_one_write(
    world: World, meanwhile: str
) -> None:
    old, new = chain(world)
    if meanwhile == "nothing":
        world.at("write", lambda: world.at("write", die))  # no second write
    else:
        world.others_write_first(old.id, times=1)
    done = work.forget(world.ctx, new.id, agent="indy", restore_previous=True)
    assert done.previous == old.id
    assert not world.is_alive(new.id)
    assert world.fact(old.id).superseded_by_id is None


def test_a_head_is_not_forgotten_where_the_older_version_cannot_be_restored(world: World) -> None:
    _, new = chain(world)
    world.quiesce()
    with world.outage(), pytest.raises(StoreUnavailableError):
        work.forget(world.ctx, new.id, agent="indy", restore_previous=True)
    assert world.archive.outbox() == []


def test_restoring_the_head_hides_the_older_version_again(world: World) -> None:
    old, new = chain(world)
    work.forget(world.ctx, new.id, agent="indy")
    work.restore(world.ctx, old.id, agent="indy")
    work.restore(world.ctx, new.id, agent="indy")
    assert world.fact(old.id).superseded_by_id == new.id
    assert world.fact(new.id).supersedes_id == old.id


def test_a_version_that_is_gone_or_of_another_agent_is_left_alone(world: World) -> None:
    old, new = chain(world)
    work.forget(world.ctx, old.id, agent="indy")
    assert work.forget(world.ctx, new.id, agent="indy").previous is None
    private = world.agent_remembers("It is red.", agent="ada", scope="private-ada")
    public = world.agent_remembers("It is blue.", supersedesId=private.id)
    with pytest.raises(FactNotFoundError):
        work.get(world.ctx, private.id, agent="indy")
    assert work.forget(world.ctx, public.id, agent="indy").previous is None
    work.restore(world.ctx, public.id, agent="indy")
    assert world.fact(private.id).superseded_by_id is None


def test_while_the_store_is_away_no_older_version_is_named(world: World) -> None:
    _, new = chain(world)
    world.quiesce()
    with world.outage():
        assert work.forget(world.ctx, new.id, agent="indy").previous is None


def test_a_head_that_comes_back_replaces_no_version_gone_or_of_another_head(world: World) -> None:
    old, new = chain(world)
    work.forget(world.ctx, new.id, agent="indy")
    work.restore(world.ctx, old.id, agent="indy")
    other = work.supersede(world.ctx, old.id, "It is green.", agent="indy")
    assert work.restore(world.ctx, new.id, agent="indy").status == "active"
    assert world.fact(old.id).superseded_by_id == other.id


def long_chain(world: World) -> list[str]:
    ids = [world.agent_remembers("It is 1.").id]
    for number in range(2, 5):
        world.clock.advance(1)
        ids.append(work.supersede(world.ctx, ids[-1], f"It is {number}.", agent="indy").id)
    return ids


def test_the_newest_version_there_is_offered_whatever_is_forgotten_between(world: World) -> None:
    first, second, third, head = long_chain(world)
    assert work.forget(world.ctx, third, agent="indy").previous is None
    assert work.forget(world.ctx, second, agent="indy").previous is None
    assert work.forget(world.ctx, head, agent="indy").previous == first
    assert world.fact(first).superseded_by_id == second
    assert work.restore(world.ctx, first, agent="indy").status == "active"
    assert world.fact(first).superseded_by_id is None
    work.restore(world.ctx, head, agent="indy")
    assert world.fact(first).superseded_by_id == second


def test_a_chain_whose_versions_are_erased_or_form_a_ring_offers_nothing(world: World) -> None:
    first, second, third, head = long_chain(world)
    erased = world.agent_remembers("It is 5.", supersedesId=EARLIER, supersededById=LATER)
    assert work.forget(world.ctx, erased.id, agent="indy").previous is None
    work.forget(world.ctx, second, agent="indy")
    ring = {"supersedesId": third, "supersededById": third}
    work.update(world.ctx, third, ring, agent="indy")
    assert work.forget(world.ctx, third, agent="indy").previous is None
    assert world.is_alive(first)
    assert world.is_alive(head)


def test_a_fact_that_is_forgotten_meanwhile_is_restored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = world.agent_remembers("Tea at four.")
    tombstone = world.store.tombstone

    def forgets(fact_id: str) -> Fact | None:
        found = tombstone(fact_id)
        monkeypatch.undo()
        work.forget(world.ctx, fact_id, agent="indy")
        return found

    monkeypatch.setattr(world.store, "tombstone", forgets)
    assert work.restore(world.ctx, fact.id, agent="indy").status == "active"
    assert work.get(world.ctx, fact.id, agent="indy").content == "Tea at four."
