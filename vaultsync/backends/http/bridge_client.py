"""Requests to a bridge on this machine, with the standard library, because that loads fast."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Mapping
from typing import Any

BRIDGE_TIMEOUT = 5.0
"""Timeout in seconds; a bridge loads its model within one, and a running process accepts a request
within this time, however busy its engine is."""
_NOWHERE = "/"
"""A path without a route, to which the server itself responds, without the engine."""


def ask_bridge(
    port: int,
    token: str,
    path: str,
    body: Mapping[str, object] | None,
    patience: float = BRIDGE_TIMEOUT,
) -> dict[str, Any] | None:
    """The JSON response of a bridge at a port of 127.0.0.1, which may be an error.

    Without a body the request is a GET. None if there is no such bridge. If the response takes
    longer than `BRIDGE_TIMEOUT`, the bridge is polled to see whether it is still running.

    Raises:
        TimeoutError: it did not respond in time, or its process is not running, as while it is
            suspended.
    """
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=min(patience, BRIDGE_TIMEOUT))
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "X-Vaultsync": "1",
    }
    until = time.monotonic() + patience
    try:
        if body is None:
            link.request("GET", path, headers=headers)
        else:
            link.request("POST", path, json.dumps(body), headers)
        while not _has_replied(link, until):
            check_bridge(port, token)
        found = json.loads(link.getresponse().read())
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        link.close()
    return found if isinstance(found, dict) else None


def check_bridge(port: int, token: str) -> None:
    """Check that a bridge responds, even if its engine is busy.

    Raises:
        TimeoutError: it does not respond, although something listens there.
    """
    ask_bridge(port, token, _NOWHERE, None)


def _has_replied(link: http.client.HTTPConnection, until: float) -> bool:
    """Whether the response begins within the connection's time-out.

    Raises:
        TimeoutError: it does not, and the time is over.
    """
    try:
        link.sock.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        if time.monotonic() >= until:
            raise
        return False
    return True
