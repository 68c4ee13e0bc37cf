"""Questions: each route is one call of `Memory`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, json, structs

from vaultsync.api.graphing import GraphColours
from vaultsync.context_packs.pack import ContextPack
from vaultsync.errors import IndexFileNotFoundError
from vaultsync.http_bridge import requests as bodies
from vaultsync.model.schema import Value
from vaultsync.recall.request import ContextRequest, RecallRequest
from vaultsync.recall.result import said_of
from vaultsync.service.bridge_service import BridgeServices


class IndexFile(Struct, frozen=True):
    """A file of `.index/`."""

    name: str
    bytes: int


class IndexFiles(Struct, frozen=True):
    """The files of `.index/`."""

    files: list[IndexFile]


class IndexText(Struct, frozen=True):
    """The text of a file of `.index/`."""

    name: str
    text: str


class GraphJson(Struct, frozen=True):
    """The graph of the memory, as `graph export` writes it."""

    nodes: list[dict[str, Any]]
    links: list[dict[str, Any]]


def recall(serving: BridgeServices, _: str, asked: bodies.Recall) -> Mapping[str, Value]:
    """The facts that answer a question."""
    said = {**structs.asdict(asked), "agent": serving.asks(asked.agent)}
    request = RecallRequest(**said)
    return said_of(serving.reading(lambda memory: memory.answer(request)))


def context(serving: BridgeServices, _: str, asked: bodies.Context) -> ContextPack:
    """A context pack."""
    said = {**structs.asdict(asked), "agent": serving.asks(asked.agent)}
    request = ContextRequest(**said)
    return serving.reading(lambda memory: memory.pack(request))


def index(serving: BridgeServices, _: str, __: bodies.Body) -> IndexFiles:
    """The names of the tables."""
    found = serving.reading(lambda memory: memory.index_files())
    return IndexFiles([IndexFile(name, len(text.encode())) for name, text in found.items()])


def index_file(serving: BridgeServices, name: str, _: bodies.Body) -> IndexText:
    """One table.

    Raises:
        IndexFileNotFoundError: there is none of that name.
    """
    found = serving.reading(lambda memory: memory.index_files())
    if name not in found:
        raise IndexFileNotFoundError(name)
    return IndexText(name, found[name])


def graph(serving: BridgeServices, _: str, __: bodies.Body) -> GraphJson:
    """The graph, as `graph export` writes it."""
    made = serving.reading(lambda memory: memory.graph_export(format="json"))
    return json.decode(made.text, type=GraphJson)


def graph_colours(serving: BridgeServices, _: str, __: bodies.Body) -> GraphColours:
    """Obsidian's settings of its graph view."""
    return serving.reading(lambda memory: memory.graph_colours())
