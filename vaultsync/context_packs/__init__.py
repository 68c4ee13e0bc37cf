"""Context packs: what to read for a question, within a token budget."""

from __future__ import annotations
