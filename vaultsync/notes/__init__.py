"""Fact <-> note, and the conflict note."""

from __future__ import annotations
