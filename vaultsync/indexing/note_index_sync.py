"""The note index up to date with the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vaultsync.errors import IndexBusyError, StoreUnavailableError
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.session_neighbours import index_documents
from vaultsync.model.schema import Value
from vaultsync.storage.feed_cursor import feed_backlog, make_version
from vaultsync.storage.store import FeedRow

if TYPE_CHECKING:  # a question asks here first, and loads little
    from vaultsync.sync.context import ReadContext
    from vaultsync.sync.report import Progress

NOTE_INDEX_SCHEMA = "2"
"""Changes with what is put into the index for a fact."""
FACTS_PER_COMMIT = 10_000
"""Facts that are put at once: as many are in memory, and in one commit."""


class IndexReport(NamedTuple):
    """What was done to bring the note index up to date."""

    notes: int
    """Facts that it holds now."""
    put: int = 0
    """Those that were put, the neighbours of changed ones among them."""
    dropped: int = 0
    seconds: float = 0.0
    rebuilt: bool = False
    busy: bool = False
    """Another process is writing the index; it does what was to be done here, or the
    next pass does."""
    degraded: str = ""
    """Why the index may be behind the facts; empty when it is not."""

    def as_json(self) -> dict[str, Value]:
        """The report as JSON."""
        return {
            "notes": self.notes,
            "put": self.put,
            "dropped": self.dropped,
            "seconds": self.seconds,
            "rebuilt": self.rebuilt,
            "busy": self.busy,
            "degraded": self.degraded,
        }


def catch_up_note_index(
    ctx: ReadContext,
    index: NoteIndex,
    *,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring the note index up to the store's feed; it never fails the pass.

    It goes on where it stopped when it was interrupted. With `rebuild`, or when it is
    of another store or of a past that did not happen, it is built from nothing.
    """
    began = ctx.clock.monotonic()
    work = _NoteIndexSync(ctx, index, progress)
    busy, why = False, ""
    try:
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
    """The work of one `catch_up()`, and how much of it is done."""

    def __init__(self, ctx: ReadContext, index: NoteIndex, progress: Progress | None) -> None:
        self._ctx = ctx
        self._index = index
        self._progress = progress
        self.put = 0
        self.dropped = 0
        self.rebuilt = False

    def run(self, *, rebuild: bool) -> None:
        known = None if rebuild else self._index.version()
        todo = feed_backlog(self._ctx.redacted_store, known, NOTE_INDEX_SCHEMA)
        if todo.anew:
            self._index.clear()
            self.rebuilt = True
        for start in range(0, len(todo.rows), FACTS_PER_COMMIT):
            self._take_in(todo.rows[start : start + FACTS_PER_COMMIT], todo.store_id)
            if self._progress is not None:
                done = min(start + FACTS_PER_COMMIT, len(todo.rows))
                self._progress("index", done, len(todo.rows))
        if todo.anew and not todo.rows:
            self._index.update([], [], version=self._version(todo.store_id, todo.seq))

    def _take_in(self, rows: list[FeedRow], store_id: str) -> None:
        store = self._ctx.redacted_store
        facts = store.find_many([row.fact_id for row in rows if not row.deleted])
        gone = [row.fact_id for row in rows if row.fact_id not in facts]
        put = index_documents(store, self._index, facts, gone)
        version = self._version(store_id, rows[-1].seq)
        self._index.update(put, [] if self.rebuilt else gone, version=version)
        self.put += len(put)
        self.dropped += 0 if self.rebuilt else len(gone)

    def _version(self, store_id: str, seq: int) -> str:
        return make_version(self._ctx.redacted_store, store_id, seq, NOTE_INDEX_SCHEMA)
