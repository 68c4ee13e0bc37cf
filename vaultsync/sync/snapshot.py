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
from vaultsync.notes.canonical_form import is_canonical, leading_id
from vaultsync.notes.parse import Note, home_folder, read_note
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
from vaultsync.sync.sync_request import SyncRequest

RACY_WINDOW_NS = 20_000_000
"""A file that changed this shortly before it was read may change again under the same
stamp: the clocks of file systems tick every 1 to 10 ms."""
FILES_PER_LOOKUP = 500
"""Number of files whose bases are in memory while they are read."""
MIN_BULK_FACTS = 100
"""Number of facts read from the store in one call while a folder is scanned."""
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
    restamped: list[NewStamp] = field(default_factory=list)
    absent: dict[str, Base] = field(default_factory=dict)
    """Bases whose files are not at their paths, by fact."""
    non_regular: dict[VaultPath, str] = field(default_factory=dict)
    conflict_copies: list[VaultPath] = field(default_factory=list)
    """Conflict copies by sync tools."""
    review_notes: set[VaultPath] = field(default_factory=set)
    """All conflict notes and proposals in dirty folders."""
    known: set[VaultPath] = field(default_factory=set)
    """Notes in dirty folders whose stamps are those of their bases."""
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

    request: SyncRequest
    folders: AbstractSet[VaultPath] | None = None
    """The folders to list; None for the whole vault."""
    reread: AbstractSet[VaultPath] = frozenset()
    """Notes to read even if nothing seems to have changed."""
    adopted: tuple[str, ...] = ()
    """The folders outside the scopes that the user adopted."""
    ask_store: bool = True
    """Compare new notes with their facts in the store; equal ones are not parsed."""


def scan_vault(
    ctx: SyncContext, scope: ScanScope, *, may_widen: bool = True, progress: Progress | None = None
) -> VaultSnapshot:
    """Scan the folders of `scope`, or the whole vault if they turn out to be insufficient.

    A scan of some folders cannot show that a note is gone, because it may be in another folder. If
    a note is missing, the whole vault is scanned (unless `may_widen` is False). `progress` is
    called per folder.
    """
    snapshot = _Scan(ctx, scope).run(progress)
    if snapshot.is_partial and may_widen and _needs_whole_vault(ctx, snapshot):
        return _Scan(ctx, replace(scope, folders=None)).run(progress)
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


