"""The archive: what the engine knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import Conflict
from vaultsync.storage.records import (
    Attention,
    Base,
    HistoryEntry,
    Intent,
    Linger,
    Outgoing,
    Run,
)


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

    def places(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
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

    def put_intents(self, intents: Iterable[Intent]) -> None:
        """Remember begun writes."""
        ...

    def drop_intents(self, ops: Iterable[str]) -> None:
        """Forget them."""
        ...

    def intents(self) -> list[Intent]:
        """Begun writes, oldest first."""
        ...

    def put_lingers(self, lingers: Iterable[Linger]) -> None:
        """Remember displaced files."""
        ...

    def drop_lingers(self, ops: Iterable[str]) -> None:
        """Forget them."""
        ...

    def lingers(self) -> list[Linger]:
        """Displaced files, oldest first."""
        ...

    def put_outgoing(self, rows: Iterable[Outgoing]) -> None:
        """Queue changes; a row with a known op replaces it."""
        ...

    def drop_outgoing(self, ops: Iterable[str]) -> None:
        """Forget them."""
        ...

    def outbox(self) -> list[Outgoing]:
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

    def buried_notes(self, fact_ids: Iterable[str]) -> dict[str, HistoryEntry]:
        """The newest entry by which each fact lost its note; without those that never did."""
        ...

    def put_run(self, run: Run) -> None:
        """Remember a pass."""
        ...

    def find_run(self, run: str) -> Run | None:
        """A pass by its id."""
        ...

    def last_run(self) -> Run | None:
        """The newest pass."""
        ...

    def set_attention(self, path: VaultPath, notices: Sequence[Attention]) -> None:
        """Replace what waits for a person at a path; an empty list clears it."""
        ...

    def attention(self) -> list[Attention]:
        """Everything that waits for a person, by path."""
        ...

    def close(self) -> None:
        """Let go of the file; harmless when repeated."""
        ...
