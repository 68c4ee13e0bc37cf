"""Every change is written down: who, when, which field, from which side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import convert, to_builtins

from tests.world import AGENTS, ALPHA, LINES, PERSONS, PERSONS_ALPHA, World, rebuild_anyway
from vaultsync.backends.state.recall_log import FileRecallLog
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.recall.access_counts import AccessCounter
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.report import REPORT_COUNTS, ActionTaken, Report, ReportedNotice
from vaultsync.sync.run import sync_once
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest


def _of(world: World, fact_id: str, field: str) -> list[HistoryEntry]:
    entries = world.archive.history(fact_id=fact_id)
    return [each for each in entries if each.field == field]


def _told(world: World, fact_id: str, field: str) -> list[tuple[str, ...]]:
    return [(x.side, x.actor, str(x.before), str(x.after)) for x in _of(world, fact_id, field)]


ARCHIVED = "status: active", "status: archived"


@pytest.mark.parametrize(
    ("edit", "values", "told"),
    [
        ((ALPHA, PERSONS_ALPHA), {}, {"content": [("vault", "mara", LINES, PERSONS)]}),
        (None, {"content": AGENTS}, {"content": [("store", "ada", LINES, AGENTS)]}),
        (
            ARCHIVED,
            {"priority": 0},
            {
                "status": [("vault", "mara", "active", "archived")],
                "priority": [("store", "ada", "2", "0")],
            },
        ),
        (
            ARCHIVED,
            {"status": "dormant"},
            {
                "status": [
                    ("store", "ada", "active", "dormant"),
                    ("vault", "mara", "dormant", "archived"),
                ]
            },
        ),
        (
            ("  - a\n  - b", "  - b\n  - c"),
            {"tags": ["b"]},
            {
                "tags": [
                    ("store", "ada", "['a', 'b']", "['b']"),
                    ("vault", "mara", "['b']", "['b', 'c']"),
                ]
            },
        ),
    ],
)
def test_each_change_is_told_with_its_author_and_both_values(
    world: World,
    edit: tuple[str, str] | None,
    values: dict[str, Value],
    told: dict[str, list[tuple[str, ...]]],
) -> None:
    fact = world.mirrored(tags=["a", "b"])
    if edit:
        world.person_edits(fact, *edit)
    if values:
        world.agent_updates(fact.id, agent="ada", **values)
    run = world.sync(SyncRequest(actor="mara")).run
    for field, expected in told.items():
        assert _told(world, fact.id, field) == expected
        assert all(each.run == run and each.at for each in _of(world, fact.id, field))


def test_a_deletion_that_an_edit_beat_is_told_with_who_did_which(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_edits(path, ALPHA, PERSONS_ALPHA)
    world.agent_forgets(fact.id, agent="ada")
    world.sync(SyncRequest(actor="mara"))
    assert _told(world, fact.id, "note")[1:] == [
        ("store", "ada", path, "deleted"),
        ("vault", "mara", "deleted", "changed"),
    ]


def test_creations_deletions_and_renames_are_written_down(world: World) -> None:
    world.mirrored("Stays.", title="A bystander")
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_writes("team-core/notes/new.md", "Words.\n")
    world.quiesce()
    (entry,) = (x for x in world.archive.history() if x.field == "fact")
    assert (entry.before, entry.after) == (None, "team-core/notes/new.md")
    assert entry.side == "vault"
    (made,) = _of(world, fact.id, "note")
    assert (made.before, made.after, made.side) == (None, path, "store")
    world.person_renames(path, "team-core/notes/moved.md")
    world.quiesce()
    (moved,) = _of(world, fact.id, "path")
    assert (moved.before, moved.after, moved.side) == (path, "team-core/notes/moved.md", "vault")
    world.person_deletes("team-core/notes/moved.md")
    world.quiesce()
    gone = _of(world, fact.id, "note")[-1]
    assert (gone.after, gone.side) == (None, "vault")


def test_a_pass_that_did_something_is_remembered_with_its_report(world: World, fact: Fact) -> None:
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    report = world.sync()
    run = world.archive.find_run(report.run)
    assert run is not None
    assert (run.kind, run.report) == ("sync", to_builtins(report))


def test_the_status_says_what_the_next_pass_would_do(world: World, fact: Fact) -> None:
    world.quiesce()
    now = read_status(world.ctx)
    assert (now.facts, now.notes, now.pending, now.conflicts) == (1, 1, 0, 0)
    assert to_builtins(now)["engine"] == "idle"
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_remembers("New.", title="New")
    world.person_writes("loose.md", "Loose.\n")
    with world.nobody_writes():
        now = read_status(world.ctx, engine="watching")
    assert (now.facts, now.notes, now.pending, now.foreign) == (2, 1, 2, 1)
    assert now.engine == "watching"
    assert now.last_run is not None
    world.store.away = True
    world.agent_updates(fact.id, priority=0)
    now = read_status(world.ctx)
    assert now.outbox == 1
    assert "store_away" in [each.kind for each in now.attention]


def test_a_note_that_is_paired_next_waits_for_no_adoption(world: World, fact: Fact) -> None:
    note = world.note(fact.id)
    world.agent_forgets(fact.id)
    world.mirrored("Other.", title="Other")
    world.person_writes("public/notes/back.md", note)
    now = read_status(world.ctx)
    assert (now.facts, now.notes, now.pending, now.foreign) == (1, 1, 1, 0)
    world.quiesce()
    world.lose_archive()
    now = read_status(world.ctx)
    assert (now.facts, now.notes, now.pending, now.foreign) == (2, 0, 0, 0)


def test_the_status_shows_conflicts_and_what_waits_for_a_person(world: World, fact: Fact) -> None:
    other = world.mirrored("Other.", title="Other")
    world.person_edits(fact, "status: active", "status: archived")
    world.agent_updates(fact.id, status="dormant")
    world.person_edits(other, "status: active", "status: [")
    world.quiesce()
    now = read_status(world.ctx)
    assert (now.conflicts, [each.kind for each in now.attention]) == (1, ["unreadable"])
    assert now.pending == 0


def test_what_was_used_waits_for_nothing(world: World, fact: Fact, tmp_path: Path) -> None:
    world.quiesce()
    recalled = AccessCounter(world.ctx, FileRecallLog(tmp_path))
    recalled.add([fact.id])
    assert recalled.flush() == 1
    assert read_status(world.ctx).pending == 0


def test_progress_is_told_of_scan_and_apply(world: World) -> None:
    world.agent_remembers("New.", title="New")
    told: list[tuple[str, int, int]] = []
    sync_once(world.ctx, progress=lambda *args: told.append(args))
    assert (told[0][0], told[-1]) == ("scan", ("apply", 1, 1))


@pytest.mark.parametrize("edited", [False, True])
def test_what_a_rebuild_replaces_is_in_the_history(world: World, fact: Fact, edited: bool) -> None:
    if edited:
        world.person_edits(fact, *ARCHIVED)
    world.agent_updates(fact.id, agent="ada", status="dormant")
    rebuild_anyway(world.ctx, "vault")
    now = "archived" if edited else "active"
    assert world.fact(fact.id).status == now
    agents = [("store", "ada", "active", "dormant")] if edited else []
    assert _told(world, fact.id, "status") == [*agents, ("vault", "person", "dormant", now)]


def test_a_report_comes_back_from_its_json() -> None:
    report = Report(
        "r1",
        dry_run=True,
        seconds=0.25,
        counts=dict.fromkeys(REPORT_COUNTS, 1),
        actions=[ActionTaken("move", "f1", "a.md", ("title",), "renamed")],
        attention=[ReportedNotice("Kind", "a.md", 3, "what", "how")],
    )
    assert convert(json.loads(json.dumps(to_builtins(report))), Report) == report
