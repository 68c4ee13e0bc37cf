"""Conflict notes: where they lie, and what becomes of them."""

from __future__ import annotations

import json

import pytest

from tests.disputes import AGENTS, ALPHA, PERSONS, conflict_in, place_of, tick
from tests.world import LINES, World, notice
from vaultsync.model.fact import Fact
from vaultsync.notes.conflict_note import Conflict, FieldConflict, conflict_id
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict


def test_the_agents_text_is_in_the_conflict_note_once(world: World, conflict: Conflict) -> None:
    assert world.conflict_notes() == [place_of(conflict)]
    text = world.text(place_of(conflict))
    assert text.count(AGENTS) == 1
    assert text.count(PERSONS) == 1
    world.quiesce()
    world.quiesce()
    assert world.conflict_notes() == [place_of(conflict)]
    assert world.text(place_of(conflict)) == text
    world.assert_at_rest()


def test_the_conflict_note_beside_the_note_is_no_note(world: World, conflict: Conflict) -> None:
    stem = world.path(conflict.fact_id).removesuffix(".md")
    assert place_of(conflict) == f"{stem}.conflict.md"
    world.quiesce()
    assert len(world.facts()) == 1


def test_there_are_never_conflict_markers_in_a_note(world: World, conflict: Conflict) -> None:
    for marker in ("<<<<<<<", "=======", ">>>>>>>"):
        assert marker not in world.note(conflict.fact_id)


def test_the_conflict_is_in_the_derived_files_as_well(world: World, conflict: Conflict) -> None:
    data = world.vault.names[f".meta/conflicts/{conflict.id}.json"].data
    said = json.loads(data)
    assert said["id"] == conflict.id
    assert said["fields"][0]["field"] == "content"


def test_a_conflict_note_that_was_renamed_is_found_again(world: World, conflict: Conflict) -> None:
    world.person_renames(place_of(conflict), "team-core/later.conflict.md")
    world.quiesce()
    assert len(world.conflicts()) == 1
    world.person_edits("team-core/later.conflict.md", "- [ ]", "- [x]")
    world.quiesce()
    assert world.conflicts() == []
    assert world.fact(conflict.fact_id).content == LINES.replace(ALPHA, AGENTS)
    assert world.conflict_notes() == []


def test_other_words_in_the_conflict_note_do_nothing(world: World, conflict: Conflict) -> None:
    before = world.note(conflict.fact_id)
    world.person_edits(place_of(conflict), AGENTS, "Something else entirely.")
    world.quiesce()
    assert world.note(conflict.fact_id) == before
    assert len(world.conflicts()) == 1
    tick(world, conflict)
    world.quiesce()
    assert AGENTS in world.note(conflict.fact_id)


def test_a_new_conflict_of_the_same_note_has_a_note_of_its_own(world: World) -> None:
    first = conflict_in(world)
    world.person_edits(world.path(first.fact_id), PERSONS, "The person, again.")
    agents = LINES.replace(ALPHA, "The agent, again.")
    world.agent_updates(first.fact_id, content=agents)
    world.sync()
    assert len(world.conflicts()) == 2
    texts = [world.text(path) for path in world.conflict_notes()]
    assert len(texts) == 2
    assert any(AGENTS in text for text in texts)
    assert any("The agent, again." in text for text in texts)


def _crash_at(world: World, step: str) -> None:
    def crash(now: str) -> None:
        if now == step:
            raise KeyboardInterrupt

    world.vault.before = world.store.before = crash
    if step == "begin":
        world.archive.before = crash
    with pytest.raises(KeyboardInterrupt):
        world.sync()
    world.vault.before = world.store.before = world.archive.before = lambda _: None


def test_a_crash_after_the_conflict_note_makes_no_second_one(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS), priority=0)
    for step in ("begin", "write", "exchange"):
        _crash_at(world, step)
    world.quiesce()
    assert len(world.conflict_notes()) == 1
    assert len(world.conflicts()) == 1
    assert PERSONS in world.note(fact.id)
    assert AGENTS in world.text(world.conflict_notes()[0])
    world.assert_at_rest()


