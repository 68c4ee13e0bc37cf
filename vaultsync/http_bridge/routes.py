"""THE TABLE of routes: what can be asked, what it takes, what it answers, who does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from vaultsync.http_bridge import ask, mirror, shapes
from vaultsync.http_bridge import handlers as facts
from vaultsync.http_bridge import requests as bodies
from vaultsync.http_bridge.requests import Body
from vaultsync.model.schema import Value
from vaultsync.service.bridge_service import BridgeServices

Json: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One row of the table."""

    method: str
    path: str
    """With at most one name in braces, which `do` is given."""
    name: str
    """Unique; the operation's id."""
    says: str
    takes: type[Body]
    """Of a GET the query, else the body."""
    answers: type[shapes.Shape]
    do: Callable[[BridgeServices, str, Any], Json]
    """Is called in a thread that may wait."""


ROUTES = (
    RouteRow(
        "GET",
        "/v1/status",
        "status",
        "What waits and what is wrong.",
        Body,
        shapes.Status,
        mirror.status,
    ),
    RouteRow(
        "GET",
        "/v1/facts",
        "list",
        "Facts by id, a page at a time.",
        bodies.Listing,
        shapes.Facts,
        facts.listing,
    ),
    RouteRow(
        "POST",
        "/v1/facts",
        "remember",
        "A new fact.",
        bodies.Remember,
        shapes.NewFact,
        facts.remember,
    ),
    RouteRow(
        "GET",
        "/v1/facts/{id}",
        "get",
        "One fact.",
        Body,
        shapes.Fact,
        facts.get,
    ),
    RouteRow(
        "PATCH",
        "/v1/facts/{id}",
        "update",
        "Change a fact.",
        bodies.Update,
        shapes.Fact,
        facts.update,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/supersede",
        "supersede",
        "A new fact that replaces an older one.",
        bodies.Supersede,
        shapes.Fact,
        facts.supersede,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/forget",
        "forget",
        "Delete a fact and its note.",
        bodies.Expecting,
        shapes.Forgotten,
        facts.forget,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/restore",
        "restore",
        "Bring a deleted fact back.",
        bodies.Expecting,
        shapes.Forgotten,
        facts.restore,
    ),
    RouteRow(
        "GET",
        "/v1/facts/{id}/history",
        "history",
        "Who changed which field when.",
        Body,
        shapes.History,
        facts.history,
    ),
    RouteRow(
        "GET",
        "/v1/facts/{id}/related",
        "related",
        "What stands around a fact.",
        Body,
        shapes.Related,
        facts.related,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/adopt",
        "adopt",
        "The note that bears this id becomes a fact.",
        bodies.Adopt,
        shapes.Report,
        mirror.adopt,
    ),
    RouteRow("POST", "/v1/ids", "ids", "A fresh id.", Body, shapes.Id, facts.fresh_id),
    RouteRow(
        "GET",
        "/v1/conflicts",
        "conflicts",
        "The open conflicts.",
        Body,
        shapes.Conflicts,
        mirror.conflicts,
    ),
    RouteRow(
        "POST",
        "/v1/conflicts/{id}/resolve",
        "resolve",
        "Settle a conflict for a side, or a field of it by a text.",
        bodies.Resolve,
        shapes.Resolved,
        mirror.resolve,
    ),
    RouteRow(
        "POST",
        "/v1/sync",
        "sync",
        "One pass over both sides.",
        bodies.Sync,
        shapes.Report,
        mirror.sync,
    ),
    RouteRow(
        "POST",
        "/v1/maintain",
        "maintain",
        "Delete what expired or faded, and collapse long chains.",
        bodies.Maintain,
        shapes.Report,
        mirror.maintain,
    ),
    RouteRow(
        "POST",
        "/v1/adopt",
        "adopt_all",
        "The notes that are no facts yet become facts.",
        bodies.AdoptAll,
        shapes.Report,
        mirror.adopt_all,
    ),
    RouteRow(
        "POST",
        "/v1/runs/{run}/undo",
        "undo",
        "Take a run back.",
        Body,
        shapes.Report,
        mirror.undo,
    ),
    RouteRow(
        "GET",
        "/v1/verify",
        "verify",
        "Prove vault = store = base.",
        Body,
        shapes.Verification,
        mirror.verify,
    ),
    RouteRow(
        "POST",
        "/v1/links/fix",
        "fix_links",
        "Mend the links that leave no doubt.",
        Body,
        shapes.Links,
        mirror.fix_links,
    ),
    RouteRow(
        "POST",
        "/v1/recall",
        "recall",
        "The facts that answer a question.",
        bodies.Recall,
        shapes.Recall,
        ask.recall,
    ),
    RouteRow(
        "POST",
        "/v1/context",
        "context",
        "What to read for a question, in a budget of tokens.",
        bodies.Context,
        shapes.Context,
        ask.context,
    ),
    RouteRow(
        "GET",
        "/v1/index",
        "index",
        "The files of `.index/`.",
        Body,
        shapes.IndexFiles,
        ask.index,
    ),
    RouteRow(
        "GET",
        "/v1/index/{name}",
        "index_file",
        "One file of `.index/`.",
        Body,
        shapes.IndexText,
        ask.index_file,
    ),
    RouteRow(
        "GET",
        "/v1/graph",
        "graph",
        "The graph of the memory.",
        Body,
        shapes.Graph,
        ask.graph,
    ),
    RouteRow(
        "POST",
        "/v1/graph/colours",
        "graph_colours",
        "A colour for each type in Obsidian's graph view.",
        Body,
        shapes.Colours,
        ask.graph_colours,
    ),
    RouteRow(
        "POST",
        "/v1/writes/{write}",
        "write",
        "The answer to a `write` event.",
        bodies.WriteAnswer,
        shapes.Nothing,
        mirror.written,
    ),
)
"""All but `GET /v1/events`, which does not end: see `stream.py`."""
EVENTS_PATH = "/v1/events"
