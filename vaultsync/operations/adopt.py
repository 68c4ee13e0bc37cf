"""Adopt existing notes: they become facts and keep their paths; undo that, and redo it.

An undo removes only the ids from the notes: first the archive drops the bases, then the store
deletes the facts, and last the ids go. A crash in between leaves notes with the ids of their
facts, which the next run adopts again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from msgspec import structs

from vaultsync.errors import (
    IdNotInVaultError,
    NoteChangedError,
    NoteError,
    NoteMissingError,
    NotRegularFileError,
    StoreUnavailableError,
    UnreadableNoteError,
)
from vaultsync.model.canonical import check_id
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, is_note_name, parent_folder
from vaultsync.model.scope import check_scope
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import add_id_line, remove_id_line
from vaultsync.notes.review_note import is_review_note
from vaultsync.storage.archive import Base, DisplacedFile, Notice
from vaultsync.storage.store import RevisionMismatch, StoreWrite
from vaultsync.storage.vault import FileStamp, NoteFile, VaultScan
from vaultsync.sync.context import SyncContext
from vaultsync.sync.finish import join_reports
from vaultsync.sync.identity import adopted_folders, remember_unadopted, unadopted_paths
from vaultsync.sync.note_status import why_not_adopted
from vaultsync.sync.report import Progress, Report, counted, counts_of, notices_of
from vaultsync.sync.run import sync_once
from vaultsync.sync.snapshot import parts_by_folder
from vaultsync.sync.sync_request import SyncRequest

BYTES_IN_MEMORY = 6 << 20
"""Maximum size, in bytes, of the notes of one batch; a larger folder is one batch. A run needs
seven times as much memory."""
BYTES_PER_NOTE = 2 << 10
"""The minimum size that is counted for a note."""
NOTES_PER_FSYNC = 200
"""Notes per batch of an undo; each batch is flushed to disk together."""


def adopt_notes(
    ctx: SyncContext,
    paths: Sequence[VaultPath],
    *,
    scope: str | None = None,
    type_name: str | None = None,
    dry_run: bool = False,
    actor: str = "person",
    progress: Progress | None = None,
) -> Report:
    """Turn notes into facts, those of the whole vault by default; only an id is added to each.

    Folders are remembered: notes that appear in them later are adopted by the next run. Folder
    and frontmatter say scope and type unless they are given.

    Raises:
        NoteMissingError: nothing is at one of the paths; nothing was done.
        InvalidScopeError, UnknownTypeError.
    """
    if scope is not None:
        check_scope(scope)
    if type_name is not None:
        type_name = Fact("").replace({"type": type_name}).type
    scan = ctx.vault.scan()
    adopted_paths = ctx.archive.paths()
    sizes: dict[VaultPath, int] = {}
    folders: list[VaultPath] = []
    named: list[VaultPath] = []
    for path in paths or (VaultPath(""),):
        inside = {
            note: max(stamp.size, BYTES_PER_NOTE)
            for note, stamp in scan.notes()
            if (not path or note.startswith(path + "/")) and not is_review_note(note)
        }
        if path == "" or path in scan.folders:
            folders.append(path)
            sizes.update(inside)
        elif (stamp := _stamp_of_note(ctx, path, scan)) is not None:
            sizes[path] = max(stamp.size, BYTES_PER_NOTE)
            named.append(path)
        else:
            raise NoteMissingError(path)
    request = SyncRequest(
        kind="adopt",
        dry_run=dry_run,
        adopt=frozenset(path for path in sizes if path not in adopted_paths),
        adopt_scope=scope,
        adopt_type=type_name,
        actor=actor,
    )
    unadopted = unadopted_paths(ctx)
    if unadopted & sizes.keys() and not dry_run:
        remember_unadopted(ctx, unadopted - sizes.keys())
    if folders and not dry_run:
        adopted = dict.fromkeys([*adopted_folders(ctx), *folders])
        ctx.set_setting("adopted_folders", "\n".join(adopted))
    del scan  # it is as large as the vault
    report = _adopt_in_parts(ctx, request, sizes, progress)
    handled = {x.path for x in report.actions} | {x.path for x in report.attention}
    refusals = [_refusal(ctx, x) for x in named if x not in handled | adopted_paths.keys()]
    return structs.replace(report, attention=[*report.attention, *notices_of(refusals)])


def _stamp_of_note(ctx: SyncContext, path: VaultPath, scan: VaultScan) -> FileStamp | None:
    """The stamp of a file; for a folder that was not listed, the error that says why."""
    if path in scan.unreadable:
        hint = "make it a readable folder that is no vault of its own"
        raise UnreadableNoteError(path, scan.unreadable[path], hint=hint)
    try:
        return ctx.vault.stamp(path)
    except NotRegularFileError:
        if is_note_name(path):
            raise
        why = "the `ignore` setting excludes it, or it is no folder"
        raise UnreadableNoteError(path, why, hint="see `ignore` in `.meta/config.toml`") from None


def _adopt_in_parts(
    ctx: SyncContext,
    request: SyncRequest,
    sizes: Mapping[VaultPath, int],
    progress: Progress | None,
) -> Report:
    """One run, a few folders at a time, to limit memory.

    At the end, the whole vault is synced, which finds little left to do.
    """
    is_large = sum(map(sizes.__getitem__, request.adopt)) > BYTES_IN_MEMORY
    if is_large and request.dry_run and _may_scan_folders(ctx):
        previews = [sync_once(ctx, x, progress=progress) for x in _parts(request, sizes)]
        rest = sync_once(ctx, replace(request, adopt=frozenset()), progress=progress)
        return _joined_previews(previews, rest, request.adopt)
    total: Report | None = None
    if is_large and not request.dry_run:
        for part in _parts(request, sizes):
            report = sync_once(ctx, replace(part, after=total), progress=progress)
            total = total if report.quiet else report
        adopted_paths = ctx.archive.paths()  # those are not read again
        remaining = frozenset(path for path in request.adopt if path not in adopted_paths)
        request = replace(request, adopt=remaining)
        del adopted_paths
    last = sync_once(ctx, replace(request, after=total), progress=progress)
    return last if total is None or not last.quiet else join_reports(total, last)


def _parts(request: SyncRequest, sizes: Mapping[VaultPath, int]) -> Iterator[SyncRequest]:
    """The same for some folders at a time, whose chosen notes fit into memory."""
    for paths in parts_by_folder(request.adopt, BYTES_IN_MEMORY, size_of=sizes.__getitem__):
        folders = frozenset(parent_folder(path) for path in paths)
        yield replace(request, folders=folders, adopt=frozenset(paths))


def _may_scan_folders(ctx: SyncContext) -> bool:
    """Whether a dry run can scan some folders only: with facts to be read, it scans all."""
    try:
        is_empty = not ctx.store.state().seq
    except StoreUnavailableError:
        return False
    return is_empty or int(ctx.archive.setting("cursor") or 0) > 0


def _joined_previews(
    previews: Sequence[Report], rest: Report, chosen: AbstractSet[VaultPath]
) -> Report:
    """One report of dry runs over parts of the `chosen` notes, and of one over everything else."""
    actions = [each for each in rest.actions if each.path not in chosen]
    parts = [each for preview in previews for each in preview.actions if each.path in chosen]
    actions += sorted(parts, key=lambda each: each.path or "")
    notices = {(n.kind, n.path, n.message): n for x in (*previews, rest) for n in x.attention}
    return structs.replace(
        rest,
        seconds=round(sum(each.seconds for each in (*previews, rest)), 3),
        counts=counted(counts_of(actions)) | {"unchanged": rest.counts["unchanged"]},
        actions=actions,
        attention=[*notices.values()],
    )


def _refusal(ctx: SyncContext, path: VaultPath) -> Notice:
    why, hint = why_not_adopted(ctx, path)
    return Notice("not_taken", path, f"{path}: not adopted: {why}", hint)


def find_note_with_id(ctx: SyncContext, fact_id: str) -> VaultPath:
    """The note with an id in its frontmatter; of several, the one saved last.

    Raises:
        InvalidIdError: it is not an id.
        IdNotInVaultError: no note has it.
        VaultMissingError.
    """
    fact_id = check_id(fact_id)
    base = ctx.archive.find_base(fact_id)
    if base is not None and _has_id(ctx, base.path, fact_id):
        return base.path
    newest = sorted((-stamp.mtime_ns, path) for path, stamp in ctx.vault.scan().notes())
    adopted_paths = ctx.archive.paths()
    for _, path in newest:
        if path not in adopted_paths and not is_review_note(path) and _has_id(ctx, path, fact_id):
            return path
    raise IdNotInVaultError(fact_id)


def _has_id(ctx: SyncContext, path: VaultPath, fact_id: str) -> bool:
    try:
        data = ctx.vault.read(path).data
        return fact_id.encode() in data and read_note(data, path).id == fact_id
    except NoteError:
        return False


@dataclass(frozen=True, slots=True)
class _NoteSwap:
    """A note whose bytes are to be replaced."""

    fact_id: str
    path: VaultPath
    op: str
    file: NoteFile
    data: bytes


def unadopt(
    ctx: SyncContext,
    fact_ids: Sequence[str],
    *,
    word: str,
    record: Callable[[Mapping[str, VaultPath]], None],
) -> tuple[dict[str, VaultPath], dict[str, str]]:
    """Delete adopted facts from the store, as the actor `word`, and their ids from their notes.

    `record` is called with the notes of each batch before they lose their ids, after which a
    crash would leave no other trace of the facts.

    Returns: the paths of the notes that are no facts any more, by fact id, and the reasons
        why the others still are.
    """
    released: dict[str, VaultPath] = {}
    refused: dict[str, str] = {}
    for start in range(0, len(fact_ids), NOTES_PER_FSYNC):
        batch = fact_ids[start : start + NOTES_PER_FSYNC]
        bases = ctx.archive.find_bases(batch)
        facts = ctx.store.find_many(batch)
        swaps = list(_without_ids(ctx, batch, bases, facts, refused))
        _stage(ctx, swaps)
        with ctx.archive.transaction():
            ctx.archive.drop_bases([each.fact_id for each in swaps])
            # If this is interrupted, the notes still have their ids and must be rescanned.
            ctx.archive.set_folders({parent_folder(each.path): b"" for each in swaps})
        remember_unadopted(ctx, unadopted_paths(ctx) | {each.path for each in swaps})
        writes = [StoreWrite(x.fact_id, None, facts[x.fact_id].revision, word) for x in swaps]
        deleted = []
        for each, result in zip(swaps, ctx.store.write(writes), strict=True):
            if isinstance(result, RevisionMismatch):
                refused[each.fact_id] = "an agent is changing it"
                ctx.vault.discard(each.op)
                with ctx.archive.transaction():
                    ctx.archive.put_bases([bases[each.fact_id]])
            else:
                deleted.append(each)
        record({each.fact_id: each.path for each in deleted})
        refused |= _exchange(ctx, deleted)
        released |= {x.fact_id: x.path for x in deleted if x.fact_id not in refused}
    return released, refused


def readopt(ctx: SyncContext, notes: Mapping[str, VaultPath]) -> set[str]:
    """Put the ids of deleted facts back into their notes where that is possible.

    The next run finds the ids and restores the facts.

    Returns: the ids that were put back.
    """
    swaps = list(_with_ids(ctx, notes))
    _stage(ctx, swaps)
    refused = _exchange(ctx, swaps)
    readopted = {each.fact_id for each in swaps} - refused.keys()
    remember_unadopted(ctx, unadopted_paths(ctx) - {notes[each] for each in readopted})
    return readopted


def _without_ids(
    ctx: SyncContext,
    fact_ids: Sequence[str],
    bases: Mapping[str, Base],
    facts: Mapping[str, Fact],
    refused: dict[str, str],
) -> Iterator[_NoteSwap]:
    for fact_id in fact_ids:
        base, fact = bases.get(fact_id), facts.get(fact_id)
        if base is None or fact is None:
            refused[fact_id] = "its note is unknown"
            continue
        if differing_keys(base.fact, fact):
            refused[fact_id] = "an agent changed it, and its note is not updated yet"
            continue
        try:
            file = ctx.vault.read(base.path)
            data = remove_id_line(read_note(file.data, base.path))
        except NoteError as error:
            refused[fact_id] = error.message
        else:
            yield _NoteSwap(fact_id, base.path, _op(ctx), file, data)


def _with_ids(ctx: SyncContext, notes: Mapping[str, VaultPath]) -> Iterator[_NoteSwap]:
    adopted_paths = ctx.archive.paths()
    for fact_id, path in notes.items():
        try:
            file = ctx.vault.read(path)
            note = read_note(file.data, path)
            if note.id is None and path not in adopted_paths:
                yield _NoteSwap(fact_id, path, _op(ctx), file, add_id_line(note, fact_id))
        except NoteError:
            continue  # it moved or cannot be read: the fact gets a new note


def _op(ctx: SyncContext) -> str:
    return ctx.clock.new_id().replace("-", "")


def _stage(ctx: SyncContext, swaps: Sequence[_NoteSwap]) -> None:
    for each in swaps:
        ctx.vault.stage(each.op, each.data)
    ctx.vault.sync()
    ctx.keep(*(each.file.data for each in swaps))


def _exchange(ctx: SyncContext, swaps: Sequence[_NoteSwap]) -> dict[str, str]:
    """Replace the notes by the staged files; returns the reasons where that failed."""
    refused: dict[str, str] = {}
    displaced: list[DisplacedFile] = []
    blobs: dict[str, bytes] = {}
    due = ctx.clock.now().timestamp() + ctx.policy.linger_seconds
    for each in swaps:
        if each.data == each.file.data:  # the note was read-only, and has no id yet
            ctx.vault.discard(each.op)
            continue
        try:
            ctx.vault.exchange(each.op, each.path, each.file.sha)
        except NoteError as error:
            refused[each.fact_id] = error.message
            if isinstance(error, NoteChangedError):
                blobs |= {hashlib.sha256(x).hexdigest(): x for x in error.displaced}
        else:
            displaced.append(DisplacedFile(each.op, each.fact_id, each.path, each.file.sha, due))
            continue
        ctx.vault.discard(each.op)
    ctx.vault.sync()
    with ctx.archive.transaction():
        ctx.archive.put_blobs(blobs)
        ctx.archive.put_waiting(displaced)
    return refused
