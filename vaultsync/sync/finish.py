"""The end of a run: its record in the archive, and its report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import takewhile

from msgspec.structs import replace

from vaultsync.errors import NoteError, StoreUnavailableError
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder
from vaultsync.notes.parse import read_note
from vaultsync.storage.archive import NOT_WRITTEN, RESOLVED_BY_AGREEMENT, Notice
from vaultsync.storage.store import FeedRow
from vaultsync.storage.vault import IGNORED, FolderListing, path_in
from vaultsync.sync.apply import ApplyOutcome
from vaultsync.sync.changes import StoreChange, VaultChange
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import DROPS_BASE, IDLE, ActionKind, PlannedAction, decide
from vaultsync.sync.notices import (
    COPY_NOTICE,
    FOREIGN_VALUES_SETTING,
    VOID_ANSWER,
    with_foreign_values,
)
from vaultsync.sync.planning import SyncRun
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, stopped_setting
from vaultsync.sync.report import REPORT_COUNTS, ActionTaken, Report, changed_facts, notices_of
from vaultsync.sync.snapshot import packed_stamp, trusted_stamp


def record_absent(work: SyncRun) -> None:
    """Record which notes are missing, before other notes may take their places.

    A run that ends early must not leave two bases at one path. The same applies to the base of
    a note that is in two other places, or unreadable in another place.
    """
    ctx, identities, snapshot = work.ctx, work.identities, work.snapshot
    if not (identities.absent or identities.duplicate_ids or identities.blocked):
        return
    missing = [*identities.absent.values()]
    if snapshot.is_partial:
        # A note may be elsewhere, but not where another one is.
        occupied = {a.to or a.path for a in work.actions if a.do is not ActionKind.WAIT}
        missing = [base for base in missing if base.path in occupied]
    elif identities.duplicate_ids:
        bases = ctx.archive.find_bases(identities.duplicate_ids)
        missing += [base for base in bases.values() if not snapshot.is_unreadable(base.path)]
    if identities.blocked and not snapshot.is_partial:
        bases = ctx.archive.find_bases(identities.blocked)
        missing += [
            base
            for fact_id, base in bases.items()
            if base.path in snapshot.seen and identities.blocked[fact_id].path != base.path
        ]
    new = [base._replace(missing_since=ctx.now()) for base in missing if not base.missing_since]
    if new:
        with ctx.archive.transaction():
            ctx.archive.put_bases(new)


def finish_run(work: SyncRun, outcome: ApplyOutcome) -> None:
    """Record the progress of the run: cursor, waiting facts, folders that need no further scan."""
    archive = work.ctx.archive
    settings = {k: v for k, v in _settings(work, outcome).items() if archive.setting(k) != v}
    # A run about some facts leaves their folders to the next scan, like a new note: listing
    # a large folder again costs more than the update of a note.
    folders = {} if work.request.facts_only else _folders(work, outcome)
    notices = changed_notices(work, outcome)
    restamped = work.snapshot.restamped
    if restamped and outcome.done:
        applied_ids = {action.fact_id for action in outcome.done}
        restamped = [each for each in restamped if each.fact_id not in applied_ids]
    if not (settings or folders or notices or restamped):
        return
    with archive.transaction():
        archive.put_stamps([each[1:] for each in restamped])
        archive.set_folders(folders)
        for key, value in settings.items():
            archive.set_setting(key, value)
        for path, listed in notices.items():
            archive.set_notices(path, listed)


def _settings(work: SyncRun, outcome: ApplyOutcome) -> dict[str, str | None]:
    """The settings that record where the next run begins."""
    waiting = dict.fromkeys(x.fact_id for x in work.actions if _needs_recheck(x))
    waiting |= dict.fromkeys(outcome.waiting)
    if work.snapshot.is_partial or not work.feed.is_available:
        # Facts that this run did not examine still wait.
        is_scan = work.request.folders is not None
        examined = {each.fact_id for each in work.actions} if is_scan else set()
        before = (work.ctx.archive.setting("waiting") or "").split()
        waiting = dict.fromkeys([*(x for x in before if x not in examined), *waiting])
    settings = {"waiting": " ".join(waiting) or None}
    if marks := with_foreign_values(work):
        settings[FOREIGN_VALUES_SETTING] = marks
    if not work.snapshot.is_partial:
        # The guard stops only whole runs.
        settings |= {"stopped_run": None, stopped_setting(work.request): None}
    rows = [*work.feed.rows, *_own_feed_rows(work, outcome)]
    is_rebuild = work.request.trust_store and work.feed.is_available
    if rows or is_rebuild:
        last = rows[-1] if rows else None
        settings["cursor"] = str(last.seq) if last else None
        settings["cursor_row"] = last.revision if last else None
        if is_rebuild:
            settings[HIGH_WATER_SETTING] = f"{last.seq} {last.revision}" if last else None
    return settings


def _needs_recheck(action: PlannedAction) -> bool:
    """Whether the next run must examine a fact again."""
    if action.do is ActionKind.NEEDS_REVIEW:
        return (action.base, action.store) != (None, None)
    return action.do is ActionKind.WAIT and not action.new_id


def _own_feed_rows(work: SyncRun, outcome: ApplyOutcome) -> list[FeedRow]:
    """The rows that this run wrote itself, up to the first that another process wrote."""
    feed = work.feed
    if not outcome.revisions or work.request.facts_only or not feed.is_available:
        return []
    since = feed.rows[-1].seq if feed.rows else feed.since
    try:
        rows = work.ctx.store.feed(since)
    except StoreUnavailableError:
        return []
    return list(takewhile(lambda row: row.revision in outcome.revisions, rows))


def _folders(work: SyncRun, outcome: ApplyOutcome) -> dict[VaultPath, bytes | None]:
    """The new fingerprints of folders; empty for folders that must be scanned again."""
    ctx, snapshot = work.ctx, work.snapshot
    changed = {*snapshot.scanned_folders, *outcome.touched}
    if not (changed or snapshot.gone_folders):
        return {}
    unsettled = _unsettled_folders(work, outcome)
    recorded = {x.path: packed_stamp(x.stamp) for x in snapshot.restamped}
    recorded |= outcome.stamps
    names: defaultdict[VaultPath, set[str]] = defaultdict(set)
    for path in recorded:
        names[parent_folder(path)].add(file_name_of(path))
    marks: dict[VaultPath, bytes | None] = {}
    for path in changed:
        is_touched = path in outcome.touched
        folder = ctx.vault.folder(path) if is_touched else snapshot.scanned_folders[path]
        settled = (
            folder is not None
            and path not in unsettled
            and names[path] <= folder.files.keys()  # no new note was removed immediately
            and _is_unchanged_by_others(work, folder, recorded, outcome.removed)
        )
        marks[path] = folder.fingerprint if settled and folder else b""
    for path in snapshot.gone_folders:
        marks[path] = b"" if path in unsettled else None
    previous = ctx.archive.folders()
    return {path: mark for path, mark in marks.items() if previous.get(path) != mark}


def _unsettled_folders(work: SyncRun, outcome: ApplyOutcome) -> set[VaultPath]:
    """Folders that must be scanned again even if they do not change."""
    paths: list[VaultPath] = [
        each.path
        for each in work.snapshot.seen.values()
        # A file that cannot be opened may become readable without a change of the file.
        if not each.is_settled or (each.read_error is not None and not each.file.sha)
    ]
    paths += [each.path for each in work.notices if each.kind == VOID_ANSWER]
    paths += [base.path for base in work.identities.absent.values()]
    paths += [path for path, why in work.snapshot.non_regular.items() if why == IGNORED]
    # Events in another folder may decide whose note it is.
    paths += [s.path for files in work.identities.duplicate_ids.values() for s in files]
    waiting = set(outcome.waiting)
    for action in work.actions:
        if action.do in (ActionKind.WAIT, ActionKind.NEEDS_REVIEW) or action.fact_id in waiting:
            base = action.base.path if action.base else None
            paths += [path for path in (action.to, action.path, base) if path]
    if not work.feed.is_available:
        # Resolutions in conflict notes have to be read once the store is available.
        paths += work.snapshot.review_notes
        open_notes = [x.conflict_path for x in work.ctx.archive.conflicts()]
        paths += [path for path in open_notes if path]
    return {parent_folder(path) for path in paths}


def _is_unchanged_by_others(
    work: SyncRun,
    folder: FolderListing,
    recorded: Mapping[VaultPath, bytes | None],
    removed: AbstractSet[VaultPath],
) -> bool:
    """Whether a folder is as the scan found it, apart from this run's own changes."""
    before = work.snapshot.scan.folders.get(folder.path)
    for name in before.files if before and before is not folder else ():
        if name not in folder.files and path_in(folder.path, name) not in removed:
            return False
    for name, stamp in folder.files.items():
        path = path_in(folder.path, name)
        if path in recorded:
            if recorded[path] != packed_stamp(stamp):
                return False
        elif before is None or before.files.get(name) != stamp:
            return False
        elif (
            folder.path in work.snapshot.scanned_folders
            and path not in work.snapshot.known
            and trusted_stamp(stamp, work.snapshot.scan.at_ns) is None
        ):
            # It was read, but may change again within the same clock tick.
            return False
    return True


