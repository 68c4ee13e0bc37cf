"""Update everything derived from the facts: indexes, tables, vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from vaultsync.backends.system.address_space import return_free_memory
from vaultsync.errors import DerivedError, NoteError, StoreUnavailableError
from vaultsync.index_files.service import TableInputs, tables_are_current, write_tables
from vaultsync.indexing import note_index_sync as indexing
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.links.index_sync import update_link_index
from vaultsync.links.ports import LinkIndex
from vaultsync.storage.feed_cursor import version_of
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import ReadContext, SyncContext
from vaultsync.sync.report import EmbeddingState, EmbedReport, Progress

if TYPE_CHECKING:
    from vaultsync.indexing.embedding_texts import EmbeddingCost

DERIVED_SETTING = "derived"
"""The setting of the archive with the store version for which all of it is up to date."""
TRIMMED_FROM = 200
"""Minimum number of indexed facts for which freed memory is returned, which takes milliseconds."""
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
    """The vectors to update immediately; None if a worker computes them."""
    embedder: Callable[[], Embedder | None] = lambda: None
    """Loads the embedder, or raises EmbedderError."""


class DerivedReport(Struct, frozen=True):
    """The result of an update."""

    notes: int
    """Number of facts in the note index; 0 for a run, which does not count them."""
    chunks: int
    """Number of facts that have vectors."""
    embedded: int
    """Number of embedded texts."""
    seconds: float
    """The duration in seconds."""
    degraded: tuple[str, ...] = ()
    """The parts that could not be updated, and why."""
    embedding: EmbeddingState | None = None
    """The progress of the worker that computes the vectors; None if there is none."""


def is_derived_current(ctx: SyncContext) -> bool:
    """Whether neither the store nor a table changed since the last update."""
    try:
        state = ctx.redacted_store.state()
        same = ctx.archive.setting(DERIVED_SETTING) == _version(state)
        return same and tables_are_current(ctx, state)
    except StoreUnavailableError:
        return True  # nothing can be derived without the store
    except OSError:
        return False  # writing the tables will report the reason


def update_derived(
    ctx: SyncContext,
    parts: DerivedParts,
    *,
    rebuild: bool = False,
    counts: bool = True,
    approve: Callable[[EmbeddingCost], bool] | None = None,
    progress: Progress | None = None,
) -> DerivedReport:
    """Update everything to the state of the store; failures are reported, and retried next time.

    Without `counts`, the report lacks the number of indexed notes, for which the index has to
    be opened again. `approve` is called with the cost before all vectors are rebuilt for
    another model; without it, or if it returns false, they are kept.
    """
    began = ctx.clock.monotonic()
    state = ""  # later writes may be missing in some parts
    with suppress(StoreUnavailableError):
        state = _version(ctx.redacted_store.state())
    notes = indexing.catch_up_note_index(
        ctx, parts.note_index, rebuild=rebuild, progress=_with_memory_trim(progress)
    )

    def update_links() -> None:
        if rebuild:
            parts.links.clear()
        report = None if progress is None else partial(progress, "links")
        update_link_index(ctx.redacted_store, parts.links, progress=report)

    links = _failure("the link index", update_links)

    def update_tables() -> None:
        write_tables(ctx, parts.tables, rebuild=rebuild, progress=progress)

    tables = _failure("`.index/`", update_tables)
    vectors = update_vectors(
        *(ctx, parts.note_index, parts.vectors, parts.embedder), approve=approve, progress=progress
    )
    reasons = filter(None, (notes.degraded, links, tables, vectors.degraded))
    degraded = tuple(dict.fromkeys(reasons))
    if not degraded:
        ctx.set_setting(DERIVED_SETTING, state)
    for reason in degraded:
        _log.debug("derived data is out of date: %s", reason)
    return DerivedReport(
        notes=parts.note_index.count() if counts else 0,
        chunks=vectors.facts,
        embedded=vectors.embedded,
        seconds=ctx.clock.monotonic() - began,
        degraded=degraded,
    )


def _with_memory_trim(progress: Progress | None) -> Progress:
    """Progress that also returns memory to the system after a large batch of facts."""

    def report(stage: str, done: int, total: int) -> None:
        if done >= TRIMMED_FROM:
            return_free_memory()
        if progress is not None:
            progress(stage, done, total)

    return report


def _version(state: StoreState) -> str:
    return version_of(state.store_id, state, "")


def _failure(what: str, update: Callable[[], object]) -> str:
    """Run an update; returns why it failed, or an empty string."""
    try:
        update()
    except (DerivedError, NoteError, StoreUnavailableError) as error:
        return error.message
    except OSError as error:
        return f"{what} cannot be written: {error.strerror or error}"
    return ""


def update_vectors(
    ctx: ReadContext,
    index: NoteIndex,
    vectors: VectorIndex | None,
    load_embedder: Callable[[], Embedder | None],
    *,
    approve: Callable[[EmbeddingCost], bool] | None,
    progress: Progress | None,
    catch_up: Callable[[], object] | None = None,
) -> EmbedReport:
    """Update the vectors to the state of the store; `approve` as in `update_derived()`.

    With `catch_up`, facts that are written meanwhile are embedded too, as in `embed_pending()`.
    """
    # A command that embeds nothing, such as `status`, loads no code for vectors.
    from vaultsync.indexing.embedding_texts import embedding_identity, estimate_embedding_cost  # noqa: PLC0415 - see above
    from vaultsync.indexing.vector_index_sync import embed_pending  # noqa: PLC0415 - only with a model

    try:
        embedder = load_embedder()
        if vectors is None or embedder is None:
            return EmbedReport()
        if vectors.identity() not in (None, embedding_identity(embedder)):
            if approve is None:
                return EmbedReport(degraded=_MODEL_CHANGED)
            cost = estimate_embedding_cost(ctx, vectors, embedder, index)
            if cost and not approve(cost):
                return EmbedReport(degraded=_MODEL_CHANGED)
    except (DerivedError, StoreUnavailableError) as error:
        return EmbedReport(degraded=error.message)
    if progress is not None:
        progress("model", 0, 1)  # the first time, exporting it takes half a minute
    return embed_pending(ctx, vectors, embedder, index, progress=progress, catch_up=catch_up)
