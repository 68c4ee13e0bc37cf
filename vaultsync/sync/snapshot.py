"""A scan of the vault compared with the bases: which files may be new, changed or gone.

Folders with a known fingerprint are not examined, files with a known stamp are not read,
and files with known bytes are not parsed.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from vaultsync.errors import NoteError, UnreadableNoteError, UnsafePathError
from vaultsync.markdown.blocks import conflict_marker_line
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, path_info
from vaultsync.model.serialization import fact_line_beside
from vaultsync.notes import canonical_form
from vaultsync.notes.parse import FieldProblem, Note, UnreadDate, home_folder, read_note
from vaultsync.notes.review_note import is_review_note, is_review_text
from vaultsync.storage.archive import Base, Notice
from vaultsync.storage.packed_bytes import pack, unpack
from vaultsync.storage.vault import (
    IGNORED,
    LINKED_FOLDER,
    FileStamp,
    FolderListing,
    NoteFile,
    VaultScan,
    path_in,
)
from vaultsync.sync.changes import is_half_saved
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

RACY_WINDOW_NS = 20_000_000
"""A file that changed this shortly before it was read may change again under the same
stamp: the clocks of file systems tick every 1 to 10 ms."""
FILES_PER_LOOKUP = 500
"""Number of files whose bases are in memory while they are read."""
MIN_BULK_FACTS = 100
"""Number of facts read from the store in one call while a folder is scanned."""
NOTES_PACKED_AT_ONCE = 500
"""Number of canonical notes that are kept with their facts before they are packed."""
MAX_PACKED_BYTES = 16 << 20
"""Maximum packed bytes of new canonical notes and their facts that a scan keeps: about 9,000
notes of 2 KB. Beyond that, both are read again when needed."""


class PackedFact(NamedTuple):
    """A fact to be recorded unchanged, or read again."""

    id: str
    revision: str
    line: bytes = b""
    """`fact_line_beside()` its note, packed; empty where it was not kept."""


class ScannedFile(NamedTuple):
    """A file that had to be read."""

    path: VaultPath
    file: NoteFile
    base: Base | None
    """The base whose note lies at this path."""
    note: Note | None = None
    """The parsed note; None if it is unreadable, or canonical: see `read_again()`."""
    read_error: Notice | None = None
    """Why it is not a readable note."""
    is_settled: bool = True
    canonical_of: PackedFact | None = None
    """The fact of the store whose note has exactly these bytes at this path. Its bytes are
    packed, or, if the fact was not kept, not kept either."""

    @property
    def is_note(self) -> bool:
        """Whether it is a readable note."""
        return self.note is not None or self.canonical_of is not None

    @property
    def id(self) -> str | None:
        """The id in its frontmatter."""
        if self.canonical_of is not None:
            return self.canonical_of.id
        return self.note.id if self.note is not None else None


class NewStamp(NamedTuple):
    """A note with the bytes of its base, but another stamp."""

    path: VaultPath
    fact_id: str
    sha: str
    """The hash in its base, of which nothing else is kept: a copied vault has only new stamps."""
    stamp: FileStamp | None
    """The new stamp; None if it cannot be trusted."""


def _is_in(path: VaultPath, folder: VaultPath) -> bool:
    return folder in ("", path) or path.startswith(folder + "/")


@dataclass(slots=True)
class VaultSnapshot:
    """The result of a scan, as far as it differs from the bases."""

    scan: VaultScan
    scanned_folders: dict[VaultPath, FolderListing] = field(default_factory=dict)
    """Folders whose files had to be examined."""
    gone_folders: list[VaultPath] = field(default_factory=list)
    """Folders that the archive knows and the scan did not find."""
    adopted: tuple[str, ...] = ()
    """The folders outside the scopes that the user adopted."""
    seen: dict[VaultPath, ScannedFile] = field(default_factory=dict)
    """Files whose bytes are not those of their base, without notes that are not to be adopted: a
    vault may have many."""
    unread: dict[VaultPath, tuple[str, NoteFile]] = field(default_factory=dict)
    """New files that may be canonical notes, with the ids of their facts."""
    restamped: list[NewStamp] = field(default_factory=list)
    absent: dict[str, Base] = field(default_factory=dict)
    """Bases whose files are not at their paths, by fact."""
    non_regular: dict[VaultPath, str] = field(default_factory=dict)
    conflict_copies: list[VaultPath] = field(default_factory=list)
    """Conflict copies by sync tools."""
    review_notes: set[VaultPath] = field(default_factory=set)
    """All conflict notes and proposals in dirty folders."""
    canonical: dict[VaultPath, Fact] = field(default_factory=dict)
    """New files that are canonical notes, to be packed, with their facts."""
    packed_bytes: int = 0
    """Packed bytes of new canonical notes and their facts that are kept."""
    known: set[VaultPath] = field(default_factory=set)
    """Notes in dirty folders whose stamps are those of their bases."""
    empty: set[VaultPath] = field(default_factory=set)
    """New empty files, to which an editor is about to write."""
    is_partial: bool = False
    """Whether only some folders were scanned."""

    def is_unreadable(self, path: VaultPath) -> bool:
        """Whether nothing is known about a path: its folder was not scanned, or cannot be."""
        if self.is_partial and posixpath.dirname(path) not in self.scan.folders:
            return True
        return any(_is_in(path, folder) for folder in self.scan.unreadable)

    def is_ignored(self, path: VaultPath) -> bool:
        """Whether there is a note of a fact at a path, which `ignore` excludes now."""
        if self.non_regular.get(path) == IGNORED:
            return True
        unreadable = self.scan.unreadable.items()
        return any(why == IGNORED and _is_in(path, folder) for folder, why in unreadable)

    def may_hide(self, path: VaultPath) -> bool:
        """Whether a note may be at a path although nothing was found there."""
        return self.is_unreadable(path) and not self.is_ignored(path)

    def has(self, path: VaultPath) -> bool:
        """Whether the scan found a file at a path."""
        return self.stamp_of(path) is not None

    def stamp_of(self, path: VaultPath) -> FileStamp | None:
        """The stamp of a file; None if the scan did not find it."""
        folder = self.scan.folders.get(parent_folder(path))
        return folder.files.get(file_name_of(path)) if folder is not None else None


@dataclass(frozen=True, slots=True)
class ScanScope:
    """How much of the vault a scan covers, and how closely it looks."""

    folders: AbstractSet[VaultPath] | None = None
    """The folders to list; None for the whole vault."""
    reread: AbstractSet[VaultPath] = frozenset()
    """Notes to read even if nothing seems to have changed."""
    being_saved: AbstractSet[VaultPath] = frozenset()
    """Notes that an editor is saving right now; they are not read yet."""
    read_all: bool = False
    """Read every note, whatever its stamp says."""
    adopted: tuple[str, ...] = ()
    """The folders outside the scopes that the user adopted."""
    ask_store: bool = True
    """Compare new notes with their facts in the store; equal ones are not parsed."""


def scan_vault(
    ctx: SyncContext, scope: ScanScope, *, may_widen: bool = True, progress: Progress | None = None
) -> VaultSnapshot:
    """Scan the folders of `scope`, or the whole vault if they turn out to be insufficient.

    A scan of some folders cannot show that a note is gone, because it may be in another folder. If
    a note is missing, the whole vault is scanned (unless `may_widen` is False).
    """
    snapshot = take_snapshot(ctx, scope, progress=progress)
    if snapshot.is_partial and may_widen and _needs_whole_vault(ctx, snapshot):
        return take_snapshot(ctx, replace(scope, folders=None), progress=progress)
    return snapshot


def _needs_whole_vault(ctx: SyncContext, snapshot: VaultSnapshot) -> bool:
    """Whether a note left the scanned folders, or came from another one."""
    claimed = {seen.id: path for path, seen in snapshot.seen.items() if seen.is_note}
    if any(claimed.get(fact_id) is None for fact_id in snapshot.absent):
        return True
    bases = ctx.archive.find_bases([key for key in claimed if key])
    if any(snapshot.is_unreadable(base.path) for base in bases.values()):
        return True
    return any(
        conflict.conflict_path is not None
        and not snapshot.is_unreadable(conflict.conflict_path)
        and parent_folder(conflict.conflict_path) in snapshot.scanned_folders
        and conflict.conflict_path not in snapshot.review_notes
        for conflict in ctx.archive.conflicts()
    )


def folders_of_facts(ctx: SyncContext, fact_ids: Sequence[str]) -> set[VaultPath]:
    """The folders of the notes of facts, or the folders where these would be."""
    bases = ctx.archive.find_bases(fact_ids)
    folders = {parent_folder(base.path) for base in bases.values()}
    for fact in ctx.store.find_many(fact_ids).values():
        folders.add(home_folder(fact))
    if not bases.keys() >= set(fact_ids):
        # An unreadable file may be the note of a fact that has no base.
        broken = [x.path for x in ctx.archive.notices() if x.kind == "unreadable"]
        folders |= {parent_folder(path) for path in broken}
    return folders


def possibly_edited(ctx: SyncContext, fact_ids: Sequence[str]) -> Sequence[str]:
    """The facts whose note is not as it was last read or written, as far as its stamp tells."""
    recorded = ctx.archive.note_stamps(fact_ids)
    stamps = ((path, stamp) for path, stamp in recorded.values() if stamp is not None)
    same = ctx.vault.unchanged(stamps)
    return [key for key in fact_ids if key not in recorded or recorded[key][0] not in same]


def parts_by_folder(
    paths: Iterable[VaultPath], max_size: int, *, size_of: Callable[[VaultPath], int] = lambda _: 1
) -> Iterator[list[VaultPath]]:
    """Divide notes into parts of a maximum size, for consecutive runs.

    The size is the number of notes, unless `size_of` returns the size of each.
    A folder is never divided, because each run that writes to it examines all of it: a larger
    folder is a part of its own.
    """
    part: list[VaultPath] = []
    size = 0
    ordered = sorted(paths, key=lambda path: (parent_folder(path), path))
    for _, group in groupby(ordered, parent_folder):
        notes = list(group)
        folder_size = sum(map(size_of, notes))
        if part and size + folder_size > max_size:
            yield part
            part, size = [], 0
        part += notes
        size += folder_size
    if part:
        yield part


def take_snapshot(
    ctx: SyncContext, scope: ScanScope, *, progress: Progress | None = None
) -> VaultSnapshot:
    """Scan the vault and read what may have changed; `progress` is called per folder."""
    if scope.folders is None:
        scan = ctx.vault.scan()
    else:
        at_ns = int(ctx.clock.now().timestamp() * 1e9)
        listed = {path: ctx.vault.folder(path) for path in scope.folders}
        scan = VaultScan({p: f for p, f in listed.items() if f is not None}, {}, at_ns)
    snapshot = VaultSnapshot(scan, adopted=scope.adopted, is_partial=scope.folders is not None)
    recorded = ctx.archive.folders()
    reread = {parent_folder(path) for path in scope.reread}
    for number, (path, folder) in enumerate(scan.folders.items()):
        snapshot.conflict_copies += [path_in(path, name) for name in folder.copies]
        if recorded.get(path) != folder.fingerprint or path in reread or scope.read_all:
            snapshot.scanned_folders[path] = folder
            _scan_folder(ctx, snapshot, folder, scope)
        if progress is not None:
            progress("scan", number, len(scan.folders))
    _identify_new_files(ctx, snapshot, scope)
    _pack(snapshot)
    # A scan of some folders says nothing about the folders below them.
    scanned = recorded if scope.folders is None else [x for x in recorded if x in scope.folders]
    for path in scanned:
        if path not in scan.folders and not snapshot.is_unreadable(path):
            bases = ctx.archive.bases_in(path).values()
            first = next(iter(bases), None)
            if first is not None and (why := why_unlisted(ctx, first.path)):
                unreadable = {**snapshot.scan.unreadable, path: why}
                snapshot.scan = snapshot.scan._replace(unreadable=unreadable)
                continue
            snapshot.gone_folders.append(path)
            snapshot.absent |= {base.fact.id: base for base in bases}
    _check_missing_notes(ctx, snapshot)
    _set_aside_ignored(ctx, snapshot)
    if snapshot.absent:
        _read_untracked_files(ctx, snapshot)
        _identify_new_files(ctx, snapshot, scope)
        _pack(snapshot)
    return snapshot


def why_unlisted(ctx: SyncContext, path: VaultPath) -> str:
    """Why the scan did not list a note that may exist; empty if it is gone."""
    try:
        if ctx.vault.stamp(path) is None:
            return ""
    except NoteError as error:
        return LINKED_FOLDER if isinstance(error, UnsafePathError) else ""
    return IGNORED if is_ignored(ctx, path) else ""


def is_ignored(ctx: SyncContext, path: VaultPath) -> bool:
    """Whether the settings exclude a note at a path."""
    try:
        ctx.vault.check_new(path)
    except UnsafePathError:
        return True
    return False


def _check_missing_notes(ctx: SyncContext, snapshot: VaultSnapshot) -> None:
    """Check notes that an earlier run found missing: still gone, or is there a file?"""
    missing = ctx.archive.missing_bases()
    count = Counter(base.path for base in missing)
    for base in missing:
        path, name = base.path, file_name_of(base.path)
        folder = snapshot.scan.folders.get(parent_folder(path))
        if snapshot.is_unreadable(path) or path in snapshot.non_regular:
            continue
        if folder is None or name not in folder.files:
            snapshot.absent[base.fact.id] = base
        elif count[path] > 1 or ctx.archive.base_at(path) is not None:
            snapshot.absent[base.fact.id] = base  # another fact's note took its place
        else:
            snapshot.seen.pop(path, None)
            _classify_file(ctx, snapshot, path, base, folder.files[name])


def _set_aside_ignored(ctx: SyncContext, snapshot: VaultSnapshot) -> None:
    """Distinguish notes that the settings exclude from missing ones; copies have other notices."""
    copies = set(snapshot.conflict_copies)
    for fact_id, base in list(snapshot.absent.items()):
        if base.path not in copies and why_unlisted(ctx, base.path) == IGNORED:
            snapshot.non_regular[base.path] = IGNORED
            del snapshot.absent[fact_id]


def _read_untracked_files(ctx: SyncContext, snapshot: VaultSnapshot) -> None:
    """Read every file that is not a fact's note, because one may be a missing note.

    A fact must not be deleted because its note moved into a folder that looked unchanged.
    """
    claimed = ctx.archive.paths()
    for folder in snapshot.scan.folders.values():
        if folder.path in snapshot.scanned_folders:
            continue
        for name, stamp in folder.files.items():
            path = path_in(folder.path, name)
            if path not in claimed and not is_review_note(name):
                _classify_file(ctx, snapshot, path, None, stamp)


def _scan_folder(
    ctx: SyncContext, snapshot: VaultSnapshot, folder: FolderListing, scope: ScanScope
) -> None:
    stamps = ctx.archive.stamps_in(folder.path)
    to_read: list[tuple[VaultPath, FileStamp, str]] = []
    for name, stamp in folder.files.items():
        path = path_in(folder.path, name)
        fact_id, recorded_stamp = stamps.pop(name, ("", None))
        if not fact_id and is_review_note(name):
            snapshot.review_notes.add(path)
        elif recorded_stamp != stamp or scope.read_all or path in scope.reread:
            to_read.append((path, stamp, fact_id))
        else:
            snapshot.known.add(path)
    for start in range(0, len(to_read), FILES_PER_LOOKUP):
        batch = to_read[start : start + FILES_PER_LOOKUP]
        bases = ctx.archive.find_bases([fact_id for _, _, fact_id in batch if fact_id])
        for path, stamp, fact_id in batch:
            _examine_file(ctx, snapshot, scope, path, stamp, base=bases.get(fact_id))
            if len(snapshot.unread) >= MIN_BULK_FACTS:  # limits the files in memory
                _identify_new_files(ctx, snapshot, scope)
            if len(snapshot.canonical) >= NOTES_PACKED_AT_ONCE:
                _pack(snapshot)
    for name, what in folder.non_regular.items():
        snapshot.non_regular[path_in(folder.path, name)] = what
        stamps.pop(name, None)
    if stamps:
        snapshot.absent |= ctx.archive.find_bases(fact_id for fact_id, _ in stamps.values())


def _examine_file(
    ctx: SyncContext,
    snapshot: VaultSnapshot,
    scope: ScanScope,
    path: VaultPath,
    stamp: FileStamp,
    *,
    base: Base | None,
) -> None:
    """Examine a file of a scanned folder, as `scope` requires."""
    if path in scope.being_saved and (base is None or base.stamp != stamp):
        file = NoteFile(b"", "", stamp)
        snapshot.seen[path] = ScannedFile(path, file, base, is_settled=False)
        return
    _classify_file(ctx, snapshot, path, base, stamp, reread=path in scope.reread)


def _classify_file(
    ctx: SyncContext,
    snapshot: VaultSnapshot,
    path: VaultPath,
    base: Base | None,
    stamp: FileStamp,
    *,
    reread: bool = False,
) -> None:
    try:
        file = ctx.vault.read(path)
    except UnreadableNoteError as error:
        file = NoteFile(b"", "", stamp)
        notice = Notice.of("unreadable", error, ctx.now())
        snapshot.seen[path] = ScannedFile(path, file, base, read_error=notice)
        return
    except NoteError:
        # It was removed or keeps changing; the next run examines it again.
        snapshot.seen[path] = ScannedFile(path, NoteFile(b"", "", stamp), base, is_settled=False)
        return
    # A stamp takes 0.2 kB, and the listing has it already.
    file = file._replace(stamp=stamp) if file.stamp == stamp else file
    if base is not None:
        scope_moved = path_info(path).scope not in (None, base.fact.scope)
        # A crash may have occurred before the note got its id.
        has_id = base.fact.id.encode() in file.data
        if has_id and file.sha == base.sha and not (reread and scope_moved):
            trusted = trusted_stamp(file.stamp, snapshot.scan.at_ns)
            if base.stamp != trusted or base.missing_since:
                snapshot.restamped.append(NewStamp(path, base.fact.id, base.sha, trusted))
            return
    elif not file.data or file.data.isspace():
        snapshot.empty.add(path)
        return
    elif is_review_text(file.data):
        snapshot.review_notes.add(path)  # the user renamed or copied it
        return
    elif not (reread or snapshot.is_partial):
        claimed_id = canonical_form.leading_id(file.data)
        if claimed_id is not None:
            snapshot.unread[path] = claimed_id, file
            return
    _keep_read(snapshot, _read(ctx, path, file, base), reread=reread)


def _keep_read(snapshot: VaultSnapshot, seen: ScannedFile, *, reread: bool) -> None:
    """Keep a file that was read, unless it is the note of no fact, and is not to be adopted."""
    is_of_none = seen.base is None and seen.note is not None and seen.note.id is None
    if reread or not is_of_none or is_managed_path(seen.path, snapshot.adopted):
        snapshot.seen[seen.path] = seen


def _identify_new_files(ctx: SyncContext, snapshot: VaultSnapshot, scope: ScanScope) -> None:
    """Compare new files with their facts; parse those that are not canonical."""
    if not snapshot.unread:
        return
    facts: Mapping[str, Fact] = {}
    if scope.ask_store:
        facts = ctx.store.find_many(fact_id for fact_id, _ in snapshot.unread.values())
    for path, (fact_id, file) in snapshot.unread.items():
        fact = facts.get(fact_id)
        if fact is None or not canonical_form.is_canonical(file.data, path, fact, ctx.view):
            snapshot.seen[path] = _read(ctx, path, file, None)
        else:
            snapshot.seen[path] = ScannedFile(path, file, None)  # keeps its position in the order
            snapshot.canonical[path] = fact
    snapshot.unread.clear()


def _pack(snapshot: VaultSnapshot) -> None:
    """Pack the canonical notes that were found, or drop their bytes."""
    facts = snapshot.canonical
    lines = texts = [b""] * len(facts)
    if snapshot.packed_bytes < MAX_PACKED_BYTES:
        files = [snapshot.seen[path].file.data for path in facts]
        beside = map(fact_line_beside, facts.values(), files)
        packed = [*map(pack, (*beside, *files))]
        snapshot.packed_bytes += sum(map(len, packed))
        lines, texts = packed[: len(files)], packed[len(files) :]
    for (path, fact), line, text in zip(facts.items(), lines, texts, strict=True):
        file = snapshot.seen[path].file._replace(data=text)
        packed_fact = PackedFact(fact.id, fact.revision, line)
        snapshot.seen[path] = ScannedFile(path, file, None, canonical_of=packed_fact)
    facts.clear()


def read_again(ctx: SyncContext, snapshot: VaultSnapshot, seen: ScannedFile) -> ScannedFile:
    """A canonical note, read and parsed again.

    If it has changed meanwhile, it is left unsettled.
    """
    if seen.canonical_of is None:
        return seen
    file = bytes_again(ctx, seen)
    if file is None:
        return leave_unsettled(snapshot, seen)
    return ScannedFile(seen.path, file, seen.base, read_note(file.data, seen.path))


def bytes_again(ctx: SyncContext, seen: ScannedFile) -> NoteFile | None:
    """The file of a canonical note; None if it has changed meanwhile."""
    if seen.file.data:
        return seen.file._replace(data=unpack(seen.file.data))
    file = ctx.find_file(seen.path)
    return file if file is not None and file.sha == seen.file.sha else None


def leave_unsettled(snapshot: VaultSnapshot, seen: ScannedFile) -> ScannedFile:
    """Leave a file to the next run, which will scan its folder again."""
    unsettled = ScannedFile(seen.path, seen.file, seen.base, is_settled=False)
    snapshot.seen[seen.path] = unsettled
    return unsettled


def trusted_stamp(stamp: FileStamp, at_ns: int) -> FileStamp | None:
    """The stamp; None if the file changed so recently that another change could hide."""
    return None if stamp.ctime_ns > at_ns - RACY_WINDOW_NS else stamp


def packed_stamp(stamp: FileStamp | None) -> bytes | None:
    """A stamp in less than half of the memory, to be compared with others."""
    return b"%d %d %d %d" % stamp if stamp else None


def _read(ctx: SyncContext, path: VaultPath, file: NoteFile, base: Base | None) -> ScannedFile:
    age = ctx.clock.now().timestamp() - file.stamp.mtime_ns / 1e9
    if 0 <= age < ctx.policy.settle_seconds:
        before = ctx.archive.blob(base.sha) if base else None
        if is_half_saved(before if before is not None else b"---\n---\n", file.data):
            return ScannedFile(path, file, base, is_settled=False)
    try:
        _check_markers(ctx, path, file, base)
        return ScannedFile(path, file, base, read_note(file.data, path))
    except UnreadableNoteError as error:
        notice = Notice.of("unreadable", error, ctx.now(), file.sha)
        return ScannedFile(path, file, base, read_error=notice)


def _check_markers(ctx: SyncContext, path: VaultPath, file: NoteFile, base: Base | None) -> None:
    """Refuse a note with git's conflict markers.

    Markers that are already in the base are part of its text: an agent wrote them.
    """
    line = conflict_marker_line(file.data)
    before = ctx.archive.blob(base.sha) if base is not None and line else None
    if line and not conflict_marker_line(before or b""):
        raise UnreadableNoteError(
            path,
            "conflict markers of git: the note contains two versions",
            hint="keep the lines you want, remove the three markers and save it; markers that"
            " belong to the text go into a fenced code block",
            line=line,
        )


def invalid_field_notice(
    ctx: SyncContext, path: VaultPath, sha: str, problem: FieldProblem, *, is_new: bool = False
) -> Notice:
    """The notice of a property with a value that its field does not accept."""
    outcome = "the fact has the default" if is_new else "the fact keeps its value"
    if isinstance(problem, UnreadDate):
        outcome = "it is stored, but counts as no due date"
    return Notice(
        "invalid_field",
        path,
        f"{path}:{problem.line}: {problem.message}; {outcome}",
        problem.hint,
        problem.line,
        sha,
        ctx.now(),
    )


def is_managed_path(path: VaultPath, adopted: Iterable[str]) -> bool:
    """Whether a new note is adopted automatically: it is in a scope or adopted folder."""
    if path_info(path).scope is not None:
        return True
    return any(not folder or path.startswith(folder + "/") for folder in adopted)
