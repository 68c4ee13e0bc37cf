"""Wiki-links: find, resolve, rewrite, check, and link by name."""

from __future__ import annotations
