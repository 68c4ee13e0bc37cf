"""Agents' operations on facts: the store is written first, then the note.

While the store is unavailable, changes are queued in the outbox; `sync/outbox.py` delivers them
when it is back.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct

from vaultsync.errors import (
    ComputedFieldError,
    ConflictNotFoundError,
    FactForgottenError,
    FactNotFoundError,
    FixedFieldError,
    IdTakenError,
    InvalidFieldError,
    RevisionMismatchError,
    ScopeDeniedError,
    StoreUnavailableError,
    SupersededError,
    UnknownPlaceholderError,
    UsageError,
)
from vaultsync.model.canonical import check_id, tag_key, tags_in
from vaultsync.model.decay import brought_back
from vaultsync.model.due_dates import invalid_due_dates
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.hiding import SUPERSEDED
from vaultsync.model.schema import (
    ALL_FIELDS_BY_KEY,
    FIELDS_BY_KEY,
    LINEAGE,
    NAMED_TYPES,
    NON_FIELD_KEYS,
    PLACE_PROPERTIES,
    FieldOwner,
    Value,
)
from vaultsync.model.scope import is_team, private_scope
from vaultsync.model.serialization import fact_from_values, fact_to_values
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.storage.archive import HistoryEntry, OutboxEntry
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import (
    CONTENDED,
    MAX_UPDATE_TRIES,
    creation_op,
    overwrite,
    readable_history,
    unrecorded_history,
)

STATUS_FORGOTTEN: Final = "forgotten"
STATUS_ACTIVE: Final = "active"
_KEPT_BY_VERSIONS = ("type", "priority", "tags", "entities", "scope", "themeIds", "userId")
"""The fields of a fact that the fact which replaces it takes over."""


class ForgetResult(Struct, frozen=True, omit_defaults=True):
    """A fact that was deleted or brought back."""

    id: str
    status: Literal["forgotten", "active"]
    previous: str | None = None
    """The older version that the deleted fact replaced, which stays hidden; `restore` brings
    it back. Left out when there is none."""


def remember(ctx: SyncContext, values: Mapping[str, Value], *, agent: str | None) -> Fact:
    """Write a new fact to the store, or to the outbox while the store is unavailable.

    An agent of None is the user. The fact has no revision while it waits in the outbox.

    Raises: as `new_fact()` and `write_new()`, and IdTakenError.
    """
    fact = new_fact(ctx, values, agent=agent)
    (written,) = write_new(ctx, [fact], agent=agent, has_new_ids=not values.get("id"))
    if written is None:
        raise IdTakenError(fact.id)
    return written


def new_fact(ctx: SyncContext, values: Mapping[str, Value], *, agent: str | None) -> Fact:
    """The fact that `remember()` would write of these values; nothing is written.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError: a value
            that its field does not accept; `content` or `title` must have text.
        ComputedFieldError, ScopeDeniedError, NoteLimitError.
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
    fact = _as_tags_of_obsidian(make_fact(filled))
    _check_due_dates(fact.type, values)
    _check_observation(fact, agent=agent)
    if not fact.content.strip() and not str(values.get("title") or "").strip():
        raise InvalidFieldError("content", fact.content, "text to be remembered")
    check_access(ctx, fact, agent=agent)
    return _linked(ctx, fact, agent=agent)


def write_new(
    ctx: SyncContext, facts: Sequence[Fact], *, agent: str | None, has_new_ids: bool = True
) -> list[Fact | None]:
    """Write new facts in one transaction, or to the outbox while the store is unavailable.

    `has_new_ids` states that no note can have their ids yet.

    Returns: each as `remember()` does; None where there is, or was, one with that id.

    Raises:
        WriteLimitError: the agent may not write as much; nothing was written.
    """
    _check_write(ctx, *facts, agent=agent)
    actor = agent or "person"
    ops = [creation_op(each) if has_new_ids else "" for each in facts]
    writes = [StoreWrite(x.id, x, None, actor, op=op) for x, op in zip(facts, ops, strict=True)]
    try:
        results = ctx.store.write(writes)
    except StoreUnavailableError:
        creations = (_creation(each) for each in facts)
        _queue(ctx, agent, *creations, has_new_ids=has_new_ids)
        return [*facts]
    return [
        None if isinstance(result, RevisionMismatch) else fact.evolve(revision=result)
        for fact, result in zip(facts, results, strict=True)
    ]


