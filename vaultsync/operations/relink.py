"""Links follow the notes they lead to, when a note moved and nobody rewrote them.

Obsidian rewrites links itself when a note is renamed in it. Other editors do not, nor
does it when it is closed.

A pass that rewrites links in the notes of some facts, and does nothing else to them.

Both sides are written as by any merge: the store names the revision it replaces, the note
is exchanged and what was displaced is looked at. A fact that changed meanwhile is brought
in step by the table first, and its links in the pass after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from vaultsync.errors import DerivedError, NoteError, StoreUnavailableError
from vaultsync.facts.backlinks import catch_up_link_index
from vaultsync.links.index_sync import RELATED_KEY
from vaultsync.links.ports import LinkIndex, LinkReference
from vaultsync.links.rewrite import MovedFiles, RetargetLink, rewrite_note_links
from vaultsync.links.wikilinks import MARKDOWN_LINK, WIKI_LINK, Link, LinkResolver
from vaultsync.model.compare import differing_keys
from vaultsync.model.paths import VaultPath
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import Note, read_note
from vaultsync.sync.changes import StoreChange
from vaultsync.sync.conflicts import rewrite_conflict_note_links
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.identity import Case
from vaultsync.sync.planning import PlanRules, SyncRun
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.request import SyncRequest
from vaultsync.sync.run import TablePlanner, sync_once, sync_with
from vaultsync.sync.snapshot import path_in

MAX_REWRITE_ROUNDS = 3
"""How often notes are tried that somebody writes to meanwhile."""


class LinkTargets(Protocol):
    """What links mean, and shall mean."""

    def retarget(self, path: VaultPath) -> RetargetLink:
        """Says where the links of the note at a path shall lead."""
        ...

    def target_before(self, target: str, path: VaultPath) -> VaultPath | None:
        """Where the note lies now that a link in the note at `path` led to before."""
        ...

    def target_now(self, target: str, path: VaultPath) -> VaultPath | None:
        """Where a link in the note at `path` leads now."""
        ...


def rewrite_note_links_of(
    ctx: SyncContext,
    fact_ids: Iterable[str],
    sense: LinkTargets,
    *,
    reason: str,
    actor: str,
    after: Report | None = None,
    progress: Progress | None = None,
) -> Report | None:
    """Rewrite the links in the notes of facts; None when there was nothing to rewrite.

    Raises: as `sync_with()`.
    """
    named = tuple(sorted(set(fact_ids)))
    done = after
    for _ in range(MAX_REWRITE_ROUNDS):
        if not named:
            break
        planner = LinkRewriter(sense, reason)
        request = SyncRequest.for_facts(named, "links", actor=actor, after=done)
        report = sync_with(ctx, request, planner, progress=progress)
        if not report.quiet:
            done = report
        named = tuple(each for each in planner.later if each in named)
    return done if done is not after else None


class LinkRewriter(TablePlanner):
    """Plans by the table; where that has nothing to do, the links are rewritten."""

    def __init__(self, sense: LinkTargets, reason: str) -> None:
        super().__init__()
        self._sense = sense
        self._reason = reason
        self._paths: Mapping[VaultPath, str] = {}
        self.later: list[str] = []
        """Facts that something else was done about."""

    def prepare(self, work: SyncRun) -> None:
        """Note which paths are taken, and by which facts."""
        super().prepare(work)
        self._paths = work.ctx.archive.paths()

    def plan(self, case: Case, rules: PlanRules) -> PlannedAction:
        """The row of the table, or the rewritten note."""
        action = super().plan(case, rules)
        if action.do is not ActionKind.NOTHING:
            self.later.append(case.fact_id)
            return action
        if case.base is None or case.store.change is not StoreChange.UNCHANGED:
            return action
        note = case.vault.note
        return action if note is None else self._rewritten(action, note)

    def _rewritten(self, action: PlannedAction, note: Note) -> PlannedAction:
        base = action.base
        assert base is not None  # noqa: S101 - the caller asked
        try:
            text = rewrite_note_links(note.parts.text, note.path, self._sense.retarget(note.path))
            if text == note.parts.text:
                return action
            now = read_note(text.encode(), note.path)
            now = self._view.from_note(now, base, before=note)
        except NoteError:
            return action  # `links check` goes on naming the link
        fact = apply_note_edits(base, note, now, ids=self._ids(note, now))
        fields = differing_keys(base, fact)
        return action.evolve(
            do=ActionKind.MERGE if fields else ActionKind.UPDATE_VAULT,
            reason=self._reason,
            vault=base,
            merged=fact,
            fields=fields,
            text=text.encode(),
        )

    def _ids(self, before: Note, now: Note) -> Mapping[str, str]:
        """The facts that links under Related Facts led to, and lead to."""
        found = {}
        for targets, lead in (
            (before.links - now.links, self._sense.target_before),
            (now.links - before.links, self._sense.target_now),
        ):
            for target in targets:
                path = lead(target.partition("#")[0], now.path)
                if path is not None and path in self._paths:
                    found[target] = self._paths[path]
        return found


LINKS_ACTOR = "links"
"""Who rewrites links, in the history."""
RELINK_REASON = "a note that it links to moved"
VaultFiles: TypeAlias = Callable[[], Iterable[VaultPath]]
"""All files of the vault, whatever they are; asked for when they are needed."""


def sync_and_relink(
    ctx: SyncContext,
    links: LinkIndex,
    request: SyncRequest | None = None,
    *,
    files: VaultFiles = tuple,
    progress: Progress | None = None,
) -> Report:
    """One pass, and the links to the notes that it found moved: one run, one report.

    Raises: as `sync()`.
    """
    report = sync_once(ctx, request, progress=progress)
    if report.dry_run or not report.counts["moved"]:
        return report
    return rewrite_moved_links(ctx, links, report, files=files, progress=progress)


def rewrite_moved_links(
    ctx: SyncContext,
    links: LinkIndex,
    report: Report,
    *,
    files: VaultFiles = tuple,
    progress: Progress | None = None,
) -> Report:
    """Rewrite the links to the notes that a pass moved; the report of both.

    An index that cannot be asked now leaves the links to `links check --fix`.

    Raises: as `sync()`.
    """
    sense = moved_files(ctx, report.run, files)
    if not sense.shift.moved:
        return report
    rewrite_conflict_note_links(ctx, sense.shift.moved, sense.retarget)
    try:
        catch_up_link_index(ctx, links)
        named = _linking(ctx, links, sense)
    except (DerivedError, StoreUnavailableError, OSError):
        return report
    done = rewrite_note_links_of(
        ctx,
        named,
        sense,
        reason=RELINK_REASON,
        actor=LINKS_ACTOR,
        after=report,
        progress=progress,
    )
    return done or report


@dataclass(frozen=True, slots=True)
class _MovedLinks:
    """What links meant before a run, and what they mean now."""

    shift: MovedFiles

    def retarget(self, path: VaultPath) -> RetargetLink:
        return self.shift.retarget(path)

    def target_before(self, target: str, path: VaultPath) -> VaultPath | None:
        was = self.shift.before.resolve(target, self.shift.source(path))
        return self.shift.moved.get(was, was) if was is not None else None

    def target_now(self, target: str, path: VaultPath) -> VaultPath | None:
        return self.shift.now.resolve(target, path)


def moved_files(ctx: SyncContext, run: str, files: VaultFiles) -> _MovedLinks:
    """What a run moved, from its history, among all files of the vault."""
    now = set(list_vault_notes(ctx)) | set(files())
    before = set(now)
    moved: dict[VaultPath, VaultPath] = {}
    for entry in ctx.archive.history(run=run):
        if entry.field == "path":
            old, new = VaultPath(str(entry.before)), VaultPath(str(entry.after))
            moved[old] = new
        elif entry.field in ("note", "fact") and isinstance(entry.after, str):
            before.discard(VaultPath(entry.after))
        elif entry.field == "note" and isinstance(entry.before, dict):
            before.add(VaultPath(str(entry.before.get("path"))))
    before = (before - set(moved.values())) | set(moved)
    return _MovedLinks(MovedFiles(LinkResolver.of(before), LinkResolver.of(now), moved))


def list_vault_notes(ctx: SyncContext) -> list[VaultPath]:
    """All notes of the vault, those of nobody too."""
    return [
        path_in(folder.path, name)
        for folder in ctx.vault.scan().folders.values()
        for name in folder.files
    ]


def _linking(ctx: SyncContext, links: LinkIndex, sense: _MovedLinks) -> set[str]:
    """The facts with a link that means something else now."""
    moved = sense.shift.moved
    bases = ctx.archive.paths()
    ids = {bases[path] for path in moved.values() if path in bases}
    found = links.links_to([*moved, *moved.values()])
    for fact_id in ids:
        found += links.links_from(fact_id)
    paths = {fact_id: path for path, fact_id in bases.items()}
    turners: dict[str, RetargetLink] = {}
    named = set()
    for reference in found:
        path = paths.get(reference.fact_id)
        if path is None or reference.fact_id in named:
            continue
        retarget = turners.setdefault(reference.fact_id, sense.retarget(path))
        if retarget(_as_link(reference)) is not None:
            named.add(reference.fact_id)
    # Lines under Related Facts stand for ids: only the note tells what they say.
    related = links.links_to(ids)
    return named | {each.fact_id for each in related if each.key == RELATED_KEY}


def _as_link(reference: LinkReference) -> Link:
    kind = MARKDOWN_LINK if reference.kind == MARKDOWN_LINK else WIKI_LINK
    return Link(reference.target, reference.subpath, None, False, 0, 0, kind)  # noqa: FBT003 - no embed
