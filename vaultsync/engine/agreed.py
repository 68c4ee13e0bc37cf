"""Bases of facts whose notes say, byte for byte, what they are written as.

Neither side is written and nobody waits for a file, so they share one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultsync.core.paths import VaultPath, parent
from vaultsync.core.reconcile import Action, Do
from vaultsync.engine.item import Outcome
from vaultsync.engine.mirror import Mirror
from vaultsync.engine.snapshot import Seen, trusted
from vaultsync.engine.witness import NEWEST, newest_row
from vaultsync.ports import Base

MANY = 10_000
"""So many bases go into one transaction: each page of the archive is written but once."""


def is_agreed(action: Action) -> bool:
    """Whether an action only records what both sides were found to say alike."""
    return action.do is Do.RECORD and action.text is not None


def record_agreed(
    mirror: Mirror,
    actions: Sequence[Action],
    outcome: Outcome,
    seen: Mapping[VaultPath, Seen],
) -> None:
    """Keep a base of each fact, and the bytes of its note."""
    began_ns = int(mirror.clock.now().timestamp() * 1e9)
    for start in range(0, len(actions), MANY):
        some = actions[start : start + MANY]
        bases: list[Base] = []
        blobs: dict[str, bytes] = {}
        for action in some:
            fact, text, path = action.merged, action.text, action.path
            assert fact is not None and text is not None and path is not None  # noqa: S101, PT018
            file = seen[path].file
            bases.append(Base(fact, file.sha, trusted(file.stamp, began_ns)))
            blobs[file.sha] = text
            outcome.stamps[path] = bases[-1].stamp
        newest = newest_row(mirror)
        with mirror.archive.transaction():
            mirror.archive.put_blobs(blobs)
            mirror.archive.put_bases(bases)
            mirror.archive.set_setting(NEWEST, newest)
            # What was known of these folders is no more, should the pass end here.
            places = {parent(base.path) for base in bases}
            mirror.archive.set_folders(dict.fromkeys(places, b""))
