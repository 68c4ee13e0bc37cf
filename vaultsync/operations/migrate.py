"""Copy all facts from one store to another, and verify that both are equal before switching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from vaultsync.errors import DamagedFactError, MigrationError
from vaultsync.indexing.ports import VectorIndex, VectorRow
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.serialization import fact_to_json
from vaultsync.storage.archive import UNFINISHED_MIGRATION_SETTING
from vaultsync.storage.store import FeedRow, Store, StoreWrite, with_count_of
from vaultsync.sync.changes import MIGRATION_ACTOR
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

ROWS_PER_BATCH = 500
MAX_COPY_TRIES = 20


class MigrationReport(Struct, frozen=True):
    """The result of a migration."""

    store: str
    facts: int
    tombstones: int
    copied: int
    """Writes to the new store; fewer than there are facts after an interrupted run."""
    vectors: int
    """Facts whose vectors were copied."""
    seconds: float
    """To the millisecond."""


_LEFT_STORES = "left_stores"
"""The archive's setting with the last write of each former store that was copied from it."""
_LEFT_PLACES = "left_places"
"""The archive's setting with the paths or addresses of the former stores, a line each."""


def copy_store(
    source: Store, target: Store, *, left_at: int = 0, progress: Progress | None = None
) -> int:
    """Copy every fact and tombstone that the target lacks; returns the number of writes.

    An interrupted copy can be repeated. Facts that others wrote to the target are newer, and
    stay. If the target is a former store of the vault, its writes up to `left_at` are older.

    Raises:
        StoreUnavailableError: one of the stores is unavailable; try again later.
        DamagedFactError: a row of the old store is damaged.
        MigrationError: other programs keep writing to the same facts.
    """
    rows = source.feed()
    rows += _gone_rows(rows, target, left_at)
    copied = seq = 0
    existing: dict[str, FeedRow] = {}
    for start in range(0, len(rows), ROWS_PER_BATCH):
        page = rows[start : start + ROWS_PER_BATCH]
        for _ in range(MAX_COPY_TRIES):
            for row in target.feed(seq):
                existing[row.fact_id], seq = row, row.seq
            writes = _missing_writes(source, target, page, existing, left_at)
            if not writes:
                break
            copied += sum(isinstance(each, str) for each in target.write(writes))
        else:
            raise MigrationError("other programs keep writing to the same facts")
        if progress is not None:
            progress("migrate", start + len(page), len(rows))
    return copied


def _gone_rows(rows: Sequence[FeedRow], target: Store, left_at: int) -> list[FeedRow]:
    """Tombstones for facts that the former store has, but the source no longer knows."""
    if not left_at:
        return []
    known = {row.fact_id for row in rows}
    return [
        row._replace(deleted=True)
        for row in target.feed()
        if not row.deleted and row.seq <= left_at and row.fact_id not in known
    ]


def facts_behind(source: Store, target: Store) -> list[str]:
    """The ids of facts that changed in the source after their last change in the target.

    Those that a migration copied do not count. If the target is no former store that the
    archive knows, `copy_store` would take these facts for newer ones that others wrote, as it
    must where several machines migrate to one store.
    """
    last = {row.fact_id: row for row in source.feed()}
    rows = [
        row
        for row in target.feed()
        if not _is_copy(row, 0) and row.fact_id in last and row.at <= last[row.fact_id].at
    ]
    behind = []
    for start in range(0, len(rows), ROWS_PER_BATCH):
        ids = [row.fact_id for row in rows[start : start + ROWS_PER_BATCH]]
        here, there = source.find_many(ids), target.find_many(ids)
        behind += [each for each in ids if _differ(here.get(each), there.get(each))]
    return behind


def _differ(one: Fact | None, other: Fact | None) -> bool:
    """Whether a note would change; machines that share one date the same edit differently."""
    if one is None or other is None:
        return one is not other
    return bool(differing_keys(one, other))