def _linked(ctx: SyncContext, fact: Fact, *, agent: str | None, before: Fact | None = None) -> Fact:
    """The fact with links to entities that it mentions; NoteLimitError if its note is too large."""
    # Readers of facts need neither the names of entities nor the rendering of notes.
    from vaultsync.facts.entity_links import link_entities  # noqa: PLC0415 - see above

    fact = link_entities(ctx, fact, agent=agent, before=before)
    _check_note(ctx, fact)
    return fact


def _check_write(ctx: SyncContext, *facts: Fact, agent: str | None) -> None:
    if agent is not None and ctx.policy.permissions.of(agent).is_limited:
        from vaultsync.facts.write_limits import check_write_limits  # noqa: PLC0415 - few have any

        check_write_limits(ctx, *facts, agent=agent)


def _check_note(ctx: SyncContext, fact: Fact) -> None:
    from vaultsync.facts.write_limits import check_note_limits  # noqa: PLC0415 - as above

    check_note_limits(ctx, fact)


def get(ctx: SyncContext, fact_id: str, *, agent: str | None) -> Fact:
    """The fact with the path of its note; from the base while the store is unavailable.

    A fact that waits in the outbox is returned too; it has no revision yet.

    Raises:
        FactNotFoundError: there is none that the agent can see.
        FactForgottenError: it was deleted.
    """
    fact_id = check_id(fact_id)
    path = ctx.archive.note_paths([fact_id]).get(fact_id)
    try:
        fact = ctx.store.get(fact_id)
    except StoreUnavailableError:
        queued = ctx.archive.outbox(fact_id=fact_id)
        if queued and queued[-1].kind == "delete":
            raise FactNotFoundError(fact_id) from None
        last_known = _offline_fact(ctx, fact_id, queued)
        if last_known is None:
            raise
        fact = last_known
    except FactNotFoundError:
        row = ctx.store.last_write(fact_id)
        tombstone = ctx.store.tombstone(fact_id)
        if row and tombstone and ctx.policy.permissions.may_read(agent, tombstone.scope):
            raise FactForgottenError(fact_id, row.at) from None
        queued = ctx.archive.outbox(fact_id=fact_id)
        created = any(each.kind == "create" for each in queued)
        last_known = _offline_fact(ctx, fact_id, queued) if created else None
        if last_known is None:
            raise
        fact = last_known
    if not ctx.policy.permissions.may_read(agent, fact.scope):
        raise FactNotFoundError(fact_id)
    return fact.evolve(path=path)


def is_visible(ctx: SyncContext, fact_id: str, *, agent: str | None) -> bool:
    """Whether the agent can see a fact, deleted or not."""
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
    """Who changed which field when, and on which side; oldest first.

    Raises:
        FactNotFoundError: there is no such fact that the agent can see.
        FactForgottenError: it was deleted before any change was recorded.
    """
    fact_id = check_id(fact_id)
    if not is_visible(ctx, fact_id, agent=agent):
        raise FactNotFoundError(fact_id)
    entries = [*ctx.archive.history(fact_id=fact_id), *unrecorded_history(ctx, fact_id)]
    if not entries:
        get(ctx, fact_id, agent=agent)
        return []
    base = ctx.archive.find_base(fact_id)
    return list(readable_history(entries, ctx.view, base.fact if base else None))


def visible_conflicts(
    ctx: SyncContext, fact_id: str | None = None, *, agent: str | None
) -> list[ConflictRecord]:
    """The open conflicts about facts that the agent can see, or one, with today's note paths."""
    conflicts = ctx.archive.conflicts(fact_id=fact_id)
    fact_ids = [each.fact_id for each in conflicts]
    bases, stored = ctx.archive.find_bases(fact_ids), dict[str, Fact]()
    if agent is not None:
        with suppress(StoreUnavailableError):
            stored = ctx.store.find_many(fact_ids)

    def sees(fact_id: str) -> bool:
        if fact_id in stored:
            return ctx.policy.permissions.may_read(agent, stored[fact_id].scope)
        return is_visible(ctx, fact_id, agent=agent)

    return [
        replace(each, path=bases[each.fact_id].path if each.fact_id in bases else each.path)
        for each in conflicts
        if sees(each.fact_id)
    ]


