"""The table of routes as an OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from vaultsync import __version__
from vaultsync.http_bridge import mirror
from vaultsync.http_bridge import requests as bodies
from vaultsync.http_bridge.routes import EVENTS_PATH, ROUTES, RouteRow, answer_schemas
from vaultsync.privacy.error_json import Failure

_REF = "#/components/schemas/{name}"
_FAILURES = {
    "400": "The request makes no sense, or is not what the route takes.",
    "404": "What was named is not there.",
    "409": "It is at another revision, or the guard stopped the plan.",
    "413": "The body is too large.",
    "415": "The body is no JSON.",
    "423": "Another engine has the vault.",
    "500": "A fault of vaultsync.",
    "503": "The store or the vault is away.",
}
_STRANGERS = {
    "401": "The token is missing or wrong.",
    "403": "The Host or the Origin is not one that may ask.",
    "429": "Too many wrong tokens.",
}


def document() -> dict[str, Any]:
    """The document, OpenAPI 3.1; nothing in it differs from run to run."""
    answers = [Failure, *(row.answers for row in ROUTES)]
    takes = [row.takes for row in ROUTES if row.method != "GET"]
    found = answer_schemas(answers, _REF)
    taken = msgspec.json.schema_components(takes, ref_template=_REF)[1]
    found |= {_taken(name): schema for name, schema in taken.items()}
    paths: dict[str, dict[str, Any]] = {}
    for row in ROUTES:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row)
    paths[EVENTS_PATH] = {"get": _stream()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vaultsync bridge",
            "version": __version__,
            "description": "HTTP on loopback for the plugin of Obsidian.",
        },
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(found.items())),
        },
    }


def _taken(name: str) -> str:
    """The name of what a route takes; that of an answer may be the same."""
    return f"{name}Asked" if name in {row.answers.__name__ for row in ROUTES} else name


def _operation(row: RouteRow) -> dict[str, Any]:
    said: dict[str, Any] = {"operationId": row.name, "summary": row.says}
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
        }
        for name in re.findall(r"\{(\w+)\}", row.path)
    ]
    if row.method == "GET":
        parameters += _query(row.takes)
    else:
        parameters.append(
            {
                "name": "X-Vaultsync",
                "in": "header",
                "required": True,
                "schema": {"type": "string", "const": "1"},
            }
        )
        schema = {"$ref": _REF.format(name=_taken(row.takes.__name__))}
        content = {"application/json": {"schema": schema}}
        said["requestBody"] = {"required": True, "content": content}
    if parameters:
        said["parameters"] = parameters
    said["responses"] = {
        "200": _answer("Done.", row.answers.__name__),
        **{status: _answer(why, "Failure") for status, why in _FAILURES.items()},
        **{status: {"description": why} for status, why in _STRANGERS.items()},
    }
    said["responses"] = dict(sorted(said["responses"].items()))
    return said


def _query(takes: type[msgspec.Struct]) -> list[dict[str, Any]]:
    found = msgspec.json.schema_components([takes], ref_template=_REF)[1]
    properties = found[takes.__name__].get("properties", {})
    return [
        {"name": name, "in": "query", "required": False, "schema": _plain(schema)}
        for name, schema in properties.items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of what may be left out; a query has no null."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return kinds[0] if kinds else schema


def _answer(why: str, name: str) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=name)}
    return {"description": why, "content": {"application/json": {"schema": schema}}}


def _stream() -> dict[str, Any]:
    said = _operation(
        RouteRow(
            "GET",
            EVENTS_PATH,
            "events",
            "What happens, as server-sent events: `state`, `pass`, `conflict`, `write`.",
            bodies.Listening,
            mirror.Nothing,
            lambda _, __, ___: {},
        )
    )
    schema = {"type": "string"}
    said["responses"]["200"] = {
        "description": "Events, without an end.",
        "content": {"text/event-stream": {"schema": schema}},
    }
    return said
