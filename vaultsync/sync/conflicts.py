"""Conflicts: found again, and settled by a tick, a deletion or a command."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from vaultsync.errors import (
    NoteChangedError,
    NoteError,
    NoteExistsError,
    RevisionMismatchError,
    StoreUnavailableError,
    UnknownPlaceholderError,
)
from vaultsync.links.rewrite import RetargetLink, rewrite_note_links
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import (
    DELETED_SIDE,
    Conflict,
    FieldConflict,
    conflict_id,
    conflict_id_in,
    conflict_json,
    conflict_path,
    is_deletion,
    render_conflict,
    ticked_fields,
)
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.sync.changes import StoreChange, StoreSide
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import PlannedAction
from vaultsync.sync.merge import MergeResult, merge
from vaultsync.sync.snapshot import VaultSnapshot


@dataclass(frozen=True, slots=True)
class ConflictResolution:
    """What a person said about a conflict by what they did to its note."""

    conflict: Conflict
    take: str
    """`store` for what was ticked, `keep` when the conflict note was deleted; `vault` is
    only ever said by a command."""
    fields: tuple[str, ...]
    text: str | None = None
    """What a person made of both versions of one field; goes before `take`."""


def find_resolutions(
    ctx: SyncContext, snapshot: VaultSnapshot, *, dry_run: bool = False
) -> list[ConflictResolution]:
    """What was said about the open conflicts since the last pass."""
    said = []
    for conflict in ctx.archive.conflicts():
        path = conflict.conflict_path
        if path is not None and (snapshot.is_unreadable(path) or _folder_is_clean(snapshot, path)):
            continue
        if path not in snapshot.conflict_notes:
            moved = _moved(ctx, snapshot, conflict)
            if moved is None:
                # Without a path, a crashed pass had not come to write it.
                if path is not None:
                    everything = tuple(each.field for each in conflict.fields)
                    said.append(ConflictResolution(conflict, "keep", everything))
                continue
            conflict = replace(conflict, conflict_path=moved)  # noqa: PLW2901 - the same conflict, elsewhere
            path = moved
            if not dry_run:
                with ctx.archive.transaction():
                    ctx.archive.put_conflict(conflict)
        boxes = _ticked_boxes(ctx, path)
        fields = tuple(x.field for x in conflict.fields if x.field in boxes)
        if fields:
            said.append(ConflictResolution(conflict, "store", fields))
    return said


def _folder_is_clean(snapshot: VaultSnapshot, path: VaultPath) -> bool:
    folder = VaultPath(path.rpartition("/")[0])
    return folder in snapshot.scan.folders and folder not in snapshot.scanned_folders


def _moved(ctx: SyncContext, snapshot: VaultSnapshot, conflict: Conflict) -> VaultPath | None:
    for path in sorted(snapshot.conflict_notes):
        if is_note_of(ctx, path, conflict.id):
            return path
    return None


def _ticked_boxes(ctx: SyncContext, path: VaultPath) -> frozenset[str]:
    try:
        data = ctx.vault.read(path).data
    except NoteError:
        return frozenset()
    return ticked_fields(data.decode(errors="replace")) or frozenset()


def resolve_conflict(
    ctx: SyncContext, resolution: ConflictResolution, *, actor: str = "person"
) -> Conflict:
    """Do what a person said about a conflict, and close what it settles.

    Taking the store's version writes it to the store as an edit by that person: the pass
    that follows brings it into the note through the same merge as any other edit.

    Raises:
        StoreUnavailableError: the store is away; the conflict stays open.
    """
    conflict = resolution.conflict
    chosen = [each for each in conflict.fields if each.field in resolution.fields]
    wish = _store_changes(chosen, resolution.take)
    if resolution.text is not None:
        wish = _edited_fields(ctx, conflict, chosen, resolution.text)
    if wish is not None:
        _write_store_changes(ctx, conflict, wish, actor)
    left = tuple(each for each in conflict.fields if each not in chosen)
    taken = "mixed" if resolution.text is not None else resolution.take
    outcome = "" if left else taken.replace("keep", "vault")
    settled = replace(conflict, fields=left or conflict.fields, outcome=outcome)
    if outcome:
        remove_conflict_note(ctx, conflict)
        settled = replace(settled, conflict_path=None)
    with ctx.archive.transaction():
        ctx.archive.put_conflict(settled)
    return settled


def preview_resolutions(ctx: SyncContext, snapshot: VaultSnapshot) -> dict[str, StoreSide]:
    """What the store would hold of facts after `settle()`, for those that look ahead."""
    sides = {}
    for resolution in find_resolutions(ctx, snapshot, dry_run=True):
        conflict = resolution.conflict
        chosen = [each for each in conflict.fields if each.field in resolution.fields]
        wish = _store_changes(chosen, resolution.take)
        current = ctx.store.find_many([conflict.fact_id]).get(conflict.fact_id)
        if wish is None or current is None:
            continue
        fact: Fact | None = current
        change = StoreChange.DELETED
        if not _is_deletion(wish):
            change, fact = StoreChange.MODIFIED, _merged(current, wish).fact
        elif _written_since(ctx, current):
            continue
        sides[conflict.fact_id] = StoreSide(change, current.revision, fact, "person")
    return sides


def _edited_fields(
    ctx: SyncContext, conflict: Conflict, chosen: Sequence[FieldConflict], text: str
) -> list[FieldConflict]:
    """The fields with what a person typed, who was shown placeholders for secrets.

    Raises:
        UnknownPlaceholderError: one stands for nothing.
    """
    agreed, *current = fact_versions(ctx, conflict)
    agreed = agreed or Fact(conflict.fact_id)
    sides = [
        agreed.replace({each.field: value})
        for each in conflict.fields
        for value in (each.vault, each.store)
    ]
    made = []
    for each in chosen:
        said = {each.field: _typed(each, text)}
        meant, unknown = ctx.view.restore_values(said, agreed, *current, *sides)
        if unknown:
            raise UnknownPlaceholderError(conflict.fact_id, unknown)
        made.append(replace(each, store=meant[each.field]))
    return made


def _typed(field: FieldConflict, text: str) -> Value:
    """What a person typed as a value of the field: a list has an item in each line."""
    if any(isinstance(side, (list, tuple)) for side in (field.vault, field.store)):
        return [line.strip() for line in text.splitlines() if line.strip()]
    return text


def _store_changes(chosen: Sequence[FieldConflict], take: str) -> Sequence[FieldConflict] | None:
    """The fields that the store has to be given other values for; None when none."""
    deletion = next((each for each in chosen if is_deletion(each)), None)
    if deletion is not None:
        wanted = {"vault": deletion.vault, "store": deletion.store}.get(take)
        return chosen if wanted == DELETED_SIDE else None
    return chosen if take == "store" and chosen else None


def _write_store_changes(
    ctx: SyncContext, conflict: Conflict, chosen: Sequence[FieldConflict], actor: str
) -> None:
    for _ in range(5):
        current = ctx.store.find_many([conflict.fact_id]).get(conflict.fact_id)
        if current is None:
            return
        fact: Fact | None = None
        if not _is_deletion(chosen):
            fact = _with_store_version(ctx, conflict, current, chosen)
        elif _written_since(ctx, current):
            return  # unseen by whoever took the deletion: it stays
        write = StoreWrite(conflict.fact_id, fact, current.revision, actor)
        if not isinstance(ctx.store.write([write])[0], RevisionMismatch):
            return
    raise RevisionMismatchError(conflict.fact_id, "the one just read", "another")


def _is_deletion(chosen: Sequence[FieldConflict]) -> bool:
    return any(is_deletion(each) for each in chosen)


def _written_since(ctx: SyncContext, current: Fact) -> bool:
    base = ctx.archive.find_base(current.id)
    return base is not None and bool(differing_keys(base.fact, current))


def _merged(current: Fact, chosen: Sequence[FieldConflict]) -> MergeResult:
    """The store's version of some fields, merged with what was written since."""
    stood = current.replace({each.field: each.vault for each in chosen})
    wish = stood.replace({each.field: each.store for each in chosen})
    return merge(stood, wish, current, peers=True)


