"""The history: what runs changed, field by field; tombstones of notes; and replaced versions.

A version may be replaced in the store before a run sees it. The store keeps it until an archive
has it. Each such version becomes a separate run in the history, named after its revision, so that
it can be undone separately.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from vaultsync.errors import StoreUnavailableError, UsageError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS_BY_KEY, FieldOwner, Value, equal_as_json
from vaultsync.model.serialization import fact_from_json, fact_to_json, fact_to_values
from vaultsync.notes.conflict_note import is_deletion
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import (
    CANVAS_FIELD,
    COPY_FIELD,
    EVENT_FIELDS,
    Archive,
    Base,
    HistoryEntry,
    RunRecord,
    history_field,
)
from vaultsync.storage.store import ReplacedVersion, Store, StoreWrite, iter_replaced
from vaultsync.sync.context import SyncContext

if TYPE_CHECKING:  # see `_action_entries()`
    from vaultsync.sync.decision_table import PlannedAction

_log = logging.getLogger(__name__)
VAULT_SIDE, STORE_SIDE = "vault", "store"
PERSON = "person"
_EVENTS_OF_NOTES = EVENT_FIELDS - {"fact"}
MAX_UPDATE_TRIES = 20
"""How often a write is tried when other writers get in between."""
CONTENDED = ("the one just read", "another, again and again")
"""Expected and found revision in the error of a write that lost every try."""


def is_by_person(entry: HistoryEntry) -> bool:
    """Whether an entry is a change by the user, in the note or by a command."""
    return entry.field not in _EVENTS_OF_NOTES and (
        entry.side == VAULT_SIDE or entry.actor == PERSON
    )


def history_entries(
    action: PlannedAction, fact: Fact, run: str, at: str, person: str
) -> Iterable[HistoryEntry]:
    """The history of one action that was carried out.

    Its agent may have replaced a version other than the base, which no run has seen.
    """
    entries = _action_entries(action, fact, run, at, person)
    base, unseen, store = action.base, action.unseen, action.store
    if unseen is None or store is None:
        yield from entries
        return
    from_store = differing_keys(base, store) if base else ()
    for each in entries:
        key = each.key
        of_agent = each.side == STORE_SIDE and key in from_store
        if (
            not of_agent
            or base is None
            or key is None
            or not equal_as_json(each.before, base.plain(key))
        ):
            yield each
        elif not equal_as_json(unseen.plain(key), each.after):
            yield each._replace(before=unseen.plain(key))
    for key in differing_keys(unseen, store):
        if key not in from_store:
            values = unseen.plain(key), store.plain(key)
            actor = action.actor or "agent"
            field = history_field(key)
            yield HistoryEntry(run, at, store.id, STORE_SIDE, actor, field, *values)


def _action_entries(
    action: PlannedAction, fact: Fact, run: str, at: str, person: str
) -> Iterable[HistoryEntry]:
    # Commands that only read this module plan nothing, and need no markdown.
    from vaultsync.sync.decision_table import ActionKind  # noqa: PLC0415 - see above

    def entry(side: str, field: str, before: Value, after: Value) -> HistoryEntry:
        actor = person if side == VAULT_SIDE else action.actor or "agent"
        return HistoryEntry(run, at, fact.id, side, actor, field, before, after)

    path = action.to or action.path
    base, vault = action.base or fact, action.vault or fact
    match action.do:
        case ActionKind.CREATE_NOTE | ActionKind.RECREATE_NOTE:
            yield entry(STORE_SIDE, "note", None, path)
            yield from _entries(entry, STORE_SIDE, differing_keys(base, fact), base, fact)
            return
        case ActionKind.CREATE_FACT:
            yield entry(VAULT_SIDE, "fact", None if action.new_id else fact.id, path)
            yield from _entries(entry, VAULT_SIDE, differing_keys(base, fact), base, fact)
            return
        case ActionKind.REVIVE_FACT | ActionKind.RESTORE_FACT:
            yield entry(VAULT_SIDE, "fact", fact.id, path)
        case ActionKind.DELETE_NOTE | ActionKind.DELETE_FACT | ActionKind.DROP_BASE:
            last = action.vault or action.base
            assert last is not None  # noqa: S101 - there was a note
            side = STORE_SIDE if action.do is ActionKind.DELETE_NOTE else VAULT_SIDE
            # The data needed to restore the note.
            tombstone = {"sha": action.sha or "", "path": action.path or last.path}
            yield entry(side, "note", {**tombstone, "fact": fact_to_json(last)}, None)
            yield from _entries(entry, STORE_SIDE, action.discarded_fields, vault, fact)
            return
        case _:
            pass
    if action.base is not None:
        yield from _field_entries(action, fact, action.base, entry)
    else:
        assert action.store is not None and action.vault is not None  # noqa: S101, PT018 - there are both
        from_vault = differing_keys(action.store, fact)
        known = (*from_vault, *action.discarded_fields)
        from_store = [key for key in differing_keys(vault, fact) if key not in known]
        yield from _entries(entry, VAULT_SIDE, from_vault, action.store, fact)
        yield from _entries(entry, STORE_SIDE, from_store, vault, fact)
    yield from _entries(entry, STORE_SIDE, action.discarded_fields, vault, fact)


EntryFactory: TypeAlias = Callable[[str, str, Value, Value], HistoryEntry]


def _entries(
    entry: EntryFactory, side: str, keys: Iterable[str], before: Fact, after: Fact
) -> Iterable[HistoryEntry]:
    for key in keys:
        yield entry(side, history_field(key), before.plain(key), after.plain(key))


def _field_entries(
    action: PlannedAction, fact: Fact, base: Fact, entry: EntryFactory
) -> Iterable[HistoryEntry]:
    path = action.to or action.path
    if path != base.path:
        yield entry(STORE_SIDE if action.to else VAULT_SIDE, "path", base.path, path)
    store = action.store or base
    from_store = differing_keys(base, store)
    changed = differing_keys(base, fact)
    skipped = {*action.discarded_fields, *(conflict.field for conflict in action.conflicts)}
    for key in changed:
        if key in skipped:
            continue
        field, old, new = history_field(key), base.plain(key), fact.plain(key)
        edited = action.vault.plain(key) if action.vault else new
        if key not in from_store:
            yield entry(VAULT_SIDE, field, old, new)
        elif equal_as_json(store.value(key), fact.value(key)):
            yield entry(STORE_SIDE, field, old, new)
        elif not equal_as_json(edited, new):  # merged: first the user's part, then the agent's
            yield entry(VAULT_SIDE, field, old, edited)
            yield entry(STORE_SIDE, field, edited, new)
        else:
            yield from _replaced(entry, field, old, store.plain(key), new)
    reverted = [key for key in from_store if key not in changed and key not in skipped]
    yield from _entries(entry, VAULT_SIDE, reverted, store, fact)
    for each in action.conflicts:
        gone = is_deletion(each)
        field, old = (each.field, base.path) if gone else (history_field(each.field), each.base)
        yield from _replaced(entry, field, old, each.store, each.vault)


def _replaced(
    entry: EntryFactory, field: str, base: Value, store: Value, vault: Value
) -> Iterable[HistoryEntry]:
    """An agent's value that is in no base, and the user's value that replaced it."""
    yield entry(STORE_SIDE, field, base, store)
    yield entry(VAULT_SIDE, field, store, vault)


def record_changes(archive: Archive, run: RunRecord, entries: Sequence[HistoryEntry]) -> None:
    """Add changes to the history, in a transaction, with a record of their run.

    A run that ends early after that can be listed and undone; its report replaces this record.
    """
    archive.add_history(entries)
    if entries:
        known = archive.find_run(run.run)
        if known is None or "actions" not in known.report:
            archive.put_run(run)


def unrecorded_entries(
    archive: Archive, action: PlannedAction | None, run: str, at: str
) -> list[HistoryEntry]:
    """The history of a crashed run, without the entries that it had written."""
    if action is None:
        return []
    recorded = archive.history(fact_id=action.fact_id)
    written = {each.field: (each.before, each.after) for each in recorded}
    fact = action.merged or action.base
    assert fact is not None  # noqa: S101 - what was done was about a fact
    return [
        each
        for each in history_entries(action, fact, run, at, "person")
        if written.get(each.field) != (each.before, each.after)
    ]


def readable_history(
    entries: Sequence[HistoryEntry], view: NoteView, fact: Fact | None
) -> Iterable[HistoryEntry]:
    """The history of a fact for answers: plain names, files as paths, and secrets redacted."""
    pairs: list[tuple[str, Value]] = []
    for each in entries:
        before, after = each.before, each.after
        if each.field == "note" and isinstance(before, dict):
            before = tombstone_path(each)
        if each.field == CANVAS_FIELD and isinstance(after, dict):
            before = after = str(after["path"])
        if each.field == COPY_FIELD:
            before, after = (str(x["path"]) if isinstance(x, dict) else x for x in (before, after))
        key = each.key or each.field
        pairs += (key, before), (key, after)
    values = view.redact_values(pairs, fact)
    for entry, old, new in zip(entries, values[::2], values[1::2], strict=True):
        yield entry._replace(field=entry.key or entry.field, before=old, after=new)


def tombstone_path(entry: HistoryEntry | None) -> VaultPath | None:
    """The former path of the note whose removal an entry records."""
    if entry is None or not isinstance(entry.before, dict):
        return None
    path = entry.before.get("path")
    return VaultPath(path) if isinstance(path, str) and path else None


def last_note(archive: Archive, entry: HistoryEntry | None) -> tuple[Fact, bytes] | None:
    """The fact and the note's bytes, if still kept, for an entry that records a removal."""
    if entry is None or not isinstance(entry.before, dict):
        return None
    data = archive.blob(str(entry.before.get("sha")))
    if data is None:
        return None
    return fact_from_json(str(entry.before["fact"])), data


