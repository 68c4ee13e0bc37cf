"""The status of one note: whether it is synced, and if not, why and what to do. Changes nothing."""

from __future__ import annotations

from contextlib import suppress
from shlex import quote

from vaultsync.errors import (
    NoteMissingError,
    NotRegularFileError,
    ReadOnlyNoteError,
    StoreUnavailableError,
    UnreadableNoteError,
    UnsafePathError,
)
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import conflict_copy_of
from vaultsync.model.paths import VaultPath, file_name_of, is_note_name, join_path, parent_folder
from vaultsync.notes.kinds import is_module_file, is_table
from vaultsync.notes.parse import home_folder
from vaultsync.notes.review_note import is_review_note, is_review_text
from vaultsync.storage.archive import RESOLVED_BY_AGREEMENT
from vaultsync.storage.vault import IGNORED, LINKED_FOLDER
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import CHANGES_NEITHER, REASON_PARTLY_SAVED, ActionKind
from vaultsync.sync.identity import adopted_folders, module_folders, unadopted_paths
from vaultsync.sync.notices import NOT_SYNCED_HINTS
from vaultsync.sync.report import NoteStatus
from vaultsync.sync.run import preview_run
from vaultsync.sync.snapshot import is_ignored, is_managed_path, why_unlisted
from vaultsync.sync.sync_request import SyncRequest

EXCLUDED = IGNORED, NOT_SYNCED_HINTS[IGNORED]
"""Why the note of a fact is not synced that the settings exclude, and what to do."""


def why_note_waits(ctx: SyncContext, fact_id: str) -> str:
    """Why the note of a fact cannot be written, and what to do; empty if nothing is known."""
    base = ctx.archive.find_base(fact_id)
    if base is None:
        with suppress(StoreUnavailableError):
            return "".join(why_no_note(ctx, x) for x in ctx.store.find_many([fact_id]).values())
        return ""
    for each in ctx.archive.notices():
        if each.path == base.path and each.kind in RESOLVED_BY_AGREEMENT:
            return f"{each.message}; {each.hint}"
    return _why_unreachable(ctx, base.path)


def why_no_note(ctx: SyncContext, fact: Fact) -> str:
    """Why a fact that has no note yet gets none; empty if nothing is known."""
    home = home_folder(fact)
    path = join_path(home, "new.md")
    why = _why_unreachable(ctx, path, shown=home)
    try:
        ctx.vault.check_writable(path)
    except ReadOnlyNoteError:
        error = ReadOnlyNoteError(home, "the folder")
        why = f"{error.message}; {error.hint}"
    return why


def _why_unreachable(ctx: SyncContext, path: VaultPath, *, shown: VaultPath | None = None) -> str:
    """Why no note can be at a path, and what to do; empty if one can.

    `shown` is the folder that the text names in place of the path.
    """
    hint = ""
    try:
        with suppress(NotRegularFileError):
            ctx.vault.stamp(path)
    except UnsafePathError:
        why = LINKED_FOLDER
    except UnreadableNoteError as error:
        why, hint = error.why, error.hint
    else:
        why = IGNORED if is_ignored(ctx, path) else ""
    return f"{shown or path}: {why}; {hint or NOT_SYNCED_HINTS[why]}" if why else ""


