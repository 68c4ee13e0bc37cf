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
from vaultsync.facts.backlinks import catch_up
from vaultsync.links.index_sync import RELATED
from vaultsync.links.ports import LinkIndex, Reference
from vaultsync.links.rewrite import Shift, Turner, relink_note
from vaultsync.links.wikilinks import MARKDOWN, WIKI, Link, Names
from vaultsync.model.compare import differing
from vaultsync.model.paths import VaultPath
from vaultsync.notes.edits import edited
from vaultsync.notes.parse import Note, read_note
from vaultsync.sync.changes import StoreChange
from vaultsync.sync.conflict_notes import relink_conflict_notes
from vaultsync.sync.context import Mirror
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.identity import Case
from vaultsync.sync.pass_types import Pass, Request
from vaultsync.sync.planning import Rules
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import ByTheTable, sync, sync_with
from vaultsync.sync.snapshot import path_in

ROUNDS = 3
"""How often notes are tried that somebody writes to meanwhile."""


class Sense(Protocol):
    """What links mean, and shall mean."""

    def turner(self, path: VaultPath) -> Turner:
        """Says where the links of the note at a path shall lead."""
        ...

    def led(self, target: str, path: VaultPath) -> VaultPath | None:
        """Where the note lies now that a link in the note at `path` led to before."""
        ...

    def leads(self, target: str, path: VaultPath) -> VaultPath | None:
        """Where a link in the note at `path` leads now."""
        ...


