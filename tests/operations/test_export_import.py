"""All facts are exported as lines of JSON, and imported again."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence

import pytest

from tests.world import LINES, World
from vaultsync.errors import ImportLineError
from vaultsync.model.serialization import fact_to_values
from vaultsync.operations import export_import
from vaultsync.operations.export_import import export_facts, import_facts
from vaultsync.storage.store import AccessCount, RevisionMismatch, StoreWrite


def _exported(world: World) -> list[str]:
    lines: list[str] = []
    assert export_facts(world.ctx, lines.append) == len(lines)
    return lines


def test_export_and_import_are_lossless(world: World) -> None:
    one = world.mirrored(
        type="decision",
        decisionOutcome="done",
        tags=["a"],
        confidence=0.5,
        mood=["x", {"y": [1, None]}],
        aliases=["One"],
    )
    world.mirrored("🙂\n\ttab", title="Two", relatedFactIds=[one.id], type="person")
    lines = _exported(world)
    other = World()
    assert import_facts(other.ctx, lines) == 2
    assert _exported(other) == lines
    other.assert_at_rest()
    with other.nobody_writes():
        import_facts(other.ctx, lines)
    assert [fact_to_values(fact) for fact in other.facts()] == [
        fact_to_values(fact) for fact in world.facts()
    ]


def test_a_property_without_a_value_is_exported_and_imported(world: World) -> None:
    path = "team-core/notes/a.md"
    world.person_writes(path, "---\nup:\nrating: 5\nempty: []\n---\n\nText.\n")
    world.quiesce()
    (fact,), text = world.facts(), world.text(path)
    lines = _exported(world)
    import_facts(world.ctx, lines)
    assert world.fact(fact.id).properties == {"up": None, "rating": 5, "empty": []}
    world.assert_at_rest()
    assert world.text(path) == text
    other = World()
    import_facts(other.ctx, lines)
    other.quiesce()
    assert other.fact(fact.id).properties == fact.properties
    assert "\nup:\n" in other.note(fact.id)
    other.assert_at_rest()


def test_an_import_raises_the_count_of_uses_and_never_takes_it_back(world: World) -> None:
    fact = world.mirrored()
    used = AccessCount(2, world.ctx.today())
    world.store.count_accesses({fact.id: used}, "x")
    lines = _exported(world)
    assert '"accessCount":2' in lines[0]
    other = World()
    import_facts(other.ctx, lines)
    assert other.fact(fact.id).access_count == 2
    other.store.count_accesses({fact.id: used}, "x")
    with other.nobody_writes():
        import_facts(other.ctx, lines)
    assert other.fact(fact.id).access_count == 4


def test_an_import_changes_what_differs_and_restores_what_was_deleted(world: World) -> None:
    one = world.mirrored("One.", title="One")
    two = world.mirrored("Two.", title="Two")
    lines = _exported(world)
    world.agent_updates(one.id, content="Changed.")
    world.agent_forgets(two.id)
    import_facts(world.ctx, lines)
    assert world.fact(one.id).content == "One."
    assert world.fact(two.id).content == "Two."
    world.assert_at_rest()


def test_an_import_tells_a_truth_value_from_a_number(world: World) -> None:
    fact = world.mirrored(flag=True)
    import_facts(world.ctx, [line.replace("true", "1") for line in _exported(world)])
    assert repr(world.fact(fact.id).properties["flag"]) == "1"


def test_a_line_may_leave_out_what_the_store_can_supply(world: World) -> None:
    line = '{"content": "Words.", "embedding": [0.25, -0.5]}'
    assert import_facts(world.ctx, [line, "", "  \n"]) == 1
    world.quiesce()
    (fact,) = world.facts()
    assert fact.id
    assert (fact.scope, fact.status, fact.priority) == ("public", "active", 2)
    assert fact.created_at
    assert "embedding" not in world.note(fact.id)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "JSON"),
        ("[1]", "object"),
        ("null", "object"),
        ('{"content": "x", "type": "poem"}', "poem"),
        ('{"content": "x", "priority": 7}', "priority"),
        ('{"content": "x", "id": "../x"}', "id"),
        ('{"content": ""}', "content"),
        ('{"content": "x", "scope": "x/y"}', "scope"),
        ('{"content": "x", "properties": {"status": "y"}}', "status"),
        ('{"content": "x", "properties": {"a: b": "y"}}', "name"),
        ('{"content": "\\ud800"}', "content"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_an_invalid_line_is_named_and_none_is_imported(world: World, line: str, why: str) -> None:
    good = json.dumps({"content": "Good."})
    with pytest.raises(ImportLineError) as wrong:
        import_facts(world.ctx, [good, "", line])
    assert wrong.value.line == 3
    assert "line 3" in wrong.value.message
    assert why in wrong.value.message
    assert world.facts() == []


def test_an_id_twice_in_one_file_is_refused(world: World) -> None:
    fact_id = world.clock.new_id()
    line = json.dumps({"content": "Good.", "id": fact_id})
    with pytest.raises(ImportLineError, match="line 2"):
        import_facts(world.ctx, [line, line])
    assert world.facts() == []


def test_an_agent_imports_only_into_scopes_it_sees(world: World) -> None:
    line = json.dumps({"content": "x", "scope": "private-ada"})
    with pytest.raises(ImportLineError):
        import_facts(world.ctx, [line], agent="indy")
    assert import_facts(world.ctx, [line], agent="ada") == 1
    lines: list[str] = []
    assert export_facts(world.ctx, lines.append, agent="indy") == 0


@pytest.mark.parametrize("deleted", [False, True])
def test_an_agent_overwrites_or_restores_only_facts_it_sees(world: World, *, deleted: bool) -> None:
    theirs = world.agent_remembers("Under the stairs.", agent="bob", scope="private-bob")
    if deleted:
        world.agent_forgets(theirs.id, agent="bob")
    lines = ['{"content": "x"}', json.dumps({"id": theirs.id, "content": "y", "scope": "public"})]
    with pytest.raises(ImportLineError, match=r"line 2: .*already in use"):
        import_facts(world.ctx, lines, agent="indy")
    assert [each.content for each in world.store.iter_facts(deleted=deleted)] == [theirs.content]
    assert import_facts(world.ctx, lines[1:]) == 1


def test_an_import_that_meets_other_writers_is_repeated(world: World) -> None:
    fact = world.mirrored()
    lines = _exported(world)
    world.agent_updates(fact.id, content="Changed.")
    world.at_store("write", lambda: world.agent_updates(fact.id, priority=0))
    import_facts(world.ctx, lines)
    assert world.fact(fact.id).content == LINES


def test_an_import_holds_one_batch_unpacked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_import, "FACTS_PER_WRITE", 10)
    held: list[int] = []
    write = world.store.write

    def measured(writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        held.append(tracemalloc.get_traced_memory()[0])
        return write(writes)

    monkeypatch.setattr(world.store, "write", measured)
    text = "What one fact of many says. " * 100
    lines = (json.dumps({"content": f"{n}. {text}"}) for n in range(500))
    tracemalloc.start()
    try:
        assert import_facts(world.ctx, lines) == 500
    finally:
        tracemalloc.stop()
    assert len(held) == 50
    assert held[0] < 500 * len(text) / 4


def test_the_column_of_a_line_that_ends_too_early_is_its_end(world: World) -> None:
    with pytest.raises(
        ImportLineError, match=r"line 1: it is not JSON \(Expecting value, column 6\)"
    ):
        import_facts(world.ctx, ['{"x":\n'])
