"""Both sides, the archive, the clock and the engine, whose runs can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tests.doubles.store import MemoryStore, StoreBackup
from tests.fakes import FakeClock
from tests.memory_archive import MemoryArchive
from tests.proofs import ledger as proofs
from tests.proofs import texts
from tests.proofs.ledger import Ledger
from tests.proofs.watched import WatchedVault
from tests.sim_disk import Handle, Inode
from tests.world import OPEN
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.notes.review_note import PROPOSAL_SUFFIX, is_review_note
from vaultsync.sync.context import SyncContext, SyncPolicy

T = TypeVar("T")


@dataclass(slots=True)
class Editor:
    """An editor that has a note open."""

    path: str
    view: bytes
    handle: Handle


class Sides:
    """The state of a world, and queries on it."""

    def __init__(self, *, batch: int = 1000, case_insensitive: bool = False) -> None:
        self.clock = FakeClock()
        self.ledger = Ledger()
        self.vault = WatchedVault(
            case_insensitive=case_insensitive,
            now_ns=lambda: int(self.clock.now().timestamp() * 1e9),
            before=lambda method: self._hook(f"vault.{method}"),
        )
        self.store = MemoryStore(self.clock)
        self.store.before = lambda method: self._hook(f"store.{method}")
        self.policy = SyncPolicy(batch=batch, permissions=OPEN)
        self.archives = 0
        """How many archives there were; one that is lost is replaced."""
        self.use_archive(MemoryArchive())
        self.ledger.known = lambda: proofs.in_archive(self) | proofs.in_store(self)
        self.set_back = 0.0
        self.editors: list[Editor] = []
        self.half: dict[str, tuple[bytes, bytes]] = {}
        """Saves that were begun: what the editor saw, and what it is going to write."""
        self.broken: dict[str, bytes] = {}
        self.older: dict[str, Fact] = {}
        """The facts of the last backup that came back."""
        self.told: tuple[int, set[str]] = 0, set()
        """Which archive knew that facts say what they say in the last backup."""
        self.not_durable: dict[str, tuple[Inode, int]] = {}
        """The notes that other processes wrote at once, and `archives` then, by their facts."""
        self.trash: list[tuple[str, bytes]] = []
        self.scopes: dict[str, str] = {}
        self.backup: StoreBackup | None = None
        self.trail: list[str] = []
        """The effects of the last pass, in order."""
        self.at: dict[int, Callable[[], None]] = {}
        self._inside = False
        self.worked = 0
        """How many passes of the last `quiesce` had something to do."""

    def use_archive(self, archive: MemoryArchive) -> None:
        self.archive = archive
        self.archives += 1
        archive.before = lambda method: self._hook(f"archive.{method}")
        self.ctx = SyncContext(self.store, archive, self.clock, self.policy, vault=self.vault)

    def _hook(self, where: str) -> None:
        if not self._inside:
            return
        self.trail.append(where)
        deed = self.at.get(len(self.trail))
        if deed is not None:
            self._inside = False
            try:
                deed()
            finally:
                self._inside = True

    def run(self, work: Callable[[], T], at: Mapping[int, Callable[[], None]] | None = None) -> T:
        """Run the engine; `at` contains actions to perform before its n-th effect."""
        self.trail, self.at, self._inside = [], dict(at or {}), True
        try:
            return work()
        finally:
            self._inside = False
            self.ledger.story.append(f"engine: {len(self.trail)} effects")
            proofs.bases_are_sound(self)
            proofs.unreadable_is_untouched(self)
            proofs.writes_are_confined(self)

    def tell(self) -> str:
        """The actions so far, to explain a failure."""
        return "\n".join(self.ledger.story[-40:])

    def picture(self) -> object:
        """Everything that a run with nothing to do must not change."""
        notes = {name: (i.number, i.stamp, i.data) for name, i in self.vault.names.items()}
        return notes, len(self.vault.written), self.store._seq

    # --- looking -----------------------------------------------------------------------

    def notes(self) -> list[str]:
        """The paths of all notes."""
        return [
            path
            for path, inode in sorted(self.vault.files.items())
            if path.endswith(".md") and not is_review_note(path) and inode.kind == "file"
        ]

    def conflict_notes(self) -> list[str]:
        return [path for path in self._review_notes() if path not in self.proposal_notes()]

    def proposal_notes(self) -> list[str]:
        return [path for path in self._review_notes() if path.endswith(PROPOSAL_SUFFIX)]

    def _review_notes(self) -> list[str]:
        return [path for path in sorted(self.vault.files) if is_review_note(path)]

    def facts(self) -> dict[str, Fact]:
        """The facts of the store, even while it is unavailable."""
        alive = {}
        for fact_id, row in sorted(self.store._rows.items()):
            if row.body is not None and not row.feed_row.deleted:
                alive[fact_id] = wire.fact_from_json(row.body)
        return alive

    def notes_by_id(self) -> dict[str, list[str]]:
        """Id -> the paths of the notes that have it."""
        found: dict[str, list[str]] = {}
        for path in self.notes():
            fact_id = texts.id_of(self.vault.names[path].data)
            if fact_id:
                found.setdefault(fact_id, []).append(path)
        return found

    def data(self, path: str) -> bytes:
        return self.vault.names[path].data
