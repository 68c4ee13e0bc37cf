"""A question -> hits: the entrance, where what was asked for is checked."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.errors.usage import InvalidFieldError
from vaultsync.recall.request import asked_for
from vaultsync.recall.result import Hit, Recall, Seen, Sources, Stage
from vaultsync.recall.service import MODES, Recalling

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
    fitting: float = 0.0,
) -> Recall:
    """The facts that answer a question, best first. Changes nothing but the index.

    Written in the question itself, these filter too: `type:…`, `tag:…`, `tier:…`,
    `since:…`, `until:…`; and "phrases" must occur. `status` None is any. `since` is the
    first day, month or moment; `until` the last day or month, or the moment before which.
    `user` leaves only what is about that user. What has a similarity less than `fitting`
    is left out.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
    """
    if mode not in MODES:
        raise InvalidFieldError("mode", mode, "one of " + ", ".join(MODES))
    began = sources.mirror.clock.monotonic()
    asked, filters = asked_for(
        question,
        today=sources.mirror.clock.now().date(),
        limit=limit,
        types=types,
        scopes=scopes,
        tags=tags,
        max_priority=max_priority,
        status=status,
        heads_only=heads_only,
        since=since,
        until=until,
        user=user,
    )
    work = Recalling(
        sources, asked, filters, agent, limit=limit, fitting=fitting, explain=explain
    )
    source = work.answer(mode)
    hits = work.hits()
    return Recall(
        query=sources.mirror.lens.text(question),
        source=source,
        confidence=round(work.confidence, 3),
        degraded=tuple(dict.fromkeys(work.degraded)),
        seconds=sources.mirror.clock.monotonic() - began,
        hits=hits,
        stages=tuple(work.stages),
    )