def changed_notices(
    work: SyncRun, outcome: ApplyOutcome | None = None
) -> dict[VaultPath, list[Notice]]:
    """The new notices of each path for which they differ from the recorded ones.

    If the run moved a note, its notices move too; if it removed the note, they are removed.
    """
    outcome = outcome or ApplyOutcome()
    old: dict[VaultPath, list[Notice]] = {}
    valid: dict[VaultPath, list[Notice]] = {}
    """The notices in `old` that may still be true."""
    for each in work.ctx.archive.notices():
        old.setdefault(each.path, []).append(each)
        if each.kind != "invalid_field" or not _is_explained(work.ctx, each):
            valid.setdefault(each.path, []).append(each)
    new: dict[VaultPath, list[Notice]] = {}
    for each in (*work.notices, *outcome.notices, *_not_written_before(work, valid)):
        # Without a sha it is about a value that the note had when it was adopted.
        if each.kind in LASTING_NOTICES and (each.sha or each.kind != "invalid_field"):
            new.setdefault(each.path, []).append(each)
    if not (old or new):
        return {}
    snapshot = work.snapshot
    moved = {action.path: action.to for action in outcome.done if action.to}
    in_sync = {*snapshot.known, *(each.path for each in snapshot.restamped)}
    after: dict[VaultPath, list[Notice]] = {}
    for path in {*old, *new}:
        notices, to = new.get(path, []), moved.get(path)
        is_scanned = parent_folder(path) in snapshot.scanned_folders
        if path in in_sync and not notices:
            # An unchanged note is still readable, and still has its other defects.
            notices = [
                each for each in valid.get(path, ()) if each.kind not in RESOLVED_BY_AGREEMENT
            ]
        elif not notices and path not in snapshot.seen and not is_scanned:
            notices = valid.get(path, [])
        if to:
            after[to] = [
                each._replace(path=to, message=each.message.replace(path, to, 1))
                for each in notices
            ]
        is_waiting = any(each.kind == NOT_WRITTEN for each in new.get(path, ()))
        is_gone = not is_waiting and _notice_path_gone(work, path)
        is_removed = path in outcome.removed or is_gone
        after.setdefault(path, [] if is_removed else notices)
    return {
        path: notices
        for path, notices in after.items()
        if _notice_keys(old.get(path, [])) != _notice_keys(notices)
    }


