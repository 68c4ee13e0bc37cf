"""Agents' changes that were queued while the store was unavailable, and their delivery."""

from __future__ import annotations

from typing import NamedTuple

from vaultsync.errors import NoteError, StoreUnavailableError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import equal_as_json
from vaultsync.model.serialization import fact_from_values
from vaultsync.notes.conflict_note import FieldConflict
from vaultsync.storage.archive import HistoryEntry, Notice, OutboxEntry
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.changes import StoreChange, StoreFeed, StoreSide, store_change
from vaultsync.sync.conflicts import conflict_not_written, open_conflict
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import creation_op, deleted_revision, overwrite
from vaultsync.sync.merge import merge
from vaultsync.sync.planning import path_for_new_note


class _Delivered(NamedTuple):
    before: str | None
    """The revision that the change replaced."""
    after: str | None
    """The resulting revision; the same if nothing was written."""
    refused: Notice | None = None


def drain_outbox(ctx: SyncContext) -> tuple[list[str], list[Notice]]:
    """Write the queued changes to the store, oldest first; each is recorded in the history.

    A change whose condition no longer holds is not written: its values become a conflict, and
    are in the history. The changes of a fact wait if its conflict note cannot be written.

    Returns:
        The facts that were written, or to which a refused change applied, and the notices of
        what was not written.
    """
    touched: list[str] = []
    notices: list[Notice] = []
    blocked: set[str] = set()
    queue = ctx.archive.outbox()
    waiting: dict[str, list[OutboxEntry]] = {}
    for row in queue:
        waiting.setdefault(row.fact_id, []).append(row)
    for fact_id in [row.fact_id for row in queue]:
        if fact_id in blocked:
            continue
        row, *later = waiting[fact_id]
        try:
            delivered = _deliver(ctx, row)
        except StoreUnavailableError:
            break
        except NoteError as error:
            base = ctx.archive.find_base(fact_id)
            path = base.path if base else VaultPath("")
            notices.append(conflict_not_written(path, error))
            blocked.add(fact_id)
            continue
        if delivered is None:
            break  # other writers were faster; keep the order of the queue
        touched.append(row.fact_id)
        event = row.kind if delivered.refused is None else f"{row.kind} refused"
        if delivered.refused is not None:
            notices.append(delivered.refused)
        entry = HistoryEntry(
            row.op, row.at, row.fact_id, "store", row.actor, "outbox", event, dict(row.after)
        )
        waiting[fact_id] = [_rebased(each, delivered) for each in later]
        with ctx.archive.transaction():
            ctx.archive.add_history([entry])
            ctx.archive.drop_waiting([row])
            ctx.archive.put_waiting(x for x in waiting[fact_id] if x.expect is not None)
    return touched, notices


def preview_outbox(ctx: SyncContext, feed: StoreFeed) -> tuple[dict[str, StoreSide], list[Notice]]:
    """The facts in the store after `drain_outbox()`, and its notices, for a dry run."""
    rows = ctx.archive.outbox() if feed.is_available else []
    if not rows:
        return {}, []
    ids = {row.fact_id for row in rows}
    facts: dict[str, Fact | None] = {**dict.fromkeys(ids), **ctx.store.find_many(ids)}
    bases = ctx.archive.find_bases(ids)
    sides: dict[str, StoreSide] = {}
    notices: list[Notice] = []
    seen: set[tuple[str, str | None]] = set()
    for each in rows:
        key, current = each.fact_id, facts[each.fact_id]
        # It keeps its revision, to which later changes by those who saw this one are updated.
        revision = current.revision if current else ""
        is_later = each.expect is not None and (key, each.expect) in seen
        row = each._replace(expect=revision) if is_later else each
        if _is_refused(row, current):
            notices.append(_refuse(ctx, row, current, dry_run=True))
            continue
        write = _write(ctx, row, current, dry_run=True)
        seen.add((key, _before(row, write)))
        if write is None:
            continue
        facts[key] = after = write.fact and write.fact.evolve(revision=revision)
        base = bases[key].fact if key in bases else None
        change = store_change(base, after and after.evolve(revision=row.op), known=True)
        agents = change is StoreChange.MODIFIED and feed.acknowledges(row.actor)
        sides[key] = StoreSide(change, revision, after or current, row.actor, agents)
    return sides, notices


def _rebased(later: OutboxEntry, delivered: _Delivered) -> OutboxEntry:
    """A queued change of a fact, updated after the delivery of one that its author had seen."""
    if later.expect in (None, delivered.after):
        return later
    is_same = later.expect == delivered.before
    return later._replace(expect=delivered.after) if is_same else later


