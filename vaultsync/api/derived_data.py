"""Update everything derived from the facts: indexes, tables, vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from vaultsync.backends.system.free_memory import return_free_memory
from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.index_files.service import TableInputs, tables_are_current, write_tables
from vaultsync.indexing import note_index_sync as indexing
from vaultsync.indexing.embedding_cost import EmbeddingCost, estimate_embedding_cost
from vaultsync.indexing.embedding_texts import embedding_identity
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.indexing.vector_index_sync import EmbedReport, embed_pending
from vaultsync.links.index_sync import update_link_index
from vaultsync.links.ports import LinkIndex
from vaultsync.storage.feed_cursor import version_of
from vaultsync.storage.redacted_store import FactCache
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import ReadContext, SyncContext
from vaultsync.sync.report import EmbeddingState, Progress

DERIVED_SETTING = "derived"
"""The setting of the archive that names the store version all of it was brought up to."""
TRIMMED_FROM = 200
"""The number of indexed facts from which freed memory is returned, which takes milliseconds."""
_MODEL_CHANGED = (
    "the vectors are from a different model than the settings name; `vaultsync index` rebuilds them"
)
_log = logging.getLogger(__name__)


class DerivedParts(Struct, frozen=True, eq=False):
    """The derived data of a vault; None for parts that this machine lacks."""

    note_index: NoteIndex
    links: LinkIndex
    tables: TableInputs
    vectors: VectorIndex | None = None
    """The vectors to update at once; None if a worker makes them."""
    embedder: Callable[[], Embedder | None] = lambda: None
    """Makes the embedder, or raises EmbedderError."""


class DerivedReport(Struct, frozen=True):
    """What was brought up to date."""

    notes: int
    """Facts in the note index; 0 for a run, which does not count them."""
    chunks: int
    """Facts that have vectors."""
    embedded: int
    """Texts that were embedded."""
    seconds: float
    """How long it took."""
    degraded: tuple[str, ...] = ()
    """The parts that could not be brought up to date, and why."""
    embedding: EmbeddingState | None = None
    """The progress of the worker that makes the vectors; None if there is none."""


def is_derived_current(ctx: SyncContext) -> bool:
    """Whether neither the store nor a table changed since the last update."""
    try:
        state = ctx.redacted_store.state()
        same = ctx.archive.setting(DERIVED_SETTING) == _version(state)
        return same and tables_are_current(ctx, state)
    except StoreUnavailableError:
        return True  # nothing can be derived now
    except OSError:
        return False  # writing the tables says what is wrong with them


def update_derived(
    ctx: SyncContext,
    parts: DerivedParts,
    *,
    rebuild: bool = False,
    counts: bool = True,
    approve: Callable[[EmbeddingCost], bool] | None = None,
    progress: Progress | None = None,
) -> DerivedReport:
    """Bring everything up to the store; failures are reported, and retried next time.

    Without `counts`, the report lacks the number of indexed notes, which costs another opening
    of the index. `approve` is called with the cost before all vectors are rebuilt for
    another model; without it, or where it returns false, they stay as they are.
    """
    began = ctx.clock.monotonic()
    state = ""  # what is written from here on may be missed by one of them
    with suppress(StoreUnavailableError):
        state = _version(ctx.redacted_store.state())
    ctx = replace(ctx, read=FactCache())  # notes, links and tables read the same facts
    notes = indexing.catch_up_note_index(
        ctx, parts.note_index, rebuild=rebuild, progress=_trimming(progress)
    )

    def update_links() -> None:
        if rebuild:
            parts.links.clear()
        update_link_index(ctx.redacted_store, parts.links)

    links = _failure("the link index", update_links)
    tables = _failure("`.index/`", lambda: write_tables(ctx, parts.tables, rebuild=rebuild))
    vectors = update_vectors(ctx, parts, approve=approve, progress=progress)
    degraded = tuple(filter(None, (notes.degraded, links, tables, vectors.degraded)))
    if not degraded:
        with ctx.archive.transaction():
            ctx.archive.set_setting(DERIVED_SETTING, state)
    for reason in degraded:
        _log.debug("derived data is out of date: %s", reason)
    return DerivedReport(
        notes=parts.note_index.count() if counts else 0,
        chunks=vectors.facts,
        embedded=vectors.embedded,
        seconds=ctx.clock.monotonic() - began,
        degraded=degraded,
    )


def _trimming(progress: Progress | None) -> Progress:
    """Progress that also returns to the system what a large batch of facts has freed."""

    def report(stage: str, done: int, total: int) -> None:
        if done >= TRIMMED_FROM:
            return_free_memory()
        if progress is not None:
            progress(stage, done, total)

    return report


def _version(state: StoreState) -> str:
    return version_of(state.store_id, state, "")


def _failure(what: str, update: Callable[[], object]) -> str:
    """Why it could not be updated; empty when it was."""
    try:
        update()
    except (DerivedError, StoreUnavailableError) as error:
        return error.message
    except OSError as error:
        return f"{what} cannot be written: {error.strerror or error}"
    return ""


def update_vectors(
    ctx: ReadContext,
    parts: DerivedParts,
    *,
    approve: Callable[[EmbeddingCost], bool] | None = None,
    progress: Progress | None = None,
    catch_up: Callable[[], object] | None = None,
) -> EmbedReport:
    """Bring the vectors up to the store; `approve` as in `update_derived()`.

    With `catch_up`, what is written meanwhile is embedded too, as in `embed_pending()`.
    """
    vectors, index = parts.vectors, parts.note_index
    try:
        embedder = parts.embedder()
        if vectors is None or embedder is None:
            return EmbedReport()
        current = vectors.identity()
        if current not in (None, embedding_identity(embedder)):
            if approve is None:
                return EmbedReport(degraded=_MODEL_CHANGED)
            cost = estimate_embedding_cost(ctx, vectors, embedder, index)
            if cost and not approve(cost):
                return EmbedReport(degraded=_MODEL_CHANGED)
    except (DerivedError, StoreUnavailableError) as error:
        return EmbedReport(degraded=error.message)
    if progress is not None:
        progress("model", 0, 1)  # the first time, it is made ready for half a minute
    return embed_pending(ctx, vectors, embedder, index, progress=progress, catch_up=catch_up)
