"""All that is derived from the facts, brought up to date: indexes, tables, vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vaultsync.errors import DerivedError, StoreUnavailableError
from vaultsync.facts import backlinks as linking
from vaultsync.index_files.service import Making, tables_stand, write_tables
from vaultsync.indexing import note_index_sync as indexing
from vaultsync.indexing.embedding_cost import Cost, cost_of_change
from vaultsync.indexing.embedding_texts import identity_of
from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
from vaultsync.indexing.vector_index_sync import EmbedReport, embed_pending
from vaultsync.links.ports import LinkIndex
from vaultsync.model.schema import Value
from vaultsync.storage.feed_cursor import version_at
from vaultsync.storage.redacted_store import Read
from vaultsync.sync.context import Mirror
from vaultsync.sync.report import Progress

DERIVED = "derived"
"""The setting that says up to where all of it was brought."""
_OTHER = "another model is set than made the vectors; `vaultsync index` makes them anew"


@dataclass(frozen=True, slots=True)
class Parts:
    """What is derived. What is None is not there on this machine."""

    words: NoteIndex
    links: LinkIndex
    tables: Making
    vectors: VectorIndex | None = None
    embedder: Embedder | None = None


@dataclass(frozen=True, slots=True)
class Indexed:
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

    def as_json(self) -> dict[str, Value]:
        """As surfaces show it."""
        return {
            "notes": self.notes,
            "chunks": self.chunks,
            "embedded": self.embedded,
            "seconds": self.seconds,
            "degraded": list(self.degraded),
        }


def is_derived(mirror: Mirror) -> bool:
    """Whether nothing has changed since all was brought up to date, no table either."""
    try:
        same = mirror.archive.setting(DERIVED) == _state(mirror)
        return same and tables_stand(mirror)
    except StoreUnavailableError:
        return True  # nothing can be derived now
    except OSError:
        return False  # what is wrong with the tables is told when they are made


def derive(
    mirror: Mirror,
    parts: Parts,
    *,
    rebuild: bool = False,
    told: Callable[[Cost], bool] | None = None,
    progress: Progress | None = None,
) -> Indexed:
    """Bring everything up to the store; what fails is told, and tried again next time.

    Args:
        mirror: the sides.
        parts: what is derived.
        rebuild: make the indexes anew.
        told: asked before all vectors are made anew for another model, with what that
            costs; without it they stay as they are.
        progress: told how far each step is.
    """
    began = mirror.clock.monotonic()
    mirror = replace(mirror, read=Read())  # words, links and tables want the same facts
    words = indexing.catch_up(mirror, parts.words, rebuild=rebuild, progress=progress)
    why = [
        words.degraded,
        _links(mirror, parts.links, rebuild=rebuild),
        _tables(mirror, parts.tables, rebuild=rebuild),
    ]
    vectors = _embedded(mirror, parts, told, progress)
    why.append(vectors.degraded)
    degraded = tuple(each for each in why if each)
    if not degraded:
        with mirror.archive.transaction():
            mirror.archive.set_setting(DERIVED, _state(mirror))
    return Indexed(
        notes=words.notes,
        chunks=vectors.facts,
        embedded=vectors.embedded,
        seconds=mirror.clock.monotonic() - began,
        degraded=degraded,
    )


def _state(mirror: Mirror) -> str:
    state = mirror.shown.state()
    return version_at(mirror.shown, state.store_id, state.seq, "")


def _links(mirror: Mirror, links: LinkIndex, *, rebuild: bool) -> str:
    try:
        if rebuild:
            links.clear()
        linking.catch_up(mirror, links)
    except (DerivedError, StoreUnavailableError) as error:
        return error.message
    except OSError as error:
        return f"the link index cannot be written: {error.strerror or error}"
    return ""


def _tables(mirror: Mirror, making: Making, *, rebuild: bool) -> str:
    try:
        write_tables(mirror, making, anew=rebuild)
    except StoreUnavailableError as error:
        return error.message
    except OSError as error:
        return f"`.index/` cannot be written: {error.strerror or error}"
    return ""


def _embedded(
    mirror: Mirror,
    parts: Parts,
    told: Callable[[Cost], bool] | None,
    progress: Progress | None,
) -> EmbedReport:
    vectors, embedder, words = parts.vectors, parts.embedder, parts.words
    if vectors is None or embedder is None:
        return EmbedReport()
    try:
        held = vectors.identity()
        another = held not in (None, str(identity_of(embedder, lends=True)))
        if another and told is None:
            return EmbedReport(degraded=_OTHER)
        cost = another and cost_of_change(mirror, vectors, embedder, index=words)
        if cost and told and not told(cost):
            return EmbedReport(degraded=_OTHER)
    except (DerivedError, StoreUnavailableError) as error:
        return EmbedReport(degraded=error.message)
    if progress is not None:
        progress("model", 0, 1)  # the first time, it is made ready for half a minute
    return embed_pending(mirror, vectors, embedder, index=words, progress=progress)
