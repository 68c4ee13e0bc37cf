"""Facts by filter, one page at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

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
    """One page of facts, and where the next one begins."""

    facts: tuple[Fact, ...]
    next: str | None


class PublicPage(Struct, frozen=True):
    """One page of facts as surfaces show them."""

    facts: list[PublicFact]
    next: str | None
    """The value of `after` for the next page; None at the end."""


def public_page(page: FactPage) -> PublicPage:
    """A page as surfaces show it."""
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
    """The facts that match all filters, superseded ones included, ordered by id.

    `Memory.list()` says what the filters mean. Ids that are generated here begin with their
    time, so that the newest facts come first in descending order of ids.

    Raises:
        UnknownTypeError, InvalidScopeError, InvalidFieldError, InvalidIdError: a filter
            is invalid.
    """
    if limit < 1:
        raise InvalidFieldError("limit", limit, "1 or more")
    deleted = status == STATUS_FORGOTTEN
    span = time_span(since, until)
    filters = FactFilters(
        scopes=None if scope is None else frozenset({check_scope(scope)}),
        types=frozenset(() if type_name is None else {check_type(type_name)}),
        tags=frozenset({tag} if tag else ()),
        status=None if deleted else status or None,
        since=span.since,
        until=span.until,
        heads_only=False,
    )
    start = check_id(after) if after else ""
    begin = "" if newest else start
    if deleted:
        facts = _tombstones(ctx, begin, among)
    elif among is not None:
        known = ctx.redacted_store.find_many(each for each in among if each > begin)
        facts = (known[each] for each in sorted(known))
    else:
        facts = ctx.redacted_store.iter_facts(begin)
    if newest:
        before = [fact for fact in facts if not start or fact.id < start]
        facts = iter(sorted(before, key=lambda fact: fact.id, reverse=True))
    matches = (fact for fact in facts if can_see(agent, fact.scope) and filters.admits(fact))
    page = list(islice(matches, limit + 1))
    shown = with_note_paths(ctx, page[:limit])
    return FactPage(shown, shown[-1].id if len(page) > limit else None)


def _tombstones(ctx: SyncContext, start: str, among: Collection[str] | None) -> Iterator[Fact]:
    """Deleted facts as they last were, by id."""
    rows = (row.fact_id for row in ctx.redacted_store.feed() if row.deleted)
    for fact_id in sorted(each for each in rows if each > start):
        fact = ctx.redacted_store.tombstone(fact_id)
        if fact is not None and (among is None or fact_id in among):
            yield fact


def with_note_paths(ctx: SyncContext, facts: Collection[Fact]) -> tuple[Fact, ...]:
    """The facts with the paths of their notes."""
    bases = ctx.archive.find_bases([fact.id for fact in facts])
    return tuple(
        fact.evolve(path=bases[fact.id].path if fact.id in bases else None) for fact in facts
    )
