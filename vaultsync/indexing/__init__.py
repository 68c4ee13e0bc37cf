"""What recall searches: words, chunks and vectors, kept up to date."""

from __future__ import annotations