class _Scan:
    """A scan in progress: it reads what may have changed."""

    def __init__(self, ctx: SyncContext, scope: ScanScope) -> None:
        self.ctx, self.scope = ctx, scope
        if scope.folders is None:
            scan = ctx.vault.scan()
        else:
            at_ns = int(ctx.clock.now().timestamp() * 1e9)
            listed = {path: ctx.vault.folder(path) for path in scope.folders}
            scan = VaultScan({p: f for p, f in listed.items() if f is not None}, {}, at_ns)
        is_partial = scope.folders is not None
        self.found = VaultSnapshot(scan, adopted=scope.adopted, is_partial=is_partial)
        self.unread: dict[VaultPath, tuple[str, NoteFile]] = {}
        """New files that may be canonical notes, with the ids of their facts."""
        self.packed_bytes = 0
        """Packed bytes of new canonical notes and their facts that are kept."""

    def run(self, progress: Progress | None) -> VaultSnapshot:
        found, scope = self.found, self.scope
        recorded = self.ctx.archive.folders()
        reread = {parent_folder(path) for path in scope.reread}
        for number, (path, folder) in enumerate(found.scan.folders.items()):
            found.conflict_copies += [path_in(path, name) for name in folder.copies]
            if recorded.get(path) != folder.fingerprint or path in reread or scope.request.read_all:
                found.scanned_folders[path] = folder
                self._scan_folder(folder)
            if progress is not None:
                progress("scan", number, len(found.scan.folders))
        self._identify_new_files()
        # A scan of some folders says nothing about the folders below them.
        scanned = recorded if scope.folders is None else [x for x in recorded if x in scope.folders]
        for path in scanned:
            if path not in found.scan.folders and not found.is_unreadable(path):
                self._examine_gone_folder(path)
        self._check_missing_notes()
        self._set_aside_ignored()
        if found.absent:
            self._read_untracked_files()
            self._identify_new_files()
        return found

    def _scan_folder(self, folder: FolderListing) -> None:
        found, scope = self.found, self.scope
        stamps = self.ctx.archive.stamps_in(folder.path)
        to_read: list[tuple[VaultPath, FileStamp, str]] = []
        for name, stamp in folder.files.items():
            path = path_in(folder.path, name)
            fact_id, recorded_stamp = stamps.pop(name, ("", None))
            if not fact_id and is_review_note(name):
                found.review_notes.add(path)
            elif recorded_stamp != stamp or scope.request.read_all or path in scope.reread:
                to_read.append((path, stamp, fact_id))
            else:
                found.known.add(path)
        for start in range(0, len(to_read), FILES_PER_LOOKUP):
            batch = to_read[start : start + FILES_PER_LOOKUP]
            bases = self.ctx.archive.find_bases([fact_id for _, _, fact_id in batch if fact_id])
            for path, stamp, fact_id in batch:
                base = bases.get(fact_id)
                is_saved = path in scope.request.being_saved
                if is_saved and (base is None or base.stamp != stamp):
                    file = NoteFile(b"", "", stamp)
                    found.seen[path] = ScannedFile(path, file, base, is_settled=False)
                else:
                    self._classify_file(path, base, stamp, reread=path in scope.reread)
                if len(self.unread) >= MIN_BULK_FACTS:  # limits the files in memory
                    self._identify_new_files()
        for name, what in folder.non_regular.items():
            found.non_regular[path_in(folder.path, name)] = what
            stamps.pop(name, None)
        if stamps:
            found.absent |= self.ctx.archive.find_bases(fact_id for fact_id, _ in stamps.values())

    def _classify_file(
        self, path: VaultPath, base: Base | None, stamp: FileStamp, *, reread: bool = False
    ) -> None:
        found = self.found
        try:
            file = self.ctx.vault.read(path)
        except NoteError as error:
            seen = ScannedFile(path, NoteFile(b"", "", stamp), base, is_settled=False)
            if isinstance(error, UnreadableNoteError):
                notice = Notice.of("unreadable", error)
                seen = seen._replace(read_error=notice, is_settled=True)
            found.seen[path] = seen  # others were removed or keep changing
            return
        # A stamp takes 0.2 kB, and the listing has it already.
        file = file._replace(stamp=stamp) if file.stamp == stamp else file
        if base is not None:
            scope_moved = path_info(path).scope not in (None, base.fact.scope)
            # A crash may have occurred before the note got its id.
            has_id = base.fact.id.encode() in file.data
            if has_id and file.sha == base.sha and not (reread and scope_moved):
                trusted = trusted_stamp(file.stamp, found.scan.at_ns)
                if base.stamp != trusted or base.missing_since:
                    found.restamped.append(NewStamp(path, base.fact.id, base.sha, trusted))
                return
        elif not file.data or file.data.isspace():
            return  # an editor is about to write to it
        elif is_review_text(file.data):
            found.review_notes.add(path)  # the user renamed or copied it
            return
        elif not (reread or found.is_partial) and (fact_id := leading_id(file.data)) is not None:
            self.unread[path] = fact_id, file
            return
        seen = self._read(path, file, base)
        is_of_none = base is None and seen.note is not None and seen.note.id is None
        if reread or not is_of_none or is_managed_path(path, found.adopted):
            found.seen[path] = seen

    def _read(self, path: VaultPath, file: NoteFile, base: Base | None) -> ScannedFile:
        ctx = self.ctx
        before = ctx.archive.blob(base.sha) if base else None
        age = ctx.clock.now().timestamp() - file.stamp.mtime_ns / 1e9
        if 0 <= age < ctx.policy.settle_seconds:
            new = b"---\n---\n"
            if is_half_saved(new if before is None else before, file.data):
                return ScannedFile(path, file, base, is_settled=False)
        try:
            _check_markers(path, file.data, before or b"")
            return ScannedFile(path, file, base, read_note(file.data, path))
        except UnreadableNoteError as error:
            notice = Notice.of("unreadable", error, file.sha)
            return ScannedFile(path, file, base, read_error=notice)

    def _identify_new_files(self) -> None:
        """Compare new files with their facts; parse those that are not canonical."""
        facts: Mapping[str, Fact] = {}
        if self.scope.ask_store and self.unread:
            facts = self.ctx.store.find_many(fact_id for fact_id, _ in self.unread.values())
        for path, (fact_id, file) in self.unread.items():
            fact = facts.get(fact_id)
            if fact is None or not is_canonical(file.data, path, fact, self.ctx.view):
                self.found.seen[path] = self._read(path, file, None)
                continue
            line = text = b""
            if self.packed_bytes < MAX_PACKED_BYTES:
                line, text = pack(fact_line_beside(fact, file.data)), pack(file.data)
                self.packed_bytes += len(line) + len(text)
            packed = PackedFact(fact.id, fact.revision, line)
            kept = file._replace(data=text)
            self.found.seen[path] = ScannedFile(path, kept, None, canonical_of=packed)
        self.unread.clear()

    def _examine_gone_folder(self, path: VaultPath) -> None:
        """Whether the notes of a folder that was not found are missing, or only not listed."""
        archive, found = self.ctx.archive, self.found
        bases = archive.find_bases(fact_id for fact_id, _ in archive.stamps_in(path).values())
        first = next(iter(bases.values()), None)
        if first is not None and (why := why_unlisted(self.ctx, first.path)):
            found.scan = found.scan._replace(unreadable={**found.scan.unreadable, path: why})
        else:
            found.gone_folders.append(path)
            found.absent |= bases

    def _check_missing_notes(self) -> None:
        """Check notes that an earlier run found missing: still gone, or is there a file?"""
        found, missing = self.found, self.ctx.archive.missing_bases()
        count = Counter(base.path for base in missing)
        for base in missing:
            path = base.path
            if found.is_unreadable(path) or path in found.non_regular:
                continue
            stamp = found.stamp_of(path)
            # Without a stamp it is gone; otherwise another fact's note may have its place.
            if stamp is None or count[path] > 1 or self.ctx.archive.base_at(path) is not None:
                found.absent[base.fact.id] = base
            else:
                found.seen.pop(path, None)
                self._classify_file(path, base, stamp)

    def _set_aside_ignored(self) -> None:
        """Distinguish excluded notes from missing ones; copies have other notices."""
        found, copies = self.found, set(self.found.conflict_copies)
        for fact_id, base in list(found.absent.items()):
            if base.path not in copies and why_unlisted(self.ctx, base.path) == IGNORED:
                found.non_regular[base.path] = IGNORED
                del found.absent[fact_id]

    def _read_untracked_files(self) -> None:
        """Read every file that is not a fact's note, because one may be a missing note.

        A fact must not be deleted because its note moved into a folder that looked unchanged.
        """
        claimed = self.ctx.archive.paths()
        for folder in self.found.scan.folders.values():
            if folder.path in self.found.scanned_folders:
                continue
            for name, stamp in folder.files.items():
                path = path_in(folder.path, name)
                if path not in claimed and not is_review_note(name):
                    self._classify_file(path, None, stamp)


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


def _check_markers(path: VaultPath, data: bytes, before: bytes) -> None:
    """Refuse a note with git's conflict markers.

    Markers that are already in the base are part of its text: an agent wrote them.
    """
    line = conflict_marker_line(data)
    if line and not conflict_marker_line(before):
        raise UnreadableNoteError(
            path,
            "conflict markers of git: the note contains two versions",
            hint="keep the lines you want, remove the three markers and save it; markers that"
            " belong to the text go into a fenced code block",
            line=line,
        )


def is_managed_path(path: VaultPath, adopted: Iterable[str]) -> bool:
    """Whether a new note is adopted automatically: it is in a scope or adopted folder."""
    if path_info(path).scope is not None:
        return True
    return any(not folder or path.startswith(folder + "/") for folder in adopted)
