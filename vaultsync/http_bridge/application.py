"""The table of routes as an application of Starlette."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vaultsync.http_bridge.encoding import (
    encode_json,
    error_response,
    parse_body,
    parse_query_string,
)
from vaultsync.http_bridge.event_stream import events
from vaultsync.http_bridge.routes import EVENTS_PATH, ROUTES, RouteRow
from vaultsync.privacy.error_json import error_values_json
from vaultsync.service.bridge_service import BridgeServices


def make_bridge_app(serving: BridgeServices) -> Starlette:
    """The bridge of a vault. To be served behind `app.listening.listen()` alone."""
    by_path = groupby(sorted(ROUTES, key=_by_path), key=_by_path)
    found = [_route(serving, path, list(rows)) for path, rows in by_path]
    app = Starlette(
        routes=[_stream(serving), *found],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


def _by_path(row: RouteRow) -> tuple[bool, str]:
    """Rows of one path stand together; what is named goes before what is any name."""
    return "{" in row.path.rpartition("/")[2], row.path


def _route(serving: BridgeServices, path: tuple[bool, str], rows: Sequence[RouteRow]) -> Route:
    by_method = {row.method: row for row in rows}

    async def endpoint(request: Request) -> Response:
        row = by_method[request.method]

        async def answer() -> Response:
            if row.method == "GET":
                asked = parse_query_string(request.query_params, row.takes)
            else:
                asked = parse_body(await request.body(), row.takes)
            name = next(iter(request.path_params.values()), "")
            return _json(200, await run_in_threadpool(row.do, serving, name, asked))

        return await _answered(answer)

    return _only(Route(path[1], endpoint, methods=list(by_method)), by_method)


def _stream(serving: BridgeServices) -> Route:
    async def endpoint(request: Request) -> Response:
        return await _answered(lambda: events(serving, request))

    return _only(Route(EVENTS_PATH, endpoint, methods=["GET"]), {"GET": None})


def _only(route: Route, methods: dict[str, RouteRow] | dict[str, None]) -> Route:
    """The route without the HEAD that comes with GET: a stream has no end."""
    route.methods = set(methods)
    return route


async def _answered(answer: Callable[[], Awaitable[Response]]) -> Response:
    try:
        return await answer()
    except Exception as error:  # noqa: BLE001 - a client waits for words
        return _json(*error_response(error))


async def _no_route(_: Request, error: Exception) -> Response:
    """What Starlette itself says: no such path, or not by that method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is called for no other
    said = error_values_json("RouteError", error.detail.lower(), "see the OpenAPI document")
    response = _json(error.status_code, said)
    response.headers.update(error.headers or {})
    return response


def _json(status: int, answer: object) -> Response:
    return Response(
        encode_json(answer),
        status_code=status,
        media_type="application/json",
        headers={"cache-control": "no-store", "x-content-type-options": "nosniff"},
    )