def _is_copy(row: FeedRow, left_at: int) -> bool:
    """Whether a row of the target is not newer than the source."""
    return row.actor == MIGRATION_ACTOR or row.seq <= left_at


def _missing_writes(
    source: Store, target: Store, page: Sequence[FeedRow], rows: Mapping[str, FeedRow], left_at: int
) -> list[StoreWrite]:
    """The writes that the target, whose last writes are `rows`, lacks for rows of the source.

    A tombstone keeps the last version of its fact, so it takes two writes: first that
    version, then its deletion. One whose text was erased takes the deletion only.
    """
    facts = _last_versions(source, page)
    for row in page:
        if row.fact_id in source.damaged():
            raise DamagedFactError(row.fact_id, source.damaged()[row.fact_id])
    existing = _last_versions(target, [rows[e.fact_id] for e in page if e.fact_id in rows])
    writes = []
    for row in page:
        last = rows.get(row.fact_id)
        if last is not None and not _is_copy(last, left_at):
            continue
        fact = facts.get(row.fact_id)
        target_fact = existing.get(row.fact_id)
        same = fact is None or (
            target_fact is not None
            and fact_to_json(with_count_of(fact, target_fact)) == fact_to_json(target_fact)
        )
        if last is not None and same and last.deleted == row.deleted:
            continue
        new = None if row.deleted and same else fact
        expect = last.revision if last else None
        writes.append(StoreWrite(row.fact_id, new, expect, MIGRATION_ACTOR, recorded=True))
    return writes


def _last_versions(store: Store, page: Sequence[FeedRow]) -> dict[str, Fact]:
    """The facts of some rows; of deleted ones, the last versions."""
    versions = store.find_many([row.fact_id for row in page])
    for row in page:
        if row.fact_id not in versions:
            tombstone = store.tombstone(row.fact_id)
            if tombstone is not None:
                versions[row.fact_id] = tombstone
    return versions


def erased_ids(source: Store, target: Store, left_at: int) -> set[str]:
    """The facts of a former store whose texts were erased since; to be asked before a copy."""
    texts = {row.fact_id for row in source.feed() if not row.deleted}
    texts |= {fact.id for fact in source.iter_facts(deleted=True)}
    return {row.fact_id for row in target.feed() if _is_copy(row, left_at)} - texts


