"""A store in memory, which serves as a reference and fails on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from vaultsync.errors import DamagedFactError, FactNotFoundError, StoreUnavailableError
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.storage.clock import Clock, time_text
from vaultsync.storage.store import (
    AccessCount,
    DamagedRows,
    FeedRow,
    ReplacedVersion,
    RevisionMismatch,
    StoreState,
    StoreWrite,
    with_accesses,
)


@dataclass(frozen=True, slots=True)
class _Row:
    feed_row: FeedRow
    body: str | None
    """As text, so that changes to a returned fact do not change the store."""
    op: str


@dataclass(frozen=True, slots=True)
class StoreBackup:
    """A backup by `MemoryStore.snapshot()`."""

    rows: tuple[tuple[str, _Row], ...]
    seq: int
    log: Mapping[int, str]
    accesses: Mapping[str, tuple[AccessCount, str]]
    replaced: Mapping[str, _Row]


class MemoryStore:
    """A `Store` that is gone with the process.

    Four knobs let it fail. `away` makes every call raise `StoreUnavailableError`;
    `lose_ack` makes `write` raise it after the writes were done; `before` is called
    with the name of a method before the method does anything, and may raise; `restore`
    and `clear` take the store back in time.
    """

    def __init__(self, clock: Clock, store_id: str = "memory") -> None:
        self.away = False
        self.lose_ack = False
        self._damaged = DamagedRows()
        self.before: Callable[[str], None] = _nothing
        self._clock = clock
        self._store_id = store_id
        self._rows: dict[str, _Row] = {}
        self._seq = 0
        self._log: dict[int, str] = {}
        self._accesses: dict[str, tuple[AccessCount, str]] = {}
        self._replaced: dict[str, _Row] = {}
        self._writes = 0
        self._closed = False

    def state(self) -> StoreState:
        self._enter("state")
        alive = sum(not row.feed_row.deleted for row in self._rows.values())
        return StoreState(self._store_id, self._seq, alive, self._log.get(self._seq, ""))

    def feed(self, since: int = 0) -> list[FeedRow]:
        self._enter("feed")
        return sorted(row.feed_row for row in self._rows.values() if row.feed_row.seq > since)

    def last_write(self, fact_id: str) -> FeedRow | None:
        self._enter("written")
        row = self._rows.get(fact_id)
        return row.feed_row if row else None

    def revision_at(self, seq: int) -> str | None:
        self._enter("revision_at")
        return self._log.get(seq)

    def get(self, fact_id: str) -> Fact:
        self._enter("get")
        found = self._find(fact_id, deleted=False)
        if found is None and fact_id in self.damaged():
            raise DamagedFactError(fact_id, self.damaged()[fact_id])
        if found is None:
            raise FactNotFoundError(fact_id)
        return found

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        self._enter("find_many")
        found = {each: self._find(each, deleted=False) for each in fact_ids}
        return {each: fact for each, fact in found.items() if fact is not None}

    def tombstone(self, fact_id: str) -> Fact | None:
        self._enter("buried")
        return self._find(fact_id, deleted=True)

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        self._enter("iter_facts")
        wanted = [x for x in self._rows if (not after or x < after if newest else x > after)]
        for fact_id in sorted(wanted, reverse=newest):
            fact = self._find(fact_id, deleted=deleted)
            if fact is not None:
                yield fact

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        self._enter("write")
        refused: set[str] = set()
        seen = dict(self._rows)
        answers = [self._write(each, refused, seen) for each in writes]
        if self.lose_ack:
            why = "the answer was lost"
            raise StoreUnavailableError(why)
        return answers

    def damaged(self) -> Mapping[str, str]:
        return self._damaged.reasons

    def last_ops(self, fact_ids: Iterable[str]) -> dict[str, str]:
        self._enter("last_ops")
        rows = {each: self._rows.get(each) for each in fact_ids}
        return {each: row.op for each, row in rows.items() if row is not None and row.op}

    def count_accesses(self, counts: Mapping[str, AccessCount], op: str) -> int:
        self._enter("count_accesses")
        found = {each: self._find(each, deleted=False) for each in counts}
        alive = {each: fact for each, fact in found.items() if fact is not None}
        for each, fact in alive.items():
            if self._accesses.get(each, (None, ""))[1] != op:
                now = counts[each]
                last = max(fact.last_accessed_at or "", now.at)
                self._accesses[each] = AccessCount(fact.access_count + now.times, last), op
        if self.lose_ack:
            why = "the answer was lost"
            raise StoreUnavailableError(why)
        return len(alive)

    def replaced_ids(self) -> list[str]:
        self._enter("replaced_ids")
        rows = sorted(row.feed_row for row in self._replaced.values())
        return list(dict.fromkeys(row.fact_id for row in rows))

    def replaced_versions(self, fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        self._enter("replaced_versions")
        found = []
        some = set(fact_ids)
        for row in self._replaced.values():
            if row.feed_row.fact_id not in some:
                continue
            seq, _, revision, _, actor, at = row.feed_row
            with suppress(ValueError):
                fact = _stored_fact(row.body or "", revision)
                found.append(ReplacedVersion(seq, fact, actor, at))
        return sorted(found, key=lambda each: each.seq)

    def drop_replaced(self, revisions: Iterable[str]) -> None:
        self._enter("drop_replaced")
        for each in revisions:
            self._replaced.pop(each, None)

    def close(self) -> None:
        self._closed = True

    def snapshot(self) -> StoreBackup:
        """A backup, for `restore`."""
        return StoreBackup(
            tuple(self._rows.items()),
            self._seq,
            dict(self._log),
            dict(self._accesses),
            dict(self._replaced),
        )

    def restore(self, backup: StoreBackup) -> None:
        """Go back to a backup: the same store, its counter back in time as well."""
        self._rows = dict(backup.rows)
        self._seq = backup.seq
        self._log = dict(backup.log)
        self._accesses = dict(backup.accesses)
        self._replaced = dict(backup.replaced)

    def erase_text(self, fact_id: str) -> None:
        """Leave of a tombstone what a purge leaves."""
        self._rows[fact_id] = replace(self._rows[fact_id], body=None)

    def damage(
        self, fact_id: str, change: Callable[[str], str] = lambda body: body[: len(body) // 2]
    ) -> None:
        """Change the row of a fact; truncate it by default."""
        row = self._rows[fact_id]
        self._rows[fact_id] = replace(row, body=change(row.body or ""))

    def clear(self) -> None:
        self.restore(StoreBackup((), 0, {}, {}, {}))

    def _enter(self, method: str) -> None:
        self.before(method)
        if self.away or self._closed:
            raise StoreUnavailableError("it was closed" if self._closed else "away")

    def _find(self, fact_id: str, *, deleted: bool) -> Fact | None:
        row = self._rows.get(fact_id)
        if row is None or row.feed_row.deleted != deleted:
            return None
        if row.body is None:
            return self._damaged.read(fact_id, lambda: None)
        revision = row.feed_row.revision
        fact = self._damaged.read(fact_id, _stored_fact, row.body, revision)
        return fact and with_accesses(fact, self._accesses.get(fact_id, (None,))[0])

    def _write(
        self, write: StoreWrite, refused: set[str], seen: dict[str, _Row]
    ) -> str | RevisionMismatch:
        row = self._rows.get(write.fact_id)
        found = row.feed_row.revision if row else None
        if found != write.expect or write.needs in refused:
            refused.add(write.fact_id)
            return RevisionMismatch(write.fact_id, found)
        self._seq += 1
        # Unlike `seq` this never goes back: a revision is unique even after `restore`.
        self._writes += 1
        revision = f"{self._seq}-{self._writes:08x}"
        self._log[self._seq] = revision
        if write.fact is not None:
            body: str | None = wire.fact_to_json(write.fact)
        else:
            body = row.body if row and write.fact_id not in self.damaged() else None
        before = seen.pop(write.fact_id, None)
        known = write.recorded or (before and before.feed_row.deleted)
        known = known or write.fact_id in self.damaged()
        if before and before.body and not known and (write.fact is None or body != before.body):
            self._replaced[before.feed_row.revision] = before
        at = time_text(self._clock.now())
        self._rows[write.fact_id] = _Row(
            FeedRow(
                self._seq,
                write.fact_id,
                revision,
                deleted=write.fact is None,
                actor=write.actor,
                at=at,
            ),
            body,
            write.op or (row.op if row else ""),
        )
        return revision


def _nothing(method: str) -> None:
    """Do nothing."""


def _stored_fact(body: str, revision: str) -> Fact:
    return wire.fact_from_stored_values(json.loads(body), revision=revision)
