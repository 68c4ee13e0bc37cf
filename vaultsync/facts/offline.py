"""What agents write while the store is unavailable: changes queued in the outbox.

`sync/outbox.py` delivers them when the store is back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_from_values, fact_to_values
from vaultsync.storage.archive import OutboxEntry
from vaultsync.sync.context import SyncContext


def queue_changes(ctx: SyncContext, *rows: OutboxEntry) -> None:
    """Keep changes in the outbox until the store is back."""
    with ctx.archive.transaction():
        ctx.archive.put_outbox(rows)


def queued_create(ctx: SyncContext, fact: Fact, *, agent: str | None) -> OutboxEntry:
    """The outbox row of a new fact."""
    return _row(ctx, fact.id, "create", after=fact_to_values(fact), agent=agent)


def queued_update(
    ctx: SyncContext, old: Fact, new: Fact, keys: Iterable[str], *, agent: str | None
) -> OutboxEntry:
    """The outbox row of a change to some fields."""
    before, after = ({key: fact.plain(key) for key in keys} for fact in (old, new))
    return _row(ctx, old.id, "update", before=before, after=after, agent=agent)


def queued_delete(ctx: SyncContext, fact: Fact, *, agent: str | None) -> OutboxEntry:
    """The outbox row of a deletion."""
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
    op, actor = ctx.clock.new_id(), agent or "person"
    return OutboxEntry(op, fact_id, kind, before or {}, after or {}, actor, ctx.now())


def queued_changes(ctx: SyncContext, fact_id: str) -> list[OutboxEntry]:
    """The changes of one fact that wait in the outbox, oldest first."""
    return [each for each in ctx.archive.outbox() if each.fact_id == fact_id]


def offline_fact(
    ctx: SyncContext, fact_id: str, queued: Sequence[OutboxEntry] | None = None
) -> Fact | None:
    """The fact as known without the store: its base, with the queued changes applied."""
    base = ctx.archive.find_base(fact_id)
    fact = base.fact if base else None
    for row in queued_changes(ctx, fact_id) if queued is None else queued:
        if row.kind == "delete":
            fact = None
        elif row.kind == "create":
            fact = fact_from_values(row.after)
        elif row.kind == "update" and fact is not None:
            fact = fact.replace(row.after)
    return fact