def find_conflict(
    ctx: SyncContext, conflict_id: str, *, agent: str | None = None
) -> ConflictRecord:
    """The open conflict with an id or the only one that begins so, or of a fact or path.

    Raises:
        ConflictNotFoundError: the agent can see none, or more than one.
    """
    visible = visible_conflicts(ctx, agent=agent)
    matches = [each for each in visible if each.is_called(conflict_id)]
    if len(matches) != 1 or not conflict_id:
        raise ConflictNotFoundError(conflict_id)
    return matches[0]


def update(
    ctx: SyncContext,
    fact_id: str,
    values: Mapping[str, Value],
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    *,
    agent: str | None,
    expect: str | None = None,
) -> Fact:
    """Change fields of a fact in the store; None clears one, and the others stay.

    `expect` is the revision to replace. Without it, the change is applied to the newest
    revision, and what others write in the meantime stays. While the store is unavailable,
    `expect` is compared with the revision known locally, and again at the delivery.

    Raises:
        FactNotFoundError: there is none that the agent can see.
        ScopeDeniedError: the agent may not write in its scope, or in the new one.
        InvalidFieldError, FixedFieldError, ComputedFieldError, NoteLimitError.
        UnknownPlaceholderError: as `apply_restored_changes()`.
        RevisionMismatchError: the fact is not at `expect`, or changed at every try.
        StoreUnavailableError: the store is unavailable and the fact is not known locally.
    """
    fact_id = check_id(fact_id)
    _check_settable(values)
    for key in values:
        if key in FIELDS_BY_KEY and FIELDS_BY_KEY[key].owner is FieldOwner.IDENTITY:
            raise FixedFieldError(key)
    existing: Fact | None = None
    uncounted = agent
    for _ in range(MAX_UPDATE_TRIES):
        try:
            current = existing = get(ctx, fact_id, agent=agent)
            check_scope_access(ctx, current.scope, agent=agent)
            fact = apply_restored_changes(ctx, current, values, add_tags, remove_tags)
            fact = _linked(ctx, fact, agent=agent, before=current)
            _check_in_store(current)
            if fact == current and (expect is None or expect == current.revision):
                return current
            check_access(ctx, fact, agent=agent, before=current.related_fact_ids)
            _check_observation(fact, agent=agent, before=current)
            _check_write(ctx, fact, agent=uncounted)
            uncounted = None
            fact = fact.evolve(updated_at=ctx.today())
            replaced = current.revision if expect is None else expect
            write = overwrite(ctx, fact_id, fact, replaced, agent or "person")
            result = ctx.store.write([write])[0]
        except StoreUnavailableError as error:
            if existing is None:
                why = f"{error.why}; this fact is not known locally"
                raise StoreUnavailableError(why, helps=error.helps) from None
            _check_revision(existing, expect)
            fact = apply_restored_changes(ctx, existing, values, add_tags, remove_tags)
            check_scope_access(ctx, existing.scope, fact.scope, agent=agent)
            _check_observation(fact, agent=agent, before=existing)
            _check_note(ctx, fact)
            _check_write(ctx, fact, agent=uncounted)
            keys = [*values, *(["tags"] if add_tags or remove_tags else [])]
            before, after = ({key: each.plain(key) for key in keys} for each in (existing, fact))
            _queue(ctx, agent, (fact_id, "update", before, after), expect=expect)
            return fact
        if not isinstance(result, RevisionMismatch):
            return fact.evolve(revision=result, path=current.path)
        if expect is not None:
            raise RevisionMismatchError(fact_id, expect, result.found)
    raise RevisionMismatchError(fact_id, *CONTENDED)


