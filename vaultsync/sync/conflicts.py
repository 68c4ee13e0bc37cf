"""Conflicts: how the user resolves them, and their notes in the vault.

A conflict is resolved by ticking boxes in its note, by deleting the note, or by a command.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from msgspec import to_builtins

from vaultsync.errors import (
    NoteError,
    NotRegularFileError,
    StoreUnavailableError,
    UnknownPlaceholderError,
    UnsafePathError,
)
from vaultsync.links.rewrite import RetargetLink, rewrite_note_links
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import (
    CONFLICT_KIND,
    DELETED_SIDE,
    ConflictRecord,
    FieldConflict,
    conflict_id,
    conflict_id_in,
    is_deletion,
    render_conflict,
    shown_conflict,
    ticked_fields,
)
from vaultsync.storage.archive import NOT_WRITTEN, Notice
from vaultsync.sync.changes import StoreChange, StoreSide
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import PlannedAction
from vaultsync.sync.fact_changes import change_fact
from vaultsync.sync.merge import MergeResult, merge
from vaultsync.sync.report import ActionTaken
from vaultsync.sync.review_notes import create_review_note, exchange_file, remove_review_note
from vaultsync.sync.snapshot import VaultSnapshot
from vaultsync.sync.state_summary import older_summary_time


@dataclass(frozen=True, slots=True)
class ConflictResolution:
    """The user's decision about a conflict."""

    conflict: ConflictRecord
    take: str
    """`store` for ticked fields, `keep` for a deleted conflict note; `vault` comes from a
    command only."""
    fields: tuple[str, ...]
    text: str | None = None
    """The text into which the user merged both versions of a field; overrides `take`."""


def find_resolutions(
    ctx: SyncContext, snapshot: VaultSnapshot, *, dry_run: bool = False
) -> list[ConflictResolution]:
    """The resolutions of open conflicts that the scan found: ticked boxes, deleted notes.

    An older copy of the vault may be from before a conflict, so a missing note means nothing.
    """
    resolutions = []
    notes: Mapping[str, VaultPath] | None = None  # by the ids of their conflicts
    for conflict in ctx.archive.conflicts():
        path = conflict.conflict_path
        folder = parent_folder(path) if path is not None else None
        is_clean = folder in snapshot.scan.folders and folder not in snapshot.scanned_folders
        if path is not None and (is_clean or snapshot.is_unreadable(path)):
            continue
        if path not in snapshot.review_notes:
            notes = _conflict_notes(ctx, snapshot) if notes is None else notes
            moved = notes.get(conflict.id)
            if moved is None:
                # Without a path, a crashed run had not written it yet.
                if path is not None and older_summary_time(ctx) is None:
                    everything = tuple(each.field for each in conflict.fields)
                    resolutions.append(ConflictResolution(conflict, "keep", everything))
                continue
            conflict = replace(conflict, conflict_path=moved)  # noqa: PLW2901 - the same conflict, elsewhere
            path = moved
            if not dry_run:
                with ctx.archive.transaction():
                    ctx.archive.put_conflict(conflict)
        file = ctx.find_file(path)
        boxes = ticked_fields(file.data.decode(errors="replace")) if file else None
        fields = tuple(x.field for x in conflict.fields if x.field in (boxes or ()))
        if fields:
            resolutions.append(ConflictResolution(conflict, "store", fields))
    return resolutions


def _conflict_notes(ctx: SyncContext, snapshot: VaultSnapshot) -> dict[str, VaultPath]:
    """Conflict id -> its note among those that the scan found; of copies, the first by path."""
    found: dict[str, VaultPath] = {}
    for path in sorted(snapshot.review_notes):
        file = ctx.find_file(path)
        conflict = conflict_id_in(file.data.decode(errors="replace")) if file else None
        if conflict is not None:
            found.setdefault(conflict, path)
    return found


