"""Backends that keep everything in memory."""

from __future__ import annotations
