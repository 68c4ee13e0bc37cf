"""Derived data follows the store; what fails is reported and tried again."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.doubles.note_index import TemporaryIndex
from tests.doubles.sqlite import MemoryLinks
from tests.doubles.vectors import MemoryVectors
from tests.entries import EntriesInMemory, in_memory
from tests.sim import SimVault
from tests.world import World, die
from vaultsync.api.derived_data import DerivedParts, is_derived_current, update_derived
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.errors import EmbedderError, IndexBusyError, NotRegularFileError
from vaultsync.index_files.service import TableInputs
from vaultsync.indexing.embedding_texts import EmbeddingCost
from vaultsync.links import index_sync
from vaultsync.model.paths import VaultPath


@pytest.fixture
def world() -> World:
    """One fact, from which nothing is derived yet."""
    world = World()
    world.mirrored("We met [[Bob]] on the pier.", title="On the pier", tags=["pier"])
    return world


@pytest.fixture
def parts() -> DerivedParts:
    tables = TableInputs(EntriesInMemory(), in_memory, len)
    return DerivedParts(TemporaryIndex(), MemoryLinks(), tables, MemoryVectors(), HashEmbedder)


@pytest.fixture
def derived(world: World, parts: DerivedParts) -> DerivedParts:
    """All that is derived from the world as it is."""
    update_derived(world.ctx, parts)
    assert is_derived_current(world.ctx)
    return parts


def test_everything_follows_the_store(world: World, parts: DerivedParts) -> None:
    assert not is_derived_current(world.ctx)

    steps: list[str] = []
    done = update_derived(world.ctx, parts, progress=lambda step, *_: steps.append(step))

    assert "model" in steps
    assert (done.notes, done.chunks, done.degraded) == (1, 1, ())
    assert done.embedded >= 1
    assert is_derived_current(world.ctx)
    assert parts.links.links_to(["Bob"])
    assert ".index/vault-index.md" in world.vault.names or world.vault.files
    assert to_builtins(done)["notes"] == 1


def test_a_change_is_followed_once(world: World, derived: DerivedParts) -> None:
    assert update_derived(world.ctx, derived).embedded == 0
    world.mirrored("Another one.", title="Another")
    assert not is_derived_current(world.ctx)

    done = update_derived(world.ctx, derived)

    assert (done.notes, done.chunks) == (2, 2)
    assert is_derived_current(world.ctx)


def test_an_index_of_links_that_is_interrupted_is_continued(
    world: World, parts: DerivedParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync of what a person saves does not wait for the links of 100,000 notes."""
    monkeypatch.setattr(index_sync, "FACTS_PER_UPDATE", 1)
    world.mirrored("We met [[Ada]] on the bridge.", title="On the bridge")
    begun: list[int] = []

    def pause(stage: str, done: int, total: int) -> None:
        if stage == "links":
            begun.append(total)
            if done:
                die()

    with pytest.raises(KeyboardInterrupt):
        update_derived(world.ctx, parts, progress=pause)
    assert len(parts.links.links_to(["Ada", "Bob"])) == 1
    update_derived(world.ctx, parts, progress=pause)
    assert len(parts.links.links_to(["Ada", "Bob"])) == 2
    assert begun == [2, 2, 1]
    assert is_derived_current(world.ctx)


def test_what_is_written_meanwhile_is_left_to_the_next(world: World, parts: DerivedParts) -> None:
    ask = parts.links.version

    def write() -> str | None:  # when the note index is up to date, and the tables are not
        if not world.facts()[1:]:
            world.agent_remembers("We met on the bridge.")
        return ask()

    with mock.patch.object(parts.links, "version", write):
        update_derived(world.ctx, parts)
    assert len(world.facts()) == 2
    assert not is_derived_current(world.ctx)


def test_a_table_that_was_removed_is_derived_again(world: World, derived: DerivedParts) -> None:
    world.vault.names.pop(VaultPath(".index/by-type.md"))
    assert not is_derived_current(world.ctx)

    update_derived(world.ctx, derived)

    assert ".index/by-type.md" in world.vault.names
    assert is_derived_current(world.ctx)


