"""The report of a pass: what was done, counted and listed, and what waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Notice
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.fast_path import unchanged_decision
from vaultsync.sync.finish import changed_notices
from vaultsync.sync.pass_types import SyncRun
from vaultsync.sync.report import REPORT_COUNTS, ActionTaken, Report, notices_of
from vaultsync.sync.snapshot import ScannedFile

_CONFIRM = (
    "if it is meant, let a pass be stopped: its error names the run for `vaultsync sync"
    " --confirm RUN`"
)


def make_report(
    work: SyncRun,
    done: Sequence[PlannedAction],
    notices: Sequence[Notice],
    seconds: float,
    *,
    guarded: str | None = None,
) -> Report:
    """The report of a pass that did `done`, or would."""
    counts = dict.fromkeys(REPORT_COUNTS, 0)
    for action in done:
        for name in _counted(action):
            counts[name] += 1
    worked = {a.fact_id for a in done if a.do not in _NO_CHANGE or a.moved}
    total = work.ctx.archive.count_bases()
    counts["unchanged"] = max(total - len(worked), 0)
    lasting = {
        (n.kind, n.path, n.message): n
        for n in [*_earlier_notices(work), *work.plan.notices, *notices]
    }
    extra = []
    if guarded:
        text = f"the guard would stop a pass: {guarded}"
        extra.append(Notice("guard", VaultPath(""), text, _CONFIRM))
    waiting = (
        [] if work.request.dry_run else [a for a in work.plan.actions if a.do is ActionKind.WAIT]
    )
    return Report(
        work.run,
        work.request.dry_run,
        round(seconds, 3),
        counts,
        # What agreed comes last: of a long report only the beginning is remembered.
        [
            *(_taken(each) for each in (*done, *waiting) if each.do is not ActionKind.NOTHING),
            *_recorded(work.unchanged),
        ],
        notices_of([*lasting.values(), *extra]),
    )


def join_reports(first: Report | None, second: Report) -> Report:
    """The report of two passes that were one run."""
    if first is None:
        return second
    counts = {name: first.counts[name] + second.counts[name] for name in REPORT_COUNTS}
    worked, again = (
        {each.fact_id for each in report.actions if each.action != "wait"}
        for report in (first, second)
    )
    counts["unchanged"] = max(second.counts["unchanged"] - len(worked - again), 0)
    notices = {(n.kind, n.path, n.message): n for n in (*first.attention, *second.attention)}
    return replace(
        second,
        seconds=round(first.seconds + second.seconds, 3),
        counts=counts,
        actions=[*first.actions, *second.actions],
        attention=[*notices.values()],
    )


def _earlier_notices(work: SyncRun) -> list[Notice]:
    """What was waiting for a person before and was not looked at again in this pass."""
    if work.request.dry_run:
        changed = changed_notices(work)
        return [n for n in work.ctx.archive.notices() if n.path not in changed]
    return work.ctx.archive.notices()


_COUNTED: dict[ActionKind, tuple[str, ...]] = {
    ActionKind.UPDATE_STORE: ("updated_in_store",),
    ActionKind.UPDATE_VAULT: ("updated_in_vault",),
    ActionKind.MERGE: ("updated_in_store", "updated_in_vault"),
    ActionKind.CREATE_NOTE: ("created_in_vault",),
    ActionKind.RECREATE_NOTE: ("created_in_vault",),
    ActionKind.CREATE_FACT: ("created_in_store",),
    ActionKind.REVIVE_FACT: ("created_in_store",),
    ActionKind.RESTORE_FACT: ("created_in_store",),
    ActionKind.DELETE_NOTE: ("deleted_in_vault",),
    ActionKind.DELETE_FACT: ("deleted_in_store",),
}


_NO_CHANGE = (ActionKind.RECORD, ActionKind.DROP_BASE)
"""What touches neither side."""


def _counted(action: PlannedAction) -> Iterator[str]:
    yield from _COUNTED.get(action.do, ())
    if action.reason in ("changed on both sides", "on both sides, without a base") and (
        action.do is not ActionKind.RECORD
    ):
        yield "merged"
    if action.moved:
        yield "moved"
    if action.conflicts:
        yield "conflicts"


def _recorded(agreed: Sequence[ScannedFile]) -> Iterator[ActionTaken]:
    if agreed:
        row = unchanged_decision()
        do = _UNCHANGED_ACTION[row.do]
        for seen in agreed:
            yield ActionTaken(do, seen.id or "", seen.path, (), row.reason)


_UNCHANGED_ACTION = {each: each.value.replace(" ", "_") for each in ActionKind}


def _taken(action: PlannedAction) -> ActionTaken:
    return ActionTaken(
        _UNCHANGED_ACTION[action.do],
        action.fact_id,
        action.to or action.path,
        action.fields,
        action.reason,
    )
