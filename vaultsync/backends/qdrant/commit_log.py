"""The head of a store in Qdrant: one point, which every write changes.

Qdrant changes one point at a time and has no transactions. So a batch of writes is one
conditional change of one point, the head: it replaces exactly the head that the writer
read. The head contains the batch until each of its facts is a point; every process that
finds an unfinished batch completes it, so a crash of the writer does no
harm.

It follows, without any clock, that numbers have no gaps and are in the order in which writes
become visible, that batches are atomic, and that a lost acknowledgement can be recovered, because
the head lists its latest batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple
from uuid import UUID, uuid5

import msgspec

from vaultsync.backends.qdrant.operations import MatchAny, Point, PointFilter, packed
from vaultsync.backends.qdrant.payload import DAMAGE, StoredFact
from vaultsync.errors import StoreUnavailableError
from vaultsync.model import serialization as wire
from vaultsync.storage.store import FeedRow, RevisionMismatch, StoreWrite

_NAMES = UUID("6f0c9a4e-8a5b-5d0e-9a53-7a1d6c0f2b11")
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
_DAMAGED = "the point with its state is damaged, or belongs to another program"
_REPAIR = (
    "check the address and the collection; restore the collection from a snapshot, or move it"
    " away and create a new one from the notes: `vaultsync rebuild --from vault`"
)
MAX_INLINE_ROWS = 128
"""Maximum number of rows in the head itself; larger batches are split into pages."""
MAX_ROWS_CHARS = 1 << 20
"""Maximum number of characters of several rows in one point, because servers limit the size of
requests."""
MAX_LOGGED_BATCHES = 256
"""Maximum number of batches listed in the head; older ones move to other points, half at a time."""


def point_id(text: str) -> str:
    """The id of one of vaultsync's points."""
    return str(uuid5(_NAMES, text))


COMMIT_RECORD_ID = point_id("head")


class CommittedBatch(NamedTuple):
    """Writes that became visible together."""

    first: int
    """Their lowest number."""
    version: str
    """A random text in which each revision of the batch ends."""


class CommitDecision(NamedTuple):
    """The outcome of a call to `write()`."""

    answers: list[str | RevisionMismatch]
    head: CommitRecord | None
    """The new head, which must replace the one that was read; None if nothing changes."""
    rows: list[StoredFact]
    replaced: list[StoredFact]
    """The versions that must be stored before the head is replaced."""


