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
from vaultsync.model.schema import FIELD, NO_FIELDS, OWN, Value
from vaultsync.model.scope import sees
from vaultsync.model.serialization import to_json, to_values
from vaultsync.storage.store import RevisionMismatch, Write
from vaultsync.sync.context import Mirror

BATCH = 1000


def export(
    mirror: Mirror, write: Callable[[str], object], *, agent: str | None = None
) -> int:
    """Write each fact as one line of JSON; returns how many."""
    count = 0
    for fact in mirror.store.iter_facts():
        if sees(agent, fact.scope):
            write(to_json(fact) + "\n")
            count += 1
    return count


def import_lines(
    mirror: Mirror, lines: Iterable[str], *, agent: str | None = None
) -> int:
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
        fact = _read(mirror, number, line, agent)
        if fact.id in facts:
            raise ImportLineError(number, f"the id {fact.id} came before")
        facts[fact.id] = fact
        count += 1
    everything = list(facts.values())
    for start in range(0, len(everything), BATCH):
        _write(mirror, everything[start : start + BATCH], agent)
    return count


def _read(mirror: Mirror, number: int, line: str, agent: str | None) -> Fact:
    try:
        said = json.loads(line)
    except json.JSONDecodeError as broken:
        why = f"it is no JSON ({broken.msg}, column {broken.colno})"
        raise ImportLineError(number, why) from None
    except (ValueError, RecursionError) as broken:
        raise ImportLineError(number, f"it is no JSON ({broken})") from None
    if not isinstance(said, dict):
        raise ImportLineError(number, "it is no JSON object")
    at = mirror.today()
    try:
        values = _values(said)
        filled: dict[str, Value] = {
            "createdAt": at,
            "updatedAt": values.get("createdAt") or at,
            "scope": mirror.policy.default_scope,
            **{key: value for key, value in values.items() if value is not None},
        }
        filled.setdefault("id", mirror.clock.new_id())
        fact = make_fact(filled)
    except UsageError as wrong:
        raise ImportLineError(number, wrong.message) from None
    if not str(filled.get("content") or filled.get("title") or "").strip():
        raise ImportLineError(number, "it has neither content nor title")
    if not sees(agent, fact.scope):
        raise ImportLineError(number, ScopeDeniedError(agent or "", fact.scope).message)
    return fact


def _values(said: Mapping[str, Value]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, value in said.items():
        if key == "properties" and isinstance(value, Mapping):
            for name, held in value.items():
                if name in FIELD or name in OWN:
                    raise InvalidFieldError("a property's name", name, "no field's key")
                found[name] = held
        elif key not in NO_FIELDS:
            found[key] = value
    return found


def _write(mirror: Mirror, facts: list[Fact], agent: str | None) -> None:
    todo = facts
    for _ in range(20):
        known = mirror.store.find_many([fact.id for fact in todo])
        writes = []
        for fact in todo:
            current = known.get(fact.id) or mirror.store.buried(fact.id)
            held = known.get(fact.id)
            if held is not None and to_values(held) == to_values(fact):
                continue
            expect = current.revision if current else None
            writes.append(Write(fact.id, fact, expect, agent or "import"))
        results = mirror.store.write(writes) if writes else []
        refused = {r.fact_id for r in results if isinstance(r, RevisionMismatch)}
        todo = [fact for fact in todo if fact.id in refused]
        if not todo:
            return
    raise RevisionMismatchError(todo[0].id, "the one just read", "another")
