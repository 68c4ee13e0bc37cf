"""One run: scan both sides, pair them up, plan, apply, record, report.

Full and incremental runs are the same code: the request, the scan and the store's feed
only say which facts to look at.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from msgspec import structs, to_builtins

from vaultsync.errors import GuardError
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import RunRecord
from vaultsync.storage.store import StoreState
from vaultsync.sync.apply import ApplyOutcome, apply_plan
from vaultsync.sync.changes import StoreFeed, StoreSide
from vaultsync.sync.conflicts import find_resolutions, preview_resolutions, resolve_conflict
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import CREATES_NOTE, ActionKind, PlannedAction, guard
from vaultsync.sync.finish import finish_run, join_reports, make_report, record_absent
from vaultsync.sync.identity import (
    Case,
    NoteIdentities,
    is_note_back,
    make_cases,
    resolve_identities,
    take_unchanged,
    taken_keys,
    untracked_note_cases,
)
from vaultsync.sync.notices import (
    plan_notices,
    redact_notices,
    refusal_notices,
    scan_notices,
    store_unavailable_notice,
)
from vaultsync.sync.outbox import drain_outbox
from vaultsync.sync.planning import PlanRules, ReservedPaths, SyncRun, plan_case, plan_note
from vaultsync.sync.preconditions import (
    check_store,
    check_vault,
    feed_cursor,
    is_confirmed,
    record_stopped_run,
)
from vaultsync.sync.recovery import recover
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.snapshot import ScanScope, VaultSnapshot, folders_of_facts, scan_vault
from vaultsync.sync.sync_request import SyncRequest

MAX_RECORDED_ACTIONS = 2000
"""How many actions of a run the archive keeps."""
PROGRESS_EVERY = 500
"""How many plans are made between two reports of progress."""
UNGUARDED_KINDS = ("rebuild", "links")
"""Kinds of runs that may rewrite many notes: all of them, or nothing but their links."""


def sync_once(
    ctx: SyncContext, request: SyncRequest | None = None, *, progress: Progress | None = None
) -> Report:
    """Do one complete run, planned by the decision table.

    Raises: as `sync_with()`.
    """
    return sync_with(ctx, request or SyncRequest(), TablePlanner(), progress=progress)


class Planner(Protocol):
    """Decides what to do about each fact of a run."""

    def prepare(self, work: SyncRun) -> None:
        """Called once after the scan, before the first case."""
        ...

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """What to do about one fact."""
        ...


class TablePlanner:
    """Plans by the table in `sync/decision_table.py`."""

    _taken: ReservedPaths
    _view: NoteView

    def prepare(self, work: SyncRun) -> None:
        """Reserve the paths that are in use."""
        self._taken = ReservedPaths(lambda: taken_keys(work.ctx, work.snapshot, work.identities))
        self._view = work.ctx.view

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """The row of the table, worked out for this fact."""
        return plan_case(case, self._taken, rules)

    def plan_note(self, action: PlannedAction, case: Case) -> PlannedAction:
        """Create a note for a fact that has none."""
        return plan_note(action, self._taken, view=self._view, was_at=case.last_path)


def sync_with(
    ctx: SyncContext, request: SyncRequest, planner: Planner, *, progress: Progress | None = None
) -> Report:
    """Do one complete run with any planner (a rebuild has its own).

    Raises:
        VaultMissingError, VaultMismatchError: not this vault; nothing was done.
        StoreMismatchError, StoreRewoundError: not this store; nothing was done.
        GuardError: the plan is not plausible; nothing of it was done.
        OSError: the disk is full or broken; the next run repairs what was begun.
    """
    began = ctx.clock.monotonic()
    run = request.after.run if request.after else request.run or ctx.clock.new_id()
    check_vault(ctx, dry_run=request.dry_run)
    state = check_store(ctx, run, request)
    recheck: list[str] = []
    if not request.dry_run:
        recheck = recover(ctx, run, rescue=not request.trust_store)
        if ctx.archive.intents():
            state = None  # it stopped answering: a merge before the repair has a wrong base
        if state is not None and request.drain_outbox_first:
            recheck += drain_outbox(ctx)
    work = observe(ctx, request, run, state, recheck, progress=progress)
    _plan(work, planner, progress)
    implausible = _guard_reason(work)
    if request.dry_run:
        return _preview_report(work, ctx.clock.monotonic() - began, implausible)
    if implausible and not is_confirmed(ctx, request):
        record_stopped_run(ctx, run)
        raise GuardError(implausible, run)
    record_absent(work)
    outcome = ApplyOutcome()
    if work.plan.actions or work.unchanged:
        outcome = apply_plan(work, progress=progress)
        outcome.notices = redact_notices(ctx, outcome.notices)
    seconds = ctx.clock.monotonic() - began
    finish_run(work, outcome)
    report = make_report(work, outcome.done, outcome.notices, seconds)
    if not report.quiet or outcome.done or work.unchanged:
        report = join_reports(request.after, report)
        record_run(ctx, request, report)
    return report


def preview_run(ctx: SyncContext, request: SyncRequest) -> tuple[SyncRun, Report]:
    """What a run would find and do; writes nothing."""
    run = ctx.clock.new_id()
    check_vault(ctx, dry_run=True)
    work = observe(ctx, request, run, check_store(ctx, run, request))
    _plan(work, TablePlanner())
    return work, _preview_report(work, 0.0, _guard_reason(work))


def _preview_report(work: SyncRun, seconds: float, implausible: str | None) -> Report:
    would_do = [a for a in work.plan.actions if a.do is not ActionKind.NOTHING]
    return make_report(work, would_do, [], seconds, guarded=implausible)


def _guard_reason(work: SyncRun) -> str | None:
    """Why the plan is not plausible; None when it is."""
    if not work.plan.actions or work.request.kind.startswith(UNGUARDED_KINDS):
        return None
    return guard(
        [a for a in work.plan.actions if a.fact_id not in work.request.exempt_from_guard],
        work.ctx.archive.count_bases(),
        max_delete=work.request.max_delete,
    )


def observe(
    ctx: SyncContext,
    request: SyncRequest,
    run: str,
    state: StoreState | None,
    recheck: Collection[str] = (),
    *,
    progress: Progress | None = None,
) -> SyncRun:
    """Look at both sides and pair them up, fact by fact: everything before the plan.

    Between the scan and the reading of the store's feed, the conflicts that the user
    resolved in their conflict notes are closed, which writes to both sides. A dry run
    works out what the store would hold then.

    Args:
        ctx: the two sides and the archive.
        request: what to look at.
        run: the id of the run.
        state: the state of the store; None while it does not answer.
        recheck: facts to look at even when nothing seems to have changed.
        progress: called while the vault is scanned.
    """
    wanted = dict.fromkeys([*recheck, *request.fact_ids])
    since = feed_cursor(ctx, state, request)
    feed = StoreFeed(since=since, is_available=state is not None)
    folders: AbstractSet[VaultPath] | None = None
    if request.facts_only:
        folders = folders_of_facts(ctx, list(wanted))
    elif request.folders is not None and since > 0 and feed.is_available:
        feed = replace(feed, rows=ctx.store.feed(since))
        touched = [*(row.fact_id for row in feed.rows), *wanted]
        folders = request.folders | folders_of_facts(ctx, touched)
    scope = ScanScope(
        folders,
        reread=_paths_to_reread(ctx, request),
        being_saved=request.being_saved,
        read_all=request.read_all,
        # A rebuild takes one side at its word, so it reads what that side says.
        ask_store=feed.is_available and not request.trust_store,
    )
    snapshot = scan_vault(ctx, scope, may_widen=not request.facts_only, progress=progress)
    resolved, previews = _user_resolutions(ctx, request, snapshot, feed)
    identities = resolve_identities(ctx, snapshot)
    if identities.absent:
        _confirm_absences(ctx, identities)
    if folders is None and feed.is_available:
        # Read after the resolutions, so that it has the rows that they wrote.
        feed = replace(feed, rows=ctx.store.feed(since), is_whole=since == 0)
    waiting = [] if request.facts_only else _waiting_facts(ctx, snapshot)
    wanted = dict.fromkeys([*waiting, *recheck, *resolved, *previews, *request.fact_ids])
    unchanged, rows = take_unchanged(identities, feed.rows, recheck=wanted)
    cases = make_cases(ctx, snapshot, identities, rows, feed, recheck=wanted)
    if previews:
        cases = [c._replace(store=previews.get(c.fact_id, c.store)) for c in cases]
    if identities.without_id:
        cases += untracked_note_cases(
            ctx, identities, request.adopt, store_available=feed.is_available
        )
    return SyncRun(ctx, request, run, snapshot, identities, cases, unchanged, feed)


def _user_resolutions(
    ctx: SyncContext, request: SyncRequest, snapshot: VaultSnapshot, feed: StoreFeed
) -> tuple[list[str], Mapping[str, StoreSide]]:
    """Close the conflicts that the user resolved; a dry run only previews what this does.

    Returns:
        The facts of the closed conflicts, and what the store would hold of others.
    """
    if not feed.is_available:
        return [], {}
    if request.dry_run:
        return [], preview_resolutions(ctx, snapshot)
    found = find_resolutions(ctx, snapshot)
    return [resolve_conflict(ctx, each).fact_id for each in found], {}


def _waiting_facts(ctx: SyncContext, snapshot: VaultSnapshot) -> list[str]:
    """The facts that wait, as far as their notes lie where the scan looked."""
    waiting = (ctx.archive.setting("waiting") or "").split()
    if not snapshot.is_partial:
        return waiting
    bases = ctx.archive.find_bases(waiting)
    folders = snapshot.scan.folders
    return [key for key, base in bases.items() if parent_folder(base.path) in folders]


def _paths_to_reread(ctx: SyncContext, request: SyncRequest) -> frozenset[VaultPath]:
    paths = request.reread | request.adopt
    if request.allow_scope_moves:
        paths |= {each.path for each in ctx.archive.notices() if each.kind == "scope_move"}
    return paths


def _confirm_absences(ctx: SyncContext, identities: NoteIdentities) -> None:
    """Look once more for notes that were missing in an earlier run, after a grace period."""
    due = [base for base in identities.absent.values() if base.missing_since]
    if not due:
        return
    newest = max(datetime.fromisoformat(base.missing_since or "").timestamp() for base in due)
    left = newest + ctx.policy.grace_seconds - ctx.clock.now().timestamp()
    if left > 0:
        ctx.clock.sleep(min(left, ctx.policy.grace_seconds))
    for base in due:
        if is_note_back(ctx, base):
            del identities.absent[base.fact.id]


def _plan(work: SyncRun, planner: Planner, progress: Progress | None = None) -> None:
    """Plan each case, and collect the notices of the scan and of the plan."""
    request, ctx, plan = work.request, work.ctx, work.plan
    if work.cases:
        rules = PlanRules(
            allow_scope_moves=request.allow_scope_moves,
            adopt=request.adopt,
            default_scope=request.adopt_scope or ctx.policy.default_scope,
            created_at=ctx.today(),
            type_name=request.adopt_type or ctx.policy.default_type,
            view=ctx.view,
        )
        planner.prepare(work)
        for number, case in enumerate(work.cases):
            action = planner.plan(case, rules)
            plan.actions.append(_wait_if_unreadable(action, work.snapshot))
            if progress is not None and number % PROGRESS_EVERY == 0:
                progress("plan", number, len(work.cases))
    review = {a.path for a in plan.actions if a.do is ActionKind.NEEDS_REVIEW and a.path}
    plan.notices += scan_notices(work, request.adopt | review)
    plan.notices += plan_notices(ctx, work.cases, plan.actions, request.allow_scope_moves)
    if request.dry_run:
        plan.notices += refusal_notices(ctx, plan.actions)
    if not work.feed.is_available:
        plan.notices.append(store_unavailable_notice(ctx))
    plan.notices = redact_notices(ctx, plan.notices)


def _wait_if_unreadable(action: PlannedAction, snapshot: VaultSnapshot) -> PlannedAction:
    """Nothing is written below a folder that cannot be read."""
    target = action.to or (action.path if action.do in CREATES_NOTE else None)
    if target is not None and snapshot.is_unreadable(target) and not snapshot.is_partial:
        reason = "the folder it belongs in cannot be read"
        return action.evolve(do=ActionKind.WAIT, reason=reason)
    return action


def record_run(ctx: SyncContext, request: SyncRequest, report: Report) -> None:
    """Keep the report of a run that did something, and a readable summary in the vault."""
    shown = structs.replace(report, actions=report.actions[:MAX_RECORDED_ACTIONS])
    record: Mapping[str, Value] = to_builtins(shown)
    with ctx.archive.transaction():
        ctx.archive.put_run(RunRecord(report.run, ctx.now(), request.kind, record))
    summary = {
        "run": record["run"],
        "at": ctx.now(),
        "kind": request.kind,
        "facts": ctx.archive.count_bases(),
        "open_conflicts": len(ctx.archive.conflicts()),
        "counts": record["counts"],
        "attention": record["attention"],
    }
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    ctx.vault.write_meta(VaultPath(".meta/sync-state.json"), text.encode())
