"""The guard of what listens on loopback: who may ask is decided before anything is routed.

A page in a browser can reach 127.0.0.1, and a name of its own can be made to lead there
(DNS rebinding): so the name that was asked for and the page that asks are looked at first,
and a token alone is not enough (GHSA-w48q-cv73-mx4w and its like). The order is Host,
Origin, token, then headers, then the body, which is read whole before anybody else sees
the request. No answer ever allows another origin: preflights fail.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

from vaultsync.privacy.error_json import error_values_json

AsgiScope: TypeAlias = MutableMapping[str, Any]
AsgiMessage: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
Asgi: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 1 << 20
"""Bytes of a body; a note is no larger."""
BODY_TIMEOUT = 10.0
"""Seconds in which a body must have arrived."""
_SPARE = 4
"""So many times the limit is read of what is too large, to be able to answer."""
_DRAIN_SECONDS = 0.5
"""Seconds that may take."""
MAX_WRONG_TOKENS = 10
"""So many wrong tokens in `WITHIN` seconds are answered one by one."""
WRONG_TOKEN_WINDOW = 60.0
ALLOWED_ORIGINS = ("app://obsidian.md",)
"""Obsidian on a desktop, where it sends an origin at all."""
REQUIRED_HEADER = "x-vaultsync"
"""Sent with everything that may change something: a form of a browser cannot."""
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class LoopbackGuard:
    """An ASGI application behind the guard.

    Args:
        app: what is guarded.
        token: tells the token as it is now; it may be renewed at any time.
        port: at which it listens; the only one that a Host may name.
        limit: bytes of a body.
        header: of every request that may change something, `1`; None asks for none.
        origins: that may ask, beside no origin at all.
        monotonic: seconds that never go back, to count failures by.
    """

    def __init__(
        self,
        app: Asgi,
        token: Callable[[], str],
        port: int,
        limit: int = MAX_BODY_BYTES,
        *,
        monotonic: Callable[[], float],
        header: str | None = REQUIRED_HEADER,
        origins: Sequence[str] = ALLOWED_ORIGINS,
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._limit = limit
        self._monotonic = monotonic
        self._header = header
        self._origins = frozenset(origins)
        self._failed: deque[float] = deque(maxlen=MAX_WRONG_TOKENS)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer what may not pass; hand on all else."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        status = self._stranger(_headers(scope))
        if scope["type"] != "http":  # a socket: nobody here speaks it
            await send({"type": "websocket.close", "code": 1008})
            return
        if status:
            await _answer(send, status)
            return
        if trouble := self._unfit(scope, _headers(scope)):
            await _drain(receive, self._limit)
            await _refuse(send, *trouble)
            return
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await self._body(receive)
        except TimeoutError:
            await _answer(send, 408)
            return
        except ConnectionError:
            return  # half of what was meant is not what was meant
        if body is None:
            await _drain(receive, self._limit)
            await _refuse(send, *self._too_large())
            return
        await self._app(scope, _replayed(body, receive), send)

    def _stranger(self, headers: Sequence[tuple[str, bytes]]) -> int:
        """The status for somebody who may not ask; 0 for who may."""
        if _single_header(headers, "host").lower() not in self._hosts:
            return 403
        origins = [value for name, value in headers if name == "origin"]
        if origins and _single_header(headers, "origin") not in self._origins:
            return 403
        said = _single_header(headers, "authorization")
        kind, _, given = said.partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode(), self._token().encode()
        ):
            return 0
        return self._failure()

    def _failure(self) -> int:
        """401, or 429 for who keeps trying."""
        now = self._monotonic()
        many = len(self._failed) == MAX_WRONG_TOKENS and now - self._failed[0] < WRONG_TOKEN_WINDOW
        if not many:
            self._failed.append(now)
        return 429 if many else 401

    def _unfit(
        self, scope: AsgiScope, headers: Sequence[tuple[str, bytes]]
    ) -> tuple[int, str, str] | None:
        """What is wrong with the headers of somebody who may ask."""
        length = _single_header(headers, "content-length") or "0"
        if not (length.isascii() and length.isdecimal()) or len(length) > len("9" * 18):
            return 400, "UsageError", "Content-Length is no number"
        if int(length) > self._limit:
            return self._too_large()
        if scope["method"] not in _CHANGING:
            return None
        if self._header and _single_header(headers, self._header) != "1":
            return 400, "UsageError", f"the header {self._header}: 1 is missing"
        kind = _single_header(headers, "content-type").partition(";")[0].strip().lower()
        bodyless = scope["method"] == "DELETE" and length == "0"
        if kind != "application/json" and not bodyless:
            return 415, "UsageError", "a body must be application/json"
        return None

    def _too_large(self) -> tuple[int, str, str]:
        return 413, "UsageError", f"a body may have {self._limit} bytes"

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None when it is too large.

        Raises:
            ConnectionError: the client left before all of it was there.
        """
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            body += message.get("body", b"")
            if len(body) > self._limit:
                return None
            if not message.get("more_body", False):
                return bytes(body)


def _headers(scope: AsgiScope) -> list[tuple[str, bytes]]:
    return [(name.decode("latin-1").lower(), value) for name, value in scope["headers"]]


def _single_header(headers: Sequence[tuple[str, bytes]], name: str) -> str:
    """The value of a header that is there once; "" for none, or several."""
    found = [value for key, value in headers if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message; then whatever else the client says."""
    messages: deque[AsgiMessage] = deque(
        [{"type": "http.request", "body": body, "more_body": False}]
    )

    async def replay() -> AsgiMessage:
        return messages.popleft() if messages else await receive()

    return replay


async def _drain(receive: Receive, limit: int) -> None:
    """Read on for a little: who is cut off while it sends does not hear the answer."""
    left = _SPARE * limit
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b"")) or 1
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


async def _refuse(send: Send, status: int, kind: str, message: str) -> None:
    await _answer(send, status, json.dumps(error_values_json(kind, message)).encode())


async def _answer(send: Send, status: int, body: bytes = b"") -> None:
    headers = [
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if body:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
