"""Check the links of all notes and canvases, and fix those with only one possible target."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct, structs

from vaultsync.errors import NoteError, UnreadableNoteError
from vaultsync.links.canvas import PlacedLink, iter_canvases
from vaultsync.links.check import (
    ALIAS_ONLY,
    AMBIGUOUS,
    BROKEN,
    LinkSurvey,
    LinkTargetCheck,
    aliases_of,
)
from vaultsync.links.references import LinkAnchors, note_references
from vaultsync.links.rewrite import rewrite_links
from vaultsync.links.wikilinks import MARKDOWN_LINK, Link, LinkResolver
from vaultsync.markdown import frontmatter
from vaultsync.markdown.frontmatter import NoteParts
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes.body import read_body
from vaultsync.notes.kinds import MODULE_SOURCE_PREFIX
from vaultsync.notes.review_note import is_review_note
from vaultsync.operations.relink import (
    LinkTargets,
    VaultFiles,
    list_vault_notes,
    rewrite_note_links_of,
)
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

CANVAS_KIND = "canvas"
LINKS_CACHED = 8_192
"""Maximum number of links whose targets are kept: those of a folder name the same notes again and
again, and finding out why one is broken takes ten times as long as finding it here."""
FIX_REASON = "links with only one possible target were fixed"


class LinkProblem(Struct, frozen=True):
    """A broken or ambiguous link, or one that names only an alias."""

    path: VaultPath
    """Of the note or the canvas that contains it."""
    line: int
    """In the file, from 1."""
    link: str
    """As written."""
    kind: str
    """`wiki`, `markdown`, `embed`, `property` or `canvas`."""
    property: str | None
    """The property that contains it; None in the body."""
    why: str
    candidates: tuple[VaultPath, ...]
    """The notes that it leads to, or probably should."""
    fix: str | None
    """The fixed link; None if there is more than one possible target, or none."""


class LinkReport(Struct, frozen=True):
    """The result of a check of all links."""

    broken: tuple[LinkProblem, ...] = ()
    ambiguous: tuple[LinkProblem, ...] = ()
    alias_only: tuple[LinkProblem, ...] = ()
    fixed: tuple[LinkProblem, ...] = ()
    notes: int = 0
    tags: int = 0
    links: Mapping[str, Mapping[str, int]] = {}
    """Kind -> how links were resolved -> their number."""
    unreadable: tuple[VaultPath, ...] = ()
    """Notes that could not be read in full."""
    run: str | None = None
    """The run that fixed links; None if there was nothing to fix."""

    @property
    def by_kind(self) -> dict[str, tuple[LinkProblem, ...]]:
        """The problems of each kind: `broken`, `ambiguous`, `alias_only`."""
        return {BROKEN: self.broken, AMBIGUOUS: self.ambiguous, ALIAS_ONLY: self.alias_only}

    @property
    def problems(self) -> tuple[LinkProblem, ...]:
        """All problems, by path and line."""
        unsorted = (*self.broken, *self.ambiguous, *self.alias_only)
        return tuple(sorted(unsorted, key=lambda each: (each.path, each.line)))


def check_links(
    ctx: SyncContext,
    *,
    files: VaultFiles = tuple,
    agent: str | None = None,
    progress: Progress | None = None,
) -> LinkReport:
    """Check every link of every note, as Obsidian resolves it; changes nothing.

    For an agent, notes that it may not see do not exist.

    Raises:
        VaultMissingError: the vault cannot be listed.
    """
    return _LinkChecker(ctx, files, progress, agent).report()


def fixed_links_for(
    ctx: SyncContext, agent: str, report: LinkReport, *, files: VaultFiles = tuple
) -> LinkReport:
    """The part of a report of `fix_links()` that an agent may see, with the remaining problems."""
    view = AgentView(ctx, agent)
    fixed = tuple(
        each for each in report.fixed if all(map(view.sees_note, (each.path, *each.candidates)))
    )
    run = report.run if fixed else None
    return structs.replace(check_links(ctx, files=files, agent=agent), fixed=fixed, run=run)


def fix_links(
    ctx: SyncContext,
    *,
    files: VaultFiles = tuple,
    agent: str | None = None,
    progress: Progress | None = None,
) -> LinkReport:
    """Fix the links with only one possible target, in the notes of facts; then check again.

    An agent fixes those in notes of facts that it may write.

    Raises: as `sync_once()`.
    """
    check = _LinkChecker(ctx, files, progress)
    before = check.report()
    bases = ctx.archive.paths()
    denied = AgentView(ctx, agent).unwritable_facts({*bases.values()})
    fixable = [
        p
        for p in before.problems
        if p.fix is not None and p.path in bases and bases[p.path] not in denied
    ]
    if not fixable:
        return before
    resolve, fact_ids = check.survey.resolver.resolve, {bases[each.path] for each in fixable}
    fixes = LinkTargets(lambda path: lambda link: check.check(link, path).fix, resolve, resolve)
    run_report = rewrite_note_links_of(ctx, fact_ids, fixes, reason=FIX_REASON, progress=progress)
    after = _LinkChecker(ctx, files, progress).report()
    still = {(each.path, each.property, each.link) for each in after.problems}
    fixed = tuple(p for p in fixable if (p.path, p.property, p.link) not in still)
    return structs.replace(after, fixed=fixed, run=run_report.run if run_report else None)


class _CheckedNote(NamedTuple):
    """What is kept of a note: of all notes together, the texts would take much memory."""

    path: VaultPath
    properties: Sequence[tuple[str, Link]]
    links: Sequence[PlacedLink]
    above: str
    """The frontmatter without its last line, if a property has a link."""
    anchors: LinkAnchors
    tags: int
    aliases: list[str]
    title: str | None


def _body_links(parts: NoteParts, links: Iterable[Link]) -> list[PlacedLink]:
    above = (parts.head + parts.yaml + parts.fence).count("\n") + 1
    ends = [*accumulate(len(line) + 1 for line in parts.body.split("\n"))]
    return [
        PlacedLink(x, parts.body[x.start : x.end], above + bisect_right(ends, x.start))
        for x in links
    ]


class _LinkChecker:
    """One reading of all notes."""

    def __init__(
        self,
        ctx: SyncContext,
        files: VaultFiles,
        progress: Progress | None,
        agent: str | None = None,
    ) -> None:
        self._ctx = ctx
        self._view = AgentView(ctx, agent)
        self._redact = cache(ctx.view.redact_text)  # many links are the same
        self._check = lru_cache(LINKS_CACHED)(self._check_from)
        self._knows_moves = False
        self._progress = progress
        self._unreadable: list[VaultPath] = []
        self._of_modules = set[VaultPath]()
        paths = self._visible_paths(list_vault_notes(ctx))
        self._notes: list[_CheckedNote] = []
        for number, path in enumerate(sorted(paths)):
            if not is_review_note(path) and not self._read(path):
                paths.remove(path)
            if progress is not None:
                progress("links", number + 1, len(paths))
        anchors = {note.path: note.anchors for note in self._notes}
        self._canvases = [x for x in iter_canvases(ctx.vault) if self._visible_paths([x.path])]
        self.survey = LinkSurvey.of(
            [*paths, *self._visible_paths(files())],
            anchors,
            {note.path: note.aliases for note in self._notes},
            {note.path: [note.title] for note in self._notes if note.title},
        )

    def _visible_paths(self, paths: Iterable[VaultPath]) -> list[VaultPath]:
        sees_all = self._view.agent is None
        return [each for each in paths if sees_all or self._view.sees_note(each)]

    def _read(self, path: VaultPath) -> bool:
        """Read a note; returns whether the agent may see it."""
        try:
            text = self._ctx.vault.read(path).data.decode()
        except (NoteError, UnicodeDecodeError):
            self._unreadable.append(path)
            return True
        try:
            parts, properties = frontmatter.split_note(text, path)
        except UnreadableNoteError:
            # Obsidian then shows no properties, and everything else as usual.
            parts, properties = frontmatter.split_frontmatter(text), {}
            self._unreadable.append(path)
        if not self._view.sees_id(properties.get("id")):
            return False
        title, aliases = read_body(parts.body).title, aliases_of(properties)
        refs = note_references(parts.body, properties)
        above = parts.head + parts.yaml if refs.properties else ""
        links, tags = _body_links(parts, refs.links), len(refs.tags)
        self._notes.append(
            _CheckedNote(path, refs.properties, links, above, refs.anchors, tags, aliases, title)
        )
        if str(properties.get("source")).startswith(MODULE_SOURCE_PREFIX):
            self._of_modules.add(path)
        return True

    def check(self, link: Link, path: VaultPath) -> LinkTargetCheck:
        """Where a link in the note at a path leads, and the target that it should have.

        A relative link of a module starts at its file, which has the same text as the note and
        may be outside the vault.
        """
        place = f"{parent_folder(path)}/" if link.target else path
        found = self._check(
            link.target, link.subpath, link.kind, VaultPath(place), embed=link.embed
        )
        if found.problem and link.kind == MARKDOWN_LINK and path in self._of_modules:
            return LinkTargetCheck("relative to its file")
        return found

    def _check_from(
        self, target: str, subpath: str, kind: str, place: VaultPath, *, embed: bool
    ) -> LinkTargetCheck:
        """Where a link leads from its note, or, with a target, from any note in its folder."""
        link = Link(target, subpath, None, embed, 0, 0, kind)
        found = self.survey.check(link, place)
        if found.problem in (BROKEN, ALIAS_ONLY) and not self._knows_moves:
            # Only the history, which is large, knows where such a link led.
            self.survey, self._knows_moves = _with_history(self._ctx, self.survey, self._view), True
            found = self.survey.check(link, place)
        return found

    def report(self) -> LinkReport:
        tally: Counter[tuple[str, str]] = Counter()
        problems: dict[str, list[LinkProblem]] = {BROKEN: [], AMBIGUOUS: [], ALIAS_ONLY: []}
        for path, kind, key, placed in self._placed_links():
            resolution = self.check(placed.link, path)
            tally[kind, _resolution_text(resolution, placed.link)] += 1
            if resolution.problem:
                problem = self._problem(path, kind, key, placed, resolution)
                problems[resolution.problem].append(problem)
        links: dict[str, dict[str, int]] = {}
        for (kind, how), number in sorted(tally.items()):
            links.setdefault(kind, {})[how] = number
        return LinkReport(
            tuple(problems[BROKEN]),
            tuple(problems[AMBIGUOUS]),
            tuple(problems[ALIAS_ONLY]),
            notes=len(self._notes),
            tags=sum(note.tags for note in self._notes),
            links=links,
            unreadable=tuple(self._unreadable),
        )

    def _placed_links(self) -> Iterator[tuple[VaultPath, str, str | None, PlacedLink]]:
        """Each link with the path of its file, its kind and the property that contains it."""
        for note in self._notes:
            for key, link in note.properties:
                yield note.path, "property", key, _link_in_property(note, link)
            for placed in note.links:
                kind = "embed" if placed.link.embed else placed.link.kind
                yield note.path, kind, None, placed
        for canvas in self._canvases:
            for placed in canvas.links:
                yield canvas.path, CANVAS_KIND, None, placed

    def _problem(
        self,
        path: VaultPath,
        kind: str,
        key: str | None,
        placed: PlacedLink,
        resolution: LinkTargetCheck,
    ) -> LinkProblem:
        link, written, line = placed
        fix, target = written, resolution.fix
        if target is not None and kind != CANVAS_KIND:  # canvases are the user's
            fix = rewrite_links(
                written, lambda each: target if each.target == link.target else None
            )
        redact, candidates = self._redact, resolution.candidates
        why, shown_fix = redact(resolution.why), redact(fix) if fix != written else None
        return LinkProblem(path, line, redact(written), kind, key, why, candidates, shown_fix)


def _link_in_property(note: _CheckedNote, link: Link) -> PlacedLink:
    """A link in a property, whose position is not known, where its text is first found."""
    shown = f"|{link.alias}" if link.alias is not None else ""
    written = f"[[{link.target}{link.subpath}{shown}]]"
    at = max(note.above.find(written), note.above.find(link.target), 0)
    return PlacedLink(link, written, note.above.count("\n", 0, at) + 1)


def _resolution_text(resolution: LinkTargetCheck, link: Link) -> str:
    """How a link was resolved, in words for a table."""
    if resolution.problem and resolution.problem != AMBIGUOUS:
        return resolution.problem.replace("_", " ")
    if not link.subpath:
        return resolution.rule
    what = "block" if link.subpath.startswith("#^") else "heading"
    return f"{resolution.rule}, {what}"


def _with_history(ctx: SyncContext, survey: LinkSurvey, view: AgentView) -> LinkSurvey:
    """The survey with the former paths of notes, from the history."""
    paths = ctx.archive.paths().items()
    now = {fact_id: path for path, fact_id in paths if view.agent is None or view.sees_note(path)}
    former_ids: dict[VaultPath, set[str]] = {}
    for entry in ctx.archive.history():
        if entry.field == "path" and isinstance(entry.before, str):
            former_ids.setdefault(VaultPath(entry.before), set()).add(entry.fact_id)
    moved = {
        path: now[next(iter(fact_ids))]
        for path, fact_ids in former_ids.items()
        if len(fact_ids) == 1 and fact_ids <= now.keys()
    }
    return replace(survey, moved=moved, former=LinkResolver.of(moved))
