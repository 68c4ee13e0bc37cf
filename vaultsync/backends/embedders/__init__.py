"""Models that embed text."""

from __future__ import annotations
