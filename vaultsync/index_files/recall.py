"""Recall from the tables of `.index/` alone: for a clone of a vault that has no store.

The entries are ranked by their words; of the best, the notes are read, so that nothing is
told that is not there any more. What an entry does not say is not found: words far down in
a note, and meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaultsync.errors import NoteError
from vaultsync.index_files.entry import IndexEntry, parse_entry_line
from vaultsync.index_files.paging import INDEX_FOLDER
from vaultsync.indexing.ports import IndexDocument as Indexed
from vaultsync.indexing.ports import NoteIndex
from vaultsync.links.wikilinks import find_links
from vaultsync.model.decay import recency, utility
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.paths import VaultPath, file_name_of, stem_of
from vaultsync.model.scope import PUBLIC, can_see, is_scope
from vaultsync.notes.parse import read_note
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.recall.explanation import HitReasons, QueryTerms, explain_hit, fact_text, snippet
from vaultsync.recall.query import ParsedQuery
from vaultsync.recall.ranking import (
    RankingSignals,
    RankingWeights,
    rescale_similarities,
    weighted_score,
)
from vaultsync.recall.request import RecallRequest, parse_request
from vaultsync.recall.result import Hit, RecallResult
from vaultsync.storage.clock import Clock
from vaultsync.storage.vault import Vault

INDEX_FILES_SOURCE = "index-files"
NOTES_READ_FACTOR = 3
"""Of so many times the limit the notes are read, for some may have gone."""
MAX_CONFIDENCE = 0.6
"""What this is at most sure of: it was not calibrated, and an agent that can should ask
again where the store is."""
NO_TABLES_REASON = (
    "Nothing was found: the vault has no `.index/`; `vaultsync index` writes it where the store is."
)


@dataclass(frozen=True, slots=True)
class StorelessVault:
    """A vault without its store."""

    vault: Vault
    clock: Clock
    index: NoteIndex
    """An empty one, to look the words up in; it holds the entries afterwards."""
    default_scope: str = PUBLIC
    """Of notes outside all scopes."""
    view: NoteView = IDENTITY_VIEW
    """What an answer may show."""


_EntriesByPath = Mapping[VaultPath, tuple[IndexEntry, frozenset[str]]]
"""The entries by the paths of their notes, each with the entities that it is under."""


def recall_vault_only(
    clone: StorelessVault,
    asked: RecallRequest,
    *,
    weights: RankingWeights | None = None,
) -> RecallResult:
    """What the tables of contents know of a question, best first; changes nothing.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
        VaultMissingError: the vault is not there.
    """
    began = clone.clock.monotonic()
    question, filters = parse_request(asked, today=clone.clock.now().date())
    listed = _entries(clone)
    work = _IndexFileSearch(clone, question, filters, asked.agent, weights or RankingWeights())
    hits: tuple[Hit, ...] = ()
    if listed:
        _take_in(clone, listed)
        hits = work.hits(listed, asked.limit)
    return RecallResult(
        query=clone.view.redact_text(asked.query),
        source=INDEX_FILES_SOURCE,
        confidence=work.confidence(hits),
        degraded=() if listed else (NO_TABLES_REASON,),
        seconds=clone.clock.monotonic() - began,
        hits=hits,
    )


def _entries(clone: StorelessVault) -> _EntriesByPath:
    """All entries by the paths of their notes, each with the entities that are named."""
    entries: dict[VaultPath, IndexEntry] = {}
    names: dict[VaultPath, set[str]] = defaultdict(set)
    for path in clone.vault.list_meta(VaultPath(INDEX_FOLDER)):
        by_entity = file_name_of(path).startswith("by-entity")
        text = (clone.vault.read_meta(path) or b"").decode("utf-8", "replace")
        called: list[str] = []
        for line in text.split("\n"):
            found = parse_entry_line(line) if line.startswith("- [") else None
            if found is not None:
                entry, where = found
                entries.setdefault(where, entry)
                if by_entity:
                    names[where].update(called)
            elif line.startswith("## "):
                called = _named(line[3:])
    return {path: (entries[path], frozenset(names[path])) for path in sorted(entries)}


def _named(heading: str) -> list[str]:
    """The names in the heading of an entity: `[[path|Name]], alias (3 mentions)`."""
    said = heading.rpartition(" (")[0]
    links = find_links(said)
    if not links or links[0].start:
        return [said]
    name = links[0].alias or file_name_of(links[0].target)
    return [name, *filter(None, said[links[0].end :].split(", "))]


def _take_in(clone: StorelessVault, listed: _EntriesByPath) -> None:
    """Make the words of the entries findable, each as a short fact of its path."""
    facts = (
        _of_entry(path, entry).evolve(
            content=entry.summary,
            entities=tuple(sorted(names)),
            scope=_scope(clone, path),
        )
        for path, (entry, names) in listed.items()
    )
    clone.index.update(map(Indexed, facts), [], version=INDEX_FILES_SOURCE)


def _of_entry(path: VaultPath, entry: IndexEntry) -> Fact:
    """What an entry knows of its note, which need not say it: a person's says little."""
    return Fact(
        path,
        type=entry.type,
        title=entry.title,
        priority=entry.priority,
        created_at=f"{entry.day}T00:00:00Z" if entry.day else "",
        importance=entry.importance,
    )


