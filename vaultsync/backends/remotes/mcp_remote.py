"""A remote that speaks MCP, such as ByteRover, Cipher, or another vaultsync."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import os
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vaultsync.errors import ConfigError
from vaultsync.extras import needs_extra
from vaultsync.modules.module_facts import project_scope
from vaultsync.modules.remote import (
    MirrorError,
    Remote,
    RemoteHit,
    RemoteQuery,
    RemoteRecord,
    from_header,
)
from vaultsync.modules.remote import with_header as headed
from vaultsync.settings import ModuleSettings

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
        self.name = _shown(server) if self._is_url else os.path.basename(self._words[0])  # noqa: PTH119 - a program, on any system
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
                import mcp  # noqa: F401 - whether it is installed
            if self._session is None:
                self._start()
            assert self._session is not None  # noqa: S101 - it is connected
            assert self._loop is not None  # noqa: S101 - it is connected
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
        started.result(self._timeout + _GRACE_SECONDS)

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
        silent = stack.enter_context(open(os.devnull, "w"))  # noqa: ASYNC230, PTH123, SIM115 - it never waits
        return await stack.enter_async_context(stdio_client(server, errlog=silent))


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error) or type(error).__name__)[:300]


def _shown(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


_MAX_HITS = 10
_LISTS = ("results", "memories", "hits", "knowledge", "items", "result")
_TEXTS = ("text", "content", "memory", "message", "knowledge")
_CONFIDENCES = ("confidence", "similarity", "score", "relevance")
_IDS = ("id", "memory_id", "memoryId", "knowledge_id")


@dataclass(frozen=True, slots=True)
class ToolPreset:
    """The tools of a server, and their arguments."""

    store: str
    retrieve: str
    store_arguments: Callable[[str, str], dict[str, Any]]
    """(text, space) -> arguments."""
    retrieve_arguments: Callable[[str, int], dict[str, Any]]
    """(words, number of hits) -> arguments."""


PRESETS: Mapping[str, ToolPreset] = {
    "byterover": ToolPreset(
        "byterover-store-knowledge",
        "byterover-retrieve-knowledge",
        lambda text, _: {"messages": text},
        lambda words, limit: {"query": words, "limit": limit},
    ),
    "cipher": ToolPreset(
        "cipher_extract_and_operate_memory",
        "cipher_memory_search",
        lambda text, space: {"interaction": text, "memoryMetadata": {"projectId": space}},
        lambda words, limit: {"query": words, "top_k": limit},
    ),
}


def mcp_remote(server: str, settings: ModuleSettings) -> Remote:
    """The remote for a server, with the preset of the settings."""
    session = McpSession(server, key=settings.key, timeout=settings.timeout_seconds)
    if settings.preset == "vaultsync":
        return ModuleToolsRemote(session, settings)
    return KnowledgeRemote(session, PRESETS[settings.preset], settings)


class KnowledgeRemote:
    """Modules as texts of a server that stores and finds knowledge.

    Such servers may rewrite texts, and have neither keys nor deletion. So each text begins with
    a line with its module and checksum; when reading, a newer text replaces an older one, and a
    removed module is stored as removed, unless a tool to remove is set.
    """

    verbatim = False

    def __init__(self, session: McpSession, preset: ToolPreset, settings: ModuleSettings) -> None:
        self._session = session
        self._preset = preset
        self._store = settings.tools.get("store") or preset.store
        self._retrieve = settings.tools.get("retrieve") or preset.retrieve
        self._remove = settings.tools.get("remove")
        self.name = session.name

    def store(self, space: str, record: RemoteRecord) -> str:
        arguments = self._preset.store_arguments(headed(space, record), space)
        answer = self._session.call(self._store, arguments)
        return _id_in(answer) or f"{record.chunk_id}@{record.checksum[:12]}"

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        words = " ".join([space, *query.chunk_ids, *query.tags, query.text])
        limit = max(_MAX_HITS, 3 * len(query.chunk_ids))
        arguments = self._preset.retrieve_arguments(words, limit)
        return _hits(space, self._session.call(self._retrieve, arguments))

    def remove(self, space: str, chunk_id: str) -> None:
        if self._remove:
            query = RemoteQuery((chunk_id,))
            for hit in self.retrieve(space, query):
                if hit.chunk_id == chunk_id and hit.remote_id:
                    self._session.call(self._remove, {"id": hit.remote_id})
            return
        record = RemoteRecord(chunk_id, "", "", (), "", "")
        self._session.call(self._store, self._preset.store_arguments(headed(space, record), space))

    def close(self) -> None:
        self._session.close()


class ModuleToolsRemote:
    """Modules as modules of another vaultsync, in a topic with the name of the space."""

    verbatim = False

    def __init__(self, session: McpSession, settings: ModuleSettings) -> None:
        self._session = session
        self._write = settings.tools.get("store") or "module_write"
        self._read = settings.tools.get("retrieve") or "module_read"
        self.name = session.name

    def store(self, space: str, record: RemoteRecord) -> str:
        arguments = _module(space, record.chunk_id)
        more = {"text": headed(space, record, title=False), "tags": list(record.tags)}
        answer = self._session.call(self._write, {**arguments, **more, "title": record.title})
        found = answer.get("chunk_id") if isinstance(answer, dict) else None
        if found != arguments["chunk"]:
            raise MirrorError(f"{self.name} did not confirm the write of the module")
        return arguments["chunk"]

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        hits = []
        for chunk_id in query.chunk_ids:
            arguments = _module(space, chunk_id)
            try:
                answer = self._session.call(self._read, arguments)
            except MirrorError as error:
                if "there is no module" in error.why:
                    continue
                raise
            if isinstance(answer, dict) and isinstance(answer.get("text"), str):
                # Long answers are truncated for agents, and so are not a copy.
                confidence = 0.0 if answer.get("cut") else 1.0
                hits.append(from_header(space, answer["text"], confidence, arguments["chunk"]))
        return hits

    def remove(self, space: str, chunk_id: str) -> None:
        """Write that it was removed; its history there still has its text."""
        self.store(space, RemoteRecord(chunk_id, "", f"{chunk_id} (removed)", (), "", ""))

    def close(self) -> None:
        self._session.close()


def _module(space: str, chunk_id: str) -> dict[str, str]:
    """The arguments that identify a module of a space in another vaultsync."""
    topic = project_scope(space)
    return {"topic": topic, "chunk": f"{topic}/{chunk_id}"}


def _hits(space: str, answer: Any) -> list[RemoteHit]:  # noqa: ANN401 - JSON
    """The hits in an answer; one without a confidence is not used."""
    if isinstance(answer, dict):
        answer = next((answer[key] for key in _LISTS if isinstance(answer.get(key), list)), [])
    hits = []
    for each in answer if isinstance(answer, list) else ():
        if not isinstance(each, dict):
            continue
        text = next((each[key] for key in _TEXTS if isinstance(each.get(key), str)), "")
        numbers = (each.get(key, 0) for key in _CONFIDENCES if _is_number(each.get(key)))
        sure = float(next(numbers, 0))
        hits.append(from_header(space, text, sure, _id_in(each) or None))
    return hits


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _id_in(answer: Any) -> str:  # noqa: ANN401 - JSON
    if not isinstance(answer, dict):
        return ""
    inner = answer.get("memory") or answer.get("memories")
    if isinstance(inner, list) and inner:
        return _id_in(inner[0])
    return next((str(answer[key]) for key in _IDS if isinstance(answer.get(key), str | int)), "")
