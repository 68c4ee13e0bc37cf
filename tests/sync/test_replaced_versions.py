"""No acknowledged text is without a trace: what a write replaces before a run saw it is kept."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from tests.world import World
from vaultsync.errors import StoreUnavailableError
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.operations.undo import undo_run
from vaultsync.storage import store as replaced_versions
from vaultsync.storage.store import ReplacedVersion, StoreWrite


@pytest.fixture
def fact(world: World) -> Fact:
    return world.mirrored("First.")


def contents(world: World, fact: Fact) -> list[tuple[str, Value, Value]]:
    """Who changed the content of a fact, from what, and to what."""
    found = fact_work.history(world.ctx, fact.id, agent=None)
    return [(each.actor, each.before, each.after) for each in found if each.field == "content"]


def test_a_blind_update_over_an_unseen_one_leaves_both_in_history(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    at = world.ctx.today()
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    world.sync()

    assert contents(world, fact) == [("ada", "First.", "Ada's."), ("bob", "Ada's.", "Bob's.")]
    entries = fact_work.history(world.ctx, fact.id, agent=None)
    ada, bob = (each for each in entries if each.field == "content")
    assert (ada.at, ada.side) == (at, "store")
    assert world.store.replaced_versions(world.store.replaced_ids()) == []
    world.assert_at_rest()

    undo_run(world.ctx, bob.run)
    assert world.fact(fact.id).content == "Ada's."
    assert "Ada's." in world.note(fact.id)
    world.assert_at_rest()


def test_the_history_shows_what_was_replaced_before_any_run(world: World, fact: Fact) -> None:
    new = world.agent_remembers("New.", agent="ada")
    world.agent_updates(new.id, agent="bob", content="Newer.")
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    with world.nobody_writes():
        assert contents(world, new) == [("ada", None, "New.")]
        assert contents(world, fact) == [("ada", "First.", "Ada's.")]
    with world.outage():
        assert contents(world, fact) == []
    world.sync()
    assert contents(world, fact) == [("ada", "First.", "Ada's."), ("bob", "Ada's.", "Bob's.")]


def test_a_run_of_its_own_takes_back_what_was_replaced_and_stands(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.", title="Ada's title")
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    world.sync()
    (run,) = {
        each.run
        for each in fact_work.history(world.ctx, fact.id, agent=None)
        if each.actor == "ada"
    }
    undo_run(world.ctx, run)
    now = world.fact(fact.id)
    assert (now.title, now.content) == (fact.title, "Bob's.")
    world.assert_at_rest()


def test_a_change_taken_back_before_a_run_is_in_the_history(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.agent_updates(fact.id, agent="bob", content="First.", priority=1)
    world.sync()
    assert contents(world, fact) == [("ada", "First.", "Ada's."), ("bob", "Ada's.", "First.")]
    world.assert_at_rest()


def test_a_new_fact_that_is_overwritten_before_it_has_a_note(world: World) -> None:
    fact = world.agent_remembers("First.", agent="ada")
    world.agent_updates(fact.id, agent="bob", content="Second.")
    world.agent_updates(fact.id, agent="cleo", content="Third.")
    world.sync()
    assert contents(world, fact) == [
        ("ada", None, "First."),
        ("bob", "First.", "Second."),
        ("cleo", "Second.", "Third."),
    ]
    world.assert_at_rest()


def test_an_unseen_update_that_is_forgotten_is_in_the_history(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.agent_forgets(fact.id, agent="bob")
    world.sync()
    assert contents(world, fact) == [("ada", "First.", "Ada's.")]
    world.assert_at_rest()
    fact_work.restore(world.ctx, fact.id, agent="bob")
    world.quiesce()
    assert world.fact(fact.id).content == "Ada's."


def test_a_persons_edit_merges_and_the_unseen_update_is_history(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.", tags=["a"])
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    world.person_edits(fact, "First.", "The person's.")
    world.sync()
    said = [after for _, _, after in contents(world, fact)]
    assert [each for each in said if each in ("Ada's.", "Bob's.", "The person's.")] == [
        "Ada's.",
        "Bob's.",
        "The person's.",
    ]
    assert world.fact(fact.id).tags == ("a",)


def test_what_a_run_saw_is_not_kept(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.sync()
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    assert world.store.replaced_versions(world.store.replaced_ids()) == []
    world.person_edits(fact, "Ada's.", "The person's.")
    world.quiesce()
    assert world.store.replaced_versions(world.store.replaced_ids()) == []


def test_a_writer_that_ignores_the_archive_leaves_nothing_twice(world: World, fact: Fact) -> None:
    new = fact.evolve(content="Bob's.", path=None)
    world.store.write([StoreWrite(fact.id, new, fact.revision, "bob")])
    assert len(world.store.replaced_versions(world.store.replaced_ids())) == 1
    world.sync()
    assert contents(world, fact) == [("bob", "First.", "Bob's.")]
    assert world.store.replaced_versions(world.store.replaced_ids()) == []


def test_a_crash_before_a_version_is_dropped_records_it_once(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    world.dies_at("drop_replaced")
    assert len(world.store.replaced_versions(world.store.replaced_ids())) == 1
    world.quiesce()
    assert [each for each in contents(world, fact) if each[0] == "ada"] == [
        ("ada", "First.", "Ada's.")
    ]
    world.agent_updates(fact.id, agent="cleo", content="Cleo's.")
    world.quiesce()
    assert world.store.replaced_versions(world.store.replaced_ids()) == []


def test_a_version_replaced_during_a_run_is_recorded_by_the_next(world: World, fact: Fact) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")

    def bob() -> None:
        world.agent_updates(fact.id, agent="bob", content="Bob's.")

    world.at_store("find_many", bob)
    world.sync()
    world.quiesce()
    said = [after for _, _, after in contents(world, fact)]
    assert {"Ada's.", "Bob's."} <= {*said}
    world.agent_updates(fact.id, agent="cleo", content="Cleo's.")
    world.assert_at_rest()
    assert world.store.replaced_versions(world.store.replaced_ids()) == []


def test_a_version_whose_replacement_is_on_its_way_stays(world: World, fact: Fact) -> None:
    now = world.agent_updates(fact.id, agent="ada", content="Ada's.")
    row = world.store._rows[fact.id]
    world.store._replaced[now.revision] = row
    world.sync()
    assert [
        each.fact.revision for each in world.store.replaced_versions(world.store.replaced_ids())
    ] == [now.revision]
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    world.sync()
    assert world.store.replaced_versions(world.store.replaced_ids()) == []
    assert contents(world, fact)[-1] == ("bob", "Ada's.", "Bob's.")


def test_a_version_that_a_read_only_note_lacks_follows_its_base(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.vault.make_read_only(path)
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.sync()  # reads the row, but cannot write the note
    world.agent_updates(fact.id, agent="bob", title="Bob's title")
    assert contents(world, fact) == [("ada", "First.", "Ada's.")]
    world.vault.make_writable(path)
    world.sync()
    assert contents(world, fact) == [("ada", "First.", "Ada's.")]

    (run,) = {x.run for x in fact_work.history(world.ctx, fact.id, agent=None) if x.actor == "ada"}
    undo_run(world.ctx, run)
    assert world.fact(fact.id).content == "First."
    world.assert_at_rest()


def _update_twice_recorded_late(world: World, fact: Fact) -> dict[str, Any]:
    """Two updates, recorded by a run before the store lists what they replaced."""
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.agent_updates(fact.id, agent="bob", content="Bob's.")
    late = dict(world.store._replaced)
    world.store._replaced.clear()
    world.quiesce()
    world.store._replaced.update(late)
    return late


def test_a_version_before_the_base_is_recorded_if_others_change(world: World, fact: Fact) -> None:
    _update_twice_recorded_late(world, fact)
    world.agent_remembers("Another.")
    world.assert_at_rest()
    assert contents(world, fact) == [("bob", "First.", "Bob's."), ("ada", None, "Ada's.")]
    assert world.store.replaced_versions(world.store.replaced_ids()) == []


def test_what_was_recorded_too_late_names_no_version_before_it(world: World, fact: Fact) -> None:
    late = _update_twice_recorded_late(world, fact)
    world.agent_updates(fact.id, agent="cleo", tags=["x"])
    world.quiesce()
    assert ("ada", None, "Ada's.") in contents(world, fact)
    world.store._replaced.update(late)
    world.sync()
    kept: list[ReplacedVersion] = world.store.replaced_versions(world.store.replaced_ids())
    world.agent_updates(fact.id, agent="cleo", tags=["y"])
    world.sync()
    assert [each for each in contents(world, fact) if each[0] == "ada"] == [("ada", None, "Ada's.")]
    assert len(kept) == 1


def test_a_run_reads_the_replaced_versions_of_some_facts_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [world.mirrored(f"First {number}.") for number in range(5)]
    for fact in facts:
        for agent in ("ada", "bob"):
            world.agent_updates(fact.id, agent=agent, content=f"By {agent}.")
    sizes: list[int] = []
    whole = world.store.replaced_versions

    def read(fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        found = whole(fact_ids)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(replaced_versions, "FACTS_AT_ONCE", 2)
    monkeypatch.setattr(world.store, "replaced_versions", read)
    world.sync()
    assert sum(sizes) == 5
    assert max(sizes) == 2
    assert world.store.replaced_ids() == []
    for number, fact in enumerate(facts):
        assert ("ada", f"First {number}.", "By ada.") in contents(world, fact)


@pytest.mark.parametrize("step", ["replaced_ids", "replaced_versions", "drop_replaced"])
def test_a_store_that_goes_meanwhile_loses_nothing(world: World, fact: Fact, step: str) -> None:
    world.agent_updates(fact.id, agent="ada", content="Ada's.")
    world.agent_updates(fact.id, agent="bob", content="Bob's.")

    def away() -> None:
        world.store.away = True

    world.at_store(step, away)
    with suppress(StoreUnavailableError):  # it may refuse, and must not lose
        world.sync()
    world.store.away = False
    world.quiesce()
    assert [each for each in contents(world, fact) if each[0] == "ada"] == [
        ("ada", "First.", "Ada's.")
    ]
