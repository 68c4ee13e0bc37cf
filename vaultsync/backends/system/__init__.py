"""The clock and the machine."""

from __future__ import annotations
