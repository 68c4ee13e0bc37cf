"""All facts from one store into another, proved equal before anything is switched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from vaultsync.errors import MigrationError
from vaultsync.indexing.ports import VectorIndex, VectorRow
from vaultsync.model.fact import Fact
from vaultsync.model.serialization import fact_to_json
from vaultsync.storage.store import FeedRow, Store, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

MIGRATION_ACTOR = "migrate"
"""Who writes, in the feed of the new store."""
ROWS_PER_BATCH = 500
MAX_COPY_TRIES = 20


class MigrationReport(Struct, frozen=True):
    """What a migration did."""

    store: str
    facts: int
    tombstones: int
    copied: int
    """Rows that were not there yet; the others were, from a run that broke off."""
    vectors: int
    """Facts whose vectors came along."""
    seconds: float
    """To the millisecond."""


def copy_store(source: Store, target: Store, *, progress: Progress | None = None) -> int:
    """Bring every fact and tombstone over; returns how many were not there yet.

    It may break off at any point and be begun again. What others wrote into the target
    is newer, and stays.

    Raises:
        StoreUnavailableError: one of them is away; begin again when it is back.
        MigrationError: others write to the same facts without a pause.
    """
    rows = source.feed()
    there = _FeedSnapshot(target)
    copied = 0
    for start in range(0, len(rows), ROWS_PER_BATCH):
        page = rows[start : start + ROWS_PER_BATCH]
        for _ in range(MAX_COPY_TRIES):
            writes = _missing(source, target, page, there.last)
            if not writes:
                break
            copied += sum(isinstance(each, str) for each in target.write(writes))
            there.follow()
        else:
            raise MigrationError("others write to the same facts without a pause")
        if progress is not None:
            progress("migrate", start + len(page), len(rows))
    return copied


class _FeedSnapshot:
    """The last write of every fact of a store, as far as it was followed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seq = 0
        self.last: dict[str, FeedRow] = {}
        self.follow()

    def follow(self) -> None:
        """Take up what was written since."""
        for row in self._store.feed(self._seq):
            self.last[row.fact_id] = row
            self._seq = max(self._seq, row.seq)


def _missing(
    source: Store,
    target: Store,
    page: Sequence[FeedRow],
    known: Mapping[str, FeedRow],
) -> list[StoreWrite]:
    """What has to be written so that a page of rows is in the target.

    `known` is the last write of each fact there. A tombstone that says something is
    written in two turns: first what it says.
    """
    alive = _fact_bodies(source, page)
    held = _fact_bodies(target, [known[e.fact_id] for e in page if e.fact_id in known])
    writes = []
    for row in page:
        there = known.get(row.fact_id)
        if there is not None and there.actor != MIGRATION_ACTOR:
            continue
        said, has = alive.get(row.fact_id), held.get(row.fact_id)
        same = _text(said) == _text(has)
        if there is not None and same and there.deleted == row.deleted:
            continue
        bury = row.deleted and (same or said is None)
        writes.append(
            StoreWrite(
                row.fact_id,
                None if bury else said,
                there.revision if there else None,
                MIGRATION_ACTOR,
            )
        )
    return writes


def _fact_bodies(store: Store, page: Sequence[FeedRow]) -> dict[str, Fact]:
    """What a store says of facts; of tombstones what they last said."""
    found = store.find_many([row.fact_id for row in page])
    for row in page:
        if row.fact_id not in found:
            buried = store.tombstone(row.fact_id)
            if buried is not None:
                found[row.fact_id] = buried
    return found


def _text(fact: Fact | None) -> str | None:
    return None if fact is None else fact_to_json(fact)


def check_copied(
    source: Store, target: Store, *, progress: Progress | None = None
) -> tuple[int, int]:
    """Prove that the target holds all that the source holds: by count and by content.

    Returns how many facts and how many tombstones the source has.

    Raises:
        MigrationError: it does not; nothing was switched.
    """
    rows = source.feed()
    there = _FeedSnapshot(target).last
    lacking: list[str] = []
    for start in range(0, len(rows), ROWS_PER_BATCH):
        page = rows[start : start + ROWS_PER_BATCH]
        lacking += [write.fact_id for write in _missing(source, target, page, there)]
        if progress is not None:
            progress("verify", start + len(page), len(rows))
    tombstones = sum(row.deleted for row in rows)
    facts = len(rows) - tombstones
    if source.state().facts != facts or lacking:
        raise MigrationError(f"{len(lacking) or 'some'} facts differ: {lacking[:3]}")
    ours = {key for key, row in there.items() if row.actor == MIGRATION_ACTOR}
    extra = ours - {row.fact_id for row in rows}
    if extra:
        raise MigrationError(f"it holds {len(extra)} facts that are not here")
    return facts, tombstones


def copy_vectors(
    source: VectorIndex,
    target: VectorIndex,
    store: Store,
    *,
    progress: Progress | None = None,
) -> int:
    """Vectors come along when they are the same model's; returns of how many facts.

    Without a record: the next pass looks at all facts, and embeds none of these again.
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
        held = target.chunks(page)
        facts = store.find_many([each for each in page if held.get(each) != chunks[each]])
        vectors = source.vectors({c for each in facts for c in chunks[each]})
        rows = _rows(facts, chunks, vectors)
        if rows:
            target.put(rows, replace=list(facts))
        carried += len(facts)
        if progress is not None:
            progress("vectors", start + len(page), len(ids))
    return carried


def _rows(
    facts: Mapping[str, Fact],
    chunks: Mapping[str, frozenset[str]],
    vectors: Mapping[str, Sequence[float]],
) -> list[VectorRow]:
    return [
        VectorRow(fact, chunk, vectors[chunk])
        for key, fact in facts.items()
        for chunk in sorted(chunks[key])
        if chunk in vectors
    ]


def expect_store(ctx: SyncContext, store: Store) -> None:
    """Let the archive know which store comes next, before the settings name it."""
    state = store.state()
    with ctx.archive.transaction():
        ctx.archive.set_setting("next_store_id", state.store_id)
