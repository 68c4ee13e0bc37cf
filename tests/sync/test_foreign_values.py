"""Values that mean something to the author of a note and nothing to us: told once, never nagged."""

from __future__ import annotations

import pytest
from msgspec.structs import force_setattr

from tests.world import World, kinds
from vaultsync.model.paths import VaultPath
from vaultsync.notes.view import NoteView
from vaultsync.operations.adopt import adopt_notes
from vaultsync.sync.status import read_status

BOOK = "---\ntype: book\npriority: high\nconfidence: high\nstatus: reading\n---\n{}\n"


@pytest.fixture
def world() -> World:
    made = World()
    for number in range(3):
        made.person_writes(f"Books/{number}.md", BOOK.format(f"Book {number}."))
    made.clock.advance(60)
    return made


def test_foreign_values_are_told_when_a_note_is_adopted_and_never_again(world: World) -> None:
    assert kinds(adopt_notes(world.ctx, [VaultPath("Books")])) == ["invalid_field"] * 9
    assert {each.kind for each in world.archive.notices()} == set()
    for _ in range(2):
        world.clock.advance(60)
        assert kinds(world.sync()) == []
        assert list(read_status(world.ctx).attention) == []
    world.person_edits("Books/1.md", "Book 1.", "Book 1, again.")
    world.clock.advance(60)
    assert kinds(world.sync()) == []
    assert "type: book\npriority: high" in world.text("Books/1.md")


def test_a_note_with_known_foreign_values_is_adopted_without_a_word(world: World) -> None:
    adopt_notes(world.ctx, [VaultPath("Books")])
    world.person_writes("Books/new.md", BOOK.format("Another book."))
    world.clock.advance(60)
    assert kinds(world.sync()) == []
    world.quiesce()
    assert len(world.facts()) == 4
    assert {fact.status for fact in world.facts()} == {"reading"}


@pytest.mark.parametrize("name", ["due", "dueDate"])
def test_a_due_date_that_names_no_day_is_told_until_it_does(world: World, name: str) -> None:
    world.person_writes("Books/task.md", f"---\ntype: task\n{name}: someday\n---\nRead it.\n")
    told = adopt_notes(world.ctx, [VaultPath("Books")]).attention
    (said,) = (each.message for each in told if each.path == "Books/task.md")
    assert said.startswith(f"Books/task.md:3: {name}: expected a date such as 2026-02-14")
    assert said.endswith("got 'someday'; it is stored, but counts as no due date")
    world.quiesce()
    (task,) = (fact for fact in world.facts() if fact.type == "task")
    assert task.properties == {name: "someday"}
    told_of = {"2027-01-31": [], "fridya": ["invalid_field"], '"[[2027-01-31]]"': []}
    for value, kinds_told in told_of.items():
        world.person_edits("Books/task.md", f"{name}: ", f"{name}: {value} #")
        world.clock.advance(60)
        assert kinds(world.sync()) == kinds(world.sync()) == kinds_told
        assert world.fact(task.id).properties == {name: value.strip('"')}


def test_a_value_that_is_neither_ours_nor_known_is_told_until_it_is_right(world: World) -> None:
    adopt_notes(world.ctx, [VaultPath("Books")])
    world.quiesce()
    world.person_edits("Books/1.md", "priority: high", "priority: hihg")
    world.clock.advance(60)
    assert kinds(world.sync()) == ["invalid_field"]
    assert kinds(world.sync()) == ["invalid_field"]
    world.person_edits("Books/1.md", "priority: hihg", "priority: high")
    world.clock.advance(60)
    assert kinds(world.sync()) == []


