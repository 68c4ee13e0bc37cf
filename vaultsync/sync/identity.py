"""Which file is the note of which fact, and one case per fact that may have changed.

A fact is identified by its id, across renames, copies and edits of the id itself. A case is
the triple of base, vault and store. Notes without an id (new ones, copies, notes to adopt)
become cases with a new id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from msgspec import convert

from vaultsync.errors import (
    ArchiveError,
    NoteError,
    NoteMissingError,
    StoreUnavailableError,
    UnreadableNoteError,
)
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import ConflictCopy, conflict_copy_of, likely_copy_of
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, path_info, path_key
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.kinds import is_module_file, is_table
from vaultsync.notes.parse import Note, id_in, read_note
from vaultsync.storage.archive import Base, Notice
from vaultsync.storage.store import FeedRow
from vaultsync.storage.vault import IGNORED, NOT_DOWNLOADED, OTHER_VAULT, path_in
from vaultsync.sync.changes import (
    StoreChange,
    StoreFeed,
    StoreSide,
    VaultChange,
    VaultSide,
    store_change,
    vault_change,
)
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import differing_user_fields, is_former, tombstone_path
from vaultsync.sync.note_links import linked_ids
from vaultsync.sync.report import ActionTaken
from vaultsync.sync.snapshot import ScannedFile, VaultSnapshot, is_managed_path, read_again


def is_note_back(ctx: SyncContext, base: Base) -> bool:
    """Whether a file at the note's former path could be the note of a fact."""
    try:
        file = ctx.vault.read(base.path)
        claims = read_note(file.data, base.path).id
    except NoteMissingError:
        return False
    except NoteError:
        claims = None
    return claims == base.fact.id or (claims is None and _may_be_note_of(ctx, base))


def absent_bases(ctx: SyncContext, bases: Iterable[Base]) -> list[Base]:
    """The new bases whose notes were missing and still are, marked as missing.

    A rebuild uses the last text of an unreadable note. If another note took its place, there
    must not be two bases at one path.
    """
    missing_paths = {base.fact.id: base.path for base in ctx.archive.missing_bases()}
    return [
        base._replace(missing_since=ctx.now())
        for base in bases
        if missing_paths.get(base.fact.id) == base.path and not is_note_back(ctx, base)
    ]


def displaced_bases(ctx: SyncContext, bases: Collection[Base]) -> list[Base]:
    """The bases, marked as missing, whose paths the notes of other new bases have taken.

    Of two bases at one path, a scan would compare only one with the file.

    Args:
        ctx: what the run works with.
        bases: the bases to be recorded; of two at one path, the later one keeps it.
    """
    owners = {base.path: base for base in bases if not base.missing_since}
    before = ctx.archive.paths_called(map(file_name_of, owners))
    others = {before[path] for path in before.keys() & owners.keys()}
    others -= {base.fact.id for base in bases}
    displaced = [*ctx.archive.find_bases(others).values()] if others else []
    displaced += [x for x in bases if not (x.missing_since or owners[x.path] is x)]
    return [base._replace(missing_since=ctx.now()) for base in displaced]


def _may_be_note_of(ctx: SyncContext, base: Base) -> bool:
    """Whether a file without an id may be the note: it has the name and no other owner.

    On a case-insensitive file system, the file may have another name.
    """
    name = file_name_of(base.path)
    owner = ctx.archive.base_at(base.path) or base
    folder = ctx.vault.folder(parent_folder(base.path))
    listed = folder is None or name in (*folder.files, *folder.non_regular)
    return listed and owner.fact.id == base.fact.id


MAX_WHOLE_CASES = 2_000
"""Maximum number of new facts in a run whose cases contain them from the beginning; with more, a
case contains its fact only while it is planned, so that few facts are in memory."""
RUNS_TO_COMPARE = 100
"""Number of latest runs that are searched for one that put back the id of a note."""
CASES_IN_MEMORY = 500
"""Number of such cases that are completed at once."""
_NOT_READ_YET = StoreSide(StoreChange.CREATED)
_NO_NOTE = VaultSide(VaultChange.NONE)


class Case(NamedTuple):
    """One fact: its base, and its current state in the vault and the store."""

    fact_id: str
    base: Base | None
    vault: VaultSide
    store: StoreSide
    new_id: bool = False
    """Whether its note does not have this id yet."""
    last_path: VaultPath | None = None
    """The path of the last note of a fact without a note."""

    @property
    def is_brief(self) -> bool:
        """Whether it has to be completed, because the new fact was not read yet."""
        return self.store.change is StoreChange.CREATED and self.store.fact is None