# ---------------------------------------------------------------- replaced versions


def overwrite(
    ctx: SyncContext, fact_id: str, fact: Fact | None, expect: str, actor: str
) -> StoreWrite:
    """A write that replaces a version; the store keeps that unless the archive has it."""
    base = ctx.archive.find_base(fact_id)
    recorded = base is not None and base.fact.revision == expect
    return StoreWrite(fact_id, fact, expect, actor, recorded=recorded)


def creation_op(fact: Fact) -> str:
    """The id of the write that creates a fact under a new id: a hash of its values.

    It proves of a version that it is the first one, which the fact's first note shows.
    """
    values = {
        key: value
        for key, value in fact_to_values(fact).items()
        if (row := FIELDS_BY_KEY.get(key)) is None or row.owner is not FieldOwner.VOLATILE
    }
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def deleted_revision(store: Store, fact_id: str) -> str | None:
    """The revision that a write names that creates a fact, or creates it again.

    It is that of its tombstone, which has no text after a purge; None if there is none.
    """
    row = store.last_write(fact_id)
    return row.revision if row is not None and row.deleted else None


class _Unrecorded(NamedTuple):
    entries: list[HistoryEntry]
    """The entries that the history does not have yet."""
    revisions: list[str]
    """The versions that may be deleted once the history has the entries."""
    newest: dict[str, Fact]
    """Per fact, the newest version without a base, which the current version replaced."""


