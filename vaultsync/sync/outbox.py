"""What agents wrote while the store was unavailable: queued changes, merged when it is back."""

from __future__ import annotations

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.serialization import fact_from_values
from vaultsync.notes.conflict_note import Conflict, FieldConflict, conflict_id
from vaultsync.storage.archive import HistoryEntry, OutboxEntry
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.conflicts import write_conflict_note
from vaultsync.sync.context import SyncContext
from vaultsync.sync.merge import merge
from vaultsync.sync.planning import ReservedPaths, path_for_new_note


def drain_outbox(ctx: SyncContext) -> list[str]:
    """Write the queued changes to the store, oldest first; each one is kept in the history.

    Returns:
        The facts that were written.
    """
    touched = []
    for row in ctx.archive.outbox():
        try:
            if not _deliver(ctx, row):
                break  # other writers are faster now; the order of the queue stays
        except StoreUnavailableError:
            break
        touched.append(row.fact_id)
        entry = HistoryEntry(
            row.op, row.at, row.fact_id, "store", row.actor, "outbox", row.kind, dict(row.after)
        )
        with ctx.archive.transaction():
            ctx.archive.add_history([entry])
            ctx.archive.drop_outbox([row.op])
    return touched


def _deliver(ctx: SyncContext, row: OutboxEntry) -> bool:
    """Write one change; harmless when it was written already and the answer was lost.

    Returns:
        False when another writer changed the fact before each of the attempts.
    """
    for _ in range(5):
        current = ctx.store.find_many([row.fact_id]).get(row.fact_id)
        write = _write(ctx, row, current)
        if write is None:
            return True
        if not isinstance(ctx.store.write([write])[0], RevisionMismatch):
            return True
    return False


def _write(ctx: SyncContext, row: OutboxEntry, current: Fact | None) -> StoreWrite | None:
    if row.kind == "delete":
        if current is None or differing_keys(fact_from_values(row.before), current):
            return None  # an edit that the deleting agent could not see beats the deletion
        return StoreWrite(row.fact_id, None, current.revision, row.actor)
    if row.kind == "create":
        if current is not None:
            return None
        fact = fact_from_values(row.after)
        deleted = ctx.store.tombstone(row.fact_id)
        return StoreWrite(row.fact_id, fact, deleted.revision if deleted else None, row.actor)
    current = current or ctx.store.tombstone(row.fact_id)
    expect = current.revision if current else None
    if current is None:
        base = ctx.archive.find_base(row.fact_id)
        if base is None:
            return None
        current = base.fact  # the store lost it; that is no deletion
    before = current.replace(row.before)
    wanted = before.replace(row.after)
    # The agent of this row saw `before`. What others wrote since is merged; where that is
    # impossible it stands, since it was acknowledged first.
    merged = merge(before, current, wanted, peers=True)
    if merged.conflicts:
        _keep_both(ctx, row, current, merged.conflicts)
    fact = merged.fact.evolve(updated_at=ctx.today())
    return StoreWrite(row.fact_id, fact, expect, row.actor)


def _keep_both(
    ctx: SyncContext, row: OutboxEntry, current: Fact, fields: tuple[FieldConflict, ...]
) -> None:
    """Put a queued change that cannot be merged into a conflict note."""
    base = ctx.archive.find_base(row.fact_id)
    conflict = Conflict(
        id=conflict_id(row.fact_id, fields),
        fact_id=row.fact_id,
        path=base.path if base else path_for_new_note(current, ReservedPaths(set)),
        conflict_path=None,
        fields=fields,
        actor=row.actor,
        at=ctx.now(),
        run=row.op,
        title=current.title,
    )
    write_conflict_note(ctx, conflict)
    ctx.vault.sync()
