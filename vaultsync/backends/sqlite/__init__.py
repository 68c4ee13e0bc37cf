"""Store, archive and link index in SQLite."""

from __future__ import annotations
