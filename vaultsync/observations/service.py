"""Store observations immediately, to be classified later."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from vaultsync.errors import IdTakenError, InvalidFieldError
from vaultsync.facts import service as fact_service
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import OBSERVATION, PENDING
from vaultsync.model.scope import is_team
from vaultsync.observations.classifier import BACKGROUND, Classifier, ObservedText
from vaultsync.observations.hooks import CaptureReport, Hook, KeptObservation, split_observations
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


def capture(
    ctx: SyncContext,
    hook: Hook,
    texts: Sequence[str],
    classifier: Classifier | None,
    *,
    scope: str | None = None,
    user: str | None = None,
    agent: str | None,
) -> tuple[CaptureReport, list[Fact]]:
    """Store the observations in the texts of a hook; returns the new facts, too.

    Their ids are made from the session and the text, so that what a later hook of the session
    repeats is stored once. Secrets are redacted before anything is classified or stored, because no
    one chose to remember these texts. The `texts` are those of the hook, or of its transcript. What
    the classifier calls background is left out; what it does not classify is kept, which is all if
    it cannot be used now (None).

    Raises:
        InvalidFieldError, ScopeDeniedError: as `observe()`.
        StoreUnavailableError: never; what is stored then waits in the outbox.
    """
    observations = split_observations(ctx.view.redact_text(text) for text in texts)
    context = ctx.view.redact_text(hook.context)
    read = [ObservedText(each, context) for each in observations]
    tiers: Sequence[str | None] = [None] * len(read)
    if classifier is not None:
        tiers = classifier.classify(read)
    stored: list[KeptObservation] = []
    facts: list[Fact] = []
    known = 0
    for text, tier in zip(observations, tiers, strict=True):
        if tier == BACKGROUND:
            continue
        try:
            fact = observe(
                ctx,
                text,
                context=context,
                scope=scope,
                user=user,
                agent=agent,
                session=hook.session or None,
                id=_id_of(hook.session, text) if hook.session else None,
            )
        except IdTakenError:
            known += 1
            continue
        facts.append(fact)
        stored.append(KeptObservation(fact.id, tier or PENDING, text))
    noise = tiers.count(BACKGROUND)
    report = CaptureReport(
        hook.host, hook.event, hook.session, len(observations), noise, known, tuple(stored)
    )
    return report, facts


def _id_of(session: str, text: str) -> str:
    """The id of an observation of a session: a UUID of version 8, made from its text."""
    digest = hashlib.sha256(f"{session}\0{text}".encode()).digest()[:16]
    bits = int.from_bytes(digest, "big") & ~(0xF << 76) & ~(0x3 << 62)
    return str(UUID(int=bits | (0x8 << 76) | (0x2 << 62)))
