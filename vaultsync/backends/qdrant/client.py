"""Points of a server, a cluster, or the local mode of Qdrant's client.

The client takes a second to load, so it is only loaded for the first request.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeAlias

import msgspec

from vaultsync.backends.qdrant import collection as layout
from vaultsync.backends.qdrant.connection import QdrantConnection, close_files_to_others
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
    packed,
    payloads_by_id,
    scored_points,
    vector_name,
)
from vaultsync.backends.qdrant.payload import PAYLOAD_INDEXES
from vaultsync.backends.qdrant.qdrant_errors import exists_already, status_of, translate_error
from vaultsync.backends.qdrant.retry import RetryPolicy
from vaultsync.errors import ConfigError, StoreLayoutError
from vaultsync.extras import needs_extra
from vaultsync.storage.clock import Clock

Model: TypeAlias = Any
"""A model of the client. `Any`, because its type would require loading the client."""
MAX_REQUEST_BYTES = 8 << 20
"""Approximate maximum size of a request, in bytes. A server refuses more than 32 MiB, and a slow
connection would time out before the refusal."""
_NUMBER, _ID = 22, 40
"""Bytes of a vector's number, and of an id, in JSON."""
_MODES = {"any": None, "new": "insert_only", "known": "update_only"}


def load_models() -> Model:
    """Load the models of the client."""
    with needs_extra("a store in Qdrant"):
        from qdrant_client import models
    return models


def _operations(step: PointOperation) -> Iterator[tuple[Model, int]]:
    """The operations of a step, and their sizes in bytes."""
    models = load_models()
    if isinstance(step, DeletePoints):
        selector = models.FilterSelector(filter=filter_of(step.where))
        yield models.DeleteOperation(delete=selector), _ID * len(step.where.must_not)
        return
    mode = _MODES[step.mode]
    sized = (
        (point, len(msgspec.json.encode(point.payload)) + _NUMBER * len(point.vector))
        for point in step.points
    )
    for points, size in packed(sized, room=MAX_REQUEST_BYTES, most=POINTS_PER_REQUEST):
        upsert = models.PointsList(
            points=[
                models.PointStruct(id=x.id, payload=dict(x.payload), vector=named_vector(x.vector))
                for x in points
            ],
            update_filter=filter_of(step.only_if) if step.only_if else None,
            update_mode=models.UpdateMode(mode) if mode else None,
        )
        yield models.UpsertOperation(upsert=upsert), size


def filter_of(where: PointFilter) -> Model:
    """Conditions as a filter."""
    models = load_models()
    return models.Filter(
        must=[_condition(each) for each in where.must],
        must_not=[models.HasIdCondition(has_id=list(where.must_not))] if where.must_not else None,
    )


def _condition(condition: Condition) -> Model:
    models = load_models()
    if isinstance(condition, IsEmpty):
        return models.IsEmptyCondition(is_empty=models.PayloadField(key=condition.key))
    if isinstance(condition, NumberRange):
        return models.FieldCondition(
            key=condition.key,
            range=models.Range(gte=condition.least, lte=condition.most, lt=condition.below),
        )
    match = models.MatchAny(any=list(condition.values))
    return models.FieldCondition(key=condition.key, match=match)


_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?!\d)")
_OLDEST = (1, 17)
"""The first version of the server with `update_mode`."""
_UNKNOWN_THERE = (400, 404, 405)
"""The status codes of a server that does not know a request."""


