"""What a pass holds in memory, and leaves behind there when it is over."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any
from unittest.mock import Mock, patch

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.memory_archive import MemoryArchive
from tests.world import World, rebuild_anyway
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder, stem_of
from vaultsync.operations import rebuild as operations_rebuild
from vaultsync.operations.rebuild import rebuild
from vaultsync.storage.archive import Base
from vaultsync.storage.store import StoreWrite
from vaultsync.sync import apply, identity, run, snapshot
from vaultsync.sync.context import SyncPolicy
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.planning import SyncRun
from vaultsync.sync.run import preview_run
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest

pytestmark = pytest.mark.long(5)


def _actions() -> int:
    return sum(isinstance(each, PlannedAction) for each in gc.get_objects())


def test_a_pass_holds_nothing_when_it_is_over(world: World) -> None:
    world.mirrored()
    world.lose_archive()
    gc.collect()
    before = _actions()
    gc.disable()
    try:
        world.sync()
        assert _actions() == before
    finally:
        gc.enable()


def test_a_pass_that_makes_notes_holds_nothing_when_it_is_over(world: World) -> None:
    gc.collect()
    before = _actions()
    gc.disable()
    try:
        world.agent_remembers("Kept by nobody.")
        world.sync()
        assert _actions() == before
    finally:
        gc.enable()


class _CountingArchive(MemoryArchive):
    """Counts the bases that are read whole."""

    read = 0

    def find_bases(self, fact_ids: Iterable[str]) -> dict[str, Base]:
        found = super().find_bases(fact_ids)
        self.read += len(found)
        return found


def test_of_a_large_folder_only_the_bases_of_edited_notes_are_read(world: World) -> None:
    world.archive = archive = _CountingArchive()
    world.ctx = replace(world.ctx, archive=archive)
    facts = [world.agent_remembers(f"Fact {n}.", title=f"Fact {n}") for n in range(40)]
    world.quiesce()
    archive.read = 0
    assert world.sync().quiet
    assert archive.read == 0
    world.person_edits(world.path(facts[7].id), "Fact 7.", "Fact seven.")
    archive.read = 0
    assert world.sync().counts["updated_in_store"] == 1
    assert 0 < archive.read < 5


def test_a_new_note_and_its_links_need_no_list_of_all_notes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea, milk = (world.mirrored(title=title) for title in ("Tea", "Milk"))
    monkeypatch.setattr(world.archive, "paths", Mock(side_effect=AssertionError))
    changed = SyncRequest(folders=frozenset())
    fact = world.agent_remembers("Hot.", title="Tea", relatedFactIds=[tea.id])
    assert world.sync(changed).counts["created_in_vault"] == 1
    assert world.path(fact.id) != world.path(tea.id)
    link = f"[[{stem_of(world.path(tea.id))}|Tea]]"
    assert link in world.note(fact.id)

    path, added = world.path(fact.id), f"[[{stem_of(world.path(milk.id))}]]"
    world.person_edits(path, link, f"{link}\n- {added}\n- [[Nowhere]]")
    world.clock.advance(61)
    world.sync(SyncRequest(folders=frozenset({parent_folder(path)})))
    assert milk.id in world.fact(fact.id).related_fact_ids


def test_a_name_in_a_folder_that_differs_in_case_is_taken(world: World) -> None:
    tea = world.mirrored(title="Tea")
    folder, _, name = world.path(tea.id).rpartition("/")
    world.person_renames_folder(folder, folder.upper())
    world.quiesce()
    other = world.agent_remembers("Hot.", title="Tea")
    world.sync(SyncRequest(folders=frozenset()))
    assert world.path(other.id).rpartition("/")[2] != name
    assert world.path(tea.id).rpartition("/")[2] == name


def _related(world: World) -> list[Fact]:
    """Facts of which each is related to the next and to the first, and the last to one more."""
    first = world.agent_remembers("The first.", title="Namesake")
    facts = [first]
    for number in range(5):
        related = (facts[-1].id, first.id)
        title = "Namesake" if number == 3 else f"Fact {number}"
        told = world.agent_remembers(f"It is {number}.", title=title, relatedFactIds=related)
        facts.append(told)
    world.agent_updates(first.id, relatedFactIds=(facts[-1].id, facts[2].id))
    return facts


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that read the new facts of a plan again when they make their notes."""
    monkeypatch.setattr(identity, "MAX_WHOLE_CASES", 1)


def test_a_first_pass_out_makes_the_notes_of_many_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    notes, reports = [], []
    for most, batch in ((1000, 1000), (1, 2)):
        monkeypatch.setattr(identity, "MAX_WHOLE_CASES", most)
        world = World(SyncPolicy(batch=batch))
        _related(world)
        reports.append(to_builtins(world.sync()))
        notes.append({path: world.text(path) for path in world.notes()})
        world.assert_at_rest()

    whole, brief = notes
    assert brief == whole
    assert reports[0]["counts"] == reports[1]["counts"]
    assert reports[0]["actions"] == reports[1]["actions"]


