"""The store as one agent may see it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world import World
from vaultsync.errors import FactNotFoundError
from vaultsync.model.permissions import Permissions, Reader
from vaultsync.storage.store_view import visible_store


def test_facts_of_other_agents_are_as_if_they_were_not_there() -> None:
    world = World()
    own = world.agent_remembers("Of Indy.", scope="private-indy")
    other = world.agent_remembers("Of Ada.", agent="ada", scope="private-ada")
    gone = world.agent_remembers("Gone.", scope="private-indy")
    gone_other = world.agent_remembers("Gone too.", agent="ada", scope="private-ada")
    world.agent_forgets(gone.id)
    world.agent_forgets(gone_other.id, agent="ada")
    store = visible_store(world.store, Reader("indy", Permissions()))

    assert store.get(own.id) == own
    with pytest.raises(FactNotFoundError):
        store.get(other.id)
    assert list(store.find_many([own.id, other.id])) == [own.id]
    assert [fact.id for fact in store.iter_facts()] == [own.id]
    assert [fact.id for fact in store.iter_facts(deleted=True)] == [gone.id]
    assert store.tombstone(gone.id) is not None
    assert store.tombstone(gone_other.id) is None
    assert store.tombstone(own.id) is None


def test_it_follows_the_feed_under_an_id_of_its_own_and_writes_nothing() -> None:
    world = World()
    world.agent_remembers("Of Ada.", agent="ada", scope="private-ada")
    store = visible_store(world.store, Reader("indy", Permissions()))
    assert store.feed() == world.store.feed()
    assert store.state().seq == world.store.state().seq
    assert store.state().store_id != world.store.state().store_id
    assert (
        store.state().store_id
        != visible_store(world.store, Reader("ada", Permissions())).state().store_id
    )
    refused: list[Callable[[], object]] = [
        lambda: store.write([]),
        lambda: store.count_accesses({}, ""),
        lambda: store.drop_replaced([]),
    ]
    for each in refused:
        with pytest.raises(NotImplementedError):
            each()
    store.close()
    assert world.facts()
