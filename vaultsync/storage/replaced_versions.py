"""Replaced versions of facts, read without holding all of them in memory."""

from __future__ import annotations

from collections.abc import Iterator

from vaultsync.storage.store import ReplacedVersion, Store

FACTS_AT_ONCE = 100
"""The number of facts whose replaced versions, which may be many, are in memory at once."""


def iter_replaced(store: Store) -> Iterator[list[ReplacedVersion]]:
    """All replaced versions, those of some facts at a time."""
    ids = store.replaced_ids()
    for start in range(0, len(ids), FACTS_AT_ONCE):
        yield store.replaced_versions(ids[start : start + FACTS_AT_ONCE])
