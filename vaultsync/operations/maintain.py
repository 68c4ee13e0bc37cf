"""Upkeep: what a memory can do without goes, as a pass that can be undone.

What the feed did not tell: facts of which base and store disagree, found by comparing all.

A feed names what was written. What a store lost by itself, a replica that came back from a
backup with some of its points, nobody wrote; a comparison of all revisions finds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from vaultsync.errors import GuardError
from vaultsync.model.decay import FADED_DECAY
from vaultsync.operations.retention import (
    MAX_CHAIN_LENGTH,
    RetentionAction,
    plan_retention,
)
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction, guard
from vaultsync.sync.report import ActionTaken, Progress, Report
from vaultsync.sync.request import SyncRequest
from vaultsync.sync.run import record_run, sync_once


def full_compare(ctx: SyncContext) -> list[str]:
    """Have the next pass look at what was overlooked; returns which facts that are.

    Raises:
        StoreUnavailableError.
    """
    rows = ctx.store.feed()
    there = {row.fact_id: row.revision for row in rows if not row.deleted}
    held = {base.fact.id: base.fact.revision for base in ctx.archive.iter_bases()}
    found = [each for each in {**held, **there} if held.get(each) != there.get(each)]
    if found:
        waiting = (ctx.archive.setting("waiting") or "").split()
        with ctx.archive.transaction():
            every = " ".join(dict.fromkeys([*waiting, *found]))
            ctx.archive.set_setting("waiting", every)
    return found


FACTS_PER_BATCH = 500
STOPPED_SETTING = "stopped_upkeep"
"""The setting that names the upkeep that the guard stopped last: passes come between it
and the word of a person, and none of them is that run."""
_WORDS = {
    True: ("delete_fact", "deleted_in_store"),
    False: ("update_store", "updated_in_store"),
}


def run_maintenance(
    ctx: SyncContext,
    *,
    dry_run: bool = False,
    floor: float = FADED_DECAY,
    longest: int = MAX_CHAIN_LENGTH,
    max_delete: int | None = None,
    confirm: str | None = None,
    actor: str = "person",
    progress: Progress | None = None,
) -> Report:
    """Delete what expired or faded, and collapse long chains; notes follow.

    A pass comes first, so that what a person just wrote is known, and what the store lost
    by itself, which all revisions are compared for, is given back; another one brings
    what is done to the notes: it has a run, a history, and can be undone. What somebody
    writes meanwhile stays.

    Raises:
        StoreUnavailableError: nothing was done.
        GuardError: it would delete too much to be plausible; nothing was done.
    """
    began = ctx.clock.monotonic()
    request = SyncRequest(
        kind="maintain",
        actor=actor,
        confirm=confirm,
        max_delete=max_delete,
        run=ctx.clock.new_id(),
    )
    meant = confirm is not None and confirm == ctx.archive.setting(STOPPED_SETTING)
    if not dry_run:
        full_compare(ctx)
        sync_once(ctx, SyncRequest(actor=actor))
    facts = ctx.store.iter_facts()
    duties = plan_retention(facts, ctx.clock.now(), floor=floor, longest=longest)
    if not dry_run:
        if not meant:
            _check(ctx, request, duties)
        duties = _carry_out(ctx, duties, actor, progress)
        _record_stopped(ctx, None)
    told = _report(ctx, request, duties, began, dry_run=dry_run)
    if dry_run or not duties:
        return told
    named = tuple(duty.fact.id for duty in duties)
    after = replace(request, fact_ids=named, exempt_from_guard=frozenset(named), confirm=None)
    followed = sync_once(ctx, after, progress=progress)
    whole = replace(
        followed,
        seconds=ctx.clock.monotonic() - began,
        counts=dict(Counter(told.counts) + Counter(followed.counts)),
        actions=[*told.actions, *followed.actions],
    )
    record_run(ctx, request, whole)
    return whole


def _check(ctx: SyncContext, request: SyncRequest, duties: Sequence[RetentionAction]) -> None:
    """See that no more goes than is plausible.

    Raises:
        GuardError: it would.
    """
    gone = [
        PlannedAction(ActionKind.DELETE_FACT, duty.fact.id, duty.reason)
        for duty in duties
        if duty.becomes is None
    ]
    facts = ctx.store.state().facts
    why = guard(gone, facts, max_delete=request.max_delete)
    if why is None:
        return
    run = request.run or ""
    _record_stopped(ctx, run)
    stopped = GuardError(why, run)
    stopped.hint = (
        "look at it with `vaultsync maintain --dry-run`; if it is meant, say"
        f" `vaultsync maintain --confirm {run}`"
    )
    raise stopped


def _record_stopped(ctx: SyncContext, run: str | None) -> None:
    if ctx.archive.setting(STOPPED_SETTING) != run:
        with ctx.archive.transaction():
            ctx.archive.set_setting(STOPPED_SETTING, run)


def _carry_out(
    ctx: SyncContext,
    duties: Sequence[RetentionAction],
    actor: str,
    progress: Progress | None,
) -> list[RetentionAction]:
    """Write to the store; returns what was done. Who was faster than this stays."""
    done: list[RetentionAction] = []
    at = ctx.today()
    for start in range(0, len(duties), FACTS_PER_BATCH):
        some = duties[start : start + FACTS_PER_BATCH]
        answers = ctx.store.write(
            [
                StoreWrite(
                    duty.fact.id,
                    duty.becomes and duty.becomes.evolve(updated_at=at),
                    duty.fact.revision,
                    actor,
                )
                for duty in some
            ]
        )
        done += [
            duty
            for duty, answer in zip(some, answers, strict=True)
            if not isinstance(answer, RevisionMismatch)
        ]
        if progress is not None:
            progress("maintain", start + len(some), len(duties))
    return done


def _report(
    ctx: SyncContext,
    request: SyncRequest,
    duties: Sequence[RetentionAction],
    began: float,
    *,
    dry_run: bool,
) -> Report:
    bases = ctx.archive.find_bases(duty.fact.id for duty in duties)
    counts: Counter[str] = Counter()
    actions = []
    for duty in duties:
        word, counted = _WORDS[duty.becomes is None]
        counts[counted] += 1
        base = bases.get(duty.fact.id)
        fields = () if duty.becomes is None else ("supersedesId", "supersededById")
        path = base.path if base else None
        actions.append(ActionTaken(word, duty.fact.id, path, fields, duty.reason))
    counts["unchanged"] = 0 if not dry_run and duties else ctx.store.state().facts - len(duties)
    return Report(
        run=request.run or "",
        dry_run=dry_run,
        seconds=ctx.clock.monotonic() - began,
        counts=counts,
        actions=actions,
    )
