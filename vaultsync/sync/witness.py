"""The newest row that the store was seen to hold: an older store, put back, lacks it.

Bases rest on rows that the cursor has not passed yet: those that a pass wrote or read
which did not come to its end, those of facts that became notes at once.
"""

from __future__ import annotations

from vaultsync.sync.context import Mirror

NEWEST = "newest_row"
"""The setting: number and revision."""


def row(seq: int, revision: str) -> str:
    """A row of the store, as it is remembered."""
    return f"{seq} {revision}"


def newest_row(mirror: Mirror) -> str | None:
    """What is to be remembered, in one transaction with what rests on it.

    Where the store lacks what was remembered before, that stays: it is to be noticed by
    the next pass, should this one not come to its end.

    Raises: StoreUnavailableError.
    """
    if not lacks(mirror, seen_up_to=0):
        seq = mirror.store.state().seq
        revision = mirror.store.revision_at(seq)
        if revision is not None:
            return row(seq, revision)
    return mirror.archive.setting(NEWEST)


def lacks(mirror: Mirror, *, seen_up_to: int) -> bool:
    """Whether the store lacks the row; one up to the cursor was looked for by that.

    Raises: StoreUnavailableError.
    """
    before = mirror.archive.setting(NEWEST)
    if before is None:
        return False
    seq, _, revision = before.partition(" ")
    return int(seq) > seen_up_to and mirror.store.revision_at(int(seq)) != revision
