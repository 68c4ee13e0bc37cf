"""An older copy of the vault or of the store is recognised, and undoes nothing unasked."""

from __future__ import annotations

import pytest

from tests.world import SCOPE, World, kinds, rebuild_anyway, taken
from vaultsync.errors import GuardError, StoreRewoundError
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.operations.rebuild import rebuild
from vaultsync.operations.undo import undo_run
from vaultsync.proposals.service import ProposalDraft, propose, settle_proposals
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.conflicts import show_reviews_again
from vaultsync.sync.history import is_former, tombstone_path
from vaultsync.sync.plausibility import OlderCopy
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest
from vaultsync.sync.write_through import NoteWriter

SUMMARY = ".meta/sync-state.json"


class _Backup:
    """What the vault was at some time, with the summary of its last run or without."""

    def __init__(self, world: World, *, summary: bool) -> None:
        kept = (*world.notes(), *([SUMMARY] if summary else []))
        inodes = {path: world.vault.names[path] for path in kept}
        self.files = {path: (inode.data, inode.mtime_ns) for path, inode in inodes.items()}

    def restore(self, world: World, *, times: bool = False) -> None:
        """Put it in place of what the vault is now."""
        world.clock.advance(10)
        for path in world.notes():
            if path not in self.files:
                world.vault.delete(path)
        for path, (data, mtime_ns) in self.files.items():
            now = world.vault.names.get(path)
            if now is None or now.data != data:
                world.vault.save_by_rename(path, data)
                if times:
                    world.vault.names[path].mtime_ns = mtime_ns


def _facts(world: World, count: int) -> list[Fact]:
    some = [world.agent_remembers(f"First {n}.", title=f"Fact {n}") for n in range(count)]
    world.quiesce()
    return some


def _moved_on(world: World, some: list[Fact], content: str = "Second.") -> None:
    for fact in some:
        world.agent_updates(fact.id, content=content)
    world.quiesce()


def _stopped(world: World, request: SyncRequest | None = None) -> GuardError:
    before = {path: world.data(path) for path in world.notes()}, world.facts()
    with pytest.raises(GuardError) as stopped:
        world.sync(request)
    assert ({path: world.data(path) for path in world.notes()}, world.facts()) == before
    return stopped.value


def test_an_older_copy_of_the_vault_is_recognised_by_its_summary(world: World) -> None:
    first, deleted, *_ = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, [first])
    was_at = world.path(deleted.id)
    world.agent_forgets(deleted.id)
    new = world.mirrored("Newer.", title="New")
    backup.restore(world)
    error = _stopped(world)
    assert "1 has an earlier content" in error.message
    assert "1 was created since and is missing" in error.message
    assert "1 was deleted since and is back" in error.message
    assert set(error.examples) == {world.path(first.id), world.path(new.id), was_at}
    assert "rebuild --from store" in error.hint
    assert f"undo {error.run}" in error.hint
    (said,) = read_status(world.ctx).attention
    assert said.kind == "guard"
    assert "an older copy" in said.message


def test_an_older_copy_is_recognised_after_runs_that_see_only_a_part_of_it(world: World) -> None:
    other = world.mirrored("First.", title="In another folder", type="lesson")
    first, *_ = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, [first])
    backup.restore(world)
    world.agent_updates(other.id, content="Third.")
    assert world.sync(SyncRequest.for_facts([other.id], "update")).counts["updated_in_vault"] == 1
    assert "1 has an earlier content" in _stopped(world).message
    rebuild(world.ctx, "store")
    world.assert_at_rest()
    _moved_on(world, [first], "Fourth.")
    world.person_edits(first, "Fourth.", "Second.")
    assert world.sync().counts["updated_in_store"] == 1


def test_an_older_copy_without_what_was_only_remembered_since_is_recognised(world: World) -> None:
    _facts(world, 4)
    backup = _Backup(world, summary=True)
    writer = NoteWriter(world.ctx)
    made = writer.note(world.agent_remembers("Newer.", title="New"), actor="indy")
    writer.flush()
    backup.restore(world)
    error = _stopped(world)
    assert "1 was created since and is missing" in error.message
    assert error.examples == (made.path,)


