"""The bridge: HTTP on loopback for Obsidian <-> `Memory`.

Each route is one call. `LoopbackGuard` checks who may ask before a request is routed; `handlers.py`
has the routes, from which the OpenAPI document and the reference are made.
"""
