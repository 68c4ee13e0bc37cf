"""A deletion needs positive absence, becomes a tombstone, and loses against an edit."""

from __future__ import annotations

import pytest

from tests.world import AGENTS, ALPHA, LINES, PERSONS, PERSONS_ALPHA, World, kinds, taken
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import NOT_DOWNLOADED
from vaultsync.sync.sync_request import SyncRequest


@pytest.fixture
def fact(world: World, fact: Fact) -> Fact:
    """A fact, and another one so that the vault is not emptied by its deletion."""
    world.mirrored("Stays.", title="A bystander")
    return fact


def test_a_note_that_is_gone_is_deleted_only_at_the_second_look(world: World, fact: Fact) -> None:
    world.person_deletes(fact)
    first, began = world.sync(), world.clock.now()
    assert world.is_alive(fact.id)
    assert first.counts["deleted_in_store"] == 0
    world.clock.advance(-1)
    second = world.sync()
    assert (world.clock.now() - began).total_seconds() >= world.ctx.policy.grace_seconds
    assert not world.is_alive(fact.id)
    assert second.counts["deleted_in_store"] == 1
    world.assert_at_rest()


def test_an_agents_edit_beats_a_persons_deletion(world: World, fact: Fact) -> None:
    path, before = world.path(fact.id), world.note(fact.id)
    world.person_deletes(path)
    world.agent_updates(fact.id, content=AGENTS)
    world.quiesce()
    assert world.is_alive(fact.id)
    assert world.path(fact.id) == path
    old = [x for x in before.split("\n") if x not in world.text(path).split("\n")]
    assert [x for x in old if "updatedAt" not in x] == ["Charlie says more."]
    assert len(world.conflict_notes()) == 1
    assert "You deleted" in world.text(world.conflict_notes()[0])
    (conflict,) = world.conflicts()
    assert [each.field for each in conflict.fields] == ["note"]
    world.assert_at_rest()
    # A second deletion, without a new edit, is honoured.
    world.person_deletes(path)
    world.quiesce()
    assert not world.is_alive(fact.id)
    assert len(world.notes()) == 1


def test_a_persons_edit_beats_an_agents_deletion(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, ALPHA, PERSONS_ALPHA)
    text = world.text(path)
    world.agent_forgets(fact.id)
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS
    assert world.text(path) == text
    (note,) = world.conflict_notes()
    assert "deleted the fact" in world.text(note)


def _restored(world: World, fact: Fact) -> str:
    """The note of a fact that an agent restores."""
    fact_work.restore(world.ctx, fact.id, agent="indy")
    world.assert_at_rest()
    return world.note(fact.id)


def test_an_agents_deletion_keeps_the_note_for_a_restoration(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, "status: active", "status: 'active'  # by hand")
    world.quiesce()
    text, sha = world.text(path), world.base(fact.id).sha
    world.agent_forgets(fact.id)
    assert taken(world.sync(), fact.id) == ["delete_note"]
    assert len(world.notes()) == 1
    assert world.archive.blob(sha) == text.encode()
    assert not [path for path in world.vault.names if path.startswith(".trash")]
    world.assert_at_rest()
    again = _restored(world, fact)
    assert world.path(fact.id) == path
    assert "status: 'active'  # by hand" in again
    kept = [line for line in text.split("\n") if not line.startswith("updatedAt")]
    assert all(line in again.split("\n") for line in kept)


@pytest.mark.parametrize("edited", [False, True])
def test_a_note_from_the_trash_restores_its_fact(world: World, fact: Fact, edited: bool) -> None:
    path, data = world.path(fact.id), world.data(fact)
    world.person_deletes(path)
    world.quiesce()
    assert not world.is_alive(fact.id)
    if edited:
        path = VaultPath("team-core/notes/again.md")
        data = data.replace(ALPHA.encode(), PERSONS_ALPHA.encode())
    world.person_writes(path, data)
    world.assert_at_rest()
    assert world.fact(fact.id).content == (PERSONS if edited else LINES)
    assert world.path(fact.id) == path
    assert world.data(path) == data or edited
    assert len(world.facts()) == 2


def test_a_restored_fact_keeps_what_its_note_does_not_show(world: World) -> None:
    fact = world.mirrored(accessCount=0, confidence=0.5, tags=["a", "b"])
    world.mirrored("Stays.", title="A bystander")
    path = world.path(fact.id)
    data = world.data(path)
    world.agent_updates(fact.id, accessCount=9)
    world.quiesce()
    world.person_deletes(path)
    world.quiesce()
    world.person_writes(path, data)
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.confidence, now.tags) == (0.5, ("a", "b"))
    assert now.access_count == 9