@pytest.mark.parametrize("meaning", [1, None])
def test_a_word_that_gets_a_meaning_or_is_ignored_is_told_no_more(meaning: int | None) -> None:
    world = World()
    path = world.path(world.mirrored().id)
    world.person_edits(path, "priority: 2", "priority: urgent")
    world.clock.advance(60)
    assert kinds(world.sync()) == ["invalid_field"]
    for words, told in (({"high": 1}, ["invalid_field"]), ({"urgent": meaning}, [])):
        force_setattr(world.ctx, "view", NoteView(meanings={"priority": words}))
        for _ in range(2):
            world.clock.advance(60)
            assert kinds(world.sync()) == told
    assert world.archive.notices() == []
    world.person_edits(path, "priority: urgent", "priority: hihg")
    world.clock.advance(60)
    assert kinds(world.sync()) == ["invalid_field"]
    world.person_edits(path, "priority: hihg", "priority: [")
    world.clock.advance(60)
    assert kinds(world.sync()) == ["unreadable"]


MAPPED = NoteView(meanings={"priority": {"high": 1, "low": 3}, "type": {"book": "lesson"}})


def mapped_world() -> World:
    made = World(view=MAPPED)
    made.person_writes("Books/one.md", BOOK.replace("confidence: high\n", "").format("One."))
    made.clock.advance(60)
    assert kinds(adopt_notes(made.ctx, [VaultPath("Books")])) == []
    made.quiesce()
    return made


def test_words_with_a_meaning_are_read_as_it_and_stay_in_the_note() -> None:
    world = mapped_world()
    (fact,) = world.facts()
    assert (fact.priority, fact.type, fact.status) == (1, "lesson", "reading")
    assert "type: book\npriority: high" in world.text("Books/one.md")
    world.agent_updates(fact.id, content="One, by an agent.")
    world.quiesce()
    assert "type: book\npriority: high" in world.text("Books/one.md")
    world.person_edits("Books/one.md", "priority: high", "priority: Low")
    world.clock.advance(60)
    assert kinds(world.sync()) == []
    assert world.fact(fact.id).priority == 3
    world.agent_updates(fact.id, priority=0)
    world.quiesce()
    assert "type: book\npriority: 0" in world.text("Books/one.md")
    world.assert_at_rest()


def test_a_meaning_that_comes_later_changes_no_note_that_was_taken_in_before(world: World) -> None:
    adopt_notes(world.ctx, [VaultPath("Books")])
    world.quiesce()
    force_setattr(world.ctx, "view", MAPPED)
    fact = next(x for x in world.facts() if x.content == "Book 1.")
    world.agent_updates(fact.id, content="Book 1, by an agent.")
    world.quiesce()
    assert "type: book\npriority: high" in world.text("Books/1.md")
    assert world.fact(fact.id).priority == 2
    world.person_edits("Books/1.md", "priority: high", "priority: low")
    world.clock.advance(60)
    world.quiesce()
    assert world.fact(fact.id).priority == 3
    assert "priority: low" in world.text("Books/1.md")


@pytest.mark.parametrize("word", ["high", "*"])
def test_words_that_the_settings_ignore_are_never_reported(word: str) -> None:
    world = World(view=NoteView(meanings={"priority": {word: None}}))
    fact = world.mirrored()
    world.person_edits(fact, "priority: 2", "priority: High")
    world.person_writes("Books/one.md", "---\npriority: high\n---\nOne.\n")
    world.clock.advance(60)
    assert kinds(adopt_notes(world.ctx, [VaultPath("Books")])) == []
    assert kinds(world.sync()) == []
    assert world.fact(fact.id).priority == 2
    world.agent_updates(fact.id, priority=0)
    assert kinds(world.sync()) == []
    assert world.fact(fact.id).priority == 0
    assert "priority: High" in world.text(fact)
    world.person_edits(fact, "priority: High", "priority: hihg")
    assert kinds(world.sync()) == ([] if word == "*" else ["invalid_field"])


def test_a_meaning_of_all_other_words_leaves_the_named_ones_theirs() -> None:
    world = World(view=NoteView(meanings={"priority": {"*": 3, "high": 1, "odd": None}}))
    for word in ("high", "whatever", "odd"):
        world.person_writes(f"Books/{word}.md", f"---\npriority: {word}\n---\n{word}.\n")
    world.clock.advance(60)
    assert kinds(adopt_notes(world.ctx, [VaultPath("Books")])) == []
    found = {fact.content: fact.priority for fact in world.facts()}
    assert found == {"high.": 1, "whatever.": 3, "odd.": 2}
