"""One damaged row of the store: a run treats its fact as unavailable, and reports it."""

from __future__ import annotations

import pytest

from tests.doubles.store import MemoryStore
from tests.world import World
from vaultsync.errors import DamagedFactError
from vaultsync.model.fact import Fact, make_fact
from vaultsync.operations.migrate import copy_store
from vaultsync.operations.rebuild import rebuild
from vaultsync.operations.verify import verify_all
from vaultsync.storage.store import DamagedRows
from vaultsync.sync.status import read_status


@pytest.fixture
def bad(world: World) -> Fact:
    """A fact whose row is damaged, beside one that is sound."""
    world.mirrored("Sound.", title="Sound")
    bad = world.mirrored("Bad.", title="Bad")
    world.store.damage(bad.id)
    return bad


def named(world: World) -> list[str]:
    return [notice.kind for notice in world.sync().attention]


def test_its_note_stays_and_an_edit_waits(world: World, bad: Fact) -> None:
    assert bad.path
    world.person_edits(bad.path, "Bad.", "Bad, says a person.")
    edited = world.vault.read(bad.path).data

    assert named(world) == named(world) == ["damaged_fact"]
    assert [each.kind for each in read_status(world.ctx).attention] == ["damaged_fact"]
    assert world.vault.read(bad.path).data == edited

    assert not rebuild(world.ctx, "vault").attention
    assert verify_all(world.ctx).equal
    assert "says a person" in world.store.get(bad.id).content
    assert named(world) == []


def test_a_deleted_note_is_no_deletion_of_what_cannot_be_read(world: World, bad: Fact) -> None:
    assert bad.path
    world.person_deletes(bad.path)
    for _ in range(3):
        world.clock.advance(120)
        world.sync()

    row = world.store.last_write(bad.id)
    assert row is not None
    assert not row.deleted


def test_verify_says_which_it_is(world: World, bad: Fact) -> None:
    (difference,) = verify_all(world.ctx).differences

    assert difference.fact_id == bad.id
    assert "damaged in the store" in difference.why


def test_one_without_a_note_is_named(world: World) -> None:
    fact = world.agent_remembers("Never mirrored.", title="New")
    world.store.damage(fact.id)

    assert named(world) == ["damaged_fact"]
    assert world.store.find_many([fact.id]) == {}
    (difference,) = verify_all(world.ctx).differences
    assert (difference.fact_id, difference.path) == (fact.id, None)


def test_a_rebuild_from_the_store_leaves_its_note_alone(world: World, bad: Fact) -> None:
    assert bad.path
    before = world.vault.read(bad.path).data

    (notice,) = rebuild(world.ctx, "store").attention

    assert notice.kind == "damaged_fact"
    assert world.vault.read(bad.path).data == before


def test_a_copy_without_it_is_refused(world: World, bad: Fact) -> None:
    target = MemoryStore(world.clock, "other")

    with pytest.raises(DamagedFactError, match=bad.id):
        copy_store(world.store, target)

    assert target.last_write(bad.id) is None


def test_a_row_that_holds_another_fact_is_damaged_until_it_is_sound() -> None:
    rows = DamagedRows()
    fact = make_fact({"title": "Tea", "id": "019c5c7e-8d20-7b3a-9f41-3c5d0e8a7b62"})

    assert rows.read("other", lambda: fact) is None
    assert rows.read("other", lambda: fact) is None
    assert rows.reasons == {"other": "it does not contain a fact with that id"}
    assert rows.read("other", lambda: None) is None
    assert not rows.reasons
    assert rows.read(fact.id, lambda: fact) is fact
