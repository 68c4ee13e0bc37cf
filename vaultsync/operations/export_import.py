"""All facts as JSON Lines, and back: lossless both ways."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from vaultsync.errors import (
    ImportLineError,
    InvalidFieldError,
    RevisionMismatchError,
    ScopeDeniedError,
    UsageError,
)
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import FIELDS_BY_KEY, NON_FIELD_KEYS, OWN_FIELDS_BY_KEY, Value
from vaultsync.model.scope import can_see
from vaultsync.model.serialization import fact_to_json, fact_to_values
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.context import SyncContext

FACTS_PER_WRITE = 1000


def export_facts(
    ctx: SyncContext, write: Callable[[str], object], *, agent: str | None = None
) -> int:
    """Write each fact as one line of JSON; returns how many."""
    count = 0
    for fact in ctx.store.iter_facts():
        if can_see(agent, fact.scope):
            write(fact_to_json(fact) + "\n")
            count += 1
    return count


def import_facts(ctx: SyncContext, lines: Iterable[str], *, agent: str | None = None) -> int:
    """Take facts from lines of JSON; all of them or, when one is bad, none.

    A fact the store has is overwritten by its line, one it deleted comes back. Returns
    how many lines were taken.

    Raises:
        ImportLineError: names the line.
    """
    facts: dict[str, Fact] = {}
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fact = _read(ctx, number, line, agent)
        if fact.id in facts:
            raise ImportLineError(number, f"the id {fact.id} came before")
        facts[fact.id] = fact
        count += 1
    everything = list(facts.values())
    for start in range(0, len(everything), FACTS_PER_WRITE):
        _write(ctx, everything[start : start + FACTS_PER_WRITE], agent)
    return count


def _read(ctx: SyncContext, number: int, line: str, agent: str | None) -> Fact:
    try:
        said = json.loads(line)
    except json.JSONDecodeError as broken:
        why = f"it is no JSON ({broken.msg}, column {broken.colno})"
        raise ImportLineError(number, why) from None
    except (ValueError, RecursionError) as broken:
        raise ImportLineError(number, f"it is no JSON ({broken})") from None
    if not isinstance(said, dict):
        raise ImportLineError(number, "it is no JSON object")
    at = ctx.today()
    try:
        values = _values(said)
        filled: dict[str, Value] = {
            "createdAt": at,
            "updatedAt": values.get("createdAt") or at,
            "scope": ctx.policy.default_scope,
            **{key: value for key, value in values.items() if value is not None},
        }
        filled.setdefault("id", ctx.clock.new_id())
        fact = make_fact(filled)
    except UsageError as wrong:
        raise ImportLineError(number, wrong.message) from None
    if not str(filled.get("content") or filled.get("title") or "").strip():
        raise ImportLineError(number, "it has neither content nor title")
    if not can_see(agent, fact.scope):
        raise ImportLineError(number, ScopeDeniedError(agent or "", fact.scope).message)
    return fact


def _values(said: Mapping[str, Value]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, value in said.items():
        if key == "properties" and isinstance(value, Mapping):
            for name, held in value.items():
                if name in FIELDS_BY_KEY or name in OWN_FIELDS_BY_KEY:
                    raise InvalidFieldError("a property's name", name, "no field's key")
                found[name] = held
        elif key not in NON_FIELD_KEYS:
            found[key] = value
    return found


def _write(ctx: SyncContext, facts: list[Fact], agent: str | None) -> None:
    todo = facts
    for _ in range(20):
        known = ctx.store.find_many([fact.id for fact in todo])
        writes = []
        for fact in todo:
            current = known.get(fact.id) or ctx.store.tombstone(fact.id)
            held = known.get(fact.id)
            if held is not None and fact_to_values(held) == fact_to_values(fact):
                continue
            expect = current.revision if current else None
            writes.append(StoreWrite(fact.id, fact, expect, agent or "import"))
        results = ctx.store.write(writes) if writes else []
        refused = {r.fact_id for r in results if isinstance(r, RevisionMismatch)}
        todo = [fact for fact in todo if fact.id in refused]
        if not todo:
            return
    raise RevisionMismatchError(todo[0].id, "the one just read", "another")
