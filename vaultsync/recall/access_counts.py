"""Count uses of facts: logged at once, written to the store in batches.

A fact is used when it is opened, packed into a context that was delivered, or changed or
named by an agent. Appearing among the hits of a question does not count.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from vaultsync.errors import StoreError
from vaultsync.recall.ports import RecallLog
from vaultsync.sync.context import ReadContext

_log = logging.getLogger(__name__)
FLUSH_BYTES = 64 << 10
"""Size of the log, about 1,500 uses, from which an answer flushes it."""


class AccessCounter:
    """Counts uses in `accessCount`, in batches.

    Writing a hundred counts takes as long as two answers, so they are written only when they
    are needed, or when the log is full. Counts are stored beside the facts: no revision changes.

    Args:
        log: keeps uses until the store has them.
    """

    def __init__(self, ctx: ReadContext, log: RecallLog) -> None:
        self._ctx = ctx
        self._log = log
        self._flush_at = FLUSH_BYTES

    def add(self, fact_ids: Sequence[str]) -> None:
        """Log a use of each of these facts."""
        if not fact_ids:
            return
        self._log.note(fact_ids, self._ctx.today())
        size = self._log.size()
        if size >= self._flush_at:
            self.flush()
            # While the store is unavailable, only some answers wait for it.
            self._flush_at = self._log.size() + FLUSH_BYTES

    def flush(self) -> int:
        """Write the counts; returns the number of facts. Never raises errors of the store.

        Counts that could not be written stay in the log.
        """
        counted = 0
        while (batch := self._log.batch()) is not None:
            try:
                counted += self._ctx.store.count_accesses(batch.counts, batch.op)
            except StoreError as error:
                _log.debug("uses are counted when the store is back: %s", error)
                break
            self._log.drop(batch.op)
        return counted