def test_a_restored_fact_that_both_sides_deleted_gets_a_note(world: World, fact: Fact) -> None:
    world.person_deletes(fact)
    world.agent_forgets(fact.id)
    world.quiesce()
    world.quiesce()
    assert world.conflict_notes() == []
    assert world.archive.find_base(fact.id) is None
    assert LINES in _restored(world, fact)


def test_an_incremental_pass_elsewhere_deletes_nothing_and_forgets_no_edit(world: World) -> None:
    gone, edited = world.mirrored("Gone.", title="Gone"), world.mirrored()
    lesson = world.mirrored("A lesson.", type="lesson", title="A lesson")
    world.person_deletes(gone)
    world.person_edits(edited, ALPHA, PERSONS_ALPHA)
    world.agent_updates(lesson.id, content="A better lesson.")
    request = SyncRequest.for_facts([lesson.id], "follow")
    world.sync(request)
    world.sync(request)
    assert "A better lesson." in world.note(lesson.id)
    assert len(world.facts()) == 3
    world.assert_at_rest()
    assert not world.is_alive(gone.id)
    assert world.fact(edited.id).content == PERSONS


def test_an_incremental_pass_looks_for_no_note_of_a_subfolder(world: World) -> None:
    outer, inner = world.mirrored(title="Outer"), world.mirrored(title="Inner")
    world.person_renames(inner, "team-core/notes/trip/Inner.md")
    world.sync()
    known = world.archive.folders()
    world.agent_updates(outer.id, content=AGENTS)
    report = world.sync(SyncRequest.for_facts([outer.id], "follow"))
    assert [each.path for each in report.actions] == [world.path(outer.id)]
    assert known.keys() == world.archive.folders().keys()
    world.assert_at_rest()


