"""Settle the conflict copies of sync tools: merge, keep, or drop them.

A copy is one side of a merge with its note. The merge base is the base of the fact, if the note was
changed since; otherwise the former text of the note that is most similar to the copy, or the
lines that both have in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from msgspec import structs

from vaultsync.errors import (
    NoteChangedError,
    NoteError,
    NoteExistsError,
    RevisionMismatchError,
    UsageError,
)
from vaultsync.facts.service import is_visible
from vaultsync.markdown.diff3 import common_lines
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import conflict_copy_of
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, stem_of
from vaultsync.model.schema import Value
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import remove_id_line
from vaultsync.storage.archive import COPY_FIELD, Base, HistoryEntry
from vaultsync.storage.store import RevisionMismatch
from vaultsync.storage.vault import NoteFile, path_in
from vaultsync.sync.conflicts import (
    ConflictResolution,
    open_conflict,
    resolve_conflict,
    write_conflict_note,
)
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import overwrite
from vaultsync.sync.identity import base_of_copy, fact_of_text
from vaultsync.sync.merge import merge
from vaultsync.sync.notices import COPY_NOTICE
from vaultsync.sync.report import ActionTaken, Report, ShownCopy, counted
from vaultsync.sync.run import record_events, record_run, sync_once
from vaultsync.sync.sync_request import SyncRequest

MERGE: Final = "merge"
KEEP: Final = "keep"
DROP: Final = "drop"
COPY_DECISIONS = (MERGE, KEEP, DROP)
RUN_KIND = "copy"


def copied_note(ctx: SyncContext, path: VaultPath, *, agent: str | None = None) -> Base:
    """The note that a conflict copy is a copy of.

    Raises:
        UsageError: no copy of a note that is a fact, and that the agent can see, is there.
        NoteError: it cannot be read.
    """
    base = base_of_copy(ctx, path)
    if base is None or not is_visible(ctx, base.fact.id, agent=agent):
        # The path is not repeated: an agent may ask for one that it cannot know.
        message = "there is no conflict copy of a note at this path"
        raise UsageError(message, hint="`vaultsync conflicts` lists them")
    return base


def open_copies(ctx: SyncContext, *, agent: str | None = None) -> list[ShownCopy]:
    """The conflict copies that the last run found and that are there still, for an agent."""
    copies = []
    for notice in ctx.archive.notices():
        if notice.kind == COPY_NOTICE:
            with suppress(UsageError, NoteError):  # it is gone, or no copy of a fact's note
                base = copied_note(ctx, notice.path, agent=agent)
                copies.append(ShownCopy(notice.path, base.path, base.fact.id))
    return copies


def settle_copy(ctx: SyncContext, path: VaultPath, *, take: str, actor: str = "person") -> Report:
    """Merge a conflict copy into its note, keep it as a note of its own, or drop it.

    Conflicting changes become a conflict, in which the note's values win. The archive keeps the
    bytes of the copy, and `undo_copies()` puts it back. `take` is one of `COPY_DECISIONS`.

    Raises:
        UsageError: it is no copy of a note that is a fact.
        NoteError: it cannot be read, or was saved meanwhile.
        RevisionMismatchError: the fact was changed in the meantime; nothing was done.
        StoreUnavailableError: nothing was done.
    """
    base, file, run = copied_note(ctx, path), ctx.vault.read(path), ctx.clock.new_id()
    if take == KEEP:
        return _keep(ctx, path, file, actor)
    ids = [base.fact.id]
    request = SyncRequest.for_facts(ids, RUN_KIND, actor=actor, run=run, guarded=False)
    report: Report | None = None
    if take == MERGE:
        report = _merge(ctx, base, file, request, actor)
    _remove_copy(ctx, request, base.fact.id, {"path": path, "sha": file.sha}, file)
    action = ActionTaken("settle_copy", base.fact.id, path, (), f"{take}: a copy of {base.path}")
    if report is None:
        counts = counted({"unchanged": ctx.archive.count_bases()})
        report = Report(run, dry_run=False, seconds=0.0, counts=counts, actions=[])
    attention = [each for each in report.attention if each.path != path]
    complete = structs.replace(report, actions=[*report.actions, action], attention=attention)
    record_run(ctx, request, complete)
    return complete


def _merge(
    ctx: SyncContext, before: Base, file: NoteFile, request: SyncRequest, actor: str
) -> Report:
    note = ctx.find_file(before.path)
    fact_id = before.fact.id
    sync_once(ctx, SyncRequest.for_facts([fact_id], "update"))
    base = ctx.archive.find_base(fact_id) or before
    copy = fact_of_text(ctx, base, file.data, base.path)
    ancestor = before.fact
    if note is None or note.sha == before.sha:
        texts = [x.before for x in ctx.archive.history(fact_id=fact_id) if x.field == "content"]
        ancestor = _ancestor(base.fact, copy, [x for x in texts if isinstance(x, str)])
    merged = merge(ancestor, base.fact, copy.evolve(revision=base.fact.revision), peers=True)
    if differing_keys(merged.fact, base.fact):
        fact = merged.fact.evolve(updated_at=ctx.today())
        write = overwrite(ctx, fact_id, fact, base.fact.revision or "", actor)
        (result,) = ctx.store.write([write])
        if isinstance(result, RevisionMismatch):
            raise RevisionMismatchError(fact_id, base.fact.revision or "", result.found)
    if merged.conflicts:
        path, run = base.path, str(request.run)
        open_conflict(ctx, base.fact, merged.conflicts, path=path, actor=actor, run=run)
    return sync_once(ctx, request)


def _ancestor(note: Fact, copy: Fact, former_texts: Sequence[str]) -> Fact:
    """The merge base of a copy and its note: the fields that are equal, and a text.

    That is the former text of the note that the copy is nearest to, if it is not nearer to the
    note as it is; otherwise the lines that both have.
    """
    copy_lines = copy.content.split("\n")

    def common(text: str) -> tuple[float, list[str]]:
        """The share of the lines that a text has in common with the copy, and those lines."""
        lines = text.split("\n")
        shared = [lines[at] for at, _ in common_lines(lines, copy_lines)]
        return 2 * len(shared) / (len(lines) + len(copy_lines)), shared

    former = max(former_texts, key=lambda text: common(text)[0], default=None)
    similarity, shared = common(note.content)
    if former is None or common(former)[0] < similarity:
        former = "\n".join(shared)
    different: dict[str, Value] = dict.fromkeys(differing_keys(note, copy))
    if "type" in different:  # as in a merge without a base, the default counts as never written
        different["type"] = Fact(note.id).type
    return note.replace({**different, "content": former})


def _keep(ctx: SyncContext, path: VaultPath, file: NoteFile, actor: str) -> Report:
    """Turn a copy into a separate note, under a free name and without the id."""
    copy = conflict_copy_of(file_name_of(path))
    stem = _template(copy.note if copy else file_name_of(path))
    data = remove_id_line(read_note(file.data, path))
    to = _create(ctx, data, parent_folder(path), stem + " (copy {}).md")
    try:
        _remove(ctx, path, file.data)
    except NoteError:
        with suppress(NoteError):  # it was saved meanwhile, and is a note of its own
            _remove(ctx, to, data)
        raise
    return sync_once(ctx, SyncRequest(RUN_KIND, actor, adopt=frozenset({to})))


def _remove_copy(
    ctx: SyncContext, request: SyncRequest, fact_id: str, copy: Mapping[str, Value], file: NoteFile
) -> None:
    """Record the removal of a copy, and remove it: afterwards, only the history names its bytes.

    Raises NoteError: it cannot be removed. What can be known before is not recorded.
    """
    path = VaultPath(str(copy["path"]))
    ctx.vault.check_writable(path)
    if ctx.vault.read(path).sha != file.sha:
        raise NoteChangedError(path)
    record_events(ctx, request, [(fact_id, COPY_FIELD, dict(copy), None)])
    _remove(ctx, path, file.data)


def _remove(ctx: SyncContext, path: VaultPath, data: bytes) -> None:
    ctx.keep(data)
    op = f"copy-{ctx.clock.new_id()}"
    ctx.vault.stage_removal(op, path, hashlib.sha256(data).hexdigest())
    ctx.vault.discard(op)


def undo_copies(
    ctx: SyncContext, entries: Iterable[HistoryEntry], request: SyncRequest
) -> tuple[list[ActionTaken], list[ActionTaken]]:
    """Put back the conflict copies that a run removed, and remove those that it put back.

    The vault writes no names of sync tools, so it gets a number beside its note, by which it is
    known as a copy as well. A conflict that its merge opened is closed, because both versions
    are there again, and open again without the copy.

    Returns: an action for each, and one for each that stays as it is.
    """
    undone, conflicting = [], []
    for entry in entries:
        if entry.field != COPY_FIELD:
            continue
        fact_id, base = entry.fact_id, ctx.archive.find_base(entry.fact_id)
        if isinstance(entry.after, dict):
            path, file = VaultPath(str(entry.after["path"])), _unchanged(ctx, entry.after)
            if file is None:
                conflicting.append(ActionTaken("keep", fact_id, path, (), "it was changed since"))
                continue
            _remove_copy(ctx, request, fact_id, entry.after, file)
            _open_again(ctx, entry.after.get("conflict"))
            undone.append(ActionTaken("settle_copy", fact_id, path, (), "undone"))
            continue
        assert isinstance(entry.before, dict)  # noqa: S101 - the copy that was removed
        path, sha = VaultPath(str(entry.before["path"])), str(entry.before["sha"])
        data, is_back = ctx.archive.blob(sha), _is_back(ctx, fact_id, sha)
        if data is None or base is None or is_back:
            gone = "its bytes are no longer kept, or its note is gone"
            why = "it is there already" if is_back else gone
            conflicting.append(ActionTaken("keep", fact_id, path, (), why))
            continue
        to = _create(ctx, data, parent_folder(base.path), _template(base.path) + " {}.md")
        conflicts = ctx.archive.conflicts(fact_id=fact_id)
        opened = next((each for each in conflicts if each.run == entry.run), None)
        copy = {"path": to, "sha": sha, **({"conflict": opened.id} if opened else {})}
        record_events(ctx, request, [(fact_id, COPY_FIELD, None, copy)])
        if opened:
            fields = tuple(each.field for each in opened.fields)
            resolve_conflict(ctx, ConflictResolution(opened, "keep", fields))
        undone.append(ActionTaken("restore_copy", fact_id, to, (), f"was {path}"))
    return undone, conflicting


def _open_again(ctx: SyncContext, closed: Value) -> None:
    for conflict in ctx.archive.conflicts(closed=True):
        if conflict.id == closed and conflict.outcome:
            write_conflict_note(ctx, replace(conflict, outcome=""))


def _is_back(ctx: SyncContext, fact_id: str, sha: str) -> bool:
    """Whether a copy is there that an undo put back, or that a crash kept from its removal."""
    entries = [x for x in ctx.archive.history(fact_id=fact_id) if x.field == COPY_FIELD]
    copies = [copy for x in entries for copy in (x.before, x.after) if isinstance(copy, dict)]
    return any(each["sha"] == sha and _unchanged(ctx, each) for each in copies)


def _unchanged(ctx: SyncContext, copy: Mapping[str, Value]) -> NoteFile | None:
    """The file of a copy in the history; None if it is gone or was changed since."""
    file = ctx.find_file(VaultPath(str(copy["path"])))
    return file if file is not None and file.sha == copy["sha"] else None


def _create(ctx: SyncContext, data: bytes, folder: VaultPath, name: str) -> VaultPath:
    """Write a file under the first free name with a number from 2 on."""
    op = f"copy-{ctx.clock.new_id()}"
    ctx.vault.stage(op, data)
    ctx.vault.sync()
    number = 1
    while True:
        number += 1
        to = path_in(folder, name.format(number))
        try:
            ctx.vault.create(op, to)
        except NoteExistsError:
            continue
        break
    ctx.vault.discard(op)
    return to


def _template(name: str) -> str:
    """The stem of a note, for `str.format()`."""
    return stem_of(name).replace("{", "{{").replace("}", "}}")
