"""Purge: erase facts permanently, on both sides and everywhere else, and verify it.

A fact is forgotten first, so that its note is removed as by any deletion, and other machines learn
of it. Then each place that holds anything of it erases that. The store comes last, because an
interrupted purge takes the texts to search for from there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from msgspec import Struct, structs

from vaultsync.errors import (
    FactNotFoundError,
    GuardError,
    PurgeUnfinishedError,
    ReadOnlyNoteError,
    RevisionMismatchError,
    VaultsyncError,
    system_error_texts,
)
from vaultsync.facts.lookup import PURGE_KIND
from vaultsync.facts.service import check_writable, is_visible
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import SUPERSEDED
from vaultsync.model.paths import VaultPath, file_name_of
from vaultsync.model.schema import LINEAGE, PLACE_PROPERTIES, Value
from vaultsync.model.serialization import fact_to_json, fact_to_values
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.notes.proposal_note import WRITE_PROPOSAL, ProposalRecord
from vaultsync.storage.erasure import (
    UNREADABLE,
    ByteSearch,
    Erasable,
    PurgeIntent,
    Remnant,
    Traces,
    distinctive_pieces,
)
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.conflicts import remove_conflict_note
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.history import CONTENDED, tombstone_path
from vaultsync.sync.identity import adopted_folders, unadopted_paths
from vaultsync.sync.plausibility import guard
from vaultsync.sync.review_notes import remove_review_note
from vaultsync.sync.run import sync_once
from vaultsync.sync.state_summary import SUMMARY_PATH
from vaultsync.sync.sync_request import SyncRequest

_TRIES = 5
"""How often a fact is forgotten again because another program wrote it meanwhile."""
_TEXT_FIELDS = frozenset({"content", "title", "context"})
_Neighbors: TypeAlias = Mapping[str | None, str | None]
"""The id of a version -> that of the one before or after it."""


class FoundTrace(Struct, frozen=True):
    """A file that holds something of a purged fact."""

    path: str
    what: str
    """`id`, `text`, or why the file counts as holding either."""
    hits: int


class PurgeReport(Struct, frozen=True):
    """The erased data, and the results of a search of every byte afterwards."""

    purged: tuple[str, ...]
    """The ids of the facts."""
    places: dict[str, int]
    """How much was erased, by place."""
    remaining: int
    """How many traces are left in what vaultsync keeps; 0 proves the purge."""
    found: tuple[FoundTrace, ...] = ()
    quoted: tuple[str, ...] = ()
    """Files of the user, and other facts, that say the same words. They stay."""
    kept: tuple[str, ...] = ()
    """What stays on purpose, and the user's files that cannot be read, in words."""
    dry_run: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PurgeParts:
    """The places that hold facts besides the notes, and the search that verifies a purge."""

    derived: Sequence[Erasable]
    """Indexes that are made again, vectors and small files."""
    update: Callable[[], object]
    """Updates the indexes, which then lack the facts."""
    rest: Sequence[Erasable]
    """The other indexes, the archive, and the store after it."""
    intent: PurgeIntent
    search: ByteSearch
    kept: Sequence[str]
    """What stays on purpose, in words."""
    alone: Callable[[], AbstractContextManager[object]] = nullcontext
    """Keeps processes without the engine's lock from writing what they read of the facts before."""


def facts_of_user(ctx: SyncContext, user: str) -> tuple[str, ...]:
    """The ids of all facts about a user, forgotten ones included."""
    return tuple(fact.id for fact in _all_versions(ctx) if fact.user_id == user)