def resolve_conflict(
    ctx: SyncContext, resolution: ConflictResolution, *, actor: str = "person"
) -> ConflictRecord:
    """Apply the user's decision about a conflict, and close the conflict when it is complete.

    Taking the store's version writes it to the store as an edit by the user; the next run
    merges it into the note like any other edit.

    Raises:
        StoreUnavailableError: the store is unavailable; the conflict stays open.
        NoteError: what it overwrites cannot be kept in a conflict note; the conflict stays open.
    """
    conflict = resolution.conflict
    chosen = [each for each in conflict.fields if each.field in resolution.fields]
    changes = _store_changes(chosen, resolution.take)
    if resolution.text is not None:
        changes = _edited_fields(ctx, conflict, chosen, resolution.text)
    if changes is not None:
        _write_store_changes(ctx, conflict, changes, actor)
    open_fields = tuple(each for each in conflict.fields if each not in chosen)
    decision = "mixed" if resolution.text is not None else resolution.take
    outcome = "" if open_fields else decision.replace("keep", "vault")
    resolved = replace(conflict, fields=open_fields or conflict.fields, outcome=outcome)
    if not outcome:
        _record_conflict(ctx, resolved)
        return resolved
    remove_conflict_note(ctx, conflict)
    resolved = replace(resolved, conflict_path=None)
    with ctx.archive.transaction():
        ctx.archive.put_conflict(resolved)
    return resolved


def resolve_conflicts(ctx: SyncContext, resolutions: Sequence[ConflictResolution]) -> list[str]:
    """Apply the user's decisions in notes; returns the facts.

    One stays open while what it overwrites cannot be kept in a conflict note of its own.

    Raises:
        StoreUnavailableError: the store is unavailable; the others stay open.
    """
    fact_ids = []
    for each in resolutions:
        with suppress(NoteError):
            fact_ids.append(resolve_conflict(ctx, each).fact_id)
    return fact_ids


def settled_by_deletion(resolutions: Sequence[ConflictResolution]) -> list[ActionTaken]:
    """The report's actions for conflicts whose notes were deleted, which have no other action.

    Ticked boxes are written, which is an action of its own.
    """
    why = "its conflict note was deleted: the note is kept as it is"
    return [
        ActionTaken("resolve_conflict", x.conflict.fact_id, x.conflict.path, x.fields, why)
        for x in resolutions
        if x.take == "keep"
    ]


def preview_resolutions(ctx: SyncContext, snapshot: VaultSnapshot) -> dict[str, StoreSide]:
    """The facts in the store after `resolve_conflict()`, for a dry run."""
    sides = {}
    for resolution in find_resolutions(ctx, snapshot, dry_run=True):
        conflict = resolution.conflict
        chosen = [each for each in conflict.fields if each.field in resolution.fields]
        changes = _store_changes(chosen, resolution.take)
        current = ctx.store.find_many([conflict.fact_id]).get(conflict.fact_id)
        if changes is None or current is None:
            continue
        fact: Fact | None = current
        change = StoreChange.DELETED
        if not any(map(is_deletion, changes)):
            change, fact = StoreChange.MODIFIED, _merged(current, changes).fact
        elif _written_since(ctx, current):
            continue
        sides[conflict.fact_id] = StoreSide(change, current.revision, fact, "person")
    return sides


def _edited_fields(
    ctx: SyncContext, conflict: ConflictRecord, chosen: Sequence[FieldConflict], text: str
) -> list[FieldConflict]:
    """The fields with the user's text, and secrets in place of placeholders.

    A list has one item per line. Raises UnknownPlaceholderError.
    """
    base, current = _versions(ctx, [conflict.fact_id])[conflict.fact_id]
    base = base or Fact(conflict.fact_id)
    sides = [
        base.replace({each.field: value})
        for each in conflict.fields
        for value in (each.vault, each.store)
    ]
    edited = []
    for each in chosen:
        typed: Value = text
        if any(isinstance(side, (list, tuple)) for side in (each.vault, each.store)):
            typed = [line.strip() for line in text.splitlines() if line.strip()]
        restored, unknown = ctx.view.restore_values({each.field: typed}, base, current, *sides)
        if unknown:
            raise UnknownPlaceholderError(conflict.fact_id, unknown)
        edited.append(replace(each, store=restored[each.field]))
    return edited


def _store_changes(chosen: Sequence[FieldConflict], take: str) -> Sequence[FieldConflict] | None:
    """The fields whose values change in the store; None if there are none."""
    deletion = next((each for each in chosen if is_deletion(each)), None)
    if deletion is not None:
        chosen_side = {"vault": deletion.vault, "store": deletion.store}.get(take)
        return chosen if chosen_side == DELETED_SIDE else None
    return chosen if take == "store" and chosen else None


def _write_store_changes(
    ctx: SyncContext, conflict: ConflictRecord, chosen: Sequence[FieldConflict], actor: str
) -> None:
    def changed(current: Fact) -> Fact | None:
        if not any(map(is_deletion, chosen)):
            return _with_store_version(ctx, conflict, current, chosen)
        # Keep an edit that the user had not seen when choosing the deletion.
        return current if _written_since(ctx, current) else None

    change_fact(ctx, conflict.fact_id, changed, actor)


