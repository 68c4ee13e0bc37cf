"""A server that speaks Qdrant's REST for what vaultsync asks of it, and fails on demand.

What it holds is the local mode of Qdrant's own client, so that conditions and filters mean
what they mean there; what is tried over it is the other half: requests, answers, their loss.
It is as strict as a server can be set, and stricter: a body must be what Qdrant's OpenAPI
document says (of which the models of the client are made), no larger than a server takes,
and every key that a filter asks must have its payload index, as servers in the cloud want.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models

from tests.ports import free_port

_JSON = TypeAdapter(Any)
LARGEST = 32 << 20
"""Bytes of a body that a server takes, unless it is set otherwise."""
_HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, "max_indexing_threads": 0}


class RefusedError(Exception):
    """An answer that is not 200, in a server's words."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


@dataclass
class Fault:
    """What happens to a request."""

    status: int = 0
    """It is answered so, and nothing is done."""
    said: str = "trouble"
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """The whole body of that answer, in place of a server's JSON."""
    lost: bool = False
    """It is done, and the connection breaks before the answer."""
    held: threading.Event | None = None
    """It is done, and answered once this is set."""


class FakeQdrant:
    """A server on loopback, while it is entered."""

    def __init__(self) -> None:
        self.client = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._links: set[socket.socket] = set()
        self.port = 0
        self.clear()

    def clear(self) -> None:
        """Be as it was when it was made, but for the port."""
        for each in self.client.get_collections().collections:
            self.client.delete_collection(each.name)
        self.asked: list[str] = []
        self.words: dict[str, set[str]] = {}
        """The last part of a path -> the words that stood behind it."""
        self.largest = 0
        """Bytes of the largest body."""
        self.keys: set[str | None] = set()
        self.fault: Callable[[str, str], Fault | None] = lambda method, path: None
        self.config: dict[str, dict[str, Any]] = {}
        self.indexes: dict[str, str] = {}
        self.version = "1.20.0"
        self.widens = True
        """Whether it knows named vectors that come later, as newer servers do."""

    @cached_property
    def asker(self) -> QdrantClient:
        """A client of it, to be shared: to make one takes longer than most tests."""
        return QdrantClient(host="127.0.0.1", port=self.port, timeout=60, check_compatibility=False)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self.client.close()

    def start(self) -> None:
        """Listen, on the port of last time; harmless when repeated."""
        if self._server is not None:
            return
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                fake._links.add(self.request)
                super().setup()

            def finish(self) -> None:
                fake._links.discard(self.request)
                super().finish()

            def _answer(self) -> None:
                fake.handle(self)

            do_GET = do_PUT = do_POST = _answer  # noqa: N815 - as http.server names them

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """No word."""

        ThreadingHTTPServer.allow_reuse_address = True
        self.port = self.port or free_port()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Nobody listens any more, and all connections are gone."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        for link in list(self._links):
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        self._server = None  # last: another thread may wait for it to start the server again

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        self.largest = max(self.largest, length)
        data = request.rfile.read(length) or b"{}"
        path, words = urlsplit(request.path).path, urlsplit(request.path).query
        self.asked.append(f"{request.command} {path}")
        self.words.setdefault(path.rpartition("/")[2], set()).add(words)
        self.keys.add(request.headers.get("api-key"))
        fault = self.fault(request.command, path) or Fault()
        if fault.status:
            said: object = {"status": {"error": fault.said}, "time": 0.0}
            body = _JSON.dump_json(said) if fault.raw is None else fault.raw
            self._send(request, fault.status, body, fault.headers)
            return
        if path == "/":
            said = {"title": "qdrant - vector search engine", "version": self.version}
            self._send(request, 200, _JSON.dump_json(said), {})
            return
        try:
            with self._lock:
                result = self._do(request.command, path, data)
            status, said = 200, {"result": result, "status": "ok", "time": 0.0}
        except RefusedError as refused:
            status = refused.status
            said = {"status": {"error": str(refused)}, "time": 0.0}
        if fault.held is not None:
            fault.held.wait(60)
        if fault.lost:
            request.close_connection = True
            request.connection.close()
            return
        self._send(request, status, _JSON.dump_json(said), {})

    def _send(
        self, request: BaseHTTPRequestHandler, status: int, data: bytes, headers: dict[str, str]
    ) -> None:
        try:
            request.send_response(status)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(data)
        except OSError:
            request.close_connection = True

    def _do(self, method: str, path: str, data: bytes) -> object:
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        assert found is not None, path
        name, rest = found[1], found[2] or ""
        known = re.sub(r"(/vectors)/.*", r"\1", rest)
        act, shape = _ACTS[method, known]
        if len(data) > LARGEST:
            said = f"JSON payload ({len(data)} bytes) is larger than allowed"
            raise RefusedError(400, f"Payload error: {said} (limit: {LARGEST} bytes).")
        try:
            body = shape.validate_json(data, strict=False)
        except ValidationError as wrong:
            raise RefusedError(400, f"Format error in JSON body: {wrong}") from None
        if not self.client.collection_exists(name) and act not in _WITHOUT:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        self._check_filters(json.loads(data))
        return act(self, name, body, rest)

    def _check_filters(self, said: object) -> None:
        """As strict mode does: a filter asks only what is indexed, and as it is."""
        if isinstance(said, list):
            for each in said:
                self._check_filters(each)
        if not isinstance(said, dict):
            return
        for name, inner in said.items():
            if name in ("filter", "update_filter") and inner:
                for condition in inner.get("must", []):
                    self._check_condition(condition)
            if name not in ("payload", "vector"):
                self._check_filters(inner)

    def _check_condition(self, said: dict[str, Any]) -> None:
        key = said["is_empty"]["key"] if "is_empty" in said else said["key"]
        kind = self.indexes.get(key)
        fits = kind is not None
        if "range" in said:
            fits = kind == "integer"
        elif "match" in said:
            wanted = str if kind == "keyword" else int
            fits = fits and all(isinstance(each, wanted) for each in said["match"]["any"])
        if not fits:
            missing = f'Index required but not found for "{key}"'
            raise RefusedError(400, f"Bad request: {missing}; it is {kind}")

    def _exists(self, name: str, body: object, rest: str) -> object:
        return {"exists": self.client.collection_exists(name)}

    def _make(self, name: str, body: models.CreateCollection, rest: str) -> object:
        if self.client.collection_exists(name):
            raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
        self.config[name] = json.loads(body.model_dump_json(exclude_none=True))
        return self.client.create_collection(name, vectors_config=body.vectors)

    def _describe(self, name: str, body: object, rest: str) -> object:
        info = json.loads(self.client.get_collection(name).model_dump_json())
        said = self.config[name]
        info["config"]["hnsw_config"] = _HNSW | (said.get("hnsw_config") or {})
        info["config"]["quantization_config"] = said.get("quantization_config")
        for key in ("shard_number", "replication_factor", "write_consistency_factor"):
            info["config"]["params"][key] = said.get(key) or 1
        return info

    def _index(self, name: str, body: models.CreateFieldIndex, rest: str) -> object:
        self.indexes[body.field_name] = str(body.field_schema)
        return {"operation_id": 0, "status": "completed"}

    def _retrieve(self, name: str, body: models.PointRequest, rest: str) -> object:
        return self.client.retrieve(
            name,
            body.ids,
            with_payload=_asked(body.with_payload, default=True),
            with_vectors=_asked(body.with_vector, default=False),
        )

    def _scroll(self, name: str, body: models.ScrollRequest, rest: str) -> object:
        points, after = self.client.scroll(
            name,
            scroll_filter=body.filter,
            limit=body.limit or 10,
            offset=body.offset,
            with_payload=_asked(body.with_payload, default=True),
            with_vectors=_asked(body.with_vector, default=False),
        )
        return {"points": points, "next_page_offset": after}

    def _count(self, name: str, body: models.CountRequest, rest: str) -> object:
        return self.client.count(name, body.filter)

    def _query(self, name: str, body: models.QueryRequest, rest: str) -> object:
        assert isinstance(body.query, models.NearestQuery)
        assert isinstance(body.query.nearest, list)
        self._check_vectors(name, {body.using or "": body.query.nearest})
        return self.client.query_points(
            name,
            query=body.query.nearest,
            using=body.using,
            query_filter=body.filter,
            limit=body.limit or 10,
            with_payload=_asked(body.with_payload, default=False),
        )

    def _batch(self, name: str, body: models.UpdateOperations, rest: str) -> object:
        for each in body.operations:
            if isinstance(each, models.UpsertOperation):
                assert isinstance(each.upsert, models.PointsList)
                for point in each.upsert.points:
                    assert isinstance(point.vector, dict)
                    self._check_vectors(name, point.vector)
        self.client.batch_update_points(name, body.operations)
        done = {"operation_id": 0, "status": "completed"}
        return [done for _ in body.operations]

    def _check_vectors(self, name: str, vectors: dict[str, Any]) -> None:
        held = self.client.get_collection(name).config.params.vectors
        assert isinstance(held, dict)
        for vector, numbers in vectors.items():
            if vector not in held:
                said = f"Not existing vector name error: {vector}"
                raise RefusedError(400, f"Wrong input: {said}")
            if len(numbers) != held[vector].size:
                said = f"expected dim: {held[vector].size}, got {len(numbers)}"
                raise RefusedError(400, f"Wrong input: Vector dimension error: {said}")

    def _widen(self, name: str, body: models.VectorNameConfig, rest: str) -> object:
        if not self.widens:
            raise RefusedError(404, "")
        self.client.create_vector_name(name, rest.rpartition("/")[2], body)
        return {"operation_id": 0, "status": "completed"}


