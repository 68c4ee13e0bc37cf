"""The notices of a run: what the user needs to know or do."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from shlex import quote
from types import MappingProxyType

from vaultsync.errors import DamagedFactError, NoteError, ReadOnlyNoteError, StoreUnavailableError
from vaultsync.markdown.yaml.writer import emit_inline
from vaultsync.model.compare import differing_keys
from vaultsync.model.file_names import conflict_copy_of
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder
from vaultsync.model.schema import FIELDS_BY_KEY, FieldOwner
from vaultsync.notes.conflict_note import ticked_fields
from vaultsync.notes.parse import (
    FieldProblem,
    UnknownPlaceholder,
    UnreadDate,
    id_in,
    value_problems,
)
from vaultsync.notes.proposal_note import decision_in
from vaultsync.notes.render import add_id_line, rewrite_note
from vaultsync.notes.review_note import is_review_note
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import NOT_WRITTEN, Notice
from vaultsync.storage.vault import (
    IGNORED,
    INVALID_FOLDER_NAME,
    INVALID_NAME,
    LINKED_FOLDER,
    NOT_DOWNLOADED,
    OTHER_VAULT,
    path_in,
)
from vaultsync.sync.changes import VaultChange
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import (
    CREATES_FACT,
    CREATES_NOTE,
    EXCHANGES,
    ActionKind,
    PlannedAction,
)
from vaultsync.sync.identity import adopted_folders, base_of_copy, conflict_copy_at, is_second_note
from vaultsync.sync.note_links import LinkTexts
from vaultsync.sync.planning import DAMAGED_REASON, SECOND_NOTE_REASON, SyncRun
from vaultsync.sync.review_notes import open_review_notes
from vaultsync.sync.snapshot import ScannedFile, is_managed_path

COPY_NOTICE = "conflict_copy"
"""The kind of notices about conflict copies of sync tools."""
VOID_ANSWER = "void_answer"
"""The kind of notices about ticked boxes without an effect."""


_NOT_REGULAR_HINT = "vaultsync reads and writes regular files only; rename it or move it away"
_NAME_HINT = "rename it: names are UTF-8, without backslashes and control characters"
_UNKNOWN_ID_HINT = (
    "if it comes from another store, `vaultsync adopt PATH` turns it into a fact with"
    " the same id, and `vaultsync adopt` does so for all such notes; if this store was"
    " lost, `vaultsync rebuild --from vault` makes it again"
)
_SECOND_NOTE_HINT = (
    "delete one of the two (the older one, if they differ), or remove the id line of one to make"
    " it a note of its own; if a sync tool carries this vault between machines, run vaultsync on"
    " only one of them"
)
_DELETED_HINT = "delete it; to keep it, `vaultsync adopt PATH` makes a fact of it again"
NOT_SYNCED_HINTS: Mapping[str, str] = MappingProxyType(
    {
        INVALID_NAME: _NAME_HINT,
        INVALID_FOLDER_NAME: _NAME_HINT,
        LINKED_FOLDER: "put the folder itself there: no link is followed",
        NOT_DOWNLOADED: "open it, or choose Download Now in the Finder; its fact is kept as it is",
        OTHER_VAULT: "move it out of this vault, or add it to `ignore`",
        IGNORED: "remove it from `ignore`; to delete its facts too, move it out of the vault",
    }
)
"""Reason why a file or folder is not synced -> hint."""
_KINDS: Mapping[str, str] = MappingProxyType({OTHER_VAULT: "nested_vault", IGNORED: "ignored"})
"""Such a reason -> the kind of its notice, if it has its own."""
_WHY_NOT_SYNCED: Mapping[str, str] = MappingProxyType(
    {
        INVALID_NAME: "its name is not valid in a path, so it is not synced",
        NOT_DOWNLOADED: "iCloud Drive has removed it from this machine to save space",
        IGNORED: IGNORED,
    }
)
"""Such a reason -> how the notice of a file states it, if it is not what the file is."""


def redact_notices(ctx: SyncContext, notices: Sequence[Notice]) -> list[Notice]:
    """Redact secrets in notices, because they quote notes, and are stored and shown to all."""
    redact = ctx.view.redact_text
    return [n._replace(message=redact(n.message), hint=redact(n.hint)) for n in notices]


FOREIGN_VALUES_SETTING = "foreign_values"
"""The archive's setting with the marks of foreign values, which belong to a note's author."""
MAX_FOREIGN_VALUES = 5_000
"""Maximum number of marks; further values remain notices."""


def value_mark(problem: FieldProblem) -> str:
    """The mark of a value that its field does not accept; the value may be a secret."""
    return hashlib.sha256(problem.message.encode()).hexdigest()[:16]


def foreign_values(ctx: SyncContext) -> frozenset[str]:
    """The marks of values that notes had when adopted, which mean something to their authors."""
    return frozenset((ctx.archive.setting(FOREIGN_VALUES_SETTING) or "").split())


def with_foreign_values(work: SyncRun) -> str | None:
    """The setting with the values in the notes that this run adopts; None if there are none."""
    adopted = {x.path for x in work.actions if x.do in CREATES_FACT or x.do is ActionKind.MERGE}
    new = {
        value_mark(problem)
        for seen in work.snapshot.seen.values()
        if seen.base is None and seen.path in adopted and seen.note is not None
        for problem in value_problems(seen.note)
        if problem.key != "id"
    }
    return " ".join(sorted(foreign_values(work.ctx) | new)[:MAX_FOREIGN_VALUES]) if new else None


def run_notices(work: SyncRun) -> list[Notice]:
    """The notices of the scan and the plan of a run, without secrets."""
    ctx, request = work.ctx, work.request
    review = {a.path for a in work.actions if a.do is ActionKind.NEEDS_REVIEW and a.path}
    listed = _scan_notices(work, request.adopt | review)
    if work.cases:
        listed += _plan_notices(work)
    if request.dry_run:
        listed += _refusal_notices(ctx, work.actions)
    if not work.feed.is_available:
        listed.append(_store_unavailable_notice(ctx))
    elif work.actions:
        listed += _damage_notices(work)
    return redact_notices(ctx, listed)


def _damage_notices(work: SyncRun) -> list[Notice]:
    """The facts that were not synced because their rows in the store are damaged."""
    damaged = work.ctx.store.damaged()
    listed = []
    for action in work.actions:
        if action.reason == DAMAGED_REASON:
            error = DamagedFactError(action.fact_id, damaged.get(action.fact_id, ""))
            path = action.path or VaultPath("")
            listed.append(Notice("damaged_fact", path, error.message, error.hint))
    return listed


def _store_unavailable_notice(ctx: SyncContext) -> Notice:
    hint = "the next run after it is available syncs everything"
    otherwise = "if it is lost, `vaultsync rebuild --from vault` makes a new one from"
    hints = [hint, f"{otherwise} the notes"]
    try:
        ctx.store.state()
        why = "it came back during this run"
    except StoreUnavailableError as error:
        why = error.why
        hints = [error.helps, hint] if error.helps else hints
    text = f"the store does not answer: {why}; changes for it wait"
    return Notice("store_away", VaultPath(""), text, "; ".join(hints))


def _scan_notices(work: SyncRun, chosen: AbstractSet[VaultPath]) -> list[Notice]:
    """Files and folders that cannot be read, and invalid ids; `chosen` notes are managed."""
    ctx, snapshot, identities = work.ctx, work.snapshot, work.identities
    copies = _copy_notices(work) if snapshot.conflict_copies else []
    copies += _void_answers(work) if snapshot.review_notes else []
    if not (snapshot.seen or snapshot.scan.unreadable or snapshot.non_regular):
        return copies
    adopted = snapshot.adopted
    listed = []
    for folder, why in snapshot.scan.unreadable.items():
        kind = _KINDS.get(why, "unreadable_folder")
        default = "change its permissions so that you can read it; the next sync reads it"
        text, hint = (
            f"{folder or 'the vault'}: {why}; it is skipped",
            NOT_SYNCED_HINTS.get(why, default),
        )
        listed.append(Notice(kind, folder, text, hint))
    for path, what in snapshot.non_regular.items():
        if what == NOT_DOWNLOADED and not (
            is_managed_path(path, adopted) or ctx.archive.base_at(path)
        ):
            continue  # none of ours, like other notes that are not adopted
        text = f"{path}: {_WHY_NOT_SYNCED.get(what, f'is {what}, not a note')}"
        hint = NOT_SYNCED_HINTS.get(what, _NOT_REGULAR_HINT)
        listed.append(Notice(_KINDS.get(what, "odd"), path, text, hint))
    listed += copies
    for seen in snapshot.seen.values():
        listed += _file_notices(ctx, seen, adopted, chosen)
    for seen in identities.without_id:
        base = identities.bases.get(seen.id) if seen.id and seen.path not in chosen else None
        is_recorded = seen.id not in identities.unrecorded
        if base is not None and (copy := conflict_copy_at(seen.path, base)):
            listed.append(conflict_copy_notice(seen.path, copy.tool, base.path, exists=True))
        elif base is not None and is_recorded and is_second_note(ctx, seen, base):
            owner = identities.of_fact.get(base.fact.id)
            note = owner.path if owner else base.path  # it may have been moved
            text = f"{seen.path}: a second note of the fact of {note}, which says nothing new"
            listed.append(Notice("twins", seen.path, text, _SECOND_NOTE_HINT))
    for fact_id, files in identities.duplicate_ids.items():
        names = ", ".join(sorted(each.path for each in files))
        text = f"{names}: all have the id {fact_id}, and none is at its path"
        hint = "remove the id line from all but one of them"
        listed.append(Notice("twins", files[0].path, text, hint))
    return listed


def _copy_notices(work: SyncRun) -> list[Notice]:
    """The conflict copies of notes, which the user has to merge."""
    ctx, listed = work.ctx, []
    adopted = adopted_folders(ctx)
    moved = {x.fact_id: x.vault.path for x in work.cases if x.vault.path is not None}
    for path in work.snapshot.conflict_copies:
        copy = conflict_copy_of(file_name_of(path))
        assert copy is not None  # noqa: S101 - the scan knows it by its name
        note, base = path_in(parent_folder(path), copy.note), base_of_copy(ctx, path)
        exists = base is not None or work.snapshot.has(note)
        if base is not None:
            note = moved.get(base.fact.id, base.path)
        if base is not None or is_managed_path(path, adopted):
            listed.append(conflict_copy_notice(path, copy.tool, note, exists=exists))
    return listed


def _void_answers(work: SyncRun) -> list[Notice]:
    """Ticked boxes in files that look like the note of an open conflict or proposal.

    They are copies, or their records were lost with the archive.
    """
    ctx, listed = work.ctx, []
    for path in sorted(work.snapshot.review_notes - open_review_notes(ctx)):
        file = ctx.find_file(path)
        text = file.data.decode(errors="replace") if file else ""
        if ticked_fields(text) or decision_in(text):
            why = "its box has no effect: it is not the note of an open conflict or proposal"
            hint = "copy what you want to keep into the note that it is about, and delete this file"
            listed.append(Notice(VOID_ANSWER, path, f"{path}: {why}", hint))
    return listed


def conflict_copy_notice(path: VaultPath, tool: str, note: VaultPath, *, exists: bool) -> Notice:
    """The notice about a conflict copy; `exists` states whether its note exists."""
    missing = "" if exists else ", which does not exist"
    text = f"{path}: a conflict copy that {tool} made of {note}{missing}"
    if is_review_note(note):
        text += "; its boxes are not read"
        hint = f"answer in {note}, and delete this file" if exists else "it is settled: delete it"
        return Notice(COPY_NOTICE, path, text, hint)
    text += "; it is not synced"
    hint = (
        f"`vaultsync resolve {quote(path)} --take merge` merges its changes into {note};"
        " `--take keep` makes it a note of its own, and `--take drop` removes it"
    )
    if not exists:
        hint = f"rename it to {note} if it is the note you want, or delete it"
    return Notice(COPY_NOTICE, path, text, hint)


def _file_notices(
    ctx: SyncContext, seen: ScannedFile, adopted: Sequence[str], chosen: AbstractSet[VaultPath]
) -> list[Notice]:
    """The problems of a file that is (or should be) a note of the vault."""
    problems = () if seen.note is None else value_problems(seen.note)
    if seen.read_error is None and not problems:
        return []
    managed = seen.base is not None or is_managed_path(seen.path, adopted) or seen.path in chosen
    listed = []
    if seen.read_error is not None and (managed or _is_copy(ctx, seen)):
        listed.append(seen.read_error)
    if seen.note is not None and problems:
        note = seen.note
        problems = tuple(x for x in problems if not ctx.view.explains(note, x.key))
        if seen.base is None and any(x.key == "id" for x in problems):
            # The note becomes no fact, so its other values do not matter.
            problems = tuple(x for x in problems if x.key == "id")
    foreign = foreign_values(ctx) if problems else frozenset()
    for problem in problems if managed else ():
        if problem.key != "id":
            if value_mark(problem) not in foreign:
                # An invalid value in a new note belongs to its author, and is reported once.
                is_new = seen.base is None
                sha = "" if is_new else seen.file.sha
                notice = _invalid_field_notice(seen.path, sha, problem, is_new=is_new)
                if not isinstance(problem, UnreadDate):
                    more = _MAP_HINT if is_new else _SLIP_HINT
                    notice = notice._replace(hint=f"{notice.hint}; {more}")
                listed.append(notice)
        elif seen.base is None:
            text = f"{seen.path}:{problem.line}: its id is unknown, so the note is left alone"
            notice = Notice("foreign_id", seen.path, text, problem.hint, problem.line)
            listed.append(notice)
    return listed


def _invalid_field_notice(
    path: VaultPath, sha: str, problem: FieldProblem, *, is_new: bool = False
) -> Notice:
    """The notice of a property with a value that its field does not accept."""
    outcome = "the fact has the default" if is_new else "the fact keeps its value"
    if isinstance(problem, UnreadDate):
        outcome = "it is stored, but counts as no due date"
    text = f"{path}:{problem.line}: {problem.message}; {outcome}"
    return Notice("invalid_field", path, text, problem.hint, problem.line, sha)


_MAP_HINT = (
    "without a change it is kept as it is, and reported only once; `[map]` in"
    " .meta/config.toml gives such words a meaning before you adopt, as in priority.high = 1,"
    ' or ignores them: priority."*" = "ignore"'
)
_SLIP_HINT = (
    "if it is a word of your own, give it a meaning or ignore it in `[map]` of the settings"
)


def _is_copy(ctx: SyncContext, seen: ScannedFile) -> bool:
    """Whether an unreadable file has the id of a note that is elsewhere."""
    fact_id = id_in(seen.file.data)
    return fact_id is not None and ctx.archive.find_base(fact_id) is not None


def _reverted_notices(action: PlannedAction, path: VaultPath) -> list[Notice]:
    """A notice for each field that the user changed and only the store may change."""
    listed = []
    for key in action.reverted:
        fixed = key in FIELDS_BY_KEY and FIELDS_BY_KEY[key].owner is FieldOwner.IDENTITY
        what = "never changes" if fixed else "can only be changed in the store"
        hint = (
            "to create a new fact from this text, copy the note"
            if fixed
            else f"`vaultsync update {action.fact_id} --set {key}=VALUE`"
        )
        text = f"{path}: {key} {what}; its value in the note was restored"
        listed.append(Notice("put_back", path, text, hint))
    return listed


MAX_VALUE_CHARS = 60
"""Maximum length of a value quoted in a hint, in characters."""


def _unheld_value_notices(action: PlannedAction, path: VaultPath, view: NoteView) -> list[Notice]:
    """Notices for fields that an agent changed, but whose note keeps an invalid value."""
    note, vault, merged = action.note, action.vault, action.merged
    if note is None or vault is None or merged is None:
        return []
    listed = []
    changed = differing_keys(vault, merged)
    for problem in note.problems:
        key = problem.key
        if key not in changed or view.explains(note, key):
            continue
        text = (
            f"{path}:{problem.line}: {key} was changed in the store; the note keeps"
            " its own value, which is not valid"
        )
        value = emit_inline(view.redact_value(key, merged.value(key), merged))
        hint = (
            f"write `{key}: {value}` there to take the change, or a valid value"
            if len(value) <= MAX_VALUE_CHARS
            else f"write a valid value; `vaultsync get {action.fact_id}` shows the change"
        )
        listed.append(Notice("held_field", path, text, hint, problem.line))
    return listed


def _plan_notices(work: SyncRun) -> list[Notice]:
    """Moves into other scopes, edits of protected fields, invalid values, unknown ids."""
    listed: list[Notice] = []
    ctx = work.ctx
    for case, action in zip(work.cases, work.actions, strict=True):
        path = action.path or VaultPath("")
        scope = case.vault.scope
        if case.base is None and action.store is not None and action.note is not None:
            scope = action.note.place.scope
        merged, may_move = action.merged, work.request.allow_scope_moves
        if merged and not may_move and scope not in (None, merged.scope):
            text = (
                f"{path}: was moved to {scope}, but its fact belongs to"
                f" {merged.scope}; its scope was not changed"
            )
            hint = (
                "`vaultsync sync --allow-scope-moves` if this is intended; otherwise move it back"
            )
            listed.append(Notice("scope_move", path, text, hint))
        if action.reverted:
            listed += _reverted_notices(action, path)
        if action.note is not None and action.note.problems:
            listed += _unheld_value_notices(action, path, ctx.view)
            listed += [  # placeholders that cannot be resolved
                _invalid_field_notice(path, action.sha or "", problem)
                for problem in action.note.problems
                if isinstance(problem, UnknownPlaceholder)
            ]
        if action.do is ActionKind.NEEDS_REVIEW and case.vault.change is VaultChange.FOREIGN:
            text = f"{path}: {action.reason}"
            is_second = action.reason == SECOND_NOTE_REASON
            is_deleted = is_second or case.store.is_purged
            hint = _DELETED_HINT if is_deleted else _UNKNOWN_ID_HINT
            kind = "twins" if is_second else "unknown_id"
            listed.append(Notice(kind, path, text, hint))
    return listed


def _refusal_notices(ctx: SyncContext, actions: Sequence[PlannedAction]) -> list[Notice]:
    """Notices for writes that would be refused: a folder is read-only, or more would change."""
    paths = {a.fact_id: a.path for a in actions if a.is_brief and a.path is not None}
    links = LinkTexts(ctx, {a.fact_id: a.merged for a in actions if a.merged}, paths)
    shown = [each for a in actions if a.note for each in (a.merged, a.vault) if each]
    links.prepare([key for each in shown for key in each.related_fact_ids])
    listed = []
    for action in actions:
        note, fact = action.note, action.merged
        if action.do in CREATES_NOTE and action.path is not None:
            try:
                ctx.vault.check_writable(action.path)
            except ReadOnlyNoteError as refused:
                listed.append(Notice.of(NOT_WRITTEN, refused))
        if note is None or fact is None:
            continue
        try:
            if action.do in EXCHANGES and action.vault is not None:
                to = links.to((*fact.related_fact_ids, *action.vault.related_fact_ids))
                rewrite_note(note, action.vault, fact, links=to, view=ctx.view)
            elif action.new_id:
                add_id_line(note, action.fact_id)
        except NoteError as unsafe:
            listed.append(Notice.of("unsafe_splice", unsafe))
    return listed
