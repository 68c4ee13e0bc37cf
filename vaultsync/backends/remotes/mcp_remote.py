"""A remote that speaks MCP, such as ByteRover, Cipher, or another vaultsync."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaultsync.backends.remotes.mcp_session import McpSession
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
        """Use the tools of a preset, or those in the settings."""
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
        """Use the server's tools for modules."""
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
