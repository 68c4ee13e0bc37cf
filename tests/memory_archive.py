"""An archive in memory: the simplest implementation of the contract, for simulations."""

from __future__ import annotations

import copy
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from vaultsync.links.wikilinks import name_key
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.notes.proposal_note import ProposalRecord
from vaultsync.storage.archive import (
    Base,
    DisplacedFile,
    HistoryEntry,
    Notice,
    OutboxEntry,
    PackedBase,
    RunRecord,
    WaitingRow,
    WriteIntent,
)
from vaultsync.storage.packed_bytes import PackedBytes, unpack
from vaultsync.storage.vault import FileStamp


@dataclass
class _Rows:
    settings: dict[str, str] = field(default_factory=dict)
    folders: dict[VaultPath, bytes] = field(default_factory=dict)
    bases: dict[str, Base] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    intents: dict[str, WriteIntent] = field(default_factory=dict)
    displaced_files: dict[str, DisplacedFile] = field(default_factory=dict)
    outbox: dict[str, OutboxEntry] = field(default_factory=dict)
    conflicts: dict[str, ConflictRecord] = field(default_factory=dict)
    proposals: dict[str, ProposalRecord] = field(default_factory=dict)
    history: list[HistoryEntry] = field(default_factory=list)
    runs: dict[str, RunRecord] = field(default_factory=dict)
    notices: dict[VaultPath, list[Notice]] = field(default_factory=dict)
    moves: dict[str, int] = field(default_factory=dict)

    def copy(self) -> _Rows:
        """Copy the containers; their rows are immutable."""
        return _Rows(**{name: copy.copy(rows) for name, rows in vars(self).items()})


