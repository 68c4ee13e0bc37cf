"""Other writers are faster than we are: the write is repeated, or it is said."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest

from tests.world import AGENTS, ALPHA, LINES, PERSONS, PERSONS_ALPHA, World, kinds, notice
from vaultsync import errors
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.operations.export_import import import_facts
from vaultsync.operations.undo import undo_run
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict
from vaultsync.sync.sync_request import SyncRequest

ALWAYS = 1_000


@pytest.mark.parametrize("times", [2, ALWAYS])
def test_an_overtaken_outbox_goes_on_top_of_others(world: World, fact: Fact, times: int) -> None:
    with world.outage():
        world.agent_updates(fact.id, status="archived")
    world.others_write_first(fact.id, times=times)
    world.sync()
    world.store.before = lambda _: None
    assert (world.archive.outbox() == []) is (times == 2)
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert now.status == "archived"
    assert now.access_count >= 2
    assert world.archive.outbox() == []


def test_an_edit_in_an_outage_gives_back_what_the_store_lost(world: World, fact: Fact) -> None:
    with world.outage():
        world.agent_updates(fact.id, status="archived")
    world.store.clear()
    world.confirm()
    world.assert_at_rest()
    assert world.archive.outbox() == []
    waited = [x for x in world.archive.history(fact_id=fact.id) if x.field == "outbox"]
    assert [x.after for x in waited] == [{"status": "archived"}]
    assert world.fact(fact.id).content == LINES
    assert world.fact(fact.id).status == "archived"


def test_in_an_outage_each_fact_is_known_with_its_own_edits_only(world: World) -> None:
    one, two = world.mirrored(title="One"), world.mirrored(title="Two")
    world.store.away = True
    world.agent_updates(one.id, status="archived")
    world.agent_updates(two.id, priority=0)
    found = fact_work.get(world.ctx, two.id, agent="indy")
    assert (found.title, found.status, found.priority) == ("Two", "active", 0)


def test_a_fact_that_only_the_store_knows_by_now_cannot_be_read_without_it(world: World) -> None:
    world.store.away = True
    fact = world.agent_remembers("First.", title="Late")
    world.agent_updates(fact.id, content="Second.")
    world.store.away = False
    world.at("write", lambda: setattr(world.store, "away", True), number=2)
    with pytest.raises(errors.StoreUnavailableError):
        world.sync()
    assert len(world.archive.outbox()) == 1
    with pytest.raises(errors.StoreUnavailableError):
        fact_work.get(world.ctx, fact.id, agent="indy")
    world.store.before = lambda _: None
    world.store.away = False
    world.quiesce()
    assert world.fact(fact.id).content == "Second."


def _away() -> None:
    raise errors.StoreUnavailableError("gone")


# --- a store that comes and goes -------------------------------------------------------


def test_a_store_that_comes_back_during_a_pass_is_named_as_such(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.at("state", _away)
    assert "came back" in notice(world.sync(), "store_away").message
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS


def test_a_store_that_goes_away_after_the_writes_costs_nothing(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.at("write", lambda: world.at("feed", _away))
    assert world.sync().counts["updated_in_store"] == 1
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS


def test_a_dry_run_on_a_rewound_store_says_so_and_remembers_nothing(world: World) -> None:
    world.mirrored()
    world.store.clear()
    with pytest.raises(errors.StoreRewoundError) as stopped:
        world.sync(SyncRequest(dry_run=True))
    with pytest.raises(errors.StoreRewoundError) as again:
        world.sync(SyncRequest(confirm=stopped.value.run))
    # What was confirmed may be looked at first.
    cursor = world.archive.setting("cursor")
    world.sync(SyncRequest(dry_run=True, confirm=again.value.run))
    assert world.archive.setting("cursor") == cursor
    world.sync(SyncRequest(confirm=again.value.run))
    world.assert_at_rest()
    assert len(world.facts()) == 1


# --- commands --------------------------------------------------------------------------


def test_an_import_that_is_never_fast_enough_says_so(world: World, fact: Fact) -> None:
    line = json.dumps({"id": fact.id, "scope": "public", "content": "Other words."})
    world.others_write_first(fact.id, times=ALWAYS)
    with pytest.raises(errors.RevisionMismatchError):
        import_facts(world.ctx, [line])


def test_a_line_may_say_what_only_the_store_can_know(world: World) -> None:
    line = {"content": "Words.", "path": "a.md", "revision": "7", "mirrored": True}
    assert import_facts(world.ctx, [json.dumps(line)]) == 1
    (fact,) = world.facts()
    assert fact.properties == {}
    assert fact.path is None


@pytest.mark.parametrize("times", [2, ALWAYS])
def test_an_overtaken_undo_is_done_on_top_or_says_so(world: World, fact: Fact, times: int) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    run = world.sync().run
    world.others_write_first(fact.id, times=times)
    if times == ALWAYS:
        with pytest.raises(errors.RevisionMismatchError):
            undo_run(world.ctx, run)
        return
    undo_run(world.ctx, run)
    world.store.before = lambda _: None
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.content, now.access_count) == (LINES, 2)


@pytest.mark.parametrize(("times", "settled"), [(2, True), (ALWAYS, False)])
def test_an_overtaken_resolution_is_repeated_or_open(
    world: World, fact: Fact, times: int, settled: bool
) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, "Alpha, agent's."))
    world.sync()
    (conflict,) = world.conflicts()
    world.others_write_first(fact.id, times=times)
    resolution = ConflictResolution(conflict, "store", ("content",))
    if settled:
        resolve_conflict(world.ctx, resolution)
    else:
        with pytest.raises(errors.RevisionMismatchError):
            resolve_conflict(world.ctx, resolution)
    world.store.before = lambda _: None
    world.quiesce()
    assert (world.conflicts() == []) is settled
    assert ("Alpha, agent's." in world.fact(fact.id).content) is settled
    assert kinds(world.sync()) == []
    world.assert_at_rest()


def test_an_edit_of_what_nobody_knows_any_more_is_in_the_history(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    with world.outage():
        world.agent_updates(fact.id, status="archived")
    del world.store._rows[fact.id]
    world.person_deletes(fact)
    with world.archive.transaction():
        world.archive.drop_bases([fact.id])
    world.assert_at_rest()
    waited = [x for x in world.archive.history(fact_id=fact.id) if x.field == "outbox"]
    assert [x.after for x in waited] == [{"status": "archived"}]
    assert not world.is_alive(fact.id)


# --- an agent is busy while a run reads --------------------------------------------------


def _new(world: World) -> str:
    return world.agent_remembers("Seen.", title="New").id


def _edited(world: World) -> str:
    fact_id = world.mirrored(LINES, title="Edited").id
    world.person_edits(world.path(fact_id), ALPHA, PERSONS_ALPHA)
    return fact_id


def _updated(world: World) -> str:
    fact_id = world.mirrored(LINES, title="Updated").id
    world.agent_updates(fact_id, content=AGENTS)
    return fact_id


def _forgotten(world: World) -> str:
    fact_id = world.mirrored(LINES, title="Forgotten").id
    world.agent_forgets(fact_id)
    return fact_id


def _removed(world: World) -> str:
    fact_id = world.mirrored(LINES, title="Removed").id
    world.person_deletes(world.path(fact_id))
    world.sync()
    return fact_id


def _forgets(world: World, fact_id: str) -> None:
    world.agent_forgets(fact_id, agent="ada")


def _restores(world: World, fact_id: str) -> None:
    fact_work.restore(world.ctx, fact_id, agent="ada")


def _updates(world: World, fact_id: str) -> None:
    world.agent_updates(fact_id, agent="ada", priority=1)


MEANWHILE = [
    *(
        (state, act)
        for state in (_new, _edited, _updated, _removed)
        for act in (_forgets, _updates)
    ),
    (_forgotten, _restores),
]
"""What happened before the run -> what an agent does during it."""
STEPS = 24
"""One more than any of these runs has."""


@pytest.mark.parametrize("number", range(1, STEPS + 1))
@pytest.mark.parametrize(("state", "act"), MEANWHILE)
@pytest.mark.long(4)
def test_what_an_agent_does_between_two_steps_of_a_run_reaches_the_note(
    world: World, state: Callable[[World], str], act: Callable[[World, str], None], number: int
) -> None:
    fact_id = state(world)

    def meanwhile() -> None:
        with contextlib.suppress(errors.FactNotFoundError):  # the run has deleted it already
            act(world, fact_id)

    world.at("", meanwhile, number=number)
    world.sync()
    happened = world.store.before.__name__ == "_nothing"
    world.vault.before = world.store.before = lambda _: None
    world.sync()
    world.assert_at_rest()
    assert not happened or number < STEPS
    if happened and act is _restores:
        assert world.fact(fact_id).content == LINES
    if happened and act is _forgets and state is _new:
        assert not [path for path in world.vault.files if "New" in path]
