"""The archive: what the engine remembers between runs, and the rows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, Protocol

from vaultsync.errors import NoteError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_from_line_beside, fact_line_beside
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.notes.proposal_note import ProposalRecord
from vaultsync.storage.clock import time_text
from vaultsync.storage.packed_bytes import pack, unpack
from vaultsync.storage.vault import FileStamp


class Base(NamedTuple):
    """The last state of one fact on which both sides were equal."""

    fact: Fact
    """With the revision of the store's version and the path of the note."""
    sha: str
    """The sha256 of the note's bytes; the archive keeps them as a blob."""
    stamp: FileStamp | None
    """The note's stamp when its bytes were last seen to have `sha`; None if unknown."""
    missing_since: str | None = None
    """The time of the run that first found the note missing."""

    @property
    def path(self) -> VaultPath:
        """The path of the note."""
        return self.fact.path or VaultPath("")

    def packed(self, note: bytes = b"") -> PackedBase:
        """The same with its fact packed, beside the bytes of its note if they are given."""
        fact, line = self.fact, pack(fact_line_beside(self.fact, note))
        return PackedBase(
            fact.id, fact.revision, self.path, line, self.sha, self.stamp, self.missing_since
        )


class PackedBase(NamedTuple):
    """A base in its packed form, which takes less memory and need not be packed again."""

    fact_id: str
    revision: str
    path: VaultPath
    line: bytes
    """`fact_line_beside()` the note of the fact, packed where that is shorter."""
    sha: str
    stamp: FileStamp | None
    missing_since: str | None = None

    def packed(self, note: bytes = b"") -> PackedBase:  # noqa: ARG002 - of a base that is not packed
        """As it is."""
        return self

    def unpacked(self, note: bytes | None) -> Base:
        """The same with its fact; `note` are the bytes with its sha.

        Raises:
            ValueError: they are damaged, or missing where they are needed.
        """
        line, place = unpack(self.line), self.path or None
        fact = fact_from_line_beside(line, note, path=place, revision=self.revision)
        return Base(fact, self.sha, self.stamp, self.missing_since)


class WriteIntent(NamedTuple):
    """A write in progress, from which the next run recovers after a crash."""

    op: str
    fact_id: str
    path: VaultPath
    before: str | None
    """The sha of the note before the write; None when it is created."""
    after: str | None
    """The sha of the note after the write, the same when only the fact is written; None
    when the note is deleted or, if `before` is None too, when its fact is."""
    fact: Fact
    """The fact in the store after the write; with a revision if the store has it already."""


class DisplacedFile(NamedTuple):
    """A file that a write replaced, kept while an editor may still save into it."""

    op: str
    fact_id: str
    path: VaultPath
    sha: str
    due: float
    """When it may be removed, in seconds since the epoch."""


class OutboxEntry(NamedTuple):
    """A change that waits until the store is available: a delta, not a copy."""

    op: str
    fact_id: str
    kind: str
    """`create`, `update` or `delete`."""
    before: Mapping[str, Value]
    after: Mapping[str, Value]
    actor: str
    at: str
    expect: str | None = None
    """The expected revision; any when it is None."""
    has_new_id: bool = False
    """Whether it creates a fact whose id no note can have had before."""


WaitingRow = WriteIntent | DisplacedFile | OutboxEntry
"""What is to be finished later."""
CANVAS_FIELD = "canvas links"
"""Entries for rewritten links of a canvas to a moved note; the values are the path of the canvas
and the sha of its bytes."""
COPY_FIELD = "conflict copy"
"""Entries for a settled and removed conflict copy of the note; the value before is its path and
the sha of its bytes."""
EVENT_FIELDS = frozenset({"fact", "note", "path", "outbox", CANVAS_FIELD, COPY_FIELD})
_PROPERTY = "property:"
"""Distinguishes a property that is called like an event; no name of a property has a colon."""


def history_field(key: str) -> str:
    """The `HistoryEntry.field` of a field or a property."""
    return _PROPERTY + key if key in EVENT_FIELDS else key


