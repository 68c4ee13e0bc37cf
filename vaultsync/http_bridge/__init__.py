"""The bridge: HTTP on loopback for Obsidian <-> `Memory`.

One route is one call. Who may ask is decided before anything is routed, by the guard of
`app.listening.listen`; what can be asked is the one table in `routes.py`, from which the
OpenAPI document and the reference are made.
"""

from __future__ import annotations

from vaultsync.http_bridge.application import make_bridge_app
from vaultsync.http_bridge.server import BridgeServer, running_bridge

__all__ = ["BridgeServer", "make_bridge_app", "running_bridge"]
