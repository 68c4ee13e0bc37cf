"""Changes that a run makes to facts by itself, in place of a plan: write them, and report them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from vaultsync.errors import RevisionMismatchError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import CONTENDED, MAX_UPDATE_TRIES
from vaultsync.sync.report import ActionTaken, Report, counted, counts_of


class FactChange(NamedTuple):
    """What a run makes of a fact, and why."""

    before: Fact
    after: Fact | None
    """None deletes it."""
    reason: str


def write_changes(
    ctx: SyncContext, changes: Iterable[FactChange], actor: str, *, new: Iterable[Fact] = ()
) -> tuple[list[FactChange], list[str]]:
    """Write changes and new facts to the store.

    Facts that others changed since are left alone.

    Returns:
        The changes that were made, and the ids of all facts that were written, the new ones first.
    """
    at, by_id = ctx.today(), {each.before.id: each for each in changes}
    writes = [StoreWrite(fact.id, fact, None, actor) for fact in new]
    for before, after, _ in by_id.values():
        dated = after and after.evolve(updated_at=at)
        writes.append(StoreWrite(before.id, dated, before.revision, actor))
    results = zip(writes, ctx.store.write(writes) if writes else [], strict=True)
    ids = [write.fact_id for write, found in results if not isinstance(found, RevisionMismatch)]
    return [by_id[each] for each in ids if each in by_id], ids


def report_changes(
    ctx: SyncContext, run: str, changes: Sequence[FactChange], began: float, *, dry_run: bool
) -> Report:
    """The report of a run that made changes, or with `dry_run` would make them."""
    paths = ctx.archive.note_paths([each.before.id for each in changes])
    actions = []
    for before, after, reason in changes:
        path, fields = paths.get(before.id), () if after is None else differing_keys(before, after)
        word, row = ("update_store", "updated_in_store")
        if after is None:
            word, row = ("delete_fact", "deleted_in_store")
        actions.append(ActionTaken(word, before.id, path, fields, reason, (row,)))
    counts = counts_of(actions)
    if dry_run or not changes:  # otherwise the next sync run counts them
        counts["unchanged"] = ctx.store.state().facts - len(changes)
    seconds = round(ctx.clock.monotonic() - began, 3)
    return Report(run, dry_run, seconds, counted(counts), actions)


def change_fact(
    ctx: SyncContext,
    fact_id: str,
    change: Callable[[Fact], Fact | None],
    actor: str,
    *,
    find: Callable[[str], Fact | None] | None = None,
) -> bool:
    """Change a fact in the store, again while others are faster; False if nothing changed.

    Args:
        ctx: the context.
        fact_id: its id.
        change: returns what becomes of a version: None to delete it, the same to leave it alone.
        actor: who changes it, for the history.
        find: returns the newest version, or None if there is none; default: that of the store.

    Raises:
        RevisionMismatchError: others were faster each time.
    """
    for _ in range(MAX_UPDATE_TRIES):
        current = find(fact_id) if find else ctx.store.find_many([fact_id]).get(fact_id)
        fact = current and change(current)
        if current is None or fact is current:
            return False
        write = StoreWrite(fact_id, fact, current.revision, actor)
        if not isinstance(ctx.store.write([write])[0], RevisionMismatch):
            return True
    raise RevisionMismatchError(fact_id, *CONTENDED)
