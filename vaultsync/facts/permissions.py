"""What an agent may write: into which scopes, and related to what."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from vaultsync.errors import (
    FactNotFoundError,
    ScopeDeniedError,
    StoreUnavailableError,
    SupersededError,
)
from vaultsync.model.fact import Fact
from vaultsync.model.scope import can_see
from vaultsync.sync.context import SyncContext


def check_access(
    ctx: SyncContext, fact: Fact, *, agent: str | None, before: Sequence[str] = ()
) -> None:
    """See that an agent may write a fact, and sees what it relates it to.

    Args:
        ctx: the sides.
        fact: as it would be written.
        agent: who writes; a person (None) may write everything.
        before: to which facts it was related; somebody may have done that who sees more.

    Raises:
        ScopeDeniedError: the scope is another agent's.
        FactNotFoundError: a related fact is; its note would say what that is called.
    """
    if not can_see(agent, fact.scope):
        raise ScopeDeniedError(agent or "", fact.scope)
    fresh = {*fact.related_fact_ids} - {*before}
    if agent is None or not fresh:
        return
    with suppress(StoreUnavailableError):  # nobody can tell now
        for each in ctx.store.find_many(fresh).values():
            if not can_see(agent, each.scope):
                raise FactNotFoundError(each.id)


def check_not_superseded(ctx: SyncContext, fact: Fact, *, agent: str | None) -> None:
    """See that nothing replaces a fact yet, or else two would say what holds now.

    What replaced it may have been deleted since; then it is the last word again.

    Raises:
        SupersededError: names the newest that replaces it.
    """
    head, seen = fact, {fact.id}
    while (heir := head.superseded_by_id) is not None and heir not in seen:
        found = ctx.store.find_many([heir]).get(heir)
        if found is None or not can_see(agent, found.scope):
            break
        seen.add(heir)
        head = found
    if head is not fact:
        raise SupersededError(fact.id, head.id)
