"""The places of a vault that a purge or the retention erases and searches."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services, store_place
from vaultsync.backends.filesystem.byte_search import FileByteSearch
from vaultsync.backends.repo_files.repo_erasure import ErasableRepoFiles
from vaultsync.backends.sqlite.database import read_pages
from vaultsync.backends.sqlite.sqlite_store import TOMBSTONE_IDS, SqliteStore
from vaultsync.backends.state.engine_lock import tables_lock
from vaultsync.backends.state.state_files import PurgeIntentFile, StateFiles
from vaultsync.errors import IndexBusyError
from vaultsync.operations.migrate import left_places
from vaultsync.operations.purge import PurgeParts
from vaultsync.storage.archive import KeepSince

_log = logging.getLogger(__name__)

TABLES_SECONDS = 10.0
"""Seconds that a purge waits for a process that writes `.index/`."""
UNUSED_INDEX_DAYS = 30.0
"""Days after which the note index of an agent that asked nothing is removed."""
_TOMBSTONE = "a tombstone without text in the store, which tells other machines about the deletion"
_GIT = "the history of the vault's git repository, whose objects are not searched"
_FORMER = "the former store {}, from before `vaultsync migrate`, which is not searched: delete it"


def purge_parts(services: Services, engine: Engine, *, kept: Iterable[str] = ()) -> PurgeParts:
    """The parts of a vault that contain facts, and notes on what is kept."""
    settings, vectors = services.settings, services.vector_index
    intent = PurgeIntentFile(settings.state_dir)
    store = [services.store_files] if services.store_files else []
    index = settings.state_dir / "index"
    return PurgeParts(
        derived=(
            *(services.note_index, services.question_indexes),
            *(() if vectors is None else (vectors,)),
            *(StateFiles(settings.state_dir), ErasableRepoFiles(settings.repos_dir)),
        ),
        update=engine.update_derived,
        rest=(services.link_index, services.listed_entries, services.archive, services.store),
        intent=intent,
        search=FileByteSearch(
            [settings.state_dir, *store],
            vault=settings.root,
            index_folder=settings.index_folder,
            skip=intent.path,
            compressed=(index / "words", *(index / "vectors" / "lance").glob("*.lance")),
            packed={settings.state_dir / "archive.sqlite3": services.archive.iter_packed},
            # Qdrant's local mode also stores them in SQLite, with the id as the key.
            tombstones=dict.fromkeys(store, TOMBSTONE_IDS),
            read_database=read_pages,
            shared=[*ErasableRepoFiles(settings.repos_dir).paths()],
        ),
        kept=(
            *(_TOMBSTONE, *([_GIT] if (Path(settings.root) / ".git").exists() else [])),
            *(_FORMER.format(each) for each in _former_stores(services, engine)),
            *kept,
        ),
        alone=partial(_alone, engine),
    )


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Keep other processes from writing vectors and tables of what they have read."""
    state_dir = engine.settings.state_dir
    with engine.embedding.paused(), tables_lock(state_dir, TABLES_SECONDS) as is_ours:
        if not is_ours:
            hint = "wait until it has finished, and purge again"
            raise IndexBusyError("another process is writing `.index/`", hint=hint)
        yield


def _former_stores(services: Services, engine: Engine) -> Iterator[str]:
    """The stores that the vault left, where nothing is searched, unless they were deleted."""
    current = services.store_location
    for place in left_places(engine.ctx):
        path = Path(place)
        is_searched = place == current or path.is_relative_to(services.settings.state_dir)
        if not is_searched and (path.exists() or not path.is_absolute()):
            yield place


def prune(services: Services, *, dry_run: bool) -> dict[str, int]:
    """Remove data older than the retention in the settings; returns the numbers by kind."""
    store, retention = services.store, structs.asdict(services.settings.retention)
    since = KeepSince.of(services.clock.now(), **retention)
    removed = services.archive.prune(since, dry_run=dry_run)
    place = store_place(services.settings)
    if isinstance(store, SqliteStore):
        removed |= store.prune(since, dry_run=dry_run)
    elif not isinstance(place, Path):
        days = place.settings.retention_days
        removed["tombstones"] = store.purge(days=days, dry_run=dry_run)
    if not dry_run:
        _tidy_derived(services)
    return {kind: number for kind, number in removed.items() if number}


def _tidy_derived(services: Services) -> None:
    unused_since = services.clock.now() - timedelta(days=UNUSED_INDEX_DAYS)
    for tidy in (
        services.link_index.vacuum,
        services.listed_entries.vacuum,
        partial(services.question_indexes.prune, unused_since.timestamp()),
    ):
        try:
            tidy()
        except (IndexBusyError, OSError) as error:
            _log.debug("derived data was not compacted, or not removed: %s", error)
