"""Points in Qdrant's embedded engine: one shard in a folder, without a server."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from vaultsync.backends.qdrant import collection as layout
from vaultsync.backends.qdrant.connection import (
    QdrantConnection,
    close_files_to_others,
    close_to_others,
)
from vaultsync.backends.qdrant.edge_journal import EdgeJournal, without_condition
from vaultsync.backends.qdrant.folder_lock import FolderLock
from vaultsync.backends.qdrant.operations import (
    POINTS_PER_REQUEST,
    Condition,
    DeletePoints,
    IsEmpty,
    NumberRange,
    Payload,
    PointFilter,
    PointOperation,
    ScoredPoint,
    ScrolledCollection,
    ScrollPage,
    batches,
    named_vector,
    payloads_by_id,
    scored_points,
    vector_name,
)
from vaultsync.backends.qdrant.payload import DAMAGE, PAYLOAD_INDEXES
from vaultsync.backends.qdrant.qdrant_errors import FREE_SOME_SPACE, common_failure
from vaultsync.backends.qdrant.retry import RequestFailure, RequestRefusedError, RetryPolicy
from vaultsync.backends.replace_file import sync_folder
from vaultsync.extras import needs_extra
from vaultsync.storage.clock import Clock

_log = logging.getLogger(__name__)
_ASKED = (
    *("kind", "seq", "fact", "chunk", "scope", "supersededById", "above", "type"),
    *("priority", "status", "userId"),
)
"""The indexed keys: fewer than on a server, because each index costs a write and no other program
queries this shard. Without those of status and priority a search takes nine times as long."""
T = TypeVar("T")
EdgeValue: TypeAlias = Any
"""A value of the engine. `Any`, because its type would require loading the engine."""
MIN_FREE_BYTES = 32 << 20
"""Less space counts as a full disk, on which the system ends a process that writes to mapped
files, as the engine does (SIGBUS)."""
_BLOCK_BYTES = 512
"""The unit of `st_blocks`."""
_OPTIMIZED, _COMPACTED = 1, 2
"""How many copies of the shard an optimization and a compaction write at most. With 120 MB of
10,000 vectors, they took 83 and 174 MB."""
_FLUSH_WRITES = 1_000
"""Number of writes after which the shard is flushed, so that its logs start again."""
_MODES = {"any": "Upsert", "new": "InsertOnly", "known": "UpdateOnly"}
_SHARD_FILE = "edge_config.json"
"""A file that every shard has."""


class EdgePointCollection(ScrolledCollection):
    """A collection that is one shard of the engine. One process at a time has it.

    Every write is in the engine's log and in the journal, and on disk, when it returns. The
    engine's own lock is on that log, which it opens and closes separately from its segments; ours
    is held around both.
    """

    def __init__(self, place: QdrantConnection, *, clock: Clock) -> None:
        self.name = place.collection
        self._place = place
        self._folder = place.path / place.collection
        self._new, self._old = (place.path / f"{place.collection}.{x}" for x in ("new", "old"))
        self._retry = RetryPolicy(
            clock, translate_edge_error, seconds=place.settings.patience_seconds
        )
        self._lock = FolderLock(place, clock)
        self._journal = EdgeJournal(self._folder)
        self._shard: EdgeValue = None
        self._since_flush = 0
        self._has_failed = False
        """Whether steps are in the journal of which some were not done."""

    # ---------------------------------------------------------------- collection

    def exists(self) -> bool:
        if self._shard is not None:
            return True
        self._retry.check_open()
        if not (_has_shard(self._folder) or self._old.exists()):
            return False
        self._hold()
        layout.check(self._config(), self._place)
        self._answer(self._load)
        return True

    def _config(self) -> dict[str, Any]:
        file = self._folder / _SHARD_FILE

        def read() -> dict[str, Any]:
            try:
                config: dict[str, Any] = json.loads(file.read_bytes())
                return {**config, "params": {"vectors": config.get("vectors")}}
            except DAMAGE as error:
                raise OSError(f"{file} is damaged: {error}") from error

        return self._answer(read)

    def _answer(self, request: Callable[[], T]) -> T:
        """The result of a request, as of `RetryPolicy.ask()`."""

        def without_panic() -> T:
            try:
                return request()
            except BaseException as error:
                # The engine panics on some damaged files; the class cannot be imported.
                if type(error).__name__ != "PanicException":
                    raise
                raise OSError(f"the engine stopped: {error}") from error

        return self._retry.ask(without_panic)

    def _hold(self) -> None:
        self._lock.hold(self._retry)
        self._answer(self._settle)

    def _settle(self) -> None:
        """Remove what an interrupted compaction left behind."""
        if self._old.exists() and not _has_shard(self._folder):
            self._old.rename(self._folder)
        for leftover in (self._new, self._old):
            if leftover.exists():
                shutil.rmtree(leftover)

    def _load(self) -> None:
        self._check_space()  # to open it is to write to it
        close_to_others(self._folder)
        close_files_to_others(self._folder)
        self._shard = shard = _edge().EdgeShard.load(str(self._folder))
        try:
            _make_indexes(shard)
            self._redo()
        except BaseException:  # panics of the engine, too
            # Else it would be read, and closed without its journal, although steps are missing.
            self._shard = None
            shard.close()
            raise

    def _redo(self) -> None:
        """Do again what was written before a crash."""
        for step in self._journal.read():
            try:
                self._redo_step(step)
            except Exception as error:
                if translate_edge_error(error) is not None:
                    raise
                _log.warning("a step that failed before the crash fails again: %s", error)
        if self._journal.exists:  # also one of which nothing can be read: no record may follow
            self._flush()

    def _check_space(self, copies: int = 0) -> None:
        """Refuse to write unless there is space for some copies of the shard, and more."""
        files = self._folder.rglob("*") if copies else ()
        size = sum(path.lstat().st_blocks for path in files) * _BLOCK_BYTES
        needed = MIN_FREE_BYTES + copies * size
        if shutil.disk_usage(self._place.path).free < needed:
            why = f"its disk is full: this needs {needed >> 20:,} MiB free"
            raise RequestRefusedError(RequestFailure(why, passing=False, hint=FREE_SOME_SPACE))

    def _redo_step(self, step: PointOperation) -> None:
        ids = [] if isinstance(step, DeletePoints) else [each.id for each in step.points]
        stored = self._shard.retrieve(ids, with_payload=True, with_vector=False) if ids else []
        for operation in _operations(without_condition(step, payloads_by_id(stored))):
            self._shard.update(operation)

    def _flush(self) -> None:
        self._shard.flush()
        self._journal.clear()
        self._since_flush, self._has_failed = 0, False

    def make(self, dimension: int) -> None:
        if not self.exists():
            self._hold()
            self._answer(lambda: self._make(dimension))

    def _make(self, dimension: int) -> None:
        if _has_shard(self._folder):  # another process was faster
            self._load()
        else:
            self._check_space()
            self._shard = _new_shard(self._folder, [dimension])

    def _ask(self, method: str, *arguments: object, **named: object) -> EdgeValue:
        self.exists()
        return self._answer(lambda: getattr(self._shard, method)(*arguments, **named))

    def dimensions(self) -> set[int]:
        return {each["size"] for each in self._config()["vectors"].values()}

    def add_dimension(self, dimension: int) -> None:
        edge, name = _edge(), vector_name(dimension)
        addition = edge.UpdateOperation.create_dense_vector(name, dimension, edge.Distance.Cosine)
        self._answer(self._check_space)
        self._ask("update", addition)
        self._answer(self._flush)

    # --------------------------------------------------------------------- reads

    def take(self, ids: Collection[str], fields: Sequence[str] | None = None) -> dict[str, Payload]:
        payload = True if fields is None else list(fields)
        records = self._ask("retrieve", list(ids), with_payload=payload, with_vector=False)
        return payloads_by_id(records)

    def _scroll(self, page: ScrollPage) -> tuple[Iterable[Any], object]:
        request = _edge().ScrollRequest(
            offset=page.offset,
            limit=page.limit,
            filter=_filter(page.where),
            with_payload=list(page.fields),
            with_vector=[page.vector] if page.vector else False,
        )
        found: tuple[Iterable[Any], object] = self._ask("scroll", request)
        return found

    def count(self, where: PointFilter) -> int:
        request = _edge().CountRequest(exact=True, filter=_filter(where))
        return int(self._ask("count", request))

    def search(
        self, vector: Sequence[float], where: PointFilter, fields: Sequence[str], *, limit: int
    ) -> list[ScoredPoint]:
        """The nearest points: the int8 vectors name them, the whole ones decide."""
        edge = _edge()
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(list(vector), using=vector_name(len(vector))),
            filter=_filter(where),
            with_payload=list(fields),
            params=edge.SearchParams(
                hnsw_ef=max(layout.HNSW_EF, limit),
                quantization=edge.QuantizationSearchParams(
                    rescore=True, oversampling=layout.OVERSAMPLING
                ),
                acorn=edge.AcornSearchParams(enable=True),
            ),
        )
        return scored_points(self._ask("query", request))

    # -------------------------------------------------------------------- writes

    def do(self, steps: Sequence[PointOperation]) -> None:
        """Do the steps in order, and flush them to disk."""
        self.exists()
        self._answer(self._check_space)
        if self._has_failed:  # what is done after a crash depends on the order
            self._answer(self._redo)
        operations = [each for step in steps for each in _operations(step)]
        self._has_failed = True
        self._answer(lambda: self._journal.add(steps))
        for operation in operations:
            self._ask("update", operation)
        self._answer(self._log_to_disk)
        self._has_failed = False
        self._since_flush += len(operations)
        if self._since_flush >= _FLUSH_WRITES or self._journal.is_long:
            self._answer(self._flush)

    def _log_to_disk(self) -> None:
        """Flush the engine's log to disk, so that it is whole after a power cut.

        Flushing the whole shard has the same effect, and takes fifty times as long.
        """
        for path in (self._folder / "wal").iterdir():
            if not path.is_file():  # a folder that the engine leaves when it is killed
                continue
            fd = os.open(path, os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def tidy(self) -> None:
        """Merge segments and build the graph.

        Until it is flushed, the shard keeps replaced points, half of its size.
        """
        if self._shard is not None:
            self._answer(lambda: self._check_space(_OPTIMIZED))
            self._ask("optimize")
            self._answer(self._flush)

    def index(self) -> None:
        """Do nothing, because indexes are created when the shard is opened."""

    def compact(self) -> None:
        """Rewrite the shard, because the engine keeps replaced points in segments and its log."""
        if self.exists():
            self._answer(lambda: self._check_space(_COMPACTED))
            self.tidy()
            dimensions = sorted(self.dimensions())
            self._answer(lambda: self._write_again(dimensions))

    def _write_again(self, dimensions: Sequence[int]) -> None:
        self._settle()
        new = _new_shard(self._new, dimensions)
        try:
            _copy_points(self._shard, new)
            new.optimize()
            new.flush()
        finally:
            new.close()
        self._shard.close()
        self._shard = None
        self._folder.rename(self._old)
        self._new.rename(self._folder)
        sync_folder(self._place.path)
        shutil.rmtree(self._old)
        self._load()

    def close(self) -> None:
        self._retry.close()
        if self._shard is not None:
            self._shard.close()
            self._shard = None
            self._journal.clear()
            close_files_to_others(self._folder)
        self._lock.release()


def _new_shard(folder: Path, dimensions: Sequence[int]) -> EdgeValue:
    """Create an empty shard in a folder without one, for vectors of some dimensions."""
    edge = _edge()
    close_to_others(folder)
    vectors = {
        vector_name(each): edge.EdgeVectorParams(each, edge.Distance.Cosine) for each in dimensions
    }
    config = edge.EdgeConfig(
        vectors=vectors,
        hnsw_config=edge.HnswIndexConfig(
            layout.HNSW_M, layout.EF_CONSTRUCT, layout.FULL_SCAN_THRESHOLD
        ),
        quantization_config=edge.ScalarQuantizationConfig(
            edge.ScalarType.Int8, layout.QUANTILE, memory=edge.Memory.Pinned
        ),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=layout.SEGMENTS, indexing_threshold=layout.INDEXING_THRESHOLD
        ),
    )
    shard = edge.EdgeShard.create(str(folder), config)
    _make_indexes(shard)
    return shard


def _make_indexes(shard: EdgeValue) -> None:
    """Create the missing payload indexes."""
    edge = _edge()
    kinds = edge.PayloadSchemaType
    have = shard.info().payload_schema
    missing = [field for field in _ASKED if field not in have]
    for field in missing:
        kind = kinds.Keyword if PAYLOAD_INDEXES[field] == "keyword" else kinds.Integer
        shard.update(edge.UpdateOperation.create_field_index(field, kind))
    if missing:
        shard.flush()


def _copy_points(old: EdgeValue, new: EdgeValue) -> None:
    """Copy all points of one shard into another one."""
    edge, offset = _edge(), None
    while True:
        page = edge.ScrollRequest(
            offset=offset, limit=POINTS_PER_REQUEST, with_payload=True, with_vector=True
        )
        records, offset = old.scroll(page)
        points = [edge.Point(each.id, each.vector or {}, each.payload or {}) for each in records]
        if points:
            new.update(edge.UpdateOperation.upsert_points(points))
        if offset is None:
            return


def _edge() -> EdgeValue:
    with needs_extra("a store in a folder of Qdrant's"):
        import qdrant_edge
    return qdrant_edge


def _has_shard(folder: Path) -> bool:
    return (folder / _SHARD_FILE).exists()


def _operations(step: PointOperation) -> list[EdgeValue]:
    edge = _edge()
    update = edge.UpdateOperation
    if isinstance(step, DeletePoints):
        return [update.delete_points_by_filter(_filter(step.where))]
    mode = getattr(edge.UpdateMode, _MODES[step.mode])
    only_if = _filter(step.only_if) if step.only_if else None
    points = (edge.Point(x.id, named_vector(x.vector), dict(x.payload)) for x in step.points)
    return [
        update.upsert_points(batch, condition=only_if, update_mode=mode)
        for batch in batches(points)
    ]


def _filter(where: PointFilter) -> EdgeValue:
    edge = _edge()
    return edge.Filter(
        must=[_condition(each) for each in where.must],
        must_not=[edge.HasIdCondition(set(where.must_not))] if where.must_not else None,
    )


def _condition(condition: Condition) -> EdgeValue:
    edge = _edge()
    if isinstance(condition, IsEmpty):
        return edge.IsEmptyCondition(condition.key)
    if isinstance(condition, NumberRange):
        numbers = edge.RangeFloat(gte=condition.least, lte=condition.most, lt=condition.below)
        return edge.FieldCondition(condition.key, range=numbers)
    return edge.FieldCondition(condition.key, match=edge.MatchAny(list(condition.values)))


def translate_edge_error(error: Exception) -> RequestFailure | None:
    """The failure for an error of the engine; None if it is a bug in vaultsync."""
    text = str(error)
    if found := common_failure(error):
        return found
    if "WouldBlock" in text:
        return RequestFailure("another process has it", passing=True, refused=True)
    if isinstance(error, OSError) or "Service runtime error" in text or "OutOfDisk" in text:
        return RequestFailure(text[:200], passing=False)
    return None
