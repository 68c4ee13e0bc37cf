"""Rewrite the links to notes that moved, as Obsidian does for renames of its own.

Other editors do not rewrite links when a note is renamed, nor does Obsidian while closed.

Links are rewritten by a sync run of its own: the store's revision is checked, and the note
is exchanged with a look at what it displaced, as in any merge. A fact that changed in the
meantime is merged first, and its links are rewritten in the next round.

Canvases are the user's: only the texts that link to a moved note change, by a checked exchange. The
former bytes are kept for undo.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from msgspec import structs

from vaultsync.errors import (
    DerivedError,
    GuardError,
    NoteChangedError,
    NoteError,
    StoreUnavailableError,
)
from vaultsync.links.canvas import read_canvas, retarget_canvas
from vaultsync.links.index_sync import update_link_index
from vaultsync.links.ports import LinkIndex
from vaultsync.links.rewrite import MovedFiles, RetargetLink, rewrite_note_links
from vaultsync.links.wikilinks import MARKDOWN_LINK, WIKI_LINK, Link, LinkResolver, is_linkable
from vaultsync.model.compare import differing_keys
from vaultsync.model.counts import count_noun
from vaultsync.model.paths import VaultPath, file_name_of
from vaultsync.model.schema import RELATED_KEY, Value
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import Note, read_note
from vaultsync.storage.archive import CANVAS_FIELD, HistoryEntry, Notice
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.changes import StoreChange
from vaultsync.sync.conflicts import rewrite_review_note_links
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind, PlannedAction
from vaultsync.sync.finish import action_taken
from vaultsync.sync.identity import Case
from vaultsync.sync.planning import SyncRun, plan_case
from vaultsync.sync.report import ActionTaken, Progress, Report, counted, counts_of, notices_of
from vaultsync.sync.review_notes import exchange_file
from vaultsync.sync.run import preview_run, record_events, record_run, sync_once
from vaultsync.sync.snapshot import parts_by_folder
from vaultsync.sync.sync_request import SyncRequest

_log = logging.getLogger(__name__)

NOTES_IN_MEMORY = 1_000
"""Maximum number of notes per batch; a larger folder is one batch."""
MAX_REWRITE_ROUNDS = 3
"""Maximum number of tries for notes that others are writing."""
LINKS_ACTOR = "links"
"""The actor of rewritten links in the history."""
RELINK_REASON = "a note that it links to moved"
VaultFiles: TypeAlias = Callable[[], Iterable[VaultPath]]
"""Lists all files of the vault, notes and attachments; called when they are needed. One that lists
none is for a vault that has only notes."""


class LinkTargets(NamedTuple):
    """The old and the new targets of links."""

    retarget: Callable[[VaultPath], RetargetLink]
    """Retargets the links of the note at a path."""
    before: Callable[[str, VaultPath], VaultPath | None]
    """The current path of the file that a link in the note at a path led to before."""
    now: Callable[[str, VaultPath], VaultPath | None]
    """The file that a link in the note at a path leads to now."""


def rewrite_note_links_of(
    ctx: SyncContext,
    fact_ids: Iterable[str],
    targets: LinkTargets,
    *,
    reason: str,
    after: Report | None = None,
    progress: Progress | None = None,
) -> Report | None:
    """Rewrite the links in the notes of facts, as part of the run that reported `after`.

    Returns: the report, which gives the reason; None if there was nothing to rewrite.

    Raises: as `sync_once()`.
    """
    named = set(fact_ids)
    total = after
    for _ in range(MAX_REWRITE_ROUNDS):
        rewriter = LinkRewriter(targets, reason)
        for part in _parts(ctx, named):
            request = SyncRequest.for_facts(part, "links", actor=LINKS_ACTOR, after=total)
            report = sync_once(ctx, request, plan=rewriter.plan, progress=progress)
            if not report.quiet:
                total = report
        named.intersection_update(rewriter.later)
    return total if total is not after else None


def _parts(ctx: SyncContext, fact_ids: Collection[str]) -> Iterator[list[str]]:
    """The facts in batches of folders, because every note may link to a hub."""
    ids = {path: fact_id for fact_id, path in ctx.archive.note_paths(fact_ids).items()}
    for paths in parts_by_folder(ids, NOTES_IN_MEMORY):
        yield sorted(ids[path] for path in paths)


class LinkRewriter:
    """Plans by the decision table, and rewrites links if that has nothing to do."""

    def __init__(
        self, targets: LinkTargets, reason: str, ids: Mapping[VaultPath, str] | None = None
    ) -> None:
        self._targets = targets
        self._reason = reason
        self._facts = ids
        """By the paths of their notes; None before they are needed."""
        self.later: list[str] = []
        """Facts that needed another action first."""

    def plan(self, case: Case, work: SyncRun) -> PlannedAction:
        """The action of the decision table, or else the rewritten note."""
        action = plan_case(case, work)
        if action.do is not ActionKind.NOTHING:
            self.later.append(case.fact_id)
            return action
        is_settled = case.base is not None and case.store.change is StoreChange.UNCHANGED
        note = case.vault.note if is_settled else None
        return action if note is None else self.rewritten(action, note, work.ctx)

    def rewritten(self, action: PlannedAction, note: Note, ctx: SyncContext) -> PlannedAction:
        """The action that rewrites the links of a note; the given one if it has none of them."""
        base = action.base
        assert base is not None  # noqa: S101 - the caller asked
        try:
            text = rewrite_note_links(note.parts.text, note.path, self._targets.retarget(note.path))
            if text == note.parts.text:
                return action
            now = read_note(text.encode(), note.path)
            now = ctx.view.from_note(now, base, before=note)
        except NoteError:
            return action  # `links check` still reports the link
        fact = apply_note_edits(base, note, now, ids=self._ids(note, now, ctx))
        fields = differing_keys(base, fact)
        return action.evolve(
            do=ActionKind.MERGE if fields else ActionKind.UPDATE_VAULT,
            reason=self._reason,
            vault=base,
            merged=fact,
            fields=fields,
            text=text.encode(),
        )

    def _ids(self, before: Note, now: Note, ctx: SyncContext) -> Mapping[str, str]:
        """The facts that links under Related Facts led to before, and lead to now."""
        if self._facts is None:
            self._facts = ctx.archive.paths()
        ids_by_target = {}
        for links, resolve in (
            (before.links - now.links, self._targets.before),
            (now.links - before.links, self._targets.now),
        ):
            for target in links:
                path = resolve(target.partition("#")[0], now.path)
                if path is not None and path in self._facts:
                    ids_by_target[target] = self._facts[path]
        return ids_by_target


def sync_and_relink(
    ctx: SyncContext,
    links: LinkIndex,
    request: SyncRequest | None = None,
    *,
    files: VaultFiles = tuple,
    progress: Progress | None = None,
) -> Report:
    """One sync run that also rewrites the links to the notes that it found moved.

    While the link index cannot be used, the links are left to `links check --fix`.

    Raises: as `sync_once()`.
    """
    if request is not None and request.dry_run:
        return _preview(ctx, links, request, files, progress)
    report = sync_once(ctx, request, progress=progress)
    if not report.counts["moved"]:
        return report
    moves, ids = moved_files(ctx, report.run, files), ctx.archive.paths()
    fact_ids = _linking(ctx, links, moves, ids)
    if request is not None and request.is_partial and _have_notes_gone(ctx, fact_ids or ()):
        report = _with_other_moves(ctx, request, report, progress)
        moves, ids = moved_files(ctx, report.run, files), ctx.archive.paths()
        fact_ids = _linking(ctx, links, moves, ids)
    rewrite_review_note_links(ctx, moves.moved, moves.retarget)
    request = request or SyncRequest()
    actions = relink_canvases(ctx, moves, ids, replace(request, run=report.run, actor=LINKS_ACTOR))
    if actions:
        counts = counted(Counter(report.counts) + counts_of(actions))
        report = structs.replace(report, counts=counts, actions=[*report.actions, *actions])
        record_run(ctx, request, report)
    if fact_ids is None:
        return report
    notices = _unlinkable_names(links, moves, ids)
    relinked = rewrite_note_links_of(
        ctx, fact_ids, _targets(moves), reason=RELINK_REASON, after=report, progress=progress
    )
    if relinked is None and not notices:
        return report
    report = relinked or report
    report = structs.replace(report, attention=[*report.attention, *notices_of(notices)])
    record_run(ctx, request, report)  # as what it is, not as a run of links
    return report


def _targets(moves: MovedFiles) -> LinkTargets:
    return LinkTargets(moves.retarget, moves.target_before, moves.target_now)


def _preview(
    ctx: SyncContext,
    links: LinkIndex,
    request: SyncRequest,
    files: VaultFiles,
    progress: Progress | None,
) -> Report:
    """The report of a dry run, with the links that the run would rewrite."""
    work, report = preview_run(ctx, request, progress=progress)
    moved, waiting = dict[VaultPath, VaultPath](), dict[VaultPath, VaultPath]()
    for each in work.actions:
        if each.moved and each.base is not None and each.base.path and each.path:
            moved[each.base.path] = each.to or each.path
            waiting[each.path] = each.to or each.path
    if not moved:
        return report
    now = {waiting.get(path, path) for path in _all_files(ctx, files)}
    before = (now - set(moved.values())) | set(moved)
    moves = MovedFiles(LinkResolver.of(before), LinkResolver.of(now), moved)
    ids = {moved.get(path, path): fact_id for path, fact_id in ctx.archive.paths().items()}
    fact_ids = _linking(ctx, links, moves, ids) or set()
    former = {to: path for path, to in waiting.items()}
    rewriter = LinkRewriter(_targets(moves), RELINK_REASON, ids)
    bases = ctx.archive.find_bases(fact_ids)
    actions = relink_canvases(ctx, moves, ids)
    for path, fact_id in ids.items():
        file = ctx.find_file(former.get(path, path)) if fact_id in bases else None
        if file is None:
            continue
        base = bases[fact_id].fact.evolve(path=path)
        with suppress(NoteError):  # it keeps its links
            note = ctx.view.from_note(read_note(file.data, path), base)
            nothing = PlannedAction(ActionKind.NOTHING, fact_id, "", path, base=base)
            action = rewriter.rewritten(nothing, note, ctx)
            if action is not nothing:
                actions.append(action_taken(action))
    counts = Counter(report.counts) + counts_of(actions)
    done = {each.fact_id for each in report.actions if each.counted}
    counts["unchanged"] -= len({each.fact_id for each in actions} - done)
    return structs.replace(
        report,
        counts=counted(counts),
        actions=[*report.actions, *actions],
        attention=[*report.attention, *notices_of(_unlinkable_names(links, moves, ids))],
    )


def _unlinkable_names(
    links: LinkIndex, moves: MovedFiles, ids: Mapping[VaultPath, str]
) -> list[Notice]:
    """Notices of moved notes whose new names no wiki-link can hold, if other notes link to them."""
    notices = []
    paths: dict[str, VaultPath] = {}
    for old, new in moves.moved.items():
        if is_linkable(file_name_of(new)):
            continue
        paths = paths or {fact_id: path for path, fact_id in ids.items()}
        moved_ids = [fact_id for fact_id, path in paths.items() if path == new]
        linking = {x.fact_id for x in links.links_to(moved_ids) if x.key == RELATED_KEY}
        linking |= {
            x.fact_id
            for x in links.links_to([old])
            if x.kind != MARKDOWN_LINK
            and x.fact_id in paths
            and moves.target_before(x.target, paths[x.fact_id]) == new
        }
        if linking:
            message = (
                f"{new}: the links to it in {count_noun(len(linking), 'note')} were not updated,"
                " because links cannot contain # ^ | [ ] or %%"
            )
            hint = "rename it without these characters, then run `vaultsync links check --fix`"
            notices.append(Notice("unlinkable_name", new, message, hint))
    return notices


def _have_notes_gone(ctx: SyncContext, fact_ids: Collection[str]) -> bool:
    """Whether the note of a fact is not where it was, or cannot be found there."""
    for path in ctx.archive.note_paths(fact_ids).values():
        try:
            if ctx.vault.stamp(path) is None:
                return True
        except NoteError:
            continue  # it is there, but is no regular file
    return False


def _with_other_moves(
    ctx: SyncContext, request: SyncRequest, report: Report, progress: Progress | None
) -> Report:
    """The report, completed by a run for the whole vault.

    Notes with links to a note that moved may have moved with it, where `request` did not look.
    Their links are rewritten only now, because the next run no longer knows of the first move.
    """
    rest = SyncRequest(request.kind, request.actor, after=report, being_saved=request.being_saved)
    try:
        whole = sync_once(ctx, rest, progress=progress)
    except GuardError as error:
        _log.debug("notes that moved elsewhere wait: %s", error)
        return report
    return report if whole.quiet else whole


def moved_files(ctx: SyncContext, run: str, files: VaultFiles) -> MovedFiles:
    """The notes that a run moved, by its history, among all files of the vault."""
    now = _all_files(ctx, files)
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
    return MovedFiles(LinkResolver.of(before), LinkResolver.of(now), moved)


def _all_files(ctx: SyncContext, files: VaultFiles) -> set[VaultPath]:
    """All files of the vault; where they are not listed, all notes, which are among them."""
    return set(files()) or set(list_vault_notes(ctx))


def list_vault_notes(ctx: SyncContext) -> list[VaultPath]:
    """All notes of the vault, including those that are no facts."""
    return [path for path, _ in ctx.vault.scan().notes()]


def _linking(
    ctx: SyncContext, links: LinkIndex, targets: MovedFiles, ids: Mapping[VaultPath, str]
) -> set[str] | None:
    """The facts with a link that resolves differently now; None if the index cannot be used."""
    try:
        update_link_index(ctx.redacted_store, links)
        return _find_linking(links, targets, ids)
    except (DerivedError, StoreUnavailableError, OSError) as error:
        _log.warning("links to moved notes were not rewritten: %s", error)
        return None


def _find_linking(links: LinkIndex, targets: MovedFiles, ids: Mapping[VaultPath, str]) -> set[str]:
    moved = targets.moved
    moved_ids = {ids[path] for path in moved.values() if path in ids}
    references = links.links_to([*moved, *moved.values()])
    references += [each for fact_id in moved_ids for each in links.links_from(fact_id)]
    paths = {fact_id: path for path, fact_id in ids.items()}
    retargets: dict[str, RetargetLink] = {}
    linking = set()
    for reference in references:
        fact_id = reference.fact_id
        path = paths.get(fact_id)
        if path is None or fact_id in linking:
            continue
        retarget = retargets.setdefault(fact_id, targets.retarget(path))
        kind = MARKDOWN_LINK if reference.kind == MARKDOWN_LINK else WIKI_LINK
        target, subpath = reference.target, reference.subpath
        link = Link(target, subpath, None, embed=False, start=0, end=0, kind=kind)
        if retarget(link) is not None:
            linking.add(fact_id)
    # Links under Related Facts are indexed by fact id: only the note has their text.
    return linking | {each.fact_id for each in links.links_to(moved_ids) if each.key == RELATED_KEY}


_UPDATED = ActionKind.UPDATE_VAULT.value.replace(" ", "_")


def relink_canvases(
    ctx: SyncContext,
    moves: MovedFiles,
    ids: Mapping[VaultPath, str],
    request: SyncRequest | None = None,
) -> list[ActionTaken]:
    """Rewrite the links of all canvases to the notes that moved.

    A canvas that cannot be read, or is saved at this moment, keeps its links. `ids` are the facts
    of all notes, by their paths of now. Without a `request`, nothing is rewritten. Returns an
    action for each canvas that was, or would be, rewritten.
    """
    actions = []
    for path in ctx.vault.canvases():
        try:
            file = ctx.vault.read(path)
            text = file.data.decode()
            after = retarget_canvas(text, path, moves.moved, moves.retarget(path))
            if after == text:
                continue
            led = {
                moves.target_now(each.link.target, path) for each in read_canvas(after, path).links
            }
            moved = [to for to in moves.moved.values() if to in ids]
            fact_id = ids[next(filter(led.__contains__, moved), moved[0])]
            if request is not None:
                _rewrite_canvas(ctx, request, fact_id, path, file, data=after.encode())
        except (NoteError, UnicodeError, OSError) as error:
            _log.warning("%s: its links to moved notes were not rewritten: %s", path, error)
        else:
            actions.append(_canvas_action(fact_id, path, RELINK_REASON))
    return actions


def undo_canvases(
    ctx: SyncContext, entries: Iterable[HistoryEntry], request: SyncRequest
) -> tuple[list[ActionTaken], list[ActionTaken]]:
    """Give the canvases that a run rewrote their bytes back.

    Returns: an action for each canvas, and one for each that was changed since and is kept.
    """
    undone, conflicting = [], []
    for entry in entries:
        if entry.field != CANVAS_FIELD:
            continue
        (path, before), (_, after) = _place(entry.before), _place(entry.after)
        file, data = ctx.find_file(path), ctx.archive.blob(before)
        try:
            if file is None or data is None or file.sha != after:
                raise NoteChangedError(path)
            _rewrite_canvas(ctx, request, entry.fact_id, path, file, data=data)
        except NoteError:
            why = "it was changed since, and is kept"
            conflicting.append(ActionTaken("keep", entry.fact_id, path, (), why))
        else:
            undone.append(_canvas_action(entry.fact_id, path, "undone"))
    return undone, conflicting


def _rewrite_canvas(
    ctx: SyncContext,
    request: SyncRequest,
    fact_id: str,
    path: VaultPath,
    file: NoteFile,
    *,
    data: bytes,
) -> None:
    """Replace a canvas that is as it was read, and record that under the fact that moved."""
    exchange_file(ctx, f"canvas-{ctx.clock.new_id()}", path, file, data)
    before, after = ({"path": path, "sha": x} for x in (file.sha, sha256(data).hexdigest()))
    record_events(ctx, request, [(fact_id, CANVAS_FIELD, before, after)])


def _canvas_action(fact_id: str, path: VaultPath, reason: str) -> ActionTaken:
    return ActionTaken(_UPDATED, fact_id, path, (), reason, ("updated_in_vault",))


def _place(value: Value) -> tuple[VaultPath, str]:
    """The path and the sha of a canvas, as the history has them."""
    assert isinstance(value, dict)  # noqa: S101 - `_Rewriting` wrote it
    return VaultPath(str(value["path"])), str(value["sha"])