def respell(
    mirror: Mirror,
    fact_ids: Iterable[str],
    sense: Sense,
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
    for _ in range(ROUNDS):
        if not named:
            break
        planner = Respelling(sense, reason)
        request = Request(
            kind="links", named=named, only_named=True, actor=actor, after=done
        )
        report = sync_with(mirror, request, planner, progress=progress)
        if not report.quiet:
            done = report
        named = tuple(each for each in planner.later if each in named)
    return done if done is not after else None


class Respelling(ByTheTable):
    """Plans by the table; where that has nothing to do, the links are rewritten."""

    def __init__(self, sense: Sense, reason: str) -> None:
        super().__init__()
        self._sense = sense
        self._reason = reason
        self._paths: Mapping[VaultPath, str] = {}
        self.later: list[str] = []
        """Facts that something else was done about."""

    def prepare(self, work: Pass) -> None:
        """Note which paths are taken, and by which facts."""
        super().prepare(work)
        self._paths = work.mirror.archive.paths()

    def plan(self, case: Case, rules: Rules) -> Action:
        """The row of the table, or the rewritten note."""
        action = super().plan(case, rules)
        if action.do is not Do.NOTHING:
            self.later.append(case.fact_id)
            return action
        if case.base is None or case.store.change is not StoreChange.UNCHANGED:
            return action
        note = case.vault.note
        return action if note is None else self._rewritten(action, note)

    def _rewritten(self, action: Action, note: Note) -> Action:
        base = action.base
        assert base is not None  # noqa: S101 - the caller asked
        try:
            text = relink_note(
                note.parts.text, note.path, self._sense.turner(note.path)
            )
            if text == note.parts.text:
                return action
            now = read_note(text.encode(), note.path)
            now = self._lens.meant(now, base, before=note)
        except NoteError:
            return action  # `links check` goes on naming the link
        fact = edited(base, note, now, ids=self._ids(note, now))
        fields = differing(base, fact)
        return action.but(
            do=Do.MERGE if fields else Do.UPDATE_VAULT,
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
            (before.links - now.links, self._sense.led),
            (now.links - before.links, self._sense.leads),
        ):
            for target in targets:
                path = lead(target.partition("#")[0], now.path)
                if path is not None and path in self._paths:
                    found[target] = self._paths[path]
        return found


ACTOR = "links"
"""Who rewrites links, in the history."""
REASON = "a note that it links to moved"
Files: TypeAlias = Callable[[], Iterable[VaultPath]]
"""All files of the vault, whatever they are; asked for when they are needed."""


def sync_and_relink(
    mirror: Mirror,
    links: LinkIndex,
    request: Request | None = None,
    *,
    files: Files = tuple,
    progress: Progress | None = None,
) -> Report:
    """One pass, and the links to the notes that it found moved: one run, one report.

    Raises: as `sync()`.
    """
    report = sync(mirror, request, progress=progress)
    if report.dry_run or not report.counts["moved"]:
        return report
    return relink(mirror, links, report, files=files, progress=progress)


def relink(
    mirror: Mirror,
    links: LinkIndex,
    report: Report,
    *,
    files: Files = tuple,
    progress: Progress | None = None,
) -> Report:
    """Rewrite the links to the notes that a pass moved; the report of both.

    An index that cannot be asked now leaves the links to `links check --fix`.

    Raises: as `sync()`.
    """
    sense = shifted(mirror, report.run, files)
    if not sense.shift.moved:
        return report
    relink_conflict_notes(mirror, sense.shift.moved, sense.turner)
    try:
        catch_up(mirror, links)
        named = _linking(mirror, links, sense)
    except (DerivedError, StoreUnavailableError, OSError):
        return report
    done = respell(
        mirror,
        named,
        sense,
        reason=REASON,
        actor=ACTOR,
        after=report,
        progress=progress,
    )
    return done or report


@dataclass(frozen=True, slots=True)
class _Moves:
    """What links meant before a run, and what they mean now."""

    shift: Shift

    def turner(self, path: VaultPath) -> Turner:
        return self.shift.turner(path)

    def led(self, target: str, path: VaultPath) -> VaultPath | None:
        was = self.shift.before.resolve(target, self.shift.source(path))
        return self.shift.moved.get(was, was) if was is not None else None

    def leads(self, target: str, path: VaultPath) -> VaultPath | None:
        return self.shift.now.resolve(target, path)


def shifted(mirror: Mirror, run: str, files: Files) -> _Moves:
    """What a run moved, from its history, among all files of the vault."""
    now = set(vault_notes(mirror)) | set(files())
    before = set(now)
    moved: dict[VaultPath, VaultPath] = {}
    for entry in mirror.archive.history(run=run):
        if entry.field == "path":
            old, new = VaultPath(str(entry.before)), VaultPath(str(entry.after))
            moved[old] = new
        elif entry.field in ("note", "fact") and isinstance(entry.after, str):
            before.discard(VaultPath(entry.after))
        elif entry.field == "note" and isinstance(entry.before, dict):
            before.add(VaultPath(str(entry.before.get("path"))))
    before = (before - set(moved.values())) | set(moved)
    return _Moves(Shift(Names.of(before), Names.of(now), moved))


def vault_notes(mirror: Mirror) -> list[VaultPath]:
    """All notes of the vault, those of nobody too."""
    return [
        path_in(folder.path, name)
        for folder in mirror.vault.scan().folders.values()
        for name in folder.files
    ]


def _linking(mirror: Mirror, links: LinkIndex, sense: _Moves) -> set[str]:
    """The facts with a link that means something else now."""
    moved = sense.shift.moved
    bases = mirror.archive.paths()
    ids = {bases[path] for path in moved.values() if path in bases}
    found = links.links_to([*moved, *moved.values()])
    for fact_id in ids:
        found += links.links_from(fact_id)
    paths = {fact_id: path for path, fact_id in bases.items()}
    turners: dict[str, Turner] = {}
    named = set()
    for reference in found:
        path = paths.get(reference.fact_id)
        if path is None or reference.fact_id in named:
            continue
        turner = turners.setdefault(reference.fact_id, sense.turner(path))
        if turner(_as_link(reference)) is not None:
            named.add(reference.fact_id)
    # Lines under Related Facts stand for ids: only the note tells what they say.
    related = links.links_to(ids)
    return named | {each.fact_id for each in related if each.key == RELATED}


def _as_link(reference: Reference) -> Link:
    kind = MARKDOWN if reference.kind == MARKDOWN else WIKI
    return Link(reference.target, reference.subpath, None, False, 0, 0, kind)  # noqa: FBT003 - no embed
