"""MCP over stdin and stdout, which only the protocol may use."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from typing import Any, cast

import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from vaultsync.mcp_server.server import AgentWorker, make_server

_log = logging.getLogger(__name__)
READ_BYTES = 1 << 16
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][\da-fA-F]{2})|.)"
)
POLL_SECONDS, MAX_POLLS = 0.05, 200
"""How long to wait for the next answer after stdin was closed, while the memory has no work."""


class _CancelledRequest(msgspec.Struct, rename="camel"):
    request_id: int | str | None = None


class _ProtocolMessage(msgspec.Struct):
    """What tells a request from its answer, and from its end."""

    id: int | str | None = None
    method: str = ""
    params: _CancelledRequest | None = None

    @classmethod
    def of(cls, line: str) -> _ProtocolMessage:
        try:
            return msgspec.json.decode(line, type=cls)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return cls()  # the SDK refuses it


def serve(
    worker: AgentWorker, on_signal: Callable[[int], object], toolsets: Collection[str]
) -> None:
    """Serve until the client closes stdin or disconnects, or a signal arrives.

    What is running then is finished: `on_signal`, called with the number, may end it. The tools
    of `toolsets` are listed.
    """
    protocol = _take_stdout()
    try:
        asyncio.run(_serve(make_server(worker, toolsets), worker, protocol, on_signal))
    finally:
        worker.close()


def _take_stdout() -> int:
    """The descriptor to write the protocol to; all other output goes to stderr from now on."""
    sys.stdout.flush()
    protocol = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return protocol


async def _serve(
    server: Server[dict[str, Any], Any],
    worker: AgentWorker,
    protocol: int,
    on_signal: Callable[[int], object],
) -> None:
    served = asyncio.current_task()
    assert served is not None  # noqa: S101 - this is a coroutine
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        served.cancel()

    def end_by_signal(number: int) -> None:
        on_signal(number)
        end()

    # They have the few methods of a file that the transport calls.
    waiting: set[int | str | None] = set()
    stdin = cast("Any", _Lines(worker, waiting))
    stdout = cast("Any", _Writer(protocol, waiting, end))
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, end_by_signal, each)
    try:
        async with stdio_server(stdin, stdout) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except (asyncio.CancelledError, ExceptionGroup):
        # A line that arrives during the shutdown has no receiver left.
        if not ended:
            raise


def whole_characters(line: str) -> str:
    """A line of JSON without escapes of half a character.

    A client in JavaScript sends one where it cut a text, and the SDK would not answer it.
    """
    return _ESCAPE.sub(lambda each: (each["half"] and r"\ufffd") or each[0], line)


class _Lines:
    """The lines of stdin, read in a daemon thread; the ids of requests are added to `waiting`.

    The SDK's own reader blocks in a call that no signal interrupts.
    """

    def __init__(self, worker: AgentWorker, waiting: set[int | str | None]) -> None:
        self._worker = worker
        self._waiting = waiting

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line; after the last, wait until all requests are answered."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()

        def read() -> None:
            held: list[bytes] = []
            with suppress(RuntimeError):  # the loop is closed: a signal ended the server
                with suppress(OSError):  # the client is gone, as at the end
                    # Not sys.stdin: its lock would still be held when the process exits.
                    while sys.stdin and (chunk := os.read(0, READ_BYTES)):
                        *ends, rest = chunk.split(b"\n")
                        for end in ends:
                            loop.call_soon_threadsafe(lines.put_nowait, b"".join([*held, end]))
                            held = []
                        held.append(rest)
                loop.call_soon_threadsafe(lines.put_nowait, b"".join(held))
                loop.call_soon_threadsafe(lines.put_nowait, None)

        threading.Thread(target=read, name="stdin", daemon=True).start()
        while (line := await lines.get()) is not None:
            if line.strip():
                text = whole_characters(line.decode("utf-8", errors="replace"))
                message = _ProtocolMessage.of(text)
                if message.method and message.id is not None:
                    self._waiting.add(message.id)
                elif message.method == "notifications/cancelled" and message.params:
                    self._waiting.discard(message.params.request_id)
                yield text
        # A script may pipe its requests in and close stdin: it still expects answers. One that
        # waits for an answer of the client, which has left, gets none.
        polls, left = 0, 0
        while self._waiting and polls < MAX_POLLS:
            polls, left = polls + 1 if len(self._waiting) == left else 0, len(self._waiting)
            await self._worker.idle()
            await asyncio.sleep(POLL_SECONDS)


class _Writer:
    """Writes to the protocol's descriptor in a thread, so that a slow client blocks nothing.

    Once it has written the answer to a request, the id of that is removed from `waiting`.
    """

    def __init__(
        self, protocol: int, waiting: set[int | str | None], gone: Callable[[], None]
    ) -> None:
        self._file = os.fdopen(protocol, "wb")
        self._waiting = waiting
        self._gone = gone

    async def write(self, text: str) -> None:
        """Write a message; calls `gone` if the client cannot get it."""
        try:
            await asyncio.to_thread(self._write, text.encode())
        except ConnectionError:  # it has closed its end
            self._gone()
        except OSError as error:
            _log.error("cannot write an answer to the client: %s", error)
            self._gone()
        message = _ProtocolMessage.of(text)
        if not message.method and message.id is not None:
            self._waiting.discard(message.id)

    async def flush(self) -> None:
        """Nothing to do: each write is flushed."""

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