def apply_restored_changes(
    ctx: SyncContext,
    fact: Fact,
    values: Mapping[str, Value],
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
) -> Fact:
    """The changed fact, with redaction placeholders in the input replaced by the secrets.

    Raises:
        UnknownPlaceholderError: a placeholder matches no secret of the fact.
        InvalidFieldError: a value that its field does not accept; the error shows the value
            as written, since its writer may not see the secret.
    """
    written = {**values, "+tags": list(add_tags), "-tags": list(remove_tags)}
    restored, unknown = ctx.view.restore_values(written, fact)
    if unknown:
        raise UnknownPlaceholderError(fact.id, unknown)
    added = cast("Sequence[str]", restored.pop("+tags"))
    listed = cast("Sequence[str]", restored.pop("-tags"))
    removed = {tag_key(each) for tag in listed for each in (tag, *tags_in(tag))}
    try:
        changed = fact.replace(restored)
        if added or removed:
            kept = [tag for tag in changed.tags if tag_key(tag) not in removed]
            known = set(map(tag_key, kept))
            new = [tag for tag in added if tag_key(tag) not in known]
            changed = changed.replace({"tags": [*kept, *new]})
    except InvalidFieldError as error:
        if error.field not in values:
            raise
        raise InvalidFieldError(error.field, values[error.field], error.expected) from None
    _check_due_dates(changed.type, values)
    return _as_tags_of_obsidian(changed, fact.tags)


def _check_due_dates(fact_type: str, values: Mapping[str, Value]) -> None:
    for error in invalid_due_dates(fact_type, values):
        raise error


def _as_tags_of_obsidian(fact: Fact, known: Sequence[str] = ()) -> Fact:
    """A fact whose new tags are such as Obsidian takes; those that are known stay as they are."""
    tags = [new for tag in fact.tags for new in ([tag] if tag in known else tags_in(tag))]
    return fact if tags == [*fact.tags] else fact.replace({"tags": tags})


def supersede(ctx: SyncContext, fact_id: str, text: str, *, agent: str | None) -> Fact:
    """Write a new fact that replaces an older one; each names the other.

    The new fact takes over the fields of `_KEPT_BY_VERSIONS`, and where in a git repository the
    older one holds.

    Raises:
        FactNotFoundError, ScopeDeniedError, SupersededError.
        RevisionMismatchError: it changed at every try.
        InvalidFieldError: `text` is blank.
    """
    old = get(ctx, fact_id, agent=agent)
    check_scope_access(ctx, old.scope, agent=agent)
    check_not_superseded(ctx, old, agent=agent)
    at = ctx.today()
    content = ctx.view.restore_values({"content": text}, old)[0]["content"]
    kept = [*_KEPT_BY_VERSIONS, *(PLACE_PROPERTIES if old.value(LINEAGE) else ())]
    new = make_fact(
        {
            **{key: old.plain(key) for key in kept},
            "id": ctx.clock.new_id(),
            "content": content,
            "createdAt": at,
            "updatedAt": at,
            "agentId": agent,
            "supersedesId": old.id,
        }
    )
    if not new.content.strip():
        raise InvalidFieldError("content", text, "text that replaces the older one")
    _check_observation(new, agent=agent)
    new = _linked(ctx, new, agent=agent)
    _check_write(ctx, new, agent=agent)
    try:
        return _replace(ctx, old, new, agent=agent)
    except StoreUnavailableError:
        before, after = ({"supersededById": each} for each in (old.superseded_by_id, new.id))
        update = old.id, "update", before, after
        _queue(ctx, agent, _creation(new), update, has_new_ids=True)
        return new


def _replace(ctx: SyncContext, old: Fact, new: Fact, *, agent: str | None) -> Fact:
    """Write both ends at once, or none; returns the new one with its revision."""
    actor = agent or "person"
    for _ in range(MAX_UPDATE_TRIES):
        _check_in_store(old)
        check_not_superseded(ctx, old, agent=agent)
        replaced = old.evolve(superseded_by_id=new.id, updated_at=new.updated_at)
        first = overwrite(ctx, old.id, replaced, old.revision, actor)
        second = StoreWrite(new.id, new, None, actor, needs=old.id, op=creation_op(new))
        _, revision = ctx.store.write([first, second])
        if isinstance(revision, str):
            return new.evolve(revision=revision)
        old = get(ctx, old.id, agent=agent)
    raise RevisionMismatchError(old.id, *CONTENDED)