def _scope(clone: StorelessVault, path: VaultPath) -> str:
    folder = path.partition("/")[0]
    return folder if is_scope(folder) else clone.default_scope


class _IndexFileSearch:
    """One question to a clone."""

    def __init__(
        self,
        clone: StorelessVault,
        asked: ParsedQuery,
        filters: FactFilters,
        agent: str | None,
        weights: RankingWeights,
    ) -> None:
        self._clone = clone
        self._asked = asked
        self._filters = filters
        self._agent = agent
        self._weights = weights
        self._terms = QueryTerms(clone.index.tokens(asked.words))
        self._facts: dict[str, Fact] = {}
        """The notes that were read, as facts."""

    def hits(self, listed: _EntriesByPath, limit: int) -> tuple[Hit, ...]:
        """The best of the notes whose entries have the words."""
        read = self._read(listed, NOTES_READ_FACTOR * limit)
        self._facts = {fact.id: fact for fact, _ in read}
        fits = rescale_similarities({fact.id: score for fact, score in read})
        told = (self._hit(fact, fits[fact.id]) for fact, _ in read)
        hits = [hit for hit in told if hit.score >= self._weights.least]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit])

    def confidence(self, hits: Sequence[Hit]) -> float:
        """How many of the words the best hit has; never more than `SURE`."""
        held = self._terms.held(fact_text(self._facts[hits[0].id])) if hits else {}
        return round(MAX_CONFIDENCE * len(held) / max(1, len(self._terms.all)), 3)

    def _read(self, listed: _EntriesByPath, most: int) -> list[tuple[Fact, float]]:
        """The notes whose entries fit best, as far as they are there and may be seen."""
        index, filters = self._clone.index, self._filters
        # Entries say neither tags nor hours: those are looked for in the notes.
        loose = filters._replace(tags=frozenset(), since=None, until=None)
        read: list[tuple[Fact, float]] = []
        for match in index.search(
            self._asked.words,
            loose,
            phrases=self._asked.phrases,
            limit=index.count(),
        ):
            path = VaultPath(match.fact_id)
            if len(read) == most:
                break
            if can_see(self._agent, _scope(self._clone, path)):
                fact = _note(self._clone, path, listed[path][0])
                if fact is not None and filters.admits(fact):
                    read.append((fact, match.score))
        return read

    def _hit(self, fact: Fact, fit: float) -> Hit:
        signals = RankingSignals(
            fit,
            recency(fact.created_at, fact.type, self._clone.clock.now()),
            utility(fact.importance, fact.access_count),
        )
        reasons = HitReasons(
            words=tuple(self._terms.held(fact_text(fact)).values()),
            asked=len(self._terms.all),
            prefers=self._asked.hints and self._asked.prefers(fact),
            importance=fact.importance,
        )
        return Hit(
            id=fact.id,
            title=fact.title,
            type=fact.type,
            path=fact.path,
            score=round(weighted_score(signals, self._weights), 4),
            similarity=round(signals.similarity, 4),
            recency=round(signals.recency, 4),
            utility=round(signals.utility, 4),
            stage=INDEX_FILES_SOURCE,
            why=explain_hit(reasons),
            snippet=snippet(fact.content, self._terms),
        )


def _note(clone: StorelessVault, path: VaultPath, entry: IndexEntry) -> Fact | None:
    """What a note says; None when it is gone or cannot be read."""
    try:
        note = read_note(clone.vault.read(path).data, path)
    except NoteError:
        return None
    known = _of_entry(path, entry).evolve(
        id=note.id or path, title=note.body.title or stem_of(path)
    )
    said = known.overlay(note.values, note.properties)
    # A person may have typed a secret into it.
    return clone.view.redact(said).evolve(scope=_scope(clone, path), path=path)
