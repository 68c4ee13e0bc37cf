"""After the plan: the cursor, what waits, and which folders need no second look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.paths import VaultPath, name_of, parent
from vaultsync.storage.archive import Attention
from vaultsync.storage.store import Written
from vaultsync.storage.vault import Folder, Stamp
from vaultsync.sync.decision_table import Do
from vaultsync.sync.item import Outcome
from vaultsync.sync.pass_types import Pass
from vaultsync.sync.planning import waits
from vaultsync.sync.preconditions import NEWEST, row
from vaultsync.sync.snapshot import path_in, trusted


def record_gone(work: Pass) -> None:
    """Remember which notes were seen to be gone, before others may have their places.

    Two bases at one path would be one too many to look for, should the pass end early.
    So would that of a note which lies elsewhere twice, or cannot be read there.
    """
    mirror, who = work.mirror, work.who
    twins = mirror.archive.find_bases(who.twins).values()
    places = [x for x in twins if not work.found.blind(x.path)]
    frozen = mirror.archive.find_bases(who.frozen)
    places += [
        base
        for fact_id, base in frozen.items()
        if base.path in work.found.seen and who.frozen[fact_id].path != base.path
    ]
    gone = [
        base._replace(missing_since=mirror.now())
        for base in (*who.gone.values(), *places)
        if base.missing_since is None and not work.found.partial
    ]
    if gone:
        with mirror.archive.transaction():
            mirror.archive.put_bases(gone)


def record_pass(work: Pass, outcome: Outcome) -> None:
    """Move the cursor, remember what waits, and which folders need no second look."""
    archive = work.mirror.archive
    waiting = dict.fromkeys([*waits(work.plan.actions), *outcome.waiting])
    if work.found.partial or work.feed is None:
        # Not everything was looked at: what waited before waits on.
        decided = _decided(work) if work.request.folders is not None else frozenset()
        waited = (archive.setting("waiting") or "").split()
        waiting = dict.fromkeys([*(x for x in waited if x not in decided), *waiting])
    settings = {"waiting": " ".join(waiting) or None}
    if not work.found.partial:
        settings["stopped_run"] = None  # what the guard stopped was a whole pass
    seen = [*(work.feed or ()), *_our_own(work, outcome)]
    if seen or (work.request.trust_store and work.feed is not None):
        settings["cursor"] = str(seen[-1].seq) if seen else None
        settings["cursor_row"] = seen[-1].revision if seen else None
        if work.request.trust_store:
            settings[NEWEST] = row(seen[-1].seq, seen[-1].revision) if seen else None
    settings = {k: v for k, v in settings.items() if archive.setting(k) != v}
    folders = _folders(work, outcome)
    notices = changed_notices(work, outcome)
    done = {action.fact_id for action in outcome.done}
    fresh = [base for base in work.found.fresh if base.fact.id not in done]
    if not (settings or folders or notices or fresh):
        return
    with archive.transaction():
        archive.put_bases(fresh)
        archive.set_folders(folders)
        for key, value in settings.items():
            archive.set_setting(key, value)
        for path, listed in notices.items():
            archive.set_attention(path, listed)


def _decided(work: Pass) -> frozenset[str]:
    """The facts that this pass looked at, on both sides."""
    return frozenset(case.fact_id for case in work.cases)


def _our_own(work: Pass, outcome: Outcome) -> list[Written]:
    """The rows that this pass wrote itself, as far as nobody else wrote between them."""
    if work.feed is None or work.request.only_named or not outcome.revisions:
        return []
    since = work.feed[-1].seq if work.feed else work.since
    try:
        rows = work.mirror.store.feed(since)
    except StoreUnavailableError:
        return []
    return list(takewhile(lambda row: row.revision in outcome.revisions, rows))


def _folders(work: Pass, outcome: Outcome) -> dict[VaultPath, bytes | None]:
    """The fingerprints of the folders in which everything is settled now."""
    mirror = work.mirror
    unsettled = {
        parent(s.path)
        for s in work.found.seen.values()
        # What could not be opened can be given free without a change of the file.
        if not s.settled or (s.trouble is not None and not s.file.sha)
    }
    unsettled |= {parent(base.path) for base in work.who.gone.values()}
    # Whose note it is may be told by what happens in another folder.
    unsettled |= {parent(s.path) for files in work.who.twins.values() for s in files}
    waiting = set(outcome.waiting)
    for action in work.plan.actions:
        if action.do in (Do.WAIT, Do.ATTEND) or action.fact_id in waiting:
            base = action.base.path if action.base else None
            places = (action.to, action.path, base)
            unsettled |= {parent(path) for path in places if path}
    if work.state is None:
        # What a person said in conflict notes has to be heard when the store is back.
        said = {parent(path) for path in work.found.conflict_notes}
        paths = [c.conflict_path for c in mirror.archive.conflicts()]
        unsettled |= said | {parent(path) for path in paths if path}
    found: dict[VaultPath, bytes | None] = {}
    known = mirror.archive.folders()
    recorded = {base.path: base.stamp for base in work.found.fresh}
    recorded.update(outcome.stamps)
    names: defaultdict[VaultPath, set[str]] = defaultdict(set)
    for path in recorded:
        names[parent(path)].add(name_of(path))
    for path in {*work.found.dirty, *outcome.touched}:
        folder = (
            mirror.vault.folder(path)
            if path in outcome.touched
            else work.found.dirty[path]
        )
        settled = (
            folder is not None
            and path not in unsettled
            and names[path] <= folder.files.keys()  # none went as soon as it was made
            and _all_known(work, folder, recorded, outcome.removed)
        )
        found[path] = folder.fingerprint if settled and folder else b""
    for path in known:
        if path not in work.found.scan.folders and not work.found.blind(path):
            found[path] = b"" if path in unsettled else None
    return {p: mark for p, mark in found.items() if known.get(p) != mark}


def _all_known(
    work: Pass,
    folder: Folder,
    recorded: Mapping[VaultPath, Stamp | None],
    removed: AbstractSet[VaultPath],
) -> bool:
    """Whether a folder holds what was seen in it, but for what this pass did there."""
    before = work.found.scan.folders.get(folder.path)
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
            folder.path in work.found.dirty
            and path not in work.found.known
            and trusted(stamp, work.found.scan.at_ns) is None
        ):
            # Seen, but perhaps in the same tick of the clock in which it changes again.
            return False
    return True


def changed_notices(
    work: Pass, outcome: Outcome | None = None
) -> dict[VaultPath, list[Attention]]:
    """What is to be remembered as waiting for a person, where that differs.

    What was said of a note goes along when the pass moved it, and with it when the pass
    took it away.
    """
    outcome = outcome or Outcome()
    moved = {action.path: action.to for action in outcome.done if action.to}
    old: dict[VaultPath, list[Attention]] = {}
    for each in work.mirror.archive.attention():
        old.setdefault(each.path, []).append(each)
    new: dict[VaultPath, list[Attention]] = {}
    for each in work.plan.notices:
        if each.kind in LASTING:
            new.setdefault(each.path, []).append(each)
    as_agreed = {*work.found.known, *(base.path for base in work.found.fresh)}
    after: dict[VaultPath, list[Attention]] = {}
    for path in {*old, *new}:
        said, to = new.get(path, []), moved.get(path)
        if path in as_agreed and not said:
            # It was read once, so it can be; what was wrong in it then still is.
            said = [each for each in old[path] if each.kind not in DENIED]
        elif not said and not _looked_at(work, path):
            said = old[path]
        if to:
            after[to] = [_said_of(each, to) for each in said]
        gone = path in outcome.removed or _went(work, path)
        after.setdefault(path, [] if gone else said)
    return {
        path: said
        for path, said in after.items()
        if _essence(old.get(path, [])) != _essence(said)
    }


def _said_of(notice: Attention, to: VaultPath) -> Attention:
    """A notice of a note that lies somewhere else now."""
    return notice._replace(path=to, message=notice.message.replace(notice.path, to, 1))


def _looked_at(work: Pass, path: VaultPath) -> bool:
    return path in work.found.seen or parent(path) in work.found.dirty


def _went(work: Pass, path: VaultPath) -> bool:
    """Whether nothing lies any more where something was warned about."""
    folder = work.found.scan.folders.get(parent(path))
    if folder is None:
        return not work.found.blind(path)
    return name_of(path) not in (*folder.files, *folder.odd)


LASTING = frozenset(
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
DENIED = frozenset({"unreadable", "odd", "twins"})
"""What is not true of a note that says what both sides agreed on."""


def _essence(notices: Sequence[Attention]) -> list[tuple[str, str, int | None]]:
    return sorted((n.kind, n.message, n.line) for n in notices)
