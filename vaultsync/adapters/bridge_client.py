"""Questions to a bridge of this machine, by the standard library alone.

A question loads little, and a bridge that does not answer is no trouble.
"""

from __future__ import annotations

import http
import http.client
import json
from collections.abc import Mapping
from typing import Any

TIMEOUT = 5.0
"""Seconds; a bridge loads its model within one."""


def ask_bridge(
    port: int, token: str, path: str, body: Mapping[str, object]
) -> dict[str, Any] | None:
    """The answer of a bridge at a port of 127.0.0.1; None when there is none to be had."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "X-Vaultsync": "1",
    }
    try:
        link.request("POST", path, json.dumps(body), headers)
        answer = link.getresponse()
        found = (
            json.loads(answer.read()) if answer.status == http.HTTPStatus.OK else None
        )
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        link.close()
    return found if isinstance(found, dict) else None
