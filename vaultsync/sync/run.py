"""One run: scan both sides, pair them up, plan, apply, record, report.

Full and incremental runs are the same code: the request, the scan and the store's feed
only determine which facts to examine.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from msgspec import structs, to_builtins

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value
from vaultsync.storage.archive import HistoryEntry, Notice, RunRecord
from vaultsync.sync.apply import ApplyOutcome, apply_plan
from vaultsync.sync.changes import StoreFeed, StoreSide
from vaultsync.sync.conflicts import (
    find_resolutions,
    preview_resolutions,
    resolve_conflicts,
    settled_by_deletion,
    show_reviews_again,
)
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import CREATES_NOTE, ActionKind, PlannedAction
from vaultsync.sync.finish import finish_run, join_reports, make_report, record_absent
from vaultsync.sync.history import VAULT_SIDE, record_changes, record_replaced
from vaultsync.sync.identity import (
    Case,
    NoteIdentities,
    adopted_folders,
    completed_cases,
    is_note_back,
    make_cases,
    resolve_identities,
    untracked_note_cases,
)
from vaultsync.sync.notices import redact_notices, run_notices
from vaultsync.sync.outbox import drain_outbox, preview_outbox
from vaultsync.sync.planning import SyncRun, plan_case
from vaultsync.sync.plausibility import Implausible, check_plan
from vaultsync.sync.preconditions import check_store, check_vault, confirmed_run, stop_run
from vaultsync.sync.recovery import recover
from vaultsync.sync.report import ActionTaken, AnyReport, Progress, Report
from vaultsync.sync.review_notes import remove_settled_notes
from vaultsync.sync.snapshot import ScanScope, VaultSnapshot, folders_of_facts, scan_vault
from vaultsync.sync.state_summary import older_summary_time, record_with_summary
from vaultsync.sync.sync_request import SyncRequest

_log = logging.getLogger(__name__)

MAX_RECORDED_ACTIONS = 2000
"""Maximum number of actions of a run that the archive keeps."""
PROGRESS_EVERY = 500
"""Number of planned facts between two progress reports."""
Planner: TypeAlias = Callable[[Case, SyncRun], PlannedAction]
"""Decides what to do about one fact; rebuilds and rewritten links have their own planners."""
Guard: TypeAlias = Callable[[SyncRun], Implausible | None]
"""Returns why a plan is not plausible, or None; rebuilds have their own guards."""
UNGUARDED_KINDS = ("links",)
"""Kinds of runs that may rewrite many notes, because they change only links."""


def sync_once(
    ctx: SyncContext,
    request: SyncRequest | None = None,
    *,
    plan: Planner = plan_case,
    guard: Guard = check_plan,
    prepare: Callable[[], None] = lambda: None,
    progress: Progress | None = None,
) -> Report:
    """Do one complete run; `prepare` is called before it changes a note or fact of the plan.

    Raises:
        VaultMissingError, VaultMismatchError: it is not this vault; nothing was done.
        StoreMismatchError, StoreRewoundError: it is not this store; nothing was done.
        GuardError: the plan is not plausible; none of it was done.
        OSError: the disk is full or broken; the next run repairs unfinished writes.
    """
    request = request or SyncRequest()
    if request.dry_run:
        return preview_run(ctx, request, plan=plan, guard=guard, progress=progress)[1]
    began = ctx.clock.monotonic()
    confirmed = confirmed_run(ctx, request)
    run = request.after.run if request.after else request.run or confirmed or ctx.clock.new_id()
    check_vault(ctx, dry_run=False)
    feed = check_store(ctx, run, request)
    was_older = older_summary_time(ctx) is not None
    unseen: dict[str, Fact] = {}
    interrupted = ctx.archive.intents()
    if feed.is_available and interrupted:
        unseen |= record_replaced(ctx, feed.since)  # the repair moves bases
    repaired, recheck = recover(
        ctx, run, interrupted, kind=request.kind, rescue=not request.trust_store
    )
    if interrupted and ctx.archive.intents():
        # It stopped responding, and a merge before the repair would have a wrong base.
        feed = StoreFeed(is_available=False)
    refused: list[Notice] = []
    if feed.is_available and request.drain_outbox_first:
        touched, refused = drain_outbox(ctx)
        recheck += touched
    work = observe(ctx, request, run, feed, recheck, progress=progress)
    feed = work.feed
    if feed.is_available and (feed.rows or request.facts_only):
        unseen |= record_replaced(ctx, feed.since)
    implausible = _plan(work, plan, guard, progress)
    work.notices += redact_notices(ctx, [*refused, *remove_settled_notes(ctx)])
    if unseen:
        work.actions = [a.evolve(unseen=unseen.get(a.fact_id)) for a in work.actions]
    if implausible and not confirmed:
        stop_run(ctx, request, run)
        _log.info("run %s was stopped: %s", run, implausible.why)
        raise implausible.error(run, confirmed=request.confirm)
    prepare()
    record_absent(work)
    work.release_cases()
    outcome = ApplyOutcome()
    if work.actions or work.unchanged:
        outcome = apply_plan(work, progress=progress)
        outcome.notices = redact_notices(ctx, outcome.notices)
    seconds = ctx.clock.monotonic() - began
    finish_run(work, outcome)
    done = [*repaired, *outcome.done]
    report = make_report(work, done, outcome.notices, seconds, refused=outcome.refused)
    # From now on it is, as the guard let all of it pass.
    is_current = was_older and feed.is_available and not request.is_partial
    if not report.quiet or outcome.done or work.unchanged or work.settled or is_current:
        report = join_reports(request.after, report) if request.after else report
        record_run(ctx, request, report, is_current=is_current)
        changed = {name: number for name, number in report.counts.items() if number}
        _log.info("run %s (%s): %s in %.3f s", run, request.kind, changed, seconds)
    return report


def preview_run(
    ctx: SyncContext,
    request: SyncRequest,
    *,
    plan: Planner = plan_case,
    guard: Guard = check_plan,
    progress: Progress | None = None,
) -> tuple[SyncRun, Report]:
    """What a run would find and do; writes nothing."""
    began = ctx.clock.monotonic()
    run = ctx.clock.new_id()
    check_vault(ctx, dry_run=True)
    feed = check_store(ctx, run, request)
    queued, refused = preview_outbox(ctx, feed)
    work = observe(ctx, request, run, feed, queued=queued, progress=progress)
    implausible = _plan(work, plan, guard, progress)
    guarded = implausible and implausible.why
    would_do = [a for a in work.actions if a.do is not ActionKind.NOTHING]
    notices, seconds = redact_notices(ctx, refused), ctx.clock.monotonic() - began
    return work, make_report(work, would_do, notices, seconds, guarded=guarded)


def observe(
    ctx: SyncContext,
    request: SyncRequest,
    run: str,
    feed: StoreFeed,
    recheck: Collection[str] = (),
    *,
    queued: Mapping[str, StoreSide] = MappingProxyType({}),
    progress: Progress | None = None,
) -> SyncRun:
    """Examine both sides and pair them up, fact by fact: everything before the plan.

    Between the scan and reading the store's feed, conflicts that the user resolved in their
    conflict notes are closed, which writes to both sides. A dry run computes what the store would
    have then, as `queued` is what it would have of queued changes. The facts in `recheck` are
    examined even if nothing seems to have changed.
    """
    checked_ids = dict.fromkeys([*recheck, *request.fact_ids])
    folders: AbstractSet[VaultPath] | None = None
    if request.facts_only:
        folders = folders_of_facts(ctx, list(checked_ids))
    elif (
        request.folders is not None
        and feed.is_available
        and (feed.since > 0 or not ctx.store.state().seq)  # read before, or nothing to read
    ):
        feed = replace(feed, rows=ctx.store.feed(feed.since))
        touched = [*(row.fact_id for row in feed.rows), *checked_ids]
        folders = request.folders | folders_of_facts(ctx, touched)
    reread = request.reread | request.adopt
    if request.allow_scope_moves:
        reread |= {each.path for each in ctx.archive.notices() if each.kind == "scope_move"}
    scope = ScanScope(
        request,
        folders,
        reread=reread,
        adopted=adopted_folders(ctx),
        # A rebuild trusts one side, so it reads all of that side.
        ask_store=feed.is_available and not request.trust_store,
    )
    snapshot = scan_vault(ctx, scope, may_widen=not request.facts_only, progress=progress)
    resolved: list[str] = []
    settled: list[ActionTaken] = []
    previews: Mapping[str, StoreSide] = {}
    if feed.is_available and request.dry_run:
        previews = {**queued, **preview_resolutions(ctx, snapshot)}
        settled = settled_by_deletion(find_resolutions(ctx, snapshot, dry_run=True))
    elif feed.is_available:
        resolutions = find_resolutions(ctx, snapshot)
        resolved = resolve_conflicts(ctx, resolutions)
        settled = settled_by_deletion(resolutions) if resolutions else []
    identities = resolve_identities(ctx, snapshot)
    if identities.absent:
        _confirm_absences(ctx, identities)
    if folders is None and feed.is_available:
        # Read after the resolutions, to include the rows that they wrote.
        feed = replace(feed, rows=ctx.store.feed(feed.since), is_whole=feed.since == 0)
    _add_bases_of_others(ctx, request, identities, feed)
    waiting = [] if request.facts_only else _waiting_facts(ctx, snapshot)
    checked_ids = dict.fromkeys([*waiting, *recheck, *resolved, *previews, *request.fact_ids])
    cases, unchanged = make_cases(identities, feed, recheck=checked_ids)
    if previews:
        cases = [c._replace(store=previews.get(c.fact_id, c.store)) for c in cases]
    if identities.without_id:
        cases += untracked_note_cases(identities, request.adopt, store_available=feed.is_available)
    return SyncRun(ctx, request, run, snapshot, identities, cases, unchanged, feed, settled=settled)


def _add_bases_of_others(
    ctx: SyncContext, request: SyncRequest, identities: NoteIdentities, feed: StoreFeed
) -> None:
    """Record the bases of notes that another process wrote; a dry run only uses them."""
    new = {key: seen for key, seen in identities.of_fact.items() if key not in identities.bases}
    if new and feed.is_available:
        from vaultsync.sync.write_through import notes_of_others, record_notes  # noqa: PLC0415 - rare

        written = notes_of_others(ctx, new, feed)
        identities.bases |= {base.fact.id: base for _, base in written}
        if request.dry_run:
            identities.unrecorded = {base.fact.id: each.data for each, base in written}
        elif written:
            ctx.vault.sync(base.path for _, base in written)
            record_notes(ctx, written)


def _waiting_facts(ctx: SyncContext, snapshot: VaultSnapshot) -> list[str]:
    """The waiting facts whose notes are in scanned folders."""
    waiting = (ctx.archive.setting("waiting") or "").split()
    if not snapshot.is_partial:
        return waiting
    bases = ctx.archive.find_bases(waiting)
    folders = snapshot.scan.folders
    return [key for key, base in bases.items() if parent_folder(base.path) in folders]


def _confirm_absences(ctx: SyncContext, identities: NoteIdentities) -> None:
    """Check once more, after a grace period, for notes that were missing in an earlier run."""
    missing = [base for base in identities.absent.values() if base.missing_since]
    if not missing:
        return
    newest = max(datetime.fromisoformat(base.missing_since or "").timestamp() for base in missing)
    wait = newest + ctx.policy.grace_seconds - ctx.clock.now().timestamp()
    if wait > 0:
        ctx.clock.sleep(min(wait, ctx.policy.grace_seconds))
    for base in missing:
        if is_note_back(ctx, base):
            del identities.absent[base.fact.id]


def _plan(
    work: SyncRun, plan: Planner, guard: Guard, progress: Progress | None
) -> Implausible | None:
    """Plan each case, and collect the notices of the scan and of the plan.

    Returns:
        Why the plan is not plausible; None if it is.
    """
    request = work.request
    fields: dict[tuple[str, ...], tuple[str, ...]] = {}
    for number, case in enumerate(completed_cases(work.ctx, work.cases, work.feed)):
        action = plan(case, work)
        # An agent's status needs the facts whose notes return to a former path.
        is_whole = case.last_path is not None and request.dry_run
        is_brief = work.cases[number].is_brief and not is_whole
        if is_brief and action.do is ActionKind.CREATE_NOTE:
            same = fields.setdefault(action.fields, action.fields)
            action = action.without_facts().evolve(fields=same)
        target = action.to or (action.path if action.do in CREATES_NOTE else None)
        if target and work.snapshot.is_unreadable(target) and not work.snapshot.is_partial:
            action = action.evolve(do=ActionKind.WAIT, reason="its folder is not read")
        work.actions.append(action)
        if progress is not None and number % PROGRESS_EVERY == 0:
            progress("plan", number, len(work.cases))
    work.notices = run_notices(work)
    work.feed = replace(work.feed, rows=work.feed.rows[-1:])  # where the next run begins
    if not work.actions or request.kind.startswith(UNGUARDED_KINDS):
        return None
    return guard(work)


def sync_written(
    ctx: SyncContext,
    request: SyncRequest,
    written: AnyReport,
    began: float,
    *,
    progress: Progress | None = None,
) -> AnyReport:
    """Sync the notes of facts that were written as a report says, and record both as one run.

    `began` is when the run began, in monotonic seconds. Returns the complete report.
    """
    followed = sync_once(ctx, request, progress=progress)
    both = join_reports(written, followed)
    seconds = round(ctx.clock.monotonic() - began, 3)
    complete = structs.replace(
        written,
        seconds=seconds,
        counts=both.counts,
        actions=both.actions,
        attention=followed.attention,
    )
    record_run(ctx, request, complete)
    return complete


def record_run(
    ctx: SyncContext, request: SyncRequest, report: Report, *, is_current: bool = False
) -> None:
    """Record the report of a run that did something, and write a summary into the vault.

    `is_current` means that the vault looked like an older copy, and that all of it was accepted.
    """
    if is_current:
        show_reviews_again(ctx)
    shown = structs.replace(report, actions=report.actions[:MAX_RECORDED_ACTIONS])
    record = RunRecord(report.run, ctx.now(), request.kind, to_builtins(shown))
    with ctx.archive.transaction():
        write_summary = record_with_summary(ctx, record, is_current=is_current)
    write_summary()


def record_events(
    ctx: SyncContext, request: SyncRequest, events: Iterable[tuple[str, str, Value, Value]]
) -> None:
    """Record what a requested run does outside of a plan, with a record of the run.

    Each event has the fact, the field that names the event, and the values before and after.
    """
    run, at = str(request.run), ctx.now()
    entries = [
        HistoryEntry(run, at, fact_id, VAULT_SIDE, request.actor, field, before, after)
        for fact_id, field, before, after in events
    ]
    with ctx.archive.transaction():
        record = ctx.archive.find_run(run)
        record = record or RunRecord(run, at, request.kind, {"counts": {}})
        record_changes(ctx.archive, record, entries)
