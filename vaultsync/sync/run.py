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

from vaultsync.errors import GuardError, StoreUnavailableError
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.view import CLEAR
from vaultsync.storage.archive import Attention, Run
from vaultsync.storage.store import StoreState, Written
from vaultsync.sync.apply import apply_plan
from vaultsync.sync.changes import StoreSide
from vaultsync.sync.conflicts import foreseen, settle, verdicts
from vaultsync.sync.context import Mirror
from vaultsync.sync.decision_table import Action, Do, guard
from vaultsync.sync.fast_path import take_agreed
from vaultsync.sync.finish import record_gone, record_pass
from vaultsync.sync.identity import (
    Case,
    Identities,
    is_back,
    make_cases,
    newcomers,
    settle_identities,
    taken_keys,
)
from vaultsync.sync.item import CREATES_NOTE, Outcome
from vaultsync.sync.notices import notices_of_plan, notices_of_scan, refusals
from vaultsync.sync.outbox import drain_outbox
from vaultsync.sync.pass_types import Pass, Request
from vaultsync.sync.planning import Rules, Taken, plan_case, plan_note
from vaultsync.sync.preconditions import check_vault, confirmed, seen_up_to, store_state
from vaultsync.sync.recovery import recover
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.scan_scope import look_into, waiting_in
from vaultsync.sync.snapshot import Snapshot
from vaultsync.sync.tally import build_report, joined

SHOWN = 2000
"""How many actions a remembered run lists."""
SOME = 500
"""After how many plans progress is told."""
MEANT = ("rebuild", "links")
"""Kinds of passes that may rewrite many notes: all of them, or nothing but links."""


def sync(
    mirror: Mirror, request: Request | None = None, *, progress: Progress | None = None
) -> Report:
    """One complete pass, by the table.

    Raises: as `sync_with()`.
    """
    return sync_with(mirror, request or Request(), ByTheTable(), progress=progress)


def remember_run(mirror: Mirror, request: Request, report: Report) -> None:
    """Keep the report of a pass that did something, and tell it in the vault."""
    shown = replace(report, actions=report.actions[:SHOWN])
    said = shown.as_json()
    with mirror.archive.transaction():
        mirror.archive.put_run(Run(report.run, mirror.now(), request.kind, said))
    _tell_the_vault(mirror, request, said)


def _tell_the_vault(
    mirror: Mirror, request: Request, said: Mapping[str, Value]
) -> None:
    """A readable summary of the last pass that did something, beside the notes."""
    summary = {
        "run": said["run"],
        "at": mirror.now(),
        "kind": request.kind,
        "facts": mirror.archive.count_bases(),
        "open_conflicts": len(mirror.archive.conflicts()),
        "counts": said["counts"],
        "attention": said["attention"],
    }
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    mirror.vault.write_meta(VaultPath(".meta/sync-state.json"), text.encode())


class Planner(Protocol):
    """Decides what is to be done about each fact of a pass."""

    def prepare(self, work: Pass) -> None:
        """Told of the scan before the first case."""
        ...

    def plan(self, case: Case, rules: Rules) -> Action:
        """What to do about one fact."""
        ...


class ByTheTable:
    """Plans by the table of `sync/decision_table.py`."""

    def __init__(self) -> None:
        self._taken = Taken(set)
        self._lens = CLEAR

    def prepare(self, work: Pass) -> None:
        """Note which paths are taken."""
        self._taken = Taken(lambda: taken_keys(work.mirror, work.found, work.who))
        self._lens = work.mirror.lens

    def plan(self, case: Case, rules: Rules) -> Action:
        """The row of the table, worked out for this fact."""
        return plan_case(case, self._taken, rules)

    def plan_note(self, action: Action, case: Case) -> Action:
        """A note for a fact that has none."""
        return plan_note(action, self._taken, lens=self._lens, was_at=case.was_at)


