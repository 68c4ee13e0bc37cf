"""One pass: scan -> changes -> reconcile -> apply -> record -> report.

Full and incremental passes are this same code: the scan and the store's feed only name
which facts to look at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from msgspec import structs, to_builtins

from vaultsync.errors import GuardError, StoreUnavailableError
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.view import IDENTITY_VIEW
from vaultsync.storage.archive import Notice, RunRecord
from vaultsync.storage.store import FeedRow, StoreState
from vaultsync.sync.apply import apply_plan
from vaultsync.sync.changes import StoreSide
from vaultsync.sync.conflicts import find_resolutions, preview_resolutions, resolve_conflict
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction, guard
from vaultsync.sync.fast_path import take_unchanged
from vaultsync.sync.finish import finish_run, record_absent
from vaultsync.sync.identity import (
    Case,
    NoteIdentities,
    is_note_back,
    make_cases,
    resolve_identities,
    taken_keys,
    untracked_note_cases,
)
from vaultsync.sync.item import CREATES_NOTE, ApplyOutcome
from vaultsync.sync.notices import plan_notices, refusal_notices, scan_notices
from vaultsync.sync.outbox import drain_outbox
from vaultsync.sync.pass_types import SyncRequest, SyncRun
from vaultsync.sync.planning import PlanRules, ReservedPaths, plan_case, plan_note
from vaultsync.sync.preconditions import check_store, check_vault, feed_cursor, is_confirmed
from vaultsync.sync.recovery import recover
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.scan_scope import scan_vault, waiting_facts_in
from vaultsync.sync.snapshot import VaultSnapshot
from vaultsync.sync.tally import join_reports, make_report

MAX_RECORDED_ACTIONS = 2000
"""How many actions a remembered run lists."""
PROGRESS_EVERY = 500
"""After how many plans progress is told."""
UNGUARDED_KINDS = ("rebuild", "links")
"""Kinds of passes that may rewrite many notes: all of them, or nothing but links."""


def sync_once(
    ctx: SyncContext,
    request: SyncRequest | None = None,
    *,
    progress: Progress | None = None,
) -> Report:
    """One complete pass, by the table.

    Raises: as `sync_with()`.
    """
    return sync_with(ctx, request or SyncRequest(), TablePlanner(), progress=progress)


def record_run(ctx: SyncContext, request: SyncRequest, report: Report) -> None:
    """Keep the report of a pass that did something, and tell it in the vault."""
    said = to_builtins(structs.replace(report, actions=report.actions[:MAX_RECORDED_ACTIONS]))
    with ctx.archive.transaction():
        ctx.archive.put_run(RunRecord(report.run, ctx.now(), request.kind, said))
    _write_sync_state(ctx, request, said)


def _write_sync_state(ctx: SyncContext, request: SyncRequest, said: Mapping[str, Value]) -> None:
    """A readable summary of the last pass that did something, beside the notes."""
    summary = {
        "run": said["run"],
        "at": ctx.now(),
        "kind": request.kind,
        "facts": ctx.archive.count_bases(),
        "open_conflicts": len(ctx.archive.conflicts()),
        "counts": said["counts"],
        "attention": said["attention"],
    }
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    ctx.vault.write_meta(VaultPath(".meta/sync-state.json"), text.encode())


class Planner(Protocol):
    """Decides what is to be done about each fact of a pass."""

    def prepare(self, work: SyncRun) -> None:
        """Told of the scan before the first case."""
        ...

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """What to do about one fact."""
        ...


class TablePlanner:
    """Plans by the table of `sync/decision_table.py`."""

    def __init__(self) -> None:
        self._taken = ReservedPaths(set)
        self._view = IDENTITY_VIEW

    def prepare(self, work: SyncRun) -> None:
        """Note which paths are taken."""
        self._taken = ReservedPaths(lambda: taken_keys(work.ctx, work.snapshot, work.identities))
        self._view = work.ctx.view

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """The row of the table, worked out for this fact."""
        return plan_case(case, self._taken, rules)

    def plan_note(self, action: PlannedAction, case: Case) -> PlannedAction:
        """A note for a fact that has none."""
        return plan_note(action, self._taken, view=self._view, was_at=case.last_path)


def sync_with(
    ctx: SyncContext,
    request: SyncRequest,
    planner: Planner,
    *,
    progress: Progress | None = None,
) -> Report:
    """One complete pass, by another planner than the table (as a rebuild has one).

    Raises:
        VaultMissingError, VaultMismatchError: not this vault; nothing was done.
        StoreMismatchError, StoreRewoundError: not this store; nothing was done.
        GuardError: the plan is not plausible; nothing was done.
        OSError: the disk is full or broken; the next pass repairs what was begun.
    """
    began = ctx.clock.monotonic()
    run = request.run or ctx.clock.new_id()
    if request.after is not None:
        run = request.after.run
    check_vault(ctx, dry_run=request.dry_run)
    state = check_store(ctx, run, request)
    again: list[str] = []
    if not request.dry_run:
        again = recover(ctx, run, rescue=not request.trust_store)
        if ctx.archive.intents():
            state = None  # it fell silent: a merge before the repair has the wrong base
        if state is not None and request.drain_outbox_first:
            again += drain_outbox(ctx)
    work = observe(ctx, request, run, state, again, progress=progress)
    _plan(work, planner, progress)
    stopped = _guard_reason(work)
    if stopped and not request.dry_run and not is_confirmed(ctx, request):
        with ctx.archive.transaction():
            ctx.archive.set_setting("stopped_run", run)
        raise GuardError(stopped, run)
    outcome = ApplyOutcome()
    if not request.dry_run:
        record_absent(work)
        outcome = apply_plan(
            ctx,
            work.plan.actions,
            run=run,
            seen=work.snapshot.seen,
            agreed=work.unchanged,
            progress=progress,
            actor=request.actor,
        )
    seconds = ctx.clock.monotonic() - began
    if request.dry_run:
        done: Sequence[PlannedAction] = [
            a for a in work.plan.actions if a.do is not ActionKind.NOTHING
        ]
        return make_report(work, done, [], seconds, guarded=stopped)
    outcome.notices = _redact_notices(ctx, outcome.notices)
    finish_run(work, outcome)
    report = make_report(work, outcome.done, outcome.notices, seconds)
    if not report.quiet or outcome.done or work.unchanged:
        report = join_reports(request.after, report)
        record_run(ctx, request, report)
    return report


def _guard_reason(work: SyncRun) -> str | None:
    """Why the guard stops a plan; None when it does not."""
    if work.request.kind.startswith(UNGUARDED_KINDS):
        return None
    return guard(
        [a for a in work.plan.actions if a.fact_id not in work.request.exempt_from_guard],
        work.ctx.archive.count_bases(),
        max_delete=work.request.max_delete,
    )


def preview_run(ctx: SyncContext, request: SyncRequest) -> tuple[SyncRun, Report]:
    """What a pass would find and do, with nothing written."""
    run = ctx.clock.new_id()
    check_vault(ctx, dry_run=True)
    work = observe(ctx, request, run, check_store(ctx, run, request))
    _plan(work, TablePlanner())
    would = [action for action in work.plan.actions if action.do is not ActionKind.NOTHING]
    return work, make_report(work, would, [], 0.0, guarded=_guard_reason(work))


def observe(
    ctx: SyncContext,
    request: SyncRequest,
    run: str,
    state: StoreState | None,
    again: Iterable[str] = (),
    *,
    progress: Progress | None = None,
) -> SyncRun:
    """Everything before the plan; only what a person said of conflicts is written."""
    look_again = set(request.reread) | set(request.adopt)
    if request.allow_scope_moves:
        look_again |= {each.path for each in ctx.archive.notices() if each.kind == "scope_move"}
    again = list(again)
    feed: Sequence[FeedRow] | None = None
    since = feed_cursor(ctx, state, request)
    some = request.folders is not None and since > 0
    if some and state is not None:
        feed = ctx.store.feed(since)
    found = scan_vault(
        ctx,
        replace(
            request,
            folders=request.folders if some else None,
            named=(*request.named, *again),
        ),
        feed,
        away=state is None,
        look_again=look_again,
        progress=progress,
    )
    if progress is not None:
        progress("scan", len(found.seen), len(found.seen))
    settled: list[str] = []
    ahead: Mapping[str, StoreSide] = {}
    if state is not None and request.dry_run:
        ahead = preview_resolutions(ctx, found)
    elif state is not None:
        settled += [resolve_conflict(ctx, v).fact_id for v in find_resolutions(ctx, found)]
    who = resolve_identities(ctx, found)
    _confirm_absences(ctx, who)
    named = dict.fromkeys([*again, *settled, *ahead, *request.named])
    if request.facts_only:
        feed = None if state is None else []
        since = -1
    elif found.is_partial:
        inside = waiting_facts_in(ctx, found.scan.folders.keys())
        named = dict.fromkeys([*inside, *named])
    else:
        if state is not None and feed is None:
            feed = ctx.store.feed(since)
        waiting = (ctx.archive.setting("waiting") or "").split()
        named = dict.fromkeys([*waiting, *named])
    whole = since == 0 and state is not None
    rows, away = {row.fact_id: row for row in feed or ()}, feed is None
    agreed = take_unchanged(who, rows, named=named)
    cases = make_cases(ctx, found, who, rows, away=away, named=named, whole_feed=whole)
    if ahead:
        cases = [c._replace(store=ahead.get(c.fact_id, c.store)) for c in cases]
    cases += untracked_note_cases(ctx, who, request.adopt, away=state is None)
    since = max(since, 0)
    return SyncRun(ctx, request, run, found, who, cases, agreed, feed, state, since)


def _confirm_absences(ctx: SyncContext, who: NoteIdentities) -> None:
    """Notes that were gone before: wait out the grace, then see whether they are back."""
    now = ctx.clock.now().timestamp()
    due = [base for base in who.absent.values() if base.missing_since]
    if not due:
        return
    newest = max(_seconds(base.missing_since or "") for base in due)
    left = newest + ctx.policy.grace_seconds - now
    if left > 0:
        ctx.clock.sleep(min(left, ctx.policy.grace_seconds))
    for base in due:
        if is_note_back(ctx, base):
            del who.absent[base.fact.id]


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _plan(work: SyncRun, planner: Planner, progress: Progress | None = None) -> None:
    request, ctx = work.request, work.ctx
    rules = PlanRules(
        allow_scope_moves=request.allow_scope_moves,
        adopt=request.adopt,
        default_scope=request.adopt_scope or ctx.policy.default_scope,
        created_at=ctx.today(),
        type_name=request.adopt_type or ctx.policy.default_type,
        view=ctx.view,
    )
    if work.cases:
        planner.prepare(work)
    for at, case in enumerate(work.cases):
        action = planner.plan(case, rules)
        work.plan.actions.append(_wait_if_unreadable(action, work.snapshot))
        if progress is not None and at % PROGRESS_EVERY == 0:
            progress("plan", at, len(work.cases))
    asked = {a.path for a in work.plan.actions if a.do is ActionKind.NEEDS_REVIEW and a.path}
    work.plan.notices += scan_notices(ctx, work.snapshot, work.identities, request.adopt | asked)
    work.plan.notices += plan_notices(ctx, work.cases, work.plan.actions, request.allow_scope_moves)
    if request.dry_run:
        work.plan.notices += refusal_notices(ctx, work.plan.actions)
    if work.state is None:
        work.plan.notices.append(_store_unavailable_notice(ctx))
    work.plan.notices = _redact_notices(ctx, work.plan.notices)


def _redact_notices(ctx: SyncContext, notices: Sequence[Notice]) -> list[Notice]:
    """Notices repeat what stands in notes; they are kept, and shown to everybody."""
    hide = ctx.view.redact_text
    return [n._replace(message=hide(n.message), hint=hide(n.hint)) for n in notices]


def _wait_if_unreadable(action: PlannedAction, found: VaultSnapshot) -> PlannedAction:
    """Nothing is written below a folder that cannot be read."""
    goes_to = action.to or (action.path if action.do in CREATES_NOTE else None)
    if goes_to is not None and found.is_unreadable(goes_to) and not found.is_partial:
        reason = "the folder it belongs in cannot be read"
        return action.evolve(do=ActionKind.WAIT, reason=reason)
    return action


def _store_unavailable_notice(ctx: SyncContext) -> Notice:
    hint = "the next pass after it is back brings everything over"
    otherwise = "if it is lost, `vaultsync rebuild --from vault` makes a new one from"
    hints = [hint, f"{otherwise} the notes"]
    try:
        ctx.store.state()
        why = "it came back during this pass"
    except StoreUnavailableError as away:
        why = away.why
        hints = [away.helps, hint] if away.helps else hints
    return Notice(
        "store_away",
        VaultPath(""),
        f"the store does not answer: {why}; what must reach it waits",
        "; ".join(hints),
        seen=ctx.now(),
    )
