"""Which facts were recalled: written to the store in batches, after the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.indexing.note_index_sync import SCHEMA
from vaultsync.storage.feed_cursor import version_at
from vaultsync.storage.store import Write

if TYPE_CHECKING:  # loaded with every question
    from vaultsync.indexing.ports import NoteIndex
    from vaultsync.recall.ports import RecallLog
    from vaultsync.storage.store import StoreState
    from vaultsync.sync.context import Mirror

ACTOR = "recall"
"""Who writes, in the store's feed."""
FULL = 64 << 10
"""Bytes of recalls, some 1,500, that are written even when nobody asks for counts."""


class Accesses:
    """Counts what was recalled: noted with each answer, written when somebody looks.

    To write a hundred counts takes as long as two answers, so no answer waits for it but
    one in hundreds. A count is worth little: a fact that somebody else writes at the same
    moment is not counted (seed 001).
    """

    def __init__(
        self,
        mirror: Mirror,
        log: RecallLog,
        *,
        index: Callable[[], NoteIndex] | None = None,
        full: int = FULL,
    ) -> None:
        self._mirror = mirror
        self._log = log
        self._index = index
        self._full = full

    def add(self, fact_ids: Iterable[str]) -> None:
        """Count a recall of each of these facts."""
        noted = list(fact_ids)
        if noted:
            self._log.note(noted, self._mirror.today())
        if self._log.size() >= self._full:
            self.flush()

    def flush(self) -> int:
        """Write what was counted; returns how many facts were. It never fails."""
        counts = self._log.take() if self._log.size() else {}
        if not counts:
            return 0
        store = self._mirror.store
        try:
            before = self._mirror.shown.state()
            writes = [
                Write(
                    key,
                    fact.but(
                        access_count=fact.access_count + counts[key].times,
                        last_accessed_at=counts[key].at,
                    ),
                    fact.revision,
                    ACTOR,
                )
                for key, fact in store.find_many(counts).items()
            ]
            answers = store.write(writes)
        except StoreUnavailableError:
            return 0
        written = {each for each in answers if isinstance(each, str)}
        with suppress(DerivedError, OSError, StoreUnavailableError):
            self._tell(before, written)
        return len(written)

    def _tell(self, before: StoreState, written: set[str]) -> None:
        """Spare the note index a look at these facts: nothing it holds has changed.

        Only where nobody else wrote between: it would not look at that either.
        """
        if self._index is None:
            return
        index, store = self._index(), self._mirror.shown
        seq, end = before.seq, before.seq + len(written)
        if index.version() != version_at(store, before.store_id, seq, SCHEMA):
            return
        ours = {row.seq for row in store.feed(seq) if row.revision in written}
        if ours == set(range(seq + 1, end + 1)):
            version = version_at(store, before.store_id, end, SCHEMA)
            index.update([], [], version=version)
