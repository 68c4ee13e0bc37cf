"""What agents do with facts: the store is written first, the note follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from vaultsync.facts.autolink import linked
from vaultsync.facts.offline import (
    changed,
    created,
    deleted,
    known_offline,
    queue,
    update_later,
    waits_for,
)
from vaultsync.facts.permissions import check_access, check_head
from vaultsync.facts.placeholders import changed_by
from vaultsync.model.canonical import check_id
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import FIELD, NO_FIELDS, OWN, Owner, Value
from vaultsync.model.scope import private, sees
from vaultsync.storage.archive import HistoryEntry
from vaultsync.storage.store import RevisionMismatch, Write
from vaultsync.sync.context import Mirror
from vaultsync.sync.history import readable

FORGOTTEN, ACTIVE = "forgotten", "active"
TRIES = 20
"""How often an update is repeated when other writers get in between."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A fact that was deleted or brought back."""

    id: str
    status: str
    """`forgotten` or `active`."""

    def as_json(self) -> dict[str, Value]:
        """Both, by name."""
        return {"id": self.id, "status": self.status}


def remember(mirror: Mirror, values: Mapping[str, Value], *, agent: str | None) -> Fact:
    """Write a new fact to the store.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError.
        ComputedFieldError: a value that nobody sets.
        ScopeDeniedError: the scope is another agent's.
        IdTakenError: there is, or was, a fact of that id.
    """
    _check_set(values)
    at = mirror.today()
    scope = values.get("scope") or (
        private(agent) if agent else mirror.policy.default_scope
    )
    filled: dict[str, Value] = {
        "createdAt": at,
        "type": mirror.policy.default_type,
        **{key: value for key, value in values.items() if value is not None},
        "id": values.get("id") or mirror.clock.new_id(),
        "scope": scope,
        "updatedAt": at,
    }
    if agent:
        filled.setdefault("agentId", agent)
    fact = make_fact(filled)
    if not fact.content.strip() and not str(values.get("title") or "").strip():
        raise InvalidFieldError("content", fact.content, "text to be remembered")
    check_access(mirror, fact, agent=agent)
    fact = linked(mirror, fact, agent=agent)
    write = Write(fact.id, fact, None, agent or "person")
    try:
        result = mirror.store.write([write])[0]
    except StoreUnavailableError:
        queue(mirror, created(mirror, fact, agent=agent))
        return fact
    if isinstance(result, RevisionMismatch):
        raise IdTakenError(fact.id)
    return fact.but(revision=result)


def get(mirror: Mirror, fact_id: str, *, agent: str | None) -> Fact:
    """One fact with the path of its note; from the base while the store is away.

    A fact that waits for the store in the outbox is there too; it has no revision yet.

    Raises:
        FactNotFoundError: there is none, or not for this agent.
        FactForgottenError: it was deleted.
    """
    fact_id = check_id(fact_id)
    base = mirror.archive.find_base(fact_id)
    try:
        fact = mirror.store.get(fact_id)
    except StoreUnavailableError:
        waits = waits_for(mirror, fact_id)
        offline = known_offline(mirror, fact_id, waits)
        if waits and waits[-1].kind == "delete":
            raise FactNotFoundError(fact_id) from None
        if offline is None:
            raise
        fact = offline
    except FactNotFoundError:
        row = mirror.store.written(fact_id)
        buried = mirror.store.buried(fact_id)
        if row and buried and sees(agent, buried.scope):
            raise FactForgottenError(fact_id, row.at) from None
        waits = waits_for(mirror, fact_id)
        made = any(each.kind == "create" for each in waits)
        waiting = known_offline(mirror, fact_id, waits) if made else None
        if waiting is None:
            raise
        fact = waiting
    if not sees(agent, fact.scope):
        raise FactNotFoundError(fact_id)
    return fact.but(path=base.path if base else None)


def is_visible(mirror: Mirror, fact_id: str, *, agent: str | None) -> bool:
    """Whether a fact, deleted or not, is one that the agent may see."""
    if agent is None:
        return True
    try:
        get(mirror, fact_id, agent=agent)
    except FactForgottenError:
        return True
    except (FactNotFoundError, StoreUnavailableError):
        return False
    return True


def history(
    mirror: Mirror, fact_id: str, *, agent: str | None
) -> Sequence[HistoryEntry]:
    """Who changed which field when, from which side; oldest first.

    Raises:
        FactNotFoundError: there is no such fact, or not for this agent.
        FactForgottenError: it was deleted before anything was recorded of it.
    """
    fact_id = check_id(fact_id)
    if not is_visible(mirror, fact_id, agent=agent):
        raise FactNotFoundError(fact_id)
    found = mirror.archive.history(fact_id=fact_id)
    if not found:
        get(mirror, fact_id, agent=agent)
        return []
    base = mirror.archive.find_base(fact_id)
    return list(readable(found, mirror.lens, base.fact if base else None))


