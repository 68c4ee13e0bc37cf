"""What a pass leaves in the archive: history entries, notices, the graves of notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from vaultsync.errors import NoteError
from vaultsync.model.compare import differing, plain
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.model.serialization import from_json, to_json
from vaultsync.notes.conflict_note import is_deletion
from vaultsync.notes.view import Lens
from vaultsync.storage.archive import Archive, Attention, HistoryEntry
from vaultsync.sync.decision_table import Action, Do

VAULT, STORE = "vault", "store"


def notice(kind: str, trouble: NoteError, at: str) -> Attention:
    """An error about one note, as something that waits for a person."""
    return Attention(
        kind,
        VaultPath(trouble.path),
        trouble.message,
        trouble.hint,
        trouble.line,
        "",
        at,
    )


def entries(
    action: Action, fact: Fact, run: str, at: str, person: str
) -> Iterable[HistoryEntry]:
    """The history of one action that was carried out."""

    def entry(side: str, field: str, before: Value, after: Value) -> HistoryEntry:
        actor = person if side == VAULT else action.actor or "agent"
        return HistoryEntry(run, at, fact.id, side, actor, field, before, after)

    path = action.to or action.path
    match action.do:
        case Do.CREATE_NOTE | Do.RECREATE_NOTE:
            yield entry(STORE, "note", None, path)
            yield from _meanwhile(action, fact, STORE, entry)
            return
        case Do.CREATE_FACT:
            yield entry(VAULT, "fact", None if action.new_id else fact.id, path)
            yield from _meanwhile(action, fact, VAULT, entry)
            return
        case Do.REVIVE_FACT | Do.RESTORE_FACT:
            yield entry(VAULT, "fact", fact.id, path)
        case Do.DELETE_NOTE | Do.DELETE_FACT | Do.DROP_BASE:
            said = action.vault or action.base
            assert said is not None  # noqa: S101 - there was a note
            side = STORE if action.do is Do.DELETE_NOTE else VAULT
            yield entry(side, "note", grave(said, action), None)
            yield from _overruled(action, fact, entry)
            return
        case _:
            pass
    if action.base is not None:
        yield from _field_entries(action, fact, action.base, entry)
    else:
        assert action.store is not None and action.vault is not None  # noqa: S101, PT018 - there are both
        ours = differing(action.store, fact)
        for key in ours:
            old, new = plain(action.store.value(key)), plain(fact.value(key))
            yield entry(VAULT, key, old, new)
        for key in differing(action.vault, fact):
            if key not in (*ours, *action.overruled):
                old, new = plain(action.vault.value(key)), plain(fact.value(key))
                yield entry(STORE, key, old, new)
    yield from _overruled(action, fact, entry)


Entry: TypeAlias = Callable[[str, str, Value, Value], HistoryEntry]


def _meanwhile(
    action: Action, fact: Fact, side: str, entry: Entry
) -> Iterable[HistoryEntry]:
    """What was changed on the side that the other gets it back from."""
    before = action.base
    if before is None:
        return
    for key in differing(before, fact):
        yield entry(side, key, plain(before.value(key)), plain(fact.value(key)))


def _overruled(action: Action, fact: Fact, entry: Entry) -> Iterable[HistoryEntry]:
    for key in action.overruled:
        assert action.vault is not None  # noqa: S101 - the note said something else
        yield entry(STORE, key, plain(action.vault.value(key)), plain(fact.value(key)))


def _field_entries(
    action: Action,
    fact: Fact,
    base: Fact,
    entry: Entry,
) -> Iterable[HistoryEntry]:
    path = action.to or action.path
    if path != base.path:
        yield entry(STORE if action.to else VAULT, "path", base.path, path)
    theirs = set(differing(base, action.store)) if action.store else set()
    disputed = {conflict.field for conflict in action.conflicts}
    for key in differing(base, fact):
        if key in action.overruled or key in disputed:
            continue
        old, new = plain(base.value(key)), plain(fact.value(key))
        ours = plain(action.vault.value(key)) if action.vault else new
        if key not in theirs:
            yield entry(VAULT, key, old, new)
        elif _agrees(action.store, fact, key):
            yield entry(STORE, key, old, new)
        elif ours != new:  # merged of both: the person's part, then the agent's
            yield entry(VAULT, key, old, ours)
            yield entry(STORE, key, ours, new)
        else:
            yield from _written_over(entry, key, old, _held(action, key), new)
    for key in theirs - {*differing(base, fact), *disputed, *action.overruled}:
        yield entry(VAULT, key, _held(action, key), plain(fact.value(key)))
    for each in action.conflicts:
        old = base.path if is_deletion(each) else each.base
        yield from _written_over(entry, each.field, old, each.store, each.vault)


def _written_over(
    entry: Entry, key: str, base: Value, store: Value, vault: Value
) -> Iterable[HistoryEntry]:
    """What an agent wrote, which is in no base, and the person's words that stand over it."""
    yield entry(STORE, key, base, store)
    yield entry(VAULT, key, store, vault)


def _held(action: Action, key: str) -> Value:
    assert action.store is not None  # noqa: S101 - it wrote the key
    return plain(action.store.value(key))


def _agrees(store: Fact | None, fact: Fact, key: str) -> bool:
    return store is not None and store.value(key) == fact.value(key)


def untold(
    archive: Archive, action: Action | None, run: str, at: str
) -> list[HistoryEntry]:
    """The history of what a crashed pass did, but for what it told before it did it."""
    if action is None:
        return []
    known = archive.history(fact_id=action.fact_id)
    said = {each.field: (each.before, each.after) for each in known}
    fact = action.merged or action.base
    assert fact is not None  # noqa: S101 - what was done was about a fact
    return [
        each
        for each in entries(action, fact, run, at, "person")
        if said.get(each.field) != (each.before, each.after)
    ]


def readable(
    found: Sequence[HistoryEntry], lens: Lens, fact: Fact | None
) -> Iterable[HistoryEntry]:
    """The history of a fact as it is shown: a note that went by where it was, no secrets."""
    many: list[tuple[str, Value]] = []
    for each in found:
        before = place_of_grave(each) if each.field == "note" else None
        many += (each.field, before or each.before), (each.field, each.after)
    told = lens.values(many, fact)
    for entry, old, new in zip(found, told[::2], told[1::2], strict=True):
        yield entry._replace(before=old, after=new)


@dataclass(frozen=True, slots=True)
class Grave:
    """The last note of a fact that has none now."""

    fact: Fact
    data: bytes


def grave(base: Fact, action: Action) -> Value:
    """What has to be known to bring a note back: its bytes by sha, and what it said."""
    path = action.path or base.path
    return {"sha": action.sha or "", "path": path, "fact": to_json(base)}


def place_of_grave(entry: HistoryEntry | None) -> VaultPath | None:
    """Where the note lay that an entry of the history buried."""
    if entry is None or not isinstance(entry.before, dict):
        return None
    return VaultPath(str(entry.before["path"]))


def exhume(archive: Archive, entry: HistoryEntry | None) -> Grave | None:
    """The note that an entry of the history buried, if its bytes are still kept."""
    if entry is None or not isinstance(entry.before, dict):
        return None
    data = archive.blob(str(entry.before.get("sha")))
    if data is None:
        return None
    return Grave(from_json(str(entry.before["fact"])), data)
