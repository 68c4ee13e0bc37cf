"""A run of several batches does what one batch would, and stops at the one that fails."""

from __future__ import annotations

import pytest

from tests.world import SCOPE, World
from vaultsync.model.fact import make_fact
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.context import SyncPolicy

BATCH = 100


def _with_facts(count: int) -> World:
    world = World(SyncPolicy(batch=BATCH))
    for number in range(count):
        fact_id = f"0193f6c2-0000-7000-8000-{number:012d}"
        said = {"title": f"Fact {number}", "content": f"What fact {number} says."}
        fact = make_fact({"id": fact_id, "scope": SCOPE, **said})
        world.store.write([StoreWrite(fact_id, fact, None, "indy")])
    return world


def test_a_pass_of_several_batches_writes_what_one_batch_would() -> None:
    world = _with_facts(2 * BATCH + 50)
    assert world.sync().counts["created_in_vault"] == 2 * BATCH + 50
    world.assert_at_rest()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_disk_that_fails_stops_the_pass_before_the_base(number: int) -> None:
    world = _with_facts(2 * BATCH + 50)

    def fails() -> None:
        raise OSError(5, "Input/output error")

    world.at("sync", fails, number=number)
    with pytest.raises(OSError, match="Input/output"):
        world.sync()
    assert world.archive.count_bases() == (number - 1) // 2 * BATCH
    world.assert_at_rest()
    assert len(world.notes()) == 2 * BATCH + 50