@dataclass(slots=True)
class NoteIdentities:
    """Which file is the note of which fact."""

    ctx: SyncContext
    snapshot: VaultSnapshot
    of_fact: dict[str, ScannedFile] = field(default_factory=dict)
    unchanged: dict[str, ScannedFile] = field(default_factory=dict)
    """Canonical notes of facts that have no base yet."""
    duplicate_ids: dict[str, list[ScannedFile]] = field(default_factory=dict)
    """Ids in several files, none of which has a better claim."""
    without_id: list[ScannedFile] = field(default_factory=list)
    """Notes without an id, and copies: they get a new id."""
    absent: dict[str, Base] = field(default_factory=dict)
    bases: dict[str, Base] = field(default_factory=dict)
    """The bases of facts whose id or path the files have."""
    unrecorded: dict[str, bytes] = field(default_factory=dict)
    """The notes' texts of those bases that a dry run may not record, by fact."""
    blocked: dict[str, ScannedFile] = field(default_factory=dict)
    """Facts whose notes are unreadable or partly saved."""
    unreadable: list[ScannedFile] = field(default_factory=list)
    """Unreadable files at paths where no fact has its note."""
    may_be_elsewhere: bool = False
    """Whether a missing note may lie where nothing is read: in such a folder, or in a file that
    is not on this machine."""

    def claims(self, fact_id: str) -> bool:
        """Whether any file may be the note of a fact."""
        return any(fact_id in x for x in (self.of_fact, self.duplicate_ids, self.blocked))


def resolve_identities(ctx: SyncContext, snapshot: VaultSnapshot) -> NoteIdentities:
    """Decide which of the files that were read is the note of which fact.

    The file at the base's path owns the id. If that file is gone, a single other file with the
    id is the moved note; of several that are not named like conflict copies, the one with exactly
    the base's bytes; otherwise none. A file that has an id, but does not own it, is a copy.
    """
    identities = NoteIdentities(ctx, snapshot, absent=dict(snapshot.absent))
    if not (snapshot.seen or snapshot.absent):
        return identities
    for fact_id, files in _claims_by_id(identities).items():
        base = identities.bases.get(fact_id)
        owner = _choose_owner(files, base, displaced=fact_id in identities.absent)
        if owner is not None:
            verbatim = base is None and owner.canonical_of is not None
            (identities.unchanged if verbatim else identities.of_fact)[fact_id] = owner
            identities.absent.pop(fact_id, None)
            identities.without_id += [each for each in files if each is not owner]
        elif base and fact_id not in identities.absent and not snapshot.may_hide(base.path):
            identities.without_id += files
        else:
            identities.duplicate_ids[fact_id] = files
            identities.absent.pop(fact_id, None)
    _recheck_moved_notes(identities)
    identities.may_be_elsewhere = bool(identities.absent) and _may_be_elsewhere(ctx, snapshot)
    return identities


def _may_be_elsewhere(ctx: SyncContext, snapshot: VaultSnapshot) -> bool:
    """Whether a missing note may have moved to where nothing is read now."""
    not_here = {
        path_in(folder.path, name)
        for folder in snapshot.scan.folders.values()
        for name, what in folder.non_regular.items()
        if what == NOT_DOWNLOADED
    } - {base.path for base in ctx.archive.missing_bases()}
    return (
        snapshot.is_partial
        or any(why not in (IGNORED, OTHER_VAULT) for why in snapshot.scan.unreadable.values())
        or any(
            is_managed_path(x, snapshot.adopted) and ctx.archive.base_at(x) is None
            for x in not_here
        )
    )


def _recheck_moved_notes(identities: NoteIdentities) -> None:
    """Restart the wait for missing notes that may have been elsewhere until now.

    They had duplicates or were unreadable when their paths were found empty, so it is only
    known since those disappeared that the notes are gone. If the clock was set back meanwhile,
    nothing is known of how long ago that was.
    """
    if any(base.missing_since for base in identities.absent.values()):
        ctx, snapshot = identities.ctx, identities.snapshot
        listed = ctx.archive.notices()
        duplicates = "\n".join(x.message for x in listed if x.kind == "twins")
        unread = [each.path for each in listed if each.kind == "unreadable"]
        any_gone = any(not (snapshot.has(path) or snapshot.is_unreadable(path)) for path in unread)
        now = ctx.now()
        for fact_id, base in identities.absent.items():
            if any_gone or fact_id in duplicates or (base.missing_since or "") > now:
                identities.absent[fact_id] = base._replace(missing_since=None)