def check_copied(
    source: Store,
    target: Store,
    *,
    left_at: int = 0,
    copied_to: int | None = None,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Verify that the target has all that the source has, by count and content.

    If others may write to the source, `copied_to` is its last write before the copy: what
    changed afterwards may differ.

    Returns: the number of facts and of tombstones of the source.

    Raises:
        MigrationError: they differ; nothing was switched.
    """
    rows = source.feed()
    existing = {row.fact_id: row for row in target.feed()}
    lacking: list[str] = []
    for start in range(0, len(rows), ROWS_PER_BATCH):
        page = rows[start : start + ROWS_PER_BATCH]
        writes = _missing_writes(source, target, page, existing, left_at)
        lacking += [each.fact_id for each in writes]
        if progress is not None:
            progress("verify", start + len(page), len(rows))
    tombstones = sum(row.deleted for row in rows)
    facts = len(rows) - tombstones
    counted = source.state().facts
    later = set[str]()
    if copied_to is not None:
        later = {row.fact_id for row in source.feed(copied_to)}
    lacking = [each for each in lacking if each not in later]
    if lacking or (counted != facts and not later):
        differ = "1 fact differs" if len(lacking) == 1 else f"{len(lacking) or 'some'} facts differ"
        raise MigrationError(f"{differ}: {lacking[:3]}")
    copied = {key for key, row in existing.items() if _is_copy(row, left_at) and not row.deleted}
    extra = copied - {row.fact_id for row in rows}
    if extra:
        raise MigrationError(f"facts that the source lacks: {len(extra)}")
    return facts, tombstones


def copy_vectors(
    source: VectorIndex, target: VectorIndex, store: Store, *, progress: Progress | None = None
) -> int:
    """Copy the vectors to an index of the same model; returns the number of facts.

    The index gets no version: the next update checks all facts, and embeds none of these.
    """
    identity = source.identity()
    if identity is None:
        return 0
    if target.identity() != identity:
        target.reset(identity)
    chunks = source.chunks()
    ids = sorted(chunks)
    carried = 0
    for start in range(0, len(ids), ROWS_PER_BATCH):
        page = ids[start : start + ROWS_PER_BATCH]
        existing = target.chunks(page)
        facts = store.find_many([each for each in page if existing.get(each) != chunks[each]])
        vectors = source.vectors({c for each in facts for c in chunks[each]})
        rows = [
            VectorRow(fact, chunk, vectors[chunk])
            for key, fact in facts.items()
            for chunk in sorted(chunks[key])
            if chunk in vectors
        ]
        if rows:
            target.put(rows, replace=list(facts))
        carried += len(facts)
        if progress is not None:
            progress("vectors", start + len(page), len(ids))
    return carried


def left_at(ctx: SyncContext, store: Store) -> int:
    """The last write of a former store that its successor had; 0 if it is no former store."""
    return _left_stores(ctx).get(store.state().store_id, 0)


def _left_stores(ctx: SyncContext) -> dict[str, int]:
    pairs = (each.rpartition(":") for each in (ctx.archive.setting(_LEFT_STORES) or "").split())
    return {store_id: int(seq) for store_id, _, seq in pairs}


def left_places(ctx: SyncContext) -> list[str]:
    """The paths or addresses of former stores, which still have what was erased since."""
    return (ctx.archive.setting(_LEFT_PLACES) or "").splitlines()


def record_left_place(ctx: SyncContext, place: str) -> None:
    """Record where a store is that the vault leaves."""
    places = dict.fromkeys([*left_places(ctx), place])
    ctx.set_setting(_LEFT_PLACES, "\n".join(places))


def expect_store(ctx: SyncContext, store: Store, copied_to: int = 0, url: str = "") -> None:
    """Record in the archive which store comes next, before the settings name it.

    With the last write of the current store that was copied, for when the vault returns to it, and
    its URL, from which `finish_copy()` has to copy the rest.
    """
    store_id = store.state().store_id
    unfinished = f"{store_id} {url}" if url else None
    with ctx.archive.transaction():
        ctx.archive.set_setting("next_store_id", store_id)
        ctx.archive.set_setting(UNFINISHED_MIGRATION_SETTING, unfinished)
        _record_left(ctx, ctx.store.state().store_id, copied_to)


def _record_left(ctx: SyncContext, store_id: str, copied_to: int) -> None:
    left = {**_left_stores(ctx), store_id: copied_to}
    texts = (f"{key}:{left[key]}" for key in sorted(left))
    ctx.archive.set_setting(_LEFT_STORES, " ".join(texts))


def unfinished_store(ctx: SyncContext) -> str:
    """The URL of the former store, from which a migration was killed before it had copied all."""
    new_id, _, url = (ctx.archive.setting(UNFINISHED_MIGRATION_SETTING) or "").partition(" ")
    return url if url and new_id == ctx.store.state().store_id else ""


def finish_copy(ctx: SyncContext, former: Store | None, store: Store) -> int:
    """Copy what was written to the former store, None if it is gone, until it became that.

    Returns the number of writes.

    Raises: as `copy_store()`.
    """
    copied = 0
    if former is not None:
        former.write([])  # waits for one that began before
        now = former.state()
        if now.seq > left_at(ctx, former):
            copied = copy_store(former, store, left_at=left_at(ctx, store))
    with ctx.archive.transaction():
        ctx.archive.set_setting(UNFINISHED_MIGRATION_SETTING, None)
        if former is not None:
            _record_left(ctx, now.store_id, now.seq)
    return copied