def forget(
    ctx: SyncContext,
    fact_id: str,
    *,
    agent: str | None,
    expect: str | None = None,
    restore_previous: bool = False,
) -> ForgetResult:
    """Delete a fact: it becomes a tombstone, and `restore()` brings it back.

    With `restore_previous`, the same write restores the `previous` version of the result.

    Raises:
        FactNotFoundError, ScopeDeniedError.
        RevisionMismatchError: the fact is not at `expect`, or changed at every try.
        StoreUnavailableError: the fact is not known locally, or its older version would have
            to be restored.
    """
    existing: Fact | None = None
    for _ in range(MAX_UPDATE_TRIES):
        try:
            fact = existing = get(ctx, fact_id, agent=agent)
            check_scope_access(ctx, fact.scope, agent=agent)
            _check_in_store(fact)
            _check_revision(fact, expect)
            writes = [overwrite(ctx, fact.id, None, fact.revision, agent or "person")]
            previous = _hidden_version(ctx, fact, agent=agent)
            if restore_previous and previous is not None:
                check_scope_access(ctx, previous.scope, agent=agent)
                shown = previous.replace(_unhidden(previous)).evolve(updated_at=ctx.today())
                restored = overwrite(ctx, shown.id, shown, shown.revision, agent or "person")
                writes.append(restored._replace(needs=fact.id))
            results = ctx.store.write(writes)
            if not isinstance(results[0], RevisionMismatch):
                if previous is not None and isinstance(results[-1], RevisionMismatch):
                    restore(ctx, previous.id, agent=agent)  # it was changed meanwhile
                return ForgetResult(fact.id, STATUS_FORGOTTEN, previous.id if previous else None)
        except StoreUnavailableError:
            if existing is None or (restore_previous and existing.supersedes_id):
                raise
            # Delete the version that was read, not one that its reader never saw.
            _check_revision(existing, expect)
            _queue(ctx, agent, (existing.id, "delete", fact_to_values(existing), {}), expect=expect)
            return ForgetResult(existing.id, STATUS_FORGOTTEN)
    raise RevisionMismatchError(fact_id, *CONTENDED)


def _hidden_version(ctx: SyncContext, fact: Fact, *, agent: str | None) -> Fact | None:
    """The newest version left of a chain, if the agent sees it and nothing else replaces it."""
    with suppress(StoreUnavailableError):  # it is offered later, by the chain
        if _nearest_version(ctx, fact, "superseded_by_id") is not None:
            return None
        if (found := _nearest_version(ctx, fact, "supersedes_id")) is not None:
            older, replaced_by = found
            readable = ctx.policy.permissions.may_read(agent, older.scope)
            if readable and older.superseded_by_id == replaced_by:
                return older
    return None


def _nearest_version(ctx: SyncContext, fact: Fact, link: str) -> tuple[Fact, str] | None:
    """The nearest version that exists on one side of a fact, and the id of the one before it.

    `link` is the attribute that leads to that side, whatever was forgotten on the way.
    """
    seen, version = {fact.id}, fact
    while (key := getattr(version, link)) is not None and key not in seen:
        seen.add(key)
        if found := ctx.store.find_many([key]):
            return found[key], version.id
        version = ctx.store.tombstone(key) or fact
    return None


def _check_settable(values: Mapping[str, Value]) -> None:
    """Refuse values for computed fields; a property of that name may still be cleared."""
    for key, value in values.items():
        if value is not None and (key in NON_FIELD_KEYS or key == "updatedAt"):
            raise ComputedFieldError(key)


def _check_in_store(fact: Fact) -> None:
    """Treat a fact that is still in the outbox as one of an unavailable store."""
    if not fact.revision:
        raise StoreUnavailableError("this fact is still in the outbox; the next run writes it")


def _check_revision(fact: Fact, expect: str | None) -> None:
    if expect is not None and expect != fact.revision:
        raise RevisionMismatchError(fact.id, expect, fact.revision)