def unrecorded_history(ctx: SyncContext, fact_id: str) -> list[HistoryEntry]:
    """The history of a fact's versions that the next run will record; empty without the store."""
    since = int(ctx.archive.setting("cursor") or 0)
    try:
        return _unrecorded(ctx, ctx.store.replaced_versions([fact_id]), since).entries
    except StoreUnavailableError as error:
        _log.debug("what was replaced in %s is not known: %s", fact_id, error)
        return []


def record_replaced(ctx: SyncContext, since: int) -> Mapping[str, Fact]:
    """Record the replaced versions in the history, and delete them from the store.

    `since` is the row up to which the last run had read the feed: a version before it without a
    base was replaced during that run. Returns, per fact, the newest version without a base, which
    the current version replaced.
    """
    newest: dict[str, Fact] = {}
    try:
        for versions in iter_replaced(ctx.store):
            unrecorded = _unrecorded(ctx, versions, since)
            newest |= unrecorded.newest
            if unrecorded.entries:
                with ctx.archive.transaction():
                    ctx.archive.add_history(unrecorded.entries)
            if unrecorded.revisions:
                ctx.store.drop_replaced(unrecorded.revisions)
    except StoreUnavailableError as error:
        _log.debug("the other replaced versions are recorded by the next run: %s", error)
    return newest


