"""Update the note index from the store's feed and from moves of notes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from vaultsync.errors import IndexBusyError, StoreUnavailableError
from vaultsync.indexing.ports import IndexDocument, NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.storage.feed_cursor import FeedBacklog, feed_backlog, retry_changed, version_of
from vaultsync.storage.store import FeedRow, StoreState
from vaultsync.sync.context import ReadContext

_log = logging.getLogger(__name__)

if TYPE_CHECKING:  # a cold question imports this module, and no report of a sync run
    from vaultsync.sync.report import Progress

NOTE_INDEX_SCHEMA = "4"
"""To be changed with what is indexed of a fact: a new schema rebuilds the index."""
FACTS_PER_COMMIT = 1_000
"""Facts that are in memory, and in one commit, at once."""
MAX_AWAITED = 100
"""Maximum number of facts to index that wait for another process that writes the index: with
more, it probably builds it, which takes long."""
BUSY_POLL_SECONDS, BUSY_SECONDS = 0.01, 0.5
"""The interval and the limit of that wait. To commit a fact takes about 20 ms."""


class IndexReport(Struct, frozen=True):
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
    unusable: bool = False
    """Whether there is no index, because it can be neither read nor written."""
    temporary: bool = False
    """Whether a temporary index, which has all facts, took its place."""


class NoteIndexBacklog(NamedTuple):
    """What the note index has to catch up with."""

    feed: FeedBacklog
    moved: Sequence[str]
    """Facts without a row whose notes came, moved or were missed, so they have other neighbours."""
    version: str
    """The version of the index, if it can be continued."""
    last_move: int
    """The archive's, before any path was read."""
    followed: int
    """The last move that the index has followed."""

    def version_after_moves(self, *, all_done: bool) -> str:
        """The version of the index that followed all of these moves, or some."""
        return f"{self.version.rpartition('|')[0]}|{self.last_move}" if all_done else self.version


def note_index_backlog(ctx: ReadContext, version: str | None) -> NoteIndexBacklog:
    """What the note index at a version has to catch up with.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    of_store, _, number = (version or "").rpartition("|")
    last_move, followed = ctx.archive.last_move(), int(number) if number.isdecimal() else 0
    # An archive that began from scratch has smaller numbers.
    known = of_store if followed <= last_move else None
    found = feed_backlog(ctx.redacted_store, known or None, NOTE_INDEX_SCHEMA)
    moved: Sequence[str] = ()
    if followed < last_move and not found.is_full:
        written = {row.fact_id for row in found.rows}
        moved = [each for each in ctx.archive.moved_since(followed) if each not in written]
    return NoteIndexBacklog(found, moved, version or "", last_move, followed)


def _version(store_id: str, end: FeedRow | StoreState, last_move: int) -> str:
    return f"{version_of(store_id, end, NOTE_INDEX_SCHEMA)}|{last_move}"


def count_visible_facts(ctx: ReadContext, index: NoteIndex, agent: str) -> int:
    """The number of facts that an agent may see; never writes the index.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    state, permissions = ctx.redacted_store.state(), ctx.policy.permissions
    of_store = (index.version() or "").rpartition("|")[0]
    if of_store == version_of(state.store_id, state, NOTE_INDEX_SCHEMA):
        return index.count(permissions.reader(agent))
    return sum(permissions.may_read(agent, fact.scope) for fact in ctx.store.iter_facts())


def _is_unusable(index: NoteIndex) -> bool:
    """Whether an index that cannot be written cannot be read either."""
    try:
        return index.version() is None
    except OSError:
        return True


def _documents(
    ctx: ReadContext, index: NoteIndex, facts: Mapping[str, Fact], gone: Collection[str]
) -> list[IndexDocument]:
    # A question to an index that is up to date needs none of it.
    from vaultsync.indexing.session_neighbours import index_documents  # noqa: PLC0415 - see above

    paths = ctx.archive.note_paths(facts)
    return index_documents(ctx.redacted_store, index, facts, gone, paths)


