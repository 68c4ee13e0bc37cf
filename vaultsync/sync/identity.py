"""One case per fact that something may have happened to: both sides, side by side.

Here identity is settled: which file is the note of which fact, after renames, copies and
edits of the id itself.

Notes that were gone: whether they are back, or something that may be them.

Notes that have no id yet: new ones, copies, and those a person wants adopted.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultsync.errors import ArchiveError, NoteError, NoteMissingError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, path_key
from vaultsync.notes.kinds import is_table
from vaultsync.notes.parse import Note, id_in, read_note
from vaultsync.storage.archive import Base
from vaultsync.storage.store import FeedRow
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
from vaultsync.sync.history import tombstone_path
from vaultsync.sync.snapshot import ScannedFile, VaultSnapshot, is_managed_path


def is_note_back(ctx: SyncContext, base: Base) -> bool:
    """Whether something that could be the note of a fact lies where it was."""
    try:
        file = ctx.vault.read(base.path)
        claims = read_note(file.data, base.path).id
    except NoteMissingError:
        return False
    except NoteError:
        claims = None
    return claims == base.fact.id or (claims is None and _could_be(ctx, base))


def absent_bases(ctx: SyncContext, bases: Iterable[Base]) -> list[Base]:
    """Of bases about to be kept, those whose notes were gone and are not back.

    A rebuild takes a note that cannot be read as it was read last. Two bases at one
    path would be one too many to look for, should another note have its place.
    """
    gone = {base.fact.id: base.path for base in ctx.archive.missing_bases()}
    return [
        base._replace(missing_since=ctx.now())
        for base in bases
        if gone.get(base.fact.id) == base.path and not is_note_back(ctx, base)
    ]


def _could_be(ctx: SyncContext, base: Base) -> bool:
    """Whether a file without an id may be the note: no other fact's, and of that name.

    Where case does not count, it may bear another one.
    """
    name = file_name_of(base.path)
    owner = ctx.archive.bases_in(parent_folder(base.path)).get(name, base)
    folder = ctx.vault.folder(parent_folder(base.path))
    listed = folder is None or name in (*folder.files, *folder.non_regular)
    return listed and owner.fact.id == base.fact.id


class Case(NamedTuple):
    """One fact, with its base and both sides."""

    fact_id: str
    base: Base | None
    vault: VaultSide
    store: StoreSide
    new_id: bool = False
    """Its note has still to be given this id."""
    moved_to_scope: bool = False
    """The note lies outside of what vaultsync adopts by itself."""
    last_path: VaultPath | None = None
    """Where the note lay that a fact without one once had."""


@dataclass(slots=True)
class NoteIdentities:
    """Which file is whose note."""

    of_fact: dict[str, ScannedFile] = field(default_factory=dict)
    unchanged: dict[str, ScannedFile] = field(default_factory=dict)
    """Notes, of facts without a base, that are what their facts are written as."""
    duplicate_ids: dict[str, list[ScannedFile]] = field(default_factory=dict)
    """Ids that several files claim, none with a better right."""
    without_id: list[ScannedFile] = field(default_factory=list)
    """Notes without an id, and copies: they are to get a new one."""
    absent: dict[str, Base] = field(default_factory=dict)
    blocked: dict[str, ScannedFile] = field(default_factory=dict)
    """Facts whose note cannot be read, or is half saved."""
    unreadable: list[ScannedFile] = field(default_factory=list)
    """Files that cannot be read and lie where no fact has its note."""
    has_unreadable_folders: bool = False
    """Whether a note that is gone may lie in a folder that cannot be read."""


def resolve_identities(ctx: SyncContext, found: VaultSnapshot) -> NoteIdentities:
    """Say which of the files that were read is the note of which fact.

    The file at the base's path owns the id. If it is gone, a single other file with the
    id is the note, moved; among several, the one with the base's very bytes; else nobody.
    A file that owns nothing is a copy.
    """
    who = NoteIdentities(absent=dict(found.absent))
    if not (found.seen or found.absent):
        return who
    claims, bases = _claims_by_id(ctx, found, who)
    for fact_id, files in claims.items():
        base = bases.get(fact_id)
        owner = _choose_owner(files, base, displaced=fact_id in who.absent)
        if owner is not None:
            verbatim = base is None and owner.canonical_of is not None
            (who.unchanged if verbatim else who.of_fact)[fact_id] = owner
            who.absent.pop(fact_id, None)
            who.without_id += [each for each in files if each is not owner]
        elif base and fact_id not in who.absent and not found.is_unreadable(base.path):
            who.without_id += files
        else:
            who.duplicate_ids[fact_id] = files
            who.absent.pop(fact_id, None)
    _recheck_moved_notes(ctx, found, who)
    who.has_unreadable_folders = bool(who.absent) and _has_unreadable_folders(ctx, found)
    return who


def _has_unreadable_folders(ctx: SyncContext, found: VaultSnapshot) -> bool:
    """Whether there are folders that cannot be read, here or where nobody looked."""
    listed = ctx.archive.notices() if found.is_partial else ()
    kinds = {each.kind for each in listed}
    return bool(found.scan.unreadable) or "unreadable_folder" in kinds


def _recheck_moved_notes(ctx: SyncContext, found: VaultSnapshot, who: NoteIdentities) -> None:
    """Notes that lay elsewhere when their places were found empty are gone now.

    They lay there twice, or could not be read: whose note it was nobody knows any more.
    """
    if any(base.missing_since for base in who.absent.values()):
        listed = ctx.archive.notices()
        told = "\n".join(x.message for x in listed if x.kind == "twins")
        unread = [each.path for each in listed if each.kind == "unreadable"]
        went = any(not (found.has(path) or found.is_unreadable(path)) for path in unread)
        for fact_id, base in who.absent.items():
            if went or fact_id in told:
                who.absent[fact_id] = base._replace(missing_since=None)


def _claims_by_id(
    ctx: SyncContext, found: VaultSnapshot, who: NoteIdentities
) -> tuple[dict[str, list[ScannedFile]], dict[str, Base]]:
    """The files that claim each id, and the bases of those ids.

    What is not the note of anybody goes into `who`; so do the facts whose place another
    fact's note has taken.
    """
    claims: dict[str, list[ScannedFile]] = {}
    there = [seen.id for seen in found.seen.values() if seen.base is not None]
    bases = ctx.archive.find_bases(filter(None, there))
    for seen in found.seen.values():
        if seen.is_note:
            claim = _claimed(found, seen, bases)
            claims.setdefault(claim, []).append(seen)
            if seen.base is not None and claim != seen.base.fact.id:
                who.absent[seen.base.fact.id] = seen.base
        elif seen.base is not None:
            who.blocked[seen.base.fact.id] = seen
        else:
            who.unreadable.append(seen)
    _block_unreadable_moves(who)
    who.without_id = claims.pop("", [])
    bases |= ctx.archive.find_bases(claims)
    _block_unreadable_unknown(ctx, who, claims)
    for fact_id in claims:
        base = bases.get(fact_id)
        if base is not None and _is_absent_from_path(ctx, found, base):
            who.absent[fact_id] = base
    return claims, bases


def _block_unreadable_moves(who: NoteIdentities) -> None:
    """A note that was renamed and broken at once is not gone: it cannot be read."""
    for fact_id, base in list(who.absent.items()):
        for seen in who.unreadable:
            same_file = base.stamp and base.stamp.inode == seen.file.stamp.inode
            if fact_id.encode() in seen.file.data or (same_file and not seen.file.data):
                who.blocked[fact_id] = seen
                del who.absent[fact_id]
                break


def _block_unreadable_unknown(
    ctx: SyncContext, who: NoteIdentities, claims: Container[str]
) -> None:
    """A note that cannot be read may be that of a fact without a base.

    The archive was lost, perhaps: another note of that fact would be one too many.
    """
    strange = {id_in(seen.file.data) or "": seen for seen in reversed(who.unreadable)}
    known = ctx.archive.find_bases(strange)
    for fact_id, seen in strange.items():
        if fact_id and fact_id not in claims and fact_id not in known:
            who.blocked[fact_id] = seen


def _is_absent_from_path(ctx: SyncContext, found: VaultSnapshot, base: Base) -> bool:
    """Whether nothing is where a note was, though its folder seemed settled.

    Its id in another file must not be taken for a copy then.
    """
    if base.path in found.seen or found.is_unreadable(base.path):
        return False
    try:
        return ctx.vault.stamp(base.path) is None
    except NoteError:
        return False


def _claimed(found: VaultSnapshot, seen: ScannedFile, bases: Mapping[str, Base]) -> str:
    """The id a file stands for: its own, or that of the base at its path.

    The id of another fact counts when that fact's note is not where it was: the file
    was moved here, or both swapped their names.
    """
    own = seen.id
    if seen.base is None:
        return own or ""
    if own is None or own == seen.base.fact.id:
        return seen.base.fact.id
    other = bases.get(own)
    if other is not None and other.path == seen.path:
        return own
    there = found.seen.get(other.path) if other else None
    now = there.id if there else None
    swapped = now is not None and now != own
    return own if own in found.absent or swapped else seen.base.fact.id


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
    if len(files) == 1:
        return files[0]
    same = [seen for seen in files if seen.file.sha == base.sha]
    return same[0] if len(same) == 1 else None


def make_cases(
    ctx: SyncContext,
    found: VaultSnapshot,
    who: NoteIdentities,
    rows: Mapping[str, FeedRow],
    feed: StoreFeed,
    *,
    recheck: Iterable[str] = (),
) -> list[Case]:
    """The cases of a run, without those of notes that have no id yet.

    Args:
        ctx: the two sides and the archive.
        found: the scan.
        who: which file is whose note.
        rows: the last writes of the store since the last run, by fact.
        feed: how much of the feed they are.
        recheck: further facts to look at.
    """
    ids = dict.fromkeys([*who.of_fact, *who.duplicate_ids, *who.absent, *who.blocked, *recheck])
    if feed.is_whole:
        # A store that was restored before a run was complete may never have known them.
        known = ctx.archive.paths().values()
        ids |= dict.fromkeys(each for each in known if each not in rows)
    if not (ids or rows):
        return []
    bases = ctx.archive.find_bases([*ids, *rows])
    for fact_id, row in rows.items():
        base = bases.get(fact_id)
        if base is None or base.fact.revision != row.revision:
            ids[fact_id] = None
    sides = _store_sides(ctx, ids, bases, rows, feed)
    adopted = adopted_folders(ctx)
    buried = ctx.archive.note_tombstones(sides.keys() - bases.keys())
    cases = []
    for fact_id in ids:
        base, store = bases.get(fact_id), sides[fact_id]
        vault = _vault_side(ctx, found, who, fact_id, base=base, store=store.fact)
        case = Case(fact_id, base, vault, store)
        if base is None and store.fact is None:
            seen = who.of_fact.get(fact_id)
            elsewhere = seen is not None and not is_managed_path(seen, adopted)
            case = case._replace(moved_to_scope=elsewhere)
        if fact_id in buried:
            case = case._replace(last_path=tombstone_path(buried[fact_id]))
        cases.append(case)
    return cases


def adopted_folders(ctx: SyncContext) -> tuple[str, ...]:
    """The folders outside the scopes that a person adopted."""
    listed = ctx.archive.setting("adopted_folders")
    return tuple(listed.split("\n")) if listed is not None else ()


def _store_sides(
    ctx: SyncContext,
    ids: Collection[str],
    bases: dict[str, Base],
    rows: Mapping[str, FeedRow],
    feed: StoreFeed,
) -> dict[str, StoreSide]:
    if not feed.is_available:
        return dict.fromkeys(ids, StoreSide(StoreChange.AWAY))
    facts = ctx.store.find_many(ids)
    sides = {}
    for fact_id in ids:
        current = facts.get(fact_id)
        row = rows.get(fact_id)
        if row is None and not feed.is_whole:
            row = ctx.store.last_write(fact_id)
        base = bases.get(fact_id)
        change = store_change(
            base.fact if base else None,
            current,
            known=row is not None,
            deleted=row is not None and row.deleted,
        )
        said = current or (ctx.store.tombstone(fact_id) if row else None)
        revision = said.revision if said else None
        sides[fact_id] = StoreSide(change, revision, said, row.actor if row else "")
    return sides


def _vault_side(
    ctx: SyncContext,
    found: VaultSnapshot,
    who: NoteIdentities,
    fact_id: str,
    *,
    base: Base | None,
    store: Fact | None,
) -> VaultSide:
    if fact_id in who.duplicate_ids:
        return VaultSide(VaultChange.COPIED, who.duplicate_ids[fact_id][0].path)
    if fact_id in who.blocked:
        seen = who.blocked[fact_id]
        kind = VaultChange.UNREADABLE if seen.is_settled else VaultChange.UNSETTLED
        return VaultSide(kind, seen.path)
    seen_now = who.of_fact.get(fact_id)
    if base is None:
        return _without_base(ctx, seen_now, store)
    if base.path in found.non_regular:
        return VaultSide(VaultChange.UNREADABLE, base.path)
    if seen_now is not None and seen_now.note is not None:
        before = base_note(ctx, base)
        now = ctx.view.from_note(seen_now.note, base.fact, store, before=before)
        return vault_change(
            base.fact,
            before,
            now,
            seen_now.file.sha,
            ids=ctx.ids(before.links ^ now.links, seen_now.path),
        )
    if found.is_unreadable(base.path):
        return VaultSide(VaultChange.UNKNOWN, base.path)
    if fact_id in who.absent:
        due = _confirm_absent(ctx, who.absent[fact_id]) and not who.has_unreadable_folders
        change = VaultChange.DELETED if due else VaultChange.GONE
        return VaultSide(change, base.path, base.sha)
    note = base_note(ctx, base)
    return VaultSide(VaultChange.UNCHANGED, base.path, base.sha, note, base.fact)


def _without_base(ctx: SyncContext, seen: ScannedFile | None, store: Fact | None) -> VaultSide:
    if seen is None:
        return VaultSide(VaultChange.NONE)
    note = seen.note
    assert note is not None  # noqa: S101 - it carries the id of the fact
    meant = ctx.view.from_note(note, store)
    return VaultSide(VaultChange.FOREIGN, seen.path, seen.file.sha, meant)


def _confirm_absent(ctx: SyncContext, base: Base) -> bool:
    return base.missing_since is not None and base.missing_since < ctx.now()


def base_note(ctx: SyncContext, base: Base) -> Note:
    """The note as both sides last agreed on it, read for what it means."""
    data = ctx.archive.blob(base.sha)
    if data is None:
        raise ArchiveError(
            f"the archive lost the bytes of {base.path}",
            hint="move the archive away; the next pass rebuilds it from both sides",
        )
    return ctx.view.from_base_note(read_note(data, base.path), base.fact)


def taken_keys(ctx: SyncContext, found: VaultSnapshot, who: NoteIdentities) -> set[str]:
    """The keys of all paths of the vault, so that no new note meets another.

    Those of bases count too, unless their notes are gone: a note that is somewhere else
    and cannot be read now may come back to where it was.
    """
    bases = ctx.archive.paths().items()
    keys = {path_key(path) for path, fact_id in bases if fact_id not in who.absent}
    for folder in found.scan.folders.values():
        keys.add(path_key(folder.path))
        prefix = folder.path + "/" if folder.path else ""
        keys.update(path_key(prefix + name) for name in (*folder.files, *folder.non_regular))
    return keys


def untracked_note_cases(
    ctx: SyncContext,
    who: NoteIdentities,
    wanted: AbstractSet[VaultPath],
    *,
    away: bool,
) -> list[Case]:
    """A case with a fresh id for each note that is to become a fact.

    A note is taken when it lies in a scope, in an adopted folder or among `wanted`, or
    when it is the copy of one of ours.
    """
    adopted = adopted_folders(ctx)
    alone = unadopted_paths(ctx)
    store = StoreSide(StoreChange.AWAY if away else StoreChange.NONE)
    cases = []
    for seen in sorted(who.without_id, key=lambda each: each.path):
        if not _is_taken(seen, wanted, adopted):
            continue
        if seen.path in alone and seen.path not in wanted:
            continue
        note = _view_new_note(ctx, seen.note) if seen.note else None
        vault = VaultSide(VaultChange.CREATED, seen.path, seen.file.sha, note)
        cases.append(Case(ctx.clock.new_id(), None, vault, store, new_id=True))
    return cases


def _view_new_note(ctx: SyncContext, note: Note) -> Note:
    """What a new note means: a copy has the secrets of the note it was made of."""
    base = ctx.archive.find_base(note.id) if note.id else None
    if base is None:
        return ctx.view.from_note(note)
    return ctx.view.from_note(note, base.fact, before=base_note(ctx, base))


def unadopted_paths(ctx: SyncContext) -> frozenset[str]:
    """Notes whose adoption a person took back: not to be adopted by themselves again."""
    listed = ctx.archive.setting("left_alone")
    return frozenset(listed.split("\n")) if listed else frozenset()


def remember_unadopted(ctx: SyncContext, paths: frozenset[str]) -> None:
    """Remember which notes are not to be adopted by themselves."""
    with ctx.archive.transaction():
        ctx.archive.set_setting("left_alone", "\n".join(sorted(paths)) or None)


def _is_taken(seen: ScannedFile, wanted: AbstractSet[VaultPath], adopted: tuple[str, ...]) -> bool:
    note = seen.note
    if is_table(seen.file.data):
        return False  # a table of contents; a copy of one is no fact either
    if note is None or any(problem.key == "id" for problem in note.problems):
        return False
    is_copy = note.id is not None
    return is_copy or seen.path in wanted or is_managed_path(seen, adopted)


def take_unchanged(
    who: NoteIdentities, rows: Sequence[FeedRow], *, recheck: Collection[str]
) -> tuple[list[ScannedFile], dict[str, FeedRow]]:
    """Split off the new notes that agree with their facts: only their bases are missing.

    They are canonical, and the store still holds the revision they were compared with.
    All others, and those of the facts in `recheck`, are cases like any note.

    Returns:
        These notes, and the rows of all other facts.
    """
    unchanged: list[ScannedFile] = []
    rows_left = {row.fact_id: row for row in rows}
    for fact_id, seen in who.unchanged.items():
        row = rows_left.get(fact_id)
        assert seen.canonical_of is not None  # noqa: S101 - they all have one
        if row and row.revision == seen.canonical_of.revision and fact_id not in recheck:
            del rows_left[fact_id]
            unchanged.append(seen)
        else:
            who.of_fact[fact_id] = seen
    return unchanged, rows_left
