"""Question -> a pack that fits a token budget."""

from __future__ import annotations
