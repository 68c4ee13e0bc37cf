"""A fact as a point: the payload that other readers of the collection expect, and back.

The common fields of a memory are keys of the payload, with times in milliseconds, so that any
Qdrant client can filter and display them. The rest is one JSON text; a fact is read from that
text and the content, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from vaultsync.model import serialization as wire
from vaultsync.model.canonical import NEVER, to_microseconds
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.storage.store import AccessCount, FeedRow, ReplacedVersion

FACT_KIND, TOMBSTONE_KIND = "fact", "tombstone"
"""The kinds of points with facts, as words, because the embedded engine cannot filter by
booleans."""
MOVED_KIND = "moved"
"""The kind of point that replaces a fact in a collection when it moves to another one."""
ACCESSES_KIND, REPLACED_KIND = "accesses", "replaced"
"""The kinds of points beside a fact: its usage count, and a version that was replaced before any
archive recorded it."""
KINDS_BESIDE_FACTS = {ACCESSES_KIND: "of", REPLACED_KIND: "of", "chunk": "fact"}
"""Kinds of points with data of a fact under another id -> their key with the fact's id."""
FEED_KEYS = ("kind", "seq", "revision", "actor", "at")
FACT_KEYS = (*FEED_KEYS, "content", "rest")
ACCESS_KEYS = ("times", "used", "ops")
MAX_COUNTED_OPS = 8
"""Number of batches that a usage count records, so that each is counted once."""
DAMAGE = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""The errors that reading a damaged payload raises."""
_COMMON_KEYS = (
    *("agentId", "userId", "sessionId", "type", "content", "accessCount", "importance"),
    *("supersedesId", "supersededById", "source", "tags", "confidence", "scope", "status"),
    "priority",
)
"""The fields that other readers expect, except times."""
_KEYWORDS = (
    *("userId", "type", "supersededById", "tags"),
    *("kind", "revision", "fact", "chunk", "of", "scope", "status", "above"),
)
_INTEGERS = ("createdAt", "expiresAt", "seq", "last", "first", "priority", "made")
PAYLOAD_INDEXES = dict.fromkeys(_KEYWORDS, "keyword") | dict.fromkeys(_INTEGERS, "integer")
"""The payload indexes of a collection: key -> kind. They cover the common fields, the feed, the
store's own fields, and the filters of recall on chunks."""


class StoredFact(NamedTuple):
    """The last write of a fact, with its content."""

    feed_row: FeedRow
    fact_json: str | None
    """The fact as JSON; for a tombstone its last version, None if it had none."""
    op: str = ""
    """The id of its last write that had one."""
    home: str = ""
    """The isolated scope whose collection it is in; empty for the shared one."""
    left: str | None = None
    """Its former `home`, if that was another collection."""


def to_payload(row: StoredFact) -> dict[str, Any]:
    """The payload of the point of a fact."""
    last = row.feed_row
    payload: dict[str, Any] = {
        "kind": TOMBSTONE_KIND if last.deleted else FACT_KIND,
        "seq": last.seq,
        "revision": last.revision,
        "actor": last.actor,
        "at": last.at,
    }
    if row.op:
        payload["op"] = row.op
    if row.home:
        payload["home"] = row.home
    if row.fact_json is not None:
        values = msgspec.json.decode(row.fact_json)
        fact = wire.fact_from_values(values)
        payload |= {key: fact.plain(key) for key in _COMMON_KEYS} | {
            "createdAt": milliseconds(fact.created_at),
            "lastAccessedAt": milliseconds(fact.last_accessed_at),
            "expiresAt": milliseconds(fact.expires_at),
        }
        values.pop("content", None)
        payload["rest"] = msgspec.json.encode(values, order="sorted").decode()
    return payload


def milliseconds(time: str | None) -> int | None:
    """An ISO 8601 time as milliseconds since 1970; None if it is missing."""
    found = to_microseconds(time or "")
    return None if found == NEVER else found // 1000


def _values(payload: Mapping[str, Any]) -> dict[str, Value] | None:
    """The values of the fact in a payload; None if it has none."""
    if "rest" not in payload:
        return None
    values: dict[str, Value] = msgspec.json.decode(payload["rest"])
    if payload.get("content"):
        values["content"] = payload["content"]
    return values


def find_row(fact_id: str, payload: Mapping[str, Any]) -> StoredFact | None:
    """The row in a payload, without a damaged fact; None if it has no write."""
    text, last = None, find_feed_row(fact_id, payload)
    with suppress(ValueError, TypeError):
        values = _values(payload)
        if values is not None:
            text = msgspec.json.encode(values, order="sorted").decode()
    return last and StoredFact(last, text, payload.get("op", ""), payload.get("home", ""))


def to_fact(payload: Mapping[str, Any], *, deleted: bool) -> Fact | None:
    """The fact of a payload, if it has one and is a tombstone exactly when `deleted`."""
    values = _values(payload)
    if values is None or (payload["kind"] == TOMBSTONE_KIND) != deleted:
        return None
    revision = msgspec.convert(payload["revision"], str)
    return wire.fact_from_stored_values(values, revision=revision)


def to_moved(row: StoredFact) -> dict[str, Any]:
    """The payload that replaces a moved fact, so that late writes find themselves older."""
    last = row.feed_row
    payload = {"kind": MOVED_KIND, "seq": last.seq, "revision": last.revision, "at": last.at}
    return {**payload, "home": row.left or ""}


def to_replaced(row: StoredFact) -> dict[str, Any]:
    """The payload of a version that is about to be replaced."""
    payload = to_payload(row)
    kept = {key: payload[key] for key in (*FACT_KEYS, "home") if key in payload}
    return {**kept, "kind": REPLACED_KIND, "of": row.feed_row.fact_id}


def to_replaced_version(payload: Mapping[str, Any]) -> ReplacedVersion | None:
    """The inverse of `to_replaced()`; None if the payload is damaged."""
    try:
        fact = to_fact(payload, deleted=False)
    except DAMAGE:
        return None
    row = find_feed_row("", payload)
    return ReplacedVersion(row.seq, fact, row.actor, row.at) if fact and row else None


def to_access_count(payload: Mapping[str, Any] | None) -> AccessCount | None:
    """The usage count in a payload; None if it is missing or unreadable."""
    try:
        count = payload or {}
        times, used = int(count["times"]), count["used"]
    except DAMAGE:
        return None
    return AccessCount(times, used) if isinstance(used, str) else None


def find_counted_ops(payload: Mapping[str, Any] | None) -> list[str] | None:
    """The batches that a usage count counted last; None for a damaged count."""
    if payload is None:
        return []
    ops = payload.get("ops")
    is_whole = isinstance(ops, list) and all(isinstance(op, str) for op in ops)
    return ops if is_whole and ops and to_access_count(payload) else None


def find_feed_row(fact_id: str, payload: Mapping[str, Any]) -> FeedRow | None:
    """The feed row in a payload; None if it is damaged."""
    try:
        is_deleted = payload["kind"] == TOMBSTONE_KIND
        texts = (payload[key] for key in ("actor", "at"))
        row = (int(payload["seq"]), fact_id, payload["revision"], is_deleted, *texts)
        return msgspec.convert(row, FeedRow)
    except DAMAGE:
        return None
