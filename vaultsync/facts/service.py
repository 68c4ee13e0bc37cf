"""What agents do with facts: the store is written first, the note follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from vaultsync.errors import (
    ComputedFieldError,
    FactForgottenError,
    FactNotFoundError,
    FixedFieldError,
    IdTakenError,
    InvalidFieldError,
    RevisionMismatchError,
    StoreUnavailableError,
)
from vaultsync.facts.autolink import link_entities
from vaultsync.facts.offline import (
    offline_fact,
    queue_changes,
    queued_changes,
    queued_create,
    queued_delete,
    queued_update,
    update_later,
)
from vaultsync.facts.permissions import check_access, check_not_superseded
from vaultsync.facts.placeholders import apply_restored_changes
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import (
    FIELDS_BY_KEY,
    NON_FIELD_KEYS,
    OWN_FIELDS_BY_KEY,
    FieldOwner,
    Value,
)
from vaultsync.model.scope import can_see, private_scope
from vaultsync.storage.archive import HistoryEntry
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import readable_history

STATUS_FORGOTTEN: Final = "forgotten"
STATUS_ACTIVE: Final = "active"
MAX_UPDATE_TRIES = 20
"""How often an update is repeated when other writers get in between."""


class ForgetResult(Struct, frozen=True):
    """A fact that was deleted or brought back."""

    id: str
    status: Literal["forgotten", "active"]


def remember(ctx: SyncContext, values: Mapping[str, Value], *, agent: str | None) -> Fact:
    """Write a new fact to the store.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError.
        ComputedFieldError: a value that nobody sets.
        ScopeDeniedError: the scope is another agent's.
        IdTakenError: there is, or was, a fact of that id.
    """
    _check_settable(values)
    at = ctx.today()
    scope = values.get("scope") or (private_scope(agent) if agent else ctx.policy.default_scope)
    filled: dict[str, Value] = {
        "createdAt": at,
        "type": ctx.policy.default_type,
        **{key: value for key, value in values.items() if value is not None},
        "id": values.get("id") or ctx.clock.new_id(),
        "scope": scope,
        "updatedAt": at,
    }
    if agent:
        filled.setdefault("agentId", agent)
    fact = make_fact(filled)
    if not fact.content.strip() and not str(values.get("title") or "").strip():
        raise InvalidFieldError("content", fact.content, "text to be remembered")
    check_access(ctx, fact, agent=agent)
    fact = link_entities(ctx, fact, agent=agent)
    write = StoreWrite(fact.id, fact, None, agent or "person")
    try:
        result = ctx.store.write([write])[0]
    except StoreUnavailableError:
        queue_changes(ctx, queued_create(ctx, fact, agent=agent))
        return fact
    if isinstance(result, RevisionMismatch):
        raise IdTakenError(fact.id)
    return fact.evolve(revision=result)


def get(ctx: SyncContext, fact_id: str, *, agent: str | None) -> Fact:
    """One fact with the path of its note; from the base while the store is away.

    A fact that waits for the store in the outbox is there too; it has no revision yet.

    Raises:
        FactNotFoundError: there is none, or not for this agent.
        FactForgottenError: it was deleted.
    """
    fact_id = check_id(fact_id)
    base = ctx.archive.find_base(fact_id)
    try:
        fact = ctx.store.get(fact_id)
    except StoreUnavailableError:
        waits = queued_changes(ctx, fact_id)
        offline = offline_fact(ctx, fact_id, waits)
        if waits and waits[-1].kind == "delete":
            raise FactNotFoundError(fact_id) from None
        if offline is None:
            raise
        fact = offline
    except FactNotFoundError:
        row = ctx.store.last_write(fact_id)
        buried = ctx.store.tombstone(fact_id)
        if row and buried and can_see(agent, buried.scope):
            raise FactForgottenError(fact_id, row.at) from None
        waits = queued_changes(ctx, fact_id)
        made = any(each.kind == "create" for each in waits)
        waiting = offline_fact(ctx, fact_id, waits) if made else None
        if waiting is None:
            raise
        fact = waiting
    if not can_see(agent, fact.scope):
        raise FactNotFoundError(fact_id)
    return fact.evolve(path=base.path if base else None)


def is_visible(ctx: SyncContext, fact_id: str, *, agent: str | None) -> bool:
    """Whether a fact, deleted or not, is one that the agent may see."""
    if agent is None:
        return True
    try:
        get(ctx, fact_id, agent=agent)
    except FactForgottenError:
        return True
    except (FactNotFoundError, StoreUnavailableError):
        return False
    return True


def history(ctx: SyncContext, fact_id: str, *, agent: str | None) -> Sequence[HistoryEntry]:
    """Who changed which field when, from which side; oldest first.

    Raises:
        FactNotFoundError: there is no such fact, or not for this agent.
        FactForgottenError: it was deleted before anything was recorded of it.
    """
    fact_id = check_id(fact_id)
    if not is_visible(ctx, fact_id, agent=agent):
        raise FactNotFoundError(fact_id)
    found = ctx.archive.history(fact_id=fact_id)
    if not found:
        get(ctx, fact_id, agent=agent)
        return []
    base = ctx.archive.find_base(fact_id)
    return list(readable_history(found, ctx.view, base.fact if base else None))


def update(
    ctx: SyncContext,
    fact_id: str,
    values: Mapping[str, Value],
    *,
    agent: str | None,
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    expect: str | None = None,
) -> Fact:
    """Change a fact in the store. Without `expect`, what others write meanwhile stays.

    Raises:
        FactNotFoundError.
        InvalidFieldError: a value that its field does not take.
        FixedFieldError, ComputedFieldError: a field that never changes, or nobody sets.
        UnknownPlaceholderError: `[REDACTED:…]` stands for no secret of the fact.
        RevisionMismatchError: the fact is not at `expect`.
    """
    fact_id = check_id(fact_id)
    _check_settable(values)
    for key in values:
        if key in FIELDS_BY_KEY and FIELDS_BY_KEY[key].owner is FieldOwner.IDENTITY:
            raise FixedFieldError(key)
    known: Fact | None = None
    for _ in range(MAX_UPDATE_TRIES):
        try:
            current = known = get(ctx, fact_id, agent=agent)
            fact = apply_restored_changes(ctx, current, values, add_tags, remove_tags)
            fact = link_entities(ctx, fact, agent=agent, before=current.content)
            _check_in_store(current)
            if fact == current and (expect is None or expect == current.revision):
                return current
            check_access(ctx, fact, agent=agent, before=current.related_fact_ids)
            fact = fact.evolve(updated_at=ctx.today())
            write = StoreWrite(fact_id, fact, expect or current.revision, agent or "person")
            result = ctx.store.write([write])[0]
        except StoreUnavailableError:
            known = known or offline_fact(ctx, fact_id)
            tags = (add_tags, remove_tags)
            return update_later(ctx, known, values, tags, agent=agent)
        if not isinstance(result, RevisionMismatch):
            return fact.evolve(revision=result, path=current.path)
        if expect is not None:
            raise RevisionMismatchError(fact_id, expect, result.found)
    raise RevisionMismatchError(fact_id, "the one just read", "another, again and again")


def supersede(ctx: SyncContext, fact_id: str, text: str, *, agent: str | None) -> Fact:
    """A new fact that replaces an older one; both name each other.

    Raises:
        FactNotFoundError, RevisionMismatchError, SupersededError: the older one is gone,
        changed again and again, or replaced already.
    """
    old = get(ctx, fact_id, agent=agent)
    check_not_superseded(ctx, old, agent=agent)
    at = ctx.today()
    content = ctx.view.restore_values({"content": text}, old)[0]["content"]
    fresh = make_fact(
        {
            "id": ctx.clock.new_id(),
            "type": old.type,
            "content": content,
            "priority": old.priority,
            "tags": list(old.tags),
            "entities": list(old.entities),
            "scope": old.scope,
            "createdAt": at,
            "updatedAt": at,
            "agentId": agent,
            "supersedesId": old.id,
        }
    )
    if not fresh.content.strip():
        raise InvalidFieldError("content", text, "text that replaces the older one")
    fresh = link_entities(ctx, fresh, agent=agent)
    try:
        return _replace(ctx, old, fresh, agent=agent)
    except StoreUnavailableError:
        replaced = old.evolve(superseded_by_id=fresh.id)
        queue_changes(
            ctx,
            queued_create(ctx, fresh, agent=agent),
            queued_update(ctx, old, replaced, ["supersededById"], agent=agent),
        )
        return fresh


def _replace(ctx: SyncContext, old: Fact, fresh: Fact, *, agent: str | None) -> Fact:
    """Write both ends at once, or none; the new one with its revision."""
    who = agent or "person"
    for _ in range(MAX_UPDATE_TRIES):
        _check_in_store(old)
        check_not_superseded(ctx, old, agent=agent)
        replaced = old.evolve(superseded_by_id=fresh.id, updated_at=fresh.updated_at)
        first = StoreWrite(old.id, replaced, old.revision, who)
        second = StoreWrite(fresh.id, fresh, None, who, needs=old.id)
        _, made = ctx.store.write([first, second])
        if isinstance(made, str):
            return fresh.evolve(revision=made)
        old = get(ctx, old.id, agent=agent)
    raise RevisionMismatchError(old.id, "the one just read", "another, always")


def forget(
    ctx: SyncContext, fact_id: str, *, agent: str | None, expect: str | None = None
) -> ForgetResult:
    """Delete a fact: it becomes a tombstone, and `restore` brings it back.

    Raises:
        FactNotFoundError.
        RevisionMismatchError: the fact is not at `expect`.
    """
    known: Fact | None = None
    for _ in range(MAX_UPDATE_TRIES):
        try:
            fact = known = get(ctx, fact_id, agent=agent)
            _check_in_store(fact)
            _check_revision(fact, expect)
            write = StoreWrite(fact.id, None, fact.revision, agent or "person")
            if not isinstance(ctx.store.write([write])[0], RevisionMismatch):
                return ForgetResult(fact.id, STATUS_FORGOTTEN)
        except StoreUnavailableError:
            # What was read is what is to go, nothing that its reader did not see.
            known = known or offline_fact(ctx, check_id(fact_id))
            if known is None:
                raise
            queue_changes(ctx, queued_delete(ctx, known, agent=agent))
            return ForgetResult(known.id, STATUS_FORGOTTEN)
    raise RevisionMismatchError(fact_id, "the one just read", "another, again and again")


def _check_settable(values: Mapping[str, Value]) -> None:
    """See that nobody sets what is computed; an author's property of that name may go."""
    for key, value in values.items():
        if value is not None and (key in NON_FIELD_KEYS or key == "updatedAt"):
            raise ComputedFieldError(key)


