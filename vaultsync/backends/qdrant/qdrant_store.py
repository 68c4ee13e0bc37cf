"""The facts in a collection of Qdrant, which any number of machines may use at once."""

from __future__ import annotations

import logging
import random
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain

from vaultsync.backends.qdrant.commit_log import (
    COMMIT_RECORD_ID,
    CommitRecord,
    log_of,
    page_id,
    pages_of,
    point_id,
    readable,
    rows_of,
    rows_text,
)
from vaultsync.backends.qdrant.operations import (
    DeletePoints,
    MatchAny,
    NumberRange,
    Payload,
    Point,
    PointCollection,
    PointFilter,
    PointOperation,
    UpsertPoints,
    batches,
)
from vaultsync.backends.qdrant.payload import (
    ACCESS_KEYS,
    ACCESSES_KIND,
    FACT_KEYS,
    FACT_KIND,
    FEED_KEYS,
    KINDS_BESIDE_FACTS,
    MAX_COUNTED_OPS,
    MOVED_KIND,
    REPLACED_KIND,
    TOMBSTONE_KIND,
    StoredFact,
    find_counted_ops,
    find_feed_row,
    find_row,
    to_access_count,
    to_fact,
    to_moved,
    to_payload,
    to_replaced,
    to_replaced_version,
)
from vaultsync.errors import (
    DamagedFactError,
    FactNotFoundError,
    InvalidIdError,
    StoreLayoutError,
    StoreUnavailableError,
)
from vaultsync.model.backoff import BackOff
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact
from vaultsync.storage.clock import Clock, time_text
from vaultsync.storage.erasure import Traces
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

_log = logging.getLogger(__name__)
_TRIES = 200
"""Maximum number of reads of the head if other writers are faster. Of the writers that read the
same head, one always wins."""
_PAGES_AT_ONCE = 8
"""Number of pages read at once, each of up to a mebibyte."""
_HEAD_FIELDS = ("storeId", "revision", "seq", "facts", "rows", "pages", "isolated", "scopes")
_ANY = MatchAny("kind", [FACT_KIND, TOMBSTONE_KIND])
_FACTS = PointFilter((MatchAny("kind", [FACT_KIND]),))
_TOMBSTONES = PointFilter((MatchAny("kind", [TOMBSTONE_KIND]),))
_PAGES = PointFilter((MatchAny("kind", ["page"]),))
_MOVED = PointFilter((MatchAny("kind", [MOVED_KIND]),))
_REPLACED = PointFilter((MatchAny("kind", [REPLACED_KIND]),))