@pytest.mark.usefixtures("derived")
def test_tables_that_cannot_be_looked_at_are_still_to_be_derived(world: World) -> None:
    with mock.patch.object(SimVault, "list_meta", side_effect=PermissionError):
        assert not is_derived_current(world.ctx)


def test_a_new_folder_for_the_tables_is_filled(world: World, derived: DerivedParts) -> None:
    seen = replace(world.ctx, policy=world.ctx.policy._replace(index_folder=VaultPath("Index")))
    assert not is_derived_current(seen)

    update_derived(seen, derived)

    assert "Index/vault-index.md" in world.vault.names


def test_a_restored_store_with_new_writes_is_followed(world: World, parts: DerivedParts) -> None:
    kept = world.store.snapshot()
    world.agent_remembers("Lost.", title="Lost")
    update_derived(world.ctx, parts)

    world.store.restore(kept)
    world.agent_remembers("New.", title="New")

    assert not is_derived_current(world.ctx)


def test_a_rebuild_makes_the_indexes_from_scratch(world: World, derived: DerivedParts) -> None:
    assert update_derived(world.ctx, derived, rebuild=True).notes == 1
    assert derived.links.links_to(["Bob"])


@pytest.mark.parametrize("missing", [{"embedder": lambda: None}, {"vectors": None}])
def test_without_a_model_only_keywords_are_indexed(
    world: World, parts: DerivedParts, missing: dict[str, Any]
) -> None:
    done = update_derived(world.ctx, replace(parts, **missing))

    assert (done.notes, done.chunks, done.degraded) == (1, 0, ())


def test_another_model_needs_approval_before_it_embeds(world: World, derived: DerivedParts) -> None:
    other = replace(derived, embedder=lambda: HashEmbedder(dimension=32))
    costs: list[EmbeddingCost] = []

    def no(cost: EmbeddingCost) -> bool:
        costs.append(cost)
        return False

    assert "a different model" in update_derived(world.ctx, other).degraded[0]
    assert "a different model" in update_derived(world.ctx, other, approve=no).degraded[0]
    assert costs[0].texts >= 1
    assert not update_derived(world.ctx, other, approve=lambda _: True).degraded
    assert other.vectors is not None
    assert "/32/" in str(other.vectors.identity())


def test_an_unavailable_store_leaves_all_as_it_was(world: World, derived: DerivedParts) -> None:
    world.mirrored("Another one.", title="Another")
    unplugged = SqliteStore("/unplugged/store.sqlite3", clock=world.clock, create=False)
    away = replace(world.ctx, store=unplugged)

    assert all("unplugged" in why for why in update_derived(away, derived).degraded)
    assert is_derived_current(away)  # there is nothing that could be done
    assert not is_derived_current(world.ctx)


@pytest.mark.parametrize("part", ["update_link_index", "write_tables"])
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (IndexBusyError("another process writes"), "another process writes"),
        (NotRegularFileError(".index/x.md", "a folder"), ".index/x.md: is a folder, not a file"),
        (OSError(28, "the disk is full"), "cannot be written: the disk is full"),
    ],
)
def test_what_cannot_be_written_stops_nothing(
    world: World, parts: DerivedParts, part: str, error: Exception, why: str
) -> None:
    with mock.patch(f"vaultsync.api.derived_data.{part}", side_effect=error):
        done = update_derived(world.ctx, parts)

    assert done.notes == done.chunks == 1
    (said,) = done.degraded
    assert said.endswith(why)
    assert not is_derived_current(world.ctx)


class Silent(HashEmbedder):
    @property
    def dimension(self) -> int:
        raise EmbedderError("the model is gone")


def test_a_missing_model_is_reported(world: World, derived: DerivedParts) -> None:
    done = update_derived(world.ctx, replace(derived, embedder=Silent))

    assert done.degraded == ("the model is gone",)