def read_note_status(ctx: SyncContext, path: VaultPath, *, agent: str | None = None) -> NoteStatus:
    """Scan the folder of a note as a run would, and report what it would do with the note.

    Raises:
        NoteMissingError: neither a file nor a fact is at the path, or the agent may not see it.
        VaultMissingError, VaultMismatchError, StoreMismatchError, StoreRewoundError.
    """
    view = AgentView(ctx, agent)
    if not view.sees_note(path):
        raise NoteMissingError(path)
    base = ctx.archive.base_at(path)
    request = SyncRequest(dry_run=True, folders=frozenset({parent_folder(path)}))
    work, report = preview_run(ctx, request)
    actions = [x for x in work.actions if path in {x.path, x.to}]
    notices = [x for x in report.attention if x.path == path]
    if not all(map(view.sees_action, actions)) or view.notices(notices) != notices:
        raise NoteMissingError(path)  # a note of a hidden fact was moved there
    pending = [x for x in actions if x.do not in CHANGES_NEITHER]
    conflicts = [x for x in ctx.archive.conflicts() if x.path == path]
    fact_id = pending[0].fact_id if pending else base.fact.id if base else None
    if notices:
        state, message, hint = "attention", notices[0].message, notices[0].hint
    elif conflicts:
        state, message = "conflict", "you and an agent changed it differently"
        hint = f"`vaultsync resolve {conflicts[0].id}`, or tick a box in its conflict note"
    elif pending:
        state, message, hint = "pending", pending[0].reason, "`vaultsync sync` syncs it"
        if pending[0].reason == REASON_PARTLY_SAVED:
            hint = _partly_saved(ctx)[1]
        elif pending[0].do is ActionKind.WAIT:
            hint = "run `vaultsync sync` again later"
    elif base is not None and (why := why_unlisted(ctx, path)):  # because of a folder above it
        state, message, hint = "attention", f"{path}: {why}", NOT_SYNCED_HINTS[why]
    elif base is not None:
        state, message, hint = "synced", "the note and its fact are equal", ""
    else:
        state, message, hint = _why_no_fact(ctx, path)
    return NoteStatus(path, state, fact_id, message, hint)


def _why_no_fact(ctx: SyncContext, path: VaultPath) -> tuple[str, str, str]:
    """State, reason and hint for a path that belongs to no fact; an error if no file is there."""
    with suppress(UnreadableNoteError, NotRegularFileError):
        if ctx.vault.stamp(path) is None:
            raise NoteMissingError(path)
    if refusal := _why_not_adoptable(ctx, path):
        return ("excluded", *refusal)
    adopt = f"`vaultsync adopt {quote(path)}` turns it into a fact"
    if path in unadopted_paths(ctx):
        return "not_adopted", "its adoption was undone", adopt
    if is_managed_path(path, adopted_folders(ctx)):
        return ("pending", *_partly_saved(ctx))
    return "not_adopted", "it is in no folder of a scope, and in no adopted folder", adopt


def _partly_saved(ctx: SyncContext) -> tuple[str, str]:
    """Why a note waits that seems to be partly saved, and what to do."""
    why = "it was saved just now without the `---` below its properties, or is cut off"
    seconds = f"{ctx.policy.settle_seconds:g}"
    return why, f"complete it, or sync again when it has not changed for {seconds} seconds"


def why_not_adopted(ctx: SyncContext, path: VaultPath) -> tuple[str, str]:
    """Why a file did not become a fact, and what to do."""
    return _why_not_adoptable(ctx, path) or _partly_saved(ctx)


def _why_not_adoptable(ctx: SyncContext, path: VaultPath) -> tuple[str, str] | None:
    """Why a file cannot become a fact, and what to do; None if it can."""
    name, folder = file_name_of(path), parent_folder(path)
    if not is_note_name(name):
        return "it is not a note", "the name of a note ends in `.md`"
    if is_review_note(path):
        return "its name is that of a conflict note or a proposal", "rename it"
    if copy := conflict_copy_of(name):
        why = f"it is a conflict copy of {copy.note}, made by a sync tool ({copy.tool})"
        return why, "move what you need into that note, or rename it"
    if is_module_file(path, module_folders(ctx)):
        return "it is a file of a module, which is a fact already", "leave it as it is"
    listing = ctx.vault.folder(folder)
    if listing is None or name not in listing.files:
        why = "the `ignore` setting excludes it, or it is a temporary file of another program"
        return why, "see `ignore` in `.meta/config.toml`"
    data = ctx.vault.read(path).data
    if not data.strip():
        managed = is_managed_path(path, adopted_folders(ctx))
        then = "the next sync adopts it" if managed else "then adopt it"
        return "it is empty", f"write something; {then}"
    if is_review_text(data):
        why = "it is a conflict note or a proposal"
        return why, "to keep its text as a note, remove its properties"
    if is_table(data):
        return "it is a table of contents", "`vaultsync index` generates this file"
    return None
