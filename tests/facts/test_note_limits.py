"""What is accepted is read back: a fact whose note would be too large is refused at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.world import SCOPE, World
from vaultsync.errors import ImportLineError, NoteLimitError
from vaultsync.facts import service as fact_work
from vaultsync.model.schema import Value
from vaultsync.operations.export_import import import_facts
from vaultsync.operations.verify import verify_all

LARGE: dict[str, dict[str, Value]] = {
    "a content": {"content": "word " * 40_000},
    "a property": {"content": "x", "mood": "y" * 70_000},
    "a context": {"content": "x", "context": "word " * 40_000},
    "tags": {"content": "x", "tags": [f"a-tag-with-a-long-name-{n}" for n in range(2500)]},
    "properties": {"content": "x", **{f"property{n}": n for n in range(600)}},
    "entities": {"content": "x", "entities": [f"Somebody {n} with a name" for n in range(6000)]},
}


def _limited(world: World) -> None:
    world.ctx = replace(world.ctx, policy=world.ctx.policy._replace(max_note_bytes=128 * 1024))


@pytest.mark.parametrize("values", LARGE.values(), ids=LARGE)
def test_a_fact_of_an_unreadable_note_is_refused(world: World, values: dict[str, Value]) -> None:
    _limited(world)
    fact = world.mirrored()
    before = world.store.state()
    with pytest.raises(NoteLimitError) as refused:
        fact_work.remember(world.ctx, {"scope": SCOPE, **values}, agent="indy")
    assert "larger than" in refused.value.message or "more than" in refused.value.message
    with pytest.raises(NoteLimitError):
        fact_work.update(world.ctx, fact.id, values, agent="indy")
    with world.outage(), pytest.raises(NoteLimitError):
        fact_work.update(world.ctx, fact.id, values, agent="indy")
    assert world.store.state() == before
    assert world.archive.outbox() == []
    world.assert_at_rest()


def test_a_replacement_that_is_too_large_is_refused(world: World) -> None:
    _limited(world)
    fact = world.mirrored()
    with pytest.raises(NoteLimitError, match="131,072"):
        fact_work.supersede(world.ctx, fact.id, "word " * 40_000, agent="indy")


def test_an_import_names_the_line_that_is_too_large(world: World) -> None:
    _limited(world)
    lines = ['{"content": "Small."}', f'{{"content": "x", "mood": "{"y" * 70_000}"}}']
    with pytest.raises(ImportLineError, match="line 2"):
        import_facts(world.ctx, lines)
    assert world.facts() == []


@given(
    content=st.integers(0, 140_000),
    properties=st.integers(0, 520),
    length=st.integers(0, 70_000),
    tags=st.integers(0, 1200),
)
def test_what_is_accepted_is_read_back_equal(
    content: int, properties: int, length: int, tags: int
) -> None:
    world = World()
    _limited(world)
    values: dict[str, Value] = {
        "content": "A word. " * (content // 8) + "End.",
        "mood": "m" * length,
        "tags": [f"tag-number-{n}" for n in range(tags)],
        **{f"property{n}": f"value {n}" for n in range(properties)},
    }
    try:
        fact = fact_work.remember(world.ctx, {"scope": SCOPE, **values}, agent="indy")
    except NoteLimitError:
        assert world.facts() == []
        return
    world.sync()
    assert len(world.data(fact)) <= world.ctx.policy.max_note_bytes
    world.archive = type(world.archive)()  # everything is read again
    world.ctx = replace(world.ctx, archive=world.archive)
    assert not world.sync().attention
    assert verify_all(world.ctx).equal
    assert world.fact(fact.id).content == values["content"]
