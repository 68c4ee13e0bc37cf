"""The guard of loopback, before an application that must not be reached."""

from __future__ import annotations

import asyncio
import http.client
import logging
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from vaultsync.backends.http import loopback_server
from vaultsync.backends.http.loopback_guard import (
    MAX_WRONG_TOKENS,
    WRONG_TOKEN_WINDOW,
    AsgiMessage,
    AsgiScope,
    LoopbackGuard,
)
from vaultsync.backends.http.loopback_server import LoopbackServer
from vaultsync.errors import ConfigError

PORT = 27125
TOKEN = "the-token"  # noqa: S105 - of a test
HOST = ("host", f"127.0.0.1:{PORT}")
KEY = ("authorization", f"Bearer {TOKEN}")
JSON = ("content-type", "application/json")
OURS = ("x-vaultsync", "1")
GOOD = (HOST, KEY, JSON, OURS)
GREETING = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"
"""A whole request, and the begin of another one."""
Headers: TypeAlias = Sequence[tuple[str, str]]


class Inside:
    """An application that tells what reached it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.left = ""

    async def __call__(self, scope: AsgiScope, receive: Any, send: Any) -> None:  # noqa: ANN401
        if scope["type"] == "lifespan":
            self.bodies.append(b"lifespan")
            return
        self.bodies.append((await receive())["body"])
        self.left = (await receive())["type"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})


class Door:
    """The guard and what is behind it."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        self.inside, self.clock, self.token = Inside(), FakeClock(), TOKEN
        monotonic = self.clock.monotonic
        self.guard = LoopbackGuard(
            self.inside, lambda: self.token, PORT, 100, monotonic=monotonic, **settings
        )
        self.sent: list[AsgiMessage] = []
        self.unread = 0
        """Parts of the last body that nobody read."""
        self.stalls = False
        """Whether the rest of a body never comes."""

    def ask(
        self,
        *headers: tuple[str, str],
        method: str = "POST",
        body: Iterable[bytes] = (b"{}",),
        kind: str = "http",
        leaves: bool = False,
    ) -> int:
        """The status of the answer; 0 for none."""
        parts = list(body)
        messages: list[AsgiMessage] = [
            {"type": "http.request", "body": part, "more_body": leaves or k < len(parts)}
            for k, part in enumerate(parts, 1)
        ]
        scope: AsgiScope = {
            "type": kind,
            "method": method,
            "path": "/",
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in headers],
        }
        self.sent = []

        async def receive() -> AsgiMessage:
            if self.stalls and not messages:
                await asyncio.Event().wait()
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: AsgiMessage) -> None:
            self.sent.append(message)

        asyncio.run(self.guard(scope, receive, send))
        self.unread = len(messages)
        return int(self.sent[0].get("status", -1)) if self.sent else 0

    @property
    def said(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.sent)


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.mark.parametrize(
    "host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}", f"LocalHost:{PORT}"]
)
def test_who_has_the_token_passes_with_obsidians_origin_or_none(door: Door, host: str) -> None:
    asks = (("host", host), KEY, JSON, OURS)
    assert door.ask(*asks, body=(b"{", b"}")) == 200
    assert (door.inside.bodies, door.inside.left) == ([b"{}"], "http.disconnect")

    obsidian = ("origin", "app://obsidian.md")
    assert door.ask(*asks, obsidian) == 200
    assert door.ask(*asks, obsidian, ("origin", "null")) == 403


FOREIGN_NAMES = (
    "127.0.0.2 0.0.0.0 evil.example 127.0.0.1.nip.io localhost.evil.example localhost. 127.1"
    " user@localhost 2130706433 [::ffff:127.0.0.1]"
)
FOREIGN_HOSTS = (
    *(f"{name}:{PORT}" for name in FOREIGN_NAMES.split()),
    *("127.0.0.1", "localhost", "", f" 127.0.0.1:{PORT}", f"127.0.0.1:{PORT + 1}"),
    f"localhost:{PORT}.evil.example",
)
FOREIGN_ORIGINS = (
    *("", "null", "http://evil.example", "http://localhost", "capacitor://localhost", "file://"),
    *("app://obsidian.md.evil.example", "app://obsidian.md/", "APP://OBSIDIAN.MD"),
    *(f"http://127.0.0.1:{PORT}", f"http://localhost:{PORT}"),
)


WRONG_TOKENS = (
    *("", "Bearer", "Bearer ", "Bearer wrong", "Bearer \xfc", TOKEN, f"Basic {TOKEN}"),
    *(f"Bearer {said}" for said in (f"{TOKEN}x", TOKEN[:-1], TOKEN.upper(), f"Bearer {TOKEN}")),
)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        *((403, (("host", host), KEY, JSON, OURS)) for host in FOREIGN_HOSTS),
        *(
            (403, (*hosts, KEY, JSON, OURS))
            for hosts in ((), (HOST, HOST), (HOST, ("host", "evil.example")))
        ),
        *((403, (*GOOD, ("origin", origin))) for origin in FOREIGN_ORIGINS),
        *((401, (HOST, JSON, OURS, ("authorization", said))) for said in WRONG_TOKENS),
        (401, (*GOOD, KEY)),
    ],
)
def test_one_host_no_page_and_one_token_may_ask(door: Door, status: int, headers: Headers) -> None:
    assert door.ask(*headers) == status
    assert (b"vaultsync bridge token" in door.said) == (status == 401)
    assert door.inside.bodies == []


