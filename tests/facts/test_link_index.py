"""The link index follows the store."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from tests.world import LinkedWorld
from vaultsync.backends.sqlite.links import SqliteLinks
from vaultsync.errors import IndexChangedError, StoreUnavailableError
from vaultsync.links import index_sync as link_feed
from vaultsync.links.entity_names import EntityNames
from vaultsync.links.index_sync import LINK_INDEX_SCHEMA, update_link_index
from vaultsync.links.ports import EntityRecord, LinkedFact
from vaultsync.storage.feed_cursor import make_version


@pytest.fixture
def world() -> LinkedWorld:
    return LinkedWorld()


def version_at(world: LinkedWorld, seq: int) -> str:
    return make_version(world.store, "memory", seq, LINK_INDEX_SCHEMA)


def test_an_empty_index_is_up_to_date(world: LinkedWorld) -> None:
    assert update_link_index(world.store, world.links)
    assert world.links.version() == version_at(world, 0)
    assert not update_link_index(world.store, world.links)


def test_the_index_follows_the_feed(world: LinkedWorld) -> None:
    one = world.agent_remembers("see [[Tea]]", title="One")
    two = world.agent_remembers("see [[Mate]]")
    assert update_link_index(world.store, world.links)
    assert [link.target for link in world.links.links_from(one.id)] == ["Tea"]
    world.agent_updates(one.id, content="see [[Coffee]]")
    world.agent_forgets(two.id)
    update_link_index(world.store, world.links)
    assert world.links.links_to(["Tea", "Mate"]) == []
    assert [link.fact_id for link in world.links.links_to(["Coffee"])] == [one.id]
    assert world.links.version() == version_at(world, world.store.state().seq)


def test_the_index_is_updated_in_steps(world: LinkedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_feed, "FACTS_PER_UPDATE", 2)
    facts = [world.agent_remembers(f"see [[N{n}]]") for n in range(5)]
    update_link_index(world.store, world.links)
    assert all(world.links.links_from(fact.id) for fact in facts)
    assert world.links.version() == version_at(world, 5)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("times", [1, 99])
def test_an_index_that_others_write_meanwhile_is_followed_from_there(
    world: LinkedWorld, tmp_path: Path, times: int, *, is_new: bool
) -> None:
    one, other = (SqliteLinks(tmp_path / "links.sqlite3") for _ in range(2))
    fact = world.agent_remembers("see [[Tea]]", title="One")
    if not is_new:
        update_link_index(world.store, one)
        world.agent_updates(fact.id, content="see [[Mate]]")
    writes = iter(range(times))

    def progress(*_: int) -> None:
        if next(writes, None) is not None:
            world.agent_updates(fact.id, content="see [[Coffee]]")
            other.clear()
            update_link_index(world.store, other)
            world.agent_updates(fact.id, content="see [[Milk]]")

    with nullcontext() if times == 1 else pytest.raises(IndexChangedError):
        update_link_index(world.store, one, progress=progress)

    last, seq = ("Milk", 0) if times == 1 else ("Coffee", -1)
    assert one.version() == version_at(world, world.store.state().seq + seq)
    assert [link.target for link in one.links_from(fact.id)] == [last]
    one.close()
    other.close()


def test_an_index_that_others_build_at_the_same_time_is_built_with_them(
    world: LinkedWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or links to moved notes would not be rewritten while another process indexes a new vault."""
    monkeypatch.setattr(link_feed, "FACTS_PER_UPDATE", 1)
    one, other = (SqliteLinks(tmp_path / "links.sqlite3") for _ in range(2))
    facts = [world.agent_remembers(f"see [[N{n}]]") for n in range(20)]

    def after_one_update(done: int, _: int) -> None:
        if done:
            raise InterruptedError

    def progress(*_: int) -> None:
        with suppress(InterruptedError):
            update_link_index(world.store, other, progress=after_one_update)

    update_link_index(world.store, one, progress=progress)
    assert one.version() == version_at(world, 20)
    assert all(one.links_from(fact.id) for fact in facts)
    one.close()
    other.close()


def test_names_that_were_cleared_while_they_were_read_are_read_from_the_feed(
    world: LinkedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.agent_remembers("-", title="Alice", type="person")
    update_link_index(world.store, world.links)
    entities = world.links.entities

    def cleared() -> list[EntityRecord]:
        world.links.clear()
        return entities()

    monkeypatch.setattr(world.links, "entities", cleared)
    assert EntityNames(world.links).mentions(world.store, "Alice")


@pytest.mark.parametrize("version", ["other:1:1", "memory:1:0", "memory:99:1", "odd"])
def test_an_index_of_another_store_or_version_is_rebuilt(world: LinkedWorld, version: str) -> None:
    gone = LinkedFact("gone", (), ("x",), "public")
    world.links.update([gone], [], version=version)
    fact = world.agent_remembers("[[x]]", title="x")
    update_link_index(world.store, world.links)
    assert world.links.entities() == []
    assert len(world.links.links_from(fact.id)) == 1


def test_a_store_that_was_restored_and_written_to_since_is_noticed(world: LinkedWorld) -> None:
    world.agent_remembers("[[kept]]", title="Kept")
    kept = world.store.snapshot()
    world.agent_remembers("[[lost]]", title="Lost", type="person")
    update_link_index(world.store, world.links)
    names = EntityNames(world.links)
    assert names.mentions(world.store, "Lost")

    world.store.restore(kept)
    assert names.mentions(world.store, "Lost") == []
    assert names.mentions(world.store, "Kept") == []  # no entity
    world.agent_remembers("[[new]]", title="New", type="person")
    update_link_index(world.store, world.links)

    assert world.links.links_to(["lost"]) == []
    assert len(world.links.links_to(["new"])) == 1
    assert names.mentions(world.store, "Lost") == []
    assert names.mentions(world.store, "New")


def test_an_unavailable_store_leaves_the_index_as_it_was(world: LinkedWorld) -> None:
    world.agent_remembers("[[x]]", title="x")
    update_link_index(world.store, world.links)
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        update_link_index(world.store, world.links)
    assert len(world.links.links_to(["x"])) == 1


def test_entities_are_known_by_their_names(world: LinkedWorld) -> None:
    fact = world.agent_remembers("-", title="Alice", type="person", aliases=["Al"])
    world.agent_remembers("-", title="Tea", type="fact")
    update_link_index(world.store, world.links)
    assert world.links.entities() == [EntityRecord(fact.id, "team-core", ("Alice", "Al"))]
