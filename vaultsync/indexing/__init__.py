"""Indexing: keep what recall searches, words and vectors, up to date with the store."""

from __future__ import annotations