def _with_store_version(
    ctx: SyncContext,
    conflict: Conflict,
    current: Fact,
    chosen: Sequence[FieldConflict],
) -> Fact:
    """The fact with the store's version of some fields, as the conflict knows it.

    What was written since is merged with it. Where that cannot be, the person's word
    stands, and what it runs over gets a conflict note of its own first.
    """
    merged = _merged(current, chosen)
    if merged.conflicts:
        newer = replace(
            conflict,
            id=conflict_id(conflict.fact_id, merged.conflicts),
            conflict_path=None,
            fields=merged.conflicts,
            at=ctx.now(),
        )
        write_conflict_note(ctx, newer)
        ctx.vault.sync()
    return merged.fact.evolve(updated_at=ctx.today())


# ------------------------------------------------------------------ conflict notes


def conflict_of_action(action: PlannedAction, fact: Fact, run: str, at: str) -> Conflict:
    """The record of what an action could not merge."""
    return Conflict(
        id=conflict_id(action.fact_id, action.conflicts),
        fact_id=action.fact_id,
        path=action.to or action.path or VaultPath(""),
        conflict_path=None,
        fields=action.conflicts,
        actor=_author_of_store_version(action),
        at=at,
        run=run,
        title=fact.title,
    )


def write_conflict_note(ctx: SyncContext, conflict: Conflict) -> Conflict:
    """Put the conflict note beside the note; the same conflict again changes nothing.

    Returns the conflict with the path and the sha of its note.
    """
    shown = _redacted_conflict(ctx, conflict)
    data = render_conflict(shown).encode()
    sha = hashlib.sha256(data).hexdigest()
    op = f"conflict-{conflict.id}"
    ctx.vault.stage(op, data)
    ctx.vault.sync()  # whoever sees the conflict note sees all of it
    taken: frozenset[str] = frozenset()
    path = conflict_path(conflict.path)
    while True:
        try:
            ctx.vault.create(op, path)
        except NoteExistsError:
            if is_note_of(ctx, path, conflict.id):
                break
            taken |= {path.casefold()}
            path = conflict_path(conflict.path, taken=taken, conflict_id=conflict.id)
        else:
            break
    ctx.vault.discard(op)
    written = replace(conflict, conflict_path=path, sha=sha)
    _record_conflict(ctx, written, shown)
    return written


