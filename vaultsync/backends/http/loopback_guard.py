"""The guard of a loopback server: requests are authorised before they are routed.

A page in a browser can reach 127.0.0.1, even under a host name of its own (DNS rebinding).
So the host and the origin of a request are checked first; a token alone is not enough
(GHSA-w48q-cv73-mx4w and others). The order is Host, Origin, token, other headers, and the
body, which is read completely before the application gets the request. No response allows
another origin, so preflights fail.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from vaultsync.errors import ConfigError
from vaultsync.privacy.error_json import error_values_json

_log = logging.getLogger(__name__)

AsgiScope: TypeAlias = MutableMapping[str, Any]
AsgiMessage: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
Asgi: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 1 << 20
"""Maximum size of a body in bytes, larger than any note."""
BODY_TIMEOUT = 10.0
"""Seconds within which a body must arrive."""
_SPARE = 4
"""Factor on the limit up to which a too large body is read, so that the response arrives."""
_DRAIN_SECONDS = 0.5
"""The time limit for that."""
MAX_WRONG_TOKENS = 10
"""Number of wrong tokens within `WRONG_TOKEN_WINDOW` seconds that leads to status 429."""
WRONG_TOKEN_WINDOW = 60.0
ALLOWED_ORIGINS = ("app://obsidian.md",)
"""The origin of Obsidian on a desktop."""
REQUIRED_HEADER = "x-vaultsync"
"""Required of requests that may change something: a form in a browser cannot send it."""
_REFUSALS = {
    401: (
        "the token is missing or wrong",
        "send the header `Authorization: Bearer TOKEN`; `vaultsync bridge token` prints the token",
    ),
    408: (f"the body did not arrive within {BODY_TIMEOUT:.0f} s", "send the request again"),
    429: ("too many requests had a wrong token", f"wait {WRONG_TOKEN_WINDOW:.0f} s"),
    503: ("the token file cannot be read", "the log of vaultsync says why"),
}
"""Status -> message and hint. A wrong host or origin (403) gets none: it is a web page, which must
not learn what listens here."""
_DIVIDE = "divide the request into several"
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class LoopbackGuard:
    """An ASGI application behind the guard, which listens at a port.

    `token` returns the current token, which may be rotated at any time, or raises ConfigError;
    `limit` is the maximum size of a body in bytes; `header` must be `1` in requests that may
    change something, None requires none. Requests without an origin are allowed too.
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
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._limit = limit
        self._too_large = f"the maximum size of a body is {limit} bytes"
        self._monotonic = monotonic
        self._header = header
        self._failed: deque[float] = deque(maxlen=MAX_WRONG_TOKENS)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Refuse unauthorised requests; pass on all others."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = [(name.decode("latin-1").lower(), value) for name, value in scope["headers"]]
        status = self._authorization_status(headers)
        if scope["type"] != "http":  # web sockets are not supported
            await send({"type": "websocket.close", "code": 1008})
            return
        if status:
            await _answer(send, status)
            return
        if refusal := self._header_error(scope["method"], headers):
            await _drain(receive, self._limit)
            await _answer(send, *refusal)
            return
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await self._body(receive)
        except TimeoutError:
            await _answer(send, 408)
            return
        except ConnectionError:
            return  # an incomplete request is not carried out
        if body is None:
            await _drain(receive, self._limit)
            await _answer(send, 413, self._too_large, _DIVIDE)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _authorization_status(self, headers: Sequence[tuple[str, bytes]]) -> int:
        """The status of the refusal; 0 for an authorised request."""
        if _single_header(headers, "host").lower() not in self._hosts:
            return 403
        origins = [value for name, value in headers if name == "origin"]
        if origins and _single_header(headers, "origin") not in ALLOWED_ORIGINS:
            return 403
        kind, _, given = _single_header(headers, "authorization").partition(" ")
        try:
            token = self._token()
        except ConfigError as error:
            _log.error("%s", error.message)
            return 503
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
            return 0
        return self._failure()

    def _failure(self) -> int:
        """401, or 429 after many failures."""
        now = self._monotonic()
        many = len(self._failed) == MAX_WRONG_TOKENS and now - self._failed[0] < WRONG_TOKEN_WINDOW
        if not many:
            self._failed.append(now)
        return 429 if many else 401

    def _header_error(
        self, method: str, headers: Sequence[tuple[str, bytes]]
    ) -> tuple[int, str, str] | None:
        """Status, message and hint for wrong headers of an authorised request."""
        length = _single_header(headers, "content-length") or "0"
        if not (length.isascii() and length.isdecimal()) or len(length) > len("9" * 18):
            return 400, "Content-Length is not a number", "send the number of bytes of the body"
        if int(length) > self._limit:
            return 413, self._too_large, _DIVIDE
        if method not in _CHANGING:
            return None
        if self._header and _single_header(headers, self._header) != "1":
            hint = "send it with every request that may change something"
            return 400, f"the header {self._header}: 1 is missing", hint
        kind = _single_header(headers, "content-type").partition(";")[0].strip().lower()
        bodyless = method == "DELETE" and length == "0"
        if kind != "application/json" and not bodyless:
            hint = "send the header `Content-Type: application/json`"
            return 415, "a body must be application/json", hint
        return None

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None if it is too large.

        Raises:
            ConnectionError: the client disconnected before sending all of it.
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


def _single_header(headers: Sequence[tuple[str, bytes]], name: str) -> str:
    """The value of a header that occurs exactly once; otherwise ""."""
    found = [value for key, value in headers if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message, then the client's further messages."""
    messages: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> AsgiMessage:
        return messages.pop() if messages else await receive()

    return replay


async def _drain(receive: Receive, limit: int) -> None:
    """Continue reading: a client that is cut off while sending does not read the response."""
    left = _SPARE * limit
    with suppress(TimeoutError):  # it had enough time
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b"")) or 1
                if not message.get("more_body", False):
                    return


async def _answer(send: Send, status: int, message: str = "", hint: str = "") -> None:
    if not message:
        message, hint = _REFUSALS.get(status, ("", ""))
    kind = "ConfigError" if status == 503 else "UsageError"  # noqa: PLR2004 - as above
    body = json.dumps(error_values_json(kind, message, hint)).encode() if message else b""
    headers = [
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if body:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