@pytest.mark.usefixtures("brief")
def test_a_plan_of_many_new_facts_holds_none_of_them(world: World) -> None:
    _related(world)
    held: list[bool] = []
    world.at("create", lambda: held.extend(_whole_actions()))

    world.sync()

    assert len(held) <= world.ctx.policy.batch
    assert not _whole_actions()


@pytest.mark.usefixtures("brief")
def test_a_rebuild_of_all_notes_holds_few_of_their_facts() -> None:
    world = World(SyncPolicy(batch=2))
    facts = _related(world)
    held: list[int] = []
    guard = operations_rebuild.guard_notes

    def guarded(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        held.append(len(_whole_actions()))
        return guard(*given, **named)

    with patch.object(operations_rebuild, "guard_notes", guarded):
        report = rebuild(world.ctx, "store")

    assert report.counts["created_in_vault"] == len(facts)
    assert held == [0]
    world.assert_at_rest()


@pytest.mark.parametrize("source", ["store", "vault"])
def test_a_rebuild_examines_only_what_differs(
    world: World, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    changed, edited, *_ = _related(world)
    world.quiesce()
    for module in (identity, operations_rebuild):
        monkeypatch.setattr(module, "CASES_IN_MEMORY", 2)
    world.agent_updates(changed.id, content="By the agent.")
    world.person_edits(world.path(edited.id), "It is", "It was")
    planned: list[str] = []

    def applied(work: SyncRun, **more: Any) -> apply.ApplyOutcome:  # noqa: ANN401
        planned.extend(each.fact_id for each in work.actions)
        return apply.apply_plan(work, **more)

    monkeypatch.setattr(run, "apply_plan", applied)
    rebuild_anyway(world.ctx, source)

    assert sorted(planned) == sorted([changed.id, edited.id])
    assert ("By the agent." in world.note(changed.id)) == (source == "store")
    assert ("It was" in world.note(edited.id)) == (source == "vault")
    world.quiesce()
    world.assert_at_rest()


@pytest.mark.usefixtures("brief")
def test_a_new_fact_that_changes_between_plan_and_note_waits_for_the_next_pass(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = _related(world)
    plan = run._plan

    def planned(*given: Any) -> Any:  # noqa: ANN401
        found = plan(*given)
        world.agent_updates(facts[2].id, content="Something else.")
        world.agent_forgets(facts[3].id)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(run, "_plan", planned)
        report = world.sync()

    assert report.counts["created_in_vault"] == len(facts) - 2
    waiting = {each.fact_id for each in report.actions if each.action == "wait"}
    assert waiting == {facts[2].id, facts[3].id}
    world.assert_at_rest()
    assert "Something else." in world.note(facts[2].id)
    assert len(world.notes()) == len(facts) - 1


@pytest.mark.usefixtures("brief")
def test_a_new_fact_whose_row_is_damaged_is_left_alone_among_many(world: World) -> None:
    facts = _related(world)
    world.store.damage(facts[2].id)

    report = world.sync()

    assert report.counts["created_in_vault"] == len(facts) - 1
    assert [x.kind for x in report.attention] == ["damaged_fact"]


@pytest.mark.parametrize("agent", [None, "ada"])
def test_a_dry_run_of_many_new_facts_says_the_same_and_holds_none_of_them(
    world: World, monkeypatch: pytest.MonkeyPatch, agent: str | None
) -> None:
    private = world.agent_remembers("Of Bo alone.", agent="bo", scope="private-bo")
    world.sync()
    world.person_renames(private, "Elsewhere.md")  # where all may look
    world.sync()
    world.agent_forgets(private.id, agent="bo")
    world.sync()
    deleted = world.store.feed()[-1].revision
    world.store.write([StoreWrite(private.id, private, deleted, "bo")])
    _related(world)
    found = []
    for most in (1000, 1):
        monkeypatch.setattr(identity, "MAX_WHOLE_CASES", most)
        report = to_builtins(preview_run(world.ctx, SyncRequest(dry_run=True))[1])
        status = to_builtins(read_status(world.ctx, agent=agent))
        found.append(({**report, "run": "", "seconds": 0}, status))

    assert found[0] == found[1]
    work, _ = preview_run(world.ctx, SyncRequest(dry_run=True))
    assert len(work.actions) == 7
    assert len(_whole_actions()) == 1  # that of the fact whose note lay elsewhere


def test_notes_with_new_stamps_are_recorded_without_holding_their_facts(world: World) -> None:
    """As after a backup was restored, or a vault copied: the bytes are the same."""
    facts = [world.agent_remembers(f"It is {n}.", title=f"Fact {n}") for n in range(5)]
    world.sync()
    for path in world.notes():
        world.person_writes(path, world.data(path), by_rename=True)

    work, _ = preview_run(world.ctx, SyncRequest(dry_run=True))
    assert len(work.snapshot.restamped) == len(facts)
    assert not any(isinstance(x, (Base, Fact)) for each in work.snapshot.restamped for x in each)
    assert world.sync().quiet
    world.assert_at_rest()
    assert all(world.base(fact.id).stamp for fact in facts)


@pytest.fixture(autouse=True)
def no_garbage() -> None:
    """Collect what other tests left in cycles, so that only what a run holds is counted."""
    gc.collect()


def _whole_actions() -> list[bool]:
    """One for each planned note whose fact is in memory."""
    return [
        True
        for each in gc.get_objects()
        if isinstance(each, PlannedAction)
        and each.do is ActionKind.CREATE_NOTE
        and each.store is not None
    ]


@pytest.fixture
def brief_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans that read canonical notes and their facts again when they record them."""
    monkeypatch.setattr(snapshot, "MAX_PACKED_BYTES", 0)
    monkeypatch.setattr(apply, "BASES_PER_TRANSACTION", 2)


def _without_archive(world: World) -> list[Fact]:
    """Facts with their notes, and no archive that knows them."""
    facts = [world.agent_remembers(f"It is {n}.", title=f"Fact {n}") for n in range(5)]
    world.sync()
    world.lose_archive()
    return facts


@pytest.mark.usefixtures("brief_files")
def test_equal_sides_without_archive_are_recorded_without_holding_texts(world: World) -> None:
    facts = _without_archive(world)
    world.person_copies(world.notes()[4], "public/facts/Copy.md")
    work, _ = preview_run(world.ctx, SyncRequest(dry_run=True))
    held = [each for each in work.snapshot.seen.values() if each.file.data]
    assert len(held) == 1  # the copy, which no fact has there

    report = world.sync()

    assert {each.id for each in facts} <= {each.fact_id for each in report.actions}
    assert report.counts["created_in_store"] == 1  # the copy, which has its text
    world.assert_at_rest()
    assert "It is 4." in world.facts()[-1].content


@pytest.mark.usefixtures("brief_files")
@pytest.mark.parametrize("changed", ["note", "fact", "both", "no note", "no fact"])
@pytest.mark.parametrize("step", ["compared", "recorded"])
def test_a_side_that_changes_after_it_was_compared_waits_for_the_next_pass(
    world: World, monkeypatch: pytest.MonkeyPatch, changed: str, step: str
) -> None:
    facts = _without_archive(world)
    path = world.notes()[3]
    (which,) = [each.id for each in facts if each.id in world.text(path)]

    def change() -> None:
        if changed in ("note", "both"):
            world.person_edits(path, "It is", "It was")
        if changed == "no note":
            world.person_deletes(path)
        elif changed in ("fact", "both"):
            world.agent_updates(which, title="Another one")
        elif changed == "no fact":
            world.agent_forgets(which)

    of, name = (run, "resolve_identities") if step == "compared" else (run, "apply_plan")
    act = getattr(of, name)

    def acted(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        if step == "compared":
            found = act(*given, **named)
            change()
            return found
        change()
        return act(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(of, name, acted)
        world.sync()
    assert world.ctx.archive.find_base(which) is None or changed != "note"
    world.quiesce()
    world.assert_at_rest()
    if changed in ("note", "both"):
        assert world.fact(which).content.startswith("It was")
    if changed in ("fact", "both"):
        assert "Another one" in world.everything_kept()  # without a base, the note wins


@pytest.mark.usefixtures("brief_files")
def test_many_notes_that_were_moved_at_once_keep_what_they_say(world: World) -> None:
    facts = [world.agent_remembers(f"It is {n}.", title=f"Fact {n}") for n in range(5)]
    world.sync()
    for path in world.notes():
        world.person_renames(path, path.replace("/notes/", "/notes/old/"))

    assert world.sync().counts["moved"] == len(facts)
    assert [each.content for each in world.facts()] == [each.content for each in facts]
    assert all("/old/" in path for path in world.notes())
    world.quiesce()
    world.assert_at_rest()


def test_the_texts_of_notes_that_are_not_to_be_adopted_are_not_kept(world: World) -> None:
    world.person_writes("Journal/today.md", "Dear diary.\n")
    world.person_writes("public/notes/tea.md", "Tea is green.\n")
    work, report = preview_run(world.ctx, SyncRequest(dry_run=True))
    assert [*work.snapshot.seen] == ["public/notes/tea.md"]
    assert report.counts["created_in_store"] == 1
    chosen = SyncRequest(dry_run=True, adopt=frozenset({VaultPath("Journal/today.md")}))
    assert preview_run(world.ctx, chosen)[1].counts["created_in_store"] == 2