def sync_with(
    mirror: Mirror,
    request: Request,
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
    began = mirror.clock.monotonic()
    run = request.run or mirror.clock.new_id()
    if request.after is not None:
        run = request.after.run
    check_vault(mirror, dry_run=request.dry_run)
    state = store_state(mirror, run, request)
    again: list[str] = []
    if not request.dry_run:
        again = recover(mirror, run, rescue=not request.trust_store)
        if mirror.archive.intents():
            state = None  # it fell silent: a merge before the repair has the wrong base
        if state is not None and request.deliver:
            again += drain_outbox(mirror)
    work = look(mirror, request, run, state, again, progress=progress)
    _plan(work, planner, progress)
    stopped = _stopped(work)
    if stopped and not request.dry_run and not confirmed(mirror, request):
        with mirror.archive.transaction():
            mirror.archive.set_setting("stopped_run", run)
        raise GuardError(stopped, run)
    outcome = Outcome()
    if not request.dry_run:
        record_gone(work)
        outcome = apply_plan(
            mirror,
            work.plan.actions,
            run=run,
            seen=work.found.seen,
            agreed=work.agreed,
            progress=progress,
            actor=request.actor,
        )
    seconds = mirror.clock.monotonic() - began
    if request.dry_run:
        done: Sequence[Action] = [
            a for a in work.plan.actions if a.do is not Do.NOTHING
        ]
        return build_report(work, done, [], seconds, guarded=stopped)
    outcome.notices = _hidden(mirror, outcome.notices)
    record_pass(work, outcome)
    report = build_report(work, outcome.done, outcome.notices, seconds)
    if not report.quiet or outcome.done or work.agreed:
        report = joined(request.after, report)
        remember_run(mirror, request, report)
    return report


def _stopped(work: Pass) -> str | None:
    """Why the guard stops a plan; None when it does not."""
    if work.request.kind.startswith(MEANT):
        return None
    return guard(
        [a for a in work.plan.actions if a.fact_id not in work.request.unguarded],
        work.mirror.archive.count_bases(),
        max_delete=work.request.max_delete,
    )


def preview(mirror: Mirror, request: Request) -> tuple[Pass, Report]:
    """What a pass would find and do, with nothing written."""
    run = mirror.clock.new_id()
    check_vault(mirror, dry_run=True)
    work = look(mirror, request, run, store_state(mirror, run, request))
    _plan(work, ByTheTable())
    would = [action for action in work.plan.actions if action.do is not Do.NOTHING]
    return work, build_report(work, would, [], 0.0, guarded=_stopped(work))


def look(
    mirror: Mirror,
    request: Request,
    run: str,
    state: StoreState | None,
    again: Iterable[str] = (),
    *,
    progress: Progress | None = None,
) -> Pass:
    """Everything before the plan; only what a person said of conflicts is written."""
    look_again = set(request.look_again) | set(request.adopt)
    if request.allow_scope_moves:
        look_again |= {
            each.path
            for each in mirror.archive.attention()
            if each.kind == "scope_move"
        }
    again = list(again)
    feed: Sequence[Written] | None = None
    since = seen_up_to(mirror, state, request)
    some = request.folders is not None and since > 0
    if some and state is not None:
        feed = mirror.store.feed(since)
    found = look_into(
        mirror,
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
        ahead = foreseen(mirror, found)
    elif state is not None:
        settled += [settle(mirror, v).fact_id for v in verdicts(mirror, found)]
    who = settle_identities(mirror, found)
    _take_second_look(mirror, who)
    named = dict.fromkeys([*again, *settled, *ahead, *request.named])
    if request.only_named:
        feed = None if state is None else []
        since = -1
    elif found.partial:
        inside = waiting_in(mirror, found.scan.folders.keys())
        named = dict.fromkeys([*inside, *named])
    else:
        if state is not None and feed is None:
            feed = mirror.store.feed(since)
        waiting = (mirror.archive.setting("waiting") or "").split()
        named = dict.fromkeys([*waiting, *named])
    whole = since == 0 and state is not None
    rows, away = {row.fact_id: row for row in feed or ()}, feed is None
    agreed = take_agreed(who, rows, named=named)
    cases = make_cases(
        mirror, found, who, rows, away=away, named=named, whole_feed=whole
    )
    if ahead:
        cases = [c._replace(store=ahead.get(c.fact_id, c.store)) for c in cases]
    cases += newcomers(mirror, who, request.adopt, away=state is None)
    since = max(since, 0)
    return Pass(mirror, request, run, found, who, cases, agreed, feed, state, since)


def _take_second_look(mirror: Mirror, who: Identities) -> None:
    """Notes that were gone before: wait out the grace, then see whether they are back."""
    now = mirror.clock.now().timestamp()
    due = [base for base in who.gone.values() if base.missing_since]
    if not due:
        return
    newest = max(_seconds(base.missing_since or "") for base in due)
    left = newest + mirror.policy.grace_seconds - now
    if left > 0:
        mirror.clock.sleep(min(left, mirror.policy.grace_seconds))
    for base in due:
        if is_back(mirror, base):
            del who.gone[base.fact.id]


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _plan(work: Pass, planner: Planner, progress: Progress | None = None) -> None:
    request, mirror = work.request, work.mirror
    rules = Rules(
        allow_scope_moves=request.allow_scope_moves,
        adopt=request.adopt,
        default_scope=request.adopt_scope or mirror.policy.default_scope,
        created_at=mirror.today(),
        type_name=request.adopt_type or mirror.policy.default_type,
        lens=mirror.lens,
    )
    if work.cases:
        planner.prepare(work)
    for at, case in enumerate(work.cases):
        action = planner.plan(case, rules)
        work.plan.actions.append(_not_blindly(action, work.found))
        if progress is not None and at % SOME == 0:
            progress("plan", at, len(work.cases))
    asked = {a.path for a in work.plan.actions if a.do is Do.ATTEND and a.path}
    work.plan.notices += notices_of_scan(
        mirror, work.found, work.who, request.adopt | asked
    )
    work.plan.notices += notices_of_plan(
        mirror, work.cases, work.plan.actions, request.allow_scope_moves
    )
    if request.dry_run:
        work.plan.notices += refusals(mirror, work.plan.actions)
    if work.state is None:
        work.plan.notices.append(_store_away(mirror))
    work.plan.notices = _hidden(mirror, work.plan.notices)


def _hidden(mirror: Mirror, notices: Sequence[Attention]) -> list[Attention]:
    """Notices repeat what stands in notes; they are kept, and shown to everybody."""
    hide = mirror.lens.text
    return [n._replace(message=hide(n.message), hint=hide(n.hint)) for n in notices]


def _not_blindly(action: Action, found: Snapshot) -> Action:
    """Nothing is written below a folder that cannot be read."""
    goes_to = action.to or (action.path if action.do in CREATES_NOTE else None)
    if goes_to is not None and found.blind(goes_to) and not found.partial:
        reason = "the folder it belongs in cannot be read"
        return action.but(do=Do.WAIT, reason=reason)
    return action


def _store_away(mirror: Mirror) -> Attention:
    hint = "the next pass after it is back brings everything over"
    otherwise = "if it is lost, `vaultsync rebuild --from vault` makes a new one from"
    hints = [hint, f"{otherwise} the notes"]
    try:
        mirror.store.state()
        why = "it came back during this pass"
    except StoreUnavailableError as away:
        why = away.why
        hints = [away.helps, hint] if away.helps else hints
    return Attention(
        "store_away",
        VaultPath(""),
        f"the store does not answer: {why}; what must reach it waits",
        "; ".join(hints),
        seen=mirror.now(),
    )
