"""What stands around one fact: who links to it, what it names, what it replaced, its use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaultsync.facts import service as fact_work
from vaultsync.facts.backlinks import find_backlinks
from vaultsync.links.ports import LinkIndex
from vaultsync.model.decay import utility
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import can_see
from vaultsync.sync.context import SyncContext

MAX_CHAIN_FACTS = 100
"""So many facts of a chain are followed, each way."""


@dataclass(frozen=True, slots=True)
class Related:
    """What stands around one fact. Facts have the paths of their notes."""

    fact: Fact
    backlinks: tuple[Fact, ...]
    """Whose notes link to it, by path."""
    related: tuple[Fact, ...]
    """Those that it names itself."""
    chain: tuple[Fact, ...]
    """What it replaced and what replaced it, oldest first; it stands among them."""

    def as_json(self) -> dict[str, Value]:
        """All of it as JSON, with the signals that are kept out of the note."""
        fact = self.fact
        return {
            "backlinks": [_named(each) for each in self.backlinks],
            "related": [_named(each) for each in self.related],
            "chain": [{**_named(each), "createdAt": each.created_at} for each in self.chain],
            "signals": {
                "accessCount": fact.access_count,
                "lastAccessedAt": fact.last_accessed_at,
                "decayFactor": fact.decay_factor,
                "importance": fact.importance,
                "utility": utility(fact.importance, fact.access_count),
            },
        }


def _named(fact: Fact) -> dict[str, Value]:
    return {"id": fact.id, "title": fact.title, "path": fact.path}


def find_related(ctx: SyncContext, links: LinkIndex, fact_id: str, *, agent: str | None) -> Related:
    """What stands around a fact, of what the agent sees.

    Raises:
        FactNotFoundError, InvalidIdError.
        StoreUnavailableError, IndexBusyError, OSError: as `backlinks()`.
    """
    fact = ctx.view.redact(fact_work.get(ctx, fact_id, agent=agent))
    linking = find_backlinks(ctx, links, fact.id, agent=agent)
    return Related(
        fact,
        tuple(each.fact for each in linking),
        _found(ctx, fact.related_fact_ids, agent),
        _chain(ctx, fact, agent),
    )


def _found(ctx: SyncContext, fact_ids: Sequence[str], agent: str | None) -> tuple[Fact, ...]:
    """The facts of these ids that are there and visible, in their order."""
    facts = ctx.redacted_store.find_many(fact_ids)
    seen = [facts[key] for key in fact_ids if key in facts and can_see(agent, facts[key].scope)]
    return _with_paths(ctx, seen)


def _with_paths(ctx: SyncContext, facts: Iterable[Fact]) -> tuple[Fact, ...]:
    held = list(facts)
    bases = ctx.archive.find_bases([fact.id for fact in held])
    return tuple(
        fact.evolve(path=bases[fact.id].path if fact.id in bases else None) for fact in held
    )


def _chain(ctx: SyncContext, fact: Fact, agent: str | None) -> tuple[Fact, ...]:
    """The facts that replaced each other, as far as they are there and visible."""
    met = {fact.id}
    before = _followed(ctx, fact, "supersedes_id", met, agent)
    after = _followed(ctx, fact, "superseded_by_id", met, agent)
    return _with_paths(ctx, [*reversed(before), fact, *after])


def _followed(
    ctx: SyncContext, fact: Fact, attr: str, met: set[str], agent: str | None
) -> list[Fact]:
    found: list[Fact] = []
    for _ in range(MAX_CHAIN_FACTS):
        key = getattr(fact, attr)
        if not key or key in met:
            break
        met.add(key)
        there = ctx.redacted_store.find_many([key]).get(key)
        if there is None or not can_see(agent, there.scope):
            break
        found.append(there)
        fact = there
    return found
