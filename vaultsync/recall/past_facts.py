"""The facts as of a time: those that existed, each in its version at that time.

Versions are reconstructed from the current ones, by the history of their fields and by replaced
versions that no run has recorded yet. The history has the time of the run that noticed a change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from msgspec.structs import replace

from vaultsync.errors import FactNotFoundError, StoreUnavailableError, UsageError
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.dates import DAY_LENGTH
from vaultsync.model.fact import Fact
from vaultsync.model.written_dates import date_bounds
from vaultsync.storage.archive import HISTORY_SINCE_SETTING, HistoryEntry
from vaultsync.storage.clock import Clock
from vaultsync.storage.store import FeedRow, ReplacedVersion, Store, StoreState, iter_replaced
from vaultsync.storage.store_view import ReadOnlyStore
from vaultsync.sync.context import ReadContext


class FixedClock:
    """A clock that always shows one time, and does all else as another. Implements `Clock`."""

    def __init__(self, clock: Clock, at: datetime) -> None:
        """Show the time `at`; wait and make ids with `clock`."""
        self._at = at
        self.monotonic = clock.monotonic
        self.sleep = clock.sleep
        self.local_day = clock.local_day
        self.start_of_day = clock.start_of_day
        self.new_id = clock.new_id

    def now(self) -> datetime:
        """The time that it shows."""
        return self._at


class PastStore(ReadOnlyStore):
    """Serves past versions of facts, or those of a clone. Implements `Store`.

    Args:
        facts: by id, each in the version that held.
        store_id: the id of the store that they are from.
        at: the time, which is part of the id of this one.
    """

    def __init__(self, facts: Mapping[str, Fact], *, store_id: str, at: str) -> None:
        self._facts = dict(sorted(facts.items()))
        self._rows = [
            FeedRow(seq, fact.id, fact.revision, deleted=False, actor="", at=at)
            for seq, fact in enumerate(self._facts.values(), 1)
        ]
        newest = self._rows[-1].revision if self._rows else ""
        self._state = StoreState(f"{store_id}@{at}", len(self._rows), len(self._rows), newest)

    def state(self) -> StoreState:
        """The state, with an id of its own."""
        return self._state

    def feed(self, since: int = 0) -> list[FeedRow]:
        """A row for each fact, by id."""
        return self._rows[since:]

    def last_write(self, fact_id: str) -> FeedRow | None:
        """The row of one fact."""
        return next((row for row in self._rows if row.fact_id == fact_id), None)

    def revision_at(self, seq: int) -> str | None:
        """The revision in a row."""
        return self._rows[seq - 1].revision if 0 < seq <= len(self._rows) else None

    def get(self, fact_id: str) -> Fact:
        """The fact. Raises FactNotFoundError."""
        if fact_id not in self._facts:
            raise FactNotFoundError(fact_id)
        return self._facts[fact_id]

    def find_many(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of the facts that there are."""
        return {each: self._facts[each] for each in fact_ids if each in self._facts}

    def tombstone(self, fact_id: str) -> Fact | None:  # noqa: ARG002 - the contract
        """None: what was deleted is not in it."""
        return None

    def iter_facts(
        self, after: str = "", *, newest: bool = False, deleted: bool = False
    ) -> Iterator[Fact]:
        """All facts, by id; no deleted ones."""
        ids = [] if deleted else sorted(self._facts, reverse=newest)
        starts = (x for x in ids if not after or (x < after if newest else x > after))
        return (self._facts[each] for each in starts)

    def damaged(self) -> Mapping[str, str]:
        """None."""
        return {}

    def last_ops(self, fact_ids: Iterable[str]) -> dict[str, str]:
        """Not supported."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Past:
    """The data from which a question about the past is answered."""

    ctx: ReadContext
    """A context with the facts and the clock of that time."""
    unknown: tuple[str, ...]
    """What can no longer be known, one sentence each."""


def past_moment(as_of: str, *, clock: Clock) -> datetime:
    """The end of a date where a clock is, or the moment of a time, but never in the future.

    Raises:
        InvalidFieldError: it is not a date.
    """
    now = clock.now()
    first, after = date_bounds("as_of", as_of, today=clock.local_day(now))
    if first == after:
        return min(datetime.fromisoformat(after), now)
    end = datetime.fromisoformat(clock.start_of_day(after))
    end = end.replace(tzinfo=now.tzinfo) if end.tzinfo is None else end
    return min(end - timedelta(microseconds=1), now)


def past_facts(ctx: ReadContext, as_of: str, *, agent: str | None) -> Past:
    """The facts as they were at a time, among those that an agent may see.

    Args:
        ctx: the current context.
        as_of: a time, or a date, which stands for the end of the day.
        agent: the agent that asks; None is the user, who sees all.

    Raises:
        InvalidFieldError: `as_of` is not a date.
    """
    moment = past_moment(as_of, clock=ctx.clock)
    at = moment.isoformat().replace("+00:00", "Z")
    unknown = []
    try:
        written = {row.fact_id: row for row in ctx.store.feed()}
        deleted = {x.id: x for x in ctx.store.iter_facts(deleted=True)}
        facts = {key: x for key, x in deleted.items() if _is_later(written[key].at, at)}
        facts |= {fact.id: fact for fact in ctx.store.iter_facts()}
        versions = _oldest_since(ctx.store, at)
        store_id = ctx.store.state().store_id
    except StoreUnavailableError as error:
        unknown.append(f"Facts are as of the last sync run: {error.message}.")
        facts = {base.fact.id: base.fact for base in ctx.archive.iter_bases()}
        written, deleted, versions, store_id = {}, {}, {}, ""
    pruned = ctx.archive.setting(HISTORY_SINCE_SETTING)
    if pruned is not None and _is_later(pruned, at):
        unknown.append(
            f"The history before {pruned[:DAY_LENGTH]} was pruned: what changed between the time"
            " asked for and that day is shown as it was on that day."
        )
    entries = defaultdict[str, list[HistoryEntry]](list)
    for entry in ctx.archive.history(since=at[: len("2026-02-14T13:45:00")]):
        if _is_later(entry.at, at):
            entries[entry.fact_id].append(entry)
    past, changed = dict[str, Fact](), dict[str, Fact]()
    for fact in facts.values():
        row = written.get(fact.id)
        if not _is_later(fact.created_at, at):
            (past if row and not _is_later(row.at, at) else changed)[fact.id] = fact
    bases = ctx.archive.find_bases(changed)
    for key, fact in changed.items():
        version, base = versions.get(key), bases.get(key)
        if version is not None and not _is_later(version.at, at):
            past[key] = version.fact
        else:
            oldest = base.fact if base else version.fact if version else fact
            past[key] = _undo(oldest, entries[key])
    # A version that was deleted before still hides the one that it replaced, as it does today.
    existed = past.keys() | {x.id for x in deleted.values() if not _is_later(x.created_at, at)}
    shown = {
        key: ctx.view.redact(
            fact if fact.superseded_by_id in existed else fact.evolve(superseded_by_id=None)
        )
        for key, fact in past.items()
        if ctx.policy.permissions.may_read(agent, fact.scope)
    }
    store = PastStore(shown, store_id=store_id, at=at)
    clock = FixedClock(ctx.clock, moment)
    return Past(replace(ctx, store=store, clock=clock), tuple(unknown))


def _oldest_since(store: Store, at: str) -> dict[str, ReplacedVersion]:
    """Each fact's last replaced version at a time, or else the first one after it."""
    oldest: dict[str, ReplacedVersion] = {}
    for each in chain.from_iterable(iter_replaced(store)):
        if each.fact.id not in oldest or not _is_later(each.at, at):
            oldest[each.fact.id] = each
    return oldest


def _is_later(time: str, at: str) -> bool:
    return to_microseconds(time) > to_microseconds(at)


def _undo(fact: Fact, entries: Iterable[HistoryEntry]) -> Fact:
    """A fact before some changes, given oldest first; values that are now invalid are kept."""
    before: dict[str, HistoryEntry] = {}
    for entry in entries:
        if entry.key not in (None, "id"):
            before.setdefault(entry.key, entry)
    for key, entry in before.items():
        with suppress(UsageError):
            fact = fact.replace({key: entry.before})
    return fact
