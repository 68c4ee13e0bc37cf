"""Bring the note index up to the store's feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vaultsync.errors import IndexBusyError, StoreUnavailableError
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.session_neighbours import index_documents
from vaultsync.storage.feed_cursor import feed_backlog, version_of
from vaultsync.storage.store import FeedRow, StoreState
from vaultsync.sync.context import ReadContext

if TYPE_CHECKING:  # a cold question imports this module, and no report of a sync run
    from vaultsync.sync.report import Progress

NOTE_INDEX_SCHEMA = "2"
"""To be changed with what is indexed of a fact: a new schema rebuilds the index."""
FACTS_PER_COMMIT = 10_000
"""Facts that are in memory, and in one commit, at once."""


class IndexReport(NamedTuple):
    """What was done to bring the note index up to date."""

    notes: int
    """Facts in the index."""
    put: int = 0
    """Facts that were indexed, the neighbours of changed ones among them."""
    dropped: int = 0
    """Facts that were removed."""
    seconds: float = 0.0
    rebuilt: bool = False
    busy: bool = False
    """Another process is writing the index; it, or the next run, indexes these facts."""
    degraded: str = ""
    """Why the index may be behind the facts; empty when it is not."""


def catch_up_note_index(
    ctx: ReadContext, index: NoteIndex, *, rebuild: bool = False, progress: Progress | None = None
) -> IndexReport:
    """Bring the note index up to the store's feed; failures are in the report.

    An index that is up to date costs one comparison of versions, and is not written. An
    interrupted run continues where it stopped. The index is built from nothing with
    `rebuild`, or when it was built from another store, schema or history.
    """
    began = ctx.clock.monotonic()
    work = _NoteIndexSync(ctx, index, progress)
    busy, why = False, ""
    try:
        if rebuild or not work.is_current():
            work.run(rebuild=rebuild)
    except IndexBusyError as error:
        busy, why = True, error.message
    except StoreUnavailableError as error:
        why = error.message
    except OSError as error:
        why = f"the note index cannot be written: {error.strerror or error}"
    return IndexReport(
        notes=index.count(),
        put=work.put,
        dropped=work.dropped,
        seconds=ctx.clock.monotonic() - began,
        rebuilt=work.rebuilt,
        busy=busy,
        degraded=why,
    )


class _NoteIndexSync:
    """One run of `catch_up_note_index()`, and how far it has come."""

    def __init__(self, ctx: ReadContext, index: NoteIndex, progress: Progress | None) -> None:
        self._store = ctx.redacted_store
        self._index = index
        self._progress = progress
        self.put = 0
        self.dropped = 0
        self.rebuilt = False

    def is_current(self) -> bool:
        state = self._store.state()
        return self._index.version() == self._version(state.store_id, state)

    def run(self, *, rebuild: bool) -> None:
        known = None if rebuild else self._index.version()
        backlog = feed_backlog(self._store, known, NOTE_INDEX_SCHEMA)
        if backlog.is_full:
            self._index.clear()
            self.rebuilt = True
        for start in range(0, len(backlog.rows), FACTS_PER_COMMIT):
            self._index_page(backlog.rows[start : start + FACTS_PER_COMMIT], backlog.store_id)
            if self._progress is not None:
                done = min(start + FACTS_PER_COMMIT, len(backlog.rows))
                self._progress("index", done, len(backlog.rows))
        if backlog.is_full and not backlog.rows:
            self._index.update([], [], version=self._version(backlog.store_id, backlog.end))

    def _index_page(self, rows: list[FeedRow], store_id: str) -> None:
        facts = self._store.find_many([row.fact_id for row in rows if not row.deleted])
        gone = [row.fact_id for row in rows if row.fact_id not in facts]
        documents = index_documents(self._store, self._index, facts, gone)
        dropped = [] if self.rebuilt else gone
        self._index.update(documents, dropped, version=self._version(store_id, rows[-1]))
        self.put += len(documents)
        self.dropped += len(dropped)

    def _version(self, store_id: str, end: FeedRow | StoreState) -> str:
        return version_of(store_id, end, NOTE_INDEX_SCHEMA)
