"""The second version of a note that a sync tool put beside it: named, and left alone."""

from __future__ import annotations

import pytest

from tests.disputes import conflict_in, place_of
from tests.world import ALPHA, PERSONS_ALPHA, World, kinds, notice
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import CONFLICT_COPIES, LIKELY_COPIES, ConflictCopyName
from vaultsync.model.paths import VaultPath
from vaultsync.operations.adopt import adopt_notes
from vaultsync.sync.status import read_status

PLAN = "team-core/notes/Plan.md"


def _copied(world: World, fact: Fact, row: ConflictCopyName) -> tuple[str, str]:
    """The path and the text of a copy that a sync tool puts beside a note."""
    world.person_renames(fact, PLAN)
    world.assert_at_rest()
    copy = PLAN.replace("Plan.md", row.example)
    text = world.text(PLAN).replace(ALPHA, PERSONS_ALPHA)
    world.person_writes(copy, text)
    return copy, text


@pytest.mark.parametrize("row", CONFLICT_COPIES, ids=lambda row: row.example)
def test_a_copy_is_named_with_its_note(world: World, fact: Fact, row: ConflictCopyName) -> None:
    copy, text = _copied(world, fact, row)
    for _ in range(3):
        world.clock.advance(60)
        report = world.sync()
        assert kinds(report) == ["conflict_copy"]
        said = notice(report, "conflict_copy")
        assert said.path == copy
        assert f"{row.tool} made of {PLAN}" in said.message
        assert PLAN in said.hint
        assert [each.kind for each in read_status(world.ctx).attention] == ["conflict_copy"]
    assert len(world.facts()) == 1
    assert world.text(copy) == text
    assert [each.kind for each in world.archive.notices()] == ["conflict_copy"]
    world.person_deletes(copy)
    assert kinds(world.sync()) == []
    assert list(read_status(world.ctx).attention) == []
    world.assert_at_rest()


def test_a_conflict_copy_whose_note_is_gone_may_take_its_place(world: World) -> None:
    copy = "team-core/notes/Plan (Conflicted copy).md"
    world.person_writes(copy, "Words.\n")
    world.clock.advance(60)
    said = notice(world.sync(), "conflict_copy")
    assert "which does not exist" in said.message
    assert f"rename it to {PLAN}" in said.hint
    world.person_renames(copy, PLAN)
    world.clock.advance(60)
    assert kinds(world.sync()) == []
    assert [world.path(each.id) for each in world.facts()] == [PLAN]


def test_a_conflict_copy_of_a_conflict_note_is_answered_in_the_original(world: World) -> None:
    original = place_of(conflict_in(world))
    copy = original.replace(".md", " (Conflicted copy).md")
    world.person_copies(original, copy)
    world.clock.advance(60)
    said = notice(world.sync(), "conflict_copy")
    assert said.message.endswith(f"made of {original}; its boxes are not read")
    assert said.hint == f"answer in {original}, and delete this file"
    world.person_deletes(original)
    world.clock.advance(60)
    world.sync()
    world.clock.advance(60)
    said = notice(world.sync(), "conflict_copy")
    assert "which does not exist" in said.message
    assert said.hint == "it is settled: delete it"


def test_conflict_copies_of_notes_that_are_not_ours_are_not_named(world: World) -> None:
    world.person_writes("Books/one.md", "One.\n")
    world.person_writes("Books/one (Conflicted copy).md", "Two.\n")
    world.clock.advance(60)
    assert kinds(world.sync()) == []
    assert kinds(adopt_notes(world.ctx, [VaultPath("Books")])) == ["conflict_copy"]
    assert len(world.facts()) == 1


@pytest.mark.parametrize("row", LIKELY_COPIES, ids=lambda row: row.example)
def test_a_file_with_the_id_and_nearly_the_name_of_its_neighbour_is_a_conflict_copy(
    world: World, fact: Fact, row: ConflictCopyName
) -> None:
    copy, text = _copied(world, fact, row)
    for step in range(3):
        world.clock.advance(60)
        report = world.sync()
        assert kinds(report) == ["conflict_copy"]
        assert f"{row.tool} made of {PLAN}" in notice(report, "conflict_copy").message
        if step:
            world.person_edits(PLAN, "Bravo" * step, "Bravo" * (step + 1))
    assert (len(world.facts()), world.text(copy)) == (1, text)
    world.person_writes(copy, text.replace(f"id: {fact.id}\n", ""))
    world.clock.advance(60)
    assert kinds(world.sync()) == []
    assert len(world.facts()) == 2
    world.assert_at_rest()


def test_a_likely_copy_that_the_user_adopts_is_a_note_of_its_own(world: World, fact: Fact) -> None:
    world.person_renames(fact, PLAN)
    world.assert_at_rest()
    copy = VaultPath(PLAN.replace("Plan.md", "Plan 2.md"))
    world.person_copies(PLAN, copy)
    world.clock.advance(60)
    assert kinds(world.sync()) == ["conflict_copy"]
    assert kinds(adopt_notes(world.ctx, [copy])) == []
    assert {world.path(each.id) for each in world.facts()} == {PLAN, copy}
    world.assert_at_rest()


def test_a_fact_whose_note_has_the_name_of_a_copy_is_not_deleted(world: World, fact: Fact) -> None:
    copy = VaultPath("team-core/notes/Plan_conflict-20260102-153000.md")
    base = world.archive.find_base(fact.id)
    assert base is not None
    world.person_renames(base.path, copy)
    with world.archive.transaction():
        world.archive.put_bases([base._replace(fact=base.fact.evolve(path=copy))])
    for _ in range(4):
        world.clock.advance(600)
        assert kinds(world.sync()) == ["conflict_copy"]
    assert [each.id for each in world.facts()] == [fact.id]
    world.person_renames(copy, PLAN)
    world.assert_at_rest()
    assert world.path(fact.id) == PLAN