def _written_since(ctx: SyncContext, current: Fact) -> bool:
    base = ctx.archive.find_base(current.id)
    return base is not None and bool(differing_keys(base.fact, current))


def _merged(current: Fact, chosen: Sequence[FieldConflict]) -> MergeResult:
    """The store's version of some fields, merged with later writes."""
    before = current.replace({each.field: each.vault for each in chosen})
    store_version = before.replace({each.field: each.store for each in chosen})
    return merge(before, store_version, current, peers=True)


def _with_store_version(
    ctx: SyncContext, conflict: ConflictRecord, current: Fact, chosen: Sequence[FieldConflict]
) -> Fact:
    """The fact with the store's version of some fields, as recorded in the conflict.

    Later writes are merged with it. If that is impossible, the user's choice wins, and what it
    overwrites gets its own conflict note first.
    """
    merged = _merged(current, chosen)
    if merged.conflicts:
        path, actor, run = conflict.path, conflict.actor, conflict.run
        open_conflict(ctx, current, merged.conflicts, path=path, actor=actor, run=run)
    return merged.fact.evolve(updated_at=ctx.today())


# ------------------------------------------------------------------ conflict notes


def conflict_of_action(action: PlannedAction, fact: Fact, run: str, at: str) -> ConflictRecord:
    """The conflict record for the fields that an action could not merge."""
    author = action.actor
    if author == "vault":  # the last write was the mirror's, of an agent's version
        author = (action.store.agent_id if action.store else None) or ""
    path = action.to or action.path or VaultPath("")
    return _new_conflict(fact, action.conflicts, path=path, actor=author, at=at, run=run)


def open_conflict(
    ctx: SyncContext,
    fact: Fact,
    fields: tuple[FieldConflict, ...],
    *,
    path: VaultPath,
    actor: str,
    run: str,
) -> None:
    """Record fields of a fact that could not be merged, and write the conflict note to disk."""
    conflict = _new_conflict(fact, fields, path=path, actor=actor, at=ctx.now(), run=run)
    write_conflict_note(ctx, conflict)
    ctx.vault.sync()


def _new_conflict(
    fact: Fact, fields: tuple[FieldConflict, ...], *, path: VaultPath, actor: str, at: str, run: str
) -> ConflictRecord:
    about = conflict_id(fact.id, fields), fact.id, path, None, fields
    return ConflictRecord(*about, actor, at, run, fact.title)


def write_conflict_note(ctx: SyncContext, conflict: ConflictRecord) -> ConflictRecord:
    """Write the conflict note next to the note; idempotent for an equal conflict.

    Returns:
        The conflict with the path and the sha of its note.
    """
    data = render_conflict(_redacted_conflict(ctx, conflict)).encode()
    sha = hashlib.sha256(data).hexdigest()
    path = create_review_note(ctx, CONFLICT_KIND, conflict.id, conflict.path, data)
    written = replace(conflict, conflict_path=path, sha=sha)
    _record_conflict(ctx, written)
    return written


def show_reviews_again(ctx: SyncContext) -> None:
    """Write the notes of open conflicts and proposals that an older copy of the vault lacks.

    The next run writes those of proposals.
    """
    conflicts, proposals = ctx.archive.conflicts(), ctx.archive.proposals()
    for conflict in [x for x in conflicts if _is_missing(ctx, x.conflict_path)]:
        with suppress(NoteError):  # its folder is not writable; it stays open
            write_conflict_note(ctx, replace(conflict, conflict_path=None))
    for proposal in [x for x in proposals if _is_missing(ctx, x.note_path)]:
        with ctx.archive.transaction():
            ctx.archive.put_proposal(replace(proposal, note_path=None))


def _is_missing(ctx: SyncContext, path: VaultPath | None) -> bool:
    try:
        return path is not None and ctx.vault.stamp(path) is None
    except NoteError:
        return False  # it cannot be read now


def conflict_not_written(path: VaultPath, error: NoteError) -> Notice:
    """The notice that the conflict note of a note could not be written."""
    why = f"{path}: a conflict note cannot be written next to it: {error}"
    hint = "change its permissions so that you can write there; the next sync tries again"
    if isinstance(error, (UnsafePathError, NotRegularFileError)):
        hint = error.hint
    return Notice(NOT_WRITTEN, path, why, hint)