def _check_in_store(fact: Fact) -> None:
    """See that the store has a fact, which it has not while that waits in the outbox."""
    if not fact.revision:
        why = "this fact waits for it in the outbox; the next pass brings it over"
        raise StoreUnavailableError(why)


def _check_revision(fact: Fact, expect: str | None) -> None:
    if expect is not None and expect != fact.revision:
        raise RevisionMismatchError(fact.id, expect, fact.revision)


def restore(
    ctx: SyncContext, fact_id: str, *, agent: str | None, expect: str | None = None
) -> ForgetResult:
    """Bring back a fact that was deleted, on whichever side.

    Raises:
        FactNotFoundError: the store never knew it.
        RevisionMismatchError: what was deleted is not at `expect`.
    """
    fact_id = check_id(fact_id)
    for _ in range(MAX_UPDATE_TRIES):
        buried = ctx.store.tombstone(fact_id)
        if buried is None:
            get(ctx, fact_id, agent=agent)
            return ForgetResult(fact_id, STATUS_ACTIVE)
        if not can_see(agent, buried.scope):
            raise FactNotFoundError(fact_id)
        _check_revision(buried, expect)
        fact = buried.evolve(updated_at=ctx.today())
        write = StoreWrite(fact_id, fact, buried.revision, agent or "person")
        if not isinstance(ctx.store.write([write])[0], RevisionMismatch):
            return ForgetResult(fact_id, STATUS_ACTIVE)
    raise RevisionMismatchError(fact_id, "the one just read", "another, again and again")


def field_key(key: str, type_name: str) -> str:
    """The full key of a field that may be named without its type's prefix.

    `outcome` of a decision is `decisionOutcome`; `created_at` is not a key.
    """
    if key in FIELDS_BY_KEY or key in OWN_FIELDS_BY_KEY:
        return key
    prefix = "entity" if type_name in ("person", "project", "entity") else type_name
    full = prefix + key[:1].upper() + key[1:]
    return full if full in OWN_FIELDS_BY_KEY else key
