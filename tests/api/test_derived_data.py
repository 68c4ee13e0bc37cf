"""All that is derived follows the store; what cannot is told and tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from unittest import mock

import pytest
from msgspec import to_builtins

from tests.doubles.links import MemoryLinks
from tests.doubles.vectors import MemoryVectors
from tests.entries import EntriesInMemory
from tests.sim import SimVault
from tests.world import World
from vaultsync.api.derived_data import DerivedParts, is_derived_current, update_derived
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.memory.note_index import MemoryIndex
from vaultsync.backends.sqlite.unavailable import UnavailableStore
from vaultsync.errors import EmbedderError, IndexBusyError
from vaultsync.index_files.service import TableInputs
from vaultsync.indexing.embedding_cost import EmbeddingCost
from vaultsync.links.ports import EntityRecord, LinkReference
from vaultsync.model.paths import VaultPath
from vaultsync.sync.context import SyncPolicy


def parts() -> DerivedParts:
    return DerivedParts(
        words=MemoryIndex(),
        links=MemoryLinks(),
        tables=TableInputs(EntriesInMemory(), len),
        vectors=MemoryVectors(),
        embedder=HashEmbedder(),
    )


def a_world() -> World:
    world = World()
    world.mirrored("We met [[Bob]] on the pier.", title="On the pier", tags=["pier"])
    return world


def test_everything_follows_the_store() -> None:
    world, held = a_world(), parts()
    assert not is_derived_current(world.ctx)

    steps: list[str] = []
    done = update_derived(world.ctx, held, progress=lambda step, *_: steps.append(step))

    assert "model" in steps
    assert (done.notes, done.chunks, done.degraded) == (1, 1, ())
    assert done.embedded >= 1
    assert is_derived_current(world.ctx)
    assert held.links.links_to(["Bob"])
    assert ".index/vault-index.md" in world.vault.names or world.vault.files
    assert to_builtins(done)["notes"] == 1


def test_a_change_is_followed_and_nothing_is_done_twice() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)
    assert update_derived(world.ctx, held).embedded == 0
    world.mirrored("Another one.", title="Another")
    assert not is_derived_current(world.ctx)

    done = update_derived(world.ctx, held)

    assert (done.notes, done.chunks) == (2, 2)
    assert is_derived_current(world.ctx)


def test_a_table_that_somebody_removed_is_still_to_be_derived() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)
    world.vault.names.pop(VaultPath(".index/by-type.md"))
    assert not is_derived_current(world.ctx)

    update_derived(world.ctx, held)

    assert ".index/by-type.md" in world.vault.names
    assert is_derived_current(world.ctx)


def test_tables_that_cannot_be_looked_at_are_still_to_be_derived() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)

    with mock.patch.object(SimVault, "list_meta", side_effect=PermissionError):
        assert not is_derived_current(world.ctx)


def test_a_folder_for_the_tables_that_is_new_is_still_to_be_derived() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)
    seen = replace(world.ctx, policy=SyncPolicy(index_folder=VaultPath("Index")))
    assert not is_derived_current(seen)

    update_derived(seen, held)

    assert "Index/vault-index.md" in world.vault.names


def test_a_store_that_was_restored_and_written_to_since_is_followed() -> None:
    world, held = a_world(), parts()
    kept = world.store.snapshot()
    world.agent_remembers("Lost.", title="Lost")
    update_derived(world.ctx, held)

    world.store.restore(kept)
    world.agent_remembers("New.", title="New")

    assert not is_derived_current(world.ctx)


def test_a_rebuild_makes_the_indexes_anew() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)

    assert update_derived(world.ctx, held, rebuild=True).notes == 1
    assert held.links.links_to(["Bob"])


def test_without_a_model_words_are_enough() -> None:
    world = a_world()

    done = update_derived(world.ctx, replace(parts(), embedder=None))

    assert (done.notes, done.chunks, done.degraded) == (1, 0, ())


def test_another_model_is_asked_about_before_it_costs() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)
    other = replace(held, embedder=HashEmbedder(dimension=32))
    costs: list[EmbeddingCost] = []

    def no(cost: EmbeddingCost) -> bool:
        costs.append(cost)
        return False

    assert "another model" in update_derived(world.ctx, other).degraded[0]
    assert "another model" in update_derived(world.ctx, other, told=no).degraded[0]
    assert costs[0].texts >= 1
    assert not update_derived(world.ctx, other, told=lambda _: True).degraded
    assert other.vectors is not None
    assert "/32/" in str(other.vectors.identity())


def test_a_store_that_is_away_leaves_all_as_it_was() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)
    world.mirrored("Another one.", title="Another")
    away = replace(world.ctx, store=UnavailableStore("it is unplugged"))

    done = update_derived(away, held)

    assert all("unplugged" in why for why in done.degraded)
    assert is_derived_current(away)  # there is nothing that could be done
    assert not is_derived_current(world.ctx)


class BrokenLinks(MemoryLinks):
    def __init__(self, trouble: Exception) -> None:
        super().__init__()
        self.trouble = trouble

    def update(
        self,
        put: Mapping[str, Sequence[LinkReference]],
        drop: Iterable[str],
        *,
        version: str,
        entities: Iterable[EntityRecord] = (),
    ) -> None:
        raise self.trouble


@pytest.mark.parametrize(
    "trouble", [IndexBusyError("somebody writes"), OSError(28, "the disk is full")]
)
def test_links_that_cannot_be_written_stop_nothing(trouble: Exception) -> None:
    world = a_world()

    done = update_derived(world.ctx, replace(parts(), links=BrokenLinks(trouble)))

    assert done.notes == done.chunks == 1
    assert len(done.degraded) == 1
    assert not is_derived_current(world.ctx)


class Silent(HashEmbedder):
    @property
    def dimension(self) -> int:
        raise EmbedderError("the model is gone")


def test_a_model_that_is_gone_is_told() -> None:
    world, held = a_world(), parts()
    update_derived(world.ctx, held)

    done = update_derived(world.ctx, replace(held, embedder=Silent()))

    assert done.degraded == ("the model is gone",)


def test_tables_that_cannot_be_written_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Callable[[], int]:
        raise OSError(28, "the disk is full")

    monkeypatch.setattr("vaultsync.api.derived_data.write_tables", full)
    world = a_world()

    done = update_derived(world.ctx, parts())

    assert done.notes == 1
    assert "the disk is full" in done.degraded[0]
