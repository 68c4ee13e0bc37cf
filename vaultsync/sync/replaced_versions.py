"""Versions that were replaced in the store before a run saw them: recorded, then dropped there.

The store keeps what a write replaces until an archive has it. Each such version becomes a
run of its own in the history, named by its revision, so that it can be undone by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.storage.archive import Base, HistoryEntry
from vaultsync.storage.store import ReplacedVersion, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import STORE_SIDE

_log = logging.getLogger(__name__)


def overwrite(
    ctx: SyncContext, fact_id: str, fact: Fact | None, expect: str, actor: str
) -> StoreWrite:
    """A write that replaces a version, which the store keeps unless the archive has it."""
    base = ctx.archive.find_base(fact_id)
    recorded = base is not None and base.fact.revision == expect
    return StoreWrite(fact_id, fact, expect, actor, recorded=recorded)


class _Unrecorded(NamedTuple):
    entries: list[HistoryEntry]
    """What no history has yet."""
    revisions: list[str]
    """The versions that may go once it has."""
    newest: dict[str, Fact]
    """The newest of each fact that no base has: what the present version replaced."""


def unrecorded_history(ctx: SyncContext, fact_id: str) -> list[HistoryEntry]:
    """The history of versions of a fact that the next run records; none without the store."""
    since = int(ctx.archive.setting("cursor") or 0)
    try:
        versions = [x for x in ctx.store.replaced_versions() if x.fact.id == fact_id]
        return _unrecorded(ctx, versions, since).entries
    except StoreUnavailableError as error:
        _log.debug("what was replaced in %s is not known: %s", fact_id, error)
        return []


def record_replaced(ctx: SyncContext, since: int) -> Mapping[str, Fact]:
    """Record the replaced versions in the history, and drop them from the store.

    Args:
        ctx: the store and the archive.
        since: up to which row the last run had read the feed. A version before that which is
            no base was replaced while that run looked.

    Returns:
        The newest of each fact that no base has: what the present version replaced.
    """
    try:
        found = _unrecorded(ctx, ctx.store.replaced_versions(), since)
    except StoreUnavailableError as error:
        _log.debug("replaced versions are recorded by the next run: %s", error)
        return {}
    if found.entries:
        with ctx.archive.transaction():
            ctx.archive.add_history(found.entries)
    try:
        if found.revisions:
            ctx.store.drop_replaced(found.revisions)
    except StoreUnavailableError as error:
        _log.debug("replaced versions are dropped by the next run: %s", error)
    return found.newest


def _unrecorded(ctx: SyncContext, versions: Sequence[ReplacedVersion], since: int) -> _Unrecorded:
    found = _Unrecorded([], [], {})
    by_fact: dict[str, list[ReplacedVersion]] = {}
    for each in versions:
        by_fact.setdefault(each.fact.id, []).append(each)
    if not by_fact:
        return found
    current, bases = ctx.store.find_many(by_fact), ctx.archive.find_bases(by_fact)
    for fact_id, every in by_fact.items():
        now, base = current.get(fact_id), bases.get(fact_id)
        # One that is still the present version is about to be replaced; it stays.
        some = [each for each in every if not _is_same(each.fact, now)]
        late, fresh = _parted(some, base, now, since)
        before = base.fact if base else None
        found.entries.extend(_entries(None, late, before))
        found.entries.extend(_entries(before, fresh, now))
        found.revisions.extend(each.fact.revision for each in some)
        if fresh:
            found.newest[fact_id] = fresh[-1].fact
    # A crash may have come before the store dropped them.
    runs = {each.run for each in found.entries}
    written = {run for run in runs if ctx.archive.history(run=run)}
    new = [each for each in found.entries if each.run not in written]
    return found._replace(entries=new)


def _is_same(one: Fact, other: Fact | None) -> bool:
    return other is not None and one.revision == other.revision


def _parted(
    some: Sequence[ReplacedVersion], base: Base | None, now: Fact | None, since: int
) -> tuple[Sequence[ReplacedVersion], Sequence[ReplacedVersion]]:
    """The versions before that of the base, and those after it; the base's own is recorded."""
    if base is None:
        return (), some
    if _is_same(base.fact, now):
        return some, ()
    at = next((n for n, each in enumerate(some) if _is_same(each.fact, base.fact)), None)
    if at is not None:
        return some[:at], some[at + 1 :]
    late = sum(each.seq <= since for each in some)
    return some[:late], some[late:]


def _entries(
    before: Fact | None, some: Sequence[ReplacedVersion], after: Fact | None
) -> Iterator[HistoryEntry]:
    """What each version changed; of the first, where nothing is known, what was changed next."""
    followers = [*(each.fact for each in some[1:]), after]
    for version, following in zip(some, followers, strict=False):
        fact = version.fact
        for key in differing_keys(before or following or fact, fact):
            old = before.plain(key) if before else None
            yield HistoryEntry(
                *(fact.revision, version.at, fact.id, STORE_SIDE, version.actor, key),
                *(old, fact.plain(key)),
            )
        before = fact