def _claims_by_id(identities: NoteIdentities) -> dict[str, list[ScannedFile]]:
    """The files that claim each id.

    Adds to `identities` the bases of those ids, the files that are not the note of a fact, and
    the facts whose paths were taken by other notes.
    """
    ctx, snapshot = identities.ctx, identities.snapshot
    claims: dict[str, list[ScannedFile]] = {}
    scanned_bases = [seen.base for seen in snapshot.seen.values() if seen.base is not None]
    bases = identities.bases = {base.fact.id: base for base in scanned_bases}
    named = {seen.id for seen in snapshot.seen.values() if seen.id}
    if new := named - bases.keys():
        bases |= ctx.archive.find_bases(new)
    unrecorded = _unrecorded_ids(identities)
    for seen in snapshot.seen.values():
        if seen.is_note:
            claim = _claimed_id(identities, seen, unrecorded)
            is_other = seen.base is not None and seen.id not in (None, claim)
            if is_other and _is_set_aside(identities, seen, claim):
                continue
            claims.setdefault(claim, []).append(seen)
            if seen.base is not None and claim != seen.base.fact.id:
                identities.absent[seen.base.fact.id] = seen.base
        elif seen.base is not None:
            identities.blocked[seen.base.fact.id] = seen
        else:
            identities.unreadable.append(seen)
    identities.without_id = claims.pop("", [])
    if identities.unreadable:
        _block_unreadable(identities, claims)
    for fact_id in claims:
        base = bases.get(fact_id)
        if base is not None and _is_absent_from_path(ctx, snapshot, base):
            identities.absent[fact_id] = base
    return claims


def _is_set_aside(identities: NoteIdentities, seen: ScannedFile, fact_id: str) -> bool:
    """Whether a file at the path of a fact, with the id of another, is not to be synced now."""
    ctx, snapshot, bases = identities.ctx, identities.snapshot, identities.bases
    other = bases.get(seen.id or "")
    if other is not None and snapshot.is_partial and snapshot.is_unreadable(other.path):
        # The other note may have moved here, from a folder that a run of some facts omits.
        identities.absent[fact_id] = bases[fact_id]
        return True
    if _was_put_back(ctx, seen, fact_id, bases):
        blocked = _with_id_of_another(seen, fact_id)
        identities.blocked[fact_id] = snapshot.seen[seen.path] = blocked
        return True
    return False


def _was_put_back(
    ctx: SyncContext, seen: ScannedFile, fact_id: str, bases: Mapping[str, Base]
) -> bool:
    """Whether a run put back the id in exactly these bytes, which are no copy of another note.

    Two machines that put back their ids would do so without end if a sync tool carries the note.
    """
    other = bases.get(seen.id or "")
    is_copy = other is not None and other.sha == seen.file.sha
    if is_copy or ctx.archive.blob(seen.file.sha) is None:
        return False
    return any(
        each.fact_id == fact_id and "id" in each.fields
        for run in ctx.archive.runs(limit=RUNS_TO_COMPARE)
        for each in convert(run.report.get("actions") or [], list[ActionTaken])
    )


def _with_id_of_another(seen: ScannedFile, fact_id: str) -> ScannedFile:
    error = UnreadableNoteError(
        seen.path,
        "its id was put back, and another program has changed it again",
        hint=f"save it with `id: {fact_id}`, or remove the id; if a sync tool carries this vault"
        " between machines, run vaultsync on only one of them",
    )
    notice = Notice.of("unreadable", error, seen.file.sha)
    return seen._replace(note=None, read_error=notice)


def _block_unreadable(identities: NoteIdentities, claims: Container[str]) -> None:
    """Block facts whose notes may be unreadable rather than gone, such as after a rename.

    An unreadable file may also be the note of a fact without a base: if the archive was
    lost, that fact must not get a second note.
    """
    for fact_id, base in list(identities.absent.items()):
        for seen in identities.unreadable:
            same_file = base.stamp and base.stamp.inode == seen.file.stamp.inode
            if fact_id.encode() in seen.file.data or (same_file and not seen.file.data):
                identities.blocked[fact_id] = seen
                del identities.absent[fact_id]
                break
    unreadable = {id_in(seen.file.data) or "": seen for seen in reversed(identities.unreadable)}
    bases = identities.ctx.archive.find_bases(unreadable)
    for fact_id, seen in unreadable.items():
        if fact_id and fact_id not in claims and fact_id not in bases:
            identities.blocked[fact_id] = seen


