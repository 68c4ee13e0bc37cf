"""Events of the filesystem."""

from __future__ import annotations
