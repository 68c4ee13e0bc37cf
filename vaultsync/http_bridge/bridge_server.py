"""The bridge as a server on loopback: the routes, the stream of events, the thread it runs in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from vaultsync.errors import ConfigError
from vaultsync.http_bridge import handlers
from vaultsync.http_bridge.encoding import error_response, parse_body, parse_query_string
from vaultsync.http_bridge.handlers import EVENTS_PATH, METRICS_PATH, ROUTES, RouteRow
from vaultsync.http_bridge.requests import EventsQuery
from vaultsync.modules.report import METRICS_TYPE
from vaultsync.privacy.error_json import error_values_json
from vaultsync.service.bridge_service import (
    BridgeServices,
    BridgeStatus,
    RunningServer,
    serve_on_loopback,
)
from vaultsync.service.events import Subscription

BRIDGE_PORT = 27125
"""The default port. Another free one is used when it is taken and none was asked for."""
PING_INTERVAL = 15.0
"""Seconds after which an idle stream sends a ping."""
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def make_bridge_app(bridge: BridgeServices) -> Starlette:
    """The routes as an application. Serve it by `serve_on_loopback()` alone, which guards it."""
    by_path = groupby(sorted(ROUTES, key=_by_path), key=_by_path)
    app = Starlette(
        routes=[
            _answering(EVENTS_PATH, partial(_events, bridge), ["GET"]),
            _answering(METRICS_PATH, partial(_metrics, bridge), ["GET"]),
            *(_route(bridge, path, list(rows)) for (_, path), rows in by_path),
        ],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


def _by_path(row: RouteRow) -> tuple[bool, str]:
    """Groups the rows of a path, and sorts `/v1/x/fixed` before `/v1/x/{name}`."""
    return "{" in row.path.rpartition("/")[2], row.path


def _route(bridge: BridgeServices, path: str, rows: Sequence[RouteRow]) -> Route:
    by_method = {row.method: row for row in rows}

    async def endpoint(request: Request) -> Response:
        row = by_method[request.method]
        if row.method == "GET":
            body = parse_query_string(request.query_params, row.takes)
        else:
            body = parse_body(await request.body(), row.takes)
        name = next(iter(request.path_params.values()), "")
        return _json(200, await run_in_threadpool(row.call, bridge, name, body))

    return _answering(path, endpoint, list(by_method))


def _answering(path: str, endpoint: Endpoint, methods: list[str]) -> Route:
    """A route that answers every error, and no HEAD, which a stream would never end."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:  # noqa: BLE001 - every error is answered
            return _json(*error_response(error))

    route = Route(path, answer, methods=methods)
    assert route.methods is not None  # noqa: S101 - they were given
    route.methods.discard("HEAD")  # Starlette adds it to GET
    return route


async def _no_route(request: Request, error: Exception) -> Response:
    """Starlette's own errors: there is no such path, or not with that method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for no other
    message = f"{request.method} {request.url.path[:200]}: {error.detail.lower()}"
    hint = "the page “Bridge” of vaultsync's documentation lists the routes"
    body = error_values_json("RouteError", message, hint)
    response = _json(error.status_code, body)
    response.headers.update(error.headers or {})
    return response


def _json(status: int, answer: object) -> Response:
    return Response(msgspec.json.encode(answer), status, _HEADERS, media_type="application/json")


async def _metrics(bridge: BridgeServices, _: Request) -> Response:
    """Counters for Prometheus."""
    text = await run_in_threadpool(handlers.metrics, bridge)
    return Response(text, headers=_HEADERS, media_type=METRICS_TYPE)


async def _events(bridge: BridgeServices, request: Request) -> Response:
    """Server-sent events until the listener leaves; the first is the current state.

    Raises: as `handlers.status()`, and MalformedBodyError.
    """
    query = parse_query_string(request.query_params, EventsQuery)
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server has stopped
            loop.call_soon_threadsafe(arrived.set)

    token = bridge.token()
    subscription = bridge.events.subscribe(wake, app=bool(query.app))
    try:
        state = await run_in_threadpool(handlers.status, bridge)
    except BaseException:
        bridge.events.leave(subscription)
        raise
    return StreamingResponse(
        _stream(bridge, request, subscription, arrived, state=state, token=token),
        media_type="text/event-stream",
        headers={"cache-control": "no-store"},
    )


async def _stream(
    bridge: BridgeServices,
    request: Request,
    subscription: Subscription,
    arrived: asyncio.Event,
    *,
    state: BridgeStatus,
    token: str,
) -> AsyncIterator[bytes]:
    """The events, until the listener leaves or its token is revoked."""
    disconnect = asyncio.create_task(_end_on_disconnect(request, subscription))
    try:
        yield _frame("state", state)
        while True:
            arrived.clear()
            for event in subscription.fetch():
                if _is_revoked(bridge, token):
                    return
                yield _frame(event.kind, event.data)
            if subscription.over or _is_revoked(bridge, token):
                return
            try:
                await asyncio.wait_for(arrived.wait(), PING_INTERVAL)
            except TimeoutError:
                yield b": ping\n\n"
    finally:
        disconnect.cancel()
        bridge.events.leave(subscription)


def _is_revoked(bridge: BridgeServices, token: str) -> bool:
    try:
        return bridge.token() != token
    except ConfigError:
        return True


async def _end_on_disconnect(request: Request, subscription: Subscription) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    subscription.end()


def _frame(kind: str, data: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"


@contextmanager
def running_bridge(bridge: BridgeServices, *, port: int | None = None) -> Iterator[RunningServer]:
    """Serve a bridge in a thread of its own until the block ends.

    Without a port it takes `BRIDGE_PORT`, or any free port when that is taken.

    Raises:
        ConfigError: another program has the port, or the token cannot be used.
    """
    ports = (BRIDGE_PORT, 0) if port is None else (port,)
    try:
        server = serve_on_loopback(make_bridge_app(bridge), bridge.settings, ports, name="bridge")
    except OSError as error:
        raise ConfigError(
            f"the bridge cannot listen on port {port}: {error.strerror}",
            hint="choose another port with --port, or omit it to use any free port",
        ) from None
    try:
        bridge.announce(server.port)
        yield server
    finally:
        bridge.withdraw_address()
        bridge.events.close()
        server.stop()
