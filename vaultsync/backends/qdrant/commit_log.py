"""The head of a store in Qdrant: one point, and all writes are a change of it.

Qdrant changes one point at a time, and knows no transaction. So a batch of writes is one
conditional change of one point, the head: it takes the place of the head that the writer
read, or of none. It carries the batch, until every fact of it is a point; whoever meets
a batch that is not carried out yet, carries it out, the writer or anybody after a crash.

From this follow, without any clock: numbers without gaps, in the order in which writes
become visible; a batch that happens whole or not at all; and an acknowledgement that got
lost is found again, because the head names the batches it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import msgspec

from vaultsync.backends.qdrant.operations import Is, Point, Where
from vaultsync.backends.qdrant.payload import Row
from vaultsync.model import serialization as wire
from vaultsync.storage.store import RevisionMismatch, Write, Written

_NAMES = UUID("6f0c9a4e-8a5b-5d0e-9a53-7a1d6c0f2b11")
IN_HEAD = 128
"""Rows of a batch that the head carries itself; more go into pages of as many."""
MUCH = 1 << 20
"""Characters of rows that go into one point, where there is more than one row: a request
must not be too large for a server."""
REMEMBERED = 256
"""Batches that the head names; older ones go into a point of their own, half at a time."""


def name(text: str) -> str:
    """The id of a point of ours."""
    return str(uuid5(_NAMES, text))


HEAD = name("head")


class Batch(NamedTuple):
    """Writes that became visible together."""

    first: int
    """Their lowest number."""
    mark: str
    """Random; each revision of the batch ends in it."""


class Decided(NamedTuple):
    """What a call of `write` comes to."""

    answers: list[str | RevisionMismatch]
    head: Head | None
    """The head that has to take the place of the one that was read; None for none."""
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Head:
    """Where a store stands."""

    store_id: str
    revision: str
    seq: int = 0
    facts: int = 0
    log: tuple[Batch, ...] = ()
    rows: tuple[Row, ...] = ()
    """Of the newest batch, as long as they may not be points yet."""
    pages: int = 0
    """Into how many points those rows went, where they are too many for this one."""

    @property
    def is_settled(self) -> bool:
        """Whether all that was written is in its point."""
        return not (self.rows or self.pages)

    def holds(self, mark: str) -> bool:
        """Whether a batch became part of this head's past."""
        return any(each.mark == mark for each in self.log)

    def revision_at(self, seq: int) -> str | None:
        """The revision of a number; None when it is of no batch that the head names."""
        if seq > self.seq:
            return None
        for first, mark in reversed(self.log):
            if first <= seq:
                return f"{seq}-{mark}"
        return None

    def decide(
        self,
        writes: Sequence[Write],
        known: Mapping[str, Row],
        *,
        mark: str,
        at: str,
    ) -> Decided:
        """Each write against what is known of its fact, those before it included."""
        last = {key: row.written for key, row in known.items()}
        said = {key: row.said for key, row in known.items()}
        ops = {key: row.op for key, row in known.items()}
        seq, facts = self.seq, self.facts
        answers: list[str | RevisionMismatch] = []
        made: dict[str, Row] = {}
        refused = set()
        for write in writes:
            before = last.get(write.fact_id)
            found = before.revision if before else None
            if found != write.expect or write.needs in refused:
                refused.add(write.fact_id)
                answers.append(RevisionMismatch(write.fact_id, found))
                continue
            seq += 1
            gone = write.fact is None
            facts += (before is None or before.deleted) - gone
            now = Written(
                seq,
                write.fact_id,
                f"{seq}-{mark}",
                deleted=gone,
                actor=write.actor,
                at=at,
            )
            last[write.fact_id] = now
            if write.fact is not None:
                said[write.fact_id] = wire.to_json(write.fact)
            op = ops[write.fact_id] = write.op or ops.get(write.fact_id, "")
            made[write.fact_id] = Row(now, said.get(write.fact_id), op)
            answers.append(now.revision)
        if not made:
            return Decided(answers, None, [])
        rows = list(made.values())
        parts = len(_parted(rows))
        head = replace(
            self,
            revision=mark,
            seq=seq,
            facts=facts,
            log=(*self.log, Batch(self.seq + 1, mark)),
            rows=tuple(rows) if parts == 1 else (),
            pages=0 if parts == 1 else parts,
        )
        return Decided(answers, head, rows)

    def shortened(self) -> tuple[Head, Point | None]:
        """The head without its older batches, and the point that keeps those."""
        if len(self.log) <= REMEMBERED:
            return self, None
        old, rest = self.log[: REMEMBERED // 2], self.log[REMEMBERED // 2 :]
        payload = {
            "kind": "log",
            "seq": old[0].first,
            "last": rest[0].first - 1,
            "log": _log_text(old),
        }
        kept = Point(name(f"log {old[0].first} {old[0].mark}"), payload)
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
        return Point(HEAD, payload)

    @classmethod
    def parse(cls, payload: Mapping[str, Any]) -> Head:
        """The head that a payload was made of."""
        return cls(
            store_id=payload["storeId"],
            revision=payload["revision"],
            seq=int(payload["seq"]),
            facts=int(payload["facts"]),
            log=log_of(payload.get("log") or ""),
            rows=rows_of(payload.get("rows") or "[]"),
            pages=int(payload.get("pages") or 0),
        )

    def settled(self) -> Head:
        """The head once all that was written is in its point."""
        return replace(self, rows=(), pages=0)

    def same(self) -> Where:
        """What a point meets that is still this head."""
        return Where((Is("kind", ["head"]), Is("revision", [self.revision])))


def page_id(mark: str, number: int) -> str:
    """The id of the point that holds a page of a batch."""
    return name(f"page {mark} {number}")


def pages_of(rows: Sequence[Row], mark: str, at: str) -> list[Point]:
    """The rows of a large batch as points."""
    return [
        Point(
            page_id(mark, number),
            {
                "kind": "page",
                "revision": mark,
                "at": at,
                "rows": rows_text(some),
            },
        )
        for number, some in enumerate(_parted(rows))
    ]


def _parted(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows by the points that carry them."""
    parts: list[list[Row]] = [[]]
    room = MUCH
    for row in rows:
        size = len(row.said or "")
        if parts[-1] and (len(parts[-1]) == IN_HEAD or size > room):
            parts.append([])
            room = MUCH
        parts[-1].append(row)
        room -= size
    return parts


def rows_text(rows: Sequence[Row]) -> str:
    """Rows as JSON."""
    return msgspec.json.encode(
        [(*row.written, row.said, row.op) for row in rows]
    ).decode()


def rows_of(text: str) -> tuple[Row, ...]:
    """The rows of such a text."""
    return tuple(
        Row(Written(*each[:6]), *each[6:]) for each in msgspec.json.decode(text)
    )


def _log_text(log: Sequence[Batch]) -> str:
    return " ".join(f"{first}:{mark}" for first, mark in log)


def log_of(text: str) -> tuple[Batch, ...]:
    """The batches of such a text."""
    pairs = (each.split(":") for each in text.split())
    return tuple(Batch(int(first), mark) for first, mark in pairs)
