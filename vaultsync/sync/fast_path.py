"""Facts without a base whose notes are, byte for byte, what they are written as.

Nothing is to be planned for them: their bases are recorded. Neither side is written and
nobody waits for a file, so they share one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vaultsync.model.paths import VaultPath, parent
from vaultsync.storage.archive import Base
from vaultsync.storage.store import Written
from vaultsync.storage.vault import Stamp
from vaultsync.sync.changes import StoreChange, VaultChange
from vaultsync.sync.context import Mirror
from vaultsync.sync.decision_table import Row, decide
from vaultsync.sync.identity import Identities
from vaultsync.sync.preconditions import NEWEST, newest_row
from vaultsync.sync.snapshot import Seen, trusted

MANY = 10_000
"""So many bases go into one transaction: each page of the archive is written but once."""


def row_of_agreed() -> Row:
    """What the table says of them all."""
    return decide(VaultChange.EQUAL, StoreChange.CREATED, base=False)


def take_agreed(
    who: Identities, rows: dict[str, Written], *, named: Collection[str]
) -> list[Seen]:
    """The verbatim notes of whose facts the store says now what it said.

    Their rows are taken out of `rows`. All others are looked at as any note is, and so
    are those of the facts in `named`.
    """
    agreed: list[Seen] = []
    for fact_id, seen in who.verbatim.items():
        row = rows.get(fact_id)
        assert seen.verbatim is not None  # noqa: S101 - they all have one
        if row and row.revision == seen.verbatim.revision and fact_id not in named:
            del rows[fact_id]
            agreed.append(seen)
        else:
            who.of_fact[fact_id] = seen
    return agreed


def record_agreed(
    mirror: Mirror, agreed: Sequence[Seen]
) -> dict[VaultPath, Stamp | None]:
    """Keep a base of each fact, and the bytes of its note; the stamps of the notes."""
    began_ns = int(mirror.clock.now().timestamp() * 1e9)
    stamps: dict[VaultPath, Stamp | None] = {}
    for start in range(0, len(agreed), MANY):
        bases: list[Base] = []
        blobs: dict[str, bytes] = {}
        some = agreed[start : start + MANY]
        for seen in some:
            file, fact = seen.file, seen.verbatim
            assert fact is not None  # noqa: S101 - they all have one
            stamp = stamps[seen.path] = trusted(file.stamp, began_ns)
            bases.append(Base(fact, file.sha, stamp))
            blobs[file.sha] = file.data
        newest = newest_row(mirror)
        with mirror.archive.transaction():
            mirror.archive.put_blobs(blobs)
            mirror.archive.put_bases(bases)
            mirror.archive.set_setting(NEWEST, newest)
            # What was known of these folders is no more, should the pass end here.
            places = {parent(seen.path) for seen in some}
            mirror.archive.set_folders(dict.fromkeys(places, b""))
    return stamps
