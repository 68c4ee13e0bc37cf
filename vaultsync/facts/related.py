"""What stands around one fact: who links to it, what it names, what it replaced, its use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from vaultsync.facts import service as fact_work
from vaultsync.facts.backlinks import find_backlinks
from vaultsync.links.ports import LinkIndex
from vaultsync.model.decay import utility
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.scope import can_see
from vaultsync.sync.context import SyncContext

MAX_CHAIN_FACTS = 100
"""So many facts of a chain are followed, each way."""


class Named(Struct, frozen=True):
    """A fact by its name."""

    id: str
    title: str
    path: VaultPath | None


class Version(Named, frozen=True):
    """A fact of a chain."""

    createdAt: str  # noqa: N815 - as in frontmatter


class UseSignals(Struct, frozen=True, rename="camel"):
    """What is kept out of the note."""

    access_count: int
    last_accessed_at: str | None
    decay_factor: float | None
    """0 to 1."""
    importance: float | None
    """0 to 1."""
    utility: float
    """0 to 1: of importance and access count."""


class Related(Struct, frozen=True):
    """What stands around one fact. Facts have the paths of their notes."""

    backlinks: tuple[Named, ...]
    """Whose notes link to it, by path."""
    related: tuple[Named, ...]
    """Those that it names itself."""
    chain: tuple[Version, ...]
    """What it replaced and what replaced it, oldest first; it stands among them."""
    signals: UseSignals


def _named(facts: Iterable[Fact]) -> tuple[Named, ...]:
    return tuple(Named(each.id, each.title, each.path) for each in facts)


def find_related(ctx: SyncContext, links: LinkIndex, fact_id: str, *, agent: str | None) -> Related:
    """What stands around a fact, of what the agent sees.

    Raises:
        FactNotFoundError, InvalidIdError.
        StoreUnavailableError, IndexBusyError, OSError: as `backlinks()`.
    """
    fact = ctx.view.redact(fact_work.get(ctx, fact_id, agent=agent))
    linking = find_backlinks(ctx, links, fact.id, agent=agent)
    chain = _chain(ctx, fact, agent)
    return Related(
        _named(each.fact for each in linking),
        _named(_found(ctx, fact.related_fact_ids, agent)),
        tuple(Version(n.id, n.title, n.path, n.created_at) for n in chain),
        UseSignals(
            fact.access_count,
            fact.last_accessed_at,
            fact.decay_factor,
            fact.importance,
            utility(fact.importance, fact.access_count),
        ),
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
