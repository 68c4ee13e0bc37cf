"""Counters of tokens."""

from __future__ import annotations