def purge_facts(
    ctx: SyncContext,
    fact_ids: Iterable[str],
    parts: PurgeParts,
    *,
    agent: str | None = None,
    dry_run: bool = False,
    max_delete: int | None = None,
) -> PurgeReport:
    """Erase facts for good, and those of a purge that was interrupted; this cannot be undone.

    Raises:
        FactNotFoundError: an id is of no fact that the agent can see.
        ScopeDeniedError: the agent may not write one of the facts.
        GuardError: more facts would be erased than is plausible, or the sync before it was
            stopped; nothing was done.
        ReadOnlyNoteError: the user made a note read-only; nothing was done.
        StoreUnavailableError: nothing was done.
        RevisionMismatchError: others kept writing to a fact; run it again.
        ConfigError: the record of an interrupted purge is damaged; nothing was done.
        IndexBusyError: another command embeds texts or writes tables; nothing was done.
        PurgeUnfinishedError: a file could not be read or written; run it again.
    """
    began = ctx.clock.monotonic()
    named = dict.fromkeys(map(check_id, fact_ids))
    for each in named:
        if not _is_known(ctx, each) or not is_visible(ctx, each, agent=agent):
            raise FactNotFoundError(each)
    check_writable(ctx, named, agent=agent)
    ids = tuple(dict.fromkeys((*_unfinished(ctx, parts.intent), *named)))
    _guard(ctx, tuple(named), max_delete)
    if dry_run:
        sought, quotes = _without_quotes(ctx, Traces(ids, _pieces(ctx, ids)))
        # An id in another fact is no quotation: mostly, it is a reference, which is removed.
        quoting = [other for other, names in quotes.items() if names - sought.fact_ids]
        notes = tuple(f"/{path}" for path in _note_paths(ctx, sought))
        remnants = [*parts.search.find(sought, erased=False)]
        ours = {each.path for each in remnants if not each.of_user}
        own = (
            x._replace(of_user=x.of_user and x.path not in ours and not x.path.endswith(notes))
            for x in remnants
        )
        preview = _report_remnants(ids, [*own], quoting)
        stays = (*parts.kept, *preview.kept) if ids else ()
        return structs.replace(preview, dry_run=True, kept=stays, seconds=_since(ctx, began))
    if not ids:
        parts.intent.end()
        return PurgeReport((), {}, 0)
    sync_once(ctx, SyncRequest())  # a note may have been moved, or edited, since the last run
    _check_notes_writable(ctx, named)
    with parts.alone():
        parts.intent.begin(ids)
        try:
            report = _erase(ctx, ids, parts)
        except RevisionMismatchError:
            raise
        except VaultsyncError as error:
            raise PurgeUnfinishedError(error.message) from error
        except OSError as error:
            raise PurgeUnfinishedError(system_error_texts(error)[0]) from error
    kept = (*parts.kept, *report.kept)
    return structs.replace(report, kept=kept, seconds=_since(ctx, began))


def _erase(ctx: SyncContext, ids: Sequence[str], parts: PurgeParts) -> PurgeReport:
    """Erase facts everywhere, and search for what is left."""
    pieces = _pieces(ctx, ids)
    places = _delete_facts(ctx, ids)
    parts.intent.begin(ids, deleted=True)
    traces, quotes = _without_quotes(ctx, Traces(ids, pieces))
    _drop_files(ctx, traces, places)
    for part in parts.derived:
        places.update(part.erase(traces))
    parts.update()
    for part in parts.rest:
        places.update(part.erase(traces))
    sought = Traces(traces.fact_ids.difference(*quotes.values()), traces.pieces)
    report = _report_remnants(ids, [*parts.search.find(sought, erased=True)], quotes)
    if not report.remaining:
        parts.intent.end()
    return structs.replace(report, places={name: n for name, n in places.items() if n})


def _unfinished(ctx: SyncContext, intent: PurgeIntent) -> Iterator[str]:
    """The facts of a purge that left traces, except those that were created again since."""
    ids = intent.fact_ids()
    again = ctx.store.find_many(ids) if intent.were_deleted() else ()
    return (each for each in ids if each not in again)


def _since(ctx: SyncContext, began: float) -> float:
    return round(ctx.clock.monotonic() - began, 3)


def _is_known(ctx: SyncContext, fact_id: str) -> bool:
    """Whether a fact is, or was, in the store or in the archive."""
    return (
        ctx.store.last_write(fact_id) is not None
        or ctx.archive.find_base(fact_id) is not None
        or bool(ctx.archive.history(fact_id=fact_id))
    )


def _guard(ctx: SyncContext, ids: Sequence[str], max_delete: int | None) -> None:
    erased = [PlannedAction(ActionKind.DELETE_FACT, each, "purge") for each in ids]
    why = guard(erased, len([*ctx.store.feed()]), max_delete=max_delete)
    # One fact that is named is meant, however few there are.
    if why is not None and (len(ids) > 1 or max_delete is not None):
        hint = f"review them with --dry-run; to erase them, add `--max-delete {len(ids)}`"
        raise GuardError(why.replace("delete", "erase for good", 1), "", hint=hint)


def _check_notes_writable(ctx: SyncContext, ids: Iterable[str]) -> None:
    """Refuse to begin if a note would stay."""
    for base in ctx.archive.find_bases([*ids]).values():
        try:
            ctx.vault.check_writable(base.path)
        except ReadOnlyNoteError as error:
            error.hint = "nothing was erased: make it writable (`chmod u+w`), and purge again"
            raise


def _all_versions(ctx: SyncContext) -> Iterator[Fact]:
    """Every fact of the store, and the last version of each that was forgotten."""
    yield from ctx.store.iter_facts()
    for row in ctx.store.feed():
        fact = ctx.store.tombstone(row.fact_id) if row.deleted else None
        if fact is not None:
            yield fact


