"""Archives to test, and rows to put into them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.fakes import FakeClock
from tests.memory_archive import MemoryArchive
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.model.fact import make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict
from vaultsync.notes.proposal_note import ProposalRecord, ProposedChange
from vaultsync.storage.archive import Archive, Base, HistoryEntry, OutboxEntry, WriteIntent
from vaultsync.storage.vault import FileStamp

ARCHIVES: dict[str, Callable[[Path], Archive]] = {
    "file": lambda folder: SqliteArchive.open(folder / "archive.sqlite3"),
    "in memory": lambda folder: SqliteArchive.open(":memory:"),
    "the tests' own": lambda folder: MemoryArchive(),
}

CLOCK = FakeClock()
IDS = [CLOCK.new_id() for _ in range(1_200)]
A, B, C = IDS[:3]
AT = "2026-02-14T13:45:00Z"
STAMP = FileStamp(size=7, mtime_ns=1_771_076_700_123_456_789, ctime_ns=-1, inode=42)
ODD_PATHS = [
    *("note.md", "a/b/c d.md", "Grün/Café 🍵.md", "Gru\u0308n/e\u0301.md", "00/123"),
    *('it\'s/"quoted" [[x]] 100%_?.md', "half/\ufffd.md"),
]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def a_base(
    fact_id: str = A,
    path: str = "public/notes/tea.md",
    *,
    title: str = "Tea",
    stamp: FileStamp | None = STAMP,
    missing_since: str | None = None,
) -> Base:
    fact = make_fact({"id": fact_id, "title": title, "tags": ["x"], "mood": {"a": [1]}})
    fact = fact.evolve(path=VaultPath(path), revision=f"1-{fact_id[-4:]}")
    return Base(fact, sha(title.encode()), stamp, missing_since)


def an_intent(op: str, before: str | None = None, after: str | None = "2") -> WriteIntent:
    return WriteIntent(op, A, VaultPath("a/b.md"), before, after, a_base().fact)


def an_outgoing(op: str, kind: str = "update") -> OutboxEntry:
    before: dict[str, Value] = {"tags": ["a"], "deep": {"x": None}}
    after: dict[str, Value] = {"tags": []}
    return OutboxEntry(op, A, kind, before, after, "indy", AT)


def a_conflict(conflict_id: str, outcome: str = "", fact_id: str = A) -> ConflictRecord:
    fields = (FieldConflict("title", "x", "y", "z"), FieldConflict("tags", ["1"], [], None))
    note, beside = VaultPath("a/b.md"), VaultPath("a/b.conflict.md")
    made = ConflictRecord(conflict_id, fact_id, note, beside, fields, "indy", AT, "r1", title="Tea")
    return replace(made, sha="00", outcome=outcome)


def a_proposal(proposal_id: str, outcome: str = "") -> ProposalRecord:
    change = ProposedChange(
        A, "r1", {"title": "Tea"}, {"tags": ["ü"], "n": None}, VaultPath("a.md")
    )
    gone = ProposedChange(B, "", {}, None)
    made = ProposalRecord(
        proposal_id, "junk", "Drop it", "Old.", "rule", "public", AT, AT, (change, gone)
    )
    return replace(made, outcome=outcome, note_path=VaultPath("a.proposal.md"))


def an_entry(run: str, fact_id: str, field: str = "title") -> HistoryEntry:
    return HistoryEntry(run, AT, fact_id, "vault", "indy", field, {"x": ["ü", None]}, 2.5)


def same(found: Base | None, put: Base) -> bool:
    """Equal facts may differ in path and revision; bases must not."""
    return (
        found == put
        and found.fact.path == put.fact.path
        and found.fact.revision == put.fact.revision
    )


def put(archive: Archive, *bases: Base) -> None:
    with archive.transaction():
        archive.put_bases(bases)
