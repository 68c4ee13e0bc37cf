"""Which folders an incremental pass looks into, and when that is not enough.

A pass over some folders may not find that a note is gone: it may lie in another one. As
soon as that is the question the whole vault is looked at instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.storage.store import FeedRow
from vaultsync.sync.context import SyncContext
from vaultsync.sync.pass_types import SyncRequest
from vaultsync.sync.planning import home_folder
from vaultsync.sync.report import Progress
from vaultsync.sync.snapshot import VaultSnapshot, find_no_facts, take_snapshot


def folders_of_facts(ctx: SyncContext, named: Sequence[str]) -> set[VaultPath]:
    """The folders in which the notes of some facts lie, or would lie."""
    bases = ctx.archive.find_bases(named)
    folders = {parent_folder(base.path) for base in bases.values()}
    for fact in ctx.store.find_many(named).values():
        folders.add(home_folder(fact))
    if not bases.keys() >= set(named):
        # What cannot be read may be the note of a fact that has no base.
        broken = [x.path for x in ctx.archive.notices() if x.kind == "unreadable"]
        folders |= {parent_folder(path) for path in broken}
    return folders


def scan_vault(
    ctx: SyncContext,
    request: SyncRequest,
    feed: Iterable[FeedRow] | None,
    *,
    away: bool,
    look_again: AbstractSet[VaultPath],
    progress: Progress | None,
) -> VaultSnapshot:
    """The vault, as far as this pass has to look at it."""

    def look(only: AbstractSet[VaultPath] | None) -> VaultSnapshot:
        return take_snapshot(
            ctx,
            look_again=look_again,
            only=only,
            unsettled=request.being_saved,
            hashed=request.read_all,
            # A rebuild takes one side at its word, and reads what that is.
            facts=find_no_facts if away or request.trust_store else ctx.store.find_many,
            progress=progress,
        )

    if request.facts_only:
        return look(folders_of_facts(ctx, request.named))
    if request.folders is None or feed is None:
        return look(None)
    written = [row.fact_id for row in feed]
    found = look(request.folders | folders_of_facts(ctx, [*written, *request.named]))
    return look(None) if _is_not_enough(ctx, found) else found


def waiting_facts_in(ctx: SyncContext, folders: AbstractSet[VaultPath]) -> list[str]:
    """Of the facts that wait, those whose notes lie in some folders."""
    waiting = (ctx.archive.setting("waiting") or "").split()
    bases = ctx.archive.find_bases(waiting)
    return [key for key, base in bases.items() if parent_folder(base.path) in folders]


def _is_not_enough(ctx: SyncContext, found: VaultSnapshot) -> bool:
    """Whether something went from these folders, or came from others."""
    claimed = {seen.id: path for path, seen in found.seen.items() if seen.is_note}
    if any(claimed.get(fact_id) is None for fact_id in found.absent):
        return True
    bases = ctx.archive.find_bases([key for key in claimed if key])
    if any(found.is_unreadable(base.path) for base in bases.values()):
        return True
    return any(
        conflict.conflict_path is not None
        and not found.is_unreadable(conflict.conflict_path)
        and parent_folder(conflict.conflict_path) in found.scanned_folders
        and conflict.conflict_path not in found.conflict_notes
        for conflict in ctx.archive.conflicts()
    )
