"""A new fact is a note at once; until its base is recorded, any pass may come between."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.world import (
    AGENTS,
    ALPHA,
    LINES,
    PERSONS_ALPHA,
    World,
    kinds,
    notice,
    rebuild_anyway,
    refuse,
)
from vaultsync.errors import NoteChangedError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value
from vaultsync.storage.store import AccessCount
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest
from vaultsync.sync.write_through import MAX_PENDING_NOTES, NoteWriter


@pytest.fixture
def notes(world: World) -> NoteWriter:
    return NoteWriter(world.ctx)


@pytest.fixture
def fact(world: World, notes: NoteWriter) -> Fact:
    return _remembered(world, notes)


def _remembered(
    world: World, notes: NoteWriter, *, title: str = "At once", **values: Value
) -> Fact:
    fact = world.agent_remembers(LINES, agent="indy", title=title, **values)
    return notes.note(fact, actor="indy")


def test_a_new_fact_has_its_note_before_any_pass(world: World, notes: NoteWriter) -> None:
    assert notes.empty
    fact = _remembered(world, notes)
    assert not notes.empty
    assert fact.path is not None
    assert LINES in world.text(fact.path)
    notes.flush()
    assert notes.empty
    assert world.path(fact.id) == fact.path
    (entry,) = world.archive.history(fact_id=fact.id)
    assert (entry.field, entry.after, entry.actor) == ("note", fact.path, "indy")
    (run,) = world.archive.runs(limit=9)
    assert (run.run, run.report) == (entry.run, {"counts": {"created_in_vault": 1}})
    world.assert_at_rest()
    assert world.notes() == [fact.path]


def test_nothing_to_flush_writes_nothing(world: World, notes: NoteWriter) -> None:
    with world.nobody_writes():
        notes.flush()


@pytest.mark.parametrize("flush", [True, False])
def test_a_pass_that_comes_first_makes_no_second_note(
    world: World, notes: NoteWriter, fact: Fact, flush: bool
) -> None:
    note = world.text(str(fact.path))
    world.sync()
    if flush:
        notes.flush()
    world.assert_at_rest()
    assert world.notes() == [fact.path]
    assert world.text(str(fact.path)) == note
    assert world.conflicts() == []
    assert world.fact(fact.id).revision == fact.revision


@pytest.mark.parametrize("kind", ["note", "person"])
def test_a_pass_that_wrote_the_note_first_leaves_none_to_write(
    world: World, notes: NoteWriter, kind: str
) -> None:
    """It may have the lock when the fact is remembered, and its writer waits for it."""
    fact = world.agent_remembers(LINES, agent="indy", title="At once", type=kind)
    world.sync()
    written = notes.note(fact, actor="indy")
    notes.flush()
    assert world.notes() == [written.path]
    world.assert_at_rest()
    assert world.is_alive(fact.id)


@pytest.mark.parametrize("renamed", [False, True])
def test_a_pass_between_fact_and_note_leaves_no_second_note_to_write(
    world: World, notes: NoteWriter, renamed: bool
) -> None:
    fact = world.agent_remembers(LINES, agent="indy", title="At once")
    world.sync()
    path = world.path(fact.id)
    if renamed:
        world.person_renames(path, f"{parent_folder(path)}/Renamed.md")
        world.sync()
    assert notes.note(fact, actor="indy").path == world.path(fact.id)
    world.assert_at_rest()
    assert [each.id for each in world.store.iter_facts()] == [fact.id]
    assert world.notes() == [world.path(fact.id)]


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("first", ["forgets", "syncs, forgets", "syncs, deletes"])
def test_no_note_is_written_of_a_fact_that_is_gone_by_then(
    world: World, notes: NoteWriter, first: str, flush: bool
) -> None:
    """A purge of the fact would leave its text in the note."""
    fact = world.agent_remembers(LINES, agent="indy", title="At once")
    if "syncs" in first:
        world.sync()
    if "forgets" in first:
        world.agent_forgets(fact.id)
    else:
        world.person_deletes(fact)
    world.sync()
    assert notes.note(fact, actor="indy").path is None
    if flush:
        notes.flush()
    world.quiesce()
    assert world.notes() == []
    assert not world.is_alive(fact.id)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("edited", [False, True])
def test_a_pass_killed_before_it_recorded_the_note_leaves_no_second_one_to_write(
    world: World, notes: NoteWriter, number: int, *, edited: bool
) -> None:
    fact = world.agent_remembers(LINES, agent="indy", title="At once")
    world.dies_at("sync", number=number)
    if edited and world.notes():
        world.person_edits(world.notes()[0], ALPHA, PERSONS_ALPHA)
    path = notes.note(fact, actor="indy").path
    notes.flush()
    assert path is None, "the next pass knows how far the other came"
    world.assert_at_rest()
    assert [each.id for each in world.store.iter_facts()] == [fact.id]
    assert world.notes() == [world.path(fact.id)]
    assert world.conflicts() == []


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("returns", [False, True])
def test_a_note_that_took_the_place_of_a_renamed_one_is_not_that_one(
    world: World, notes: NoteWriter, *, edited: bool, returns: bool
) -> None:
    """Its process was killed before it recorded the note, or has not yet."""
    first = world.agent_remembers(LINES, agent="indy", title="At once")
    world.sync()
    path = world.path(first.id)
    renamed = VaultPath(f"{parent_folder(path)}/Renamed.md")
    world.person_renames(path, renamed)
    second = world.agent_remembers("Of the second.", agent="indy", title="At once")
    assert notes.note(second, actor="indy").path == path
    if edited:
        world.person_edits(path, "Of the second.", "Of the second, edited.")
        world.person_edits(renamed, ALPHA, PERSONS_ALPHA)
    if returns:
        world.sync()
        notes.flush()
    world.assert_at_rest()
    assert (world.path(first.id), world.path(second.id)) == (renamed, path)
    assert {each.id for each in world.store.iter_facts()} == {first.id, second.id}
    assert world.fact(second.id).content == (
        "Of the second, edited." if edited else "Of the second."
    )
    assert (PERSONS_ALPHA if edited else ALPHA) in world.fact(first.id).content
    assert sorted(world.notes()) == sorted([path, renamed])


@pytest.mark.parametrize("happens", ["is forgotten", "is away", "is seen alone"])
def test_a_renamed_note_keeps_its_text_whatever_happens_to_the_new_one(
    world: World, notes: NoteWriter, happens: str
) -> None:
    first = world.agent_remembers(LINES, agent="indy", title="At once")
    world.sync()
    path = world.path(first.id)
    renamed = VaultPath(f"{parent_folder(path)}/deeper/Renamed.md")
    world.person_renames(path, renamed)
    second = world.agent_remembers("Of the second.", agent="indy", title="At once")
    notes.note(second, actor="indy")
    if happens == "is forgotten":
        world.agent_forgets(second.id)
    world.store.away = happens == "is away"
    ids = [second.id] if happens == "is seen alone" else []
    world.sync(SyncRequest.for_facts(ids, "sync") if ids else SyncRequest())
    world.store.away = False
    world.assert_at_rest()
    assert world.fact(first.id).content == first.content
    assert world.path(first.id) == renamed
    left = [] if happens == "is forgotten" else [path]
    assert sorted(world.notes()) == sorted([*left, renamed])


@pytest.mark.parametrize("store", ["as it is", "older"])
def test_a_pass_that_records_a_note_of_another_makes_it_durable(
    world: World, notes: NoteWriter, store: str
) -> None:
    older = world.store.snapshot()
    fact = _remembered(world, notes)
    world.vault.elsewhere.add(str(fact.path))
    if store == "older":
        world.store.restore(older)
        rebuild_anyway(world.ctx, "vault")
    world.sync()
    world.vault.crash(lambda _: False)
    assert LINES in world.text(str(fact.path))
    world.quiesce()
    assert world.is_alive(fact.id)


@pytest.mark.parametrize("type_name", ["note", "person"])
def test_facts_of_one_title_get_two_notes(world: World, notes: NoteWriter, type_name: str) -> None:
    one, two = (_remembered(world, notes, type=type_name) for _ in range(2))
    assert one.path != two.path
    notes.flush()
    world.assert_at_rest()
    assert len(world.notes()) == 2


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("also", ["", "agent", "renamed", "agent, renamed"])
def test_an_edit_before_the_base_is_no_conflict(
    world: World, notes: NoteWriter, fact: Fact, also: str, flush: bool
) -> None:
    if "agent" in also:
        world.agent_updates(fact.id, content="Not this.")
        world.agent_updates(fact.id, content=AGENTS)
    world.person_edits(str(fact.path), ALPHA, "Alpha says the person's.")
    if "renamed" in also:
        world.person_renames(str(fact.path), str(fact.path).replace("at-once", "mine"))
    if flush:
        notes.flush()
    planned, status = world.sync(SyncRequest(dry_run=True)), read_status(world.ctx)
    assert planned.actions == world.sync().actions
    assert (status.pending, status.foreign) == (1, 0)
    world.quiesce()
    assert world.conflicts() == []
    assert "Alpha says the person's." in world.fact(fact.id).content
    assert ("Charlie says what the agent says." in world.note(fact.id)) is ("agent" in also)
    world.assert_at_rest()


def test_the_base_of_a_note_of_another_process_is_what_that_wrote(world: World, fact: Fact) -> None:
    written = world.data(str(fact.path))
    world.store.count_accesses({fact.id: AccessCount(3, "2026-02-14T13:50:00Z")}, "recall")
    for content in (AGENTS, LINES):
        world.agent_updates(fact.id, content=content)
    world.store.drop_replaced(
        [x.fact.revision for x in world.store.replaced_versions(world.store.replaced_ids())]
    )
    world.person_edits(str(fact.path), ALPHA, "Alpha says the person's.")
    world.sync()
    assert world.archive.blob(sha256(written).hexdigest()) == written
    assert world.conflicts() == []
    world.assert_at_rest()


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("also", ["", "agent", "edit"])
def test_a_move_to_another_folder_before_the_base_changes_the_field(
    world: World, notes: NoteWriter, also: str, flush: bool
) -> None:
    moves = [("note", "/notes/", "/lessons/")] * 2 + [("observation", "/notable/", "/critical/")]
    moved = [(_remembered(world, notes, type=kind), old, new) for kind, old, new in moves]
    for fact, old, new in moved:
        if also == "agent":
            world.agent_updates(fact.id, content=AGENTS)
        elif also == "edit":
            world.person_edits(str(fact.path), ALPHA, "Alpha says the person's.")
        world.person_renames(str(fact.path), str(fact.path).replace(old, new))
    if flush:
        notes.flush()
    assert world.sync(SyncRequest(dry_run=True)).actions == world.sync().actions
    world.quiesce()
    assert world.conflicts() == []
    found = [world.fact(fact.id) for fact, _, _ in moved]
    assert [(each.type, each.priority) for each in found] == [
        ("lesson", 2),
        ("lesson", 2),
        ("observation", 0),
    ]
    assert [world.path(fact.id) for fact, _, _ in moved] == [
        str(fact.path).replace(old, new) for fact, old, new in moved
    ]
    world.assert_at_rest()


@pytest.mark.parametrize("left", [0, 9])
def test_a_save_that_is_under_way_before_the_base_is_no_conflict(
    world: World, notes: NoteWriter, fact: Fact, left: int
) -> None:
    path, whole = str(fact.path), world.text(str(fact.path))
    world.person_writes(path, whole[:left])  # as an editor that saves in place does
    notes.flush()
    world.person_writes(path, whole.replace(ALPHA, "Alpha says more."))
    world.assert_at_rest()
    assert world.conflicts() == []
    assert "Alpha says more." in world.fact(fact.id).content


def test_a_note_that_keeps_changing_before_its_base_is_no_conflict(
    world: World, notes: NoteWriter, fact: Fact
) -> None:
    def changing() -> None:
        raise NoteChangedError(str(fact.path))

    world.person_edits(str(fact.path), ALPHA, "Alpha says more.")
    world.at("read", changing)
    notes.flush()
    world.quiesce()
    assert world.conflicts() == []
    assert "Alpha says more." in world.fact(fact.id).content


@pytest.mark.parametrize("text", ["Another text.\n", "---\nid: [\n---\n", None])
def test_what_took_the_place_of_a_new_note_is_another_note(
    world: World, notes: NoteWriter, fact: Fact, text: str | None
) -> None:
    if text is None:  # nobody can know that it was there: the fact gets a note
        world.person_deletes(str(fact.path))
    else:
        world.person_writes(str(fact.path), text)
    notes.flush()
    assert world.archive.find_base(fact.id) is None
    world.quiesce()
    assert text is None or world.text(str(fact.path)).endswith(text)
    assert LINES in world.note(fact.id)


@pytest.mark.parametrize("flush", [True, False])
def test_an_earlier_update_reaches_the_note(world: World, notes: NoteWriter, flush: bool) -> None:
    world.mirrored("Stays.", title="A bystander")
    fact = _remembered(world, notes)
    world.agent_updates(fact.id, content="Changed.")
    if flush:
        notes.flush()
    world.assert_at_rest()
    assert "Changed." in world.note(fact.id)
    assert world.conflicts() == []


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("before", ["nothing", "a write", "a pass"])
def test_a_fact_that_was_forgotten_before_its_base_leaves_no_note(
    world: World, notes: NoteWriter, before: str, flush: bool
) -> None:
    if before == "a write":
        _remembered(world, notes, title="A bystander")
        notes.flush()
    elif before == "a pass":
        world.mirrored("Stays.", title="A bystander")
    fact = _remembered(world, notes)
    world.agent_forgets(fact.id)
    if flush:
        notes.flush()
    world.quiesce()
    assert not world.is_alive(fact.id)
    assert len(world.notes()) == (before != "nothing")


def test_a_note_with_the_id_that_an_agent_gives_a_new_fact_is_a_conflict(world: World) -> None:
    """Nobody knows which of the two is older."""
    given = "018e3b2e-4c5f-7a3b-8c9d-0123456789ab"
    world.person_writes("public/notes/Before.md", f"---\nid: {given}\n---\n# Gate\n\nIt opens.\n")
    world.agent_remembers("It closes.", id=given, title="Gate")
    world.sync()
    assert len(world.conflicts()) == 1


def test_a_note_that_comes_back_is_kept_without_a_change(world: World, notes: NoteWriter) -> None:
    world.mirrored("Stays.", title="A bystander")
    fact = _remembered(world, notes)
    notes.flush()
    text = world.text(str(fact.path))
    world.agent_forgets(fact.id)
    world.quiesce()
    world.person_writes(str(fact.path), text)
    world.quiesce()
    assert world.is_alive(fact.id)
    assert world.text(str(fact.path)) == text


def test_a_new_note_may_take_the_place_of_one_that_is_gone(world: World, notes: NoteWriter) -> None:
    old = world.mirrored(title="At once")
    world.mirrored("Stays.", title="A bystander")
    path = world.path(old.id)
    world.person_deletes(path)
    new = _remembered(world, notes)
    assert new.path == path
    notes.flush()
    world.assert_at_rest()
    assert not world.is_alive(old.id)
    assert world.path(new.id) == path


def test_many_notes_share_one_wait(world: World, notes: NoteWriter) -> None:
    for number in range(MAX_PENDING_NOTES):
        _remembered(world, notes, title=f"Number {number}")
    assert world.archive.count_bases() == 0
    _remembered(world, notes)
    assert world.archive.count_bases() == MAX_PENDING_NOTES
    assert not notes.empty


@pytest.mark.parametrize("number", [1, 2])
def test_a_folder_that_refuses_leaves_the_note_to_the_next_pass(
    world: World, notes: NoteWriter, number: int
) -> None:
    folder = "team-core/notes"
    made = [_remembered(world, notes) for _ in range(number - 1)]
    world.at("create", lambda: world.vault.make_odd(folder, "a link"), number=number)
    fact = _remembered(world, notes)
    assert fact.path is None
    assert notes.empty is (not made)
    assert world.is_alive(fact.id)
    world.vault.delete(folder)
    world.assert_at_rest()
    assert all(LINES in world.note(each.id) for each in [fact, *made])


@pytest.mark.parametrize("number", [1, 2])
def test_a_folder_that_may_not_be_written_leaves_the_note_to_a_pass(
    world: World, notes: NoteWriter, number: int
) -> None:
    made = [_remembered(world, notes) for _ in range(number - 1)]
    world.vault.before = lambda step: (
        refuse() if step == "create" and len(world.notes()) == number - 1 else None
    )
    fact = _remembered(world, notes)
    assert fact.path is None
    assert world.vault.ops() == []
    assert world.is_alive(fact.id)
    notes.flush()
    report = world.sync()
    assert kinds(report) == ["not_written"]
    said = notice(report, "not_written")
    assert "Permission denied" in said.message
    assert said.hint
    assert world.is_alive(fact.id)
    world.vault.before = lambda _: None
    world.assert_at_rest()
    assert LINES in world.note(fact.id)
    assert len(world.notes()) == len(made) + 1


def test_a_store_that_knows_a_new_note_no_more_is_noticed(world: World, notes: NoteWriter) -> None:
    world.mirrored()
    older = world.store.snapshot()
    fact = _remembered(world, notes)
    notes.flush()
    world.store.restore(older)
    world.confirm()
    assert world.fact(fact.id).content == LINES
    world.assert_at_rest()


def test_what_cannot_be_recorded_while_the_store_is_away_is_for_the_next_pass(
    world: World, notes: NoteWriter, fact: Fact
) -> None:
    with world.outage():
        notes.flush()
    assert world.archive.find_base(fact.id) is None
    world.assert_at_rest()
    assert world.path(fact.id) == fact.path


def test_a_note_whose_fact_is_in_the_outbox_has_a_known_id(world: World, notes: NoteWriter) -> None:
    world.mirrored()
    with world.outage():
        _remembered(world, notes)
        _remembered(world, notes)
        while_away = read_status(world.ctx)
    back = read_status(world.ctx)
    assert [(x.outbox, x.pending, x.foreign) for x in (while_away, back)] == [(2, 2, 0), (2, 0, 0)]
    assert list(back.attention) == []
    assert world.sync(SyncRequest(dry_run=True)).actions == world.sync().actions
    world.assert_at_rest()
    assert list(read_status(world.ctx).attention) == []


@pytest.mark.parametrize("then", ["update", "forget"])
def test_what_was_done_to_a_new_fact_in_the_outbox_is_no_conflict_with_its_note(
    world: World, notes: NoteWriter, then: str
) -> None:
    world.mirrored()
    with world.outage():
        fact = _remembered(world, notes)
        if then == "update":
            world.agent_updates(fact.id, content=AGENTS)
        else:
            world.agent_forgets(fact.id)
        notes.flush()
    world.quiesce()
    assert world.conflicts() == []
    assert world.is_alive(fact.id) == (then == "update")
    assert len(world.notes()) == 1 + (then == "update")
    assert any(AGENTS in world.text(each) for each in world.notes()) == (then == "update")
    world.assert_at_rest()


def test_a_note_waits_while_its_fact_stays_in_the_outbox(
    world: World, notes: NoteWriter, fact: Fact
) -> None:
    world.quiesce()
    with world.outage():
        world.agent_updates(fact.id, status="archived")
        new = [_remembered(world, notes, title=title) for title in ("Later", "Last")]
    world.others_write_first(fact.id, times=1_000)
    reasons = {each.fact_id: each.reason for each in world.sync().actions}
    world.store.before = lambda _: None
    assert {reasons[each.id] for each in new} == {"its fact is in the outbox"}
    world.assert_at_rest()


def test_the_update_of_one_note_lists_its_folder_once(world: World, fact: Fact) -> None:
    world.quiesce()
    home, called = parent_folder(VaultPath(world.path(fact.id))), list[str]()
    world.vault.before = called.append
    world.agent_updates(fact.id, content="It ebbs.")
    world.sync(SyncRequest.for_facts([fact.id], "follow"))
    assert "It ebbs." in world.text(fact)
    assert called.count("folder") == 1
    assert world.archive.folders()[home] == b""  # the next scan looks at it
    assert world.sync().quiet
    assert world.archive.folders()[home] != b""


def test_the_notes_of_another_process_are_proved_by_as_many_requests_as_one() -> None:
    """A remote store takes a while to answer each."""
    asked: list[list[str]] = []
    for number in (1, 9):
        world = World()
        for _ in range(number):
            fact = _remembered(world, NoteWriter(world.ctx))
            world.person_edits(str(fact.path), ALPHA, "Edited.")
        asked.append([])
        world.store.before = asked[-1].append
        world.sync()
    assert asked[1] == asked[0]