@pytest.mark.parametrize("confirmed", [True, False])
def test_an_older_copy_answers_no_proposal_or_conflict(world: World, *, confirmed: bool) -> None:
    first, disputed, *_ = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, [first])
    world.person_edits(disputed, "First 1.", "The person's.")
    world.agent_updates(disputed.id, content="The agent's.")
    world.sync()
    change = ProposedChange("0" * 32, "", {}, {"title": "New", "content": "Proposed."})
    propose(world.ctx, ProposalDraft("write", "Write it", "", "indy", SCOPE, (change,)))
    settle_proposals(world.ctx)
    reviews = {path: world.text(path) for path in world.conflict_notes()}
    assert len(reviews) == 2
    backup.restore(world)
    for path in reviews:
        world.person_deletes(path)
    assert settle_proposals(world.ctx) is None
    error = _stopped(world)
    assert (len(world.conflicts()), len(world.archive.proposals())) == (1, 1)
    if confirmed:
        world.sync(SyncRequest(confirm=error.run))
    else:
        rebuild(world.ctx, "store")
    settle_proposals(world.ctx)
    assert {path: world.text(path) for path in world.conflict_notes()} == reviews
    world.assert_at_rest()
    for path in reviews:
        world.person_deletes(path)
    settle_proposals(world.ctx)
    world.sync()
    assert (world.conflicts(), world.archive.proposals()) == ([], [])


def test_a_conflict_note_that_cannot_be_read_is_not_written_again(world: World) -> None:
    fact = world.mirrored("First.", title="Disputed")
    world.person_edits(fact, "First.", "The person's.")
    world.agent_updates(fact.id, content="The agent's.")
    world.sync()
    (path,) = world.conflict_notes()
    world.person_deletes(path)
    world.vault.make_odd(path, "a link")
    show_reviews_again(world.ctx)
    assert [each.conflict_path for each in world.conflicts()] == [path]


def test_what_a_confirmed_older_vault_undid_is_undone_by_the_named_run(world: World) -> None:
    some = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, some)
    backup.restore(world)
    run = _stopped(world).run
    assert world.sync(SyncRequest(confirm=run)).run == run
    assert [fact.content[:5] for fact in world.facts()] == ["First"] * 4
    world.assert_at_rest()
    undo_run(world.ctx, run)
    assert [fact.content for fact in world.facts()] == ["Second."] * 4
    world.assert_at_rest()


def test_the_newest_facts_are_written_to_an_older_vault_without_a_question(world: World) -> None:
    first, deleted, *_ = some = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, [first])
    world.agent_forgets(deleted.id)
    new = world.mirrored("Newer.", title="New")
    before = {path: world.data(path) for path in world.notes()}
    backup.restore(world)
    _stopped(world)
    rebuild(world.ctx, "store")
    assert "Second." in world.note(first.id)
    assert "Newer." in world.note(new.id)
    assert world.notes() == sorted(before)
    assert len(world.facts()) == len(some)
    world.assert_at_rest()


@pytest.mark.parametrize("count", [2, 3])
def test_many_notes_with_old_texts_are_an_older_copy_unsummed(world: World, count: int) -> None:
    some = _facts(world, 6)
    backup = _Backup(world, summary=False)
    _moved_on(world, some[:count])
    backup.restore(world)
    if count == 3:
        assert "3 have an earlier content" in _stopped(world).message
    else:
        assert world.sync().counts["updated_in_store"] == count


def test_former_texts_among_more_new_ones_are_edits(world: World) -> None:
    some = _facts(world, 6)
    _moved_on(world, some[:3])
    for fact in some[:3]:
        world.person_edits(fact, "Second.", fact.content)
    for fact in some[3:]:
        world.person_edits(fact, "First", "Third")
    assert world.sync().counts["updated_in_store"] == 6


