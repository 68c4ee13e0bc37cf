"""All that is derived from the facts, brought up to date: indexes, tables, vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import Struct

from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.index_files.service import TableInputs, tables_are_current, write_tables
from vaultsync.indexing import note_index_sync as indexing
from vaultsync.indexing.embedding_cost import EmbeddingCost, estimate_embedding_cost
from vaultsync.indexing.embedding_texts import embedding_identity
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.indexing.vector_index_sync import EmbedReport, embed_pending
from vaultsync.links.index_sync import update_link_index
from vaultsync.links.ports import LinkIndex
from vaultsync.storage.feed_cursor import make_version
from vaultsync.storage.redacted_store import FactCache
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

DERIVED_SETTING = "derived"
"""The setting that says up to where all of it was brought."""
_OTHER = "another model is set than made the vectors; `vaultsync index` makes them anew"


@dataclass(frozen=True, slots=True)
class DerivedParts:
    """What is derived. What is None is not there on this machine."""

    words: NoteIndex
    links: LinkIndex
    tables: TableInputs
    vectors: VectorIndex | None = None
    embedder: Embedder | None = None


class DerivedReport(Struct, frozen=True):
    """What was brought up to date."""

    notes: int
    """Facts that the note index holds."""
    chunks: int
    """Facts that have vectors."""
    embedded: int
    """Texts that were embedded."""
    seconds: float
    degraded: tuple[str, ...] = ()
    """What is behind the facts, and why."""


def is_derived_current(ctx: SyncContext) -> bool:
    """Whether nothing has changed since all was brought up to date, no table either."""
    try:
        same = ctx.archive.setting(DERIVED_SETTING) == _state(ctx)
        return same and tables_are_current(ctx)
    except StoreUnavailableError:
        return True  # nothing can be derived now
    except OSError:
        return False  # what is wrong with the tables is told when they are made


def update_derived(
    ctx: SyncContext,
    parts: DerivedParts,
    *,
    rebuild: bool = False,
    told: Callable[[EmbeddingCost], bool] | None = None,
    progress: Progress | None = None,
) -> DerivedReport:
    """Bring everything up to the store; what fails is told, and tried again next time.

    Args:
        ctx: the sides.
        parts: what is derived.
        rebuild: make the indexes anew.
        told: asked before all vectors are made anew for another model, with what that
            costs; without it they stay as they are.
        progress: told how far each step is.
    """
    began = ctx.clock.monotonic()
    ctx = replace(ctx, read=FactCache())  # words, links and tables want the same facts
    words = indexing.catch_up_note_index(ctx, parts.words, rebuild=rebuild, progress=progress)
    why = [
        words.degraded,
        _links(ctx, parts.links, rebuild=rebuild),
        _tables(ctx, parts.tables, rebuild=rebuild),
    ]
    vectors = _embedded(ctx, parts, told, progress)
    why.append(vectors.degraded)
    degraded = tuple(each for each in why if each)
    if not degraded:
        with ctx.archive.transaction():
            ctx.archive.set_setting(DERIVED_SETTING, _state(ctx))
    return DerivedReport(
        notes=words.notes,
        chunks=vectors.facts,
        embedded=vectors.embedded,
        seconds=ctx.clock.monotonic() - began,
        degraded=degraded,
    )


def _state(ctx: SyncContext) -> str:
    state = ctx.redacted_store.state()
    return make_version(ctx.redacted_store, state.store_id, state.seq, "")


def _links(ctx: SyncContext, links: LinkIndex, *, rebuild: bool) -> str:
    try:
        if rebuild:
            links.clear()
        update_link_index(ctx.redacted_store, links)
    except (DerivedError, StoreUnavailableError) as error:
        return error.message
    except OSError as error:
        return f"the link index cannot be written: {error.strerror or error}"
    return ""


def _tables(ctx: SyncContext, making: TableInputs, *, rebuild: bool) -> str:
    try:
        write_tables(ctx, making, rebuild=rebuild)
    except StoreUnavailableError as error:
        return error.message
    except OSError as error:
        return f"`.index/` cannot be written: {error.strerror or error}"
    return ""


def _embedded(
    ctx: SyncContext,
    parts: DerivedParts,
    told: Callable[[EmbeddingCost], bool] | None,
    progress: Progress | None,
) -> EmbedReport:
    vectors, embedder, words = parts.vectors, parts.embedder, parts.words
    if vectors is None or embedder is None:
        return EmbedReport()
    try:
        held = vectors.identity()
        another = held not in (None, str(embedding_identity(embedder, with_context=True)))
        if another and told is None:
            return EmbedReport(degraded=_OTHER)
        cost = another and estimate_embedding_cost(ctx, vectors, embedder, index=words)
        if cost and told and not told(cost):
            return EmbedReport(degraded=_OTHER)
    except (DerivedError, StoreUnavailableError) as error:
        return EmbedReport(degraded=error.message)
    if progress is not None:
        progress("model", 0, 1)  # the first time, it is made ready for half a minute
    return embed_pending(ctx, vectors, embedder, index=words, progress=progress)