def test_a_preflight_is_not_answered(door: Door) -> None:
    asks = ("access-control-request-method", "POST")

    assert door.ask(HOST, asks, method="OPTIONS") == 401
    assert door.ask(HOST, asks, ("origin", "http://evil.example"), method="OPTIONS") == 403
    for message in door.sent:
        names = {name for name, _ in message.get("headers", ())}
        assert not any(name.startswith(b"access-control") for name in names)


def test_a_renewed_token_counts_at_once(door: Door) -> None:
    assert door.ask(*GOOD) == 200
    door.token = "another"  # noqa: S105 - of a test
    assert door.ask(*GOOD) == 401
    assert door.ask(HOST, JSON, OURS, ("authorization", "Bearer another")) == 200


def test_a_token_that_cannot_be_read_is_an_answer_and_one_line_of_the_log(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    def unreadable() -> str:
        raise ConfigError("the token file cannot be used")

    door.guard._token = unreadable

    assert door.ask(*GOOD) == 503
    assert b"ConfigError" in door.said
    assert b"token" in door.said
    assert caplog.messages == ["the token file cannot be used"]
    assert door.inside.bodies == []


def test_who_keeps_guessing_is_told_to_stop_and_who_knows_still_passes(door: Door) -> None:
    guesses = [door.ask(HOST, JSON, OURS) for _ in range(MAX_WRONG_TOKENS + 3)]

    assert guesses == [401] * MAX_WRONG_TOKENS + [429] * 3
    assert door.ask(*GOOD) == 200
    door.clock.advance(WRONG_TOKEN_WINDOW + 1)
    assert door.ask(HOST, JSON, OURS) == 401


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded"])
def test_what_changes_something_is_json_and_no_form(door: Door, kind: str) -> None:
    assert door.ask(HOST, KEY, OURS, ("content-type", kind)) == 415
    assert b"application/json" in door.said
    assert door.ask(HOST, KEY, JSON) == 400
    assert b"x-vaultsync" in door.said


def test_who_looks_or_cannot_send_the_header_needs_no_more_than_the_token(door: Door) -> None:
    assert door.ask(HOST, KEY, method="GET") == 200
    assert door.ask(HOST, KEY, OURS, method="DELETE", body=(b"",)) == 200

    without = Door(header=None)
    assert without.ask(HOST, KEY, JSON, ("origin", "app://obsidian.md")) == 200
    assert without.ask(HOST, KEY, JSON, ("origin", "http://ours")) == 403


@pytest.mark.parametrize("said", ["101", "9" * 18, "9" * 5_000, "-1", "1e3", "x"])
def test_a_length_that_is_too_much_is_refused_before_the_body(door: Door, said: str) -> None:
    assert door.ask(*GOOD, ("content-length", said)) in (413, 400)
    assert door.inside.bodies == []


def test_what_is_too_large_is_heard_out_so_that_its_sender_hears_the_answer(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parts in (2, 4):  # whatever length is said
        assert door.ask(*GOOD, body=[b"x" * 90] * parts) == 413
        assert door.unread == 0
    assert door.ask(*GOOD, body=[b"x" * 90] * 40) == 413
    assert door.unread > 30
    assert door.ask(*GOOD, ("content-length", "200"), body=[b"x" * 100] * 2) == 413
    assert door.unread == 0
    monkeypatch.setattr("vaultsync.backends.http.loopback_guard._DRAIN_SECONDS", 0.01)
    door.stalls = True
    assert door.ask(*GOOD, ("content-length", "200"), body=[]) == 413
    assert door.inside.bodies == []


def test_half_a_body_is_none_and_one_that_does_not_come_is_not_waited_for(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert door.ask(*GOOD, body=(b"{",), leaves=True) == 0
    monkeypatch.setattr("vaultsync.backends.http.loopback_guard.BODY_TIMEOUT", 0.01)
    door.stalls = True

    assert door.ask(*GOOD, body=[]) == 408
    assert door.inside.bodies == []


def test_sockets_are_closed_and_the_life_of_the_server_is_handed_on(door: Door) -> None:
    assert door.ask(*GOOD, kind="websocket") == -1
    assert (door.sent, door.inside.bodies) == ([{"type": "websocket.close", "code": 1008}], [])
    door.ask(kind="lifespan")
    assert door.inside.bodies == [b"lifespan"]


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["host", "origin", "authorization", "content-length", "x"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)
        | st.sampled_from([*FOREIGN_HOSTS, *FOREIGN_ORIGINS, HOST[1], KEY[1]]),
    ),
    max_size=6,
)


@given(HEADERS, st.sampled_from(["GET", "POST", "OPTIONS", "PUT"]))
def test_nobody_passes_without_all_of_it(headers: list[tuple[str, str]], method: str) -> None:
    door = Door()
    status = door.ask(*headers, method=method)

    names = [name for name, _ in headers]
    may = (
        names.count("host") == 1
        and names.count("authorization") == 1
        and dict(headers)["host"].lower() == HOST[1]
        and dict(headers)["authorization"] == KEY[1]
        and "origin" not in names
    )
    assert may or status in (401, 403)
    assert may or door.inside.bodies == []


async def answer(_: AsgiScope, receive: Any, send: Any) -> None:  # noqa: ANN401
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"in"})


