"""Which facts were recalled: written to the store in batches, after the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.indexing.note_index_sync import NOTE_INDEX_SCHEMA
from vaultsync.storage.feed_cursor import make_version
from vaultsync.storage.store import StoreWrite

if TYPE_CHECKING:  # loaded with every question
    from vaultsync.indexing.ports import NoteIndex
    from vaultsync.recall.ports import RecallLog
    from vaultsync.storage.store import StoreState
    from vaultsync.sync.context import ReadContext

RECALL_ACTOR = "recall"
"""Who writes, in the store's feed."""
FLUSH_BYTES = 64 << 10
"""Bytes of recalls, some 1,500, that are written even when nobody asks for counts."""


class AccessCounter:
    """Counts what was recalled: noted with each answer, written when somebody looks.

    To write a hundred counts takes as long as two answers, so no answer waits for it but
    one in hundreds. A count is worth little: a fact that somebody else writes at the same
    moment is not counted (seed 001).
    """

    def __init__(
        self,
        ctx: ReadContext,
        log: RecallLog,
        *,
        index: Callable[[], NoteIndex] | None = None,
        full: int = FLUSH_BYTES,
    ) -> None:
        self._ctx = ctx
        self._log = log
        self._index = index
        self._full = full

    def add(self, fact_ids: Iterable[str]) -> None:
        """Count a recall of each of these facts."""
        noted = list(fact_ids)
        if noted:
            self._log.note(noted, self._ctx.today())
        if self._log.size() >= self._full:
            self.flush()

    def flush(self) -> int:
        """Write what was counted; returns how many facts were. It never fails."""
        counts = self._log.take() if self._log.size() else {}
        if not counts:
            return 0
        store = self._ctx.store
        try:
            before = self._ctx.redacted_store.state()
            writes = [
                StoreWrite(
                    key,
                    fact.evolve(
                        access_count=fact.access_count + counts[key].times,
                        last_accessed_at=counts[key].at,
                    ),
                    fact.revision,
                    RECALL_ACTOR,
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
        index, store = self._index(), self._ctx.redacted_store
        seq, end = before.seq, before.seq + len(written)
        if index.version() != make_version(store, before.store_id, seq, NOTE_INDEX_SCHEMA):
            return
        ours = {row.seq for row in store.feed(seq) if row.revision in written}
        if ours == set(range(seq + 1, end + 1)):
            version = make_version(store, before.store_id, end, NOTE_INDEX_SCHEMA)
            index.update([], [], version=version)