@pytest.mark.parametrize("older", [False, True])
def test_tasks_open_again_are_edits_unless_their_files_are_older(world: World, older: bool) -> None:
    some = [world.agent_remembers("Do it.", title=f"Task {n}", status="open") for n in range(4)]
    world.quiesce()
    backup = _Backup(world, summary=False)
    for fact in some:
        world.person_edits(fact, "status: open", "status: done")
    world.quiesce()
    backup.restore(world, times=older)
    if older:
        _stopped(world)
    else:
        assert world.sync().counts["updated_in_store"] == 4


@pytest.mark.parametrize("since", ["", "older file", "agent", "agent later", "made", "deleted"])
def test_a_replacement_that_an_editor_undoes_is_an_edit(world: World, since: str) -> None:
    some = _facts(world, 7)
    backup = _Backup(world, summary=False)
    for fact in some[:4]:
        world.person_edits(fact, "First", "Second")
    world.quiesce()
    if since == "agent":
        _moved_on(world, some[4:5])
    elif since == "agent later":
        world.agent_updates(some[0].id, title="Later")
    elif since == "made":
        world.mirrored("Newer.", title="New")
    elif since == "deleted":
        world.agent_forgets(some[4].id)
    world.quiesce()
    backup.restore(world, times=since == "older file")
    if since:
        _stopped(world)
        return
    report = world.sync()
    assert report.counts["updated_in_store"] == 4
    assert {each.path for each in report.actions} == {world.path(fact.id) for fact in some[:4]}
    undo_run(world.ctx, report.run)
    assert [fact.content[:6] for fact in world.facts()] == ["Second"] * 4 + ["First "] * 3


def test_a_text_that_was_never_in_the_history_is_an_edit(world: World) -> None:
    some = _facts(world, 4)
    _moved_on(world, some)
    for fact in some:
        world.person_edits(fact, "Second.", "Third.")
    assert world.sync().counts["updated_in_store"] == 4


def test_an_edit_beside_a_former_value_is_an_edit(world: World) -> None:
    some = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, some)
    backup.restore(world)
    world.vault.names.pop(SUMMARY)
    for fact in some:
        world.person_edits(fact, "priority: 2", "priority: 0")
    assert world.sync().counts["updated_in_store"] == 4


@pytest.mark.parametrize(
    "text",
    [
        *("", "no json", "[]", '{"run": 3}', '{"run": "unknown"}'),
        *('{"run": "\ud800"}', '{"x":' + "[" * 100_000),
    ],
)
def test_a_summary_silent_about_an_earlier_run_proves_nothing(world: World, text: str) -> None:
    some = _facts(world, 4)
    _moved_on(world, some)
    world.vault.save_by_rename(SUMMARY, text.encode(errors="surrogatepass"))
    world.person_edits(world.path(some[0].id), "Second.", some[0].content)
    assert world.sync().counts["updated_in_store"] == 1


def test_a_note_of_before_that_is_missing_proves_no_older_copy(world: World) -> None:
    first, *_ = some = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, some)
    summary, _ = backup.files[SUMMARY]
    world.vault.save_by_rename(SUMMARY, summary)
    world.person_deletes_for_good(first)
    assert world.sync().counts["deleted_in_store"] == 1


def test_what_the_user_asked_for_by_name_is_no_older_copy(world: World) -> None:
    some = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, some)
    backup.restore(world)
    ids = tuple(fact.id for fact in some)
    world.sync(SyncRequest(fact_ids=ids, exempt_from_guard=frozenset(ids)))
    assert [fact.content[:5] for fact in world.facts()] == ["First"] * 4


# --- the store ------------------------------------------------------------------------


def _older_store(world: World) -> tuple[Fact, Fact, Fact]:
    """A store from before a change, a deletion and a new fact."""
    changed, deleted, *_ = _facts(world, 4)
    backup = world.store.snapshot()
    _moved_on(world, [changed])
    world.agent_forgets(deleted.id)
    new = world.mirrored("Newer.", title="New")
    world.store.restore(backup)
    return changed, deleted, new


def test_an_older_store_says_what_a_sync_would_undo(world: World) -> None:
    changed, deleted, new = _older_store(world)
    (entry,) = world.archive.note_tombstones([deleted.id]).values()
    with pytest.raises(StoreRewoundError) as stopped:
        world.sync()
    error = stopped.value
    for words in ("1 has an earlier content", "1 was created since", "1 was deleted since"):
        assert words in error.message
    was_at = tombstone_path(entry)
    assert set(error.examples) == {world.path(changed.id), world.path(new.id), was_at}
    assert f"undo {error.run}" in error.hint


