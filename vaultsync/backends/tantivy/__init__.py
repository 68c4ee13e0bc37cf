"""The note index in tantivy."""

from __future__ import annotations