class QdrantStore:
    """A `Store` in a collection: facts are points, and so are tombstones.

    `commit_log` describes how a batch of writes is atomic. With `create`, the first request
    creates the collection; without it, a store without its collection is unavailable.
    """

    def __init__(
        self, points: PointCollection, *, clock: Clock, create: bool, dimension: Callable[[], int]
    ) -> None:
        self._points = points
        self._clock = clock
        self._create = create
        self.check_use: Callable[[], None] = lambda: None
        """Called before each use; may raise a StoreUnavailableError."""
        self._dimension = dimension
        self._store_id = ""
        self._damaged = DamagedRows()

    # --------------------------------------------------------------------- reads

    def state(self) -> StoreState:
        head, _ = self._committed()
        revision = f"{head.seq}-{head.revision}" if head.seq else ""
        return StoreState(head.store_id, head.seq, head.facts, revision)

    def feed(self, since: int = 0) -> list[FeedRow]:
        head, _ = self._committed()
        if since >= head.seq:
            return []
        # Writes during the read have higher numbers, and are left to the next read.
        span = NumberRange("seq", least=since + 1, most=head.seq)
        found = self._points.walk_all(PointFilter((_ANY, span)), FEED_KEYS)
        return sorted(row for key, payload in found if (row := find_feed_row(key, payload)))

    def last_write(self, fact_id: str) -> FeedRow | None:
        payload = self._committed([fact_id], FEED_KEYS)[1].get(fact_id)
        return find_feed_row(fact_id, payload) if payload else None

    def revision_at(self, seq: int) -> str | None:
        head, _ = self._committed(fields=("log",))
        found = head.revision_at(seq)
        if found is not None or not 0 < seq <= head.seq:
            return found
        span = (NumberRange("seq", most=seq), NumberRange("last", least=seq))
        old = self._points.walk(PointFilter((MatchAny("kind", ["log"]), *span)), ["log"], limit=1)
        if not old:
            return None
        with readable():
            log = log_of(old[0][1]["log"])
        return CommitRecord("", "", seq=seq, log=log).revision_at(seq)

    def get(self, fact_id: str) -> Fact:
        found = self.find_many([fact_id])
        if fact_id in found:
            return found[fact_id]
        if fact_id in self.damaged():
            raise DamagedFactError(fact_id, self.damaged()[fact_id])
        raise FactNotFoundError(fact_id)

    def damaged(self) -> Mapping[str, str]:
        return self._damaged.reasons

    def _fact(
        self, fact_id: str, points: Mapping[str, Payload], *, deleted: bool = False
    ) -> Fact | None:
        """A fact from points, with its usage count."""
        payload = points.get(fact_id)
        if payload is None:
            return None
        fact = self._damaged.read(fact_id, to_fact, payload, deleted=deleted)
        count = to_access_count(points.get(_accesses_id(fact_id)))
        return None if fact is None else with_accesses(fact, count)

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        found: dict[str, Fact] = {}
        for batch in batches(fact_ids):
            points = self._with_counts(batch)
            facts = ((key, self._fact(key, points)) for key in batch)
            found |= {key: fact for key, fact in facts if fact is not None}
        return found

    def tombstone(self, fact_id: str) -> Fact | None:
        return self._fact(fact_id, self._with_counts([fact_id]), deleted=True)

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        self._committed()
        kind = _TOMBSTONES if deleted else _FACTS
        for page in batches(self._payloads(kind, after, newest=newest)):
            ids = [_accesses_id(key) for key, _ in page]
            points = {**dict(page), **self._points.take(ids, ACCESS_KEYS)}
            facts = (self._fact(key, points, deleted=deleted) for key, _ in page)
            yield from (fact for fact in facts if fact is not None)

    def replaced_ids(self) -> list[str]:
        self._committed()
        found = self._points.walk_all(_REPLACED, ("of", "seq"))
        rows = [(each.get("seq"), each.get("of")) for _, each in found]  # some may be damaged
        ids = sorted((seq, of) for seq, of in rows if isinstance(seq, int) and isinstance(of, str))
        return list(dict.fromkeys(of for _, of in ids))

    def replaced_versions(self, fact_ids: Iterable[str]) -> list[ReplacedVersion]:
        self._committed()
        of = (MatchAny("of", some) for some in batches(fact_ids))
        places = (PointFilter((*_REPLACED.must, each)) for each in of)
        found = chain.from_iterable(self._points.walk_all(each, FACT_KEYS) for each in places)
        versions = [to_replaced_version(payload) for _, payload in found]
        return sorted(filter(None, versions), key=lambda each: each.seq)

    def _payloads(
        self, kind: PointFilter, after: str, *, newest: bool
    ) -> Iterator[tuple[str, Payload]]:
        if not newest:
            yield from self._points.walk_all(kind, FACT_KEYS, after=after)
            return
        for batch in self._points.walk_down(kind, now=self._clock.now(), before=after):
            found = self._points.take(batch, FACT_KEYS) if batch else {}
            yield from ((key, found[key]) for key in batch if key in found)

    def last_ops(self, fact_ids: Iterable[str]) -> dict[str, str]:
        points = chain.from_iterable(
            self._committed(some, ("op",))[1].items() for some in batches(fact_ids)
        )
        return {key: op for key, payload in points if (op := payload.get("op"))}

    def close(self) -> None:
        self._points.close()

    # -------------------------------------------------------------------- writes

    def write(self, writes: Sequence[StoreWrite]) -> list[str | RevisionMismatch]:
        """Carry out each write whose condition holds, in one change of the head."""
        if not writes:
            return []
        at = time_text(self._clock.now())
        ids = list(dict.fromkeys(write.fact_id for write in writes))
        tried: dict[str, list[str | RevisionMismatch]] = {}
        waits = BackOff(first=0.002, longest=0.25, jitter=random.random)
        for _ in range(_TRIES):
            head, found = self._committed(ids, None)
            for mark, answers in tried.items():
                if head.holds(mark):
                    self.check_use()
                    return answers
            known = self._last_writes(found)
            mark = secrets.token_hex(4)
            decided = head.decide(writes, known, mark=mark, at=at, home=self._points.home)
            if decided.head is None:
                return decided.answers
            tried[mark] = decided.answers
            after, kept = decided.head.truncate_log()
            pages = pages_of(decided.rows, mark, at) if after.pages else []
            # Replaced versions are stored first. If another writer is faster, it replaces
            # the same ones.
            replaced = [
                Point(point_id(f"replaced {row.feed_row.revision}"), to_replaced(row))
                for row in decided.replaced
            ]
            beside = [*replaced, *pages, *([kept] if kept else [])]
            if beside:
                self._points.do([UpsertPoints(beside)])
            self._points.do(
                [UpsertPoints([after.point()], head.unchanged_condition(), mode="known")]
            )
            # A failed condition is not an error, so the result has to be read.
            now = self._head()
            if now is not None and now.holds(mark):
                if now.revision == after.revision:  # otherwise another writer has completed it
                    try:
                        self._carry_out(now, decided.rows)
                    except StoreUnavailableError as error:  # the next reader completes it
                        _log.debug("a batch of writes remains in the head: %s", error)
                self.check_use()  # again: meanwhile, a migration may have left this store
                return decided.answers
            self._clock.sleep(waits.next())  # another writer was faster
        raise StoreUnavailableError("other programs keep writing to it")

    def _carry_out(self, head: CommitRecord, rows: Sequence[StoredFact]) -> None:
        """Write the rows of a batch as points, and mark it as committed.

        Newer points are kept, because this may happen late.
        """
        after = replace(head, rows=(), pages=0)
        older = PointFilter((NumberRange("seq", below=head.log[-1].first),))
        points = [Point(row.feed_row.fact_id, to_payload(row)) for row in rows]
        # A fact is in its new collection before it is removed from the old one.
        moved = [Point(row.feed_row.fact_id, to_moved(row)) for row in rows if row.left is not None]
        steps: list[PointOperation] = [
            UpsertPoints(points, older),
            UpsertPoints(moved, older),
            UpsertPoints([after.point()], head.unchanged_condition(), mode="known"),
        ]
        if head.pages:
            pages = MatchAny("revision", [head.revision])
            steps.append(DeletePoints(PointFilter((*_PAGES.must, pages))))
        self._points.do(steps)

    def _last_writes(self, found: Mapping[str, Payload]) -> dict[str, StoredFact]:
        """The last writes in points.

        A point that is too damaged to have one counts as missing and as the oldest, because
        otherwise a write that replaces it would not meet its condition.
        """
        known = {key: row for key, payload in found.items() if (row := find_row(key, payload))}
        none = FeedRow(0, "", "", deleted=True, actor="", at="")
        if unreadable := [
            Point(key, to_payload(StoredFact(none, None, home=found[key].get("home", ""))))
            for key in found.keys() - known.keys()
        ]:
            self._points.do([UpsertPoints(unreadable)])
        return known

    def count_accesses(self, counts: Mapping[str, AccessCount], op: str) -> int:
        return sum(self._count(batch, counts, op) for batch in batches(counts))

    def _count(self, ids: Sequence[str], counts: Mapping[str, AccessCount], op: str) -> int:
        waits = BackOff(first=0.002, longest=0.25, jitter=random.random)
        for number in range(_TRIES):
            if number > 1:
                self._clock.sleep(waits.next())
            points = self._with_counts(ids)
            facts = [fact for key in ids if (fact := self._fact(key, points))]
            after: dict[str | None, list[Point]] = {}
            for fact in facts:
                ops = find_counted_ops(points.get(_accesses_id(fact.id)))
                if op not in (ops or ()):
                    last = None if ops is None else "".join(ops[-1:])
                    point = _accesses_point(fact, counts[fact.id], [*(ops or ()), op])
                    after.setdefault(last, []).append(point)
            if not after:
                return len(facts)
            # A failed condition is not an error: another process has counted, so read again.
            self._points.do([_counting_step(last, batch) for last, batch in after.items()])
        raise StoreUnavailableError("other programs keep counting in it")

    def drop_replaced(self, revisions: Iterable[str]) -> None:
        for some in batches(revisions):
            where = PointFilter((*_REPLACED.must, MatchAny("revision", some)))
            self._points.do([DeletePoints(where)])

    def purge(self, *, days: float, dry_run: bool = False) -> int:
        """Remove tombstones older than `days`, and pages of interrupted writes; or only count.

        A vault that has not synced for that long takes the store for an older one, and keeps
        its facts. Facts are counted again, because a cluster may lose some.

        Returns:
            The number of old tombstones.
        """
        head, _ = self._committed(fields=None)
        since = (self._clock.now() - timedelta(days=days)).isoformat()[:19]
        steps: list[PointOperation] = []
        forgotten: list[str] = []
        for kind in (_TOMBSTONES, _PAGES):
            old = {
                key: str(point["revision"])
                for key, point in self._points.walk_all(kind, ("at", "revision"))
                # A damaged point lacks it.
                if _is_before(since, point) and point.get("revision") not in (None, head.revision)
            }
            forgotten += old if kind is _TOMBSTONES else ()
            same = (MatchAny("revision", some) for some in batches(old.values()))
            steps += [DeletePoints(PointFilter((*kind.must, each))) for each in same]
        if dry_run:
            return len(forgotten)
        alive = self._points.count(_FACTS)
        if alive != head.facts:
            counted = replace(head, facts=alive).point()
            self._points.do([UpsertPoints([counted], head.unchanged_condition(), mode="known")])
        moved = self._points.walk_all(_MOVED, ("at", "seq")) if head.isolated else ()
        if seqs := [point["seq"] for _, point in moved if _is_before(since, point)]:
            until = NumberRange("seq", most=max(seqs))
            steps.append(DeletePoints(PointFilter((*_MOVED.must, until))))
        counts = MatchAny("kind", [ACCESSES_KIND])
        steps += [
            DeletePoints(PointFilter((counts, MatchAny("of", batch))))
            for batch in batches(forgotten)
        ]
        for batch in batches(steps):
            self._points.do(batch)
        return len(forgotten)

    def erase(self, traces: Traces) -> dict[str, int]:
        """Erase the texts of tombstones, as an `Erasable`; existing facts are kept.

        For a server, this proves that no request returns them any longer; when the segments
        are rewritten without them is up to the server.
        """
        points: list[Point] = []
        for batch in batches(sorted(traces.fact_ids)):
            for key, payload in self._committed(batch, None)[1].items():
                row = find_feed_row(key, payload)
                if row is not None and row.deleted:
                    emptied = StoredFact(row._replace(actor=""), None, home=payload.get("home", ""))
                    points.append(Point(key, to_payload(emptied)))
        tombstones = len(points)
        points += self._emptied_pages(traces.fact_ids)
        steps: list[PointOperation] = []
        for some in batches(points):  # unless others wrote them again
            same = MatchAny("revision", [x.payload["revision"] for x in some])
            steps.append(UpsertPoints(some, PointFilter((same,)), mode="known"))
        beside = [
            DeletePoints(PointFilter((MatchAny("kind", [kind]), MatchAny(key, some))))
            for kind, key in KINDS_BESIDE_FACTS.items()
            for some in batches(sorted(traces.fact_ids))
        ]
        self._points.index()
        self._points.do([*steps, *beside])
        self._points.compact()
        return {"tombstones": tombstones}

    def _emptied_pages(self, fact_ids: Collection[str]) -> Iterator[Point]:
        """The pages of interrupted writes with rows of some facts, without what these say.

        They are not deleted, because their writer may be about to change the head.
        """
        fields = ("kind", "revision", "at", "rows", "home")
        for key, page in self._points.walk_all(_PAGES, fields, at_once=_PAGES_AT_ONCE):
            with readable():
                rows = rows_of(page["rows"])
            emptied = [
                row._replace(feed_row=row.feed_row._replace(deleted=True), fact_json=None)
                if row.feed_row.fact_id in fact_ids
                else row
                for row in rows
            ]
            if emptied != [*rows]:
                yield Point(key, {**page, "rows": rows_text(emptied)})

    # ------------------------------------------------------------------ the head

    def _committed(
        self, ids: Sequence[str] = (), fields: Sequence[str] | None = ()
    ) -> tuple[CommitRecord, dict[str, Payload]]:
        """The head after its batch was completed, and the points of some facts.

        The points have the given fields, or all of them for None. The log of the head is long,
        and only returned if requested. A text that is no id has no point; Qdrant refuses it.
        """
        self.check_use()
        ids = list(filter(_is_id, ids))
        wanted = None if fields is None else [*fields, *_HEAD_FIELDS]
        for _ in range(_TRIES):
            if not self._points.exists():
                self._begin()
            found = self._points.take([COMMIT_RECORD_ID, *ids], wanted)
            if COMMIT_RECORD_ID not in found:
                self._begin()
                continue
            head = CommitRecord.parse(found.pop(COMMIT_RECORD_ID))
            if self._store_id not in ("", head.store_id):
                raise StoreUnavailableError("it was replaced by another store")
            self._store_id = head.store_id
            if head.isolated != self._points.isolated:
                self._isolate(head)
                continue
            if head.is_committed:
                return head, found
            self._carry_out_others()
        raise StoreUnavailableError("a batch of writes in it cannot be carried out")

    def _with_counts(self, fact_ids: Sequence[str]) -> dict[str, Payload]:
        """The points of facts, and those with their usage counts."""
        ids = [*fact_ids, *map(_accesses_id, fact_ids)]
        return self._committed(ids, (*FACT_KEYS, *ACCESS_KEYS))[1]

    def _carry_out_others(self) -> None:
        head = self._head()
        if head is None or head.is_committed:
            return  # another process has just done it
        if not head.pages:
            self._carry_out(head, head.rows)
            return
        ids = [page_id(head.revision, number) for number in range(head.pages)]
        pages = self._points.take(ids, ["rows"])
        if len(pages) == len(ids):  # otherwise another process has just done it
            with readable():
                rows = [row for each in ids for row in rows_of(pages[each]["rows"])]
            self._carry_out(head, rows)

    def _head(self) -> CommitRecord | None:
        payload = self._points.take([COMMIT_RECORD_ID]).get(COMMIT_RECORD_ID)
        return CommitRecord.parse(payload) if payload else None

    def _isolate(self, head: CommitRecord) -> None:
        """Change the isolated scopes, if nothing was ever written."""
        if head.seq:
            raise StoreLayoutError(
                self._points.name,
                f"it keeps {_listed(head.isolated)} in collections of their own, the settings"
                f" {_listed(self._points.isolated)}",
            )
        changed = replace(head, isolated=self._points.isolated, revision=secrets.token_hex(4))
        self._points.do([UpsertPoints([changed.point()], head.unchanged_condition(), mode="known")])

    def _begin(self) -> None:
        """Create the store, unless another process has done so."""
        if not self._create or self._store_id:
            raise StoreUnavailableError("its collection is not there")
        self._points.make(self._dimension())
        marks = secrets.token_hex(16), secrets.token_hex(4)
        head = CommitRecord(*marks, isolated=self._points.isolated)
        self._points.do([UpsertPoints([head.point()], mode="new")])