def test_a_file_at_the_place_of_the_conflict_note_is_left_alone(world: World, fact: Fact) -> None:
    place = world.path(fact.id).removesuffix(".md") + ".conflict.md"
    world.person_writes(place, "Mine.\n")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    world.quiesce()
    assert world.text(place) == "Mine.\n"
    (other,) = [path for path in world.conflict_notes() if path != place]
    assert AGENTS in world.text(other)


def test_a_link_at_the_place_of_the_conflict_note_is_left_alone(world: World, fact: Fact) -> None:
    place = world.path(fact.id).removesuffix(".md") + ".conflict.md"
    world.vault.make_odd(place, "a link")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    world.sync()
    assert world.vault.names[place].kind == "a link"
    (other,) = [path for path in world.conflict_notes() if path != place]
    assert AGENTS in world.text(other)


def test_a_conflict_finds_a_name_whatever_is_taken(world: World, fact: Fact) -> None:
    path, agents = world.path(fact.id), LINES.replace(ALPHA, AGENTS)
    persons = LINES.replace(ALPHA, PERSONS)
    expected = conflict_id(fact.id, (FieldConflict("content", LINES, persons, agents),))
    stem = path.removesuffix(".md")
    for tag in ("", f".{expected[:8]}", f".{expected}"):
        world.person_writes(f"{stem}{tag}.conflict.md", "Mine.\n")
    world.person_edits(path, ALPHA, PERSONS)
    world.agent_updates(fact.id, content=agents)
    world.quiesce()
    (conflict,) = world.conflicts()
    assert conflict.id == expected
    assert AGENTS in world.text(place_of(conflict))


def test_a_conflict_that_cannot_be_written_beside_its_note_stops_no_other(world: World) -> None:
    fact, other = world.mirrored(), world.mirrored("Other.", title="Other")
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    world.person_edits(world.path(other.id), "Other.", "Changed.")

    def refuse(step: str) -> None:
        if step == "create":
            raise PermissionError(13, "Permission denied")

    world.vault.before = refuse
    assert notice(world.sync(), "not_written")
    world.vault.before = lambda _: None
    assert world.fact(other.id).content == "Changed."
    assert AGENTS in world.everything_kept()
    world.quiesce()
    assert AGENTS in world.text(world.conflict_notes()[0])


def test_a_conflict_note_that_cannot_be_read_says_nothing(world: World, conflict: Conflict) -> None:
    text = world.text(place_of(conflict))
    world.vault.max_bytes = len(text) + 1_000
    world.person_writes(place_of(conflict), text.replace("[ ]", "[x]") + "x" * 2_000)
    world.sync()
    assert len(world.conflicts()) == 1
    world.person_writes(place_of(conflict), text.replace("[ ]", "[x]"))
    world.quiesce()
    assert world.conflicts() == []
    assert AGENTS in world.note(conflict.fact_id)


def test_a_renamed_conflict_note_is_told_from_others(world: World, conflict: Conflict) -> None:
    world.person_writes("team-core/notes/a.conflict.md", "Mine.\n")
    moved = "team-core/notes/b.conflict.md"
    world.person_renames(place_of(conflict), moved)
    world.quiesce()
    (found,) = world.conflicts()
    assert found.conflict_path == moved
    world.person_edits(moved, "- [ ]", "- [x]")
    world.quiesce()
    assert AGENTS in world.note(conflict.fact_id)
    assert world.text("team-core/notes/a.conflict.md") == "Mine.\n"


def test_a_conflict_whose_note_was_never_written_can_be_closed(world: World, fact: Fact) -> None:
    world.person_edits(world.path(fact.id), ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS))
    world.dies_at("stage")
    (conflict,) = world.conflicts()
    assert conflict.conflict_path is None
    resolve_conflict(world.ctx, ConflictResolution(conflict, "vault", ("content",)))
    assert world.conflicts() == []
