"""Sync: three trees in, one plan out, applied in an order that survives a crash."""

from __future__ import annotations
