"""Carry out a plan, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultsync.model.paths import VaultPath
from vaultsync.sync.apply import Batch
from vaultsync.sync.context import Links, Mirror
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.fast_path import record_agreed
from vaultsync.sync.item import CREATES_NOTE, Outcome
from vaultsync.sync.report import Progress
from vaultsync.sync.snapshot import Seen

_IDLE = frozenset({Do.NOTHING, Do.WAIT, Do.ATTEND})


def apply_plan(
    mirror: Mirror,
    actions: Sequence[Action],
    *,
    run: str,
    seen: Mapping[VaultPath, Seen],
    agreed: Sequence[Seen] = (),
    progress: Progress | None = None,
    actor: str = "person",
) -> Outcome:
    """Record what is `agreed`, and carry out the actions.

    What cannot be done now is named in the outcome.

    Raises:
        OSError: the disk is full or broken; what was begun is repaired by the next pass.
        StoreUnavailableError: the same, of the store.
    """
    outcome = Outcome(stamps=record_agreed(mirror, agreed))
    todo = [action for action in actions if action.do not in _IDLE]
    size = mirror.policy.batch
    # Notes that have no base yet can be linked to by others of this pass.
    fresh = [a for a in todo if a.do in CREATES_NOTE or a.base is None]
    planned = {a.fact_id: a.merged for a in fresh if a.merged is not None}
    links = Links(mirror, planned)
    starts = range(0, len(todo), size)

    def batch(start: int) -> Batch:
        some = todo[start : start + size]
        return Batch(
            mirror, some, outcome, run=run, seen=seen, links=links, actor=actor
        )

    current = batch(0)
    for start in starts:
        following = batch(start + size)
        current.apply(following)
        current = following
        if progress is not None:
            progress("apply", min(start + size, len(todo)), len(todo))
    return outcome
