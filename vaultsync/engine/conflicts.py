"""Conflict notes in the vault: written, found again, resolved by a tick or a deletion."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from vaultsync.core.changes import StoreChange, StoreSide
from vaultsync.core.conflict import (
    DELETED,
    Conflict,
    FieldConflict,
    conflict_id,
    conflict_json,
    conflict_of_text,
    conflict_path,
    is_deletion,
    render_conflict,
    ticked,
)
from vaultsync.core.fact import Fact
from vaultsync.core.fields import Value
from vaultsync.core.merge import Merged, differing, merge
from vaultsync.core.paths import VaultPath
from vaultsync.core.reconcile import Action
from vaultsync.engine.facts import is_visible
from vaultsync.engine.item import agent_of
from vaultsync.engine.mirror import Mirror
from vaultsync.engine.snapshot import Snapshot
from vaultsync.errors import (
    ConflictNotFoundError,
    NoteError,
    NoteExistsError,
    RevisionMismatchError,
    StoreUnavailableError,
    UnknownPlaceholderError,
)
from vaultsync.ports import RevisionMismatch, Write


def conflict_of(action: Action, fact: Fact, run: str, at: str) -> Conflict:
    """The record of what an action could not merge."""
    return Conflict(
        id=conflict_id(action.fact_id, action.conflicts),
        fact_id=action.fact_id,
        path=action.to or action.path or VaultPath(""),
        conflict_path=None,
        fields=action.conflicts,
        actor=agent_of(action),
        at=at,
        run=run,
        title=fact.title,
    )


def write_conflict_note(mirror: Mirror, conflict: Conflict) -> Conflict:
    """Put the conflict note beside the note; the same conflict again changes nothing.

    Returns the conflict with the path and the sha of its note.
    """
    shown = _shown(mirror, conflict)
    data = render_conflict(shown).encode()
    sha = hashlib.sha256(data).hexdigest()
    op = f"conflict-{conflict.id}"
    mirror.vault.stage(op, data)
    mirror.vault.sync()  # whoever sees the conflict note sees all of it
    taken: frozenset[str] = frozenset()
    path = conflict_path(conflict.path)
    while True:
        try:
            mirror.vault.create(op, path)
        except NoteExistsError:
            if _holds(mirror, path, conflict.id):
                break
            taken |= {path.casefold()}
            path = conflict_path(conflict.path, taken=taken, conflict_id=conflict.id)
        else:
            break
    mirror.vault.discard(op)
    written = replace(conflict, conflict_path=path, sha=sha)
    mirror.vault.write_meta(
        _meta(conflict), _record(replace(shown, conflict_path=path))
    )
    with mirror.archive.transaction():
        mirror.archive.put_conflict(written)
    return written


def _shown(mirror: Mirror, conflict: Conflict) -> Conflict:
    """A conflict as a file of the vault may show it: no secrets, nothing that runs."""
    hidden, lens = hidden_conflict(mirror, conflict), mirror.lens
    fields = tuple(
        FieldConflict(
            each.field,
            lens.disarmed(each.base),
            lens.disarmed(each.vault),
            lens.disarmed(each.store),
        )
        for each in hidden.fields
    )
    return replace(hidden, fields=fields, title=str(lens.disarmed(hidden.title)))


def hidden_conflict(mirror: Mirror, conflict: Conflict) -> Conflict:
    """A conflict as answers show it, without the secrets of its fact."""
    lens = mirror.lens
    if lens.redactor is None:
        return conflict
    sides = [
        (each.field, side)
        for each in conflict.fields
        for side in (each.base, each.vault, each.store)
    ]
    many = [("title", conflict.title), *sides]
    title, *told = lens.values(many, *_versions(mirror, conflict))
    fields = tuple(
        FieldConflict(each.field, *told[at : at + 3])
        for at, each in zip(range(0, len(told), 3), conflict.fields, strict=True)
    )
    return replace(conflict, fields=fields, title=str(title))


def _versions(mirror: Mirror, conflict: Conflict) -> list[Fact | None]:
    """The fact of a conflict, of the base and of the store, as far as they are there."""
    base = mirror.archive.find_base(conflict.fact_id)
    found = [base.fact if base else None]
    with suppress(StoreUnavailableError):
        found += mirror.store.find_many([conflict.fact_id]).values()
    return found


def _holds(mirror: Mirror, path: VaultPath, conflict_id: str) -> bool:
    try:
        data = mirror.vault.read(path).data
    except NoteError:
        return False
    return conflict_of_text(data.decode(errors="replace")) == conflict_id


def _meta(conflict: Conflict) -> VaultPath:
    return VaultPath(f".meta/conflicts/{conflict.id}.json")


def _record(conflict: Conflict) -> bytes:
    said = {**conflict_json(conflict), "actor": conflict.actor, "at": conflict.at}
    return (json.dumps(said, ensure_ascii=False, indent=2) + "\n").encode()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person said about a conflict by what they did to its note."""

    conflict: Conflict
    take: str
    """`store` for what was ticked, `keep` when the conflict note was deleted; `vault` is
    only ever said by a command."""
    fields: tuple[str, ...]
    text: str | None = None
    """What a person made of both versions of one field; goes before `take`."""


