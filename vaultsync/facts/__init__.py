"""What agents do: remember, update, supersede, forget, list."""

from __future__ import annotations
