"""Count recalls of facts: logged with each answer, written to the store in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.indexing.note_index_sync import NOTE_INDEX_SCHEMA
from vaultsync.indexing.ports import NoteIndex
from vaultsync.recall.ports import RecallLog
from vaultsync.storage.feed_cursor import make_version, version_of
from vaultsync.storage.store import StoreState, StoreWrite
from vaultsync.sync.context import ReadContext

RECALL_ACTOR = "recall"
"""The writer's name in the store's feed."""
FLUSH_BYTES = 64 << 10
"""Size of the log, about 1,500 recalls, from which an answer flushes it."""


class AccessCounter:
    """Counts recalls in `accessCount`, in batches.

    Writing a hundred counts takes as long as two answers, so they are written when they are
    read, or when the log is full. Counts are best effort: one that conflicts with another
    write of the same fact is dropped.

    Args:
        ctx: the store to write to.
        log: where recalls wait.
        index: opens the note index.
    """

    def __init__(self, ctx: ReadContext, log: RecallLog, *, index: Callable[[], NoteIndex]) -> None:
        self._ctx = ctx
        self._recalls = log
        self._index = index

    def add(self, fact_ids: Sequence[str]) -> None:
        """Log a recall of each of these facts."""
        if fact_ids:
            self._recalls.note(fact_ids, self._ctx.today())
        if self._recalls.size() >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> int:
        """Write the counts; returns how many facts were written. Never raises for the store."""
        counts = self._recalls.take() if self._recalls.size() else {}
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
            results = store.write(writes)
        except StoreUnavailableError:
            return 0
        written = {each for each in results if isinstance(each, str)}
        # Otherwise the note index reads these facts again, and finds them unchanged.
        with suppress(DerivedError, OSError, StoreUnavailableError):
            self._advance_index(before, written)
        return len(written)

    def _advance_index(self, before: StoreState, written: set[str]) -> None:
        """Move the version of the note index past these writes, which change nothing in it.

        Only if it was up to date and there was no other write in between.
        """
        index, store = self._index(), self._ctx.redacted_store
        seq, end = before.seq, before.seq + len(written)
        if index.version() != version_of(before.store_id, before, NOTE_INDEX_SCHEMA):
            return
        ours = {row.seq for row in store.feed(seq) if row.revision in written}
        if ours == set(range(seq + 1, end + 1)):
            version = make_version(store, before.store_id, end, NOTE_INDEX_SCHEMA)
            index.update([], [], version=version)
