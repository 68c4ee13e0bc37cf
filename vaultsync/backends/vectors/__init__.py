"""Vectors in a memory-mapped matrix, and in LanceDB."""

from __future__ import annotations