def test_a_connection_that_is_kept_answers_no_later_than_a_new_one() -> None:
    server = LoopbackServer(lambda port: answer, [0], name="kept", lifespan="off")

    def ask(link: http.client.HTTPConnection) -> float:
        began = time.perf_counter()
        link.request("POST", "/", b"{}")
        assert link.getresponse().read() == b"in"
        return time.perf_counter() - began

    def connect() -> closing[http.client.HTTPConnection]:
        return closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60))

    new, kept = [], []
    try:
        with connect() as old:
            for _ in range(20):
                with connect() as link:
                    new.append(ask(link))
                kept.append(ask(old))
    finally:
        server.stop()
    # Where the system waits for more to send, each answer takes forty times as long.
    assert min(kept) <= 5 * min(new)


@pytest.mark.parametrize("begun", ["", "GET / HTTP/1.1\r\nHost: 127", GREETING])
def test_who_sends_no_request_keeps_nobody_out(begun: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback_server, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(loopback_server, "_MAX_CONNECTIONS", 4)
    server = LoopbackServer(lambda port: answer, [0], name="slow", lifespan="off")
    try:
        # After an answer, uvicorn itself closes a connection within five seconds.
        waiting = [socket.create_connection(("127.0.0.1", server.port), 20) for _ in range(4)]
        for each in waiting:
            # On a busy machine, the server may have closed it before this is sent.
            with each, suppress(ConnectionError):
                each.sendall(begun.encode())
                while each.recv(1 << 16):
                    pass
    finally:
        server.stop()


def test_one_connection_may_ask_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback_server, "HEAD_SECONDS", 2)
    server = LoopbackServer(lambda port: answer, [0], name="again", lifespan="off")
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as client:
            for pause in (0, 0.8, 0.8, 0.8):
                time.sleep(pause)
                client.request("GET", "/")
                assert client.getresponse().read() == b"in"
    finally:
        server.stop()


def test_each_answer_has_its_own_date() -> None:
    server = LoopbackServer(lambda port: answer, [0], name="dated", lifespan="off")
    dates = []
    try:
        for pause in (0, 1.1):
            time.sleep(pause)
            with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as link:
                before = int(time.time())
                link.request("POST", "/", b"{}")
                (date,) = link.getresponse().headers.get_all("date", [])
                dates.append(before <= parsedate_to_datetime(date).timestamp() <= time.time())
    finally:
        server.stop()
    assert all(dates)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("token", [TOKEN, "wrong"])
def test_a_malformed_body_is_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture, token: str, is_late: bool
) -> None:
    inside = Inside()

    def guarded(port: int) -> LoopbackGuard:
        return LoopbackGuard(inside, lambda: TOKEN, port, monotonic=time.monotonic)

    server = LoopbackServer(guarded, [0], name="malformed", lifespan="off")
    head = (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nX-Vaultsync: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    try:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as link:
                link.sendall(head.encode() + (b"" if is_late else b"zz\r\n{}\r\n"))
                if is_late:
                    time.sleep(0.05)
                    with suppress(ConnectionError):
                        link.sendall(b"zz\r\n{}\r\n")
                assert link.recv(1_000).startswith(b"HTTP/1.1 40")
    finally:
        server.stop()
    ours = [x for x in caplog.records if x.name.startswith("vaultsync.")]
    assert len(ours) <= 5, caplog.text
    assert not any(x.exc_info for x in caplog.records), caplog.text
    assert inside.bodies == []
    assert not logging.getLogger("uvicorn.error").propagate


def test_a_request_that_the_end_of_the_server_cuts_off_is_logged_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reached = threading.Event()

    async def wait(_: AsgiScope, receive: Any, send: Any) -> None:  # noqa: ANN401
        reached.set()
        await asyncio.Event().wait()

    server = LoopbackServer(lambda port: wait, [0], name="slow", lifespan="off")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as link:
        link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reached.wait(60)
        with caplog.at_level("INFO"):
            server.stop()

    ours = [x for x in caplog.records if x.name.startswith("vaultsync.")]
    assert any("graceful shutdown exceeded" in x.getMessage() for x in ours), caplog.text
    assert not any(x.exc_info or "Exception" in x.getMessage() for x in ours), caplog.text
