"""HTTP on loopback: the server, its guard, a client."""

from __future__ import annotations