def test_a_save_beside_a_subfolder_scans_only_its_folder(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, inner = world.mirrored(title="Outer"), world.mirrored(title="Inner")
    world.person_renames(inner, "team-core/notes/trip/Inner.md")
    world.sync()
    world.person_edits(outer, ALPHA, PERSONS_ALPHA)
    monkeypatch.setattr(type(world.vault), "scan", lambda _: pytest.fail("all folders were listed"))
    request = SyncRequest(folders=frozenset({VaultPath("team-core/notes")}))
    assert taken(world.sync(request), outer.id) == ["update_store"]


@pytest.mark.parametrize("kind", ["a locked folder", "a link", "a folder", NOT_DOWNLOADED])
def test_a_note_in_an_unreadable_place_is_not_deleted(world: World, fact: Fact, kind: str) -> None:
    path = world.path(fact.id)
    world.person_deletes(path)
    world.sync()
    if kind == "a locked folder":
        world.vault.break_folder("team-core/notes")
    else:
        world.vault.make_odd(path, kind)
    reports = [world.sync() for _ in range(3)]
    assert world.is_alive(fact.id)
    assert kinds(reports[-1]) == ["unreadable_folder" if kind == "a locked folder" else "odd"]
    if kind == "a locked folder":
        world.vault.mend_folder("team-core/notes")
    else:
        world.vault.delete(path)
    world.assert_at_rest()
    assert not world.is_alive(fact.id)


def test_a_note_that_may_have_moved_to_one_in_the_cloud_is_not_deleted(
    world: World, fact: Fact
) -> None:
    path, data, moved = world.path(fact.id), world.data(fact), "team-core/lessons/Moved.md"
    offloaded = world.mirrored("Offloaded.", title="Offloaded")
    world.vault.make_odd(world.path(offloaded.id), NOT_DOWNLOADED)
    world.person_deletes(path)
    world.vault.make_odd(moved, NOT_DOWNLOADED)
    world.sync()
    for request in (SyncRequest(), SyncRequest.for_facts([fact.id], "follow"), SyncRequest()):
        (action,) = world.sync(request).actions
        assert (action.action, "its fact is kept until" in action.reason) == ("wait", True)
    world.vault.delete(moved)
    world.person_writes(moved, data)
    world.quiesce()
    assert world.is_alive(fact.id)
    assert world.path(fact.id) == moved
    world.person_deletes_for_good(moved)
    world.quiesce()
    assert not world.is_alive(fact.id)


def test_what_cannot_be_read_in_the_last_moment_stops_a_deletion(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_deletes_for_good(path)
    world.at("read", lambda: world.vault.make_odd(path, "a link"))
    world.sync()
    assert world.is_alive(fact.id)


def test_a_strangers_note_is_not_taken_for_one_that_is_gone(world: World, fact: Fact) -> None:
    world.person_writes("Journal/today.md", "Dear diary.\n")
    world.quiesce()
    world.person_deletes(fact)
    world.quiesce()
    assert not world.is_alive(fact.id)
    assert world.text("Journal/today.md") == "Dear diary.\n"
    assert len(world.facts()) == 1


def test_a_deleted_note_whose_bytes_were_lost_gets_a_new_form(world: World, fact: Fact) -> None:
    world.agent_forgets(fact.id)
    world.quiesce()
    world.archive._rows.blobs.clear()
    fact_work.restore(world.ctx, fact.id, agent="indy")
    world.quiesce()
    assert LINES in world.note(fact.id)


@pytest.mark.parametrize("who", ["agent", "person"])
@pytest.mark.parametrize("to", ["team-core/notes/By hand.md", "Journal/mine.md"])
def test_a_restored_note_is_where_it_was(world: World, fact: Fact, who: str, to: str) -> None:
    world.person_renames(fact, to)
    world.quiesce()
    if who == "agent":
        world.agent_forgets(fact.id)
    else:
        world.person_deletes_for_good(to)
    world.quiesce()
    assert not world.is_alive(fact.id)
    assert LINES in _restored(world, fact)
    assert world.path(fact.id) == to


def test_a_fact_of_another_scope_is_not_restored_into_the_old_one(world: World, fact: Fact) -> None:
    world.agent_forgets(fact.id)
    world.quiesce()
    fact_work.restore(world.ctx, fact.id, agent="indy")
    world.agent_updates(fact.id, scope="private-indy")
    world.assert_at_rest()
    assert world.path(fact.id).startswith("private-indy/")


def test_a_note_that_comes_back_shows_what_only_its_fact_knew(world: World, fact: Fact) -> None:
    path, note = world.path(fact.id), world.data(fact)
    world.agent_updates(fact.id, source="a talk", tags=["late"])
    world.person_deletes(path)
    world.agent_forgets(fact.id)
    world.sync()
    world.person_writes(path, note)
    world.sync()
    assert "source: a talk\n" in world.text(path)
    assert "  - late\n" in world.text(path)
    assert world.fact(fact.id).source == "a talk"
    world.assert_at_rest()


def test_a_folder_unreadable_at_the_second_look_hides_no_deletion(world: World, fact: Fact) -> None:
    path, data = world.path(fact.id), world.data(fact)
    world.person_deletes(path)
    world.sync()

    def back_and_hidden() -> None:
        world.person_writes(path, data)
        world.vault.break_folder("team-core")

    world.at("read", back_and_hidden)
    world.sync()
    assert world.is_alive(fact.id)
    world.vault.mend_folder("team-core")
    world.assert_at_rest()
    assert world.is_alive(fact.id)


def test_a_note_that_lay_elsewhere_twice_is_looked_for_twice(world: World, fact: Fact) -> None:
    path, data = world.path(fact.id), world.data(fact)
    world.person_deletes(path)
    twins = [f"team-core/elsewhere/{name}.md" for name in "ab"]
    for twin in twins:
        world.person_writes(twin, data.replace(b"Alpha", b"Beta"))
    assert kinds(world.sync()) == kinds(world.sync()) == ["twins"]
    for twin in twins:
        world.person_deletes(twin)
    assert taken(world.sync(), fact.id) == ["wait"]
    assert taken(world.sync(), fact.id) == ["delete_fact"]
    world.assert_at_rest()


@pytest.mark.parametrize("back", [False, True])
def test_a_new_note_replaces_a_deleted_one_in_an_incremental_pass(world: World, back: bool) -> None:
    world.mirrored("Stays.", title="A bystander")
    gone = world.mirrored("Gone.", title="Alice", type="person")
    path, data = world.path(gone.id), world.data(gone)
    world.person_deletes(path)
    new = world.agent_remembers("New.", title="Alice", type="person")
    world.sync(SyncRequest.for_facts([gone.id, new.id], "follow"))
    if back:
        world.person_writes(path, data)
    world.assert_at_rest()
    lives, dies = (gone, new) if back else (new, gone)
    assert not world.is_alive(dies.id)
    assert world.path(lives.id) == path
