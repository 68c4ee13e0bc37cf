"""What agents do while the store is away: deltas for the outbox, and what they come to.

`outbox.py` brings them over when it is back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vaultsync.errors import StoreUnavailableError
from vaultsync.facts.placeholders import apply_restored_changes
from vaultsync.model.compare import plain_value
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_from_values, fact_to_values
from vaultsync.storage.archive import OutboxEntry
from vaultsync.sync.context import SyncContext


def queue_changes(ctx: SyncContext, *rows: OutboxEntry) -> None:
    """Keep changes for the store until it is back."""
    with ctx.archive.transaction():
        ctx.archive.put_outbox(rows)


def queued_create(ctx: SyncContext, fact: Fact, *, agent: str | None) -> OutboxEntry:
    """A new fact."""
    return _row(ctx, fact.id, "create", after=fact_to_values(fact), agent=agent)


def queued_update(
    ctx: SyncContext, old: Fact, new: Fact, keys: Iterable[str], *, agent: str | None
) -> OutboxEntry:
    """Some fields of a fact."""
    before, after = ({key: plain_value(fact.value(key)) for key in keys} for fact in (old, new))
    return _row(ctx, old.id, "update", before=before, after=after, agent=agent)


def queued_delete(ctx: SyncContext, fact: Fact, *, agent: str | None) -> OutboxEntry:
    """A fact that goes."""
    return _row(ctx, fact.id, "delete", before=fact_to_values(fact), agent=agent)


def _row(
    ctx: SyncContext,
    fact_id: str,
    kind: str,
    *,
    before: Mapping[str, Value] | None = None,
    after: Mapping[str, Value] | None = None,
    agent: str | None,
) -> OutboxEntry:
    op, at, who = ctx.clock.new_id(), ctx.now(), agent or "person"
    return OutboxEntry(op, fact_id, kind, before or {}, after or {}, who, at)


def queued_changes(ctx: SyncContext, fact_id: str) -> list[OutboxEntry]:
    """What of a fact waits for the store, oldest first."""
    return [each for each in ctx.archive.outbox() if each.fact_id == fact_id]


def offline_fact(
    ctx: SyncContext, fact_id: str, waits: Sequence[OutboxEntry] | None = None
) -> Fact | None:
    """What can be known of a fact while the store is away: the base, and what waits."""
    base = ctx.archive.find_base(fact_id)
    fact = base.fact if base else None
    for row in queued_changes(ctx, fact_id) if waits is None else waits:
        if row.kind == "delete":
            fact = None
        elif row.kind == "create":
            fact = fact_from_values(row.after)
        elif row.kind == "update" and fact is not None:
            fact = fact.replace(row.after)
    return fact


def update_later(
    ctx: SyncContext,
    known: Fact | None,
    values: Mapping[str, Value],
    tags: tuple[Sequence[str], Sequence[str]],
    *,
    agent: str | None,
) -> Fact:
    """Queue an update against the last that is known of the fact."""
    if known is None:
        why = "what it says of this fact is not known here"
        raise StoreUnavailableError(why)
    fact = apply_restored_changes(ctx, known, values, *tags)
    keys = [*values, *(["tags"] if any(tags) else [])]
    queue_changes(ctx, queued_update(ctx, known, fact, keys, agent=agent))
    return fact
