"""A question -> hits: the entrance, where what was asked for is checked."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.core.fields import TIERS, TYPES
from vaultsync.core.query import Question, is_day, parse
from vaultsync.core.scope import check_scope
from vaultsync.engine.answer import Hit, Recall, Seen, Sources, Stage
from vaultsync.engine.recalling import MODES, Recalling
from vaultsync.errors import InvalidFieldError, UnknownTypeError
from vaultsync.ports import Filters

__all__ = ["MODES", "Hit", "Recall", "Seen", "Sources", "Stage", "recall"]


def recall(
    sources: Sources,
    question: str,
    *,
    agent: str | None,
    limit: int = 10,
    mode: str = "auto",
    types: Iterable[str] = (),
    scopes: Iterable[str] = (),
    tags: Iterable[str] = (),
    max_priority: int = 2,
    status: str | None = "active",
    heads_only: bool = True,
    since: str | None = None,
    until: str | None = None,
    user: str | None = None,
    explain: bool = False,
) -> Recall:
    """The facts that answer a question, best first. Changes nothing but the index.

    Written in the question itself, these filter too: `type:…`, `tag:…`, `tier:…`,
    `since:…`, `until:…`; and "phrases" must occur. `status` None is any; `user` leaves only
    what is about that user.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
    """
    for name, day in (("since", since), ("until", until)):
        if day is not None and not is_day(day[:10]):
            raise InvalidFieldError(name, day, "a date such as 2026-02-14")
    if limit < 1:
        raise InvalidFieldError("limit", limit, "1 or more")
    if mode not in MODES:
        raise InvalidFieldError("mode", mode, "one of " + ", ".join(MODES))
    began = sources.mirror.clock.monotonic()
    asked = parse(question, today=sources.mirror.clock.now().date())
    filters = Filters(
        scopes=frozenset(map(check_scope, scopes)) or None,
        types=frozenset(map(_type, types)) | asked.types,
        tags=frozenset(tag.lstrip("#") for tag in tags) | asked.tags,
        status=status,
        max_priority=_lowest(asked, max_priority),
        since=max(filter(None, (since, asked.span.since)), default=None),
        until=min(filter(None, (until, asked.span.until)), default=None),
        heads_only=heads_only,
        user=user,
    )
    work = Recalling(sources, asked, filters, agent, limit=limit, explain=explain)
    source = work.answer(mode)
    hits = work.hits()
    return Recall(
        query=question,
        source=source,
        confidence=round(work.confidence, 3),
        degraded=tuple(dict.fromkeys(work.degraded)),
        seconds=sources.mirror.clock.monotonic() - began,
        hits=hits,
        stages=tuple(work.stages),
    )


def _type(name: str) -> str:
    if name.lower() not in TYPES:
        raise UnknownTypeError(name, tuple(TYPES))
    return name.lower()


def _lowest(asked: Question, given: int) -> int:
    """The lowest priority that may be found: that of a tier that is asked for may."""
    if asked.tiers:
        return max(each for tier in asked.tiers for each in TIERS[tier])
    return max([given, *(p for tier in asked.hinted_tiers for p in TIERS[tier])])