def _asked(said: Any, *, default: bool) -> Any:  # noqa: ANN401 - many shapes, passed on
    return default if said is None else said


_ACTS: dict[tuple[str, str], tuple[Callable[..., object], TypeAdapter[Any]]] = {
    ("GET", "/exists"): (FakeQdrant._exists, _JSON),
    ("PUT", ""): (FakeQdrant._make, TypeAdapter(models.CreateCollection)),
    ("GET", ""): (FakeQdrant._describe, _JSON),
    ("PUT", "/index"): (FakeQdrant._index, TypeAdapter(models.CreateFieldIndex)),
    ("POST", "/points"): (FakeQdrant._retrieve, TypeAdapter(models.PointRequest)),
    ("POST", "/points/scroll"): (FakeQdrant._scroll, TypeAdapter(models.ScrollRequest)),
    ("POST", "/points/count"): (FakeQdrant._count, TypeAdapter(models.CountRequest)),
    ("POST", "/points/query"): (FakeQdrant._query, TypeAdapter(models.QueryRequest)),
    ("POST", "/points/batch"): (FakeQdrant._batch, TypeAdapter(models.UpdateOperations)),
    ("PUT", "/vectors"): (FakeQdrant._widen, TypeAdapter(models.VectorNameConfig)),
}
_WITHOUT = (FakeQdrant._exists, FakeQdrant._make)
"""What needs no collection."""
