"""A service with the HTTP protocol of remotes, which fails on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any
from urllib.parse import unquote


@dataclass
class ModuleService:
    """The modules by space and chunk, and the requests."""

    url: str = ""
    held: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    keys: list[str | None] = field(default_factory=list)
    status: int = 0
    """The status of every answer, if it is set."""
    raw: bytes | None = None
    """The body of every answer, if it is set."""
    location: str = ""
    silent: bool = False
    """Whether it accepts requests and never answers."""
    slowly: int = 0
    """The number of blanks that follow an answer, one after the other."""


@contextmanager
def serving() -> Iterator[ModuleService]:
    """A service on a free port, until the block ends."""
    service, done = ModuleService(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            service.keys.append(self.headers.get("Authorization"))
            if service.silent:
                done.wait(60)
                return
            parts = [unquote(each) for each in self.path.strip("/").split("/")]
            status, answer = self._asked(parts, body)
            data = service.raw if service.raw is not None else json.dumps(answer).encode()
            self.send_response(service.status or status)
            if service.location:
                self.send_header("Location", service.location)
            self.send_header("Content-Length", str(len(data) + service.slowly))
            self.end_headers()
            self.wfile.write(data)
            _send_blanks(self.wfile, service.slowly)

        def _asked(self, parts: list[str], body: dict[str, Any]) -> tuple[int, object]:
            space, what = parts[1], parts[2]
            if what == "retrieve":
                hits = []
                for each in body["chunk_ids"]:
                    if (found := service.held.get((space, each))) is not None:
                        keys = ("text", "checksum", "chunk_id")
                        hit = {key: found[key] for key in keys}
                        hits.append({**hit, "confidence": 0.95, "remote_id": f"{space}/{each}"})
                return 200, {"hits": hits}
            if self.command == "PUT":
                service.held[space, parts[3]] = body
                return 201, {"id": f"{space}/{parts[3]}"}
            gone = service.held.pop((space, parts[3]), None)
            return (404 if gone is None else 200), {}

        do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        done.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _send_blanks(connection: BufferedIOBase, number: int) -> None:
    with suppress(OSError):  # the client has gone
        for _ in range(number):
            time.sleep(0.05)
            connection.write(b" ")
