"""Export all facts as JSON Lines, and import them again without loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice

from vaultsync.errors import (
    ImportLineError,
    InvalidFieldError,
    RevisionMismatchError,
    ScopeDeniedError,
    UsageError,
)
from vaultsync.facts.service import check_scope_access
from vaultsync.facts.write_limits import check_note_limits, check_write_limits
from vaultsync.model.canonical import check_property
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import (
    FIELDS_BY_KEY,
    NON_FIELD_KEYS,
    OWN_FIELDS_BY_KEY,
    Value,
    equal_as_json,
)
from vaultsync.model.serialization import fact_from_json, fact_line, fact_to_json, fact_to_values
from vaultsync.storage.packed_bytes import pack, unpack
from vaultsync.storage.store import RevisionMismatch, StoreWrite, with_count_of
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import CONTENDED, MAX_UPDATE_TRIES, deleted_revision

FACTS_PER_WRITE = 1000
IMPORT_ACTOR = "import"
"""The actor of what the user imports."""


def export_facts(
    ctx: SyncContext,
    write: Callable[[str], object],
    *,
    agent: str | None = None,
    user: str | None = None,
) -> int:
    """Write each fact that the agent can see as one line of JSON; returns their number.

    With a `user`, only facts about them.
    """
    count = 0
    for fact in ctx.store.iter_facts():
        if ctx.policy.permissions.may_read(agent, fact.scope) and user in (None, fact.user_id):
            write(fact_to_json(fact) + "\n")
            count += 1
    return count


def import_facts(ctx: SyncContext, lines: Iterable[str], *, agent: str | None = None) -> int:
    """Import facts from lines of JSON: all of them or, if one is invalid, none.

    A line overwrites an existing fact, or restores a deleted one, if the agent may see it.

    Returns: the number of facts.

    Raises:
        ImportLineError: names the invalid line.
    """
    batches: list[bytes] = []
    """Nothing is written before the last line was read; until then the facts are packed."""
    count = 0
    read = _read_all(ctx, lines, agent)
    while batch := [*islice(read, FACTS_PER_WRITE)]:
        if agent is not None:
            _check_visible(ctx, {fact.id: number for number, fact in batch}, agent)
        batches.append(pack(b"\n".join(fact_line(fact) for _, fact in batch)))
        count += len(batch)
    if agent is not None:
        check_write_limits(ctx, *chain.from_iterable(map(_unpacked, batches)), agent=agent)
    for each in batches:
        write_imported(ctx, _unpacked(each), agent)
    return count


def _read_all(
    ctx: SyncContext, lines: Iterable[str], agent: str | None
) -> Iterator[tuple[int, Fact]]:
    """The facts with the numbers of their lines."""
    ids: set[bytes] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fact = _read(ctx, number, line, agent)
        fact_id = bytes.fromhex(fact.id.replace("-", ""))
        if fact_id in ids:
            raise ImportLineError(number, f"an earlier line has the id {fact.id} too")
        ids.add(fact_id)
        yield number, fact


def _unpacked(batch: bytes) -> list[Fact]:
    return [fact_from_json(line) for line in unpack(batch).split(b"\n")]


def _check_visible(ctx: SyncContext, numbers: Mapping[str, int], agent: str) -> None:
    """Refuse lines that would overwrite, or restore, facts that the agent may not write."""
    stored_facts, permissions = ctx.store.find_many(numbers), ctx.policy.permissions
    for fact_id, number in numbers.items():
        stored = stored_facts.get(fact_id) or ctx.store.tombstone(fact_id)
        if stored is None:
            continue
        if not permissions.may_read(agent, stored.scope):
            raise ImportLineError(number, f"the id {fact_id} is already in use")
        _check_scope(ctx, number, stored.scope, agent)


def _read(ctx: SyncContext, number: int, line: str, agent: str | None) -> Fact:
    try:
        parsed = json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        why = f"it is not JSON ({error.msg}, column {error.colno})"
        raise ImportLineError(number, why) from None
    except (ValueError, RecursionError) as error:
        raise ImportLineError(number, f"it is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise ImportLineError(number, "it is not a JSON object")
    try:
        fact = imported_fact(ctx, parsed)
    except UsageError as error:
        raise ImportLineError(number, error.message) from None
    _check_scope(ctx, number, fact.scope, agent)
    return fact


def imported_fact(ctx: SyncContext, exported: Mapping[str, Value]) -> Fact:
    """A fact from exported values; missing ones are filled in.

    Raises:
        UsageError: a value is invalid, there is neither content nor title, or its note would be
            too large.
    """
    at = ctx.today()
    values = _field_values(exported)
    filled: dict[str, Value] = {
        "createdAt": at,
        "updatedAt": values.get("createdAt") or at,
        "scope": ctx.policy.default_scope,
        **{key: value for key, value in values.items() if value is not None},
    }
    filled.setdefault("id", ctx.clock.new_id())
    fact = make_fact(filled)
    # A property without a value is one all the same; elsewhere None clears.
    own = exported.get("properties")
    empty = [key for key, value in own.items() if value is None] if isinstance(own, Mapping) else []
    if empty:
        properties = {**fact.properties, **dict.fromkeys(map(check_property, empty))}
        fact = fact.evolve(properties=properties)
    check_note_limits(ctx, fact)
    if not str(filled.get("content") or filled.get("title") or "").strip():
        raise UsageError("it has neither content nor title")
    return fact


def _check_scope(ctx: SyncContext, number: int, scope: str, agent: str | None) -> None:
    try:
        check_scope_access(ctx, scope, agent=agent)
    except ScopeDeniedError as error:
        raise ImportLineError(number, error.message, proposes=error.proposes) from None


def _field_values(exported: Mapping[str, Value]) -> dict[str, Value]:
    """The values of an exported fact by key; its properties are keys of their own."""
    values: dict[str, Value] = {}
    for key, value in exported.items():
        if key == "properties" and isinstance(value, Mapping):
            for name in value:
                if name in FIELDS_BY_KEY or name in OWN_FIELDS_BY_KEY:
                    raise InvalidFieldError("a property's name", name, "no field's key")
            values |= value
        elif key not in NON_FIELD_KEYS:
            values[key] = value
    return values


def write_imported(ctx: SyncContext, facts: list[Fact], agent: str | None) -> None:
    """Write facts, overwriting existing ones and restoring deleted ones.

    Raises:
        RevisionMismatchError: others write one of them all the time.
    """
    pending = facts
    for _ in range(MAX_UPDATE_TRIES):
        stored_facts = ctx.store.find_many([fact.id for fact in pending])
        writes = []
        for fact in pending:
            stored = stored_facts.get(fact.id)
            counted = with_count_of(fact, stored)
            if stored is not None and equal_as_json(
                fact_to_values(stored), fact_to_values(counted)
            ):
                continue
            expect = stored.revision if stored else deleted_revision(ctx.store, fact.id)
            writes.append(StoreWrite(fact.id, fact, expect, agent or IMPORT_ACTOR))
        results = ctx.store.write(writes) if writes else []
        refused = {r.fact_id for r in results if isinstance(r, RevisionMismatch)}
        pending = [fact for fact in pending if fact.id in refused]
        if not pending:
            return
    raise RevisionMismatchError(pending[0].id, *CONTENDED)
