"""Facts by filter, a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from msgspec import Struct

from vaultsync.errors import InvalidFieldError
from vaultsync.facts.service import STATUS_FORGOTTEN
from vaultsync.model.canonical import check_id, check_type
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.scope import can_see, check_scope
from vaultsync.model.serialization import PublicFact, public_values
from vaultsync.model.time_span import time_span
from vaultsync.sync.context import SyncContext


@dataclass(frozen=True, slots=True)
class FactPage:
    """Some facts, and where the next ones begin."""

    facts: tuple[Fact, ...]
    next: str | None


class PublicPage(Struct, frozen=True):
    """Some facts as surfaces show them, and where the next ones begin."""

    facts: list[PublicFact]
    next: str | None
    """The id to ask for the next ones after; None at the end."""


def public_page(page: FactPage) -> PublicPage:
    """What surfaces show of a page."""
    return PublicPage([public_values(each) for each in page.facts], page.next)


def select_facts(
    ctx: SyncContext,
    *,
    agent: str | None,
    type_name: str | None = None,
    scope: str | None = None,
    status: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    until: str | None = None,
    among: Collection[str] | None = None,
    newest: bool = False,
    limit: int = 100,
    after: str | None = None,
) -> FactPage:
    """Facts by id, those that match; superseded ones too.

    Args:
        ctx: the sides.
        agent: who looks; a person (None) sees all.
        type_name: only those of a type.
        scope: only those of a scope.
        status: only those of a status; `forgotten` lists what was deleted and can be
            restored.
        tag: only those that have it, or one below it.
        since: only those created on this day (or month, or time) or later.
        until: only those created on this day (or in this month) or earlier, or before
            this time.
        among: only these ids.
        newest: from the greatest id down. An id that was made here begins with its time.
        limit: at most so many.
        after: go on after the fact of this id.

    Raises:
        UnknownTypeError, InvalidScopeError, InvalidFieldError: a filter makes no sense.
    """
    if limit < 1:
        raise InvalidFieldError("limit", limit, "1 or more")
    gone = status == STATUS_FORGOTTEN
    span = time_span(since, until)
    filters = FactFilters(
        scopes=None if scope is None else frozenset({check_scope(scope)}),
        types=frozenset(() if type_name is None else {check_type(type_name)}),
        tags=frozenset({tag} if tag else ()),
        status=None if gone else status or None,
        since=span.since,
        until=span.until,
        heads_only=False,
    )
    found: list[Fact] = []
    more = False
    for fact in _visible(ctx, agent, after, gone=gone, among=among, newest=newest):
        if not filters.admits(fact):
            continue
        if len(found) == limit:
            more = True
            break
        found.append(fact)
    bases = ctx.archive.find_bases([fact.id for fact in found])
    facts = tuple(
        fact.evolve(path=bases[fact.id].path if fact.id in bases else None) for fact in found
    )
    return FactPage(facts, facts[-1].id if more else None)


def _visible(
    ctx: SyncContext,
    agent: str | None,
    after: str | None,
    *,
    gone: bool,
    among: Collection[str] | None,
    newest: bool,
) -> Iterator[Fact]:
    """What an agent sees, in order, from where it goes on."""
    start = check_id(after) if after else ""
    begin = "" if newest else start
    if gone:
        facts = _tombstones_of(ctx, begin, among)
    elif among is not None:
        known = ctx.redacted_store.find_many(each for each in among if each > begin)
        facts = (known[each] for each in sorted(known))
    else:
        facts = ctx.redacted_store.iter_facts(begin)
    if newest:
        some = [fact for fact in facts if not start or fact.id < start]
        facts = iter(sorted(some, key=lambda fact: fact.id, reverse=True))
    return (fact for fact in facts if can_see(agent, fact.scope))


def _tombstones_of(ctx: SyncContext, start: str, among: Collection[str] | None) -> Iterator[Fact]:
    """What tombstones last said, by id."""
    rows = (row.fact_id for row in ctx.redacted_store.feed() if row.deleted)
    for fact_id in sorted(each for each in rows if each > start):
        fact = ctx.redacted_store.tombstone(fact_id)
        if fact is not None and (among is None or fact_id in among):
            yield fact
