"""A session with an MCP server, for synchronous callers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import os
import shlex
import threading
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from vaultsync.errors import ConfigError, needs_extra
from vaultsync.modules.remote import MirrorError

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import CallToolResult

_log = logging.getLogger(__name__)
_GRACE_SECONDS = 5.0
"""Seconds beyond its time-out that a call may take to report its failure."""


class McpSession:
    """Calls tools of a server, which is started or connected by the first call.

    A session whose server failed is closed, and the next call starts another one.
    """

    def __init__(self, server: str, *, key: str, timeout: float) -> None:
        """Name the server.

        Args:
            server: a command with its arguments, as in a shell, or a URL.
            key: name of the environment variable with a token; a command gets it in its
                environment, and a URL as a bearer token.
            timeout: seconds for the start, and for each call.

        Raises:
            ConfigError: the server is neither a command nor a URL.
        """
        self._is_url = server.startswith(("http://", "https://"))
        try:
            self._words = [server] if self._is_url else shlex.split(server)
        except ValueError as error:
            raise ConfigError(f"{server!r:.80} is no command: {error}") from None
        self.name = _shown(server) if self._is_url else os.path.basename(self._words[0])  # noqa: PTH119
        self._key, self._timeout = key, timeout
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: ClientSession | None = None
        self._end: asyncio.Event | None = None

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Call a tool; returns the JSON in its text, its structured content, or the text.

        Raises:
            MirrorError: it failed, or took too long.
        """
        try:
            with needs_extra("the remote of modules"):
                import mcp  # noqa: F401
            if self._session is None:
                self._start()
            assert self._session is not None  # noqa: S101
            assert self._loop is not None  # noqa: S101
            asked = asyncio.wait_for(self._session.call_tool(tool, arguments), self._timeout)
            future = asyncio.run_coroutine_threadsafe(asked, self._loop)
            result = future.result(self._timeout + _GRACE_SECONDS)
        except MirrorError:
            raise
        except Exception as error:
            self.close()
            why = str(error) or type(error).__name__
            raise MirrorError(f"{self.name}: {why:.300}") from error
        return self._answer(tool, result)

    def close(self) -> None:
        """End the session, and the server if it was started here; idempotent."""
        thread, loop, end = self._thread, self._loop, self._end
        self._thread = self._loop = self._session = self._end = None
        if thread is not None and loop is not None and end is not None:
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(end.set)
            thread.join(_GRACE_SECONDS)

    def _answer(self, tool: str, result: CallToolResult) -> Any:  # noqa: ANN401 - JSON
        text = "\n".join(each.text for each in result.content if each.type == "text")
        fields = result.model_dump(by_alias=True)  # the SDK's attribute names differ by version
        if fields["isError"]:
            raise MirrorError(f"{self.name}, {tool}: {text:.300}")
        try:
            # Servers also wrap a text response in structured content.
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = text
        return found if isinstance(found, dict | list) else fields["structuredContent"] or found

    def _start(self) -> None:
        started: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(started)), name="mcp-remote", daemon=True
        )
        self._thread.start()
        try:
            started.result(self._timeout + _GRACE_SECONDS)
        except MirrorError:
            raise
        except Exception as error:
            self.close()
            why = str(error) or type(error).__name__
            raise MirrorError(f"{self.name} did not start: {why:.300}") from error

    async def _run(self, started: concurrent.futures.Future[None]) -> None:
        """Keep the session open until it is closed, in the thread of its event loop."""
        from mcp import ClientSession

        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        end = self._end
        try:
            async with AsyncExitStack() as stack:
                read, write = await self._connect(stack)
                session = await stack.enter_async_context(ClientSession(read, write))
                await asyncio.wait_for(session.initialize(), self._timeout)
                self._session = session
                started.set_result(None)
                await end.wait()
        except BaseException as error:  # noqa: BLE001 - groups of anyio among them
            if started.done():
                _log.debug("the session with %s ended: %s", self.name, error)
            else:
                started.set_exception(MirrorError(f"{self.name} did not start: {_cause(error)}"))

    async def _connect(self, stack: AsyncExitStack) -> Any:  # noqa: ANN401 - two streams
        token = os.environ.get(self._key, "") if self._key else ""
        if self._key and not token:
            raise MirrorError(f"the environment variable {self._key} with its key is not set")
        if self._is_url:
            from mcp.client.streamable_http import streamable_http_client
            from mcp.shared._httpx_utils import create_mcp_http_client

            headers = {"Authorization": f"Bearer {token}"} if token else {}
            client = await stack.enter_async_context(create_mcp_http_client(headers))
            streams = streamable_http_client(self._words[0], http_client=client)
            read, write, *_ = await stack.enter_async_context(streams)
            return read, write
        from mcp import StdioServerParameters
        from mcp.client.stdio import get_default_environment, stdio_client

        env = get_default_environment() | ({self._key: token} if token else {})
        server = StdioServerParameters(command=self._words[0], args=self._words[1:], env=env)
        silent = stack.enter_context(open(os.devnull, "w"))  # noqa: ASYNC230, PTH123, SIM115
        return await stack.enter_async_context(stdio_client(server, errlog=silent))


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error) or type(error).__name__)[:300]


def _shown(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
