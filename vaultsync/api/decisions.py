"""The user's decisions on conflicts and proposals, settled here or by the daemon of the vault."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import quote

from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.errors import EngineBusyError, InvalidFieldError, ProposalNotFoundError
from vaultsync.facts.service import check_writable, find_conflict
from vaultsync.notes.conflict_note import ConflictRecord, is_deletion
from vaultsync.notes.proposal_note import ProposalRecord
from vaultsync.proposals.service import (
    SettledProposals,
    accept_proposals,
    check_answer,
    find_proposal,
    reject_proposals,
)
from vaultsync.proposals.service import settle_proposals as settle_answers_in_notes
from vaultsync.sync.conflicts import ConflictResolution, redact_conflict, resolve_conflict
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import ResolveResult
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest


def settle_conflict(
    engine: Engine,
    conflict_id: str,
    *,
    take: str,
    field: str | None,
    agent: str | None,
    text: str | None = None,
) -> ConflictRecord:
    """As `Memory.resolve()`, or with a text as `resolve_by_hand()`; may raise ScopeDeniedError."""
    try:
        with engine.exclusive() as ctx:
            conflict = find_conflict(ctx, conflict_id, agent=agent)
            check_writable(ctx, [conflict.fact_id], agent=agent)
            if agent is not None:  # the user's answer in the conflict note precedes
                sync_once(ctx, SyncRequest.for_facts([conflict.fact_id], "resolve"))
                conflict = find_conflict(ctx, conflict.id, agent=agent)
            settable = [x for x in conflict.fields if text is None or not is_deletion(x)]
            fields = tuple(each.field for each in settable)
            if field is not None and field not in fields:
                raise InvalidFieldError("field", field, "one of " + ", ".join(fields))
            chosen = (field,) if field else fields
            resolution = ConflictResolution(conflict, take, chosen, text)
            resolved = resolve_conflict(ctx, resolution, actor=agent or "person")
            sync_once(ctx, SyncRequest.for_facts([conflict.fact_id], "resolve"))
            return redact_conflict(ctx, resolved)
    except EngineBusyError as busy:
        path = f"/v1/conflicts/{quote(conflict_id, safe='')}/resolve"
        value = {"take": take} if text is None else {"text": text}
        body = {"field": field, "agent": agent, **value}
        result = engine.ask_daemon(path, body, busy, ResolveResult, agent)
        return ConflictRecord(**structs.asdict(result.resolved), actor="", at="", run="")


def settle_proposals(
    engine: Engine, ids: Sequence[str], *, agent: str | None, accepts: bool
) -> SettledProposals:
    """As `Memory.accept_proposals()` and `Memory.reject_proposals()`."""
    chosen = dict.fromkeys(ids)
    if not chosen:
        return SettledProposals(())
    try:
        with engine.exclusive() as ctx:
            if agent is not None:
                settle_answers_in_notes(ctx)  # what the user ticked precedes what an agent says
            proposals = _find_proposals(ctx, chosen, agent=agent)
            check_answer(ctx, proposals, agent=agent, accepts=accepts)
            if not accepts:
                return reject_proposals(ctx, proposals)
            return accept_proposals(ctx, proposals, by_user=agent is None)
    except EngineBusyError as busy:
        first, *more = chosen
        path = f"/v1/proposals/{quote(first, safe='')}/{'accept' if accepts else 'reject'}"
        body = {"also": more, "agent": agent}
        return engine.ask_daemon(path, body, busy, SettledProposals, agent)


def _find_proposals(
    ctx: SyncContext, names: Collection[str], *, agent: str | None
) -> list[ProposalRecord]:
    """The proposals of these names, each once; raises as `find_proposal()`, for all of them."""
    found: dict[str, ProposalRecord] = {}
    missing: list[str] = []
    for name in names:
        try:
            proposal = find_proposal(ctx, name, agent=agent)
        except ProposalNotFoundError:
            missing.append(name)
        else:
            found[proposal.id] = proposal
    if missing:
        raise ProposalNotFoundError(*missing, of=len(names))
    return [*found.values()]
