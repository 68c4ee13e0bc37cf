"""Question -> hits."""

from __future__ import annotations
