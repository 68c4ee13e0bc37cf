"""After the plan: the cursor, what waits, and which folders need no second look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder
from vaultsync.storage.archive import Notice
from vaultsync.storage.store import FeedRow
from vaultsync.storage.vault import FileStamp, FolderListing
from vaultsync.sync.decision_table import ActionKind
from vaultsync.sync.item import ApplyOutcome
from vaultsync.sync.pass_types import SyncRun
from vaultsync.sync.planning import waiting_facts
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, row_mark
from vaultsync.sync.snapshot import path_in, trusted_stamp


def record_absent(work: SyncRun) -> None:
    """Remember which notes were seen to be gone, before others may have their places.

    Two bases at one path would be one too many to look for, should the pass end early.
    So would that of a note which lies elsewhere twice, or cannot be read there.
    """
    ctx, who = work.ctx, work.identities
    twins = ctx.archive.find_bases(who.duplicate_ids).values()
    places = [x for x in twins if not work.snapshot.is_unreadable(x.path)]
    frozen = ctx.archive.find_bases(who.blocked)
    places += [
        base
        for fact_id, base in frozen.items()
        if base.path in work.snapshot.seen and who.blocked[fact_id].path != base.path
    ]
    gone = [
        base._replace(missing_since=ctx.now())
        for base in (*who.absent.values(), *places)
        if base.missing_since is None and not work.snapshot.is_partial
    ]
    if gone:
        with ctx.archive.transaction():
            ctx.archive.put_bases(gone)


def finish_run(work: SyncRun, outcome: ApplyOutcome) -> None:
    """Move the cursor, remember what waits, and which folders need no second look."""
    archive = work.ctx.archive
    waiting = dict.fromkeys([*waiting_facts(work.plan.actions), *outcome.waiting])
    if work.snapshot.is_partial or work.feed is None:
        # Not everything was looked at: what waited before waits on.
        decided = _decided(work) if work.request.folders is not None else frozenset()
        waited = (archive.setting("waiting") or "").split()
        waiting = dict.fromkeys([*(x for x in waited if x not in decided), *waiting])
    settings = {"waiting": " ".join(waiting) or None}
    if not work.snapshot.is_partial:
        settings["stopped_run"] = None  # what the guard stopped was a whole pass
    seen = [*(work.feed or ()), *_own_feed_rows(work, outcome)]
    if seen or (work.request.trust_store and work.feed is not None):
        settings["cursor"] = str(seen[-1].seq) if seen else None
        settings["cursor_row"] = seen[-1].revision if seen else None
        if work.request.trust_store:
            settings[HIGH_WATER_SETTING] = (
                row_mark(seen[-1].seq, seen[-1].revision) if seen else None
            )
    settings = {k: v for k, v in settings.items() if archive.setting(k) != v}
    folders = _folders(work, outcome)
    notices = changed_notices(work, outcome)
    done = {action.fact_id for action in outcome.done}
    fresh = [base for base in work.snapshot.restamped if base.fact.id not in done]
    if not (settings or folders or notices or fresh):
        return
    with archive.transaction():
        archive.put_bases(fresh)
        archive.set_folders(folders)
        for key, value in settings.items():
            archive.set_setting(key, value)
        for path, listed in notices.items():
            archive.set_notices(path, listed)


def _decided(work: SyncRun) -> frozenset[str]:
    """The facts that this pass looked at, on both sides."""
    return frozenset(case.fact_id for case in work.cases)


def _own_feed_rows(work: SyncRun, outcome: ApplyOutcome) -> list[FeedRow]:
    """The rows that this pass wrote itself, as far as nobody else wrote between them."""
    if work.feed is None or work.request.facts_only or not outcome.revisions:
        return []
    since = work.feed[-1].seq if work.feed else work.since
    try:
        rows = work.ctx.store.feed(since)
    except StoreUnavailableError:
        return []
    return list(takewhile(lambda row: row.revision in outcome.revisions, rows))


def _folders(work: SyncRun, outcome: ApplyOutcome) -> dict[VaultPath, bytes | None]:
    """The fingerprints of the folders in which everything is settled now."""
    ctx = work.ctx
    unsettled = {
        parent_folder(s.path)
        for s in work.snapshot.seen.values()
        # What could not be opened can be given free without a change of the file.
        if not s.is_settled or (s.read_error is not None and not s.file.sha)
    }
    unsettled |= {parent_folder(base.path) for base in work.identities.absent.values()}
    # Whose note it is may be told by what happens in another folder.
    unsettled |= {
        parent_folder(s.path) for files in work.identities.duplicate_ids.values() for s in files
    }
    waiting = set(outcome.waiting)
    for action in work.plan.actions:
        if action.do in (ActionKind.WAIT, ActionKind.NEEDS_REVIEW) or action.fact_id in waiting:
            base = action.base.path if action.base else None
            places = (action.to, action.path, base)
            unsettled |= {parent_folder(path) for path in places if path}
    if work.state is None:
        # What a person said in conflict notes has to be heard when the store is back.
        said = {parent_folder(path) for path in work.snapshot.conflict_notes}
        paths = [c.conflict_path for c in ctx.archive.conflicts()]
        unsettled |= said | {parent_folder(path) for path in paths if path}
    found: dict[VaultPath, bytes | None] = {}
    known = ctx.archive.folders()
    recorded = {base.path: base.stamp for base in work.snapshot.restamped}
    recorded.update(outcome.stamps)
    names: defaultdict[VaultPath, set[str]] = defaultdict(set)
    for path in recorded:
        names[parent_folder(path)].add(file_name_of(path))
    for path in {*work.snapshot.scanned_folders, *outcome.touched}:
        folder = (
            ctx.vault.folder(path)
            if path in outcome.touched
            else work.snapshot.scanned_folders[path]
        )
        settled = (
            folder is not None
            and path not in unsettled
            and names[path] <= folder.files.keys()  # none went as soon as it was made
            and _all_known(work, folder, recorded, outcome.removed)
        )
        found[path] = folder.fingerprint if settled and folder else b""
    for path in known:
        if path not in work.snapshot.scan.folders and not work.snapshot.is_unreadable(path):
            found[path] = b"" if path in unsettled else None
    return {p: mark for p, mark in found.items() if known.get(p) != mark}


def _all_known(
    work: SyncRun,
    folder: FolderListing,
    recorded: Mapping[VaultPath, FileStamp | None],
    removed: AbstractSet[VaultPath],
) -> bool:
    """Whether a folder holds what was seen in it, but for what this pass did there."""
    before = work.snapshot.scan.folders.get(folder.path)
    for name in before.files if before and before is not folder else ():
        if name not in folder.files and path_in(folder.path, name) not in removed:
            return False
    for name, stamp in folder.files.items():
        path = path_in(folder.path, name)
        if path in recorded:
            if recorded[path] != stamp:
                return False
        elif before is None or before.files.get(name) != stamp:
            return False
        elif (
            folder.path in work.snapshot.scanned_folders
            and path not in work.snapshot.known
            and trusted_stamp(stamp, work.snapshot.scan.at_ns) is None
        ):
            # Seen, but perhaps in the same tick of the clock in which it changes again.
            return False
    return True


def changed_notices(
    work: SyncRun, outcome: ApplyOutcome | None = None
) -> dict[VaultPath, list[Notice]]:
    """What is to be remembered as waiting for a person, where that differs.

    What was said of a note goes along when the pass moved it, and with it when the pass
    took it away.
    """
    outcome = outcome or ApplyOutcome()
    moved = {action.path: action.to for action in outcome.done if action.to}
    old: dict[VaultPath, list[Notice]] = {}
    for each in work.ctx.archive.notices():
        old.setdefault(each.path, []).append(each)
    new: dict[VaultPath, list[Notice]] = {}
    for each in work.plan.notices:
        if each.kind in LASTING_NOTICES:
            new.setdefault(each.path, []).append(each)
    as_agreed = {*work.snapshot.known, *(base.path for base in work.snapshot.restamped)}
    after: dict[VaultPath, list[Notice]] = {}
    for path in {*old, *new}:
        said, to = new.get(path, []), moved.get(path)
        if path in as_agreed and not said:
            # It was read once, so it can be; what was wrong in it then still is.
            said = [each for each in old[path] if each.kind not in RESOLVED_BY_AGREEMENT]
        elif not said and not _was_examined(work, path):
            said = old[path]
        if to:
            after[to] = [_notice_at(each, to) for each in said]
        gone = path in outcome.removed or _notice_path_gone(work, path)
        after.setdefault(path, [] if gone else said)
    return {
        path: said
        for path, said in after.items()
        if _notice_keys(old.get(path, [])) != _notice_keys(said)
    }


def _notice_at(notice: Notice, to: VaultPath) -> Notice:
    """A notice of a note that lies somewhere else now."""
    return notice._replace(path=to, message=notice.message.replace(notice.path, to, 1))


def _was_examined(work: SyncRun, path: VaultPath) -> bool:
    return path in work.snapshot.seen or parent_folder(path) in work.snapshot.scanned_folders


def _notice_path_gone(work: SyncRun, path: VaultPath) -> bool:
    """Whether nothing lies any more where something was warned about."""
    folder = work.snapshot.scan.folders.get(parent_folder(path))
    if folder is None:
        return not work.snapshot.is_unreadable(path)
    return file_name_of(path) not in (*folder.files, *folder.non_regular)


LASTING_NOTICES = frozenset(
    {
        "unreadable",
        "invalid_field",
        "scope_move",
        "foreign_id",
        "unknown_id",
        "twins",
        "odd",
    }
)
"""What stays true until somebody does something about it."""
RESOLVED_BY_AGREEMENT = frozenset({"unreadable", "odd", "twins"})
"""What is not true of a note that says what both sides agreed on."""


def _notice_keys(notices: Sequence[Notice]) -> list[tuple[str, str, int | None]]:
    return sorted((n.kind, n.message, n.line) for n in notices)
