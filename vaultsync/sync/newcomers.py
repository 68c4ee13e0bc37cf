"""Notes that have no id yet: new ones, copies, and those a person wants adopted."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from vaultsync.model.paths import VaultPath
from vaultsync.notes.kinds import is_table
from vaultsync.notes.parse import Note
from vaultsync.sync.changes import StoreChange, StoreSide, VaultChange, VaultSide
from vaultsync.sync.context import Mirror
from vaultsync.sync.identity import Case, Identities, adopted_folders, base_note
from vaultsync.sync.snapshot import Seen, is_managed


def newcomers(
    mirror: Mirror,
    who: Identities,
    wanted: AbstractSet[VaultPath],
    *,
    away: bool,
) -> list[Case]:
    """A case with a fresh id for each note that is to become a fact.

    A note is taken when it lies in a scope, in an adopted folder or among `wanted`, or
    when it is the copy of one of ours.
    """
    adopted = adopted_folders(mirror)
    alone = left_alone(mirror)
    store = StoreSide(StoreChange.AWAY if away else StoreChange.NONE)
    cases = []
    for seen in sorted(who.nameless, key=lambda each: each.path):
        if not _is_taken(seen, wanted, adopted):
            continue
        if seen.path in alone and seen.path not in wanted:
            continue
        note = _meant(mirror, seen.note) if seen.note else None
        vault = VaultSide(VaultChange.CREATED, seen.path, seen.file.sha, note)
        cases.append(Case(mirror.clock.new_id(), None, vault, store, new_id=True))
    return cases


def _meant(mirror: Mirror, note: Note) -> Note:
    """What a new note means: a copy has the secrets of the note it was made of."""
    base = mirror.archive.find_base(note.id) if note.id else None
    if base is None:
        return mirror.lens.meant(note)
    return mirror.lens.meant(note, base.fact, before=base_note(mirror, base))


def left_alone(mirror: Mirror) -> frozenset[str]:
    """Notes whose adoption a person took back: not to be adopted by themselves again."""
    listed = mirror.archive.setting("left_alone")
    return frozenset(listed.split("\n")) if listed else frozenset()


def leave_alone(mirror: Mirror, paths: frozenset[str]) -> None:
    """Remember which notes are not to be adopted by themselves."""
    with mirror.archive.transaction():
        mirror.archive.set_setting("left_alone", "\n".join(sorted(paths)) or None)


def _is_taken(
    seen: Seen, wanted: AbstractSet[VaultPath], adopted: tuple[str, ...]
) -> bool:
    note = seen.note
    if is_table(seen.file.data):
        return False  # a table of contents; a copy of one is no fact either
    if note is None or any(problem.key == "id" for problem in note.problems):
        return False
    is_copy = note.id is not None
    return is_copy or seen.path in wanted or is_managed(seen, adopted)
