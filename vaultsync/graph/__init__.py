"""The graph of facts: statistics, exports, the page."""

from __future__ import annotations
