"""The contracts of store, vault, archive and clock, and their records."""

from __future__ import annotations
