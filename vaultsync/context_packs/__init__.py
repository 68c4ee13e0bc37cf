"""Context packs: the facts for a question, within a token budget."""

from __future__ import annotations
