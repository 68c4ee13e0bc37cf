"""Import the memories of another tool in a run that `undo` reverts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct, structs

from vaultsync.errors import UsageError
from vaultsync.exchange.exchange_formats import ExchangeFormat
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import (
    SourceFact,
    Unreadable,
    fact_id,
    in_parts,
    line_of,
    text_hash,
)
from vaultsync.facts.lookup import UNDO_KIND, was_undone_last
from vaultsync.facts.service import check_scope_access
from vaultsync.links.rewrite import MovedFiles, Retarget, RetargetLink
from vaultsync.links.wikilinks import Link, LinkResolver
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.model.scope import check_scope
from vaultsync.operations.export_import import IMPORT_ACTOR, imported_fact, write_imported
from vaultsync.operations.relink import LinkTargets, list_vault_notes, rewrite_note_links_of
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import deleted_revision, overwrite
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import MAX_RECORDED_ACTIONS, record_run, sync_once
from vaultsync.sync.sync_request import SyncRequest

_log = logging.getLogger(__name__)
RUN_KIND = "import"
RELINK_REASON = "it links to imported notes"
FACTS_PER_WRITE = 500
MAX_PROBLEMS = 100
"""Maximum number of problems, and of kept facts, listed in a report; all are counted."""
_EDITABLE = frozenset({"content", "title", "status"})
"""The fields whose edits an import does not replace."""


class ImportProblem(Struct, frozen=True):
    """A part of an export that was skipped."""

    where: str
    why: str


class KeptFact(Struct, frozen=True):
    """A fact that differs from the memory from which it was imported."""

    id: str
    title: str


class ImportReport(Struct, frozen=True):
    """The result of an import, or its plan with `dry_run`."""

    run: str | None
    """The run, for `undo`; None if nothing was imported."""
    format: str
    facts: int
    continued: int
    """Conversations that went on since they were imported, and whose facts were extended."""
    updated: int
    """Other memories that changed since they were imported, and whose facts were updated."""
    kept: int
    """Memories that changed, whose facts stay because they may have been edited here."""
    duplicates: int
    """Memories that the vault already has: imported before, or with the same text."""
    skipped: int
    """Parts that could not be read, or are empty."""
    problems: tuple[ImportProblem, ...]
    """The first of the skipped parts."""
    kept_facts: tuple[KeptFact, ...]
    """The first of the kept facts."""
    types: dict[str, int]
    """Type -> number of imported facts."""
    dry_run: bool
    seconds: float


class _Import:
    """An import in progress."""

    def __init__(
        self, ctx: SyncContext, form: ExchangeFormat, scope: str, agent: str | None
    ) -> None:
        self._ctx = ctx
        self._form = form
        self._scope = scope
        self._agent = agent
        self._texts = self._known_texts()
        """The hashes of all texts."""
        self._ids = set[str]()
        self._linked: list[str] = []
        """Facts whose notes link to facts that are not imported yet."""
        self._files: dict[VaultPath, str] = {}
        """Path in the source -> fact."""
        self._with_links: list[str] = []
        """Imported facts whose texts may link to files of the source."""
        self.report: Report | None = None
        """The report of the run so far, with its first actions."""
        self.read = 0
        self.facts = 0
        self.continued = 0
        self.updated = 0
        self.kept = 0
        self.kept_facts: list[KeptFact] = []
        self.types: Counter[str] = Counter()
        self.duplicates = 0
        self.skipped = 0
        self.problems: list[ImportProblem] = []

    def _known_texts(self) -> set[bytes]:
        permissions = self._ctx.policy.permissions
        return {
            text_hash(fact.content or fact.title)
            for fact in self._ctx.store.iter_facts()
            if permissions.may_read(self._agent, fact.scope)
        }

    def found(self, files: SourceFiles) -> Iterator[tuple[Fact, bool]]:
        """The distinct facts in the files, and whether each has its own id in the file."""
        for found in self._form.read(files):
            if isinstance(found, Unreadable):
                self._skip(found.where, found.why)
                continue
            for number, part in enumerate(in_parts(found)):
                try:
                    fact = self._fact(part)
                except UsageError as error:
                    self._skip(part.source_id, error.message)
                    continue
                if part is not found and not number:
                    fact = self._as_when_shorter(fact, found)
                self._files |= dict.fromkeys(map(VaultPath, part.files), fact.id)
                if fact.id in self._ids:
                    self.duplicates += 1
                else:
                    self._ids.add(fact.id)
                    self.read += 1
                    yield fact, fact.id == part.values.get("id")

    def _fact(self, found: SourceFact) -> Fact:
        values: dict[str, Value] = {
            "createdAt": self._ctx.today(),
            **{key: value for key, value in found.values.items() if value not in (None, "", [])},
            "source": f"import from {self._form.name}",
            "scope": self._scope,
        }
        own_id = self._id_of(found)
        if self._agent is not None:
            values |= {"id": own_id, "agentId": self._agent}
        return imported_fact(self._ctx, {"id": own_id, **values})

    def _id_of(self, found: SourceFact) -> str:
        key = "\n".join((self._form.name, self._agent or "", self._scope, found.source_id))
        created = found.values.get("createdAt")
        return fact_id(key, created if isinstance(created, str) else None)

    def _as_when_shorter(self, first: Fact, found: SourceFact) -> Fact:
        """The first part, with the id that a conversation had while it was one fact."""
        own_id = self._id_of(found)
        stored = self._ctx.store.find_many([own_id]).get(own_id)
        goes_on = stored is not None and first.content.startswith(stored.content)
        return first.evolve(id=own_id) if goes_on else first

    def _skip(self, where: str, why: str) -> None:
        self.skipped += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(ImportProblem(line_of(where), line_of(why)))

    def finish(self, files: SourceFiles) -> None:
        """Write the remaining notes, or report the expected files if nothing was found."""
        if self._linked:
            self._sync(self._linked)
        if self._files and self._with_links:
            self._relink(files)
        if not (self.read or self.skipped):
            why = f"nothing to import was found; expected {self._form.reads}"
            self._skip(self._form.title, why)

    def take(self, batch: Sequence[tuple[Fact, bool]], *, dry_run: bool) -> None:
        """Write what the vault does not have of a batch of facts."""
        known = self._ctx.store.find_many([fact.id for fact, _ in batch])
        new, longer, changed = [], [], []
        for fact, has_id in batch:
            digest = text_hash(fact.content or fact.title)
            stored = known.get(fact.id)
            if stored is not None and self._went_on(stored, fact):
                longer.append(stored.replace({"content": fact.content}))
                continue
            if digest in self._texts or self._was_forgotten(fact.id):
                self.duplicates += 1
                continue
            if stored is not None:
                if self._changed(stored, fact):
                    # The source may have the former text as another memory.
                    self._texts.discard(text_hash(stored.content or stored.title))
                    self._texts.add(digest)
                    changed.append(_with_text_of(fact, stored))
                continue
            if not has_id:  # in vaultsync's own export, equal texts are two facts
                self._texts.add(digest)
            new.append(fact)
        self.facts += len(new)
        self.types.update(each.type for each in new)
        if not dry_run:
            longer, changed = self._overwritten(longer), self._overwritten(changed)
            if new:
                write_imported(self._ctx, new, self._agent)
            if new or longer or changed:
                self._write_notes([*new, *longer, *changed])
            self._with_links += [x.id for x in (*new, *changed) if _may_link(x)]
        self.continued += len(longer)
        self.updated += len(changed)

    def _went_on(self, stored: Fact, fact: Fact) -> bool:
        """Whether a fact is a longer version of a conversation that only imports have written."""
        return bool(
            stored.value("conversationId")
            and stored.scope == self._scope
            and fact.content.startswith(f"{stored.content}\n\n")
            and not self._is_edited(stored, self._history(stored.id), {"content"})
        )

    def _changed(self, stored: Fact, fact: Fact) -> bool:
        """Whether only the memory of a fact changed since its import; counts it if not."""
        entries = self._history(stored.id)
        texts = [x for x in entries if x.field == "content"]
        may_update = (
            stored.scope == self._scope
            and stored.value("source") == fact.value("source")
            and not self._is_edited(stored, entries, _EDITABLE)
        )
        known = [self._last_imported(stored, entries[:1], texts)]
        if not may_update:  # the memory may be an older version of its own fact
            known += [each for x in texts for each in (x.before, x.after)]
        if text_hash(fact.content or fact.title) in {text_hash(str(x or "")) for x in known}:
            self.duplicates += 1
        elif may_update:
            return True
        elif self._ctx.policy.permissions.may_read(self._agent, stored.scope):
            self.kept += 1
            if len(self.kept_facts) < MAX_PROBLEMS:
                self.kept_facts.append(KeptFact(stored.id, stored.title))
        else:
            self.duplicates += 1
        return False

    def _is_edited(
        self, stored: Fact, entries: Sequence[HistoryEntry], fields: Collection[str]
    ) -> bool:
        """Whether others than imports have written fields of a fact, or may have."""
        base = self._ctx.archive.find_base(stored.id)
        is_recorded = base and all(base.fact.value(x) == stored.value(x) for x in fields)
        if not (is_recorded and entries and entries[0].field == "note"):
            return True  # an edit is not recorded yet, or may not be any more
        kinds = map(self._kind, (x for x in entries if x.field in fields))
        return not all(kind == RUN_KIND or kind.startswith(UNDO_KIND) for kind in kinds)

    def _last_imported(
        self, stored: Fact, first: Sequence[HistoryEntry], texts: Sequence[HistoryEntry]
    ) -> Value:
        """The text that a fact got last from an import or an undo, before links were rewritten."""
        text = texts[0].before if texts else stored.content
        for before, entry in zip((*first, *texts), texts, strict=False):
            kind = self._kind(entry)
            if kind.startswith(UNDO_KIND) or (kind == RUN_KIND and entry.run != before.run):
                text = entry.after
        return text

    def _kind(self, entry: HistoryEntry) -> str:
        if entry.actor == IMPORT_ACTOR:  # an import that was killed was recorded by the next sync
            return RUN_KIND
        record = self._ctx.archive.find_run(entry.run)
        return record.kind if record else ""

    def _overwritten(self, facts: Sequence[Fact]) -> list[Fact]:
        """Write newer versions; the next import writes those that others changed meanwhile."""
        at, actor = self._ctx.today(), self._agent or IMPORT_ACTOR
        writes = [
            overwrite(self._ctx, x.id, x.evolve(updated_at=at), x.revision or "", actor)
            for x in facts
        ]
        results = self._ctx.store.write(writes) if writes else []
        return [x for x, done in zip(facts, results, strict=True) if isinstance(done, str)]

    def _write_notes(self, facts: Iterable[Fact]) -> None:
        """Write the notes of facts, except those that link to notes that do not exist yet."""
        ready = {fact.id: fact for fact in facts}
        linked = {key for fact in ready.values() for key in fact.related_fact_ids} - ready.keys()
        there = self._ctx.archive.find_bases(linked).keys() if linked else ()
        while early := [
            fact.id
            for fact in ready.values()
            if not all(key in ready or key in there for key in fact.related_fact_ids)
        ]:
            self._linked += early
            for key in early:
                del ready[key]
        if ready:
            self._sync(ready)

    def _sync(self, fact_ids: Iterable[str]) -> None:
        """Write the notes of facts as part of the run that `undo` reverts."""
        request = SyncRequest.for_facts(fact_ids, RUN_KIND, after=self.report, guarded=False)
        self._keep(sync_once(self._ctx, request))

    def _keep(self, report: Report) -> None:
        if not report.quiet:
            self.report = structs.replace(report, actions=report.actions[:MAX_RECORDED_ACTIONS])

    def _relink(self, files: SourceFiles) -> None:
        """Let links between files of the source lead to their notes, which have other names."""
        paths = self._ctx.archive.note_paths({*self._files.values()})
        moved = {file: paths[key] for file, key in self._files.items() if key in paths}
        before = LinkResolver.of({*moved, *map(VaultPath, files.names())})
        moves = MovedFiles(before, LinkResolver.of(list_vault_notes(self._ctx)), moved)

        def retarget(path: VaultPath) -> RetargetLink:
            follow = moves.retarget(path)

            def new_target(link: Link) -> Retarget | None:
                found = follow(link)
                shown = None if link.embed else link.target
                return Retarget(found.target, shown) if found else None

            return new_target

        targets = LinkTargets(retarget, moves.target_before, moves.target_now)
        report = rewrite_note_links_of(
            self._ctx, self._with_links, targets, reason=RELINK_REASON, after=self.report
        )
        if report is not None:
            self._keep(report)
            record_run(self._ctx, SyncRequest(RUN_KIND), report)

    def _history(self, fact_id: str) -> Sequence[HistoryEntry]:
        return self._ctx.archive.history(fact_id=fact_id)

    def _was_forgotten(self, fact_id: str) -> bool:
        """Whether a user or an agent deleted a fact, other than by undoing its import."""
        deleted = deleted_revision(self._ctx.store, fact_id)
        return deleted is not None and not was_undone_last(self._ctx, fact_id)


def _with_text_of(fact: Fact, stored: Fact) -> Fact:
    """A fact with the text of its memory; a conversation keeps its title."""
    title = {} if stored.value("conversationId") else {"title": fact.title}
    return stored.replace({"content": fact.content, **title})


def _may_link(fact: Fact) -> bool:
    return "[[" in fact.content or "](" in fact.content or bool(fact.properties)


def import_from(
    ctx: SyncContext,
    form: ExchangeFormat,
    files: SourceFiles,
    *,
    scope: str | None = None,
    agent: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Import the memories of another tool, and write their notes.

    Nothing is imported twice: memories that were imported before, have the text of another fact, or
    were forgotten since are duplicates. The fact of a memory that changed since, or of a
    conversation that went on, is updated, unless it was edited. Unreadable parts are skipped and
    reported. An agent of None is the user. `progress` is called with the stage and the number of
    facts read.

    Raises:
        InvalidScopeError, ScopeDeniedError: the agent may not write there.
        ExchangeFileError: the files cannot be read.
        StoreError: the next import completes what was written.
    """
    began = ctx.clock.monotonic()
    scope = check_scope(scope or ctx.policy.default_scope)
    check_scope_access(ctx, scope, agent=agent)
    work = _Import(ctx, form, scope, agent)
    found = work.found(files)
    while batch := [*islice(found, FACTS_PER_WRITE)]:
        work.take(batch, dry_run=dry_run)
        if progress is not None and len(batch) == FACTS_PER_WRITE:
            progress("import", work.read, 0)
    work.finish(files)
    _log.debug("%d facts imported, %d duplicates", work.facts, work.duplicates)
    return ImportReport(
        run=work.report.run if work.report else None,
        format=form.name,
        facts=work.facts,
        continued=work.continued,
        updated=work.updated,
        kept=work.kept,
        duplicates=work.duplicates,
        skipped=work.skipped,
        problems=tuple(work.problems),
        kept_facts=tuple(work.kept_facts),
        types=dict(sorted(work.types.items())),
        dry_run=dry_run,
        seconds=round(ctx.clock.monotonic() - began, 3),
    )
