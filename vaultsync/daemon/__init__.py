"""The daemon's loop: debounce, schedule, back off."""

from __future__ import annotations
