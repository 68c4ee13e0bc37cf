"""Recall from the notes and the files of `.index/`: for a clone of a vault without its store.

The notes that the files list are read, and searched by keywords as the facts of a store are. Of
the less important ones of a large vault, only titles, summaries and entities are searched; there
is no semantic search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from msgspec import structs

from vaultsync.errors import NoteError
from vaultsync.index_files.entry import IndexEntry, parse_entry_line
from vaultsync.index_files.written_files import INDEX_FOLDER
from vaultsync.indexing.note_index_sync import IndexReport
from vaultsync.indexing.ports import IndexDocument, NoteIndex
from vaultsync.links.wikilinks import find_links
from vaultsync.model.decay import by_importance
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import RETIRED_STATUSES
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, stem_of
from vaultsync.model.scope import PUBLIC, is_scope
from vaultsync.notes.parse import read_note
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.recall.past_facts import PastStore
from vaultsync.recall.ranking import RankingWeights
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.recall.service import RecallSearch
from vaultsync.storage.archive import Archive
from vaultsync.storage.clock import Clock
from vaultsync.storage.vault import FileStamp, Vault
from vaultsync.sync.context import ReadContext

INDEX_FILES_SOURCE = "index-files"
MAX_TEXTS = 1_000
"""Notes whose texts are searched; the most important ones."""
MAX_CONFIDENCE = 0.6
"""Upper bound of the confidence: an agent that can should ask again where the store is."""
NO_TABLES_REASON = (
    "The vault has no `.index/`, so nothing can be found; run `vaultsync index` where the store is."
)

NO_RETIRED_REASON = (
    "`.index/` does not list superseded, archived and expired facts, so none of them can be found."
)


@dataclass(frozen=True, slots=True)
class StorelessVault:
    """A vault without its store."""

    vault: Vault
    clock: Clock
    index: NoteIndex
    """An empty one; the notes are put into it."""
    default_scope: str = PUBLIC
    """Scope of notes outside all scope folders."""
    view: NoteView = IDENTITY_VIEW
    """Redacts what an answer shows."""
    weights: RankingWeights = field(default_factory=RankingWeights)
    is_word: Callable[[str], bool] = lambda _: False
    """Whether a word is common in English, as in `RecallSources`."""


class _ListedNote(NamedTuple):
    """A note, with what the index files say of it."""

    path: VaultPath
    fact: Fact
    """Its id is the path if the note has none."""
    summary: str
    entities: tuple[str, ...]
    """The names of the entities that it is listed under."""


def recall_vault_only(clone: StorelessVault, request: RecallRequest) -> RecallResult:
    """Answer a question from a clone, best hits first; writes nothing.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
        VaultMissingError: the vault does not exist.
    """
    began = clone.clock.monotonic()
    entries = _read_entries(clone)
    notes = {each.fact.id: each for each in _read_notes(clone, entries)}
    store = PastStore({each: note.fact for each, note in notes.items()}, store_id="", at="")
    folders = _NoteFolders({each: note.path for each, note in notes.items()})
    ctx = ReadContext(store, cast("Archive", folders), clone.clock, view=clone.view)
    facts = ctx.redacted_store.find_many(notes)
    clone.index.update(_documents(facts, notes), [], version=INDEX_FILES_SOURCE)
    sources = RecallSources(
        ctx,
        clone.index,
        weights=clone.weights,
        is_word=clone.is_word,
        visible_index=lambda: (clone.index, IndexReport()),
    )
    answer = RecallSearch(sources, structs.replace(request, mode="index")).answer()
    return structs.replace(
        answer,
        source=INDEX_FILES_SOURCE,
        confidence=min(answer.confidence, MAX_CONFIDENCE),
        degraded=(
            *answer.degraded,
            *(() if entries else (NO_TABLES_REASON,)),
            *((NO_RETIRED_REASON,) if entries and _asks_for_retired(request) else ()),
        ),
        seconds=clone.clock.monotonic() - began,
        hits=tuple(structs.replace(hit, stage=INDEX_FILES_SOURCE) for hit in answer.hits),
    )


def _asks_for_retired(request: RecallRequest) -> bool:
    return request.all or request.status is None or request.status in RETIRED_STATUSES


def _read_entries(clone: StorelessVault) -> Mapping[VaultPath, tuple[IndexEntry, Collection[str]]]:
    """Path of a note -> its entry, and the names of the entities that it is listed under."""
    entries: dict[VaultPath, IndexEntry] = {}
    entity_names: dict[VaultPath, set[str]] = defaultdict(set)
    for file in clone.vault.list_meta(INDEX_FOLDER):
        by_entity = file_name_of(file).startswith("by-entity")
        text = (clone.vault.read_meta(file) or b"").decode("utf-8", "replace")
        heading_names: list[str] = []
        for line in text.split("\n"):
            parsed = parse_entry_line(line) if line.startswith("- [") else None
            if parsed is not None:
                entry, path = parsed
                entries.setdefault(path, entry)
                if by_entity:
                    entity_names[path].update(heading_names)
            elif line.startswith("## "):
                heading_names = _names_in_heading(line[3:])
    return {path: (entry, sorted(entity_names[path])) for path, entry in sorted(entries.items())}


def _names_in_heading(heading: str) -> list[str]:
    """The names of an entity in its heading: `[[path|Name]], alias (3 mentions)`."""
    text = heading.rpartition(" (")[0]
    links = find_links(text)
    if not links or links[0].start:
        return [text]
    name = links[0].alias or file_name_of(links[0].target)
    return [name, *filter(None, text[links[0].end :].split(", "))]


def _read_notes(
    clone: StorelessVault, entries: Mapping[VaultPath, tuple[IndexEntry, Collection[str]]]
) -> Iterable[_ListedNote]:
    """The notes of some entries that exist and can be read; an entry may say more of a note."""
    for path, (entry, names) in entries.items():
        folder = path.partition("/")[0]
        try:
            note = read_note(clone.vault.read(path).data, path)
        except NoteError:
            continue
        listed = Fact(
            note.id or path,
            type=entry.type,
            title=note.body.title or stem_of(path),
            priority=entry.priority,
            created_at=f"{entry.day}T00:00:00Z" if entry.day else "",
            importance=entry.importance,
        )
        fact = listed.overlay(note.values, note.properties)
        fact = fact.evolve(scope=folder if is_scope(folder) else clone.default_scope)
        yield _ListedNote(path, fact, entry.summary, tuple(names))


def _documents(
    facts: Mapping[str, Fact], notes: Mapping[str, _ListedNote]
) -> Iterable[IndexDocument]:
    for number, fact in enumerate(sorted(facts.values(), key=by_importance)):
        _, _, summary, entities = notes[fact.id]
        content = fact.content if number < MAX_TEXTS else summary
        yield IndexDocument(fact.evolve(content=content, entities=entities))


class _NoteFolders:
    """Where notes are: the part of `Archive`, see `storage/archive.py`, that recall reads."""

    def __init__(self, paths: Mapping[str, VaultPath]) -> None:
        self._paths = paths

    def note_paths(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
        return {each: self._paths[each] for each in fact_ids}

    def base_folders(self) -> list[VaultPath]:
        return list({parent_folder(each) for each in self._paths.values()})

    def stamps_in(self, folder: VaultPath) -> dict[str, tuple[str, FileStamp | None]]:
        paths = self._paths.items()
        return {path: (each, None) for each, path in paths if parent_folder(path) == folder}
