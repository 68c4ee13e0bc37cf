"""A server that speaks Qdrant's REST for what vaultsync asks of it, and fails on demand.

What it holds is the local mode of Qdrant's own client, so that conditions and filters mean
what they mean there; what is tried over it is the other half: requests, answers, their loss.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models

_JSON = TypeAdapter(Any)
_HNSW = {
    "m": 16,
    "ef_construct": 100,
    "full_scan_threshold": 10_000,
    "max_indexing_threads": 0,
}


@dataclass
class Fault:
    """What happens to a request."""

    status: int = 0
    """It is answered so, and nothing is done."""
    said: str = "trouble"
    headers: dict[str, str] = field(default_factory=dict)
    lost: bool = False
    """It is done, and the connection breaks before the answer."""
    held: threading.Event | None = None
    """It is done, and answered once this is set."""


class FakeQdrant:
    """A server on loopback, while it is entered."""

    def __init__(self) -> None:
        self.client = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self.asked: list[str] = []
        self.keys: set[str | None] = set()
        self.fault: Callable[[str, str], Fault | None] = lambda method, path: None
        self.config: dict[str, dict[str, Any]] = {}
        self.indexes: dict[str, str] = {}
        self.widens = True
        """Whether it knows named vectors that come later, as newer servers do."""
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self.client.close()

    def start(self) -> None:
        """Listen, on the port of last time."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                fake.handle(self)

            do_GET = do_PUT = do_POST = _answer  # noqa: N815 - as http.server names them

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """No word."""

        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,)).start()

    def stop(self) -> None:
        """Nobody listens any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        body = json.loads(request.rfile.read(length) or b"{}")
        path = request.path.partition("?")[0]
        self.asked.append(f"{request.command} {path}")
        self.keys.add(request.headers.get("api-key"))
        fault = self.fault(request.command, path) or Fault()
        if fault.status:
            said = {"status": {"error": fault.said}, "time": 0.0}
            self._send(request, fault.status, said, fault.headers)
            return
        try:
            with self._lock:
                result = self._do(request.command, path, body)
            status, said = 200, {"result": result, "status": "ok", "time": 0.0}
        except (ValueError, KeyError) as error:
            status, said = 400, {"status": {"error": str(error)}, "time": 0.0}
        if fault.held is not None:
            fault.held.wait(30)
        if fault.lost:
            request.close_connection = True
            request.connection.close()
            return
        self._send(request, status, said, {})

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        said: object,
        headers: dict[str, str],
    ) -> None:
        data = _JSON.dump_json(said)
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

    def _do(self, method: str, path: str, body: dict[str, Any]) -> object:
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        assert found is not None, path
        name, rest = found[1], found[2] or ""
        return _ACTS[method, re.sub(r"(/vectors)/.*", r"\1", rest)](
            self, name, body, rest
        )

    def _exists(self, name: str, body: dict[str, Any], rest: str) -> object:
        return {"exists": self.client.collection_exists(name)}

    def _make(self, name: str, body: dict[str, Any], rest: str) -> object:
        if self.client.collection_exists(name):
            raise ValueError(f"Collection `{name}` already exists!")
        vectors = {
            each: models.VectorParams(**said) for each, said in body["vectors"].items()
        }
        self.config[name] = body
        return self.client.create_collection(name, vectors_config=vectors)

    def _describe(self, name: str, body: dict[str, Any], rest: str) -> object:
        info = json.loads(self.client.get_collection(name).model_dump_json())
        said = self.config[name]
        info["config"]["hnsw_config"] = _HNSW | (said.get("hnsw_config") or {})
        info["config"]["quantization_config"] = said.get("quantization_config")
        for key in ("shard_number", "replication_factor", "write_consistency_factor"):
            info["config"]["params"][key] = said.get(key) or 1
        return info

    def _index(self, name: str, body: dict[str, Any], rest: str) -> object:
        self.indexes[body["field_name"]] = body["field_schema"]
        return {"operation_id": 0, "status": "completed"}

    def _retrieve(self, name: str, body: dict[str, Any], rest: str) -> object:
        return self.client.retrieve(
            name,
            body["ids"],
            with_payload=body.get("with_payload", True),
            with_vectors=body.get("with_vector", False),
        )

    def _scroll(self, name: str, body: dict[str, Any], rest: str) -> object:
        points, after = self.client.scroll(
            name,
            scroll_filter=_filter(body.get("filter")),
            limit=body.get("limit", 10),
            offset=body.get("offset"),
            with_payload=body.get("with_payload", True),
            with_vectors=body.get("with_vector", False),
        )
        return {"points": points, "next_page_offset": after}

    def _count(self, name: str, body: dict[str, Any], rest: str) -> object:
        return self.client.count(name, _filter(body.get("filter")))

    def _query(self, name: str, body: dict[str, Any], rest: str) -> object:
        return self.client.query_points(
            name,
            query=body["query"]["nearest"],
            using=body["using"],
            query_filter=_filter(body.get("filter")),
            limit=body["limit"],
            with_payload=body.get("with_payload", True),
        )

    def _batch(self, name: str, body: dict[str, Any], rest: str) -> object:
        operations = models.UpdateOperations(**body).operations
        self.client.batch_update_points(name, operations)
        done = {"operation_id": 0, "status": "completed"}
        return [done for _ in operations]

    def _widen(self, name: str, body: dict[str, Any], rest: str) -> object:
        if not self.widens:
            raise ValueError("there is no such endpoint")
        config = models.DenseVectorNameConfig(**body)
        vector = rest.rpartition("/")[2]
        self.client.create_vector_name(name, vector, config)
        return {"operation_id": 0, "status": "completed"}


def _filter(said: object) -> models.Filter | None:
    return models.Filter.model_validate(said) if said else None


_ACTS: dict[tuple[str, str], Callable[..., object]] = {
    ("GET", "/exists"): FakeQdrant._exists,
    ("PUT", ""): FakeQdrant._make,
    ("GET", ""): FakeQdrant._describe,
    ("PUT", "/index"): FakeQdrant._index,
    ("POST", "/points"): FakeQdrant._retrieve,
    ("POST", "/points/scroll"): FakeQdrant._scroll,
    ("POST", "/points/count"): FakeQdrant._count,
    ("POST", "/points/query"): FakeQdrant._query,
    ("POST", "/points/batch"): FakeQdrant._batch,
    ("PUT", "/vectors"): FakeQdrant._widen,
}
