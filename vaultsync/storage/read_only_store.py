"""The base of read-only views of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vaultsync.storage.store import AccessCount, ReplacedVersion, RevisionMismatch, StoreWrite


class ReadOnlyStore:
    """Refuses the methods of a `Store` that write, or serve writers.

    Agents write through `facts/service.py`, which checks them; a sync, which records replaced
    versions, sees all facts.
    """

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        """Not supported."""
        raise NotImplementedError

    def count_accesses(self, counts: Mapping[str, AccessCount], op: str) -> int:
        """Not supported."""
        raise NotImplementedError

    def replaced_ids(self) -> list[str]:
        """Not supported."""
        raise NotImplementedError

    def replaced_versions(self, fact_ids: Iterable[str] | None = None) -> list[ReplacedVersion]:
        """Not supported."""
        raise NotImplementedError

    def drop_replaced(self, revisions: Iterable[str]) -> None:
        """Not supported."""
        raise NotImplementedError

    def close(self) -> None:
        """Does nothing: nothing was opened for it."""
