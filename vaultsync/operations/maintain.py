"""Maintenance: delete expired and faded facts and collapse long chains, as a run to be undone.

It also compares the revisions of all facts. The feed names only writes; what a store has lost, such
as a replica restored from an old backup, is found only by a full comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from vaultsync.errors import GuardError
from vaultsync.model.decay import FADED_DECAY, decay_factor, is_expired, last_used
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import OBSERVATION, is_pending_observation
from vaultsync.model.schema import TYPES
from vaultsync.model.steps import Steps
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.fact_changes import FactChange, report_changes, write_changes
from vaultsync.sync.finish import join_reports
from vaultsync.sync.history import is_by_person
from vaultsync.sync.plausibility import guard
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import sync_once, sync_written
from vaultsync.sync.sync_request import SyncRequest

MAX_CHAIN_LENGTH = 5
"""Maximum number of versions of a fact; of a longer chain only the first and the newest
are kept."""
FACTS_PER_BATCH = 100
"""Facts per step, after which edits are synced: with 20,000 notes, a step and the indexes that
follow it take half a second of CPU time, and with 500 facts two seconds."""
STOPPED_SETTING = "stopped_upkeep"
"""The setting with the id of the maintenance run that the guard stopped last. Other runs
follow before the user confirms it, so the last run is not enough."""


def plan_retention(
    facts: Iterable[Fact], now: datetime, *, floor: float, longest: int
) -> list[FactChange]:
    """The changes to all facts of a memory, in their order; those of chains come last.

    A fact has faded when its recency, from 0 to 1, is below `floor`; facts that the user wrote,
    critical facts, facts in use and observations that are not classified yet never fade. A chain
    has at most `longest` versions.
    """
    actions: list[FactChange] = []
    linked: dict[str, Fact] = {}
    for fact in facts:
        if is_expired(fact, now):
            reason = f"it expired at {fact.expires_at}"
        else:
            reason = _faded(fact, now, floor)
        if reason:
            actions.append(FactChange(fact, None, reason))
        elif fact.supersedes_id or fact.superseded_by_id:
            linked[fact.id] = fact
    for chain in _chains(linked):
        if len(chain) > longest:
            actions += _collapse(chain)
    return actions


def _faded(fact: Fact, now: datetime, floor: float) -> str:
    if not fact.agent_id or not fact.priority or not fact.created_at:
        return ""
    if is_pending_observation(fact):  # it may be critical
        return ""
    current = decay_factor(fact, now)
    if current >= floor:
        return ""
    since = last_used(fact)[:10]
    days = TYPES[fact.type].half_life * (1 + (fact.emotional_weight or 0.0))
    return f"it faded to {current:.3f}: not used since {since} (half-life {days:g} days)"


def _chains(linked: Mapping[str, Fact]) -> list[list[Fact]]:
    """The versions of each fact, the newest first, as far as neighbours name each other."""
    chains = []
    for head in linked.values():
        if head.superseded_by_id in linked:
            continue
        chain = [head]
        older = linked.get(head.supersedes_id or "")
        while older is not None and older.superseded_by_id == chain[-1].id:
            chain.append(older)
            older = linked.get(older.supersedes_id or "")
        chains.append(chain)
    return chains


def _collapse(chain: list[Fact]) -> list[FactChange]:
    newest, *middle, oldest = chain
    why = f"it is one of {len(middle)} versions between the first and the newest"
    removed = f"{len(middle)} versions between it and the "
    first = newest.evolve(supersedes_id=oldest.id)
    last = oldest.evolve(superseded_by_id=newest.id)
    return [
        *(FactChange(fact, None, why) for fact in middle),
        FactChange(newest, first, f"{removed}first were deleted"),
        FactChange(oldest, last, f"{removed}newest were deleted"),
    ]


def full_compare(ctx: SyncContext) -> list[str]:
    """Queue the facts whose revisions differ between base and store for the next run.

    Returns: their ids.

    Raises:
        StoreUnavailableError.
    """
    stored = {row.fact_id: row.revision for row in ctx.store.feed() if not row.deleted}
    based = ctx.archive.revisions()
    differing = [each for each in {**based, **stored} if based.get(each) != stored.get(each)]
    if differing:
        waiting = (ctx.archive.setting("waiting") or "").split()
        ctx.set_setting("waiting", " ".join(dict.fromkeys([*waiting, *differing])))
    return differing


def maintain_facts_in_steps(
    ctx: SyncContext,
    *,
    dry_run: bool = False,
    floor: float = FADED_DECAY,
    longest: int = MAX_CHAIN_LENGTH,
    max_delete: int | None = None,
    confirm: str | None = None,
    actor: str = "person",
    progress: Progress | None = None,
) -> Steps[Report]:
    """Delete expired and faded facts and collapse long chains, in the store and the notes.

    A sync run comes first, so that recent edits are known and facts that the store lost are
    restored. Others may sync between two steps; what they change stays. `floor` and `longest` are
    those of `plan_retention()`; `confirm` is the id of a maintenance run that the guard stopped,
    to carry it out.

    Raises:
        StoreUnavailableError: nothing was done.
        GuardError: too many facts would be deleted; nothing was done.
    """
    began = ctx.clock.monotonic()
    run = ctx.clock.new_id()
    request = SyncRequest(
        kind="maintain", actor=actor, confirm=confirm, max_delete=max_delete, run=run
    )
    confirmed = confirm is not None and confirm == ctx.archive.setting(STOPPED_SETTING)
    if not dry_run:
        full_compare(ctx)
        sync_once(ctx, SyncRequest(actor=actor, max_delete=max_delete))
        yield
    facts = ctx.store.iter_facts()
    planned = [
        action
        for action in plan_retention(facts, ctx.clock.now(), floor=floor, longest=longest)
        if not _is_kept(ctx, action)
    ]
    report = report_changes(ctx, run, planned if dry_run else (), began, dry_run=dry_run)
    if dry_run:
        return report
    if not confirmed:
        _guard(ctx, request, planned)
    for start in range(0, len(planned), FACTS_PER_BATCH):
        yield
        batch, named = write_changes(ctx, planned[start : start + FACTS_PER_BATCH], actor)
        if progress is not None:
            progress("maintain", min(start + FACTS_PER_BATCH, len(planned)), len(planned))
        if batch:
            report = join_reports(report, report_changes(ctx, run, batch, began, dry_run=False))
            notes = SyncRequest.for_facts(named, request.kind, actor=actor, run=run, guarded=False)
            report = sync_written(ctx, notes, report, began, progress=progress)
    _record_stopped(ctx, None)
    yield
    return report


def _is_kept(ctx: SyncContext, action: FactChange) -> bool:
    """Whether it would delete an observation that a person edited or moved."""
    if action.after is not None or action.before.type != OBSERVATION:
        return False
    return any(map(is_by_person, ctx.archive.history(fact_id=action.before.id)))


def _guard(ctx: SyncContext, request: SyncRequest, planned: Sequence[FactChange]) -> None:
    """Raise a GuardError, which names the run to confirm, when too many facts would be deleted."""
    deletions = [
        PlannedAction(ActionKind.DELETE_FACT, action.before.id, action.reason)
        for action in planned
        if action.after is None
    ]
    why = guard(deletions, ctx.store.state().facts, max_delete=request.max_delete)
    if why is None:
        return
    run = request.run or ""
    _record_stopped(ctx, run)
    confirm = f"`vaultsync maintain --confirm {run}`"
    hint = f"review it with `vaultsync maintain --dry-run`; to carry it out, run {confirm}"
    raise GuardError(why, run, hint=hint, confirmed=request.confirm)


def _record_stopped(ctx: SyncContext, run: str | None) -> None:
    if ctx.archive.setting(STOPPED_SETTING) != run:
        ctx.set_setting(STOPPED_SETTING, run)
