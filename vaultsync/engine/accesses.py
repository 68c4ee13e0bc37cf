"""Which facts were recalled: written to the store in batches, after the answers."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from vaultsync.engine.follow import version_at
from vaultsync.engine.indexing import SCHEMA
from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.ports import Write

if TYPE_CHECKING:  # loaded with every question
    from vaultsync.engine.mirror import Mirror
    from vaultsync.ports import NoteIndex, StoreState

ACTOR = "recall"
"""Who writes, in the store's feed."""
WAIT = 60.0
"""Seconds after which what was counted is written, at the latest when everything closes:
one who asks ten times a second waits once a minute, and not at each tenth question."""
BATCH = 5_000
"""Counted facts that wait at most: they are in memory."""


class Accesses:
    """Counts what was recalled until it is written down.

    A count is worth little: a fact that somebody else writes at the same moment is not
    counted, and what waits when the process is killed is lost (seed 001).
    """

    def __init__(
        self, mirror: Mirror, *, index: NoteIndex | None = None, batch: int = BATCH
    ) -> None:
        self._mirror = mirror
        self._index = index
        self._batch = batch
        self._counts: dict[str, int] = {}
        self._last: dict[str, str] = {}
        self._due = 0.0
        """When the first of them has waited long enough, by the monotonic clock."""

    def add(self, fact_ids: Iterable[str]) -> None:
        """Count a recall of each of these facts."""
        at, now = self._mirror.today(), self._mirror.clock.monotonic()
        if not self._counts:
            self._due = now + WAIT
        for fact_id in fact_ids:
            self._counts[fact_id] = self._counts.get(fact_id, 0) + 1
            self._last[fact_id] = at
        if now >= self._due or len(self._counts) >= self._batch:
            self.flush()

    def flush(self) -> int:
        """Write what was counted; returns how many facts were. It never fails."""
        counts, last = self._counts, self._last
        self._counts, self._last = {}, {}
        if not counts:
            return 0
        store = self._mirror.store
        try:
            before = self._mirror.shown.state()
            writes = [
                Write(
                    key,
                    fact.but(
                        access_count=fact.access_count + counts[key],
                        last_accessed_at=last[key],
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
        index, store = self._index, self._mirror.shown
        seq, end = before.seq, before.seq + len(written)
        if index is None or index.version() != version_at(
            store, before.store_id, seq, SCHEMA
        ):
            return
        ours = {row.seq for row in store.feed(seq) if row.revision in written}
        if ours == set(range(seq + 1, end + 1)):
            version = version_at(store, before.store_id, end, SCHEMA)
            index.update([], [], version=version)
