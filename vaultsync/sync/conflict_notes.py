"""Conflict notes in the vault: what they show, how they are written and taken away."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from msgspec import to_builtins

from vaultsync.errors import NoteChangedError, NoteError, NoteExistsError, StoreUnavailableError
from vaultsync.links.rewrite import RetargetLink, rewrite_note_links
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import (
    Conflict,
    FieldConflict,
    conflict_id,
    conflict_id_in,
    conflict_path,
    render_conflict,
    shown_conflict,
)
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import PlannedAction
from vaultsync.sync.item import actor_of_action


def conflict_of_action(action: PlannedAction, fact: Fact, run: str, at: str) -> Conflict:
    """The record of what an action could not merge."""
    return Conflict(
        id=conflict_id(action.fact_id, action.conflicts),
        fact_id=action.fact_id,
        path=action.to or action.path or VaultPath(""),
        conflict_path=None,
        fields=action.conflicts,
        actor=actor_of_action(action),
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
    shown = to_builtins(shown_conflict(conflict))
    said = {**shown, "actor": conflict.actor, "at": conflict.at}
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
