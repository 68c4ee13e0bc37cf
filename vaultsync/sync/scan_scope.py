"""Which folders an incremental pass looks into, and when that is not enough.

A pass over some folders may not find that a note is gone: it may lie in another one. As
soon as that is the question the whole vault is looked at instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from vaultsync.model.paths import VaultPath, parent
from vaultsync.storage.store import Written
from vaultsync.sync.context import Mirror
from vaultsync.sync.pass_types import Request
from vaultsync.sync.planning import home_of
from vaultsync.sync.report import Progress
from vaultsync.sync.snapshot import Snapshot, no_facts, take_snapshot


def folders_of(mirror: Mirror, named: Sequence[str]) -> set[VaultPath]:
    """The folders in which the notes of some facts lie, or would lie."""
    bases = mirror.archive.find_bases(named)
    folders = {parent(base.path) for base in bases.values()}
    for fact in mirror.store.find_many(named).values():
        folders.add(home_of(fact))
    if not bases.keys() >= set(named):
        # What cannot be read may be the note of a fact that has no base.
        broken = [x.path for x in mirror.archive.attention() if x.kind == "unreadable"]
        folders |= {parent(path) for path in broken}
    return folders


def look_into(
    mirror: Mirror,
    request: Request,
    feed: Iterable[Written] | None,
    *,
    away: bool,
    look_again: AbstractSet[VaultPath],
    progress: Progress | None,
) -> Snapshot:
    """The vault, as far as this pass has to look at it."""

    def look(only: AbstractSet[VaultPath] | None) -> Snapshot:
        return take_snapshot(
            mirror,
            look_again=look_again,
            only=only,
            unsettled=request.unsettled,
            hashed=request.hashed,
            # A rebuild takes one side at its word, and reads what that is.
            facts=no_facts if away or request.trust_store else mirror.store.find_many,
            progress=progress,
        )

    if request.only_named:
        return look(folders_of(mirror, request.named))
    if request.folders is None or feed is None:
        return look(None)
    written = [row.fact_id for row in feed]
    found = look(request.folders | folders_of(mirror, [*written, *request.named]))
    return look(None) if _is_not_enough(mirror, found) else found


def waiting_in(mirror: Mirror, folders: AbstractSet[VaultPath]) -> list[str]:
    """Of the facts that wait, those whose notes lie in some folders."""
    waiting = (mirror.archive.setting("waiting") or "").split()
    bases = mirror.archive.find_bases(waiting)
    return [key for key, base in bases.items() if parent(base.path) in folders]


def _is_not_enough(mirror: Mirror, found: Snapshot) -> bool:
    """Whether something went from these folders, or came from others."""
    claimed = {seen.id: path for path, seen in found.seen.items() if seen.is_note}
    if any(claimed.get(fact_id) is None for fact_id in found.gone):
        return True
    bases = mirror.archive.find_bases([key for key in claimed if key])
    if any(found.blind(base.path) for base in bases.values()):
        return True
    return any(
        conflict.conflict_path is not None
        and not found.blind(conflict.conflict_path)
        and parent(conflict.conflict_path) in found.dirty
        and conflict.conflict_path not in found.conflict_notes
        for conflict in mirror.archive.conflicts()
    )