def _record_conflict(ctx: SyncContext, conflict: ConflictRecord) -> None:
    """Record a conflict in the archive and, redacted, in the vault."""
    shown = shown_conflict(_redacted_conflict(ctx, conflict))
    record = {**to_builtins(shown), "actor": conflict.actor, "at": conflict.at}
    text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
    ctx.vault.write_meta(_meta(conflict), text.encode())
    with ctx.archive.transaction():
        ctx.archive.put_conflict(conflict)


def rewrite_review_note_links(
    ctx: SyncContext,
    moved: Mapping[VaultPath, VaultPath],
    retarget: Callable[[VaultPath], RetargetLink],
) -> None:
    """Update the links of the notes of conflicts and proposals to notes that moved.

    The user's changes in such a note are kept. One that is being saved or is unreadable keeps
    its links.
    """
    conflicts = ctx.archive.conflicts()
    proposals = [each for each in ctx.archive.proposals() if not each.outcome]
    places = [(each.id, each.conflict_path) for each in conflicts]
    for review_id, path in [*places, *((each.id, each.note_path) for each in proposals)]:
        if path is not None:
            with suppress(NoteError, UnicodeDecodeError):  # it keeps its links
                _relink(ctx, f"links-{review_id}", path, retarget(path))
    for conflict in conflicts:
        if conflict.path in moved:
            _record_conflict(ctx, replace(conflict, path=moved[conflict.path]))
    for proposal in proposals:
        changes = tuple(
            replace(each, path=each.path and moved.get(each.path, each.path))
            for each in proposal.changes
        )
        if changes != proposal.changes:
            with ctx.archive.transaction():
                ctx.archive.put_proposal(replace(proposal, changes=changes))


def _relink(ctx: SyncContext, op: str, path: VaultPath, retarget: RetargetLink) -> None:
    file = ctx.vault.read(path)
    data = rewrite_note_links(file.data.decode(), path, retarget).encode()
    if data != file.data:
        exchange_file(ctx, op, path, file, data)


def _redacted_conflict(ctx: SyncContext, conflict: ConflictRecord) -> ConflictRecord:
    """A conflict with secrets redacted and active content escaped, as for a file in the vault."""
    hidden, view = redact_conflict(ctx, conflict), ctx.view
    fields = tuple(
        FieldConflict(
            each.field, view.escape(each.base), view.escape(each.vault), view.escape(each.store)
        )
        for each in hidden.fields
    )
    return replace(hidden, fields=fields, title=str(view.escape(hidden.title)))


def redact_conflict(ctx: SyncContext, conflict: ConflictRecord) -> ConflictRecord:
    """A conflict with the secrets of its fact redacted, as in answers."""
    return redact_conflicts(ctx, [conflict])[0]


def redact_conflicts(
    ctx: SyncContext, conflicts: Sequence[ConflictRecord]
) -> Sequence[ConflictRecord]:
    """Conflicts with the secrets of their facts redacted; archive and store are read once."""
    if ctx.view.redactor is None:
        return conflicts
    versions = _versions(ctx, [each.fact_id for each in conflicts])
    redacted = []
    for conflict in conflicts:
        pairs: list[tuple[str, Value]] = [("title", conflict.title)]
        for each in conflict.fields:
            pairs += ((each.field, side) for side in (each.base, each.vault, each.store))
        title, *values = ctx.view.redact_values(pairs, *versions[conflict.fact_id])
        fields = tuple(
            FieldConflict(each.field, *values[3 * n : 3 * n + 3])
            for n, each in enumerate(conflict.fields)
        )
        redacted.append(replace(conflict, fields=fields, title=str(title)))
    return redacted


def _versions(
    ctx: SyncContext, fact_ids: Sequence[str]
) -> Mapping[str, tuple[Fact | None, Fact | None]]:
    """By id, the fact from the base and from the store, if they have it."""
    bases = ctx.archive.find_bases(fact_ids)
    stored: Mapping[str, Fact] = {}
    with suppress(StoreUnavailableError):  # then only the base is shown
        stored = ctx.store.find_many(fact_ids)
    return {
        each: (bases[each].fact if each in bases else None, stored.get(each)) for each in fact_ids
    }


def _meta(conflict: ConflictRecord) -> VaultPath:
    return VaultPath(f".meta/conflicts/{conflict.id}.json")


def remove_conflict_note(ctx: SyncContext, conflict: ConflictRecord) -> None:
    """Remove the conflict note; the archive keeps its bytes."""
    ctx.vault.drop_meta(_meta(conflict))
    if conflict.conflict_path is not None:
        remove_review_note(ctx, conflict.id, conflict.conflict_path)