def _is_absent_from_path(ctx: SyncContext, snapshot: VaultSnapshot, base: Base) -> bool:
    """Whether a note is missing although its folder looked unchanged.

    Another file with its id is then the moved note, not a copy.
    """
    if base.path in snapshot.seen or snapshot.may_hide(base.path):
        return False
    try:
        return ctx.vault.stamp(base.path) is None
    except NoteError:
        return False


def _unrecorded_ids(identities: NoteIdentities) -> Container[str]:
    """The ids of new facts whose notes, of other processes, took the places of renamed notes.

    Their bases are not recorded yet. An id that the store does not know was edited by the user.
    """
    ids = {
        seen.id or ""
        for seen in identities.snapshot.seen.values()
        if seen.base is not None and seen.id not in (None, seen.base.fact.id)
    } - identities.bases.keys()
    with suppress(StoreUnavailableError):  # then nothing is written
        return identities.ctx.store.last_ops(ids) if ids else ()
    return ()


def _claimed_id(identities: NoteIdentities, seen: ScannedFile, unrecorded: Container[str]) -> str:
    """The id that a file claims: its own, or that of the base at its path.

    The id of another fact counts if that fact's note is not at its path: this file was moved
    here, or two notes swapped their names, or it is a new one.
    """
    claimed_id = seen.id
    if seen.base is None:
        return claimed_id or ""
    if claimed_id is None or claimed_id == seen.base.fact.id:
        return seen.base.fact.id
    if claimed_id in unrecorded:
        return claimed_id
    snapshot, claimed_base = identities.snapshot, identities.bases.get(claimed_id)
    if claimed_base is not None and claimed_base.path == seen.path:
        return claimed_id
    occupant = snapshot.seen.get(claimed_base.path) if claimed_base else None
    occupant_id = occupant.id if occupant else None
    is_swapped = occupant_id is not None and occupant_id != claimed_id
    return claimed_id if claimed_id in snapshot.absent or is_swapped else seen.base.fact.id


def _choose_owner(
    files: Sequence[ScannedFile], base: Base | None, *, displaced: bool
) -> ScannedFile | None:
    if base is None:
        if len(files) == 1:
            return files[0]
        return min(files, key=lambda seen: (len(seen.path), seen.path))
    for seen in files:
        if seen.path == base.path:
            return seen
    if not displaced:
        return None
    # A copy of a sync tool is not the moved note, even if only that was edited.
    moved = [seen for seen in files if not _is_named_like_a_copy(seen.path, base)] or files
    if len(moved) == 1:
        return moved[0]
    same = [seen for seen in moved if seen.file.sha == base.sha]
    return same[0] if len(same) == 1 else None


def _is_named_like_a_copy(path: VaultPath, base: Base) -> bool:
    return bool(conflict_copy_of(file_name_of(path)) or conflict_copy_at(path, base))