class HistoryEntry(NamedTuple):
    """The change of one field of a fact."""

    run: str
    at: str
    fact_id: str
    side: str
    """The side that the change came from: `vault` or `store`."""
    actor: str
    field: str
    """A field or a property, see `key`; or an event: `path` (the note moved), `note` or `fact`
    (it was created or deleted; the values are the note's path or None, or the id for a note that
    had one), or another one of `EVENT_FIELDS`."""
    before: Value
    after: Value

    @property
    def key(self) -> str | None:
        """The field or property that an entry of the archive is about; None for an event."""
        return None if self.field in EVENT_FIELDS else self.field.removeprefix(_PROPERTY)


NOT_WRITTEN = "not_written"
"""The kind of the notice about a note that the system, or the user, does not let us write."""
RESOLVED_BY_AGREEMENT = frozenset({"unreadable", "odd", "twins", NOT_WRITTEN})
"""Kinds of notices that cannot be true of a note that equals its base: the note is not written."""


class Notice(NamedTuple):
    """Something that the user should know or do."""

    kind: str
    path: VaultPath
    message: str
    hint: str
    line: int | None = None
    sha: str = ""
    """The sha of the file it is about; empty when it is not about the bytes of a file."""

    @classmethod
    def of(cls, kind: str, error: NoteError, sha: str = "") -> Notice:
        """The notice of an error about one note."""
        return cls(kind, VaultPath(error.path), error.message, error.hint, error.line, sha)


class RunRecord(NamedTuple):
    """A run that did something."""

    run: str
    at: str
    kind: str
    report: Mapping[str, Value] = MappingProxyType({})


