"""An ASGI application that listens on loopback, in its own thread."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.utils import formatdate
from typing import Literal

from vaultsync.backends.http.loopback_guard import Asgi, AsgiMessage, AsgiScope, Receive, Send
from vaultsync.extras import needs_extra

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
_MAX_CONNECTIONS = 100
"""Maximum number of concurrent requests and streams."""
HEAD_SECONDS = 5.0
"""Seconds within which the head of a request must arrive: else a few connections that send nothing
would keep all others out."""
_SHUTDOWN_SECONDS = 1
"""Seconds that running requests have to finish when it stops."""


class LoopbackServer:
    """A server that listens at the first free of some ports until it is stopped.

    `make` creates the application for a port; port 0 is any free one. `name` is the name of
    the thread, and `lifespan` states whether the application gets events of start and end.

    Raises:
        MissingExtraError: uvicorn is not installed.
        OSError: none of the ports is free.
    """

    def __init__(
        self,
        make: Callable[[int], Asgi],
        ports: Sequence[int],
        *,
        name: str,
        lifespan: Literal["on", "off"],
    ) -> None:
        with needs_extra("a server"):
            import uvicorn
        _forward_log("uvicorn.error")
        self._socket = _bound_socket(ports)
        self.port: int = self._socket.getsockname()[1]
        self._ended = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                _dated_after_refusal(make(self.port)),
                http=_impatient_protocol(),
                lifespan=lifespan,
                ws="none",
                access_log=False,
                date_header=False,
                log_config=None,
                server_header=False,
                limit_concurrency=_MAX_CONNECTIONS,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
        )
        # Its own wakes ten times a second, for the date in the headers of the next answers.
        self._server.main_loop = self._serve  # type: ignore[method-assign] # in place of uvicorn's own
        sockets = {"sockets": [self._socket]}
        self._thread = threading.Thread(
            target=self._server.run, kwargs=sockets, name=name, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """The URL at which it listens."""
        return f"http://{HOST}:{self.port}"

    @property
    def is_alive(self) -> bool:
        """Whether it is still serving."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop, after giving running requests a short time to finish."""
        self._server.should_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, because it has ended by itself
                self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._socket.close()

    async def _serve(self) -> None:
        """Sleep until it is stopped."""
        self._loop = asyncio.get_running_loop()
        if not self._server.should_exit:
            await self._ended.wait()


def _impatient_protocol() -> type[asyncio.Protocol]:
    """The protocol of uvicorn, which closes a connection whose next request does not arrive.

    uvicorn itself only closes connections that send nothing at all after an answer.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class ImpatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._set_deadline()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._set_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_deadline()
            super().connection_lost(exc)

        def _set_deadline(self) -> None:
            """Begin to wait for a request, unless one is being answered or waited for already."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._cancel_deadline()
            elif self._deadline is None and not self.transport.is_closing():
                self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

        def _cancel_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return ImpatientProtocol


def _dated_after_refusal(app: Asgi) -> Asgi:
    """The application, with the date in its answers.

    It begins one turn of the loop after the head of a request arrived: if the body is malformed
    and arrived with the head, uvicorn has answered and closed the connection by then. An answer
    to an open connection would be an error in its log.
    """

    async def call(scope: AsgiScope, receive: Receive, send: Send) -> None:
        async def send_dated(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), _date_header()]
            await send(message)

        await asyncio.sleep(0)
        await app(scope, receive, send_dated)

    return call


def _date_header() -> tuple[bytes, bytes]:
    return b"date", formatdate(usegmt=True).encode()


class _ForwardingHandler(logging.Handler):
    """Hands the records of a library on to the log of this package."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record; a request that was cut off when the server stopped is no error."""
        message = record.getMessage().strip()
        failure = record.exc_info[1] if record.exc_info else None
        is_cut_off = isinstance(failure, asyncio.CancelledError)
        level = logging.DEBUG if is_cut_off else record.levelno
        trace = None if is_cut_off else record.exc_info
        _log.log(level, "the HTTP server says: %s", message, exc_info=trace)


_FORWARDING = _ForwardingHandler()


def _forward_log(name: str) -> None:
    """Have a logger write to the log of this package alone, whose form the command decides."""
    logger = logging.getLogger(name)
    logger.addHandler(_FORWARDING)
    logger.propagate = False


def _bound_socket(ports: Sequence[int]) -> socket.socket:
    failure = OSError("no port was given")
    for port in ports:
        # asyncio sends small parts of a response immediately if the protocol is given.
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError as error:
            found.close()
            failure = error
        else:
            found.listen(128)
            return found
    raise failure
