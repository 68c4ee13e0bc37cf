"""Small files of the state directory."""

from __future__ import annotations
