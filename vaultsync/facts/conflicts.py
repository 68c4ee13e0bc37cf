"""The open conflicts that an agent may see."""

from __future__ import annotations

from dataclasses import replace

from vaultsync.errors import ConflictNotFoundError
from vaultsync.facts.service import is_visible
from vaultsync.notes.conflict_note import Conflict
from vaultsync.sync.context import SyncContext


def visible_conflicts(ctx: SyncContext, *, agent: str | None) -> list[Conflict]:
    """The open conflicts about facts that the agent may see; notes where they lie now."""
    found = ctx.archive.conflicts()
    bases = ctx.archive.find_bases([each.fact_id for each in found])
    return [
        replace(x, path=bases[x.fact_id].path if x.fact_id in bases else x.path)
        for x in found
        if is_visible(ctx, x.fact_id, agent=agent)
    ]


def find_conflict(ctx: SyncContext, conflict_id: str, *, agent: str | None = None) -> Conflict:
    """The open conflict of that id, or of the one id that begins so.

    Raises:
        ConflictNotFoundError: there is none, or more than one, that the agent may see.
    """
    seen = visible_conflicts(ctx, agent=agent)
    found = [each for each in seen if each.id.startswith(conflict_id)]
    if len(found) != 1 or not conflict_id:
        raise ConflictNotFoundError(conflict_id)
    return found[0]