def make_cases(
    identities: NoteIdentities, feed: StoreFeed, *, recheck: Collection[str]
) -> tuple[list[Case], list[ScannedFile]]:
    """The cases of a run, without those of notes that have no id yet.

    The cases of many new facts without notes must be completed by `completed_cases()`.

    A new note that equals its fact needs no case: it is canonical, and the store still has the
    revision that it was compared with. Only its base is missing.

    Returns:
        The cases of all other facts, and these notes, without those in `recheck`.
    """
    ctx = identities.ctx
    unchanged: list[ScannedFile] = []
    rows = {row.fact_id: row for row in feed.rows}
    for fact_id, seen in identities.unchanged.items():
        row = rows.get(fact_id)
        assert seen.canonical_of is not None  # noqa: S101 - they all have one
        if row and row.revision == seen.canonical_of.revision and fact_id not in recheck:
            del rows[fact_id]
            unchanged.append(seen)
        else:
            identities.of_fact[fact_id] = seen
    ids = dict.fromkeys(
        [
            *identities.of_fact,
            *identities.duplicate_ids,
            *identities.absent,
            *identities.blocked,
            *recheck,
        ]
    )
    if feed.is_whole:
        # A store that was restored before a run was complete may never have had them.
        ids |= dict.fromkeys(each for each in ctx.archive.paths().values() if each not in rows)
    if not (ids or rows):
        return [], unchanged
    known = iter(rows)
    while batch := list(islice(known, CASES_IN_MEMORY)):
        recorded = ctx.archive.find_bases([x for x in batch if x not in identities.bases])
        for fact_id in batch:
            base = identities.bases.get(fact_id) or recorded.get(fact_id)
            if base is None or base.fact.revision != rows[fact_id].revision:
                ids[fact_id] = None
    further_ids = ids.keys() - identities.bases.keys()
    bases = identities.bases | (ctx.archive.find_bases(further_ids) if further_ids else {})
    new = [x for x in rows if x in ids and x not in bases and not rows[x].deleted]
    new = [x for x in new if not identities.claims(x) and x not in recheck]
    new = new if len(new) > MAX_WHOLE_CASES else []
    sides = dict.fromkeys(new, _NOT_READ_YET)
    sides |= _store_sides(ctx, [x for x in ids if x not in sides], bases, rows, feed)
    tombstones = ctx.archive.note_tombstones(sides.keys() - bases.keys())
    cases = []
    for fact_id in ids:
        base, store = bases.get(fact_id), sides[fact_id]
        vault = _vault_side(identities, fact_id, base=base, store=store.fact)
        last_path = tombstone_path(tombstones.get(fact_id))
        cases.append(Case(fact_id, base, vault, store, last_path=last_path))
    return cases, unchanged


def completed_cases(ctx: SyncContext, cases: Sequence[Case], feed: StoreFeed) -> Iterator[Case]:
    """The same cases, with the facts of brief ones read from the store page by page."""
    rows = {row.fact_id: row for row in feed.rows}
    for start in range(0, len(cases), CASES_IN_MEMORY):
        batch = cases[start : start + CASES_IN_MEMORY]
        brief = [case.fact_id for case in batch if case.is_brief]
        sides = _store_sides(ctx, brief, {}, rows, feed) if brief else {}
        for case in batch:
            yield case._replace(store=sides[case.fact_id]) if case.fact_id in sides else case


def adopted_folders(ctx: SyncContext) -> tuple[str, ...]:
    """The folders outside the scopes that the user adopted."""
    return _lines(ctx, "adopted_folders")


def module_folders(ctx: SyncContext) -> tuple[str, ...]:
    """The folders of modules in the vault, whose files are facts already."""
    return _lines(ctx, "module_folders")


def _lines(ctx: SyncContext, setting: str) -> tuple[str, ...]:
    listed = ctx.archive.setting(setting)
    return () if listed is None else tuple(listed.split("\n"))


def remember_modules(ctx: SyncContext, folder: VaultPath) -> None:
    """Set that a folder has modules, whose files are not to be adopted."""
    folders = module_folders(ctx)
    if folder not in folders:
        ctx.set_setting("module_folders", "\n".join([*folders, folder]))


def _store_sides(
    ctx: SyncContext,
    ids: Collection[str],
    bases: dict[str, Base],
    rows: Mapping[str, FeedRow],
    feed: StoreFeed,
) -> dict[str, StoreSide]:
    if not feed.is_available:
        return dict.fromkeys(ids, StoreSide(StoreChange.UNAVAILABLE))
    facts = ctx.store.find_many(ids)
    sides = {}
    for fact_id in ids:
        current = facts.get(fact_id)
        row = rows.get(fact_id)
        if row is None and not feed.is_whole:
            row = ctx.store.last_write(fact_id)
        base = bases.get(fact_id)
        # Check the current fact, not the one when the feed was read: an agent
        # may have forgotten or restored it since.
        change = store_change(base.fact if base else None, current, known=row is not None)
        last = current or (ctx.store.tombstone(fact_id) if row else None)
        revision = last.revision if last else None
        if row is not None and row.deleted and last is None:
            # It was purged: there is nothing to restore, but a write names this revision.
            change, revision = (change if base else StoreChange.NONE), row.revision
        if row is not None and fact_id in ctx.store.damaged():
            # It is damaged, which is treated as if the store were unavailable for this fact.
            change, revision, last = StoreChange.UNAVAILABLE, row.revision, None
        side = StoreSide(change, revision, last, row.actor if row else "")
        if row is not None and change is StoreChange.MODIFIED:
            side = side._replace(acknowledged=feed.acknowledges(row.actor))
        sides[fact_id] = side
    return sides