def restore(
    ctx: SyncContext, fact_id: str, *, agent: str | None, expect: str | None = None
) -> ForgetResult:
    """Bring back a fact that was deleted on either side, or whose replacement was.

    A fact that comes back replaces the version again that it replaced before, and does not
    expire if its time had passed.

    Raises:
        FactNotFoundError, ScopeDeniedError.
        RevisionMismatchError: the tombstone is not at `expect`, or changed at every try.
    """
    fact_id = check_id(fact_id)
    for _ in range(MAX_UPDATE_TRIES):
        tombstone = ctx.store.tombstone(fact_id)
        if tombstone is None:
            try:
                fact = get(ctx, fact_id, agent=agent)
            except FactForgottenError:
                continue  # since its tombstone was looked for
            changes, successor = _unhidden(fact), fact.superseded_by_id
            if successor is not None and ctx.store.find_many([successor]):
                del changes["supersededById"]
            if changes:
                update(ctx, fact_id, changes, agent=agent, expect=expect)
            return ForgetResult(fact_id, STATUS_ACTIVE)
        if not ctx.policy.permissions.may_read(agent, tombstone.scope):
            raise FactNotFoundError(fact_id)
        check_scope_access(ctx, tombstone.scope, agent=agent)
        _check_revision(tombstone, expect)
        fact = brought_back(tombstone, ctx.clock.now()).evolve(updated_at=ctx.today())
        write = StoreWrite(fact_id, fact, tombstone.revision, agent or "person")
        writes = [write, *_replacing_again(ctx, fact, agent=agent)]
        if not isinstance(ctx.store.write(writes)[0], RevisionMismatch):
            return ForgetResult(fact_id, STATUS_ACTIVE)
    raise RevisionMismatchError(fact_id, *CONTENDED)


def _unhidden(fact: Fact) -> dict[str, Value]:
    """The changes that make a fact current whose replacement is gone."""
    changes: dict[str, Value] = {}
    successor = fact.superseded_by_id
    if fact.status == STATUS_FORGOTTEN or (
        fact.status == SUPERSEDED and successor is None  # its replacement was purged
    ):
        changes["status"] = STATUS_ACTIVE
    if successor is not None:
        changes["supersededById"] = None
    return changes


def _replacing_again(ctx: SyncContext, fact: Fact, *, agent: str | None) -> list[StoreWrite]:
    """The write by which a fact that comes back replaces its older version again."""
    older, replaced_by = _nearest_version(ctx, fact, "supersedes_id") or (None, "")
    if older is None or older.superseded_by_id:
        return []
    if not ctx.policy.permissions.may_write(agent, older.scope):
        return []
    replaced = older.evolve(superseded_by_id=replaced_by, updated_at=fact.updated_at)
    return [StoreWrite(older.id, replaced, older.revision, agent or "person", needs=fact.id)]


def _check_observation(fact: Fact, *, agent: str | None, before: Fact | None = None) -> None:
    """Refuse an agent's observation in the scope of a team, unless it was one there before."""
    is_new = before is None or (before.type, before.scope) != (fact.type, fact.scope)
    if agent is not None and fact.type == "observation" and is_team(fact.scope) and is_new:
        expected = "the agent's own scope, a project's or public, for an observation"
        raise InvalidFieldError("scope", fact.scope, expected)


def check_scope_access(ctx: SyncContext, *scopes: str, agent: str | None) -> None:
    """Raise ScopeDeniedError unless an agent may write in some scopes."""
    permissions = ctx.policy.permissions
    for each in scopes:
        if not permissions.may_write(agent, each):
            raise ScopeDeniedError(agent or "", each, proposes=permissions.may_propose(agent, each))


def check_writable(ctx: SyncContext, fact_ids: Iterable[str], *, agent: str | None) -> None:
    """Raise ScopeDeniedError unless an agent may write facts that it can see, deleted or not."""
    if agent is None:
        return
    for each in fact_ids:
        base = ctx.archive.find_base(each)
        stored: Fact | None = None
        with suppress(StoreUnavailableError):
            stored = ctx.store.find_many([each]).get(each) or ctx.store.tombstone(each)
        versions = (base.fact if base else None, stored)
        check_scope_access(ctx, *(fact.scope for fact in versions if fact), agent=agent)


