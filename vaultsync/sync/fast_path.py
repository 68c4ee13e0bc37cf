"""Facts without a base whose notes are, byte for byte, what they are written as.

Nothing is to be planned for them: their bases are recorded. Neither side is written and
nobody waits for a file, so they share one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.storage.archive import Base
from vaultsync.storage.store import FeedRow
from vaultsync.storage.vault import FileStamp
from vaultsync.sync.changes import StoreChange, VaultChange
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import Decision, decide
from vaultsync.sync.identity import NoteIdentities
from vaultsync.sync.preconditions import HIGH_WATER_SETTING, newest_row_mark
from vaultsync.sync.snapshot import ScannedFile, trusted_stamp

BASES_PER_TRANSACTION = 10_000
"""So many bases go into one transaction: each page of the archive is written but once."""


def unchanged_decision() -> Decision:
    """What the table says of them all."""
    return decide(VaultChange.EQUAL, StoreChange.CREATED, base=False)


def take_unchanged(
    who: NoteIdentities, rows: dict[str, FeedRow], *, named: Collection[str]
) -> list[ScannedFile]:
    """The verbatim notes of whose facts the store says now what it said.

    Their rows are taken out of `rows`. All others are looked at as any note is, and so
    are those of the facts in `named`.
    """
    agreed: list[ScannedFile] = []
    for fact_id, seen in who.unchanged.items():
        row = rows.get(fact_id)
        assert seen.canonical_of is not None  # noqa: S101 - they all have one
        if row and row.revision == seen.canonical_of.revision and fact_id not in named:
            del rows[fact_id]
            agreed.append(seen)
        else:
            who.of_fact[fact_id] = seen
    return agreed


def record_unchanged(
    ctx: SyncContext, agreed: Sequence[ScannedFile]
) -> dict[VaultPath, FileStamp | None]:
    """Keep a base of each fact, and the bytes of its note; the stamps of the notes."""
    began_ns = int(ctx.clock.now().timestamp() * 1e9)
    stamps: dict[VaultPath, FileStamp | None] = {}
    for start in range(0, len(agreed), BASES_PER_TRANSACTION):
        bases: list[Base] = []
        blobs: dict[str, bytes] = {}
        some = agreed[start : start + BASES_PER_TRANSACTION]
        for seen in some:
            file, fact = seen.file, seen.canonical_of
            assert fact is not None  # noqa: S101 - they all have one
            stamp = stamps[seen.path] = trusted_stamp(file.stamp, began_ns)
            bases.append(Base(fact, file.sha, stamp))
            blobs[file.sha] = file.data
        newest = newest_row_mark(ctx)
        with ctx.archive.transaction():
            ctx.archive.put_blobs(blobs)
            ctx.archive.put_bases(bases)
            ctx.archive.set_setting(HIGH_WATER_SETTING, newest)
            # What was known of these folders is no more, should the pass end here.
            places = {parent_folder(seen.path) for seen in some}
            ctx.archive.set_folders(dict.fromkeys(places, b""))
    return stamps