class ClientPointCollection(ScrolledCollection):
    """A collection behind `qdrant_client`.

    The key of a server is read from the environment when it is opened, and stored nowhere
    else. Reads have the consistency, and writes the ordering, of the settings.

    `client` replaces the client for the place; `beside` is a collection whose connection and
    lock this one shares.
    """

    def __init__(
        self,
        place: QdrantConnection,
        *,
        clock: Clock,
        client: Model = None,
        beside: ClientPointCollection | None = None,
    ) -> None:
        self.name = place.collection
        self._place = place
        self._beside = beside
        self._client: Model = client
        self._lock = FolderLock(place, clock)
        self._ours = client is None
        where = str(place) if place.kind == "server" else ""
        judged = partial(translate_error, where=where, key=place.settings.key)
        self._retry = RetryPolicy(clock, judged, seconds=place.settings.patience_seconds)
        self._known = False

    def _ask(self, method: str, **arguments: object) -> Model:
        """Call a method of the client for the collection, with retries."""
        place = self._place
        return self._request(
            lambda client: getattr(client, method)(collection_name=place.collection, **arguments)
        )

    def _request(self, request: Callable[[Model], Model]) -> Model:
        return (self._beside or self).send(request, self._retry)

    def send(self, request: Callable[[Model], Model], retry: RetryPolicy) -> Model:
        """Send a request for any collection over the connection of this one."""
        self._retry.check_open()
        if self._place.kind == "local" and self._ours:
            self._lock.hold(retry)
        return retry.ask(lambda: request(self._opened()))

    def _opened(self) -> Model:
        if self._client is None:
            self._client = self._open()
        return self._client

    def _open(self) -> Model:
        with needs_extra("a store in Qdrant"):
            from qdrant_client import QdrantClient

        place = self._place
        if place.kind == "local":
            # Several threads may call this; the retry policy serializes them.
            try:
                client = QdrantClient(path=str(place.path), force_disable_check_same_thread=True)
            except (OSError, RuntimeError, sqlite3.Error):
                raise
            except Exception as error:  # its files are JSON and pickles, which fail in many ways
                name = type(error).__name__
                raise OSError(f"a file in {place.path} is damaged: {name} {error}") from error
            close_files_to_others(place.path)
            return client
        return QdrantClient(
            host=place.host,
            port=place.port,
            https=place.tls,
            verify=place.tls,  # otherwise certificates are loaded for nothing
            api_key=os.environ.get(place.settings.key) or None,
            grpc_port=place.settings.grpc_port or 6334,
            prefer_grpc=place.settings.grpc_port is not None,
            timeout=max(1, round(place.settings.timeout_seconds)),
            check_compatibility=False,  # it would send a request each time
        )

    @property
    def _reads(self) -> dict[str, object]:
        if self._place.kind == "local":
            return {}
        level = self._place.settings.read_consistency
        if not isinstance(level, int):
            level = load_models().ReadConsistencyType(level)
        return {"consistency": level}

    @property
    def _writes(self) -> dict[str, object]:
        options: dict[str, object] = {"wait": True}
        if self._place.kind != "local":
            options["ordering"] = load_models().WriteOrdering(self._place.settings.ordering)
        return options

    # ---------------------------------------------------------------- collection

    def exists(self) -> bool:
        if self._known:
            return True
        self._retry.check_open()
        if self._is_away() or not self._ask("collection_exists"):
            return False
        layout.check(self._config(), self._place)
        self._known = True
        return True

    def _is_away(self) -> bool:
        """Whether there is no folder, which the client would create with empty files."""
        if self._place.kind != "local" or not self._ours:
            return False
        try:
            (self._place.path / "meta.json").stat()
        except FileNotFoundError:
            return True
        except OSError:
            pass  # the client says what is wrong
        return False

    def _config(self) -> dict[str, Model]:
        found: dict[str, Model] = json.loads(self._ask("get_collection").config.model_dump_json())
        return found

    def _check_version(self) -> None:
        """Refuse a server that ignores write conditions: writers would overwrite each other."""
        version = str(self._request(lambda client: client.info()).version)
        found = _VERSION.match(version)
        if found is None or tuple(map(int, found.groups())) < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            shown = version[:40] or "of no version"
            raise ConfigError(
                f"the server is Qdrant {shown}, which does not support concurrent writers",
                hint=f"use {oldest} or newer; upgrade servers one minor version at a time",
            )

    def make(self, dimension: int) -> None:
        models, place = load_models(), self._place
        self._check_version()
        vectors = models.VectorParams(
            size=dimension, distance=models.Distance.COSINE, on_disk=False
        )
        scalar = models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=layout.QUANTILE, always_ram=True
        )
        try:
            self._ask(
                "create_collection",
                vectors_config={vector_name(dimension): vectors},
                hnsw_config=models.HnswConfigDiff(
                    m=layout.HNSW_M,
                    ef_construct=layout.EF_CONSTRUCT,
                    full_scan_threshold=layout.FULL_SCAN_THRESHOLD,
                    on_disk=False,
                ),
                optimizers_config=models.OptimizersConfigDiff(
                    default_segment_number=layout.SEGMENTS,
                    indexing_threshold=layout.INDEXING_THRESHOLD,
                    memmap_threshold=layout.MEMMAP_THRESHOLD,
                ),
                quantization_config=models.ScalarQuantization(scalar=scalar),
                on_disk_payload=False,
                shard_number=place.settings.shard_number,
                replication_factor=place.settings.replication_factor,
                write_consistency_factor=place.settings.write_consistency_factor,
            )
        except Exception as error:
            if not exists_already(error):
                raise
        if self._ours and place.kind == "local":
            close_files_to_others(place.path)
        self.index()
        self.exists()

    def index(self) -> None:
        if self._place.kind != "local":  # there, indexes have no effect
            for field, kind in PAYLOAD_INDEXES.items():
                self._ask("create_payload_index", field_name=field, field_schema=kind)

    def dimensions(self) -> set[int]:
        vectors = self._config()["params"].get("vectors") or {}
        return {each["size"] for each in vectors.values()}

    def add_dimension(self, dimension: int) -> None:
        models = load_models()
        dense = models.DenseVectorConfig(size=dimension, distance=models.Distance.COSINE)
        try:
            self._ask(
                "create_vector_name",
                vector_name=vector_name(dimension),
                vector_name_config=models.DenseVectorNameConfig(dense=dense),
                **self._writes,
            )
        except Exception as error:
            if exists_already(error):
                return
            if status_of(error.__cause__) not in _UNKNOWN_THERE:
                raise
            raise StoreLayoutError(
                self._place.collection,
                f"it holds vectors of {sorted(self.dimensions())} numbers, the model"
                f" makes {dimension}, and this server cannot add others",
            ) from error

    # --------------------------------------------------------------------- reads

    def take(self, ids: Collection[str], fields: Sequence[str] | None = None) -> dict[str, Payload]:
        found: dict[str, Payload] = {}
        for batch in batches(ids):
            records = self._ask(
                "retrieve",
                ids=batch,
                with_payload=True if fields is None else list(fields),
                with_vectors=False,
                **self._reads,
            )
            found |= payloads_by_id(records)
        return found

    def _scroll(self, page: ScrollPage) -> tuple[Iterable[Any], object]:
        found: tuple[Iterable[Any], object] = self._ask(
            "scroll",
            scroll_filter=filter_of(page.where),
            limit=page.limit,
            offset=page.offset,
            with_payload=list(page.fields),
            with_vectors=[page.vector] if page.vector else False,
            **self._reads,
        )
        return found

    def count(self, where: PointFilter) -> int:
        return int(self._ask("count", count_filter=filter_of(where), exact=True).count)

    def search(
        self, vector: Sequence[float], where: PointFilter, fields: Sequence[str], *, limit: int
    ) -> list[ScoredPoint]:
        """The nearest points, found by int8 vectors and ranked by the full ones."""
        options = self._reads
        if self._place.kind != "local":  # there, search is exact
            models = load_models()
            options["search_params"] = models.SearchParams(
                hnsw_ef=max(layout.HNSW_EF, limit),
                quantization=models.QuantizationSearchParams(
                    rescore=True, oversampling=layout.OVERSAMPLING
                ),
                acorn=models.AcornSearchParams(enable=True),
            )
        found = self._ask(
            "query_points",
            query=list(vector),
            using=vector_name(len(vector)),
            query_filter=filter_of(where),
            limit=limit,
            with_payload=list(fields),
            **options,
        )
        return scored_points(found.points)

    # -------------------------------------------------------------------- writes

    def do(self, steps: Sequence[PointOperation]) -> None:
        operations = (each for step in steps for each in _operations(step))
        for request, _ in packed(operations, room=MAX_REQUEST_BYTES):
            self._ask("batch_update_points", update_operations=request, **self._writes)

    def tidy(self) -> None:
        """Do nothing, because a server does this by itself."""

    def compact(self) -> None:
        """Vacuum the files of the local mode; a server does this by itself."""
        if self._place.kind != "local" or not self._ours or self._beside:
            return
        if self._client is not None:
            self._client.close()
        self._client = None
        for path in sorted(self._place.path.glob("collection/*/storage.sqlite")):
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.execute("PRAGMA secure_delete = ON")
                db.execute("VACUUM")

    def close(self) -> None:
        self._retry.close()
        if self._client is not None and self._ours:
            self._client.close()
        self._client = None
        self._lock.release()
