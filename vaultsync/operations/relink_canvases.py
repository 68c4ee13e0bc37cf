"""Rewrite the links of canvases to notes that moved, and undo that.

Canvases are the user's: only the texts that link to a moved note change, by a checked exchange. The
former bytes are kept for undo.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from vaultsync.errors import NoteChangedError, NoteError
from vaultsync.links.canvas import read_canvas, retarget_canvas
from vaultsync.links.rewrite import MovedFiles
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.storage.archive import CANVAS_FIELD, HistoryEntry
from vaultsync.storage.vault import NoteFile
from vaultsync.sync.context import SyncContext
from vaultsync.sync.decision_table import ActionKind
from vaultsync.sync.history import VAULT_SIDE
from vaultsync.sync.report import ActionTaken
from vaultsync.sync.review_notes import exchange_file

_log = logging.getLogger(__name__)

_UPDATED = ActionKind.UPDATE_VAULT.value.replace(" ", "_")


def relink_canvases(
    ctx: SyncContext,
    moves: MovedFiles,
    ids: Mapping[VaultPath, str],
    *,
    run: str,
    actor: str,
    reason: str,
) -> list[ActionTaken]:
    """Rewrite the links of all canvases to the notes that moved.

    A canvas that cannot be read, or is saved at this moment, keeps its links. `ids` are the facts
    of all notes, by their paths of now. A dry run has no `run`, and rewrites nothing. Returns an
    action for each canvas that was, or would be, rewritten.
    """
    rewriting = _Rewriting(ctx, run, actor)
    actions = []
    for path in ctx.vault.canvases():
        try:
            file = ctx.vault.read(path)
            text = file.data.decode()
            after = retarget_canvas(text, path, moves.moved, moves.retarget(path))
            if after == text:
                continue
            led = {
                moves.target_now(each.link.target, path) for each in read_canvas(after, path).links
            }
            moved = [to for to in moves.moved.values() if to in ids]
            fact_id = ids[next(filter(led.__contains__, moved), moved[0])]
            if run:
                rewriting.exchange(path, file, after.encode(), fact_id)
        except (NoteError, UnicodeError, OSError) as error:
            _log.warning("%s: its links to moved notes were not rewritten: %s", path, error)
        else:
            actions.append(_canvas_action(fact_id, path, reason))
    return actions


def undo_canvases(
    ctx: SyncContext, entries: Iterable[HistoryEntry], run: str, actor: str
) -> tuple[list[ActionTaken], list[ActionTaken]]:
    """Give the canvases that a run rewrote their bytes back.

    Returns: an action for each canvas, and one for each that was changed since and is kept.
    """
    undone, conflicting, rewriting = [], [], _Rewriting(ctx, run, actor)
    for entry in entries:
        if entry.field != CANVAS_FIELD:
            continue
        (path, before), (_, after) = _place(entry.before), _place(entry.after)
        file, data = ctx.find_file(path), ctx.archive.blob(before)
        try:
            if file is None or data is None or file.sha != after:
                raise NoteChangedError(path)
            rewriting.exchange(path, file, data, entry.fact_id)
        except NoteError:
            why = "it was changed since, and is kept"
            conflicting.append(ActionTaken("keep", entry.fact_id, path, (), why))
        else:
            undone.append(_canvas_action(entry.fact_id, path, "undone"))
    return undone, conflicting


class _Rewriting(NamedTuple):
    """The actor and the run of a rewrite."""

    ctx: SyncContext
    run: str
    actor: str

    def exchange(self, path: VaultPath, file: NoteFile, data: bytes, fact_id: str) -> None:
        """Replace a canvas that is as it was read, and record that under the fact that moved."""
        ctx = self.ctx
        exchange_file(ctx, f"canvas-{ctx.clock.new_id()}", path, file, data)
        shas = (file.sha, sha256(data).hexdigest())
        places = ({"path": path, "sha": sha} for sha in shas)
        entry = HistoryEntry(
            self.run, ctx.now(), fact_id, VAULT_SIDE, self.actor, CANVAS_FIELD, *places
        )
        with ctx.archive.transaction():
            ctx.archive.add_history([entry])


def _canvas_action(fact_id: str, path: VaultPath, reason: str) -> ActionTaken:
    return ActionTaken(_UPDATED, fact_id, path, (), reason, ("updated_in_vault",))


def _place(value: Value) -> tuple[VaultPath, str]:
    """The path and the sha of a canvas, as the history has them."""
    assert isinstance(value, dict)  # noqa: S101 - `_Rewriting` wrote it
    return VaultPath(str(value["path"])), str(value["sha"])
