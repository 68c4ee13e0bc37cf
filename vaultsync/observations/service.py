"""Store an observation immediately, to be classified later."""

from __future__ import annotations

from msgspec import Struct

from vaultsync.errors import InvalidFieldError
from vaultsync.facts import service as fact_service
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import OBSERVATION, PENDING
from vaultsync.model.scope import is_team
from vaultsync.sync.context import SyncContext


class Observed(Struct, frozen=True):
    """An observation that was stored, and waits to be classified."""

    id: str
    status: str


def observe(
    ctx: SyncContext,
    text: str,
    *,
    context: str | None = None,
    scope: str | None = None,
    user: str | None = None,
    agent: str | None,
    session: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the field
) -> Fact:
    """Store an observation as `facts.service.remember` stores a fact, with the status `pending`.

    `session` is where it comes from, and `id` its id if that is known before.

    Raises:
        InvalidFieldError: the text is blank, or the scope (perhaps the default of the vault) is
            that of a team, to whom what one agent noticed is noise.
        InvalidScopeError, ScopeDeniedError, IdTakenError: as for any fact.
    """
    home = scope or (None if agent else ctx.policy.default_scope)
    if home is not None and is_team(home):
        error = InvalidFieldError("scope", home, "`private-AGENT`, `project-NAME` or `public`")
        if not scope:
            error.hint = "name the agent who observed it, or another scope than the vault's default"
        raise error
    return fact_service.remember(
        ctx,
        {
            "content": text,
            "type": OBSERVATION,
            "status": PENDING,
            "context": context,
            "scope": home,
            "userId": user,
            "sessionId": session,
            "id": id,
        },
        agent=agent,
    )
