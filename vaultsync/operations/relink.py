"""Links follow the notes they lead to, when a note moved and nobody rewrote them.

Obsidian rewrites links itself when a note is renamed in it. Other editors do not, nor
does it when it is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from vaultsync.errors.sides import StoreUnavailableError
from vaultsync.errors.work import DerivedError
from vaultsync.facts.linking import catch_up
from vaultsync.links.index_sync import RELATED
from vaultsync.links.ports import LinkIndex, Reference
from vaultsync.links.rewrite import Shift, Turner
from vaultsync.links.wikilinks import MARKDOWN, WIKI, Link, Names
from vaultsync.model.paths import VaultPath
from vaultsync.operations.respelling import respell
from vaultsync.sync.conflict_notes import relink_conflict_notes
from vaultsync.sync.context import Mirror
from vaultsync.sync.pass_types import Request
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import sync
from vaultsync.sync.snapshot import path_in

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