def update(
    mirror: Mirror,
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
    _check_set(values)
    for key in values:
        if key in FIELD and FIELD[key].owner is Owner.IDENTITY:
            raise FixedFieldError(key)
    known: Fact | None = None
    for _ in range(TRIES):
        try:
            current = known = get(mirror, fact_id, agent=agent)
            fact = changed_by(mirror, current, values, add_tags, remove_tags)
            fact = linked(mirror, fact, agent=agent, before=current.content)
            _check_there(current)
            if fact == current and (expect is None or expect == current.revision):
                return current
            check_access(mirror, fact, agent=agent, before=current.related_fact_ids)
            fact = fact.but(updated_at=mirror.today())
            write = Write(fact_id, fact, expect or current.revision, agent or "person")
            result = mirror.store.write([write])[0]
        except StoreUnavailableError:
            known = known or known_offline(mirror, fact_id)
            tags = (add_tags, remove_tags)
            return update_later(mirror, known, values, tags, agent=agent)
        if not isinstance(result, RevisionMismatch):
            return fact.but(revision=result, path=current.path)
        if expect is not None:
            raise RevisionMismatchError(fact_id, expect, result.found)
    raise RevisionMismatchError(
        fact_id, "the one just read", "another, again and again"
    )


def supersede(mirror: Mirror, fact_id: str, text: str, *, agent: str | None) -> Fact:
    """A new fact that replaces an older one; both name each other.

    Raises:
        FactNotFoundError, RevisionMismatchError, SupersededError: the older one is gone,
        changed again and again, or replaced already.
    """
    old = get(mirror, fact_id, agent=agent)
    check_head(mirror, old, agent=agent)
    at = mirror.today()
    content = mirror.lens.taken({"content": text}, old)[0]["content"]
    fresh = make_fact(
        {
            "id": mirror.clock.new_id(),
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
    fresh = linked(mirror, fresh, agent=agent)
    try:
        return _replace(mirror, old, fresh, agent=agent)
    except StoreUnavailableError:
        replaced = old.but(superseded_by_id=fresh.id)
        queue(
            mirror,
            created(mirror, fresh, agent=agent),
            changed(mirror, old, replaced, ["supersededById"], agent=agent),
        )
        return fresh


def _replace(mirror: Mirror, old: Fact, fresh: Fact, *, agent: str | None) -> Fact:
    """Write both ends at once, or none; the new one with its revision."""
    who = agent or "person"
    for _ in range(TRIES):
        _check_there(old)
        check_head(mirror, old, agent=agent)
        replaced = old.but(superseded_by_id=fresh.id, updated_at=fresh.updated_at)
        first = Write(old.id, replaced, old.revision, who)
        second = Write(fresh.id, fresh, None, who, needs=old.id)
        _, made = mirror.store.write([first, second])
        if isinstance(made, str):
            return fresh.but(revision=made)
        old = get(mirror, old.id, agent=agent)
    raise RevisionMismatchError(old.id, "the one just read", "another, always")


def forget(
    mirror: Mirror, fact_id: str, *, agent: str | None, expect: str | None = None
) -> Forgotten:
    """Delete a fact: it becomes a tombstone, and `restore` brings it back.

    Raises:
        FactNotFoundError.
        RevisionMismatchError: the fact is not at `expect`.
    """
    known: Fact | None = None
    for _ in range(TRIES):
        try:
            fact = known = get(mirror, fact_id, agent=agent)
            _check_there(fact)
            _check_revision(fact, expect)
            write = Write(fact.id, None, fact.revision, agent or "person")
            if not isinstance(mirror.store.write([write])[0], RevisionMismatch):
                return Forgotten(fact.id, FORGOTTEN)
        except StoreUnavailableError:
            # What was read is what is to go, nothing that its reader did not see.
            known = known or known_offline(mirror, check_id(fact_id))
            if known is None:
                raise
            queue(mirror, deleted(mirror, known, agent=agent))
            return Forgotten(known.id, FORGOTTEN)
    raise RevisionMismatchError(
        fact_id, "the one just read", "another, again and again"
    )


def _check_set(values: Mapping[str, Value]) -> None:
    """See that nobody sets what is computed; an author's property of that name may go."""
    for key, value in values.items():
        if value is not None and (key in NO_FIELDS or key == "updatedAt"):
            raise ComputedFieldError(key)


def _check_there(fact: Fact) -> None:
    """See that the store has a fact, which it has not while that waits in the outbox."""
    if not fact.revision:
        why = "this fact waits for it in the outbox; the next pass brings it over"
        raise StoreUnavailableError(why)


def _check_revision(fact: Fact, expect: str | None) -> None:
    if expect is not None and expect != fact.revision:
        raise RevisionMismatchError(fact.id, expect, fact.revision)


def restore(
    mirror: Mirror, fact_id: str, *, agent: str | None, expect: str | None = None
) -> Forgotten:
    """Bring back a fact that was deleted, on whichever side.

    Raises:
        FactNotFoundError: the store never knew it.
        RevisionMismatchError: what was deleted is not at `expect`.
    """
    fact_id = check_id(fact_id)
    for _ in range(TRIES):
        buried = mirror.store.buried(fact_id)
        if buried is None:
            get(mirror, fact_id, agent=agent)
            return Forgotten(fact_id, ACTIVE)
        if not sees(agent, buried.scope):
            raise FactNotFoundError(fact_id)
        _check_revision(buried, expect)
        fact = buried.but(updated_at=mirror.today())
        write = Write(fact_id, fact, buried.revision, agent or "person")
        if not isinstance(mirror.store.write([write])[0], RevisionMismatch):
            return Forgotten(fact_id, ACTIVE)
    raise RevisionMismatchError(
        fact_id, "the one just read", "another, again and again"
    )


def field_key(key: str, type_name: str) -> str:
    """The full key of a field that may be named without its type's prefix.

    `outcome` of a decision is `decisionOutcome`; `created_at` is not a key.
    """
    if key in FIELD or key in OWN:
        return key
    prefix = "entity" if type_name in ("person", "project", "entity") else type_name
    full = prefix + key[:1].upper() + key[1:]
    return full if full in OWN else key