def test_a_rebuild_over_an_older_store_does_not_bring_back_what_was_deleted(world: World) -> None:
    changed, deleted, new = _older_store(world)
    notes = {path: world.data(path) for path in world.notes()}
    said = world.agent_remembers("Said since.", title="Since")
    assert taken(rebuild(world.ctx, "vault"), deleted.id) == ["delete_fact"]
    assert "Said since." in world.note(said.id)
    world.vault.delete(world.path(said.id))
    assert {path: world.data(path) for path in world.notes()} == notes
    assert not world.is_alive(deleted.id)
    assert world.fact(changed.id).content == "Second."
    assert world.fact(new.id).content == "Newer."
    world.assert_at_rest()


def test_what_a_rebuild_deleted_again_is_restored_to_its_place(world: World) -> None:
    _, deleted, _ = _older_store(world)
    (entry,) = world.archive.note_tombstones([deleted.id]).values()
    rebuild(world.ctx, "vault")
    fact_work.restore(world.ctx, deleted.id, agent="ada")
    world.quiesce()
    assert world.path(deleted.id) == tombstone_path(entry)


def test_a_removal_that_names_no_place_has_none() -> None:
    fact_of = {"sha": "", "path": None, "fact": "{}"}
    assert tombstone_path(_entry("run", "note", fact_of, None)) is None


def test_a_rebuild_keeps_what_was_said_in_an_older_store_of_a_deleted_fact(world: World) -> None:
    _, deleted, _ = _older_store(world)
    world.agent_updates(deleted.id, content="Said since.")
    rebuild(world.ctx, "vault")
    assert "Said since." in world.note(deleted.id)
    world.assert_at_rest()


def test_a_fact_that_was_given_back_in_the_store_is_not_deleted_by_a_rebuild(world: World) -> None:
    fact, *_ = _facts(world, 2)
    world.agent_forgets(fact.id)
    world.quiesce()
    undo_run(world.ctx, world.archive.runs(limit=1)[0].run)
    world.vault.delete(world.path(fact.id))
    rebuild(world.ctx, "vault")
    assert world.is_alive(fact.id)


def test_a_rebuild_from_an_older_store_asks_before_it_puts_notes_back(world: World) -> None:
    changed, deleted, _ = _older_store(world)
    notes = {path: world.data(path) for path in world.notes()}
    with pytest.raises(GuardError) as stopped:
        rebuild(world.ctx, "store")
    assert {path: world.data(path) for path in world.notes()} == notes
    error = stopped.value
    assert "the store looks like an older copy" in error.message
    assert "1 has an earlier content" in error.message
    assert "1 was deleted since" in error.message
    assert f"rebuild --from store --confirm {error.run}" in error.hint
    rebuild(world.ctx, "store", confirm=error.run)
    assert "First 0." in world.note(changed.id)
    assert world.is_alive(deleted.id)
    undo_run(world.ctx, error.run)
    assert world.fact(changed.id).content == "Second."
    world.assert_at_rest()


# --- rebuilds -------------------------------------------------------------------------


def test_a_rebuild_from_the_store_asks_before_it_overwrites_an_unsynced_edit(world: World) -> None:
    fact, *_ = _facts(world, 3)
    path = world.path(fact.id)
    world.person_edits(path, "First 0.", "Mine.")
    with pytest.raises(GuardError) as stopped:
        rebuild(world.ctx, "store")
    error = stopped.value
    assert "Mine." in world.text(path)
    assert "overwrite 1 note with edits" in error.message
    assert list(error.examples) == [path]
    with pytest.raises(GuardError):  # a rebuild is not confirmed by a sync, nor the other way round
        rebuild(world.ctx, "vault" if world.agent_updates(fact.id, content="x") else "store")
    again = rebuild_anyway(world.ctx, "store")
    assert "Mine." not in world.text(path)
    undo_run(world.ctx, again.run)
    world.assert_at_rest()
    assert "Mine." in world.text(path)


