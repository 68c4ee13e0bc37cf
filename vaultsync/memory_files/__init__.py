"""MEMORY.md and its like, section by section."""

from __future__ import annotations