class Archive(Protocol):
    """The engine's memory: bases, intents, conflicts, history. One file, one writer.

    Reads see all earlier writes. Writes happen inside `transaction()`: all of them are
    durable when its block ends, none when it raises.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """Group writes. Transactions do not nest."""

    def setting(self, key: str) -> str | None:
        """The value of a setting (`vault_id`, `store_id`, `cursor`, …)."""

    def set_setting(self, key: str, value: str | None) -> None:
        """Set a setting; None removes it."""

    def folders(self) -> dict[VaultPath, bytes]:
        """The fingerprints of folders in which nothing was left to do; empty where unknown."""

    def set_folders(self, fingerprints: Mapping[VaultPath, bytes | None]) -> None:
        """Set fingerprints; None removes a folder."""

    def count_bases(self) -> int:
        """How many facts have a base."""

    def known_ids(self, prefix: str) -> list[str]:
        """The ids that begin with `prefix` of facts with a base or a history, in order."""

    def find_base(self, fact_id: str) -> Base | None:
        """The base of one fact."""

    def find_bases(self, fact_ids: Iterable[str]) -> dict[str, Base]:
        """The bases of those facts that have one."""

    def note_paths(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
        """The paths of the notes of some facts, without missing notes."""

    def note_stamps(self, fact_ids: Iterable[str]) -> dict[str, tuple[VaultPath, FileStamp | None]]:
        """Of the same notes: fact -> the path and the stamp."""

    def base_at(self, path: VaultPath) -> Base | None:
        """The base of the note at a path, if there is one that is not missing."""

    def stamps_in(self, folder: VaultPath) -> dict[str, tuple[str, FileStamp | None]]:
        """File name -> the id of the fact, and the stamp of the note, directly in a folder.

        Without missing notes: another note may have their paths.
        """

    def missing_bases(self) -> list[Base]:
        """The bases with `missing_since`."""

    def iter_bases(self) -> Iterator[Base]:
        """All bases, by id."""

    def revisions(self) -> dict[str, str]:
        """Fact id -> the revision in the store, of all bases, by id."""

    def paths(self) -> dict[VaultPath, str]:
        """Path -> fact id of all bases that are not missing."""

    def notes_by_folder(self) -> dict[VaultPath, int]:
        """Folder -> how many bases have their notes directly in it; without missing notes."""

    def base_folders(self) -> list[VaultPath]:
        """The folders of all bases, those of missing notes among them."""

    def paths_called(self, names: Iterable[str]) -> dict[VaultPath, str]:
        """As `paths()`, but only of notes whose file has one of these names, as `name_key()`."""

    def last_move(self) -> int:
        """A number that grows whenever a note comes, moves, or is missing."""

    def moved_since(self, number: int) -> list[str]:
        """The facts whose notes came, moved or were missed since `last_move()` was this number.

        A fact whose base was dropped is among them.
        """

    def put_bases(self, bases: Iterable[Base | PackedBase]) -> None:
        """Set bases. Blobs that packed ones stand beside have to be put before."""

    def put_stamps(self, stamps: Iterable[tuple[str, str, FileStamp | None]]) -> None:
        """Set the stamps of the notes of facts, which were seen, and so are not missing.

        Each is a fact's id, the sha of the bytes that were seen, and the stamp. A base with
        another sha stays as it is.
        """

    def drop_bases(self, fact_ids: Iterable[str]) -> None:
        """Forget bases. Their blobs stay until maintenance prunes them."""

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Keep bytes by sha, until nothing has needed them for as long as the settings say.

        They may be packed before, as `PackedBytes`.
        """

    def blob(self, sha: str) -> bytes | None:
        """The bytes with a sha; None when they were not kept."""

    def put_waiting(self, rows: Iterable[WaitingRow]) -> None:
        """Add rows; one with the op of a row of its kind replaces it."""

    def drop_waiting(self, rows: Iterable[WaitingRow]) -> None:
        """Remove rows, by their kinds and ops."""

    def intents(self, *, fact_id: str | None = None) -> list[WriteIntent]:
        """Open intents, oldest first; with an id, only those of this fact."""

    def displaced_files(self) -> list[DisplacedFile]:
        """Displaced files, oldest first."""

    def outbox(self, *, fact_id: str | None = None) -> list[OutboxEntry]:
        """Queued changes, oldest first; with an id, only those of this fact."""

    def put_conflict(self, conflict: ConflictRecord) -> None:
        """Set a conflict, open or closed; its id depends on what it holds."""

    def conflicts(
        self, *, closed: bool = False, fact_id: str | None = None
    ) -> list[ConflictRecord]:
        """The open conflicts, or all of them, oldest first; with an id, only those of this fact."""

    def put_proposal(self, proposal: ProposalRecord) -> None:
        """Set a proposal, open or settled, by its id."""

    def find_proposal(self, proposal_id: str) -> ProposalRecord | None:
        """The proposal of an id, open or settled; None when there is none."""

    def proposals(self, *, settled: bool = False) -> list[ProposalRecord]:
        """The open proposals and those that still have a note, or all of them; oldest first."""

    def add_history(self, entries: Iterable[HistoryEntry]) -> None:
        """Append to the history, which is never changed; old runs are pruned, facts purged."""

    def history(
        self,
        *,
        fact_id: str | None = None,
        run: str | None = None,
        field: str | None = None,
        since: str = "",
    ) -> list[HistoryEntry]:
        """The history of a fact, a run or a field, oldest first; None for any; after a time."""

    def note_tombstones(self, fact_ids: Iterable[str]) -> dict[str, HistoryEntry]:
        """The newest entry that records the removal of each fact's note, if there is one."""

    def put_run(self, run: RunRecord) -> None:
        """Add a run."""

    def find_run(self, run: str) -> RunRecord | None:
        """A run by its id."""

    def runs(self, *, limit: int, prefix: str = "") -> list[RunRecord]:
        """The newest runs whose ids begin with `prefix`, newest first; at most `limit`."""

    def set_notices(self, path: VaultPath, notices: Sequence[Notice]) -> None:
        """Replace the notices of a path."""

    def notices(self) -> list[Notice]:
        """All notices, by path."""

    def close(self) -> None:
        """Close the file; harmless when repeated."""


HISTORY_SINCE_SETTING = "history_since"
"""The setting of the archive with the time before which the history was pruned."""
UNFINISHED_MIGRATION_SETTING = "unfinished_migration"
"""The setting with the id of the new store, and the URL of the former one that may have more."""


class KeepSince(NamedTuple):
    """The time from which on each kind is kept, ISO 8601 in UTC; empty keeps all of it."""

    now: str
    history: str = ""
    runs: str = ""
    blobs: str = ""
    tombstones: str = ""

    @classmethod
    def of(
        cls, now: datetime, *, history: float, runs: float, blobs: float, tombstones: float
    ) -> KeepSince:
        """What is kept for some days; 0 days keep everything, for ever."""

        def since(days: float) -> str:
            try:
                return time_text(now - timedelta(days=days)) if days else ""
            except OverflowError:  # before the year 1
                return ""

        return cls(time_text(now), since(history), since(runs), since(blobs), since(tombstones))
