"""Bring the note index up to the store's feed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from vaultsync.errors import IndexBusyError, StoreUnavailableError
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.session_context import index_documents
from vaultsync.model.scope import can_see
from vaultsync.storage.feed_cursor import feed_backlog, version_of
from vaultsync.sync.context import ReadContext

_log = logging.getLogger(__name__)

if TYPE_CHECKING:  # a cold question imports this module, and no report of a sync run
    from vaultsync.sync.report import Progress

NOTE_INDEX_SCHEMA = "2"
"""To be changed with what is indexed of a fact: a new schema rebuilds the index."""
FACTS_PER_COMMIT = 500
"""Facts that are in memory, and in one commit, at once."""


class IndexReport(NamedTuple):
    """What was done to bring the note index up to date."""

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


def count_visible_facts(ctx: ReadContext, index: NoteIndex, agent: str) -> int:
    """The number of facts that an agent may see; never writes the index.

    Raises:
        StoreUnavailableError: the store is away.
    """
    state = ctx.redacted_store.state()
    if index.version() == version_of(state.store_id, state, NOTE_INDEX_SCHEMA):
        return index.count(agent)
    return sum(can_see(agent, fact.scope) for fact in ctx.store.iter_facts())


def catch_up_note_index(
    ctx: ReadContext, index: NoteIndex, *, rebuild: bool = False, progress: Progress | None = None
) -> IndexReport:
    """Bring the note index up to the store's feed; failures are in the report.

    An index that is up to date costs one comparison of versions, and is not written. An
    interrupted run continues where it stopped. The index is built from nothing with
    `rebuild`, or when it was built from another store, schema or history.
    """
    began, store = ctx.clock.monotonic(), ctx.redacted_store
    put = dropped = 0
    rebuilt = busy = False
    why = ""
    try:
        backlog = feed_backlog(store, None if rebuild else index.version(), NOTE_INDEX_SCHEMA)
        rows, total = backlog.rows, len(backlog.rows)
        if backlog.is_full:
            index.clear()
            rebuilt = True
        for start in range(0, total, FACTS_PER_COMMIT):
            page = rows[start : start + FACTS_PER_COMMIT]
            facts = store.find_many([row.fact_id for row in page if not row.deleted])
            gone = [row.fact_id for row in page if row.fact_id not in facts]
            documents = index_documents(store, index, facts, gone)
            drop = [] if rebuilt else gone
            version = version_of(backlog.store_id, page[-1], NOTE_INDEX_SCHEMA)
            index.update(documents, drop, version=version)
            put += len(documents)
            dropped += len(drop)
            if progress is not None:
                progress("index", min(start + FACTS_PER_COMMIT, total), total)
        if rebuilt and not rows:
            version = version_of(backlog.store_id, backlog.end, NOTE_INDEX_SCHEMA)
            index.update([], [], version=version)
    except IndexBusyError as error:
        busy, why = True, error.message
    except StoreUnavailableError as error:
        why = error.message
    except OSError as error:
        why = f"the note index cannot be written: {error.strerror or error}"
    seconds = ctx.clock.monotonic() - began
    if put or dropped or why:
        _log.debug("%d facts indexed, %d removed in %.3f s; %s", put, dropped, seconds, why)
    return IndexReport(put, dropped, seconds, rebuilt, busy, why)