class MemoryArchive:
    """An `Archive` whose transactions are atomic, like those of the real one."""

    def __init__(self) -> None:
        self._rows = _Rows()
        self._saved: _Rows | None = None
        self.before: Callable[[str], None] = lambda method: None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._saved is not None:
            message = "transactions are not to be nested"
            raise RuntimeError(message)
        self.before("begin")
        self._saved = self._rows.copy()
        try:
            yield
            self.before("commit")
        except BaseException:
            self._rows = self._saved
            raise
        finally:
            self._saved = None

    def _write(self) -> _Rows:
        if self._saved is None:
            message = "a write outside of a transaction"
            raise RuntimeError(message)
        return self._rows

    def setting(self, key: str) -> str | None:
        return self._rows.settings.get(key)

    def set_setting(self, key: str, value: str | None) -> None:
        if value is None:
            self._write().settings.pop(key, None)
        else:
            self._write().settings[key] = value

    def folders(self) -> dict[VaultPath, bytes]:
        return dict(self._rows.folders)

    def set_folders(self, fingerprints: Mapping[VaultPath, bytes | None]) -> None:
        for path, mark in fingerprints.items():
            if mark is None:
                self._write().folders.pop(path, None)
            else:
                self._write().folders[path] = mark

    def count_bases(self) -> int:
        return len(self._rows.bases)

    def known_ids(self, prefix: str) -> list[str]:
        known = {*self._rows.bases, *(each.fact_id for each in self._rows.history)}
        return sorted(each for each in known if each.startswith(prefix))

    def find_base(self, fact_id: str) -> Base | None:
        return self._rows.bases.get(fact_id)

    def find_bases(self, fact_ids: Iterable[str]) -> dict[str, Base]:
        bases = self._rows.bases
        return {each: bases[each] for each in fact_ids if each in bases}

    def note_paths(self, fact_ids: Iterable[str]) -> dict[str, VaultPath]:
        found = self.find_bases(fact_ids)
        return {k: base.path for k, base in found.items() if not base.missing_since}

    def note_stamps(self, fact_ids: Iterable[str]) -> dict[str, tuple[VaultPath, FileStamp | None]]:
        found = self.find_bases(fact_ids)
        return {k: (x.path, x.stamp) for k, x in found.items() if not x.missing_since}

    def base_at(self, path: VaultPath) -> Base | None:
        fact_id = self.paths().get(path)
        return None if fact_id is None else self._rows.bases[fact_id]

    def stamps_in(self, folder: VaultPath) -> dict[str, tuple[str, FileStamp | None]]:
        return {
            posixpath.basename(base.path): (base.fact.id, base.stamp)
            for base in self._rows.bases.values()
            if posixpath.dirname(base.path) == folder and not base.missing_since
        }

    def missing_bases(self) -> list[Base]:
        return [base for base in self._rows.bases.values() if base.missing_since]

    def iter_bases(self) -> Iterator[Base]:
        return iter([base for _, base in sorted(self._rows.bases.items())])

    def revisions(self) -> dict[str, str]:
        return {base.fact.id: base.fact.revision for base in self.iter_bases()}

    def paths(self) -> dict[VaultPath, str]:
        return self._paths()

    def _paths(self) -> dict[VaultPath, str]:
        bases = self._rows.bases.items()
        return {base.path: key for key, base in bases if not base.missing_since}

    def notes_by_folder(self) -> dict[VaultPath, int]:
        return dict(Counter(map(parent_folder, self.paths())))

    def base_folders(self) -> list[VaultPath]:
        return sorted({parent_folder(base.path) for base in self._rows.bases.values()})

    def paths_called(self, names: Iterable[str]) -> dict[VaultPath, str]:
        keys = set(map(name_key, names))
        return {path: key for path, key in self._paths().items() if name_key(path) in keys}

    def last_move(self) -> int:
        return max(self._rows.moves.values(), default=0)

    def moved_since(self, number: int) -> list[str]:
        return [key for key, at in self._rows.moves.items() if at > number]

    def put_bases(self, bases: Iterable[Base | PackedBase]) -> None:
        for each in bases:
            rows = self._write()
            note = rows.blobs.get(each.sha)
            base = each.unpacked(note) if isinstance(each, PackedBase) else each
            key = base.fact.id
            old = rows.bases.get(key)
            place = base.path, bool(base.missing_since)
            if old is None or place != (old.path, bool(old.missing_since)):
                rows.moves[key] = self.last_move() + 1
            rows.bases[key] = base

    def put_stamps(self, stamps: Iterable[tuple[str, str, FileStamp | None]]) -> None:
        for fact_id, sha, stamp in stamps:
            base = self._write().bases.get(fact_id)
            if base is not None and base.sha == sha:
                self.put_bases([base._replace(stamp=stamp, missing_since=None)])

    def drop_bases(self, fact_ids: Iterable[str]) -> None:
        for fact_id in fact_ids:
            if self._write().bases.pop(fact_id, None) is not None:
                self._rows.moves[fact_id] = self.last_move() + 1

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        for sha, data in blobs.items():
            self._write().blobs[sha] = unpack(data) if isinstance(data, PackedBytes) else data

    def blob(self, sha: str) -> bytes | None:
        return self._rows.blobs.get(sha)

    def put_waiting(self, rows: Iterable[WaitingRow]) -> None:
        for each in rows:
            self._waiting(each)[each.op] = each

    def drop_waiting(self, rows: Iterable[WaitingRow]) -> None:
        for each in rows:
            self._waiting(each).pop(each.op, None)

    def _waiting(self, row: WaitingRow) -> dict[str, Any]:
        rows = self._write()
        if isinstance(row, WriteIntent):
            return rows.intents
        return rows.displaced_files if isinstance(row, DisplacedFile) else rows.outbox

    def intents(self, *, fact_id: str | None = None) -> list[WriteIntent]:
        return [x for x in self._rows.intents.values() if fact_id in (None, x.fact_id)]

    def displaced_files(self) -> list[DisplacedFile]:
        return list(self._rows.displaced_files.values())

    def outbox(self, *, fact_id: str | None = None) -> list[OutboxEntry]:
        queued = self._rows.outbox.values()
        return [each for each in queued if fact_id in (None, each.fact_id)]

    def put_conflict(self, conflict: ConflictRecord) -> None:
        self._write().conflicts[conflict.id] = conflict

    def conflicts(
        self, *, closed: bool = False, fact_id: str | None = None
    ) -> list[ConflictRecord]:
        found = [x for x in self._rows.conflicts.values() if fact_id in (None, x.fact_id)]
        return [each for each in found if closed or not each.outcome]

    def put_proposal(self, proposal: ProposalRecord) -> None:
        self._write().proposals[proposal.id] = proposal

    def find_proposal(self, proposal_id: str) -> ProposalRecord | None:
        return self._rows.proposals.get(proposal_id)

    def proposals(self, *, settled: bool = False) -> list[ProposalRecord]:
        found = self._rows.proposals.values()
        return [each for each in found if settled or each.is_unfinished]

    def add_history(self, entries: Iterable[HistoryEntry]) -> None:
        self._write().history = [*self._rows.history, *entries]

    def history(
        self,
        *,
        fact_id: str | None = None,
        run: str | None = None,
        field: str | None = None,
        since: str = "",
    ) -> list[HistoryEntry]:
        return [
            each
            for each in self._rows.history
            if each.fact_id == (each.fact_id if fact_id is None else fact_id)
            and each.run == (each.run if run is None else run)
            and each.field == (each.field if field is None else field)
            and each.at > since
        ]

    def note_tombstones(self, fact_ids: Iterable[str]) -> dict[str, HistoryEntry]:
        ids = set(fact_ids)
        return {
            each.fact_id: each
            for each in self._rows.history
            if each.fact_id in ids and each.field == "note" and each.after is None
        }

    def put_run(self, run: RunRecord) -> None:
        self._write().runs[run.run] = run

    def find_run(self, run: str) -> RunRecord | None:
        return self._rows.runs.get(run)

    def runs(self, *, limit: int, prefix: str = "") -> list[RunRecord]:
        newest = reversed(list(self._rows.runs.values()))
        return [each for each in newest if each.run.startswith(prefix)][:limit]

    def set_notices(self, path: VaultPath, notices: Sequence[Notice]) -> None:
        self._write().notices.pop(path, None)
        if notices:
            self._write().notices[path] = list(notices)

    def notices(self) -> list[Notice]:
        return [each for _, some in sorted(self._rows.notices.items()) for each in some]

    def close(self) -> None:
        pass
