"""A store that could not be opened."""

from __future__ import annotations

from typing import NoReturn

from vaultsync.errors import StoreUnavailableError


class UnavailableStore:
    """A `Store` that raises `StoreUnavailableError`, so that work goes on without it."""

    def __init__(self, why: str) -> None:
        self._why = why

    def _unavailable(self, *_: object, **__: object) -> NoReturn:
        raise StoreUnavailableError(self._why)

    state = feed = last_write = revision_at = get = find_many = _unavailable
    tombstone = iter_facts = write = was_applied = _unavailable

    def close(self) -> None:
        """Nothing to close."""