def _not_written_before(
    work: SyncRun, valid: Mapping[VaultPath, Sequence[Notice]]
) -> Iterator[Notice]:
    """What a dry run knows of notes that cannot be written: the notices of what it would write."""
    if work.request.dry_run and valid:
        for path in {each.path for each in work.actions if each.do not in IDLE and each.path}:
            yield from (each for each in valid.get(path, ()) if each.kind == NOT_WRITTEN)


def _is_explained(ctx: SyncContext, notice: Notice) -> bool:
    """Whether the settings now define the word that a notice is about."""
    file = ctx.find_file(notice.path) if ctx.view.meanings else None
    if file is None:
        return False
    try:
        note = read_note(file.data, notice.path)
    except NoteError:
        return False
    return any(x.line == notice.line and ctx.view.explains(note, x.key) for x in note.problems)


def _notice_path_gone(work: SyncRun, path: VaultPath) -> bool:
    folder = work.snapshot.scan.folders.get(parent_folder(path))
    if folder is None:
        return not work.snapshot.is_unreadable(path)
    return file_name_of(path) not in (*folder.files, *folder.non_regular, *folder.copies)


LASTING_NOTICES = frozenset(
    {
        *("unreadable", "invalid_field", "scope_move", "foreign_id", "unknown_id", "twins", "odd"),
        *(COPY_NOTICE, NOT_WRITTEN),
    }
)
"""Kinds of notices that remain until the user acts on them."""


