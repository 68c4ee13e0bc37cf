"""Make the proposals of rules, as the settings and the user's earlier answers allow.

Maintenance does this, never a sync: a proposal is never urgent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from vaultsync.model.decay import last_used
from vaultsync.model.fact import Fact
from vaultsync.model.steps import Steps
from vaultsync.notes.proposal_note import ProposalRecord, evidence_of, proposal_id
from vaultsync.proposals.answer_counts import answer_counts, forget_answers, silent_kinds
from vaultsync.proposals.producers import (
    PRODUCERS,
    RULES,
    Candidate,
    Producer,
    is_archived_observation,
    is_live,
)
from vaultsync.proposals.service import ProposalDraft, accept_proposals, propose, settle_proposals
from vaultsync.sync.context import SyncContext

MAX_EXAMINED = 5_000
"""Maximum number of facts per maintenance run: those written or used last."""
OFF, PROPOSE, AUTO = "off", "propose", "auto"
"""The values of the setting for a kind."""


class MadeProposals(NamedTuple):
    """The proposals of one run of maintenance."""

    proposed: Mapping[str, int]
    """Kind -> number of new proposals."""
    accepted: Mapping[str, int]
    """Kind -> how many of these were accepted automatically, as the settings say."""
    silent: Sequence[str]
    """A sentence per kind that is disabled because the user rejected most of its proposals."""


def make_proposals_in_steps(
    ctx: SyncContext, modes: Mapping[str, str], *, dry_run: bool = False
) -> Steps[MadeProposals]:
    """Run each rule over the facts, in steps; requires the engine's lock.

    `modes` are kind -> `off`, `propose` or `auto`. A dry run records nothing.

    Raises:
        StoreUnavailableError, VaultError.
    """
    if not dry_run:
        forget_answers(ctx, [kind for kind, mode in modes.items() if mode == OFF])
    silent = silent_kinds(answer_counts(ctx.archive))
    facts = _freshest(ctx, is_live)
    proposals = {each.id: each for each in ctx.archive.proposals(settled=True)}
    busy = {x.fact_id for each in proposals.values() if not each.outcome for x in each.changes}
    proposed: dict[str, int] = {}
    accepted: dict[str, int] = {}
    for kind, producer in PRODUCERS.items():
        if modes[kind] == OFF or kind in silent:
            continue
        yield
        archived = _freshest(ctx, is_archived_observation) if producer.reads_archived else []
        for part in _parts([*facts, *archived], producer):
            yield
            found = producer.find(part, ctx.clock.now())
            candidates = _without_evidence(found, kind, proposals.values())
            drafts = _new(ctx, kind, candidates, proposals.keys(), busy)
            automatic: list[ProposalRecord] = []
            for draft in islice(drafts, producer.most - proposed.get(kind, 0)):
                proposed[kind] = proposed.get(kind, 0) + 1
                recorded = None if dry_run else propose(ctx, draft)
                if recorded is not None and modes[kind] == AUTO:
                    automatic.append(recorded)
            if automatic:
                answers = accept_proposals(ctx, automatic, by_user=False).proposals
                accepted[kind] = accepted.get(kind, 0) + sum(bool(x.outcome) for x in answers)
    if not dry_run:
        settle_proposals(ctx)  # update the notes of open proposals
    return MadeProposals(proposed, accepted, [*silent.values()])


def _parts(facts: Sequence[Fact], producer: Producer) -> Iterable[Sequence[Fact]]:
    """The facts for each step of a rule."""
    parts = defaultdict[str, list[Fact]](list)
    for fact in facts:
        parts[fact.scope if producer.by_scope else ""].append(fact)
    return parts.values()


def _freshest(ctx: SyncContext, wanted: Callable[[Fact], bool]) -> list[Fact]:
    found = nlargest(
        MAX_EXAMINED, filter(wanted, ctx.store.iter_facts()), key=lambda x: (last_used(x), x.id)
    )
    return sorted(found, key=lambda each: each.id)


def _without_evidence(
    candidates: Iterator[Candidate], kind: str, known: Iterable[ProposalRecord]
) -> Iterator[Candidate]:
    """The candidates whose evidence led to no earlier proposal, whatever its answer."""
    led = {x for each in known if each.kind == kind for x in evidence_of(each)}
    return (each for each in candidates if led.isdisjoint(each.evidence))


def _new(
    ctx: SyncContext,
    kind: str,
    candidates: Iterator[Candidate],
    known: Collection[str],
    busy: set[str],
) -> Iterator[ProposalDraft]:
    """The candidates that were never proposed, about facts without an open proposal."""
    for each in candidates:
        ids = {x.fact_id for x in each.changes} - {""}
        name = proposal_id(kind, each.changes)
        if busy & ids or name in known:
            continue
        busy |= ids
        paths = ctx.archive.note_paths(ids)
        changes = tuple(
            replace(x, fact_id=x.fact_id or _id_of_new(name, at), path=paths.get(x.fact_id))
            for at, x in enumerate(each.changes)
        )
        yield ProposalDraft(kind, each.title, each.why, RULES, each.scope, changes)


def _id_of_new(proposal: str, at: int) -> str:
    """The id of the fact that a proposal creates; equal on every machine."""
    return str(uuid5(NAMESPACE_OID, f"proposal {proposal} {at}"))
