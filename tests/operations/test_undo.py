"""A run can be undone on both sides, without undoing later changes."""

from __future__ import annotations

import contextlib

import pytest
from msgspec import convert, to_builtins
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.world import AGENTS, LINES, MERGED, PERSONS, World, action, kinds, notice, refuse, taken
from vaultsync import errors
from vaultsync.facts import service as fact_work
from vaultsync.facts.lookup import PURGE_KIND, last_undoable_run
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.model.steps import finish
from vaultsync.notes.body import BLOCK_END, BLOCK_START
from vaultsync.operations import undo
from vaultsync.operations.adopt import NOTES_PER_FSYNC, adopt_notes
from vaultsync.operations.maintain import maintain_facts_in_steps
from vaultsync.operations.rebuild import rebuild
from vaultsync.operations.relink import LINKS_ACTOR
from vaultsync.operations.undo import undo_run
from vaultsync.recall.past_facts import past_facts
from vaultsync.storage.archive import EVENT_FIELDS, HISTORY_SINCE_SETTING, HistoryEntry, RunRecord
from vaultsync.storage.clock import time_text
from vaultsync.sync.apply import ApplyOutcome, apply_plan
from vaultsync.sync.decision_table import ActionKind
from vaultsync.sync.planning import SyncRun
from vaultsync.sync.plausibility import MAX_REWRITES
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.sync_request import SyncRequest

ALPHA, PERSONS_ALPHA = LINES.split("\n")[0], PERSONS.split("\n")[0]


def _undo(world: World, run: str) -> Report:
    world.clock.advance(1)
    report = undo_run(world.ctx, run)
    world.quiesce()
    world.assert_at_rest()
    return report


def _edited(world: World) -> tuple[Fact, str]:
    """A fact whose note a person edited, and the run that merged the edit."""
    fact = world.mirrored()
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    return fact, world.sync().run


def _timeless(text: str) -> list[str]:
    return [line for line in text.split("\n") if "updatedAt" not in line]


def _done(report: Report) -> dict[str, int]:
    """The counts of a report that are not zero, without `unchanged`."""
    return {k: n for k, n in report.counts.items() if n and k != "unchanged"}


@pytest.mark.parametrize("editors", ["person", "agent", "both"])
def test_an_edit_is_undone_on_both_sides(world: World, editors: str) -> None:
    fact = world.mirrored(tags=["a"], type="decision")
    before = world.note(fact.id)
    if editors != "agent":
        world.person_edits(fact, ALPHA, PERSONS_ALPHA)
        added = "mood: sunny\ndecisionOutcome: done\npriority:"
        world.person_edits(fact, "priority:", added)
    if editors != "person":
        world.agent_updates(fact.id, content=AGENTS, tags=["b"], priority=0)
    _undo(world, world.sync().run)
    now = world.fact(fact.id)
    assert (now.content, now.tags, now.priority) == (LINES, ("a",), 2)
    assert {**now.properties, **now.own} == {}
    assert _timeless(world.note(fact.id)) == _timeless(before)


@pytest.mark.parametrize("name", sorted(EVENT_FIELDS))
def test_a_property_may_be_called_like_an_event_of_the_history(world: World, name: str) -> None:
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_edits(path, "\npriority:", f"\n{name}: {{path: mine}}\npriority:")
    world.quiesce()
    world.person_edits(path, f"\n{name}: {{path: mine}}", "")
    removed = world.sync().run
    world.quiesce()
    told = fact_work.history(world.ctx, fact.id, agent=None)
    mine: Value = {"path": "mine"}
    changes = [(each.field, each.before, each.after) for each in told if each.side == "vault"]
    assert changes == [(name, None, mine), (name, mine, None)]
    at = world.clock.now().isoformat()
    _undo(world, removed)
    assert world.store.get(fact.id).properties == {name: mine}
    if name != "path":  # which agents may not set
        world.agent_updates(fact.id, **{name: "yours"})
        world.agent_updates(fact.id, **{name: "theirs"})
        world.quiesce()
        last = list(fact_work.history(world.ctx, fact.id, agent=None))[-2:]
        assert [(x.before, x.after) for x in last] == [(mine, "yours"), ("yours", "theirs")]
    (past,) = past_facts(world.ctx, at, agent=None).ctx.store.iter_facts()
    assert past.properties == {}


