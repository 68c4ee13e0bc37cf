"""Facts by filter, one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import merge, nlargest
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from vaultsync.errors import FactNotFoundError, InvalidFieldError
from vaultsync.model.canonical import check_id, check_type, from_microseconds, to_microseconds
from vaultsync.model.dates import TimeSpan
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import FORGOTTEN, SUPERSEDED, HiddenMatches
from vaultsync.model.scope import check_scope
from vaultsync.model.serialization import PublicFact, public_values
from vaultsync.model.written_dates import time_span
from vaultsync.storage.store import Store
from vaultsync.sync.context import SyncContext

NewestIds: TypeAlias = Callable[[FactFilters, int], Sequence[str] | None]
"""Filters and a maximum number -> the ids of the newest facts that match; None if unknown."""
MAX_MATCHING = 2_000
"""Up to this number of matches, a list reads only them; with more, a page is soon full."""
MAX_COUNTED_DELETED = 1_000
"""Maximum number of deleted facts that are read to count those that a list hides."""


@dataclass(frozen=True, slots=True)
class FactPage:
    """One page of facts, and where the next one begins."""

    facts: tuple[Fact, ...]
    next: str | None
    """The value of `after` for the next page; None at the end."""
    hidden: tuple[HiddenMatches, ...] = ()
    """How many deleted facts match and are not listed; up to 1,000 are counted."""


class PublicPage(Struct, frozen=True):
    """One page of facts as surfaces show them."""

    facts: list[PublicFact]
    next: str | None
    """The value of `after` for the next page; None at the end."""
    hidden: tuple[HiddenMatches, ...] = ()
    """How many deleted facts match and are not listed; up to 1,000 are counted."""


def public_page(page: FactPage) -> PublicPage:
    """A page as surfaces show it."""
    return PublicPage([public_values(each) for each in page.facts], page.next, page.hidden)


def select_facts(
    ctx: SyncContext,
    *,
    agent: str | None,
    types: Collection[str] = (),
    scopes: Collection[str] = (),
    status: str | None = None,
    tags: Collection[str] = (),
    since: str | None = None,
    until: str | None = None,
    user: str | None = None,
    among: Collection[str] | None = None,
    newest: bool = False,
    limit: int = 100,
    after: str | None = None,
    include_deleted: bool = False,
    newest_ids: NewestIds = lambda *_: None,
) -> FactPage:
    """The facts that match all filters, superseded ones included, ordered by id.

    `Memory.list()` documents the filters; `newest_ids` finds facts without reading all of the
    store.

    Raises:
        UnknownTypeError, InvalidScopeError, InvalidFieldError, InvalidIdError: a filter is invalid.
        FactNotFoundError: there is no fact `after` which to continue with the newest.
    """
    if limit < 1:
        raise InvalidFieldError("limit", limit, "1 or more")
    superseded = status == SUPERSEDED
    span = time_span(since, until, today=ctx.clock.local_day(ctx.clock.now()))
    span = span.of_days(ctx.clock.start_of_day)
    filters = FactFilters(
        scopes=frozenset(map(check_scope, scopes)) or None,
        types=frozenset(map(check_type, types)),
        tags=frozenset(filter(None, tags)),
        status=None if superseded else status or None,
        since=span.since,
        until=span.until,
        heads_only=False,
        user=user,
        superseded_only=superseded,
        reader=ctx.policy.permissions.reader(agent),
    )
    start = check_id(after) if after else ""
    store = ctx.redacted_store
    with_deleted = include_deleted or status == FORGOTTEN
    if newest:
        previous = _previous(store, start, filters) if start else None
        facts = _newest_facts(
            *(store, filters, newest_ids, limit + 1, previous),
            among=among,
            with_deleted=with_deleted,
        )
    else:
        is_filtered = filters._replace(reader=None) != FactFilters(status=None, heads_only=False)
        candidates = among
        if among is None and is_filtered:
            found = newest_ids(filters, MAX_MATCHING + 1)
            candidates = None if found is None or len(found) > MAX_MATCHING else found
        if candidates is not None:
            others = sorted(x for x in candidates if x > start)
            facts = _facts_of(store, others, limit + 1)
        else:
            facts = store.iter_facts(start)
        if with_deleted:
            tombstones = store.iter_facts(start, deleted=True)
            facts = merge(facts, _forgotten(tombstones), key=lambda fact: fact.id)
    matches = (
        fact for fact in facts if filters.admits(fact) and (among is None or fact.id in among)
    )
    page = list(islice(matches, limit + 1))
    shown = with_note_paths(ctx, page[:limit])
    hidden = () if status or include_deleted else _count_deleted(ctx, filters, among)
    return FactPage(shown, shown[-1].id if len(page) > limit else None, hidden)


def _forgotten(tombstones: Iterable[Fact]) -> Iterator[Fact]:
    return (fact.evolve(status=FORGOTTEN) for fact in tombstones)


def _by_creation(fact: Fact) -> tuple[int, str]:
    return to_microseconds(fact.created_at), fact.id


def _scan_newest(store: Store, filters: FactFilters, limit: int) -> list[str]:
    """As `NewestIds`, where that does not know: all facts are read."""
    found = (_by_creation(fact) for fact in store.iter_facts() if filters.admits(fact))
    return [fact_id for _, fact_id in nlargest(limit, found)]


def _previous(store: Store, fact_id: str, filters: FactFilters) -> Fact:
    """The last fact of the previous page, which may have been deleted since."""
    found = store.find_many([fact_id]).get(fact_id) or store.tombstone(fact_id)
    if found is None or not (filters.reader is None or filters.reader.reads(found.scope)):
        raise FactNotFoundError(fact_id)
    return found


def _newest_facts(
    store: Store,
    filters: FactFilters,
    newest_ids: NewestIds,
    number: int,
    previous: Fact | None,
    *,
    among: Collection[str] | None,
    with_deleted: bool,
) -> Iterator[Fact]:
    """The facts that may match, the newest first, of which at first `number` can be taken."""
    if among is not None:
        found = store.find_many(among).values()
        facts: Iterator[Fact] = iter(sorted(found, key=_by_creation, reverse=True))
    else:
        if previous is not None:
            with suppress(OverflowError):  # it has no time, or the last one
                until = from_microseconds(_by_creation(previous)[0] + 1)
                span = TimeSpan(filters.since, filters.until).within(TimeSpan(until=until))
                filters = filters._replace(until=span.until)
        facts = _read_newest(store, filters, newest_ids, number + 1)  # the last may be incomplete
    if with_deleted:
        gone = sorted(_forgotten(store.iter_facts(deleted=True)), key=_by_creation, reverse=True)
        facts = merge(facts, gone, key=_by_creation, reverse=True)
    if previous is None:
        return facts
    last = _by_creation(previous)
    return (fact for fact in facts if _by_creation(fact) < last)


def _read_newest(
    store: Store, filters: FactFilters, newest_ids: NewestIds, number: int
) -> Iterator[Fact]:
    """The facts from the newest on, of which twice as many are read each time."""
    read: set[str] = set()
    is_all = False
    while not is_all:
        ids = newest_ids(filters, number)
        if ids is None:
            ids = _scan_newest(store, filters, number)
        is_all = len(ids) < number
        found = store.find_many(set(ids) - read).values()
        facts = sorted(found, key=_by_creation, reverse=True)
        if facts and not is_all:
            # Of facts created at the same time, `ids` may have only some.
            oldest, _ = _by_creation(facts[-1])
            facts = [fact for fact in facts if _by_creation(fact)[0] > oldest]
        yield from facts
        read.update(fact.id for fact in facts)
        number *= 2


def _facts_of(store: Store, fact_ids: Sequence[str], each_time: int) -> Iterator[Fact]:
    """The facts in the order of their ids, read a page at a time."""
    for at in range(0, len(fact_ids), each_time):
        page = store.find_many(fact_ids[at : at + each_time])
        yield from (page[each] for each in fact_ids[at : at + each_time] if each in page)


def _count_deleted(
    ctx: SyncContext, filters: FactFilters, among: Collection[str] | None
) -> tuple[HiddenMatches, ...]:
    """How many of the first deleted facts match; all would take too long."""
    tombstones = islice(ctx.store.iter_facts(deleted=True), MAX_COUNTED_DELETED)
    count = sum(filters.admits(x) and (among is None or x.id in among) for x in tombstones)
    return (HiddenMatches(count, FORGOTTEN),) if count else ()


def with_note_paths(ctx: SyncContext, facts: Collection[Fact]) -> tuple[Fact, ...]:
    """The facts with the paths of their notes."""
    paths = ctx.archive.note_paths([fact.id for fact in facts])
    return tuple(fact.evolve(path=paths.get(fact.id)) for fact in facts)