class _StoredHead(msgspec.Struct, rename="camel"):
    """The payload of the head, or some of its keys."""

    store_id: str
    revision: str
    seq: _Count
    facts: _Count
    log: str = ""
    rows: str = "[]"
    pages: _Count = 0
    isolated: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The head of a store."""

    store_id: str
    revision: str
    seq: int = 0
    facts: int = 0
    log: tuple[CommittedBatch, ...] = ()
    rows: tuple[StoredFact, ...] = ()
    """The rows of the newest batch, until they are points."""
    pages: int = 0
    """The number of points with those rows, if they are too many for the head, or belong to
    other collections."""
    isolated: tuple[str, ...] = ()
    """The scopes, or prefixes of scopes, that have their own collections."""
    scopes: tuple[str, ...] = ()
    """The isolated scopes whose collections exist."""

    @property
    def is_committed(self) -> bool:
        """Whether all rows of the batch are points."""
        return not (self.rows or self.pages)

    def holds(self, mark: str) -> bool:
        """Whether a batch is in the history of this head."""
        return any(each.version == mark for each in self.log)

    def revision_at(self, seq: int) -> str | None:
        """The revision of a number; None if the head does not list its batch."""
        if seq > self.seq:
            return None
        for first, mark in reversed(self.log):
            if first <= seq:
                return f"{seq}-{mark}"
        return None

    def decide(
        self,
        writes: Sequence[StoreWrite],
        known: Mapping[str, StoredFact],
        *,
        mark: str,
        at: str,
        home: Callable[[str], str],
    ) -> CommitDecision:
        """Decide each write by the state of its fact, including earlier writes of the batch.

        `home` returns the collection of a scope's facts.
        """
        last = dict(known)
        seq, facts = self.seq, self.facts
        answers: list[str | RevisionMismatch] = []
        written: dict[str, StoredFact] = {}
        replaced: list[StoredFact] = []
        refused = set()
        for write in writes:
            before = last.get(write.fact_id)
            found = before.feed_row.revision if before else None
            if found != write.expect or write.needs in refused:
                refused.add(write.fact_id)
                answers.append(RevisionMismatch(write.fact_id, found))
                continue
            seq += 1
            gone = write.fact is None
            facts += (before is None or before.feed_row.deleted) - gone
            revision = f"{seq}-{mark}"
            row = FeedRow(seq, write.fact_id, revision, deleted=gone, actor=write.actor, at=at)
            old = before or StoredFact(row, None)
            body, place = old.fact_json, old.home
            if write.fact is not None:
                body, place = wire.fact_to_json(write.fact), home(write.fact.scope)
            was = known.get(write.fact_id)
            left = was.home if was and was.home != place else None
            now = StoredFact(row, body, write.op or old.op, place, left)
            # Of the versions that a batch replaces, only earlier ones were ever visible.
            if before and write.fact_id not in written and _is_kept(before, write, body):
                replaced.append(before)
            last[write.fact_id] = written[write.fact_id] = now
            answers.append(revision)
        if not written:
            return CommitDecision(answers, None, [], [])
        rows = list(written.values())
        parts = len(_parted(rows))
        homes = {row.home for row in rows}
        inline = parts == 1 and homes == {""}
        head = replace(
            self,
            revision=mark,
            seq=seq,
            facts=facts,
            log=(*self.log, CommittedBatch(self.seq + 1, mark)),
            rows=tuple(rows) if inline else (),
            pages=0 if inline else parts,
            scopes=tuple(sorted({*self.scopes, *homes} - {""})),
        )
        return CommitDecision(answers, head, rows, replaced)

    def truncate_log(self) -> tuple[CommitRecord, Point | None]:
        """The head without its older batches, and the point with those."""
        if len(self.log) <= MAX_LOGGED_BATCHES:
            return self, None
        old, rest = (self.log[: MAX_LOGGED_BATCHES // 2], self.log[MAX_LOGGED_BATCHES // 2 :])
        payload = {
            "kind": "log",
            "seq": old[0].first,
            "last": rest[0].first - 1,
            "log": _log_text(old),
        }
        kept = Point(point_id(f"log {old[0].first} {old[0].version}"), payload)
        return replace(self, log=rest), kept

    def point(self) -> Point:
        """The head as a point."""
        payload: dict[str, Any] = {
            "kind": "head",
            "storeId": self.store_id,
            "revision": self.revision,
            "seq": self.seq,
            "facts": self.facts,
            "log": _log_text(self.log),
        }
        if self.rows:
            payload["rows"] = rows_text(self.rows)
        if self.pages:
            payload["pages"] = self.pages
        if self.isolated:
            payload |= {"isolated": [*self.isolated], "scopes": [*self.scopes]}
        return Point(COMMIT_RECORD_ID, payload)

    @classmethod
    def parse(cls, payload: Mapping[str, Any]) -> CommitRecord:
        """The head in a payload.

        Raises:
            StoreUnavailableError: the payload is not a head.
        """
        with readable():
            head = msgspec.convert(payload, _StoredHead)
            values = {**msgspec.structs.asdict(head), "log": log_of(head.log)}
            return cls(**{**values, "rows": rows_of(head.rows)})

    def unchanged_condition(self) -> PointFilter:
        """The condition that a point is still this head."""
        return PointFilter((MatchAny("kind", ["head"]), MatchAny("revision", [self.revision])))


@contextmanager
def readable() -> Iterator[None]:
    """Raise `StoreUnavailableError` if what is read in this context is not a head."""
    try:
        yield
    except DAMAGE as error:
        raise StoreUnavailableError(_DAMAGED, helps=_REPAIR) from error


def _is_kept(before: StoredFact, write: StoreWrite, body: str | None) -> bool:
    """Whether the replaced version must be kept until an archive records it."""
    if before.feed_row.deleted or before.fact_json is None or write.recorded:
        return False
    return write.fact is None or body != before.fact_json


def page_id(mark: str, number: int) -> str:
    """The id of the point that holds a page of a batch."""
    return point_id(f"page {mark} {number}")


def pages_of(rows: Sequence[StoredFact], mark: str, at: str) -> list[Point]:
    """The rows of a batch as points, each in the collection of its facts."""
    points = []
    for number, page_rows in enumerate(_parted(rows)):
        page = {"kind": "page", "revision": mark, "at": at, "rows": rows_text(page_rows)}
        home = {"home": page_rows[0].home} if page_rows[0].home else {}
        points.append(Point(page_id(mark, number), page | home))
    return points


def _parted(rows: Sequence[StoredFact]) -> list[list[StoredFact]]:
    """Rows grouped by the points that contain them; a group has one collection."""
    by_home: dict[str, list[tuple[StoredFact, int]]] = {}
    for row in rows:
        by_home.setdefault(row.home, []).append((row, len(row.fact_json or "")))
    return [
        part
        for sized in by_home.values()
        for part, _ in packed(sized, room=MAX_ROWS_CHARS, most=MAX_INLINE_ROWS)
    ]


def rows_text(rows: Sequence[StoredFact]) -> str:
    """Rows as JSON."""
    return msgspec.json.encode([(*row.feed_row, *row[1:]) for row in rows]).decode()


def rows_of(text: str) -> tuple[StoredFact, ...]:
    """The inverse of `rows_text()`."""
    return tuple(StoredFact(FeedRow(*each[:6]), *each[6:]) for each in msgspec.json.decode(text))


def _log_text(log: Sequence[CommittedBatch]) -> str:
    return " ".join(f"{first}:{mark}" for first, mark in log)


def log_of(text: str) -> tuple[CommittedBatch, ...]:
    """The batches in the text of a log."""
    pairs = (each.split(":") for each in text.split())
    return tuple(CommittedBatch(int(first), mark) for first, mark in pairs)
