"""What a scan found, set against the bases: which notes have to be looked at, and how.

Folders whose fingerprint is known are not looked into, files whose stamp is known are not
read, and files whose bytes are known are not parsed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from vaultsync.errors import NoteError, UnreadableNoteError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, file_name_of, parent_folder, path_info
from vaultsync.notes import canonical_form as verbatim
from vaultsync.notes.conflict_note import is_conflict_note
from vaultsync.notes.parse import TYPE_FOLDERS, FieldProblem, Note, read_note
from vaultsync.storage.archive import Base, Notice
from vaultsync.storage.vault import FileStamp, FolderListing, NoteFile, VaultScan
from vaultsync.sync.changes import is_half_saved
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

RACY_WINDOW_NS = 20_000_000
"""A file changed so shortly before it was looked at could change again without its stamp
telling: the clocks of file systems tick every 1 to 10 ms."""
MIN_BULK_FACTS = 100
"""So many facts, or more, are asked for at once."""


class ScannedFile(NamedTuple):
    """A file that had to be read."""

    path: VaultPath
    file: NoteFile
    base: Base | None
    """The base whose note lies at this path."""
    read: Note | None = None
    read_error: Notice | None = None
    """Why it cannot be read as a note."""
    is_settled: bool = True
    canonical_of: Fact | None = None
    """The fact of the store that would be written as these very bytes, at this path."""

    @property
    def note(self) -> Note | None:
        """What it says as a note; None when it cannot be read."""
        return self.read if self.canonical_of is None else read_note(self.file.data, self.path)

    @property
    def is_note(self) -> bool:
        """Whether it can be read as a note."""
        return self.read is not None or self.canonical_of is not None

    @property
    def id(self) -> str | None:
        """The id that it carries as a note."""
        if self.canonical_of is not None:
            return self.canonical_of.id
        return self.read.id if self.read is not None else None


@dataclass(slots=True)
class VaultSnapshot:
    """The vault as one scan found it, as far as it differs from what is known."""

    scan: VaultScan
    scanned_folders: dict[VaultPath, FolderListing] = field(default_factory=dict)
    """Folders that had to be looked into."""
    seen: dict[VaultPath, ScannedFile] = field(default_factory=dict)
    """Files whose bytes are not those of their base."""
    unread: dict[VaultPath, tuple[str, NoteFile]] = field(default_factory=dict)
    """New files that may be verbatim notes, with the ids of their facts."""
    restamped: list[Base] = field(default_factory=list)
    """Bases whose bytes are the same under a new stamp."""
    absent: dict[str, Base] = field(default_factory=dict)
    """Bases whose file is not where it was, by fact."""
    non_regular: dict[VaultPath, str] = field(default_factory=dict)
    conflict_notes: set[VaultPath] = field(default_factory=set)
    """All conflict notes in dirty folders."""
    known: set[VaultPath] = field(default_factory=set)
    """Notes in dirty folders whose stamps are those of their bases."""
    empty: set[VaultPath] = field(default_factory=set)
    """New files without text: somebody is about to write."""
    is_partial: bool = False
    """Whether only some folders were looked into."""

    def is_unreadable(self, path: VaultPath) -> bool:
        """Whether nothing is known about a path: its folder was not or cannot be read."""
        if self.is_partial and posixpath.dirname(path) not in self.scan.folders:
            return True
        return any(
            folder in ("", path) or path.startswith(folder + "/") for folder in self.scan.unreadable
        )

    def has(self, path: VaultPath) -> bool:
        """Whether the scan found a file there."""
        folder = self.scan.folders.get(parent_folder(path))
        return folder is not None and file_name_of(path) in folder.files


FindFacts: TypeAlias = Callable[[Iterable[str]], Mapping[str, Fact]]


def find_no_facts(_: Iterable[str]) -> Mapping[str, Fact]:
    """What is known of facts while the store is away."""
    return {}


def take_snapshot(
    ctx: SyncContext,
    *,
    look_again: Iterable[VaultPath] = (),
    only: Iterable[VaultPath] | None = None,
    unsettled: AbstractSet[VaultPath] = frozenset(),
    hashed: bool = False,
    facts: FindFacts,
    progress: Progress | None = None,
) -> VaultSnapshot:
    """Scan the vault and read what may have changed.

    Args:
        ctx: the sides.
        look_again: paths to be read even when nothing seems to have changed.
        only: the folders to look into; None for the whole vault.
        unsettled: paths that are being saved just now: not to be read yet.
        hashed: whether to read every note, also those whose stamps are known.
        facts: what the store says of some ids; new notes that say the same are not parsed.
        progress: told of each folder.
    """
    scan = ctx.vault.scan() if only is None else _some_folders(ctx, only)
    known = ctx.archive.folders()
    again = {VaultPath(posixpath.dirname(path)) for path in look_again}
    look = _ScanOptions(set(look_again), unsettled, hashed)
    found = VaultSnapshot(scan, is_partial=only is not None)
    for at, (path, folder) in enumerate(scan.folders.items()):
        if known.get(path) != folder.fingerprint or path in again or hashed:
            found.scanned_folders[path] = folder
            _scan_folder(ctx, found, folder, look, facts)
        if progress is not None:
            progress("scan", at, len(scan.folders))
    _read_new_files(ctx, found, facts)
    for path in known:
        if path in scan.folders or found.is_unreadable(path):
            continue
        for base in ctx.archive.bases_in(path).values():
            found.absent[base.fact.id] = base
    _check_absent_notes(ctx, found)
    if found.absent:
        _read_untracked_files(ctx, found)
        _read_new_files(ctx, found, facts)
    return found


def _check_absent_notes(ctx: SyncContext, found: VaultSnapshot) -> None:
    """Notes that were gone before: still gone, or is something where they were?"""
    for base in ctx.archive.missing_bases():
        path = base.path
        folder = found.scan.folders.get(VaultPath(posixpath.dirname(path)))
        name = posixpath.basename(path)
        if found.is_unreadable(path) or path in found.non_regular:
            continue
        if folder is None or name not in folder.files:
            found.absent[base.fact.id] = base
        elif name in ctx.archive.bases_in(folder.path):
            found.absent[base.fact.id] = base  # another fact's note has its place
        else:
            found.seen.pop(path, None)
            _classify_file(ctx, found, path, base, folder.files[name])


def _read_untracked_files(ctx: SyncContext, found: VaultSnapshot) -> None:
    """Read every file that is nobody's note: one of them may be the note that is gone.

    A file whose folder seemed settled must not cost a fact its life.
    """
    claimed = ctx.archive.paths()
    for folder in found.scan.folders.values():
        if folder.path in found.scanned_folders:
            continue
        for name, stamp in folder.files.items():
            path = path_in(folder.path, name)
            if path not in claimed and not is_conflict_note(name):
                _classify_file(ctx, found, path, None, stamp)


def _some_folders(ctx: SyncContext, only: Iterable[VaultPath]) -> VaultScan:
    at_ns = int(ctx.clock.now().timestamp() * 1e9)
    listed = {path: ctx.vault.folder(path) for path in only}
    return VaultScan({p: f for p, f in listed.items() if f is not None}, {}, at_ns)


class _ScanOptions(NamedTuple):
    """How folders are looked into."""

    forced: AbstractSet[VaultPath]
    being_saved: AbstractSet[VaultPath]
    read_all: bool


def _scan_folder(
    ctx: SyncContext,
    found: VaultSnapshot,
    folder: FolderListing,
    look: _ScanOptions,
    facts: FindFacts,
) -> None:
    bases = ctx.archive.bases_in(folder.path)
    for name, stamp in folder.files.items():
        path = path_in(folder.path, name)
        base = bases.pop(name, None)
        if is_conflict_note(name) and base is None:
            found.conflict_notes.add(path)
        elif path in look.being_saved and (base is None or base.stamp != stamp):
            file = NoteFile(b"", "", stamp)
            found.seen[path] = ScannedFile(path, file, base, is_settled=False)
        elif base is None or base.stamp != stamp or look.read_all or path in look.forced:
            again = path in look.forced
            _classify_file(ctx, found, path, base, stamp, again=again)
            if len(found.unread) >= MIN_BULK_FACTS:  # while they are at hand
                _read_new_files(ctx, found, facts)
        else:
            found.known.add(path)
    for name, what in folder.non_regular.items():
        found.non_regular[path_in(folder.path, name)] = what
        bases.pop(name, None)
    for base in bases.values():
        found.absent[base.fact.id] = base


def path_in(folder: VaultPath, name: str) -> VaultPath:
    """The path of a file under the very name that the file system gives it."""
    return VaultPath(f"{folder}/{name}" if folder else name)


def _classify_file(
    ctx: SyncContext,
    found: VaultSnapshot,
    path: VaultPath,
    base: Base | None,
    stamp: FileStamp,
    *,
    again: bool = False,
) -> None:
    try:
        file = ctx.vault.read(path)
    except UnreadableNoteError as trouble:
        file = NoteFile(b"", "", stamp)
        found.seen[path] = ScannedFile(path, file, base, read_error=unreadable_notice(ctx, trouble))
        return
    except NoteError:
        # It went away or keeps changing: the next pass looks again.
        found.seen[path] = ScannedFile(path, NoteFile(b"", "", stamp), base, is_settled=False)
        return
    moved = base is not None and path_info(path, TYPE_FOLDERS).scope not in (
        None,
        base.fact.scope,
    )
    # A crash may have come before the note was given its id.
    known = base is not None and base.fact.id.encode() in file.data
    if base is not None and known and file.sha == base.sha and not (again and moved):
        if base.stamp != trusted_stamp(file.stamp, found.scan.at_ns) or base.missing_since:
            found.restamped.append(
                Base(base.fact, base.sha, trusted_stamp(file.stamp, found.scan.at_ns))
            )
        return
    if base is None and (not file.data or file.data.isspace()):
        found.empty.add(path)
        return
    claims = None
    if base is None and not (again or found.is_partial):
        claims = verbatim.leading_id(file.data)
    if claims is None:
        found.seen[path] = _read(ctx, path, file, base)
    else:
        found.unread[path] = claims, file


def _read_new_files(ctx: SyncContext, found: VaultSnapshot, facts: FindFacts) -> None:
    """Find out what new files say: what their facts would be written as, or else."""
    known = facts(each for each, _ in found.unread.values()) if found.unread else {}
    for path, (fact_id, file) in found.unread.items():
        fact = known.get(fact_id)
        if fact is None or not verbatim.is_canonical(file.data, path, fact, ctx.view):
            found.seen[path] = _read(ctx, path, file, None)
        else:
            found.seen[path] = ScannedFile(path, file, None, canonical_of=fact.evolve(path=path))
    found.unread.clear()


def trusted_stamp(stamp: FileStamp, at_ns: int) -> FileStamp | None:
    """The stamp, unless the file changed so shortly before that it could hide a change."""
    return None if stamp.ctime_ns > at_ns - RACY_WINDOW_NS else stamp


def _read(ctx: SyncContext, path: VaultPath, file: NoteFile, base: Base | None) -> ScannedFile:
    age = ctx.clock.now().timestamp() - file.stamp.mtime_ns / 1e9
    if 0 <= age < ctx.policy.settle_seconds:
        before = ctx.archive.blob(base.sha) if base else None
        if is_half_saved(before if before is not None else b"---\n---\n", file.data):
            return ScannedFile(path, file, base, is_settled=False)
    try:
        return ScannedFile(path, file, base, read_note(file.data, path))
    except UnreadableNoteError as trouble:
        return ScannedFile(path, file, base, read_error=unreadable_notice(ctx, trouble, file.sha))


def unreadable_notice(ctx: SyncContext, trouble: UnreadableNoteError, sha: str = "") -> Notice:
    """The notice of a note that cannot be read."""
    return Notice(
        "unreadable",
        VaultPath(trouble.path),
        trouble.message,
        trouble.hint,
        trouble.line,
        sha,
        ctx.now(),
    )


def invalid_field_notice(
    ctx: SyncContext, path: VaultPath, sha: str, problem: FieldProblem
) -> Notice:
    """The notice of a property whose value its field does not take."""
    return Notice(
        "invalid_field",
        path,
        f"{path}:{problem.line}: {problem.message}; the fact keeps the value it has",
        problem.hint,
        problem.line,
        sha,
        ctx.now(),
    )


def is_managed_path(seen: ScannedFile, adopted: Iterable[str]) -> bool:
    """Whether a new note is adopted by itself: in a scope or an adopted folder."""
    path = seen.path
    if path_info(path, TYPE_FOLDERS).scope is not None:
        return True
    return any(not folder or path.startswith(folder + "/") for folder in adopted)
