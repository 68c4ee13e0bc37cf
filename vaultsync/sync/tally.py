"""The report of a pass: what was done, counted and listed, and what waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Attention
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.fast_path import row_of_agreed
from vaultsync.sync.finish import changed_notices
from vaultsync.sync.pass_types import Pass
from vaultsync.sync.report import COUNTS, ActionTaken, Report
from vaultsync.sync.snapshot import Seen

_CONFIRM = (
    "if it is meant, let a pass be stopped: its error names the run for `vaultsync sync"
    " --confirm RUN`"
)


def build_report(
    work: Pass,
    done: Sequence[Action],
    notices: Sequence[Attention],
    seconds: float,
    *,
    guarded: str | None = None,
) -> Report:
    """The report of a pass that did `done`, or would."""
    counts = dict.fromkeys(COUNTS, 0)
    for action in done:
        for name in _counted(action):
            counts[name] += 1
    worked = {a.fact_id for a in done if a.do not in _NO_CHANGE or a.moved}
    total = work.mirror.archive.count_bases()
    counts["unchanged"] = max(total - len(worked), 0)
    lasting = {
        (n.kind, n.path, n.message): n
        for n in [*_remembered(work), *work.plan.notices, *notices]
    }
    extra = []
    if guarded:
        text = f"the guard would stop a pass: {guarded}"
        extra.append(Attention("guard", VaultPath(""), text, _CONFIRM))
    waiting = (
        []
        if work.request.dry_run
        else [a for a in work.plan.actions if a.do is Do.WAIT]
    )
    return Report(
        work.run,
        work.request.dry_run,
        seconds,
        counts,
        # What agreed comes last: of a long report only the beginning is remembered.
        [
            *(_taken(each) for each in (*done, *waiting) if each.do is not Do.NOTHING),
            *_recorded(work.agreed),
        ],
        [*lasting.values(), *extra],
    )


def joined(first: Report | None, second: Report) -> Report:
    """The report of two passes that were one run."""
    if first is None:
        return second
    counts = {name: first.counts[name] + second.counts[name] for name in COUNTS}
    worked, again = (
        {each.fact_id for each in report.actions if each.action != "wait"}
        for report in (first, second)
    )
    counts["unchanged"] = max(second.counts["unchanged"] - len(worked - again), 0)
    notices = {
        (n.kind, n.path, n.message): n for n in (*first.attention, *second.attention)
    }
    return replace(
        second,
        seconds=first.seconds + second.seconds,
        counts=counts,
        actions=[*first.actions, *second.actions],
        attention=[*notices.values()],
    )


def _remembered(work: Pass) -> list[Attention]:
    """What was waiting for a person before and was not looked at again in this pass."""
    if work.request.dry_run:
        changed = changed_notices(work)
        return [n for n in work.mirror.archive.attention() if n.path not in changed]
    return work.mirror.archive.attention()


_COUNTED: dict[Do, tuple[str, ...]] = {
    Do.UPDATE_STORE: ("updated_in_store",),
    Do.UPDATE_VAULT: ("updated_in_vault",),
    Do.MERGE: ("updated_in_store", "updated_in_vault"),
    Do.CREATE_NOTE: ("created_in_vault",),
    Do.RECREATE_NOTE: ("created_in_vault",),
    Do.CREATE_FACT: ("created_in_store",),
    Do.REVIVE_FACT: ("created_in_store",),
    Do.RESTORE_FACT: ("created_in_store",),
    Do.DELETE_NOTE: ("deleted_in_vault",),
    Do.DELETE_FACT: ("deleted_in_store",),
}


_NO_CHANGE = (Do.RECORD, Do.DROP_BASE)
"""What touches neither side."""


def _counted(action: Action) -> Iterator[str]:
    yield from _COUNTED.get(action.do, ())
    if action.reason in ("changed on both sides", "on both sides, without a base") and (
        action.do is not Do.RECORD
    ):
        yield "merged"
    if action.moved:
        yield "moved"
    if action.conflicts:
        yield "conflicts"


def _recorded(agreed: Sequence[Seen]) -> Iterator[ActionTaken]:
    if agreed:
        row = row_of_agreed()
        do = _SPELLED[row.do]
        for seen in agreed:
            yield ActionTaken(do, seen.id or "", seen.path, (), row.reason)


_SPELLED = {each: each.value.replace(" ", "_") for each in Do}


def _taken(action: Action) -> ActionTaken:
    return ActionTaken(
        _SPELLED[action.do],
        action.fact_id,
        action.to or action.path,
        action.fields,
        action.reason,
    )