def _pieces(ctx: SyncContext, ids: Sequence[str]) -> set[str]:
    """The pieces by which all known versions of facts are recognised."""
    texts: set[str] = set()
    stored = ctx.store.find_many(ids)
    for each in ids:
        base = ctx.archive.find_base(each)
        for fact in (stored.get(each), ctx.store.tombstone(each), base.fact if base else None):
            if fact is not None:
                texts.update(_texts(fact))
                if fact.path:
                    texts.add(file_name_of(fact.path))
        for entry in ctx.archive.history(fact_id=each):
            if entry.field in _TEXT_FIELDS:
                texts.update(x for x in (entry.before, entry.after) if isinstance(x, str))
    texts.update(x for x in _values_in_reviews(ctx, frozenset(ids)) if isinstance(x, str))
    return {piece for text in texts for piece in distinctive_pieces(text)}


def _values_in_reviews(ctx: SyncContext, ids: frozenset[str]) -> Iterator[Value]:
    for conflict in ctx.archive.conflicts(closed=True):
        if conflict.fact_id in ids:
            for each in conflict.fields:
                yield from (each.base, each.vault, each.store)
    for proposal in ctx.archive.proposals(settled=True):
        for change in proposal.changes:
            if change.fact_id in ids:
                yield from (*change.before.values(), *(change.after or {}).values())


def _texts(fact: Fact) -> Iterator[str]:
    yield from (fact.content, fact.title, fact.context or "")
    # All facts about a repository share these, and its files keep them.
    shared = PLACE_PROPERTIES if fact.value(LINEAGE) else ()
    for key, value in chain(fact.own.items(), fact.properties.items()):
        values = value if isinstance(value, list) else [value]
        yield from (x for x in values if isinstance(x, str) and key not in shared)


def _delete_facts(ctx: SyncContext, ids: Sequence[str]) -> Counter[str]:
    """Remove what other facts say of the facts, then the facts and their notes.

    In this order, because a link in a note is known to be ours only while its target exists.
    """
    places: Counter[str] = Counter()
    stored = ctx.store.find_many(ids)
    versions = [stored.get(each) or ctx.store.tombstone(each) for each in ids]
    replaced: dict[str, _Neighbors] = {
        "supersedesId": {each.id: each.supersedes_id for each in versions if each},
        "supersededById": {each.id: each.superseded_by_id for each in versions if each},
    }

    def references() -> list[StoreWrite]:
        changed = (_without_references(each, ids, replaced) for each in ctx.store.iter_facts())
        return [StoreWrite(x.id, x, x.revision, PURGE_KIND) for x in changed if x is not None]

    def facts() -> list[StoreWrite]:
        last = filter(None, map(ctx.store.last_write, ids))  # rows may be damaged
        return [StoreWrite(x.fact_id, None, x.revision, PURGE_KIND) for x in last if not x.deleted]

    places["references"] = _repeat_writes(ctx, ids, references)
    places["notes"] = len(ctx.archive.find_bases(ids))
    places["facts"] = _repeat_writes(ctx, ids, facts)
    return places


def _repeat_writes(
    ctx: SyncContext, ids: Sequence[str], needed: Callable[[], list[StoreWrite]]
) -> int:
    """Repeat writes, and the sync of their notes, until none are needed."""
    written: dict[str, None] = {}
    for _ in range(_TRIES):
        writes = needed()
        if not writes:
            return len(written)
        written |= dict.fromkeys(each.fact_id for each in writes)
        ctx.store.write(writes)
        sync_once(ctx, SyncRequest.for_facts(written, PURGE_KIND, guarded=False))
    raise RevisionMismatchError(ids[0], *CONTENDED)


def _without_references(
    fact: Fact, ids: Sequence[str], replaced: Mapping[str, _Neighbors]
) -> Fact | None:
    """A fact without the fields that refer to any of the others; None if it has none.

    Versions of which those between are erased follow each other, and one whose newer versions
    are all erased gets the status `superseded`: neither counts as current. `replaced` has the
    neighbors of the erased ones, by field.
    """
    if fact.id in ids:
        return None
    changes: dict[str, Value] = {}
    for key, value in fact_to_values(fact).items():
        if isinstance(value, str) and value in ids:
            changes[key] = _next_kept(value, ids, replaced.get(key, {}))
        elif isinstance(value, (list, tuple)) and any(map(ids.__contains__, value)):
            changes[key] = [each for each in value if each not in ids]
    if changes.get("supersededById", "") is None:
        changes["status"] = SUPERSEDED
    return fact.replace(changes) if changes else None


def _next_kept(fact_id: str | None, ids: Sequence[str], following: _Neighbors) -> str | None:
    """The first fact of a chain of versions that is not erased; None if there is none."""
    left = {**following}
    while fact_id in ids:
        fact_id = left.pop(fact_id, None)
    return fact_id


def _without_quotes(ctx: SyncContext, traces: Traces) -> tuple[Traces, dict[str, set[str]]]:
    """The traces without the pieces in other facts, and these facts with what each contains."""
    quotes = dict(_quotes(ctx, traces))
    return traces.without(set().union(*quotes.values())), quotes


