"""What agents do while the store is away: deltas for the outbox, and what they come to.

`outbox.py` brings them over when it is back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vaultsync.errors import StoreUnavailableError
from vaultsync.facts.placeholders import changed_by
from vaultsync.model.compare import plain
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.serialization import from_values, to_values
from vaultsync.storage.archive import Outgoing
from vaultsync.sync.context import Mirror


def queue(mirror: Mirror, *rows: Outgoing) -> None:
    """Keep changes for the store until it is back."""
    with mirror.archive.transaction():
        mirror.archive.put_outgoing(rows)


def created(mirror: Mirror, fact: Fact, *, agent: str | None) -> Outgoing:
    """A new fact."""
    return _row(mirror, fact.id, "create", after=to_values(fact), agent=agent)


def changed(
    mirror: Mirror, old: Fact, new: Fact, keys: Iterable[str], *, agent: str | None
) -> Outgoing:
    """Some fields of a fact."""
    before, after = (
        {key: plain(fact.value(key)) for key in keys} for fact in (old, new)
    )
    return _row(mirror, old.id, "update", before=before, after=after, agent=agent)


def deleted(mirror: Mirror, fact: Fact, *, agent: str | None) -> Outgoing:
    """A fact that goes."""
    return _row(mirror, fact.id, "delete", before=to_values(fact), agent=agent)


def _row(
    mirror: Mirror,
    fact_id: str,
    kind: str,
    *,
    before: Mapping[str, Value] | None = None,
    after: Mapping[str, Value] | None = None,
    agent: str | None,
) -> Outgoing:
    op, at, who = mirror.clock.new_id(), mirror.now(), agent or "person"
    return Outgoing(op, fact_id, kind, before or {}, after or {}, who, at)


def waits_for(mirror: Mirror, fact_id: str) -> list[Outgoing]:
    """What of a fact waits for the store, oldest first."""
    return [each for each in mirror.archive.outbox() if each.fact_id == fact_id]


def known_offline(
    mirror: Mirror, fact_id: str, waits: Sequence[Outgoing] | None = None
) -> Fact | None:
    """What can be known of a fact while the store is away: the base, and what waits."""
    base = mirror.archive.find_base(fact_id)
    fact = base.fact if base else None
    for row in waits_for(mirror, fact_id) if waits is None else waits:
        if row.kind == "delete":
            fact = None
        elif row.kind == "create":
            fact = from_values(row.after)
        elif row.kind == "update" and fact is not None:
            fact = fact.changed(row.after)
    return fact


def update_later(
    mirror: Mirror,
    known: Fact | None,
    values: Mapping[str, Value],
    tags: tuple[Sequence[str], Sequence[str]],
    *,
    agent: str | None,
) -> Fact:
    """Queue an update against the last that is known of the fact."""
    if known is None:
        why = "what it says of this fact is not known here"
        raise StoreUnavailableError(why)
    fact = changed_by(mirror, known, values, *tags)
    keys = [*values, *(["tags"] if any(tags) else [])]
    queue(mirror, changed(mirror, known, fact, keys, agent=agent))
    return fact
