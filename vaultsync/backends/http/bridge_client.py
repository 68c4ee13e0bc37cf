"""Requests to a bridge of this machine, by the standard library, which loads fast."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any

BRIDGE_TIMEOUT = 5.0
"""Seconds; a bridge loads its model within one."""


def ask_bridge(
    port: int,
    token: str,
    path: str,
    body: Mapping[str, object] | None,
    patience: float = BRIDGE_TIMEOUT,
) -> dict[str, Any] | None:
    """The JSON answer of a bridge at a port of 127.0.0.1, which may be an error.

    Without a body the request is a GET. None when there is no answer.
    """
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "X-Vaultsync": "1",
    }
    try:
        if body is None:
            link.request("GET", path, headers=headers)
        else:
            link.request("POST", path, json.dumps(body), headers)
        found = json.loads(link.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        link.close()
    return found if isinstance(found, dict) else None