def _notice_keys(notices: Sequence[Notice]) -> list[tuple[str, str, int | None]]:
    return sorted((n.kind, n.message, n.line) for n in notices)


# -------------------------------------------------------------------------- report

_CONFIRM = (
    "if this is intended, run `vaultsync sync`: its error names the run for `vaultsync sync"
    " --confirm RUN`"
)


def make_report(
    work: SyncRun,
    applied: Sequence[PlannedAction],
    notices: Sequence[Notice],
    seconds: float,
    *,
    guarded: str | None = None,
    refused: Sequence[PlannedAction] = (),
) -> Report:
    """The report of a run (or dry run) that did `applied`, but not `refused`, with `notices`.

    `guarded` is the reason why the guard would stop the run, or None.
    """
    counts = dict.fromkeys(REPORT_COUNTS, 0)
    for action in applied:
        for name in action.counted:
            counts[name] += 1
    counts["unchanged"] = _count_unchanged(work, applied)
    recorded = work.ctx.archive.notices()
    if work.request.dry_run and recorded:
        outdated = changed_notices(work)
        recorded = [each for each in recorded if each.path not in outdated]
    lasting = {(n.kind, n.path, n.message): n for n in [*recorded, *work.notices, *notices]}
    attention = [*lasting.values()]
    if guarded:
        text = f"the guard would stop this run: {guarded}"
        attention.append(Notice("guard", VaultPath(""), text, _CONFIRM))
    actions = [action_taken(each) for each in applied if each.do is not ActionKind.NOTHING]
    if not work.request.dry_run:
        named = {notice.path for notice in notices}
        left = [each for each in work.actions if each.do is ActionKind.WAIT]
        left += [each for each in refused if each.path not in named]
        actions += [action_taken(each, done=False) for each in left]
    actions += work.settled
    if work.unchanged:  # at the end, because long reports are truncated
        row = decide(VaultChange.EQUAL, StoreChange.CREATED, base=False)
        name = _ACTION_NAMES[row.do]
        actions += [ActionTaken(name, x.id or "", x.path, (), row.reason) for x in work.unchanged]
    return Report(
        work.run, work.request.dry_run, round(seconds, 3), counts, actions, notices_of(attention)
    )


def _count_unchanged(work: SyncRun, applied: Sequence[PlannedAction]) -> int:
    """The number of facts whose notes are after the run as they were before."""
    notes, is_dry = work.ctx.archive.count_bases(), work.request.dry_run
    if is_dry:  # it recorded no bases, and dropped none
        recorded = (a for a in applied if a.do is ActionKind.RECORD and a.base is None)
        notes += len(work.unchanged) + len([*recorded])
    changed = {
        a.fact_id
        for a in applied
        if (a.do not in (*IDLE, ActionKind.RECORD) or a.moved)
        and (a.base is not None if is_dry else a.do not in DROPS_BASE)
    }
    return max(notes - len(changed), 0)


def join_reports(first: Report, second: Report) -> Report:
    """One report of two runs that belong together."""
    counts = {name: first.counts[name] + second.counts[name] for name in REPORT_COUNTS}
    changed = changed_facts(first.actions, dry_run=first.dry_run)
    repeated = {each.fact_id for each in second.actions if each.counted}
    counts["unchanged"] = max(second.counts["unchanged"] - len(changed - repeated), 0)
    notices = {(n.kind, n.path, n.message): n for n in (*first.attention, *second.attention)}
    return replace(
        second,
        seconds=round(first.seconds + second.seconds, 3),
        counts=counts,
        actions=[*first.actions, *second.actions],
        attention=[*notices.values()],
    )


_ACTION_NAMES = {each: each.value.replace(" ", "_") for each in ActionKind}


@cache
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """One tuple for all equal ones, because a report may have 100,000 of few."""
    return names


def action_taken(action: PlannedAction, *, done: bool = True) -> ActionTaken:
    """What the report says about an action that was `done`, or would be, and so is counted."""
    counted = _shared(action.counted) if done else ()
    name, path = _ACTION_NAMES[action.do], action.to or action.path
    return ActionTaken(name, action.fact_id, path, action.fields, action.reason, counted)