def test_a_change_that_an_editor_saved_an_old_text_over_is_restored(world: World) -> None:
    """Nobody can tell it from a note whose user prefers the old text, so it is no conflict."""
    fact = world.mirrored()
    old = world.note(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    world.sync()
    world.person_writes(world.path(fact.id), old.replace(ALPHA, PERSONS_ALPHA))
    saved = world.sync()
    assert (saved.attention, world.conflicts()) == ([], [])
    assert world.fact(fact.id).content == fact.content.replace(ALPHA, PERSONS_ALPHA)
    _undo(world, saved.run)
    assert world.fact(fact.id).content == AGENTS


def test_what_was_changed_since_stays(world: World) -> None:
    fact, run = _edited(world)
    world.agent_updates(fact.id, content=MERGED, status="archived")
    world.quiesce()
    _undo(world, run)
    now = world.fact(fact.id)
    assert (now.content, now.status) == (AGENTS, "archived")


def test_an_undone_undo_is_the_edit(world: World) -> None:
    fact, run = _edited(world)
    back = undo_run(world.ctx, run).run
    world.quiesce()
    assert world.fact(fact.id).content == LINES
    _undo(world, back)
    assert world.fact(fact.id).content == PERSONS


@pytest.mark.parametrize("deleted_since", [False, True])
def test_undo_deletes_the_fact_of_an_agent_and_its_note(world: World, deleted_since: bool) -> None:
    world.mirrored("Stays.", title="A bystander")
    fact = world.agent_remembers("Made.", title="Made")
    run = world.sync().run
    if deleted_since:
        world.agent_forgets(fact.id)
        world.quiesce()
    _undo(world, run)
    assert not world.is_alive(fact.id)
    assert len(world.notes()) == 1
    assert "Made." in world.everything_kept()


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_created_fact_that_was_changed_since_is_kept(world: World, *, is_synced: bool) -> None:
    facts = [world.agent_remembers(f"Made {n}.", title=f"Made {n}") for n in range(3)]
    edited, moved, other = facts
    run = world.sync().run
    world.person_edits(edited, "Made 0.", "Mine.")
    world.agent_updates(moved.id, scope="public", priority=0)
    if is_synced:
        world.sync()
    report = _undo(world, run)
    assert world.fact(edited.id).content == "Mine."
    assert "Mine." in world.note(edited.id)
    assert (action(report, edited.id).action, action(report, edited.id).fields) == (
        "keep",
        ("content",),
    )
    assert world.is_alive(moved.id)
    assert not world.is_alive(other.id)


def test_a_created_fact_is_deleted_when_its_changes_were_undone(world: World) -> None:
    world.mirrored("Stays.", title="A bystander")
    fact = world.agent_remembers("Made.", title="Made")
    run = world.sync().run
    world.agent_updates(fact.id, content="Changed.")
    _undo(world, world.sync().run)
    entry = ("vault", LINKS_ACTOR, "title", "Old", "Made")
    with world.archive.transaction():
        world.archive.add_history([HistoryEntry("links", "2030-01-01", fact.id, *entry)])
    _undo(world, run)
    assert not world.is_alive(fact.id)


@pytest.mark.parametrize("adopted", ["Journal/today.md", "Journal"])
def test_an_adopted_note_only_loses_its_id_for_good(world: World, adopted: str) -> None:
    path, text = "Journal/today.md", "# Today\n\nDear diary.\n"
    world.person_writes(path, text)
    run = adopt_notes(world.ctx, [VaultPath(adopted)]).run
    world.quiesce()
    assert world.text(path) != text
    _undo(world, run)
    assert world.text(path) == text
    assert world.facts() == []


@pytest.mark.parametrize("writable", [False, True])
def test_the_adoption_of_a_read_only_note_is_a_run_that_can_be_undone(
    world: World, writable: bool
) -> None:
    path, text = "Journal/today.md", "# Today\n\nDear diary.\n"
    world.person_writes(path, text)
    world.vault.make_read_only(path)
    adoption = adopt_notes(world.ctx, [VaultPath(path)])
    assert adoption.counts["created_in_store"] == 1
    assert notice(adoption, "not_written").path == path
    assert adoption.run in [each.run for each in world.archive.runs(limit=9)]
    world.sync()
    if writable:
        world.vault.make_writable(path)
        world.quiesce()
        assert world.text(path) != text
    assert _undo(world, adoption.run).attention == []
    assert world.text(path) == text
    assert world.facts() == []
    assert world.vault.ops() == []


def test_undo_restores_a_note_that_a_person_deleted(world: World) -> None:
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    path, data = world.path(fact.id), world.note(fact.id)
    world.person_deletes_for_good(path)
    run = world.sync().run
    assert not world.is_alive(fact.id)
    _undo(world, run)
    assert world.is_alive(fact.id)
    assert world.path(fact.id) == path
    assert LINES in world.text(path)
    assert _timeless(world.text(path)) == _timeless(data)


@pytest.mark.parametrize("content", [LINES, AGENTS])
def test_undo_restores_a_deleted_fact_unless_it_is_restored(world: World, content: str) -> None:
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    run = world.sync().run
    if content == AGENTS:
        fact_work.restore(world.ctx, fact.id, agent="indy")
        world.agent_updates(fact.id, content=content)
        world.quiesce()
    _undo(world, run)
    assert world.fact(fact.id).content == content
    assert content in world.note(fact.id)


def test_an_expired_fact_whose_deletion_was_undone_is_not_deleted_again(world: World) -> None:
    fact = world.mirrored(expiresAt=time_text(world.clock.now()))
    world.mirrored("Stays.", title="A bystander")
    run = finish(maintain_facts_in_steps(world.ctx, max_delete=1)).run
    assert not world.is_alive(fact.id)
    _undo(world, run)
    assert finish(maintain_facts_in_steps(world.ctx, max_delete=1)).quiet
    assert world.fact(fact.id).expires_at is None


@pytest.mark.parametrize("run", ["no-such-run", ""])
def test_an_unknown_run_is_refused(world: World, run: str) -> None:
    _edited(world)

    with pytest.raises(errors.RunNotFoundError):
        undo_run(world.ctx, run)


def test_a_run_whose_history_was_pruned_says_so(world: World) -> None:
    old = RunRecord("old", "2020-01-01T00:00:00Z", "sync")
    with world.archive.transaction():
        world.archive.put_run(old)
        world.archive.put_run(old._replace(run="new", at="2020-03-01T00:00:00Z"))
        world.archive.set_setting(HISTORY_SINCE_SETTING, "2020-02-01T00:00:00Z")
    with pytest.raises(
        errors.RunPrunedError, match=r"of 2020-01-01 cannot be undone: .* before 2020-02-01"
    ):
        undo_run(world.ctx, "old")
    assert undo_run(world.ctx, "new").quiet, "it changed nothing"
    with pytest.raises(errors.RunPrunedError, match="of 2020-01-15"):
        undo_run(world.ctx, "016fa67f-f000-7000-8000-000000000000")
    for unknown in ("no-such-run", "016fa67f-f000-4000-8000-000000000000"):
        with pytest.raises(errors.RunNotFoundError, match="no run"):
            undo_run(world.ctx, unknown)


def test_a_purge_is_not_undone(world: World) -> None:
    record = RunRecord("purged", "2020-01-01T00:00:00Z", PURGE_KIND)
    with world.archive.transaction():
        world.archive.put_run(record)
    with pytest.raises(
        errors.PurgeNotUndoneError, match="purged of 2020-01-01 erased facts permanently"
    ):
        undo_run(world.ctx, "purged")


def test_undo_without_the_store_does_nothing(world: World) -> None:
    fact, run = _edited(world)
    note = world.note(fact.id)
    world.store.away = True
    with pytest.raises(errors.StoreUnavailableError):
        undo_run(world.ctx, run)
    assert world.note(fact.id) == note
    world.store.away = False
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS


def test_a_rename_is_named_in_the_history_and_undo_keeps_the_persons_name(world: World) -> None:
    fact = world.mirrored()
    to = "team-core/notes/By hand.md"
    world.person_renames(fact, to)
    run = world.sync().run
    _undo(world, run)
    assert world.is_alive(fact.id)
    assert len(world.notes()) == 1


def _edit_of_two(world: World) -> tuple[str, str, str]:
    """Two facts that a person edited in one run; their ids, and the run."""
    one, two = world.mirrored(title="One"), world.mirrored(title="Two")
    for fact in (one, two):
        world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    return one.id, two.id, world.sync().run


def test_a_fact_that_was_edited_and_deleted_since_stays_deleted(world: World) -> None:
    one, two, run = _edit_of_two(world)
    world.agent_forgets(one)
    world.quiesce()
    _undo(world, run)
    assert not world.is_alive(one)
    assert world.fact(two).content == LINES


def _adopted(world: World) -> tuple[str, str, str]:
    """A note that became a fact: its path, its fact and the run."""
    world.mirrored("Stays.", title="A bystander")
    path = "team-core/notes/mine.md"
    world.person_writes(path, "Words.\n")
    run = world.sync().run
    world.quiesce()
    fact_id = world.archive.paths()[VaultPath(path)]
    return path, fact_id, run


@pytest.mark.parametrize(
    ("hindrance", "why"),
    [
        ("unreadable", "bracket"),
        ("no base", "unknown"),
        ("a block", "an agent"),
        ("an agent", "an agent"),
        ("a save", ""),
        ("read-only", "Permission denied"),
    ],
)
def test_an_adoption_that_cannot_be_undone_stays_and_the_report_says_why(
    world: World, hindrance: str, why: str
) -> None:
    path, fact_id, run = _adopted(world)
    text = world.text(path)
    if hindrance == "unreadable":
        text = "---\na: [\n---\nWords.\n"
        world.person_writes(path, text)
    elif hindrance == "no base":
        with world.archive.transaction():
            world.archive.drop_bases([fact_id])
    elif hindrance == "a block":  # which the note cannot hold
        world.agent_updates(fact_id, content=f"{BLOCK_START}\n{BLOCK_END}")
    elif hindrance == "an agent":
        text = text.replace("---\nWords", "priority: 0\n---\nWords")
        world.at("stage", lambda: world.agent_updates(fact_id, priority=0))
    elif hindrance == "a save":
        text = text.replace("Words.", "My words.")
        world.at("exchange", lambda: world.person_writes(path, text))
    else:
        world.at("exchange", refuse)
    report = undo_run(world.ctx, run)
    found = notice(report, "not_undone")
    assert found.path == path
    assert why in found.message
    assert found.hint
    world.quiesce()
    assert world.is_alive(fact_id)
    assert _timeless(world.text(path)) == _timeless(text)
    if hindrance not in ("unreadable", "a block"):
        world.assert_equal_sides()


@pytest.mark.parametrize("writer", ["user", "agent"])
def test_an_unadopted_note_has_the_newest_changes(world: World, writer: str) -> None:
    path, fact_id, run = _adopted(world)
    if writer == "user":  # who also removes the id
        world.person_writes(path, "Other words.\n")
    else:
        world.agent_updates(fact_id, content="Other words.")
    _undo(world, run)
    assert world.text(path) == "Other words.\n"
    assert not world.is_alive(fact_id)


def test_the_undo_of_an_adoption_says_what_it_did_and_names_its_run(world: World) -> None:
    path, fact_id, run = _adopted(world)
    report = _undo(world, run)
    assert _done(report) == {"deleted_in_store": 1, "updated_in_vault": 1}
    assert action(report, fact_id).action == "delete_fact"
    assert action(report, fact_id).path == path
    remembered = world.archive.find_run(report.run)
    assert remembered is not None
    assert remembered.kind == f"undo {run}"
    assert remembered.report["counts"] == to_builtins(report)["counts"]
    (entry,) = world.archive.history(run=report.run)
    assert (entry.fact_id, entry.field, entry.before) == (fact_id, "fact", path)
    assert entry.after is None


def test_an_undone_undo_of_an_adoption_is_the_adoption(world: World) -> None:
    path, fact_id, run = _adopted(world)
    adopted = world.text(path)
    back = _undo(world, run).run
    world.person_edits(path, "Words.", "Words, and more.")
    again = _undo(world, back).run
    assert world.text(path) == adopted.replace("Words.", "Words, and more.")
    assert world.fact(fact_id).content == "Words, and more."
    assert world.conflicts() == []
    _undo(world, again)
    assert world.text(path) == "Words, and more.\n"
    assert not world.is_alive(fact_id)


@pytest.mark.parametrize("how", ["deleted", "broken", "adopted", "renamed"])
def test_a_readopted_fact_gets_a_new_note_when_its_own_is_not_there(world: World, how: str) -> None:
    path, fact_id, run = _adopted(world)
    back = _undo(world, run).run
    if how == "deleted":
        world.person_deletes(path)
    elif how == "broken":
        world.person_writes(path, "---\na: [\n---\nWords.\n")
        world.clock.advance(60)
    elif how == "adopted":
        adopt_notes(world.ctx, [VaultPath(path)])
    else:
        world.person_renames(path, "elsewhere.md")
    world.clock.advance(1)
    assert "restore_fact" in taken(undo_run(world.ctx, back), fact_id)
    world.quiesce()
    assert world.fact(fact_id).content == "Words."
    assert world.path(fact_id) != path
    world.assert_at_rest() if how != "broken" else None


@pytest.mark.parametrize("since", ["deleted", "restored"])
def test_an_adopted_fact_deleted_or_restored_since_stays_so(world: World, since: str) -> None:
    _, fact_id, run = _adopted(world)
    if since == "deleted":
        world.agent_forgets(fact_id)
    else:
        run = _undo(world, run).run
        fact_work.restore(world.ctx, fact_id, agent="indy")
    world.quiesce()
    report = _undo(world, run)
    assert action(report, fact_id).action == "keep"
    assert report.quiet
    assert world.is_alive(fact_id) == (since == "restored")


def test_a_note_deleted_during_the_undo_is_no_fact_any_more(world: World) -> None:
    path, fact_id, run = _adopted(world)
    world.at("exchange", lambda: world.person_deletes(path))
    assert kinds(undo_run(world.ctx, run)) == ["not_undone"]
    world.assert_at_rest()
    assert path not in world.notes()
    assert not world.is_alive(fact_id)


def test_what_an_editor_saves_into_an_unadopted_note_is_kept(world: World) -> None:
    path, _, run = _adopted(world)
    editor = world.vault.open_handle(path)
    undo_run(world.ctx, run)
    editor.write(b"What was not saved yet.\n")
    world.quiesce()
    texts = [world.text(each) for each in world.notes()]
    assert any("What was not saved yet." in text for text in texts)


@pytest.mark.parametrize("step", ["stage", "exchange", "discard"])
def test_a_crash_while_an_adoption_is_undone_loses_nothing(world: World, step: str) -> None:
    path, fact_id, run = _adopted(world)

    def dies() -> None:
        raise KeyboardInterrupt

    world.at(step, dies)
    with contextlib.suppress(KeyboardInterrupt):
        undo_run(world.ctx, run)
    world.vault.before = lambda _: None
    world.vault.crash()
    world.quiesce()
    assert world.conflicts() == []
    assert len(world.notes()) == 2
    _undo(world, run)
    assert world.text(path) == "Words.\n"
    assert not world.is_alive(fact_id)


def test_an_interrupted_undo_of_an_adoption_is_a_run_that_can_be_undone(world: World) -> None:
    paths = [f"team-core/notes/{name}.md" for name in ("a", "b")]
    for path in paths:
        world.person_writes(path, "Words.\n")
    run = world.sync().run
    world.quiesce()
    ids = {path: world.archive.paths()[VaultPath(path)] for path in paths}

    def dies() -> None:
        raise KeyboardInterrupt

    world.at("exchange", dies, number=2)  # the first note has lost its id
    with contextlib.suppress(KeyboardInterrupt):
        undo_run(world.ctx, run)
    (last,) = world.archive.runs(limit=1)
    assert last.kind == f"undo {run}"
    assert _done(convert(last.report, Report)) == {"deleted_in_store": 2, "updated_in_vault": 2}
    world.quiesce()
    assert len(world.facts()) == 1
    _undo(world, last.run)
    assert {path: world.archive.paths()[VaultPath(path)] for path in paths} == ids


def test_many_adoptions_are_undone_in_batches(world: World) -> None:
    many = NOTES_PER_FSYNC + 2
    for number in range(many):
        world.person_writes(f"team-core/notes/{number}.md", f"Words {number}.\n")
    run = world.sync().run
    world.quiesce()
    report = undo_run(world.ctx, run)
    assert _done(report) == {"deleted_in_store": many, "updated_in_vault": many}
    assert world.facts() == []
    world.assert_at_rest()


def test_a_note_that_had_its_id_before_it_was_adopted_keeps_both(world: World) -> None:
    fact_id = world.clock.new_id()
    text = f"---\nid: {fact_id}\n---\nFrom afar.\n"
    world.person_writes("afar.md", text)
    run = adopt_notes(world.ctx, [VaultPath("afar.md")]).run
    world.quiesce()
    assert action(_undo(world, run), fact_id).action == "keep"
    assert world.text("afar.md") == text
    assert world.is_alive(fact_id)


@pytest.mark.parametrize("source", ["vault", "store"])
def test_the_facts_of_a_rebuild_stay_when_it_is_undone(world: World, source: str) -> None:
    fact = world.mirrored()
    if source == "store":
        world.vault.delete(world.path(fact.id))
    else:
        world.store = MemoryStore(world.clock, "fresh")
    world.lose_archive()
    world.ctx = replace(world.ctx, store=world.store)
    run = rebuild(world.ctx, source).run
    assert last_undoable_run(world.ctx) == run
    assert action(_undo(world, run), fact.id).action == "keep"
    assert world.is_alive(fact.id)
    assert LINES in world.note(fact.id)
    with pytest.raises(errors.RunNotFoundError):  # the next undo goes on to an earlier run
        last_undoable_run(world.ctx)


def test_a_note_whose_deletion_lost_against_an_edit_stays(world: World) -> None:
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.person_deletes_for_good(fact)
    world.agent_updates(fact.id, content=AGENTS)
    run = world.sync().run
    assert "keep" in taken(_undo(world, run), fact.id)
    assert world.fact(fact.id).content == AGENTS


def test_undoing_a_restore_deletes_the_fact_again(world: World) -> None:
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    world.quiesce()
    fact_work.restore(world.ctx, fact.id, agent="indy")
    run = world.sync().run
    assert _done(_undo(world, run)) == {"deleted_in_store": 1, "deleted_in_vault": 1}
    assert not world.is_alive(fact.id)


def test_the_report_names_what_is_undone_and_what_stays(world: World) -> None:
    one, two, run = _edit_of_two(world)
    world.person_edits(world.path(two), PERSONS_ALPHA, "Alpha, once more.")
    world.quiesce()
    report = _undo(world, run)
    assert _done(report) == {"updated_in_store": 1, "updated_in_vault": 1}
    assert taken(report, one) == ["update_store", "update_vault"]
    assert [each.fields for each in report.actions if each.fact_id == one] == [
        ("content",),
        ("content",),
    ]
    assert [each.action for each in report.actions][-1] == "keep"
    assert (action(report, two).action, action(report, two).fields) == ("keep", ("content",))


def test_an_undo_that_has_nothing_to_do_is_no_run(world: World) -> None:
    _, run = _edited(world)
    _undo(world, run)
    report = _undo(world, run)
    assert report.quiet
    assert world.archive.find_run(report.run) is None


def test_edits_of_more_notes_than_the_guard_allows_can_be_undone(world: World) -> None:
    facts = [world.agent_remembers("x", title=f"Fact {n}") for n in range(MAX_REWRITES + 2)]
    world.quiesce()
    for fact in facts:
        world.person_edits(fact, "priority: 2", "priority: 0")
    run = world.sync().run
    report = _undo(world, run)
    assert _done(report) == {"updated_in_store": len(facts), "updated_in_vault": len(facts)}


@pytest.mark.parametrize("restores", [False, True])
def test_a_large_undo_is_one_run_in_several_passes(
    world: World, monkeypatch: pytest.MonkeyPatch, restores: bool
) -> None:
    monkeypatch.setattr(undo, "NOTES_PER_PASS", 3)
    planned: list[int] = []

    def counted(work: SyncRun, *, progress: Progress | None = None) -> ApplyOutcome:
        planned.append(sum(each.do is not ActionKind.NOTHING for each in work.actions))
        return apply_plan(work, progress=progress)

    facts = [world.agent_remembers(f"Fact {n}.", title=f"Fact {n}") for n in range(10)]
    run = world.sync().run
    if restores:
        for each in facts:
            world.agent_forgets(each.id)
        run = world.sync(SyncRequest(exempt_from_guard=frozenset(x.id for x in facts))).run
    world.clock.advance(1)
    before = len(world.archive.runs(limit=99))
    monkeypatch.setattr("vaultsync.sync.run.apply_plan", counted)
    said: list[tuple[str, int, int]] = []
    report = undo_run(world.ctx, run, progress=lambda *part: said.append(part))
    assert planned == [3, 3, 3, 1, 0]
    assert [part for part in said if part[0] == "apply"][-1][1:] == (10, 10)
    name = "created" if restores else "deleted"
    assert _done(report) == {f"{name}_in_vault": 10, f"{name}_in_store": 10}
    (record, *_) = runs = world.archive.runs(limit=99)
    assert len(runs) == before + 1
    assert (record.run, record.report["counts"]) == (report.run, report.counts)
    assert len(world.notes()) == (10 if restores else 0)
    undo_run(world.ctx, report.run)
    world.quiesce()
    assert len(world.notes()) == (0 if restores else 10)
    world.assert_at_rest()
