"""Processes: the daemon, the bridge, daily maintenance."""

from __future__ import annotations
