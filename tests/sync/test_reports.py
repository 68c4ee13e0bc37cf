"""What a report says, so that a person can act on it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from tests.world import World
from vaultsync.errors import PurgeUnfinishedError
from vaultsync.model.dates import TimeSpan
from vaultsync.sync.decision_table import REASON_CHANGED_DURING_RUN, REASON_GONE
from vaultsync.sync.finish import join_reports
from vaultsync.sync.report import ActionTaken, MaintenanceReport, Report, ReportedNotice, counted
from vaultsync.sync.status import run_summaries
from vaultsync.sync.sync_request import SyncRequest


def taken(report: Report, name: str) -> list[ActionTaken]:
    return [each for each in report.actions if each.action == name]


def dispute(world: World) -> str:
    fact = world.mirrored("One line.")
    world.person_edits(fact, "One line.", "A person's line.")
    world.agent_updates(fact.id, content="An agent's line.")
    world.quiesce()
    (note,) = world.conflict_notes()
    return note


def test_a_conflict_that_is_settled_by_deleting_its_note_is_reported(world: World) -> None:
    note = dispute(world)
    world.person_deletes(note)
    report = world.sync()
    (settled,) = taken(report, "resolve_conflict")
    assert "content" in settled.fields
    assert "its conflict note was deleted" in settled.reason
    assert settled.path is not None
    assert world.conflicts() == []
    assert world.ctx.archive.find_run(report.run) is not None
    assert taken(world.sync(), "resolve_conflict") == []


def test_what_a_run_could_not_do_is_a_line_of_its_report(world: World) -> None:
    fact = world.mirrored("One line.")
    world.agent_updates(fact.id, content="An agent's line.")
    path = world.path(fact.id)

    def saved() -> None:
        world.person_edits(path, "One line.", "A person's line.")

    world.at("exchange", saved)
    report = world.sync()
    (left,) = taken(report, "wait")
    assert (left.fact_id, left.path) == (fact.id, path)
    assert left.reason == REASON_CHANGED_DURING_RUN


def test_a_note_gone_while_its_fact_was_changed_is_announced_as_coming_back(world: World) -> None:
    fact = world.mirrored("One line.")
    world.person_deletes(fact)
    world.agent_updates(fact.id, content="An agent's line.")
    (left,) = taken(world.sync(), "wait")
    assert left.reason != REASON_GONE
    assert "writes the note again" in left.reason
    assert world.sync().counts["conflicts"] == 1
    assert [each.fact_id for each in world.conflicts()] == [fact.id]


def test_the_runs_of_a_span_are_those_at_or_after_its_beginning(world: World) -> None:
    world.mirrored("One.")
    before = world.clock.now()
    world.clock.advance(40 * 24 * 3600)
    world.mirrored("Two.")
    ctx = world.ctx
    runs = run_summaries(ctx, limit=9)
    since = TimeSpan(since=(before + timedelta(days=20)).date().isoformat())

    recent = run_summaries(ctx, limit=9, span=since)

    assert 0 < len(recent) < len(runs)
    assert recent == runs[: len(recent)]
    assert run_summaries(ctx, limit=1, span=since) == runs[:1]
    assert run_summaries(ctx, limit=9, span=TimeSpan(since="2100-01-01")) == ()


def test_maintenance_that_removed_or_proposed_something_is_not_quiet() -> None:
    nothing = MaintenanceReport("r1", dry_run=False, seconds=0.0, counts=counted({}))
    assert nothing.quiet
    assert not structs.replace(nothing, pruned={"moves": 1}).quiet
    assert not structs.replace(nothing, proposed={"junk": 1}).quiet


def test_an_error_is_reported_with_its_own_message_or_another() -> None:
    error = PurgeUnfinishedError()
    notice = ReportedNotice.of(error)
    assert (notice.kind, notice.path, notice.line) == ("PurgeUnfinishedError", "", None)
    assert (notice.message, notice.hint) == (error.message, error.hint)
    assert ReportedNotice.of(error, "Because.").message == "Because."


@pytest.mark.parametrize("is_archive_lost", [False, True])
def test_a_run_and_its_dry_run_count_the_facts_that_stay_as_they_are(is_archive_lost: bool) -> None:
    world = World()
    facts = [world.mirrored(f"Berth {number}.") for number in range(5)]
    if is_archive_lost:
        world.lose_archive()
    else:
        world.person_deletes(facts[1])
        world.person_deletes_for_good(facts[2])
        for fact in facts[:2]:
            world.agent_forgets(fact.id)
        world.person_edits(facts[3], "Berth", "Pier")
    world.agent_remembers("New.")
    world.person_writes("team-core/notes/new.md", "New.\n")
    dry, wet = world.sync(SyncRequest(dry_run=True)), world.sync()
    assert dry.counts == wet.counts
    assert wet.counts["unchanged"] == (5 if is_archive_lost else 1)
    joined = join_reports(wet, world.sync())
    assert joined.counts["unchanged"] == wet.counts["unchanged"]