def _vault_side(
    identities: NoteIdentities, fact_id: str, *, base: Base | None, store: Fact | None
) -> VaultSide:
    ctx, snapshot = identities.ctx, identities.snapshot
    if fact_id in identities.duplicate_ids:
        return VaultSide(VaultChange.COPIED, identities.duplicate_ids[fact_id][0].path)
    if fact_id in identities.blocked:
        seen = identities.blocked[fact_id]
        kind = VaultChange.UNREADABLE if seen.is_settled else VaultChange.UNSETTLED
        return VaultSide(kind, seen.path)
    seen_now = identities.of_fact.get(fact_id)
    if seen_now is not None:
        seen_now = read_again(ctx, snapshot, seen_now)
        if not seen_now.is_settled:
            return VaultSide(VaultChange.UNSETTLED, seen_now.path)
    if base is None:
        return _NO_NOTE if seen_now is None else _foreign_side(ctx, seen_now, store)
    if base.path in snapshot.non_regular:
        return VaultSide(VaultChange.UNREADABLE, base.path)
    if seen_now is not None and seen_now.note is not None:
        before = base_note(ctx, base, identities.unrecorded.get(fact_id))
        now = ctx.view.from_note(seen_now.note, base.fact, store, before=before)
        return vault_change(
            base.fact,
            before,
            now,
            seen_now.file.sha,
            ids=linked_ids(ctx, before.links ^ now.links, seen_now.path),
        )
    if snapshot.is_unreadable(base.path):
        return VaultSide(VaultChange.UNKNOWN, base.path)
    if fact_id in identities.absent:
        since = identities.absent[fact_id].missing_since
        is_confirmed = since is not None and since < ctx.now()
        deleted = is_confirmed and not identities.may_be_elsewhere
        change = VaultChange.DELETED if deleted else VaultChange.GONE
        return VaultSide(change, base.path, base.sha)
    return VaultSide(VaultChange.UNCHANGED, base.path, base.sha, base_note(ctx, base), base.fact)


def _foreign_side(ctx: SyncContext, seen: ScannedFile, store: Fact | None) -> VaultSide:
    """A note of a fact that has no base."""
    note = seen.note
    assert note is not None  # noqa: S101 - it carries the id of the fact
    return VaultSide(VaultChange.FOREIGN, seen.path, seen.file.sha, ctx.view.from_note(note, store))


def base_note(ctx: SyncContext, base: Base, data: bytes | None = None) -> Note:
    """The note of a base; `data` is its text if the archive does not have it yet.

    Raises:
        ArchiveError: its bytes are lost.
    """
    data = ctx.archive.blob(base.sha) if data is None else data
    if data is None:
        raise ArchiveError(
            f"the archive lost the bytes of {base.path}",
            hint="move the archive away; the next sync rebuilds it from both sides",
        )
    return ctx.view.from_base_note(read_note(data, base.path), base.fact)


def fact_of_text(ctx: SyncContext, base: Base, data: bytes, path: VaultPath, *known: Fact) -> Fact:
    """The fact as another text of its note shows it. Raises UnreadableNoteError."""
    now = read_note(data, path)
    before = base_note(ctx, base)
    now = ctx.view.from_note(now, base.fact, *known, before=before)
    return apply_note_edits(
        base.fact, before, now, ids=linked_ids(ctx, before.links ^ now.links, path)
    )


class TakenKeys:
    """The keys of all paths in use, and of those planned, so that no new note collides with one.

    Paths of bases count too, unless their notes are gone: a note that is unreadable in another
    place may return to its path. Those of a folder are read when the first note is planned there.
    """

    def __init__(self, identities: NoteIdentities) -> None:
        self._archive = identities.ctx.archive
        self._absent = identities.absent
        self._taken: set[str] = set()
        self._folders: defaultdict[str, set[VaultPath]] = defaultdict(set)
        """Key of a folder -> the folders with that key, of which some file system knows one."""
        for folder in identities.snapshot.scan.folders.values():
            self._taken.add(path_key(folder.path))
            prefix = folder.path + "/" if folder.path else ""
            self._taken.update(path_key(prefix + x) for x in (*folder.files, *folder.non_regular))
        for path in self._archive.base_folders():
            self._folders[path_key(path)].add(path)

    def __contains__(self, key: object) -> bool:
        """Whether a path with this key, a text, is in use or planned."""
        for folder in self._folders.pop(str(key).rpartition("/")[0], ()):
            for name, (fact_id, _) in self._archive.stamps_in(folder).items():
                if fact_id not in self._absent:
                    self._taken.add(path_key(path_in(folder, name)))
        return key in self._taken

    def add(self, key: str) -> None:
        """Plan a note at a path with this key."""
        self._taken.add(key)


