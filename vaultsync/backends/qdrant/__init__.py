"""The store and its vectors in Qdrant."""

from __future__ import annotations
