"""Maintenance is a run: planned, guarded, reported, mirrored and undone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.doubles.store import MemoryStore
from tests.world import World, die
from vaultsync.errors import GuardError, StoreUnavailableError
from vaultsync.facts import service as fact_work
from vaultsync.model.steps import finish
from vaultsync.operations.maintain import full_compare, maintain_facts_in_steps
from vaultsync.operations.undo import undo_run
from vaultsync.sync.report import Report


def an_old_world(faded: int = 2, fresh: int = 20) -> World:
    """Facts that were not used for a year, and some new ones."""
    world = World()
    for at in range(faded):
        world.mirrored(type="episodic", title=f"Old {at}", agentId="indy")
    world.clock.advance(365 * 86_400)
    for at in range(fresh):
        world.mirrored(type="episodic", title=f"New {at}", agentId="indy")
    world.quiesce()
    return world


def _titles(world: World) -> set[str]:
    return {fact.title.partition(" ")[0] for fact in world.store.iter_facts()}


def _maintain(world: World, **more: object) -> Report:
    world.clock.advance(5)
    return finish(maintain_facts_in_steps(world.ctx, **more))  # type: ignore[arg-type]


def test_faded_facts_are_deleted_with_their_notes_until_that_is_undone() -> None:
    world = an_old_world()
    steps: list[tuple[str, int, int]] = []

    report = _maintain(world, progress=lambda *step: steps.append(step))
    world.quiesce()
    world.assert_at_rest()

    assert _titles(world) == {"New"}
    assert not any("old-" in path for path in world.vault.names)
    assert report.counts["deleted_in_store"] == report.counts["deleted_in_vault"] == 2
    assert ("maintain", 2, 2) in steps
    world.clock.advance(5)
    undo_run(world.ctx, report.run)
    world.quiesce()
    world.assert_at_rest()
    assert _titles(world) == {"Old", "New"}
    assert sum("old-" in path for path in world.vault.names) == 2


@pytest.mark.parametrize("step", [14, 24, 38, 40, 41])
def test_maintenance_that_was_killed_is_finished_by_the_next(step: int) -> None:
    """At these steps the facts, one of the notes, both, or the report are written."""
    world = an_old_world()
    world.at("", die, number=step)
    with pytest.raises(KeyboardInterrupt):
        _maintain(world)
    world.quiesce()
    _maintain(world)
    assert _titles(world) == {"New"}
    world.assert_at_rest()


def _loses(store: MemoryStore, fact_id: str) -> None:
    """Lose a fact without a write, as a cluster does whose replica comes back without it."""
    backup = store.snapshot()
    rows = tuple(each for each in backup.rows if each[0] != fact_id)
    store.restore(replace(backup, rows=rows))


def test_a_fact_that_the_store_lost_is_restored() -> None:
    world = an_old_world(faded=0, fresh=3)
    before = world.store.state()
    assert _maintain(world).quiet
    assert world.store.state() == before
    fact = next(world.store.iter_facts())
    _loses(world.store, fact.id)
    world.sync()
    assert not world.is_alive(fact.id), "no feed tells of it"

    _maintain(world, dry_run=True)
    assert not world.is_alive(fact.id)
    _maintain(world)
    world.quiesce()

    assert world.fact(fact.id).content == fact.content
    world.assert_at_rest()
    assert full_compare(world.ctx) == []


def test_a_fact_that_the_feed_skipped_gets_its_note() -> None:
    world = an_old_world(faded=0, fresh=3)
    fact = world.agent_remembers("Nobody heard of it.", title="Unheard")
    with world.archive.transaction():  # as if the feed had skipped it
        state = world.store.state()
        world.archive.set_setting("cursor", str(state.seq))
        world.archive.set_setting("cursor_row", world.store.revision_at(state.seq))
    world.sync()
    assert world.archive.find_base(fact.id) is None
    _maintain(world)
    assert world.path(fact.id)
    world.quiesce()
    world.assert_at_rest()


def test_a_dry_run_reports_and_does_nothing() -> None:
    world = an_old_world()
    before = world.store.state()
    report = _maintain(world, dry_run=True)
    assert report.dry_run
    assert (report.counts["deleted_in_store"], report.counts["unchanged"]) == (2, 20)
    assert {each.action for each in report.actions} == {"delete_fact"}
    assert all(each.path and "old-" in each.path for each in report.actions)
    assert world.store.state() == before
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        _maintain(world)


def test_the_guard_asks_for_a_confirmation() -> None:
    world = an_old_world(faded=15)
    with pytest.raises(GuardError) as stopped:
        _maintain(world)
    assert _titles(world) == {"Old", "New"}
    assert "vaultsync maintain --confirm" in stopped.value.hint
    _maintain(world, confirm=stopped.value.run)
    assert _titles(world) == {"New"}


def test_the_limit_of_deletions_also_applies_to_the_sync_before() -> None:
    world = an_old_world(faded=0)
    for fact in world.facts()[:11]:
        world.agent_forgets(fact.id)
    for max_delete in (None, 10):
        with pytest.raises(GuardError):
            _maintain(world, max_delete=max_delete)
    _maintain(world, max_delete=11)
    assert len(world.notes()) == 9


def test_a_confirmation_holds_after_other_runs_but_only_once() -> None:
    world = an_old_world(faded=15)
    with pytest.raises(GuardError) as first:
        _maintain(world)
    world.quiesce()
    with pytest.raises(GuardError) as stopped:
        _maintain(world, confirm="another")
    assert stopped.value.run != first.value.run
    with pytest.raises(GuardError):  # not the run that was stopped last
        _maintain(world, confirm=first.value.run)
    with pytest.raises(GuardError) as stopped:
        _maintain(world)
    world.quiesce()

    assert len(_maintain(world, confirm=stopped.value.run).actions) == 30
    world.clock.advance(365 * 86_400)
    with pytest.raises(GuardError):  # it confirmed other deletions
        _maintain(world, confirm=stopped.value.run)


def test_facts_that_others_change_in_the_meantime_stay() -> None:
    world = an_old_world(faded=1)
    (old,) = [f for f in world.store.iter_facts() if f.title.startswith("Old")]
    world.at_store("write", lambda: world.agent_updates(old.id, title="Old and new"))
    assert _maintain(world).quiet
    assert world.fact(old.id).title == "Old and new"


def test_a_long_chain_keeps_its_first_and_its_newest_version() -> None:
    world = an_old_world(faded=0)
    first = world.mirrored(title="Version", content="Version 0", agentId="indy")
    newest = first.id
    for at in range(1, 7):
        world.clock.advance(60)
        newest = fact_work.supersede(world.ctx, newest, f"Version {at}", agent="indy").id
    world.quiesce()

    _maintain(world)
    world.quiesce()
    world.assert_at_rest()

    left = [f for f in world.store.iter_facts() if f.content.startswith("Version")]
    assert {fact.id for fact in left} == {first.id, newest}
    assert world.fact(first.id).superseded_by_id == newest
    assert world.fact(newest).supersedes_id == first.id
