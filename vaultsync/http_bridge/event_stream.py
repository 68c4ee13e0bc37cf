"""`GET /v1/events`: what happens, as server-sent events, until the listener leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from vaultsync.http_bridge import mirror
from vaultsync.http_bridge import requests as bodies
from vaultsync.http_bridge.encoding import encode_json, parse_query_string
from vaultsync.service.bridge_service import BridgeServices, BridgeStatus
from vaultsync.service.events import Subscription

PING = 15.0
"""Seconds after which a silent stream shows that it lives."""


async def events(serving: BridgeServices, request: Request) -> Response:
    """The stream; it begins with the state of things now.

    Raises: as `mirror.status()`, and MalformedBodyError.
    """
    asked = parse_query_string(request.query_params, bodies.Listening)
    bell = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: all is over
            loop.call_soon_threadsafe(bell.set)

    heard = serving.events.subscribe(wake, app=bool(asked.app))
    try:
        now = await run_in_threadpool(mirror.status, serving, "", bodies.Body())
    except BaseException:
        serving.events.leave(heard)
        raise
    return StreamingResponse(
        _stream(serving, request, heard, bell, now),
        media_type="text/event-stream",
        headers={"cache-control": "no-store"},
    )


async def _stream(
    serving: BridgeServices,
    request: Request,
    heard: Subscription,
    bell: asyncio.Event,
    now: BridgeStatus,
) -> AsyncIterator[bytes]:
    gone = asyncio.create_task(_until_gone(request, heard))
    try:
        yield _frame("state", now)
        while True:
            bell.clear()
            for event in heard.fetch():
                yield _frame(event.kind, event.data)
            if heard.over:
                return
            try:
                await asyncio.wait_for(bell.wait(), PING)
            except TimeoutError:
                yield b": ping\n\n"
    finally:
        gone.cancel()
        serving.events.leave(heard)


async def _until_gone(request: Request, heard: Subscription) -> None:
    """Let go of a listener as soon as it closes its end."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    heard.end()


def _frame(kind: str, data: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + encode_json(data) + b"\n\n"
