"""THE TABLE of routes: what can be asked, what it takes, what it answers, who does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from msgspec import json

from vaultsync.api.graphing import GraphColours
from vaultsync.context_packs.pack import ContextPack
from vaultsync.facts.listing import PublicPage
from vaultsync.facts.related import Related
from vaultsync.facts.service import ForgetResult
from vaultsync.http_bridge import ask, mirror
from vaultsync.http_bridge import handlers as facts
from vaultsync.http_bridge import requests as bodies
from vaultsync.http_bridge.requests import Body
from vaultsync.model.serialization import NewFact, PublicFact
from vaultsync.operations.check_links import LinkReport
from vaultsync.recall.result import RecallResult
from vaultsync.service.bridge_service import BridgeServices, BridgeStatus
from vaultsync.sync.report import Conflicts, History, Report, ResolveResult, Verification


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
    answers: type
    """A struct, or typed keys."""
    do: Callable[[BridgeServices, str, Any], object]
    """Is called in a thread that may wait."""


ROUTES = (
    RouteRow(
        "GET",
        "/v1/status",
        "status",
        "What waits and what is wrong.",
        Body,
        BridgeStatus,
        mirror.status,
    ),
    RouteRow(
        "GET",
        "/v1/facts",
        "list",
        "Facts by id, a page at a time.",
        bodies.Listing,
        PublicPage,
        facts.listing,
    ),
    RouteRow(
        "POST",
        "/v1/facts",
        "remember",
        "A new fact.",
        bodies.Remember,
        NewFact,
        facts.remember,
    ),
    RouteRow(
        "GET",
        "/v1/facts/{id}",
        "get",
        "One fact.",
        Body,
        PublicFact,
        facts.get,
    ),
    RouteRow(
        "PATCH",
        "/v1/facts/{id}",
        "update",
        "Change a fact.",
        bodies.Update,
        PublicFact,
        facts.update,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/supersede",
        "supersede",
        "A new fact that replaces an older one.",
        bodies.Supersede,
        PublicFact,
        facts.supersede,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/forget",
        "forget",
        "Delete a fact and its note.",
        bodies.Expecting,
        ForgetResult,
        facts.forget,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/restore",
        "restore",
        "Bring a deleted fact back.",
        bodies.Expecting,
        ForgetResult,
        facts.restore,
    ),
    RouteRow(
        "GET",
        "/v1/facts/{id}/history",
        "history",
        "Who changed which field when.",
        Body,
        History,
        facts.history,
    ),
    RouteRow(
        "GET",
        "/v1/facts/{id}/related",
        "related",
        "What stands around a fact.",
        Body,
        Related,
        facts.related,
    ),
    RouteRow(
        "POST",
        "/v1/facts/{id}/adopt",
        "adopt",
        "The note that bears this id becomes a fact.",
        bodies.Adopt,
        Report,
        mirror.adopt,
    ),
    RouteRow("POST", "/v1/ids", "ids", "A fresh id.", Body, facts.FreshId, facts.fresh_id),
    RouteRow(
        "GET",
        "/v1/conflicts",
        "conflicts",
        "The open conflicts.",
        Body,
        Conflicts,
        mirror.conflicts,
    ),
    RouteRow(
        "POST",
        "/v1/conflicts/{id}/resolve",
        "resolve",
        "Settle a conflict for a side, or a field of it by a text.",
        bodies.Resolve,
        ResolveResult,
        mirror.resolve,
    ),
    RouteRow(
        "POST",
        "/v1/sync",
        "sync",
        "One pass over both sides.",
        bodies.Sync,
        Report,
        mirror.sync,
    ),
    RouteRow(
        "POST",
        "/v1/maintain",
        "maintain",
        "Delete what expired or faded, and collapse long chains.",
        bodies.Maintain,
        Report,
        mirror.maintain,
    ),
    RouteRow(
        "POST",
        "/v1/adopt",
        "adopt_all",
        "The notes that are no facts yet become facts.",
        bodies.AdoptAll,
        Report,
        mirror.adopt_all,
    ),
    RouteRow(
        "POST",
        "/v1/runs/{run}/undo",
        "undo",
        "Take a run back.",
        Body,
        Report,
        mirror.undo,
    ),
    RouteRow(
        "GET",
        "/v1/verify",
        "verify",
        "Prove vault = store = base.",
        Body,
        Verification,
        mirror.verify,
    ),
    RouteRow(
        "POST",
        "/v1/links/fix",
        "fix_links",
        "Mend the links that leave no doubt.",
        Body,
        LinkReport,
        mirror.fix_links,
    ),
    RouteRow(
        "POST",
        "/v1/recall",
        "recall",
        "The facts that answer a question.",
        bodies.Recall,
        RecallResult,
        ask.recall,
    ),
    RouteRow(
        "POST",
        "/v1/context",
        "context",
        "What to read for a question, in a budget of tokens.",
        bodies.Context,
        ContextPack,
        ask.context,
    ),
    RouteRow(
        "GET",
        "/v1/index",
        "index",
        "The files of `.index/`.",
        Body,
        ask.IndexFiles,
        ask.index,
    ),
    RouteRow(
        "GET",
        "/v1/index/{name}",
        "index_file",
        "One file of `.index/`.",
        Body,
        ask.IndexText,
        ask.index_file,
    ),
    RouteRow(
        "GET",
        "/v1/graph",
        "graph",
        "The graph of the memory.",
        Body,
        ask.GraphJson,
        ask.graph,
    ),
    RouteRow(
        "POST",
        "/v1/graph/colours",
        "graph_colours",
        "A colour for each type in Obsidian's graph view.",
        Body,
        GraphColours,
        ask.graph_colours,
    ),
    RouteRow(
        "POST",
        "/v1/writes/{write}",
        "write",
        "The answer to a `write` event.",
        bodies.WriteAnswer,
        mirror.Nothing,
        mirror.written,
    ),
)
"""All but `GET /v1/events`, which does not end: see `stream.py`."""
EVENTS_PATH = "/v1/events"


def answer_schemas(kinds: Iterable[type], ref: str) -> dict[str, dict[str, Any]]:
    """JSON Schema of some answers, and of what is in them, by name.

    What has a default is sent like all else, but for the stages of an answer that was not
    asked to explain itself.
    """
    found: dict[str, dict[str, Any]] = json.schema_components(kinds, ref_template=ref)[1]
    for name, schema in found.items():
        for key, each in schema.get("properties", {}).items():
            if "default" in each and (name, key) != ("Recall", "stages"):
                del each["default"]
                schema.setdefault("required", []).append(key)
    return dict(sorted(found.items()))