def catch_up_note_index(
    ctx: ReadContext, index: NoteIndex, *, rebuild: bool = False, progress: Progress | None = None
) -> IndexReport:
    """Bring the note index up to the store's feed; failures are in the report.

    An index that is up to date costs one comparison of versions, and is not written. An
    interrupted run continues where it stopped. The index is built from nothing with
    `rebuild`, or when it was built from another store, schema or history. While others write
    it, it is up to date once it has what there was when this began.
    """
    began, done = ctx.clock.monotonic(), _Done()
    busy = unusable = False
    why = ""

    def left() -> int:
        return len(note_index_backlog(ctx, index.version()).feed.rows)

    follow = partial(_follow_feed, ctx, index, done, rebuild=rebuild, progress=progress)
    try:
        while True:
            try:
                retry_changed(follow, left)
                break
            except IndexBusyError:
                now = note_index_backlog(ctx, index.version())
                if not rebuild and done.is_in(now):
                    break
                waited = ctx.clock.monotonic() - began
                if len(now.feed.rows) > MAX_AWAITED or waited > BUSY_SECONDS:
                    raise
                ctx.clock.sleep(BUSY_POLL_SECONDS)
    except IndexBusyError as error:
        busy, why = True, error.message
    except StoreUnavailableError as error:
        why = error.message
    except OSError as error:
        why = f"the note index cannot be written: {error.strerror or error}"
        unusable = _is_unusable(index)
    seconds = ctx.clock.monotonic() - began
    if done.put or done.dropped or why:
        _log.debug(
            "%d facts indexed, %d removed in %.3f s; %s", done.put, done.dropped, seconds, why
        )
    return IndexReport(done.put, done.dropped, seconds, done.rebuilt, busy, why, unusable)


class _Done(Struct):
    """What was done so far."""

    put: int = 0
    dropped: int = 0
    rebuilt: bool = False
    last_row: int = 0
    """The last row of the feed when it began."""
    last_move: int = 0
    """The last move then."""

    def is_in(self, now: NoteIndexBacklog) -> bool:
        """Whether the index, whose backlog is `now`, has all that there was when it began."""
        rows = now.feed.rows
        is_behind = now.feed.is_full or (rows and rows[0].seq <= self.last_row)
        return not is_behind and now.followed >= self.last_move


def _follow_feed(
    ctx: ReadContext, index: NoteIndex, done: _Done, *, rebuild: bool, progress: Progress | None
) -> None:
    store = ctx.redacted_store
    # Once it is empty, what another process puts into it is new.
    backlog = note_index_backlog(ctx, None if rebuild and not done.rebuilt else index.version())
    last_move, (rows, store_id, end, is_full) = backlog.last_move, backlog.feed
    done.last_row, done.last_move = done.last_row or end.seq, done.last_move or last_move
    total = len(rows)
    if is_full:
        index.clear()
        done.rebuilt = True
    for start in range(0, len(backlog.moved), FACTS_PER_COMMIT):
        some = backlog.moved[start : start + FACTS_PER_COMMIT]
        is_last = start + FACTS_PER_COMMIT >= len(backlog.moved)
        documents = _documents(ctx, index, store.find_many(some), [])
        index.update(documents, [], version=backlog.version_after_moves(all_done=is_last))
        done.put += len(documents)
    for start in range(0, total, FACTS_PER_COMMIT):
        page = rows[start : start + FACTS_PER_COMMIT]
        facts = store.find_many([row.fact_id for row in page if not row.deleted])
        gone = [row.fact_id for row in page if row.fact_id not in facts]
        documents = _documents(ctx, index, facts, gone)
        drop = [] if is_full else gone
        index.update(documents, drop, version=_version(store_id, page[-1], last_move))
        done.put += len(documents)
        done.dropped += len(drop)
        if progress is not None:
            progress("index", min(start + FACTS_PER_COMMIT, total), total)
    if is_full and not rows:
        index.update([], [], version=_version(store_id, end, last_move))