def untracked_note_cases(
    identities: NoteIdentities, chosen: AbstractSet[VaultPath], *, store_available: bool
) -> list[Case]:
    """A case with a new id for each note that becomes a fact.

    These are notes in a scope, in an adopted folder or in `chosen`, and copies of notes, except
    index pages and their copies, conflict copies, files of modules, and notes whose adoption
    the user has undone.
    """
    ctx, snapshot = identities.ctx, identities.snapshot
    alone, modules = unadopted_paths(ctx), module_folders(ctx)
    store = StoreSide(StoreChange.NONE if store_available else StoreChange.UNAVAILABLE)
    cases = []
    for each in sorted(identities.without_id, key=lambda each: each.path):
        seen = read_again(ctx, snapshot, each)
        note, path = seen.note, seen.path
        if note is None or is_table(seen.file.data) or (path in alone and path not in chosen):
            continue
        if is_module_file(path, modules):
            continue
        if any(problem.key == "id" for problem in note.problems):
            continue
        if note.id is None and path not in chosen and not is_managed_path(path, snapshot.adopted):
            continue
        base = ctx.archive.find_base(note.id) if note.id else None
        if (base is not None and path not in chosen) and (
            conflict_copy_at(path, base) or is_second_note(ctx, seen, base)
        ):
            continue
        if base is None:
            note = ctx.view.from_note(note)
        else:  # a copy has the secrets of the original
            note = ctx.view.from_note(note, base.fact, before=base_note(ctx, base))
        vault = VaultSide(VaultChange.CREATED, path, seen.file.sha, note)
        cases.append(Case(ctx.clock.new_id(), None, vault, store, new_id=True))
    return cases


def is_second_note(ctx: SyncContext, seen: ScannedFile, base: Base) -> bool:
    """Whether a file with the id of a note says nothing else, in bytes that are unknown here.

    Another machine wrote it for the same fact, and a sync tool brought it. A copy that the user
    made has a text of its own, or bytes that were once those of the note.
    """
    is_published = path_info(seen.path).scope not in (None, base.fact.scope)
    if is_published or ctx.archive.blob(seen.file.sha) is not None:
        return False
    if seen.note is None:
        return True  # it is canonical
    now, known = fact_of_text(ctx, base, seen.file.data, seen.path), [base.fact]
    with suppress(StoreUnavailableError):
        known += ctx.store.find_many([base.fact.id]).values()
    if not all(differing_user_fields(each, now) for each in known):
        return True
    return is_former(base.fact, now, ctx.archive.history(fact_id=base.fact.id))


def conflict_copy_at(path: VaultPath, base: Base) -> ConflictCopy | None:
    """The conflict copy that a file with a note's id seems to be; None if it is not one."""
    if parent_folder(path) != parent_folder(base.path):
        return None
    return likely_copy_of(file_name_of(path), file_name_of(base.path))


def base_of_copy(ctx: SyncContext, path: VaultPath) -> Base | None:
    """The base of the note that a conflict copy is a copy of; None if there is none.

    That is the note with the name that the copy states or, if it was renamed, with the same id.
    """
    copy, file = conflict_copy_of(file_name_of(path)), ctx.find_file(path)
    named = ctx.archive.base_at(path_in(parent_folder(path), copy.note)) if copy else None
    if file is None or (named is not None and ctx.find_file(named.path) is not None):
        return named if file is not None else None
    base = None
    with suppress(NoteError):
        base = ctx.archive.find_base(read_note(file.data, path).id or "")
    if base is None or base.path == path or not (copy or conflict_copy_at(path, base)):
        return named
    return base


def unadopted_paths(ctx: SyncContext) -> frozenset[str]:
    """Notes whose adoption the user undid: they are not adopted automatically again."""
    return frozenset(_lines(ctx, "left_alone"))


def remember_unadopted(ctx: SyncContext, paths: frozenset[str]) -> None:
    """Set which notes are not adopted automatically."""
    ctx.set_setting("left_alone", "\n".join(sorted(paths)) or None)