def _quotes(ctx: SyncContext, traces: Traces) -> Iterator[tuple[str, set[str]]]:
    """Other facts with the same pieces of text, also in the paths of their notes; the pieces."""
    deleted = [row.fact_id for row in ctx.store.feed() if row.deleted]
    removals = ctx.archive.note_tombstones(deleted).items()
    paths = {fact_id: tombstone_path(entry) for fact_id, entry in removals}
    paths.update((fact_id, path) for path, fact_id in ctx.archive.paths().items())
    for fact in _all_versions(ctx):
        if fact.id not in traces.fact_ids:
            names = set(traces.found_in(f"{fact_to_json(fact)}\n{paths.get(fact.id)}".encode()))
            if names:
                yield fact.id, names
    for place, words in _texts_of_others(ctx, traces):
        if names := set(traces.found_in(words.encode(errors="surrogatepass"))):
            yield place, names


def _texts_of_others(ctx: SyncContext, traces: Traces) -> Iterator[tuple[str, str]]:
    """The texts that are in no fact, and stay: proposals and conflicts of others, and folders.

    Folders, and the paths of notes that are no facts, are names that the user gave to files.
    """
    for path in sorted({*ctx.archive.folders(), *adopted_folders(ctx), *unadopted_paths(ctx)}):
        yield path, path
    about = Traces(traces.fact_ids)
    for proposal in ctx.archive.proposals():
        words = _all_text(proposal)
        if proposal.kind == WRITE_PROPOSAL and not about.mentions(words):
            yield proposal.note_path or proposal.id, words
    for conflict in ctx.archive.conflicts():
        if conflict.fact_id not in traces.fact_ids:
            values = [[each.base, each.vault, each.store] for each in conflict.fields]
            yield conflict.conflict_path or conflict.id, json.dumps(values)


def _drop_files(ctx: SyncContext, traces: Traces, places: Counter[str]) -> None:
    """Remove conflict notes, proposals, staged and displaced files, and the last summary."""
    for conflict in _conflicts(ctx, traces):
        places["conflict notes"] += conflict.conflict_path is not None
        remove_conflict_note(ctx, conflict)
    for proposal_id, path in _proposal_notes(ctx, traces).items():
        places["proposal notes"] += 1
        remove_review_note(ctx, proposal_id, path)
    ops = {each.op for each in ctx.archive.displaced_files() if each.fact_id in traces.fact_ids}
    for op in ctx.vault.ops():
        staged = ctx.vault.staged(op)
        if op in ops or (staged is not None and traces.mentions(staged.data)):
            ctx.vault.discard(op)
            places["staged files"] += 1
    ctx.vault.drop_meta(SUMMARY_PATH)  # the next run writes it again
    ctx.vault.sync()


def _note_paths(ctx: SyncContext, traces: Traces) -> list[VaultPath]:
    """The notes that a purge removes: those of the facts, their conflicts and proposals."""
    paths = [
        *(base.path for base in ctx.archive.find_bases([*traces.fact_ids]).values()),
        *(each.conflict_path for each in _conflicts(ctx, traces)),
        *_proposal_notes(ctx, traces).values(),
    ]
    return [path for path in paths if path is not None]


def _conflicts(ctx: SyncContext, traces: Traces) -> list[ConflictRecord]:
    return [x for x in ctx.archive.conflicts(closed=True) if x.fact_id in traces.fact_ids]


def _proposal_notes(ctx: SyncContext, traces: Traces) -> dict[str, VaultPath]:
    return {
        each.id: each.note_path
        for each in ctx.archive.proposals()
        if each.note_path is not None and traces.mentions(_all_text(each))
    }


def _all_text(proposal: ProposalRecord) -> str:
    """All that a proposal says of facts: those it changes, cites as evidence or only quotes."""
    changes = [[x.fact_id, x.title, x.path, x.before, x.after] for x in proposal.changes]
    return json.dumps([proposal.title, proposal.why, changes], default=dict)


def _report_remnants(
    ids: Sequence[str], remnants: Sequence[Remnant], quoting: Iterable[str] = ()
) -> PurgeReport:
    """The remnants that a search found: in vaultsync's files, and in the user's."""
    own = [each for each in remnants if not each.of_user]
    of_user = [each for each in remnants if each.of_user]
    foreign_paths = [each.path for each in of_user if each.what != UNREADABLE]
    unread = [each.path for each in of_user if each.what == UNREADABLE]
    return PurgeReport(
        tuple(ids),
        places={},
        remaining=sum(each.hits for each in own),
        found=tuple(FoundTrace(each.path, each.what, each.hits) for each in own),
        quoted=tuple(dict.fromkeys((*foreign_paths, *quoting))),
        kept=tuple(f"{each}, which could not be read and searched" for each in unread),
    )
