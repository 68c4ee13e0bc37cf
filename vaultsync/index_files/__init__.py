"""`.index/`: generated tables of contents."""

from __future__ import annotations