def _record_conflict(ctx: SyncContext, conflict: Conflict, shown: Conflict) -> None:
    """Note a conflict in the archive, and as the vault may show it in the vault."""
    at = replace(shown, path=conflict.path, conflict_path=conflict.conflict_path)
    ctx.vault.write_meta(_meta(conflict), _record(at))
    with ctx.archive.transaction():
        ctx.archive.put_conflict(conflict)


def rewrite_conflict_note_links(
    ctx: SyncContext,
    moved: Mapping[VaultPath, VaultPath],
    retarget: Callable[[VaultPath], RetargetLink],
) -> None:
    """The links of conflict notes follow the notes that moved.

    What a person did to a conflict note stays; one that somebody saves just now, or that
    cannot be read, keeps its links.
    """
    for conflict in ctx.archive.conflicts():
        path = conflict.conflict_path
        if path is not None:
            with suppress(NoteError, PermissionError, UnicodeDecodeError):
                _relink(ctx, f"links-{conflict.id}", path, retarget(path))
        if conflict.path in moved:
            now = replace(conflict, path=moved[conflict.path])
            _record_conflict(ctx, now, _redacted_conflict(ctx, now))


def _relink(ctx: SyncContext, op: str, path: VaultPath, retarget: RetargetLink) -> None:
    file = ctx.vault.read(path)
    data = rewrite_note_links(file.data.decode(), path, retarget).encode()
    if data == file.data:
        return
    ctx.vault.stage(op, data)
    ctx.vault.sync()
    kept = [file.data]
    try:
        ctx.vault.exchange(op, path, file.sha)
    except NoteChangedError as changed:
        kept = list(changed.displaced)
    finally:
        with ctx.archive.transaction():
            ctx.archive.put_blobs({hashlib.sha256(x).hexdigest(): x for x in kept})
        ctx.vault.discard(op)


def _redacted_conflict(ctx: SyncContext, conflict: Conflict) -> Conflict:
    """A conflict as a file of the vault may show it: no secrets, nothing that runs."""
    hidden, view = redact_conflict(ctx, conflict), ctx.view
    fields = tuple(
        FieldConflict(
            each.field,
            view.escape(each.base),
            view.escape(each.vault),
            view.escape(each.store),
        )
        for each in hidden.fields
    )
    return replace(hidden, fields=fields, title=str(view.escape(hidden.title)))


def redact_conflict(ctx: SyncContext, conflict: Conflict) -> Conflict:
    """A conflict as answers show it, without the secrets of its fact."""
    view = ctx.view
    if view.redactor is None:
        return conflict
    sides = [
        (each.field, side)
        for each in conflict.fields
        for side in (each.base, each.vault, each.store)
    ]
    many = [("title", conflict.title), *sides]
    title, *told = view.redact_values(many, *fact_versions(ctx, conflict))
    fields = tuple(
        FieldConflict(each.field, *told[at : at + 3])
        for at, each in zip(range(0, len(told), 3), conflict.fields, strict=True)
    )
    return replace(conflict, fields=fields, title=str(title))


def fact_versions(ctx: SyncContext, conflict: Conflict) -> list[Fact | None]:
    """The fact of a conflict, of the base and of the store, as far as they are there."""
    base = ctx.archive.find_base(conflict.fact_id)
    found = [base.fact if base else None]
    with suppress(StoreUnavailableError):
        found += ctx.store.find_many([conflict.fact_id]).values()
    return found


def is_note_of(ctx: SyncContext, path: VaultPath, conflict_id: str) -> bool:
    """Whether this is the note of that conflict."""
    try:
        data = ctx.vault.read(path).data
    except NoteError:
        return False
    return conflict_id_in(data.decode(errors="replace")) == conflict_id


def _meta(conflict: Conflict) -> VaultPath:
    return VaultPath(f".meta/conflicts/{conflict.id}.json")


def _record(conflict: Conflict) -> bytes:
    said = {**conflict_json(conflict), "actor": conflict.actor, "at": conflict.at}
    return (json.dumps(said, ensure_ascii=False, indent=2) + "\n").encode()


def remove_conflict_note(ctx: SyncContext, conflict: Conflict) -> None:
    """The conflict note goes; its bytes stay in the archive."""
    path = conflict.conflict_path
    ctx.vault.drop_meta(_meta(conflict))
    if path is None:
        return
    try:
        file = ctx.vault.read(path)
        with ctx.archive.transaction():
            ctx.archive.put_blobs({file.sha: file.data})
        op = f"settled-{conflict.id}"
        ctx.vault.stage_removal(op, path, file.sha)
        ctx.vault.discard(op)
    except NoteError:
        return  # it is gone already, or somebody is writing in it: it may stay


def _author_of_store_version(action: PlannedAction) -> str:
    """Whose values the store's are; the mirror itself is nobody."""
    if action.actor != "vault":
        return action.actor
    return (action.store.agent_id if action.store else None) or ""
