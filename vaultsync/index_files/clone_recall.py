"""Recall from the files of `.index/` alone: for a clone of a vault without its store.

Entries are ranked by keywords, and the notes of the best ones are read, so that a deleted note
is in no answer. If no entry has all words of the question, the texts of notes are searched, too;
there is no semantic search.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from msgspec import structs

from vaultsync.errors import NoteError
from vaultsync.index_files.entry import IndexEntry, parse_entry_line
from vaultsync.index_files.written_files import INDEX_FOLDER
from vaultsync.indexing.ports import IMPORTANT, IndexDocument, NoteIndex
from vaultsync.links.wikilinks import find_links
from vaultsync.model.dates import DAY_LENGTH
from vaultsync.model.decay import recency, utility
from vaultsync.model.fact import Fact, origin_of
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import RETIRED_STATUSES, HiddenMatches
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, stem_of
from vaultsync.model.permissions import Permissions
from vaultsync.model.scope import PUBLIC, is_scope
from vaultsync.notes.parse import read_note
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.recall.asked_words import DUE, OVERDUE
from vaultsync.recall.exclusions import exclusion_test
from vaultsync.recall.explanation import QueryTerms, explain_hit, fact_text, hit_snippet, snippet
from vaultsync.recall.query import ParsedQuery, box_filters, hinted_filters, parse_request
from vaultsync.recall.ranking import (
    MOST_ANSWERABLE,
    RankingSignals,
    RankingWeights,
    rescale_similarities,
    weighted_score,
)
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import Hit, RecallResult
from vaultsync.storage.clock import Clock
from vaultsync.storage.vault import Vault

INDEX_FILES_SOURCE = "index-files"
MAX_NOTES_READ = 1_000
"""Notes that are read for what no entry tells, such as check boxes; the most important ones."""
NOTES_READ_FACTOR = 3
"""Notes that are read, as a multiple of the limit: some may be deleted or filtered out."""
MAX_CONFIDENCE = 0.6
"""Upper bound of the confidence, which is not calibrated here: an agent that can should ask
again where the store is."""
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
    """An empty one; the entries are put into it."""
    default_scope: str = PUBLIC
    """Scope of notes outside all scope folders."""
    view: NoteView = IDENTITY_VIEW
    """Redacts what an answer shows."""


_EntriesByPath = Mapping[VaultPath, tuple[IndexEntry, frozenset[str]]]
"""Path of a note -> its entry, and the names of the entities that it is listed under."""


def recall_vault_only(
    clone: StorelessVault, request: RecallRequest, *, weights: RankingWeights | None = None
) -> RecallResult:
    """Answer a question from the index files, best hits first; writes nothing.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
        VaultMissingError: the vault does not exist.
    """
    began = clone.clock.monotonic()
    entries = every = _read_entries(clone)

    def notes_in(named: str) -> frozenset[str]:
        from vaultsync.recall.asked_folders import is_in_folder  # noqa: PLC0415 - few questions

        return frozenset(x for x in every if is_in_folder(parent_folder(x), named))

    query, filters = parse_request(
        request, clock=clone.clock, permissions=Permissions(), notes_in=notes_in
    )
    if (paths := filters.among) is not None:
        entries = {each: entry for each, entry in every.items() if each in paths}
        filters = filters._replace(among=None)
    search = _IndexFileSearch(clone, query, filters, weights or RankingWeights())
    hits: tuple[Hit, ...] = ()
    if entries:
        facts = (_indexed(clone, number, *each) for number, each in enumerate(entries.items()))
        clone.index.update(map(IndexDocument, facts), [], version=INDEX_FILES_SOURCE)
        hits = search.hits(entries, request.limit)
    return RecallResult(
        query=clone.view.redact_text(request.query),
        source=INDEX_FILES_SOURCE,
        confidence=search.confidence,
        answerable=round(MOST_ANSWERABLE * search.confidence / MAX_CONFIDENCE, 3),
        degraded=(
            *(() if every else (NO_TABLES_REASON,)),
            *((NO_RETIRED_REASON,) if every and _asks_for_retired(request) else ()),
        ),
        seconds=clone.clock.monotonic() - began,
        hits=hits,
        hidden=tuple(HiddenMatches(n, reason) for reason, n in sorted(search.hidden.items())),
    )


def _asks_for_retired(request: RecallRequest) -> bool:
    return request.all or request.status is None or request.status in RETIRED_STATUSES


def _read_entries(clone: StorelessVault) -> _EntriesByPath:
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
    return {path: (entries[path], frozenset(entity_names[path])) for path in sorted(entries)}


def _names_in_heading(heading: str) -> list[str]:
    """The names of an entity in its heading: `[[path|Name]], alias (3 mentions)`."""
    text = heading.rpartition(" (")[0]
    links = find_links(text)
    if not links or links[0].start:
        return [text]
    name = links[0].alias or file_name_of(links[0].target)
    return [name, *filter(None, text[links[0].end :].split(", "))]


def _fact_of_entry(path: VaultPath, entry: IndexEntry) -> Fact:
    """What an entry says of its note, whose frontmatter may say less."""
    return Fact(
        path,
        type=entry.type,
        title=entry.title,
        priority=entry.priority,
        created_at=f"{entry.day}T00:00:00Z" if entry.day else "",
        importance=entry.importance,
    )


def _indexed(
    clone: StorelessVault, number: int, path: VaultPath, listed: tuple[IndexEntry, frozenset[str]]
) -> Fact:
    """An entry as a short fact, whose id is the number of its path."""
    entry, names = listed
    return _fact_of_entry(path, entry).evolve(
        id=str(UUID(int=number)),
        content=entry.summary,
        entities=tuple(sorted(names)),
        scope=_scope(clone, path),
    )


def _scope(clone: StorelessVault, path: VaultPath) -> str:
    folder = path.partition("/")[0]
    return folder if is_scope(folder) else clone.default_scope


@dataclass(slots=True)
class _IndexFileSearch:
    """One question to a clone."""

    clone: StorelessVault
    query: ParsedQuery
    filters: FactFilters
    weights: RankingWeights
    terms: QueryTerms = field(init=False)
    confidence: float = 0.0
    """The share of the query terms in the best hit, scaled to `MAX_CONFIDENCE`."""
    hidden: Counter[str] = field(default_factory=Counter)
    """How many of the notes that were read each default hides."""
    is_excluded: Callable[[str], bool] | None = None
    """Whether the question excludes a text; None if it excludes nothing."""

    def hits(self, entries: _EntriesByPath, limit: int) -> tuple[Hit, ...]:
        """The best notes whose entries match keywords, or the notes of a set in its order."""
        if excluded := self.query.excluded:
            question = self.query.text_without_filters
            self.is_excluded = exclusion_test(excluded, question, self.clone.index)
        self.terms = self._terms()
        if self.query.is_set:
            facts_of_set = self._set(entries, limit)
            self.confidence = MAX_CONFIDENCE if facts_of_set else 0.0
            step = 1 / max(1, len(facts_of_set))
            return tuple(
                structs.replace(self._hit(fact, 1.0), score=round(1 - rank * step, 4))
                for rank, fact in enumerate(facts_of_set)
            )
        best = self._best(entries, limit)
        if self.confidence < MAX_CONFIDENCE:
            self._index_texts(entries)
            self.terms = self._terms()
            best = self._best(entries, limit)
        return tuple(best[:limit])

    def _best(self, entries: _EntriesByPath, limit: int) -> list[Hit]:
        """The notes that match keywords, best first; sets the confidence."""
        matches = self._matching_notes(entries, NOTES_READ_FACTOR * limit)
        facts = {fact.id: fact for fact, _ in matches}
        similarities = rescale_similarities({fact.id: score for fact, score in matches})
        hits = [self._hit(fact, similarities[fact.id]) for fact in facts.values()]
        best = [hit for hit in hits if hit.score >= self.weights.least]
        best.sort(key=lambda hit: (-hit.score, hit.id))
        if best:
            words = self.terms.matched_words(fact_text(facts[best[0].id]))
            share = len(words) / max(1, len(self.terms.stems))
            self.confidence = round(MAX_CONFIDENCE * share, 3)
        return best

    def _terms(self) -> QueryTerms:
        """The terms of the question, in the languages of what is indexed."""
        words, index = self.query.words, self.clone.index
        return QueryTerms(index.tokens(words), index.stemmer(words))

    def _index_texts(self, entries: _EntriesByPath) -> None:
        """Search the texts of the most important notes in place of their entries."""
        index, listed = self.clone.index, list(entries.items())
        texts = []
        for each in index.browse(_entry_filters(self.filters), limit=MAX_NOTES_READ):
            path, (entry, _) = listed[number := UUID(each).int]
            if (fact := _read_fact(self.clone, path, entry)) is not None:
                text = {key: getattr(fact, key) for key in _TEXT}
                texts.append(_indexed(self.clone, number, *listed[number]).evolve(**text))
        index.update(map(IndexDocument, texts), [], version=INDEX_FILES_SOURCE)
        self.hidden.clear()

    def _set(self, entries: _EntriesByPath, limit: int) -> list[Fact]:
        """The first notes of a set in its order: what is due is ordered by date."""
        asked = self.query.asked
        if asked.order or asked.state not in (DUE, OVERDUE):
            return list(islice(self._members(entries), limit))
        from vaultsync.recall.task_states import first_due_date  # noqa: PLC0415 - few questions

        today = self.query.today if asked.is_upcoming else ""

        def place(fact: Fact) -> tuple[bool, str]:
            due = first_due_date(fact, self.query.tasks_in(fact))
            return due < today, due

        return sorted(self._members(entries), key=place)[:limit]

    def _members(self, entries: _EntriesByPath) -> Iterator[Fact]:
        """The notes of a set, and after them those with the tag or the check boxes asked for."""
        filters = hinted_filters(self.query, self.filters)
        for fact in self._in_order(entries, filters):
            if self._may_show(fact, filters) and self.query.matches_hints(fact):
                yield fact
        if types := self.query.asked.types:
            filters = box_filters(self.query, self.filters)
            for fact in islice(self._in_order(entries, filters), MAX_NOTES_READ):
                is_other = fact.type not in types and self.query.is_of_asked_type(fact)
                if is_other and filters.admits(fact) and self.query.matches_hints(fact):
                    yield fact

    def _in_order(self, entries: _EntriesByPath, filters: FactFilters) -> Iterator[Fact]:
        """The notes that exist of the entries that may match, in the order of the question."""
        index, paths = self.clone.index, list(entries)
        ids = index.browse(
            _entry_filters(filters), order=self.query.asked.order or IMPORTANT, limit=index.count()
        )
        for path in (paths[UUID(each).int] for each in ids):
            if (fact := _read_fact(self.clone, path, entries[path][0])) is not None:
                yield fact

    def _may_show(self, fact: Fact, filters: FactFilters) -> bool:
        """Whether a note passes the filters; counts what only the defaults hide."""
        if self.is_excluded is not None and self.is_excluded(fact_text(fact)):
            return False
        if filters.admits(fact):
            return True
        if filters.unhidden.admits(fact):
            self.hidden[filters.hidden_by(fact)] += 1
        return False

    def _matching_notes(self, entries: _EntriesByPath, max_notes: int) -> list[tuple[Fact, float]]:
        """The notes of the best entries that exist and may be shown, with their scores."""
        index, entry_filters = self.clone.index, _entry_filters(self.filters)
        paths, notes = list(entries), list[tuple[Fact, float]]()
        for match in index.search(
            self.query.words, entry_filters, phrases=self.query.phrases, limit=index.count()
        ):
            path = paths[UUID(match.fact_id).int]
            if len(notes) == max_notes:
                break
            fact = _read_fact(self.clone, path, entries[path][0])
            if fact is not None and self._may_show(fact, self.filters):
                notes.append((fact, match.score))
        return notes

    def _hit(self, fact: Fact, similarity: float) -> Hit:
        signals = RankingSignals(
            similarity,
            recency(
                fact.created_at,
                fact.type,
                self.clone.clock.now(),
                emotional_weight=fact.emotional_weight,
            ),
            utility(fact.importance, fact.access_count),
        )
        text, tasks = fact_text(fact), self.query.tasks_in(fact)
        return Hit(
            id=fact.id,
            title=fact.title,
            type=fact.type,
            path=fact.path,
            score=round(weighted_score(signals, self.weights), 4),
            similarity=round(signals.similarity, 4),
            recency=round(signals.recency, 4),
            utility=round(signals.utility, 4),
            stage=INDEX_FILES_SOURCE,
            why=explain_hit(
                *self.terms.quoted_words(text, self.terms.matched_words(text)),
                matches_hints=self.query.has_hints and self.query.matches_hints(fact),
                in_set=self.query.is_set,
                importance=fact.importance,
            ),
            snippet=snippet("; ".join(each.text for each in tasks), self.terms)
            or hit_snippet(fact, fact.content, self.terms),
            origin=origin_of(fact),
            date=fact.created_at[:DAY_LENGTH],
        )


_TEXT = ("title", "aliases", "tags", "content", "properties")
"""What is searched of a note in place of its entry; what hides it is counted afterwards."""


def _entry_filters(filters: FactFilters) -> FactFilters:
    """The filters for entries, which have neither tags, themes nor times of day, as notes have."""
    return filters._replace(tags=frozenset(), themes=frozenset(), since=None, until=None)


def _read_fact(clone: StorelessVault, path: VaultPath, entry: IndexEntry) -> Fact | None:
    """The fact that a note says, with the path as its id without one; None if unreadable."""
    try:
        note = read_note(clone.vault.read(path).data, path)
    except NoteError:
        return None
    listed = _fact_of_entry(path, entry).evolve(
        id=note.id or path, title=note.body.title or stem_of(path)
    )
    fact = listed.overlay(note.values, note.properties)
    # The user may have typed a secret into the note.
    return clone.view.redact(fact).evolve(scope=_scope(clone, path), path=path)