def test_a_rebuild_is_confirmed_as_such(world: World) -> None:
    fact, *_ = _facts(world, 3)
    world.person_edits(fact, "First 0.", "Mine.")
    with pytest.raises(GuardError) as stopped:
        rebuild(world.ctx, "store")
    run = stopped.value.run
    with pytest.raises(GuardError):
        rebuild(world.ctx, "store", confirm="another run, which nobody stopped")
    with pytest.raises(GuardError) as stopped:
        rebuild(world.ctx, "store", confirm=run)
    assert "confirms another plan" in stopped.value.message
    assert rebuild(world.ctx, "store", confirm=stopped.value.run).run == stopped.value.run


@pytest.mark.parametrize("deleted", [False, True])
def test_a_rebuild_asks_before_it_overwrites_what_no_note_has(world: World, deleted: bool) -> None:
    fact, *_ = _facts(world, 3)
    if deleted:
        world.agent_forgets(fact.id)
    else:
        world.agent_updates(fact.id, content="Said.")
    with pytest.raises(GuardError) as stopped:
        rebuild(world.ctx, "vault")
    assert "overwrite 1 fact with edits" in stopped.value.message
    assert world.is_alive(fact.id) is not deleted
    rebuild(world.ctx, "vault", confirm=stopped.value.run)
    assert world.fact(fact.id).content == "First 0."


def test_a_rebuild_from_an_older_vault_asks(world: World) -> None:
    some = _facts(world, 4)
    backup = _Backup(world, summary=True)
    _moved_on(world, some)
    backup.restore(world)
    with pytest.raises(GuardError) as stopped:
        rebuild(world.ctx, "vault")
    assert "the vault looks like an older copy" in stopped.value.message
    assert "rebuild --from store" in stopped.value.hint
    assert [fact.content for fact in world.facts()] == ["Second."] * 4


def test_a_rebuild_without_an_archive_asks_where_both_sides_differ(world: World) -> None:
    fact, *_ = _facts(world, 3)
    world.agent_updates(fact.id, content="Said.")
    world.lose_archive()
    with pytest.raises(GuardError):
        rebuild(world.ctx, "vault")
    with pytest.raises(GuardError):
        rebuild(world.ctx, "store")
    assert kinds(rebuild_anyway(world.ctx, "store")) == []


# --- what a fact said before ------------------------------------------------------------


def _entry(run: str, field: str, before: object, after: object) -> HistoryEntry:
    return HistoryEntry(run, "", "f", "store", "indy", field, before, after)  # type: ignore[arg-type]


def test_a_former_version_is_that_before_a_whole_run() -> None:
    now = Fact("f", title="C", content="c")
    history = [
        _entry("r1", "title", "A", "B"),
        _entry("r1", "content", "a", "b"),
        _entry("r2", "title", "B", "C"),
        _entry("r2", "content", "b", "c"),
        _entry("r3", "path", "x.md", "y.md"),
    ]
    for title, content in (("A", "a"), ("B", "b")):
        assert is_former(now, Fact("f", title=title, content=content), history)
    for title, content in (("C", "c"), ("A", "b"), ("B", "a"), ("D", "a")):
        assert not is_former(now, Fact("f", title=title, content=content), history)


def test_what_only_the_store_says_is_not_compared() -> None:
    now = Fact("f", content="b", confidence=0.5)
    history = [_entry("r1", "content", "a", "b"), _entry("r1", "confidence", 0.1, 0.5)]
    assert is_former(now, Fact("f", content="a", confidence=0.5), history)
    assert not is_former(now, Fact("f", content="b", confidence=0.1), history)


def test_a_value_that_no_field_takes_any_more_ends_the_comparison() -> None:
    history = [_entry("r1", "content", "a", "b"), _entry("r2", "priority", "high", 2)]
    assert not is_former(Fact("f", content="b"), Fact("f", content="a"), history)


def test_an_older_copy_says_how_many_of_what() -> None:
    assert not OlderCopy()
    assert str(OlderCopy(back=[VaultPath("a.md")])) == "1 was deleted since and is back"
