"""The archive: what the engine knows.

The rows of the archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import NamedTuple, Protocol

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import Conflict
from vaultsync.storage.vault import FileStamp


class Base(NamedTuple):
    """What both sides last agreed on about one fact."""

    fact: Fact
    """`fact.revision` is the store's version, `fact.path` where the note lies."""
    sha: str
    """Of the note's bytes; the bytes are the blob of that sha."""
    stamp: FileStamp | None
    """The note's stamp when its bytes were last seen to be `sha`; None: look again."""
    missing_since: str | None = None
    """The time of the pass that first found the note gone."""

    @property
    def path(self) -> VaultPath:
        """Where the note lies."""
        return self.fact.path or VaultPath("")


class WriteIntent(NamedTuple):
    """A write that was begun; what a crash leaves is judged by it."""

    op: str
    fact_id: str
    path: VaultPath
    before: str | None
    """The sha the note had; None when it is to be created."""
    after: str | None
    """The sha it shall have, the same when only its fact is written; None when it is to
    be withdrawn, or, with `before` None, when its fact is to be deleted after it."""
    fact: Fact
    """What the store shall hold then; with its revision when it holds it already."""


class DisplacedFile(NamedTuple):
    """A displaced file, kept while an editor might still write into it."""

    op: str
    fact_id: str
    path: VaultPath
    sha: str
    due: float
    """Seconds since the epoch after which it goes."""


class OutboxEntry(NamedTuple):
    """A change that waits for a store that is away: a delta, not a copy."""

    op: str
    fact_id: str
    kind: str
    """`create`, `update` or `delete`."""
    before: Mapping[str, Value]
    after: Mapping[str, Value]
    actor: str
    at: str


class HistoryEntry(NamedTuple):
    """One field of one fact changed."""

    run: str
    at: str
    fact_id: str
    side: str
    """The side that the change came from: `vault` or `store`."""
    actor: str
    field: str
    """A field, a property, or one of `path`, `note`, `fact`: where it lies, whether
    there is a note, whether there is a fact: from nothing, or from a note with its id, to
    the path of the note, and back."""
    before: Value
    after: Value


class Notice(NamedTuple):
    """Something that waits for a person."""

    kind: str
    path: VaultPath
    message: str
    hint: str
    line: int | None = None
    sha: str = ""
    """The bytes it was seen in; empty when it is not about bytes."""
    seen: str = ""
    """The time it was first seen."""


class RunRecord(NamedTuple):
    """One pass that did something."""

    run: str
    at: str
    kind: str
    report: Mapping[str, Value] = MappingProxyType({})


class Archive(Protocol):
    """What the engine knows: bases, intents, conflicts, history. One file, one writer.

    Reading sees all earlier writes. Writes happen inside `transaction()`: all of them are
    durable when its block ends without an error, none when it ends with one.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """Group writes. Not to be nested."""
        ...

    def setting(self, key: str) -> str | None:
        """A remembered word (`vault_id`, `store_id`, `cursor`, …)."""
        ...

    def set_setting(self, key: str, value: str | None) -> None:
        """Remember a word, or forget it."""
        ...

    def folders(self) -> dict[VaultPath, bytes]:
        """The fingerprints of the folders in which nothing was left to do."""
        ...

    def set_folders(self, fingerprints: Mapping[VaultPath, bytes | None]) -> None:
        """Remember fingerprints; None forgets one."""
        ...

    def count_bases(self) -> int:
        """How many facts have a base."""
        ...

    def find_base(self, fact_id: str) -> Base | None:
        """The base of one fact."""
        ...

    def find_bases(self, fact_ids: Iterable[str]) -> dict[str, Base]:
        """The bases there are."""
        ...

    def note_paths(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
        """Where the notes of some facts lie; those that are missing are left out."""
        ...

    def bases_in(self, folder: VaultPath) -> dict[str, Base]:
        """The bases whose note lies directly in a folder, by the name of the file.

        Those that are missing do not: another note may have their place.
        """
        ...

    def missing_bases(self) -> list[Base]:
        """The bases with `missing_since`."""
        ...

    def iter_bases(self) -> Iterator[Base]:
        """All bases, by id."""
        ...

    def paths(self) -> dict[VaultPath, str]:
        """Path -> fact id of all bases that are not missing."""
        ...

    def put_bases(self, bases: Iterable[Base]) -> None:
        """Set bases."""
        ...

    def drop_bases(self, fact_ids: Iterable[str]) -> None:
        """Forget bases. Their blobs stay."""
        ...

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Keep bytes by sha, for ever or until `vacuum`."""
        ...

    def blob(self, sha: str) -> bytes | None:
        """Kept bytes."""
        ...

    def put_intents(self, intents: Iterable[WriteIntent]) -> None:
        """Remember begun writes."""
        ...

    def drop_intents(self, ops: Iterable[str]) -> None:
        """Forget them."""
        ...

    def intents(self) -> list[WriteIntent]:
        """Begun writes, oldest first."""
        ...

    def put_displaced_files(self, lingers: Iterable[DisplacedFile]) -> None:
        """Remember displaced files."""
        ...

    def drop_displaced_files(self, ops: Iterable[str]) -> None:
        """Forget them."""
        ...

    def displaced_files(self) -> list[DisplacedFile]:
        """Displaced files, oldest first."""
        ...

    def put_outbox(self, rows: Iterable[OutboxEntry]) -> None:
        """Queue changes; a row with a known op replaces it."""
        ...

    def drop_outbox(self, ops: Iterable[str]) -> None:
        """Forget them."""
        ...

    def outbox(self) -> list[OutboxEntry]:
        """Queued changes, oldest first."""
        ...

    def put_conflict(self, conflict: Conflict) -> None:
        """Set a conflict, open or closed; its id is made of what it holds."""
        ...

    def conflicts(self, *, closed: bool = False) -> list[Conflict]:
        """The open conflicts, or all of them; oldest first."""
        ...

    def add_history(self, entries: Iterable[HistoryEntry]) -> None:
        """Append history. It is never changed."""
        ...

    def history(self, *, fact_id: str = "", run: str = "") -> list[HistoryEntry]:
        """The history of a fact or of a run, oldest first."""
        ...

    def note_tombstones(self, fact_ids: Iterable[str]) -> dict[str, HistoryEntry]:
        """The newest entry by which each fact lost its note; without those that never did."""
        ...

    def put_run(self, run: RunRecord) -> None:
        """Remember a pass."""
        ...

    def find_run(self, run: str) -> RunRecord | None:
        """A pass by its id."""
        ...

    def last_run(self) -> RunRecord | None:
        """The newest pass."""
        ...

    def set_notices(self, path: VaultPath, notices: Sequence[Notice]) -> None:
        """Replace what waits for a person at a path; an empty list clears it."""
        ...

    def notices(self) -> list[Notice]:
        """Everything that waits for a person, by path."""
        ...

    def close(self) -> None:
        """Let go of the file; harmless when repeated."""
        ...
