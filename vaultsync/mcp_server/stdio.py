"""MCP over stdin and stdout, which belong to the protocol alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from vaultsync.mcp_server.server import make_server
from vaultsync.mcp_server.worker import AgentWorker

READ_BYTES = 1 << 16
DRAIN_SECONDS = 0.1
"""Seconds in which messages that were read come to where they are answered."""


def serve(worker: AgentWorker) -> None:
    """Serve until the client closes stdin or is gone, or a signal ends it."""
    protocol = _take_stdout()
    try:
        asyncio.run(_serve(make_server(worker), worker, protocol))
    finally:
        worker.close()


def _take_stdout() -> int:
    """A descriptor of stdout for the protocol; what others print goes to stderr."""
    sys.stdout.flush()
    protocol = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return protocol


async def _serve(server: Server[dict[str, Any], Any], worker: AgentWorker, protocol: int) -> None:
    served = asyncio.current_task()
    assert served is not None  # noqa: S101 - this is a coroutine
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        served.cancel()

    # They do of a file what the transport does with it.
    stdin, stdout = cast("Any", _Lines(worker)), cast("Any", _Writer(protocol, end))
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, end)
    try:
        async with stdio_server(stdin, stdout) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except (asyncio.CancelledError, ExceptionGroup):
        # A line that comes just when it ends finds no one to hand it to.
        if not ended:
            raise


class _Lines:
    """The lines of stdin, read in a thread that nobody waits for at the end.

    The protocol's own reader waits in a call that no signal ends.
    """

    def __init__(self, worker: AgentWorker) -> None:
        self._worker = worker

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line; after the last, time to answer what was asked."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()

        def read() -> None:
            held = b""
            # Not by sys.stdin: its lock would be held when the process ends.
            while chunk := os.read(0, READ_BYTES):
                *whole, held = (held + chunk).split(b"\n")
                for line in whole:
                    loop.call_soon_threadsafe(lines.put_nowait, line)
            if held.strip():
                loop.call_soon_threadsafe(lines.put_nowait, held)
            loop.call_soon_threadsafe(lines.put_nowait, None)

        threading.Thread(target=read, name="stdin", daemon=True).start()
        while (line := await lines.get()) is not None:
            if line.strip():
                yield line.decode("utf-8", errors="replace")
        # A script may pipe its questions in and close: it still wants the answers.
        await asyncio.sleep(DRAIN_SECONDS)
        await self._worker.idle()
        await asyncio.sleep(DRAIN_SECONDS)


class _Writer:
    """Writes to the protocol's descriptor; a client that reads slowly blocks nobody."""

    def __init__(self, protocol: int, gone: Callable[[], None]) -> None:
        self._file = os.fdopen(protocol, "wb")
        self._gone = gone

    async def write(self, text: str) -> None:
        """A message; `gone` is called when nobody is there to read it."""
        try:
            await asyncio.to_thread(self._write, text.encode())
        except BrokenPipeError:
            self._gone()

    async def flush(self) -> None:
        """It was."""

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
