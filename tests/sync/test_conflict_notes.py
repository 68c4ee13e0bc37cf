"""Conflict notes: where they lie, and what becomes of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from tests.disputes import AGENTS, PERSONS, conflict_in, place_of, tick
from tests.world import ALPHA, LINES, World, notice, refuse
from vaultsync.errors import NotRegularFileError, UnsafePathError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict, conflict_id
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict


def test_the_agents_text_is_in_conflict_notes_once(world: World, conflict: ConflictRecord) -> None:
    assert world.conflict_notes() == [place_of(conflict)]
    text = world.text(place_of(conflict))
    assert text.count(AGENTS) == 1
    assert text.count(PERSONS) == 1
    world.quiesce()
    world.assert_at_rest()
    assert world.conflict_notes() == [place_of(conflict)]
    assert world.text(place_of(conflict)) == text


def test_a_conflict_note_beside_the_note_is_no_note(world: World, conflict: ConflictRecord) -> None:
    stem = world.path(conflict.fact_id).removesuffix(".md")
    assert place_of(conflict) == f"{stem}.conflict.md"
    world.quiesce()
    assert len(world.facts()) == 1
    for marker in ("<<<<<<<", "=======", ">>>>>>>"):
        assert marker not in world.note(conflict.fact_id)
    said = json.loads(world.vault.names[f".meta/conflicts/{conflict.id}.json"].data)
    assert (said["id"], said["fields"][0]["field"]) == (conflict.id, "content")


def test_other_words_in_a_conflict_note_do_nothing(world: World, conflict: ConflictRecord) -> None:
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


def _dispute(world: World, fact: Fact) -> None:
    """Both sides change the first line."""
    world.person_edits(fact, ALPHA, PERSONS)
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS), priority=0)


@pytest.mark.parametrize("kind", ["file", "a link"])
def test_what_is_in_place_of_a_conflict_note_stays(world: World, fact: Fact, kind: str) -> None:
    place = world.path(fact.id).removesuffix(".md") + ".conflict.md"
    if kind == "file":
        world.person_writes(place, "Mine.\n")
    else:
        world.vault.make_odd(place, kind)
    there = world.vault.names[place]
    _dispute(world, fact)
    world.sync()
    assert world.vault.names[place] is there
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


def _ignored() -> None:
    raise UnsafePathError("x.conflict.md", "it is ignored", hint="see `ignore`")


def _occupied() -> None:
    raise NotRegularFileError(".meta/conflicts/x.json", "a folder")


@pytest.mark.parametrize(
    ("step", "act", "hint"),
    [
        ("create", refuse, "permissions"),
        ("create", _ignored, "see `ignore`"),
        ("write_meta", _occupied, "move or rename it"),
    ],
)
def test_a_conflict_that_cannot_be_written_beside_its_note_stops_no_other(
    world: World, step: str, act: Callable[[], None], hint: str
) -> None:
    fact, other = world.mirrored(), world.mirrored("Other.", title="Other")
    _dispute(world, fact)
    world.person_edits(other, "Other.", "Changed.")
    world.at(step, act)
    assert hint in notice(world.sync(), "not_written").hint
    assert world.fact(other.id).content == "Changed."
    assert AGENTS in world.everything_kept()
    world.quiesce()
    assert AGENTS in world.text(world.conflict_notes()[0])


def test_an_unreadable_conflict_note_says_nothing(world: World, conflict: ConflictRecord) -> None:
    text = world.text(place_of(conflict))
    world.vault.max_bytes = len(text) + 1_000
    world.person_writes(place_of(conflict), text.replace("[ ]", "[x]") + "x" * 2_000)
    world.sync()
    assert len(world.conflicts()) == 1
    world.person_writes(place_of(conflict), text.replace("[ ]", "[x]"))
    world.quiesce()
    assert world.conflicts() == []
    assert AGENTS in world.note(conflict.fact_id)


@pytest.mark.parametrize("moved", ["team-core/later.conflict.md", "team-core/notes/b.conflict.md"])
def test_a_renamed_conflict_note_is_told_from_others(
    world: World, conflict: ConflictRecord, moved: str
) -> None:
    world.person_writes("team-core/notes/a.conflict.md", "Mine.\n")
    world.person_renames(place_of(conflict), moved)
    world.quiesce()
    (found,) = world.conflicts()
    assert found.conflict_path == moved
    tick(world, found)
    world.quiesce()
    assert world.conflicts() == []
    assert world.fact(conflict.fact_id).content == LINES.replace(ALPHA, AGENTS)
    assert world.conflict_notes() == ["team-core/notes/a.conflict.md"]


def test_renamed_conflict_notes_are_found_with_one_read_of_each(world: World) -> None:
    facts = [world.mirrored(title=f"Fact {number}") for number in range(20)]
    for each in facts:
        world.person_edits(each, ALPHA, PERSONS)
        world.agent_updates(each.id, content=LINES.replace(ALPHA, AGENTS))
    world.sync()
    before = {each.id: place_of(each) for each in world.conflicts()}
    for path in before.values():
        world.person_renames(path, path.replace("/notes/", "/moved/"))
    reads: list[str] = []
    world.vault.before = lambda step: reads.append(step) if step == "read" else None
    world.sync()
    after = {each.id: place_of(each) for each in world.conflicts()}
    assert after == {key: path.replace("/notes/", "/moved/") for key, path in before.items()}
    assert len(reads) <= 3 * len(facts)


def test_the_record_of_a_conflict_in_the_vault_has_the_fields_that_are_open(world: World) -> None:
    fact = world.mirrored()
    world.person_edits(fact, ALPHA, PERSONS)
    world.person_edits(fact, "priority: 2", "priority: 0")
    world.agent_updates(fact.id, content=LINES.replace(ALPHA, AGENTS), priority=1)
    world.sync()
    (conflict,) = world.conflicts()
    resolve_conflict(world.ctx, ConflictResolution(conflict, "store", ("priority",)))
    record = world.vault.read_meta(VaultPath(f".meta/conflicts/{conflict.id}.json"))
    assert [each["field"] for each in json.loads(record or b"")["fields"]] == ["content"]


def test_a_conflict_note_with_another_name_is_still_the_same_and_no_fact(
    world: World, conflict: ConflictRecord
) -> None:
    moved = "team-core/notes/Decide this.md"
    world.person_renames(place_of(conflict), moved)
    world.quiesce()
    (found,) = world.conflicts()
    assert (found.conflict_path, len(world.facts())) == (moved, 1)
    world.assert_at_rest()
    tick(world, found)
    world.quiesce()
    assert world.conflicts() == []
    assert world.fact(conflict.fact_id).content == LINES.replace(ALPHA, AGENTS)
    assert moved not in world.vault.files


def test_a_conflict_whose_note_was_never_written_can_be_closed(world: World, fact: Fact) -> None:
    _dispute(world, fact)
    world.dies_at("stage")
    (conflict,) = world.conflicts()
    assert conflict.conflict_path is None
    resolve_conflict(world.ctx, ConflictResolution(conflict, "vault", ("content",)))
    assert world.conflicts() == []


def test_saves_while_a_conflict_note_goes_are_kept(world: World, conflict: ConflictRecord) -> None:
    path = place_of(conflict)
    saves = {"stage_removal.take": "one", "stage_removal.back": "two"}

    def save(step: str) -> None:
        if words := saves.pop(step, None):
            world.person_writes(path, f"{words}\n")

    world.vault.before = save
    resolve_conflict(world.ctx, ConflictResolution(conflict, "vault", ("content",)))
    assert world.vault.read(VaultPath(path)).data == b"two\n"
    assert world.archive.blob(hashlib.sha256(b"one\n").hexdigest()) is not None
    assert world.vault.ops() == []
