"""The routes as an OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from vaultsync import __version__
from vaultsync.http_bridge.handlers import (
    EVENTS_PATH,
    METRICS_PATH,
    ROUTES,
    Nothing,
    RouteRow,
    answer_schemas,
)
from vaultsync.http_bridge.requests import EmptyBody, EventsQuery
from vaultsync.privacy.error_json import Failure
from vaultsync.sync.report import ProposedWrite

_REF = "#/components/schemas/{name}"
_ERROR_STATUSES = {
    "400": "The request is malformed, or an argument is invalid.",
    "404": "There is no such fact, conflict, run or file.",
    "409": "It was changed since that revision, or the guard stopped the run.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "423": "Another process is syncing the vault.",
    "500": "An unexpected error in vaultsync.",
    "503": "The store or the vault is unavailable.",
}
_WAITS = "The agent may only propose it: it waits for the user."
_GUARD_STATUSES = {
    "401": "The token is missing or wrong.",
    "403": "The Host or the Origin is not allowed.",
    "429": "Too many wrong tokens.",
}


def document() -> dict[str, Any]:
    """The document, OpenAPI 3.1. It is the same in every run."""
    answers = [Failure, ProposedWrite, *(row.answers for row in ROUTES)]
    takes = [row.takes for row in ROUTES if row.method != "GET"]
    found = answer_schemas(answers, _REF)
    taken = msgspec.json.schema_components(takes, ref_template=_REF)[1]
    assert found.keys().isdisjoint(taken)
    found |= taken
    paths: dict[str, dict[str, Any]] = {}
    for row in ROUTES:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row)
    paths[EVENTS_PATH] = {"get": _stream()}
    paths[METRICS_PATH] = {"get": _metrics()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vaultsync bridge",
            "version": __version__,
            "description": "HTTP on loopback for the Obsidian plugin.",
        },
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(found.items())),
        },
    }


def _operation(row: RouteRow) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": row.name, "summary": row.summary}
    word = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": word}
        for name in re.findall(r"\{(\w+)\}", row.path)
    ]
    if row.method == "GET":
        parameters += _query(row.takes)
    else:
        one = {"type": "string", "const": "1"}
        header = {"name": "X-Vaultsync", "in": "header", "required": True, "schema": one}
        parameters.append(header)
        schema = {"$ref": _REF.format(name=row.takes.__name__)}
        content = {"application/json": {"schema": schema}}
        needs_body = any(each.required for each in msgspec.structs.fields(row.takes))
        operation["requestBody"] = {"required": needs_body, "content": content}
    if parameters:
        operation["parameters"] = parameters
    operation["responses"] = {
        "200": _answer("Done.", row.answers.__name__),
        **({} if row.method == "GET" else {"202": _answer(_WAITS, ProposedWrite.__name__)}),
        **{status: _answer(why, "Failure") for status, why in _ERROR_STATUSES.items()},
        **{status: {"description": why} for status, why in _GUARD_STATUSES.items()},
    }
    operation["responses"] = dict(sorted(operation["responses"].items()))
    return operation


def _query(takes: type[msgspec.Struct]) -> list[dict[str, Any]]:
    found = msgspec.json.schema_components([takes], ref_template=_REF)[1]
    properties = found[takes.__name__].get("properties", {})
    return [
        {"name": name, "in": "query", "required": False, "schema": _plain(schema)}
        for name, schema in properties.items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an optional parameter: a query string has no null."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) > 1:
        return {"anyOf": kinds}
    return kinds[0] if kinds else schema


def _answer(description: str, name: str) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=name)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _metrics() -> dict[str, Any]:
    summary = "Counters for Prometheus, in its text format."
    row = RouteRow("GET", METRICS_PATH, "metrics", summary, EmptyBody, Nothing, Nothing)
    return _of_text(row, "text/plain", "The counters of the mirror of modules.")


def _stream() -> dict[str, Any]:
    summary = "Stream server-sent events: `state`, `pass`, `conflict`, `write`."
    row = RouteRow("GET", EVENTS_PATH, "events", summary, EventsQuery, Nothing, Nothing)
    return _of_text(row, "text/event-stream", "Events, until the client disconnects.")


def _of_text(row: RouteRow, kind: str, description: str) -> dict[str, Any]:
    operation = _operation(row)
    content = {kind: {"schema": {"type": "string"}}}
    operation["responses"]["200"] = {"description": description, "content": content}
    return operation