def check_access(
    ctx: SyncContext, fact: Fact, *, agent: str | None, before: Sequence[str] = ()
) -> None:
    """Check that an agent may write a fact, and sees the facts that it relates it to.

    The related facts `before` are not checked: an agent with more rights may have added them.

    Raises:
        ScopeDeniedError: the agent may not write in the scope.
        FactNotFoundError: a related fact is none that it may read; the note would show its title.
    """
    check_scope_access(ctx, fact.scope, agent=agent)
    added = {*fact.related_fact_ids} - {*before}
    if agent is None or not added:
        return
    with suppress(StoreUnavailableError):  # without the store nothing can be compared
        ctx.store.find_many(added)
        for each in sorted(added):
            if not is_visible(ctx, each, agent=agent):
                raise FactNotFoundError(each)


def check_not_superseded(ctx: SyncContext, fact: Fact, *, agent: str | None) -> None:
    """Raise SupersededError, which names the head of the chain, if something replaces a fact.

    Where the replacement was deleted since, the fact is the head again.
    """
    head, seen = fact, {fact.id}
    while (successor := head.superseded_by_id) is not None and successor not in seen:
        newer = ctx.store.find_many([successor]).get(successor)
        if newer is None or not ctx.policy.permissions.may_read(agent, newer.scope):
            break
        seen.add(successor)
        head = newer
    if head is not fact:
        raise SupersededError(fact.id, head.id)


def values_by_key(
    values: Mapping[str, Value], type_name: str, properties: Container[str] = ()
) -> dict[str, Value]:
    """Values by the keys of their fields, as `field_key()` knows these; `properties` keep theirs.

    Raises:
        UsageError: two names of one field have different values.
    """
    found: dict[str, Value] = {}
    for name, value in values.items():
        key = name if name in properties else field_key(name, type_name)
        if found.setdefault(key, value) != value:
            raise given_twice(key)
    return found


def given_twice(key: str) -> UsageError:
    """The error for two different values of a field."""
    return UsageError(f"{key} was given twice with different values", hint="give it once")


def field_key(key: str, type_name: str) -> str:
    """The key of a field that is named as in Python, or without the prefix of its type.

    `user_id` is `userId`, and `outcome` of a decision is `decisionOutcome`. A name without such a
    field stays as it is.
    """
    prefix = "entity" if type_name in NAMED_TYPES else type_name
    names = (key, prefix + key[:1].upper() + key[1:], f"{prefix}_{key}")
    return next((_KEYS_BY_NAME[name] for name in names if name in _KEYS_BY_NAME), key)


_KEYS_BY_NAME = {name: key for key, row in ALL_FIELDS_BY_KEY.items() for name in (key, row.attr)}


# --------------------------------------------------------------------- outbox


_Change: TypeAlias = tuple[str, str, Mapping[str, Value], Mapping[str, Value]]


def _creation(fact: Fact) -> _Change:
    return fact.id, "create", {}, fact_to_values(fact)


def _queue(
    ctx: SyncContext,
    agent: str | None,
    *changes: _Change,
    expect: str | None = None,
    has_new_ids: bool = False,
) -> None:
    """Put changes into the outbox, each a fact's id, `OutboxEntry.kind`, former and new values.

    `expect` is the revision that they are for; `has_new_ids` as in `write_new()`.
    """
    actor, at = agent or "person", ctx.now()
    with ctx.archive.transaction():
        ctx.archive.put_waiting(
            OutboxEntry(ctx.clock.new_id(), *each, actor, at, expect, has_new_ids)
            for each in changes
        )


def _offline_fact(ctx: SyncContext, fact_id: str, queued: Sequence[OutboxEntry]) -> Fact | None:
    """The fact as known without the store: its base, with the queued changes applied."""
    base = ctx.archive.find_base(fact_id)
    fact = base.fact if base else None
    for row in queued:
        if row.kind == "delete":
            fact = None
        elif row.kind == "create":
            fact = fact_from_values(row.after)
        elif row.kind == "update" and fact is not None:
            fact = fact.replace(row.after)
    return fact
