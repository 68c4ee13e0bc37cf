"""Without the archive nobody knows what both sides last agreed on; nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import values
from tests.world import LINES, PERSONS, SCOPE, World, kinds, notice, taken
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FieldOwner, Value
from vaultsync.operations.adopt import adopt_notes
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest
from vaultsync.sync.write_through import NoteWriter

JOURNAL = "Journal/today.md"


def _adopted(text: str = "Words.\n", *, type_name: str | None = None) -> World:
    """A note that its author gave a shape of their own."""
    world = World()
    world.person_writes(JOURNAL, text)
    adopt_notes(world.ctx, [VaultPath(JOURNAL)], type_name=type_name)
    world.quiesce()
    return world


def test_an_edit_that_is_put_back_is_reported(world: World) -> None:
    fact = world.mirrored(source="session")
    world.agent_updates(fact.id, context="at lunch")
    world.quiesce()
    world.person_edits(fact, "source: session", "source: hearsay")
    world.lose_archive()
    assert kinds(world.sync()) == ["put_back"]
    world.assert_at_rest()


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"importance": 0.8}, "importance: 0.8"),
        ({"tags": ["a"]}, "tags:\n  - a"),
        ({"entities": ["Pier"]}, 'entities:\n  - "[[Pier]]"'),
        ({"status": "archived"}, "status: archived"),
        ({"priority": 0}, "priority: 0"),
        ({"decisionOutcome": "done"}, "decisionOutcome: done"),
        ({"context": "at lunch"}, "context: at lunch"),
        ({"mood": "sunny"}, "mood: sunny"),
    ],
)
def test_what_only_the_store_knows_stays_there_and_becomes_a_property(
    value: dict[str, Value], line: str
) -> None:
    world = _adopted()
    (fact,) = world.facts()
    text = world.text(JOURNAL)
    fact_work.update(world.ctx, fact.id, value, agent="indy")
    world.lose_archive()
    assert taken(world.sync(), fact.id) == ["update_vault"]
    now = world.fact(fact.id)
    for key, each in value.items():
        held = now.value(key)
        assert (list(held) if isinstance(held, tuple) else held) == each
    assert world.text(JOURNAL) == text.replace("---\nWords", f"{line}\n---\nWords")
    assert world.conflicts() == []
    world.assert_at_rest()


def _is_agreed(world: World, path: str) -> None:
    """When the archive is lost, note and fact stay as they are."""
    before, revisions = world.text(path), [fact.revision for fact in world.facts()]
    world.lose_archive()
    world.sync()
    assert world.text(path) == before
    assert [fact.revision for fact in world.facts()] == revisions
    world.assert_at_rest()


def test_what_an_agent_changed_before_the_base_reaches_the_note(world: World) -> None:
    notes = NoteWriter(world.ctx)
    fact = notes.note(world.agent_remembers(LINES, title="New"), actor="indy")
    world.agent_updates(fact.id, tags=["a"], importance=0.8)
    world.assert_at_rest()
    assert "tags:\n  - a\n" in world.note(fact.id)
    assert "importance: 0.8\n" in world.note(fact.id)


@pytest.mark.parametrize("scanned", [False, True])
def test_a_persons_edit_of_a_note_written_at_once_is_taken(world: World, scanned: bool) -> None:
    fact = NoteWriter(world.ctx).note(world.agent_remembers(LINES, title="New"), actor="indy")
    world.lose_archive()
    if scanned:
        world.sync()
    world.person_edits(str(fact.path), LINES, PERSONS)
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS


@pytest.mark.parametrize(
    "text",
    [
        "Words.\n",
        "---\npriority: high\ntags: {a: b}\nimportance: much\n---\nWords.\n",
        "---\ndecision: {outcome: open}\n---\nWords.\n",
        "# T\n\n<!-- vaultsync:managed -->\n- [[Pier]]\n<!-- /vaultsync:managed -->\n",
    ],
)
def test_a_note_that_agreed_with_its_fact_keeps_its_shape(text: str) -> None:
    world = _adopted(text, type_name="lesson")
    _is_agreed(world, JOURNAL)


def test_a_priority_that_the_folder_tells_is_not_written_into_the_note(world: World) -> None:
    path = "team-core/observations/critical/seen.md"
    world.person_writes(path, "Seen.\n")
    world.quiesce()
    _is_agreed(world, path)
    assert [fact.priority for fact in world.facts()] == [0]


@pytest.mark.parametrize("heading", ["Entities", "Related Facts"])
def test_links_in_the_block_alone_become_no_properties(world: World, heading: str) -> None:
    world.mirrored("Other.", title="Other", type="person")
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_edits(path, "## Provenance", f"## {heading}\n- [[Other]]\n\n## Provenance")
    world.quiesce()
    now = world.fact(fact.id)
    assert now.entities or now.related_fact_ids
    _is_agreed(world, path)


@given(st.data())
def test_whatever_both_sides_say_alike_is_taken_as_agreed(data: st.DataObject) -> None:
    world = World()
    said = data.draw(values(FieldOwner.SHARED, FieldOwner.MACHINE))
    said = {k: v for k, v in said.items() if k not in ("relatedFactIds", "content", "title")}
    made = {**said, "content": LINES, "title": "Made", "scope": SCOPE}
    # An agent makes no observation in the scope of a team.
    fact_work.remember(world.ctx, made, agent=None if said.get("type") == "observation" else "indy")
    world.person_writes(JOURNAL, "Words.\n")
    adopt_notes(world.ctx, [VaultPath(JOURNAL)])
    fact_id = world.archive.paths()[VaultPath(JOURNAL)]
    fact_work.update(world.ctx, fact_id, said, agent="indy")
    world.quiesce()
    notes = {path: world.data(path) for path in world.notes()}
    revisions = {fact.id: fact.revision for fact in world.facts()}
    world.lose_archive()
    world.sync()
    assert {path: world.data(path) for path in world.notes()} == notes
    assert {fact.id: fact.revision for fact in world.facts()} == revisions
    world.assert_at_rest()


def test_a_broken_note_is_not_taken_for_a_note_that_is_missing(world: World, fact: Fact) -> None:
    world.person_renames(fact, JOURNAL)
    world.person_edits(JOURNAL, "status: active", "status: [active")
    world.lose_archive()
    broken = world.data(JOURNAL)
    for _ in range(2):
        report = world.sync()
        assert [each.path for each in report.attention] == [JOURNAL]
        assert report.attention[0].kind == "unreadable"
    world.agent_updates(fact.id, tags=["a"])
    world.sync(SyncRequest.for_facts([fact.id], "follow"))
    world.sync()
    assert {path: world.data(path) for path in world.notes()} == {JOURNAL: broken}
    world.person_edits(JOURNAL, "status: [active", "status: active")
    world.assert_at_rest()
    assert world.path(fact.id) == JOURNAL
    assert "  - a\n" in world.text(JOURNAL)
    assert [each.id for each in world.facts()] == [fact.id]


def test_a_new_note_links_to_one_that_had_no_base_either(world: World, fact: Fact) -> None:
    world.person_edits(fact, "Alpha says", "Alpha wrote")
    world.lose_archive()
    other = world.agent_remembers(title="Another", relatedFactIds=[fact.id])
    world.sync()
    assert "- [[2026-02-14-a-plain-fact|A plain fact]]\n" in world.note(other.id)
    world.assert_at_rest()


def test_a_box_that_nobody_knows_any_more_is_reported_until_it_is_gone(world: World) -> None:
    fact = world.mirrored(LINES)
    world.person_edits(fact, "Alpha says this.", "The person's.")
    text = world.fact(fact.id).content
    world.agent_updates(fact.id, content=text.replace("Alpha says this.", "The agent's."))
    world.sync()
    (path,) = world.conflict_notes()
    world.lose_archive()
    assert kinds(world.sync()) == []
    world.clock.advance(60)
    world.person_edits(path, "- [ ] Take", "- [x] Take")
    for _ in range(2):
        world.clock.advance(60)
        said = notice(world.sync(), "void_answer")
        assert (said.path, "its box has no effect" in said.message) == (path, True)
    assert [x.kind for x in read_status(world.ctx).attention] == ["void_answer"]
    assert "The person's." in world.note(fact.id)
    world.person_deletes(path)
    world.clock.advance(60)
    world.sync()
    world.assert_at_rest()
    assert list(read_status(world.ctx).attention) == []
