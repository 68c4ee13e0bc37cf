"""Questions: each route is one call of `Memory`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from vaultsync.errors import IndexFileNotFoundError
from vaultsync.http_bridge import requests as bodies
from vaultsync.model.schema import Value
from vaultsync.service.bridge_service import BridgeServices


def recall(serving: BridgeServices, _: str, asked: bodies.Recall) -> Mapping[str, Value]:
    """The facts that answer a question."""
    agent = serving.asks(asked.agent)
    found = serving.reading(
        lambda memory: memory.recall(
            asked.query,
            limit=asked.limit,
            mode=asked.mode,
            types=asked.types,
            scopes=asked.scopes,
            tags=asked.tags,
            max_priority=asked.max_priority,
            since=asked.since,
            user=asked.user,
            explain=asked.explain,
            agent=agent,
        )
    )
    return found.as_json()


def context(serving: BridgeServices, _: str, asked: bodies.Context) -> Mapping[str, Value]:
    """A context pack."""
    agent = serving.asks(asked.agent)
    made = serving.reading(
        lambda memory: memory.context(
            asked.query,
            budget=asked.budget,
            format=asked.format,
            intent=asked.intent,
            types=asked.types,
            scopes=asked.scopes,
            tags=asked.tags,
            user=asked.user,
            agent=agent,
        )
    )
    return made.as_json()


def index(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """The names of the tables."""
    found = serving.reading(lambda memory: memory.index_files())
    return {"files": [{"name": name, "bytes": len(text.encode())} for name, text in found.items()]}


def index_file(serving: BridgeServices, name: str, _: bodies.Body) -> Mapping[str, Value]:
    """One table.

    Raises:
        IndexFileNotFoundError: there is none of that name.
    """
    found = serving.reading(lambda memory: memory.index_files())
    if name not in found:
        raise IndexFileNotFoundError(name)
    return {"name": name, "text": found[name]}


def graph(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """The graph, as `graph export` writes it."""
    made = serving.reading(lambda memory: memory.graph_export(format="json"))
    found: dict[str, Value] = json.loads(made.text)
    return found


def graph_colours(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """Obsidian's settings of its graph view."""
    made = serving.reading(lambda memory: memory.graph_colours())
    return {"path": made.path, "changed": made.changed}
