"""Requests to a bridge: one that works is waited for, one that is suspended is not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from vaultsync.backends.http import bridge_client
from vaultsync.backends.http.bridge_client import ask_bridge, check_bridge

SLICE = 0.2
NO_ROUTE = b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}"
DONE = b'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"run": "r"}'


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_client, "BRIDGE_TIMEOUT", SLICE)
    monkeypatch.setattr(ask_bridge, "__defaults__", (SLICE,))


@contextmanager
def bridge(answers: Callable[[int], bytes | None]) -> Iterator[int]:
    """The port of a server; `answers` gives what the n-th ping gets, None leaves it open.

    The first request that is no ping is answered after the last ping that was.
    """
    open_links: list[socket.socket] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        pings = 0
        try:
            while True:
                link, _ = server.accept()
                open_links.append(link)
                if link.recv(65536).startswith(b"GET / "):
                    pings += 1
                    answer = answers(pings)
                    if answer is None:
                        continue
                    link.sendall(NO_ROUTE)
                    if answer:
                        open_links[0].sendall(answer)
        except OSError:
            return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for each in open_links:
            each.close()


def test_an_engine_that_works_for_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine, a ping may be answered late.
    monkeypatch.setattr(ask_bridge, "__defaults__", (60,))
    with bridge(lambda n: DONE if n == 4 else b"") as port:
        began = time.monotonic()
        assert ask_bridge(port, "t", "/v1/verify", {}, 60) == {"run": "r"}
        assert time.monotonic() - began > 3 * SLICE


def test_a_process_that_is_suspended_meanwhile_is_not() -> None:
    with bridge(lambda n: b"" if n < 3 else None) as port:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            ask_bridge(port, "t", "/v1/verify", {}, 60)
        assert time.monotonic() - began < 30


def test_the_wait_ends_though_the_process_runs() -> None:
    with bridge(lambda _: b"") as port:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            ask_bridge(port, "t", "/v1/verify", {}, 3 * SLICE)
        assert time.monotonic() - began < 30


def test_a_bridge_that_has_ended_is_none() -> None:
    with bridge(lambda _: b"") as port:
        pass
    assert ask_bridge(port, "t", "/v1/verify", {}, 60) is None
    check_bridge(port, "t")