def _unrecorded(ctx: SyncContext, versions: Sequence[ReplacedVersion], since: int) -> _Unrecorded:
    result = _Unrecorded([], [], {})
    by_fact: dict[str, list[ReplacedVersion]] = {}
    for each in versions:
        by_fact.setdefault(each.fact.id, []).append(each)
    if not by_fact:
        return result
    current, bases = ctx.store.find_many(by_fact), ctx.archive.find_bases(by_fact)
    waiting = {*(ctx.archive.setting("waiting") or "").split()}
    for fact_id, replaced_versions in by_fact.items():
        now, base = current.get(fact_id), bases.get(fact_id)
        # The current version is about to be replaced; keep it.
        replaced = [each for each in replaced_versions if not _is_same(each.fact, now)]
        # The last run read the rows of a waiting fact, but its base is from before them.
        older, newer = _split_at_base(replaced, base, now, 0 if fact_id in waiting else since)
        before = base.fact if base else None
        result.entries.extend(_version_entries(None, older, before))
        result.entries.extend(_version_entries(before, newer, now))
        result.revisions.extend(each.fact.revision for each in replaced)
        if newer:
            result.newest[fact_id] = newer[-1].fact
    # A crash may have occurred before the store deleted them.
    runs = {each.run for each in result.entries}
    written = {run for run in runs if ctx.archive.history(run=run)}
    return result._replace(entries=[each for each in result.entries if each.run not in written])


def _is_same(one: Fact, other: Fact | None) -> bool:
    return other is not None and one.revision == other.revision


def _split_at_base(
    versions: Sequence[ReplacedVersion], base: Base | None, now: Fact | None, since: int
) -> tuple[Sequence[ReplacedVersion], Sequence[ReplacedVersion]]:
    """The versions before the base's, and those after it; the base's own is recorded."""
    if base is None:
        return (), versions
    if _is_same(base.fact, now):
        return versions, ()
    at = next((n for n, each in enumerate(versions) if _is_same(each.fact, base.fact)), None)
    if at is not None:
        return versions[:at], versions[at + 1 :]
    count = sum(each.seq <= since for each in versions)
    return versions[:count], versions[count:]


def _version_entries(
    before: Fact | None, versions: Sequence[ReplacedVersion], after: Fact | None
) -> Iterator[HistoryEntry]:
    followers = [*(each.fact for each in versions[1:]), after]
    for version, following in zip(versions, followers, strict=False):
        fact = version.fact
        for key in differing_keys(before or following or fact, fact):
            old = before.plain(key) if before else None
            yield HistoryEntry(
                *(fact.revision, version.at, fact.id, STORE_SIDE, version.actor),
                history_field(key),
                *(old, fact.plain(key)),
            )
        before = fact


def is_former(now: Fact, other: Fact, history: Sequence[HistoryEntry]) -> bool:
    """Whether `other` equals an earlier version of the fact in its history."""
    return former_until(now, other, history) is not None


def former_until(now: Fact, other: Fact, history: Sequence[HistoryEntry]) -> str | None:
    """When a run replaced a version equal to `other`, by the history; None if none did.

    Values from only the store or the folder are not compared, because a note may not show them.
    """
    if not differing_user_fields(now, other):
        return None
    version = now
    runs = [list(entries) for _, entries in groupby(reversed(history), attrgetter("run"))]
    for entries in runs:
        changed = {each.key: each.before for each in entries if each.key}
        try:
            version = version.replace(changed)
        except UsageError:  # a value of a former schema
            return None
        if changed and not differing_user_fields(version, other):
            return entries[-1].at
    return None


def differing_user_fields(one: Fact, other: Fact) -> set[str]:
    """The differences in the fields that a user may change."""
    rows = ((key, FIELDS_BY_KEY.get(key)) for key in differing_keys(one, other))
    return {key for key, row in rows if row is None or row.owner is FieldOwner.SHARED}
