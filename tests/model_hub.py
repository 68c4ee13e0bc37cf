"""A hub of models on this machine, which fails on demand."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from vaultsync.backends.embedders.fetched_models import WEIGHTS

NAME = "tea/tea-small"
FILE = re.compile(r"/tea/tea-small/resolve/([\w.-]+)/(.+)")


@dataclass
class Hub:
    """A hub with one model."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """File and range of each request."""
    cut: dict[str, list[int]] = field(default_factory=dict)
    """File -> numbers of bytes after which the next answers are cut off."""
    redirect: str = ""
    """The address to which all requests are redirected, if any."""
    status: int = 0
    tag: Callable[[bytes], str] = lambda data: f'"{sha256(data).hexdigest()}"'

    @property
    def sha(self) -> str:
        return sha256(self.files[WEIGHTS]).hexdigest()


@contextmanager
def serving_hub() -> Iterator[Hub]:
    """The hub, until the block ends."""
    made = Hub(
        files={
            "config.json": b'{"hidden_size": 12}',
            "tokenizer.json": b"{}",
            WEIGHTS: bytes(range(256)) * 4_000,
            "1_Pooling/config.json": b"{}",
        }
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = FILE.fullmatch(self.path)
            name = found[2] if found else ""
            made.asked.append((name, self.headers["Range"]))
            data = made.files.get(name)
            if made.status or data is None:
                self.send_error(made.status or 404)
                return
            if made.redirect:
                self.send_response(302)
                self.send_header("Location", f"{made.redirect}{self.path}")
                self.end_headers()
                return
            tag, begin = made.tag(data), 0
            if self.headers["Range"] and self.headers["If-Range"] == tag:
                begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            rest = data[begin:]
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(rest)))
            self.send_header("ETag", tag)
            self.end_headers()
            cuts = made.cut.get(name)
            self.wfile.write(rest[: cuts.pop(0)] if cuts else rest)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()