def verdicts(
    mirror: Mirror, found: Snapshot, *, dry_run: bool = False
) -> list[Verdict]:
    """What was said about the open conflicts since the last pass."""
    said = []
    for conflict in mirror.archive.conflicts():
        path = conflict.conflict_path
        if path is None or found.blind(path):
            continue
        if path not in found.conflict_notes:
            if _folder_is_clean(found, path):
                continue
            moved = _moved(mirror, found, conflict)
            if moved is None:
                everything = tuple(each.field for each in conflict.fields)
                said.append(Verdict(conflict, "keep", everything))
                continue
            conflict = replace(conflict, conflict_path=moved)  # noqa: PLW2901 - the same conflict, elsewhere
            path = moved
            if not dry_run:
                with mirror.archive.transaction():
                    mirror.archive.put_conflict(conflict)
        boxes = _boxes(mirror, path)
        fields = tuple(x.field for x in conflict.fields if x.field in boxes)
        if fields:
            said.append(Verdict(conflict, "store", fields))
    return said


def _folder_is_clean(found: Snapshot, path: VaultPath) -> bool:
    folder = VaultPath(path.rpartition("/")[0])
    return folder in found.scan.folders and folder not in found.dirty


def _moved(mirror: Mirror, found: Snapshot, conflict: Conflict) -> VaultPath | None:
    for path in sorted(found.conflict_notes):
        if _holds(mirror, path, conflict.id):
            return path
    return None


def _boxes(mirror: Mirror, path: VaultPath) -> frozenset[str]:
    try:
        data = mirror.vault.read(path).data
    except NoteError:
        return frozenset()
    return ticked(data.decode(errors="replace")) or frozenset()


def visible_conflicts(mirror: Mirror, *, agent: str | None) -> list[Conflict]:
    """The open conflicts about facts that the agent may see; notes where they lie now."""
    found = mirror.archive.conflicts()
    bases = mirror.archive.find_bases([each.fact_id for each in found])
    return [
        replace(x, path=bases[x.fact_id].path if x.fact_id in bases else x.path)
        for x in found
        if is_visible(mirror, x.fact_id, agent=agent)
    ]


def find_conflict(
    mirror: Mirror, conflict_id: str, *, agent: str | None = None
) -> Conflict:
    """The open conflict of that id, or of the one id that begins so.

    Raises:
        ConflictNotFoundError: there is none, or more than one, that the agent may see.
    """
    seen = visible_conflicts(mirror, agent=agent)
    found = [each for each in seen if each.id.startswith(conflict_id)]
    if len(found) != 1 or not conflict_id:
        raise ConflictNotFoundError(conflict_id)
    return found[0]


def settle(mirror: Mirror, verdict: Verdict, *, actor: str = "person") -> Conflict:
    """Do what a person said about a conflict, and close what it settles.

    Taking the store's version writes it to the store as an edit by that person: the pass
    that follows brings it into the note through the same merge as any other edit.

    Raises:
        StoreUnavailableError: the store is away; the conflict stays open.
    """
    conflict = verdict.conflict
    chosen = [each for each in conflict.fields if each.field in verdict.fields]
    wish = _wish(chosen, verdict.take)
    if verdict.text is not None:
        wish = _by_hand(mirror, conflict, chosen, verdict.text)
    if wish is not None:
        _write_wish(mirror, conflict, wish, actor)
    left = tuple(each for each in conflict.fields if each not in chosen)
    taken = "mixed" if verdict.text is not None else verdict.take
    outcome = "" if left else taken.replace("keep", "vault")
    settled = replace(conflict, fields=left or conflict.fields, outcome=outcome)
    if outcome:
        _take_away(mirror, conflict)
        settled = replace(settled, conflict_path=None)
    with mirror.archive.transaction():
        mirror.archive.put_conflict(settled)
    return settled


