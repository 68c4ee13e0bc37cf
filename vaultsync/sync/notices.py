"""What a person has to know or do, out of a scan and a plan."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from vaultsync.errors import NoteError
from vaultsync.markdown.yaml.writer import inline
from vaultsync.model.compare import differing
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELD, Owner
from vaultsync.notes.parse import UnknownPlaceholder, id_in
from vaultsync.notes.render import rewrite, with_id
from vaultsync.notes.view import Lens
from vaultsync.storage.archive import Attention
from vaultsync.sync.changes import VaultChange
from vaultsync.sync.context import Links, Mirror
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.history import notice
from vaultsync.sync.identity import Case, Identities, adopted_folders
from vaultsync.sync.item import EXCHANGES
from vaultsync.sync.snapshot import Seen, Snapshot, invalid, is_managed

ODD_HINT = "vaultsync reads and writes regular files only; rename it or move it away"


def notices_of_scan(
    mirror: Mirror,
    found: Snapshot,
    who: Identities,
    wanted: AbstractSet[VaultPath] = frozenset(),
) -> list[Attention]:
    """Files and folders that cannot be read, and ids that are none."""
    at, adopted = mirror.now(), adopted_folders(mirror)
    listed = [
        Attention(
            "unreadable_folder",
            folder,
            f"{folder or 'the vault'}: {why}; what is below it is left alone",
            "give yourself the right to read it; the next pass takes it up",
            seen=at,
        )
        for folder, why in found.scan.unreadable.items()
    ]
    for path, what in found.odd.items():
        text = f"{path}: is {what}, not a note"
        listed.append(Attention("odd", path, text, ODD_HINT, seen=at))
    for seen in found.seen.values():
        problems = seen.read.problems if seen.read is not None else ()
        if seen.trouble is None and not problems:
            continue
        ours = seen.base is not None or is_managed(seen, adopted)
        ours = ours or seen.path in wanted
        if seen.trouble is not None and (ours or _is_copy(mirror, seen)):
            listed.append(seen.trouble)
        for problem in problems:
            if problem.key == "id":
                if ours and seen.base is None:
                    listed.append(
                        _foreign_id(mirror, seen.path, problem.line, problem.hint)
                    )
            elif ours:
                listed.append(invalid(mirror, seen.path, seen.file.sha, problem))
    for fact_id, files in who.twins.items():
        names = ", ".join(sorted(each.path for each in files))
        listed.append(
            Attention(
                "twins",
                files[0].path,
                f"{names}: all carry the id {fact_id}, and none lies where it was",
                "take the id line out of all but one of them",
                seen=at,
            )
        )
    return listed


def _is_copy(mirror: Mirror, seen: Seen) -> bool:
    """Whether a file that cannot be read carries the id of a note that lies elsewhere."""
    fact_id = id_in(seen.file.data)
    return fact_id is not None and mirror.archive.find_base(fact_id) is not None


def _foreign_id(mirror: Mirror, path: VaultPath, line: int, hint: str) -> Attention:
    text = f"{path}:{line}: its id is not one of ours, so the note is left alone"
    return Attention("foreign_id", path, text, hint, line, seen=mirror.now())


def _put_back(action: Action, path: VaultPath, at: str) -> list[Attention]:
    """A person changed what is not theirs: said once, field by field."""
    listed = []
    for key in action.put_back:
        fixed = key in FIELD and FIELD[key].owner is Owner.IDENTITY
        what = "never changes" if fixed else "is the store's to change"
        hint = (
            "to make a new fact of this text, copy the note"
            if fixed
            else f"`vaultsync update {action.fact_id} --set {key}=VALUE`"
        )
        text = f"{path}: {key} {what}; the note is given its value back"
        listed.append(Attention("put_back", path, text, hint, seen=at))
    return listed


SHORT = 60
"""Characters of a value that a hint repeats."""


def _held(action: Action, path: VaultPath, at: str, lens: Lens) -> list[Attention]:
    """An agent changed a field whose place in the note holds what the field cannot."""
    note, vault, merged = action.note, action.vault, action.merged
    if note is None or vault is None or merged is None:
        return []
    listed = []
    changed = differing(vault, merged)
    for problem in note.problems:
        key = problem.key
        if key not in changed:
            continue
        text = (
            f"{path}:{problem.line}: {key} was changed in the store; the note keeps"
            " what stands there, which is no value of it"
        )
        value = inline(lens.value(key, merged.value(key), merged))
        hint = (
            f"write `{key}: {value}` there to take the change, or what you mean"
            if len(value) <= SHORT
            else f"write what you mean; `vaultsync get {action.fact_id}` shows the change"
        )
        listed.append(Attention("held_field", path, text, hint, problem.line, seen=at))
    return listed


def _unknown(mirror: Mirror, action: Action, path: VaultPath) -> list[Attention]:
    """Placeholders that a person wrote and that stand for nothing."""
    return [
        invalid(mirror, path, action.sha or "", problem)
        for problem in (action.note.problems if action.note else ())
        if isinstance(problem, UnknownPlaceholder)
    ]


def notices_of_plan(
    mirror: Mirror,
    cases: Sequence[Case],
    actions: Sequence[Action],
    allow_scope_moves: bool,  # noqa: FBT001 - one word of the caller's
) -> list[Attention]:
    """Moves into other scopes, edits of what is not a person's or that have no place."""
    at = mirror.now()
    listed: list[Attention] = []
    for case, action in zip(cases, actions, strict=True):
        path = action.path or VaultPath("")
        scope = case.vault.scope
        if case.base is None and action.store is not None and action.note is not None:
            scope = action.note.place.scope
        if scope is not None and not allow_scope_moves and action.merged:
            if scope == action.merged.scope:
                continue
            text = (
                f"{path}: was moved to {scope}, but its fact belongs to"
                f" {action.merged.scope}; who may see it did not change"
            )
            hint = "`vaultsync sync --allow-scope-moves` if that is meant; else move it back"
            listed.append(Attention("scope_move", path, text, hint, seen=at))
        if action.put_back:
            listed += _put_back(action, path, at)
        if action.note is not None and action.note.problems:
            listed += _held(action, path, at, mirror.lens)
            listed += _unknown(mirror, action, path)
        if action.do is Do.ATTEND and case.vault.change is VaultChange.FOREIGN:
            text = f"{path}: {action.reason}"
            hint = (
                "`vaultsync adopt PATH` takes the note in, `vaultsync adopt` all notes;"
                " when the store was lost, `vaultsync rebuild --from vault` makes it anew"
            )
            listed.append(Attention("unknown_id", path, text, hint, seen=at))
    return listed


def refusals(mirror: Mirror, actions: Sequence[Action]) -> list[Attention]:
    """What a pass would not write, since it could not prove that nothing else changes."""
    links = Links(mirror, {a.fact_id: a.merged for a in actions if a.merged})
    links.prepare([x for a in actions if a.merged for x in a.merged.related_fact_ids])
    listed = []
    for action in actions:
        note, fact = action.note, action.merged
        if note is None or fact is None:
            continue
        try:
            if action.do in EXCHANGES and action.vault is not None:
                to = links.to(fact.related_fact_ids)
                rewrite(note, action.vault, fact, links=to, lens=mirror.lens)
            elif action.new_id:
                with_id(note, action.fact_id)
        except NoteError as unsafe:
            listed.append(notice("unsafe_splice", unsafe, mirror.now()))
    return listed