def _listed(scopes: Sequence[str]) -> str:
    return ", ".join(scopes) or "no scopes"


def _is_id(text: str) -> bool:
    try:
        return check_id(text) == text
    except InvalidIdError:
        return False


def _accesses_id(fact_id: str) -> str:
    """The id of the point with a fact's usage count."""
    return point_id(f"accesses {fact_id}")


def _counting_step(last: str | None, batch: Sequence[Point]) -> UpsertPoints:
    """The step that writes usage counts which counted `last` last; None is for damaged ones."""
    if last is None:
        return UpsertPoints(batch)
    if not last:
        return UpsertPoints(batch, mode="new")
    return UpsertPoints(batch, PointFilter((MatchAny("revision", [last]),)), mode="known")


def _is_before(since: str, point: Payload) -> bool:
    """Whether a point was written before a time; False for a damaged one."""
    at = point.get("at")
    return isinstance(at, str) and at < since


def _accesses_point(fact: Fact, more: AccessCount, ops: Sequence[str]) -> Point:
    """The point with an increased usage count, and the batches that it counted last."""
    payload = {
        "kind": ACCESSES_KIND,
        "of": fact.id,
        "times": fact.access_count + more.times,
        "used": max(fact.last_accessed_at or "", more.at),
        "ops": [*ops[-MAX_COUNTED_OPS:]],
        "revision": ops[-1],
    }
    return Point(_accesses_id(fact.id), payload)