def foreseen(mirror: Mirror, found: Snapshot) -> dict[str, StoreSide]:
    """What the store would hold of facts after `settle()`, for those that look ahead."""
    sides = {}
    for verdict in verdicts(mirror, found, dry_run=True):
        conflict = verdict.conflict
        chosen = [each for each in conflict.fields if each.field in verdict.fields]
        wish = _wish(chosen, verdict.take)
        current = mirror.store.find_many([conflict.fact_id]).get(conflict.fact_id)
        if wish is None or current is None:
            continue
        fact: Fact | None = current
        change = StoreChange.DELETED
        if not _is_deletion(wish):
            change, fact = StoreChange.MODIFIED, _merged(current, wish).fact
        elif _written_since(mirror, current):
            continue
        sides[conflict.fact_id] = StoreSide(change, current.revision, fact, "person")
    return sides


def _by_hand(
    mirror: Mirror, conflict: Conflict, chosen: Sequence[FieldConflict], text: str
) -> list[FieldConflict]:
    """The fields with what a person typed, who was shown placeholders for secrets.

    Raises:
        UnknownPlaceholderError: one stands for nothing.
    """
    agreed, *current = _versions(mirror, conflict)
    agreed = agreed or Fact(conflict.fact_id)
    sides = [
        agreed.changed({each.field: value})
        for each in conflict.fields
        for value in (each.vault, each.store)
    ]
    made = []
    for each in chosen:
        said = {each.field: _typed(each, text)}
        meant, unknown = mirror.lens.taken(said, agreed, *current, *sides)
        if unknown:
            raise UnknownPlaceholderError(conflict.fact_id, unknown)
        made.append(replace(each, store=meant[each.field]))
    return made


def _typed(field: FieldConflict, text: str) -> Value:
    """What a person typed as a value of the field: a list has an item in each line."""
    if any(isinstance(side, (list, tuple)) for side in (field.vault, field.store)):
        return [line.strip() for line in text.splitlines() if line.strip()]
    return text


def _wish(chosen: Sequence[FieldConflict], take: str) -> Sequence[FieldConflict] | None:
    """The fields that the store has to be given other values for; None when none."""
    deletion = next((each for each in chosen if is_deletion(each)), None)
    if deletion is not None:
        wanted = {"vault": deletion.vault, "store": deletion.store}.get(take)
        return chosen if wanted == DELETED else None
    return chosen if take == "store" and chosen else None


def _write_wish(
    mirror: Mirror, conflict: Conflict, chosen: Sequence[FieldConflict], actor: str
) -> None:
    for _ in range(5):
        current = mirror.store.find_many([conflict.fact_id]).get(conflict.fact_id)
        if current is None:
            return
        fact: Fact | None = None
        if not _is_deletion(chosen):
            fact = _taken(mirror, conflict, current, chosen)
        elif _written_since(mirror, current):
            return  # unseen by whoever took the deletion: it stays
        write = Write(conflict.fact_id, fact, current.revision, actor)
        if not isinstance(mirror.store.write([write])[0], RevisionMismatch):
            return
    raise RevisionMismatchError(conflict.fact_id, "the one just read", "another")


def _is_deletion(chosen: Sequence[FieldConflict]) -> bool:
    return any(is_deletion(each) for each in chosen)


def _written_since(mirror: Mirror, current: Fact) -> bool:
    base = mirror.archive.find_base(current.id)
    return base is not None and bool(differing(base.fact, current))


def _merged(current: Fact, chosen: Sequence[FieldConflict]) -> Merged:
    """The store's version of some fields, merged with what was written since."""
    stood = current.changed({each.field: each.vault for each in chosen})
    wish = stood.changed({each.field: each.store for each in chosen})
    return merge(stood, wish, current)


def _taken(
    mirror: Mirror,
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
            at=mirror.now(),
        )
        write_conflict_note(mirror, newer)
        mirror.vault.sync()
    return merged.fact.but(updated_at=mirror.today())


def _take_away(mirror: Mirror, conflict: Conflict) -> None:
    """The conflict note goes; its bytes stay in the archive."""
    path = conflict.conflict_path
    mirror.vault.drop_meta(_meta(conflict))
    if path is None:
        return
    try:
        file = mirror.vault.read(path)
        with mirror.archive.transaction():
            mirror.archive.put_blobs({file.sha: file.data})
        op = f"settled-{conflict.id}"
        mirror.vault.withdraw(op, path, file.sha)
        mirror.vault.discard(op)
    except NoteError:
        return  # it is gone already, or somebody is writing in it: it may stay