def _deliver(ctx: SyncContext, row: OutboxEntry) -> _Delivered | None:
    """Write one change; does nothing if it was already written and the response was lost.

    Returns:
        None if another writer changed the fact before each attempt.
    """
    for _ in range(5):
        current = ctx.store.find_many([row.fact_id]).get(row.fact_id)
        revision = current.revision if current else None
        if _is_refused(row, current):
            return _Delivered(revision, revision, _refuse(ctx, row, current))
        write = _write(ctx, row, current)
        before = _before(row, write)
        if write is None:
            return _Delivered(before, revision)
        result = ctx.store.write([write])[0]
        if not isinstance(result, RevisionMismatch):
            return _Delivered(before, result)
    return None


def _before(row: OutboxEntry, write: StoreWrite | None) -> str | None:
    """The revision that a change replaces, as those who saw it queued know it."""
    if row.kind == "create":
        return ""  # readers see this revision of a queued fact
    return write.expect if write else row.expect


def _is_refused(row: OutboxEntry, current: Fact | None) -> bool:
    """Whether the condition of a change does not hold, and the change was not written."""
    if row.expect is None or (current is not None and current.revision == row.expect):
        return False
    if row.kind == "delete":
        return current is not None
    return current is None or not all(
        equal_as_json(current.plain(key), value) for key, value in row.after.items()
    )


def _refuse(
    ctx: SyncContext, row: OutboxEntry, current: Fact | None, *, dry_run: bool = False
) -> Notice:
    """Record the values of a refused change as a conflict, if its fact exists."""
    base = ctx.archive.find_base(row.fact_id)
    path = base.path if base else VaultPath("")
    change = f"what {row.actor} queued for {path or row.fact_id} while the store was unavailable"
    if current is None:
        why = "the fact was deleted in the meantime"
        hint = (
            f"`vaultsync history {row.fact_id}` shows the change; to make it, restore the fact"
            f" first: `vaultsync restore {row.fact_id}`"
        )
    elif row.kind == "delete":
        why = "the fact was changed in the meantime"
        hint = f"read it again; if it is to go, `vaultsync forget {row.fact_id}`"
    else:
        why = "the fact was changed in the meantime"
        hint = "both versions are in the conflict: `vaultsync conflicts`"
        fields = [
            FieldConflict(key, row.before.get(key), current.plain(key), value)
            for key, value in row.after.items()
            if not equal_as_json(current.plain(key), value)
        ]
        if not dry_run:
            _keep_both(ctx, row, current, tuple(fields))
    return Notice("not_delivered", path, f"{change} was not done: {why}", hint)


def _write(
    ctx: SyncContext, row: OutboxEntry, current: Fact | None, *, dry_run: bool = False
) -> StoreWrite | None:
    if row.kind == "delete":
        if current is None or differing_keys(fact_from_values(row.before), current):
            return None  # an edit that the deleting agent had not seen wins
        return overwrite(ctx, row.fact_id, None, current.revision, row.actor)
    if row.kind == "create":
        if current is not None:
            return None
        fact = fact_from_values(row.after)
        expect = deleted_revision(ctx.store, row.fact_id)
        op = creation_op(fact) if row.has_new_id and expect is None else ""
        return StoreWrite(row.fact_id, fact, expect, row.actor, op=op)
    if row.expect is not None and current is not None and current.revision != row.expect:
        return None  # it was written, but the response was lost
    current = current or ctx.store.tombstone(row.fact_id)
    expect = current.revision if current else None
    if current is None:
        base = ctx.archive.find_base(row.fact_id)
        if base is None:
            return None
        current = base.fact  # the store lost it, which is not a deletion
    before = current.replace(row.before)
    queued = before.replace(row.after)
    # The agent of this row saw `before`. Later writes by others are merged; if that is
    # impossible, they win, because they were acknowledged first.
    merged = merge(before, current, queued, peers=True)
    if merged.conflicts and not dry_run:
        _keep_both(ctx, row, current, merged.conflicts)
    fact = merged.fact.evolve(updated_at=ctx.today())
    if expect is None:
        return StoreWrite(row.fact_id, fact, None, row.actor)
    return overwrite(ctx, row.fact_id, fact, expect, row.actor)


def _keep_both(
    ctx: SyncContext, row: OutboxEntry, current: Fact, fields: tuple[FieldConflict, ...]
) -> None:
    """Put a queued change that cannot be merged into a conflict note."""
    base = ctx.archive.find_base(row.fact_id)
    path = base.path if base else path_for_new_note(current, set())
    open_conflict(ctx, current, fields, path=path, actor=row.actor, run=row.op)
