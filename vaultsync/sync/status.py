"""The status of the vault: what is pending and what is wrong. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import convert

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.dates import ALWAYS, TimeSpan
from vaultsync.model.paths import join_path
from vaultsync.notes.kinds import is_index_page, is_module_file, is_named_as_changes
from vaultsync.notes.review_note import is_review_note
from vaultsync.storage.vault import IGNORED, path_in
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import CHANGES_NEITHER, LEAVES_ALONE
from vaultsync.sync.identity import module_folders
from vaultsync.sync.report import ActionTaken, DaemonState, Report, RunSummary, Status, notices_of
from vaultsync.sync.review_notes import count_open_proposals, open_review_notes, unclear_answers
from vaultsync.sync.run import preview_run
from vaultsync.sync.sync_request import SyncRequest


def daemon_status(
    ctx: SyncContext, *, daemon: DaemonState | None, agent: str | None = None
) -> Status:
    """The daemon's status from its last run, without a scan, as an agent may see it.

    Raises:
        StoreUnavailableError.
    """
    archive, view = ctx.archive, AgentView(ctx, agent)
    waiting = (archive.setting("waiting") or "").split()
    notes = archive.count_bases() - len(archive.missing_bases())
    if agent is not None:
        notes = view.count_notes()
        bases = archive.find_bases(waiting)
        waiting = [x for x in waiting if x in bases and view.sees_facts(bases[x].fact)]
    return Status(
        facts=ctx.store.state().facts,
        notes=notes,
        pending=len(waiting),
        conflicts=len(archive.conflicts()),
        attention=view.notices(notices_of([*archive.notices(), *unclear_answers(ctx)])),
        outbox=len(archive.outbox()),
        last_run=_last_run(ctx, view),
        engine="this process",
        daemon=daemon,
        proposals=count_open_proposals(ctx),
    )


def _last_run(ctx: SyncContext, view: AgentView) -> RunSummary | None:
    """The last run that changed something; None for an agent, as it counts others' changes."""
    return None if view.agent is not None else next(iter(run_summaries(ctx, limit=1)), None)


RUNS_OF_AGENTS = 200
"""Number of runs that are searched for those that an agent may know of."""


def run_summaries(
    ctx: SyncContext,
    *,
    limit: int,
    prefix: str = "",
    agent: str | None = None,
    span: TimeSpan = ALWAYS,
) -> tuple[RunSummary, ...]:
    """The newest runs of a span whose ids begin with `prefix`, newest first; at most `limit`.

    An agent gets runs with actions that it may know of, and only these are counted.
    """
    if agent is not None:
        runs = _runs_of_agent(ctx, prefix, AgentView(ctx, agent))
    else:
        runs = (
            RunSummary(
                each.run,
                each.at,
                each.kind,
                convert(each.report.get("counts") or {}, dict[str, int]),
            )
            for each in ctx.archive.runs(limit=limit, prefix=prefix)
        )
    return tuple(islice((each for each in runs if span.holds(each.at)), limit))


def _runs_of_agent(ctx: SyncContext, prefix: str, view: AgentView) -> Iterator[RunSummary]:
    for each in ctx.archive.runs(limit=RUNS_OF_AGENTS, prefix=prefix):
        actions = convert(each.report.get("actions") or [], list[ActionTaken])
        seen = view.report(Report(each.run, dry_run=False, seconds=0.0, counts={}, actions=actions))
        if not seen.quiet:
            yield RunSummary(each.run, each.at, each.kind, seen.counts)


def read_status(
    ctx: SyncContext,
    *,
    engine: str = "idle",
    daemon: DaemonState | None = None,
    agent: str | None = None,
) -> Status:
    """Scan both sides as a run would, and report what it would find, as far as an agent sees it.

    The numbers of facts, conflicts and queued changes are those of the whole vault.

    Raises:
        VaultMissingError, VaultMismatchError, StoreMismatchError, StoreRewoundError.
    """
    work, report = preview_run(ctx, SyncRequest(dry_run=True))
    view = AgentView(ctx, agent)
    actions = [action for action in work.actions if view.sees_action(action)]
    pending = sum(action.do not in CHANGES_NEITHER for action in actions)
    snapshot = work.snapshot
    gone = {base.path for base in work.identities.absent.values()}
    if IGNORED in (*snapshot.scan.unreadable.values(), *snapshot.non_regular.values()):
        gone.update(filter(snapshot.is_ignored, ctx.archive.paths()))
    notes = ctx.archive.count_bases() - len(gone)
    if agent is not None and gone:
        notes = sum(map(view.sees_path, ctx.archive.paths().keys() - gone))
    elif agent is not None:
        notes = view.count_notes()
    reviewed = open_review_notes(ctx)  # the user may have renamed them
    modules = module_folders(ctx)
    adopted_paths = ctx.archive.paths() if modules else {}
    files = sum(  # empty files are not counted
        not (is_review_note(name) or path_in(folder.path, name) in reviewed)
        and not is_index_page(ctx.policy.index_folder, folder.path, name)
        and not is_named_as_changes(name)
        and (
            not modules
            or not is_module_file(join_path(folder.path, name), modules)
            or join_path(folder.path, name) in adopted_paths
        )
        for folder in snapshot.scan.folders.values()
        if view.sees_files_in(folder.path)
        for name, stamp in folder.files.items()
        if stamp.size
    )
    waiting = sum(view.sees_path(each.path) for each in work.unchanged)
    unrecorded = work.identities.unrecorded
    waiting += sum(
        (x.base is None or x.fact_id in unrecorded)
        and x.sha is not None
        and x.do not in LEAVES_ALONE
        for x in actions
    )
    try:
        facts = ctx.store.state().facts
    except StoreUnavailableError:
        facts = notes + len(gone)
    return Status(
        facts=facts,
        notes=notes,
        pending=pending,
        conflicts=len(ctx.archive.conflicts()),
        attention=view.notices([*report.attention, *notices_of(unclear_answers(ctx))]),
        outbox=len(ctx.archive.outbox()),
        last_run=_last_run(ctx, view),
        engine=engine,
        daemon=daemon,
        foreign=max(files - notes - waiting, 0),
        proposals=count_open_proposals(ctx),
    )
