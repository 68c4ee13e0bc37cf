"""What a purge erases in this vault, and where it looks for what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.filesystem.byte_search import FileByteSearch
from vaultsync.backends.sqlite.sqlite_store import TOMBSTONE_IDS
from vaultsync.backends.state.state_files import PurgeIntentFile, StateFiles
from vaultsync.operations.purge import PurgeParts
from vaultsync.storage.erasure import Erasable

_TOMBSTONE = "a tombstone without text in the store, by which other machines learn of it"
_GIT = "the history of the vault's git repository, which is not searched by what its objects say"


def purge_parts(services: Services, engine: Engine, *, kept: Iterable[str] = ()) -> PurgeParts:
    """The parts of a vault that hold facts, and what else stays, in words."""
    settings = services.settings
    intent = PurgeIntentFile(settings.state_dir)
    store = [services.store_files] if services.store_files else []
    index = settings.state_dir / "index"
    return PurgeParts(
        derived=tuple(_derived(services)),
        rebuild=lambda: engine.update_derived(rebuild=True),
        sides=(services.archive, services.erasable_store),
        intent=intent,
        search=FileByteSearch(
            [settings.state_dir, *store],
            vault=settings.root,
            index_folder=settings.index_folder,
            skip=intent.path,
            compressed=(index / "words", *(index / "vectors" / "lance").glob("*.lance")),
            packed={settings.state_dir / "archive.sqlite3": services.archive.iter_packed},
            # The local mode of Qdrant keeps them in SQLite, too, of which the id is the key.
            tombstones=dict.fromkeys(store, TOMBSTONE_IDS),
        ),
        kept=(_TOMBSTONE, *([_GIT] if (Path(settings.root) / ".git").exists() else []), *kept),
    )


def _derived(services: Services) -> Iterator[Erasable]:
    yield services.note_index
    yield services.link_index
    yield services.listed_entries
    vectors = services.vector_index
    if vectors is not None:
        yield vectors
    yield StateFiles(services.settings.state_dir)
