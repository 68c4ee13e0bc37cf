"""A whole world in memory: both sides, the archive, the clock, and who acts in it.

People and agents act through methods, each of which tells the ledger what its actor saw
and wrote. A pass of the engine can be stopped, or disturbed, before each of its effects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.fakes import FakeClock
from tests.memory_archive import MemoryArchive
from tests.proofs import ledger as proofs
from tests.proofs import texts
from tests.proofs.ledger import Ledger, words
from tests.sim import SimVault
from tests.sim_disk import Handle, Inode
from vaultsync.adapters.store_memory import MemoryStore, StoreBackup
from vaultsync.core import wire
from vaultsync.core.conflict import is_conflict_note
from vaultsync.core.fact import Fact
from vaultsync.core.fields import Value
from vaultsync.engine import facts
from vaultsync.engine.conflicts import Verdict, settle
from vaultsync.engine.mirror import Mirror, Policy
from vaultsync.engine.rebuild import rebuild
from vaultsync.engine.report import Report
from vaultsync.engine.sync import Request, sync
from vaultsync.errors import (
    GuardError,
    StoreRewoundError,
    StoreUnavailableError,
    VaultMissingError,
)
from vaultsync.ports import RevisionMismatch, Write

PASSES = 12
"""Within how many passes everything must be done once people and faults rest."""
TICK_NS = 10_000_000
"""File systems see time in steps like this: two saves may have the same stamp."""
AGENT = "indy"
T = TypeVar("T")


class Crash(BaseException):
    """The process is gone; no handler of errors may see it."""


@dataclass(slots=True)
class WatchedVault(SimVault):
    """A vault that remembers what happened in it, on a disk with a coarse clock."""

    displaced: list[tuple[str, bytes]] = field(default_factory=list)
    """What the engine replaced or took away."""
    held: set[str] = field(default_factory=set)
    """The shas of all complete contents that any note ever had."""
    written: list[str] = field(default_factory=list)
    """All names that the engine gave or took."""
    by_person: bool = False

    def _set(self, step: dict[str, Inode | None]) -> None:
        for name, inode in step.items():
            old = self.names.get(name)
            seen = bool(name) and not name.startswith(".")
            if seen and not self.by_person and inode is not None:
                # What is put back was not displaced.
                back = inode.data
                self.displaced = [x for x in self.displaced if x[1] != back]
            if not self.by_person and name:
                self.written.append(name)
                if seen and old is not None and old is not inode:
                    self.displaced.append((name, old.data))
            if seen and inode is not None:
                self.held.add(inode.sha)
        SimVault._set(self, step)

    def _person(self, step: Mapping[str, Inode | None]) -> None:
        self.by_person = True
        try:
            SimVault._person(self, step)
        finally:
            self.by_person = False

    def _tick(self) -> int:
        return self.now_ns() // TICK_NS * TICK_NS


@dataclass(slots=True)
class Editor:
    """A person's program that has a note open."""

    path: str
    view: bytes
    handle: Handle


class World:
    """Both sides, and everybody who writes."""

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
        self.policy = Policy(batch=batch)
        self.archives = 0
        """How many archives there were; one that is lost is replaced."""
        self.use_archive(MemoryArchive())
        self.ledger.known = lambda: proofs.in_archive(self) | proofs.in_store(self)
        self.set_back = 0.0
        self.editors: list[Editor] = []
        self.half: dict[str, tuple[bytes, bytes]] = {}
        """Saves that were begun: what the editor saw, and what it is going to write."""
        self.broken: dict[str, bytes] = {}
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
        self.mirror = Mirror(
            self.vault, self.store, archive, self.clock, self.policy
        )

    # --- the engine --------------------------------------------------------------------

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

    def run(
        self, work: Callable[[], T], at: Mapping[int, Callable[[], None]] | None = None
    ) -> T:
        """Let the engine work; `at` names deeds that fall before its n-th effect."""
        self.trail, self.at, self._inside = [], dict(at or {}), True
        try:
            return work()
        finally:
            self._inside = False
            self.ledger.story.append(f"engine: {len(self.trail)} effects")
            proofs.bases_are_sound(self)
            proofs.unreadable_is_untouched(self)
            proofs.writes_are_confined(self)

    def sync(
        self,
        request: Request | None = None,
        at: Mapping[int, Callable[[], None]] | None = None,
    ) -> Report:
        """One pass."""
        return self.run(lambda: sync(self.mirror, request), at)

    def turn(self, at: Mapping[int, Callable[[], None]] | None = None) -> Report | None:
        """One pass by somebody who knows what to do when it refuses."""
        try:
            try:
                return self.sync(at=at)
            except GuardError as stopped:
                return self.sync(Request(confirm=stopped.run))
            except StoreRewoundError:
                unseen = proofs.in_store(self) - proofs.in_vault(self)
                self.ledger.at_least_kept(unseen)
                return self.run(lambda: rebuild(self.mirror, "vault"))
        except (StoreUnavailableError, VaultMissingError, OSError) as refused:
            self.ledger.story.append(f"engine: {refused}")
            return None

    def crash_at(self, effect: int) -> None:
        """Begin a pass and let the process die before its n-th effect."""
        with suppress(Crash):
            self.turn({effect: self._die})
        self.ledger.story.append(f"crash before effect {effect}: {self.trail[-1:]}")

    def _die(self) -> None:
        raise Crash

    def power_loss(self, keep: Callable[[int], bool]) -> None:
        """The machine stops; what was not synced may be gone."""
        self.vault.crash(keep)
        for name, inode in self.vault.names.items():
            # What was never synced is the engine's to do again, but never half.
            if name.startswith("."):
                self.vault.held.add(inode.sha)
        self.ledger.story.append("power loss")
        proofs.files_are_complete(self)
        proofs.bases_are_sound(self)

    def mend(self) -> None:
        """All faults end, and everybody finishes what they began."""
        self.store.away = self.store.lose_ack = False
        self.vault.quota = None
        self.vault.return_()
        self.vault.broken.clear()
        for path in list(self.half):
            self.end_save(path)
        for path in list(self.broken):
            self.mend_yaml(path)

    def quiesce(self) -> Report:
        """Passes until nothing is left to do, and all the invariants then."""
        self.mend()
        self.clock.advance(self.set_back)
        self.set_back = 0.0
        self.worked = 0
        for _ in range(PASSES):
            self.editors.clear()
            self.clock.advance(self.policy.linger_seconds + 1)
            report = self.turn()
            assert report is not None, self.tell()
            waits = any(each.action == "wait" for each in report.actions)
            rows = self.archive._rows
            told = " ".join(notice.message for notice in report.attention)
            gone = any(x.fact.id not in told for x in self.archive.missing_bases())
            left = rows.intents or rows.lingers or rows.outbox or gone
            if report.quiet and not (waits or left):
                break
            self.worked += not report.quiet
        else:
            message = f"no end after {PASSES} passes: {report}\n{self.tell()}"
            raise AssertionError(message)
        proofs.no_word_is_lost(self)
        proofs.nothing_displaced_is_lost(self)
        proofs.scopes_stay(self)
        proofs.sides_are_equal(self, report)
        proofs.rests(self)
        return report

    def tell(self) -> str:
        """The story, for a reader of a failure."""
        return "\n".join(self.ledger.story[-40:])

    def picture(self) -> object:
        """All that a pass with nothing to do must leave alone."""
        notes = {name: (i.number, i.stamp, i.data) for name, i in self.vault.names.items()}
        return notes, len(self.vault.written), self.store._seq

    # --- looking -----------------------------------------------------------------------

    def notes(self) -> list[str]:
        """The paths of all notes."""
        return [
            path
            for path, inode in sorted(self.vault.files.items())
            if path.endswith(".md")
            and not is_conflict_note(path)
            and inode.kind == "file"
        ]

    def conflict_notes(self) -> list[str]:
        return [path for path in sorted(self.vault.files) if is_conflict_note(path)]

    def facts(self) -> dict[str, Fact]:
        """What the store says, whether it answers or not."""
        alive = {}
        for fact_id, row in sorted(self.store._rows.items()):
            if row.body is not None and not row.written.deleted:
                alive[fact_id] = wire.from_json(row.body)
        return alive

    def notes_by_id(self) -> dict[str, list[str]]:
        """The paths of the notes by the ids they carry."""
        found: dict[str, list[str]] = {}
        for path in self.notes():
            fact_id = texts.id_of(self.vault.names[path].data)
            if fact_id:
                found.setdefault(fact_id, []).append(path)
        return found

    def data(self, path: str) -> bytes:
        return self.vault.names[path].data

    # --- people ------------------------------------------------------------------------

    def save(
        self, path: str, data: bytes, *, saw: bytes | None = None, rename: bool = False
    ) -> None:
        """A person saves a note, having seen `saw` of it (all there is, if not said)."""
        self.clock.advance(0.002)
        over = self.data(path) if path in self.vault.names else b""
        saw = over if saw is None else saw
        self.ledger.wrote(f"person saves {path}", saw=saw, over=over, after=data)
        if rename:
            self.vault.save_by_rename(path, data)
        else:
            self.vault.save_in_place(path, data)
        if path in self.broken:
            self.broken[path] = data

    def edit(
        self, path: str, change: Callable[[bytes, str], bytes], *, rename: bool = False
    ) -> None:
        """A person changes a note by one of the `texts` with a new word."""
        if path in self.half:
            return
        word = self.ledger.word()
        self.save(path, change(self.data(path), word), rename=rename)
        if change is texts.source:
            # It will be put back: what the person wrote stays in the history alone.
            self.ledger.at_least_kept([word])

    def new_note(self, path: str, *, front: bool = False) -> None:
        if path in self.vault.names or self.vault._find(path):
            return
        word = self.ledger.word()
        head = f"---\nstatus: {self.ledger.word()}\n---\n" if front else ""
        self.save(path, f"{head}A note that says {word}.\n".encode())

    def begin_save(self, path: str, *, empty: bool) -> None:
        """An editor truncates the file; what it had to say comes later."""
        if path in self.half or path in self.broken:
            return
        view = self.data(path)
        goal = texts.append(view, self.ledger.word())
        self.half[path] = (view, goal)
        self.clock.advance(0.002)
        self.vault.save_in_place(path, b"" if empty else goal[: len(goal) // 2])
        self.ledger.story.append(f"person begins to save {path}")

    def end_save(self, path: str) -> None:
        view, goal = self.half.pop(path)
        if path in self.vault.names:
            self.save(path, goal, saw=view)

    def open(self, path: str) -> None:
        """An editor opens a note and holds on to the file."""
        if path not in self.half:
            handle = self.vault.open_handle(path)
            self.editors.append(Editor(path, self.data(path), handle))

    def save_through_handle(self, editor: Editor) -> None:
        """It writes into the file it opened, wherever that is by now."""
        self.editors.remove(editor)
        inode = editor.handle.inode
        alive = [name for name, i in self.vault.names.items() if i is inode]
        if not alive or alive[0] in self.half or alive[0] in self.broken:
            return
        self.clock.advance(0.002)
        after = texts.append(editor.view, self.ledger.word())
        over = inode.data
        who = f"person saves {editor.path} through an old handle of {alive[0]}"
        self.ledger.wrote(who, saw=editor.view, over=over, after=after)
        editor.handle.write(after)

    def save_stale(self, editor: Editor) -> None:
        """It writes an old text over whatever is at the path now."""
        self.editors.remove(editor)
        if editor.path not in self.vault.names or editor.path in self.half:
            return
        after = texts.append(editor.view, self.ledger.word())
        self.save(editor.path, after, saw=editor.view, rename=True)

    def rename(self, path: str, to: str) -> None:
        taken = self.vault._find(to) not in (None, path)
        if taken or path in self.half or path in self.broken:
            return
        self.clock.advance(0.002)
        self.vault.rename(path, to)
        self.ledger.story.append(f"person renames {path} to {to}")

    def copy(self, path: str, to: str) -> None:
        if self.vault._find(to) or path in self.half or path in self.broken:
            return
        self.clock.advance(0.002)
        self.vault.copy(path, to)
        self.ledger.story.append(f"person copies {path} to {to}")

    def delete(self, path: str) -> None:
        if path in self.half or path in self.broken:
            return
        self.clock.advance(0.002)
        data = self.data(path)
        self.trash.append((path, data))
        self.ledger.wrote(f"person deletes {path}", saw=data, over=data, after=b"")
        self.vault.delete(path)

    def restore_from_trash(self) -> None:
        if not self.trash:
            return
        path, data = self.trash.pop()
        if not self.vault._find(path):
            self.save(path, data)

    def break_yaml(self, path: str) -> None:
        data = self.data(path)
        if path not in self.half and texts.id_of(data):
            made = texts.break_yaml(data)
            self.save(path, made)
            self.broken[path] = made

    def mend_yaml(self, path: str) -> None:
        data = texts.mend_yaml(self.broken.pop(path))
        self.save(path, data)

    def tick(self, path: str) -> None:
        """A person ticks all boxes of a conflict note."""
        data = self.data(path)
        self.ledger.at_least_kept(words(data))
        for record in self.archive.conflicts():
            note = self.vault._find(record.path)
            if record.conflict_path == path and note:
                self.ledger.at_least_kept(words(self.data(note)))
        self.clock.advance(0.002)
        self.vault.save_in_place(path, data.replace(b"- [ ]", b"- [x]"))
        self.ledger.story.append(f"person ticks {path}")

    def dismiss(self, path: str) -> None:
        """A person deletes a conflict note."""
        self.ledger.at_least_kept(words(self.data(path)))
        self.clock.advance(0.002)
        self.vault.delete(path)
        self.ledger.story.append(f"person dismisses {path}")

    def command(self, take: str) -> None:
        """A person settles the oldest conflict by a command."""
        found = self.archive.conflicts()
        if not found:
            return
        conflict = found[0]
        self.ledger.at_least_kept(words(repr(conflict.fields)))
        everything = tuple(each.field for each in conflict.fields)
        self.ledger.story.append(f"person settles {conflict.id}: {take}")
        with suppress(StoreUnavailableError, VaultMissingError, OSError):
            settle(self.mirror, Verdict(conflict, take, everything))

    # --- agents ------------------------------------------------------------------------

    def remember(self, values: Mapping[str, Value]) -> str | None:
        """An agent writes a new fact."""
        self.clock.advance(0.002)
        given = {"scope": "public", **values}
        try:
            fact = facts.remember(self.mirror, given, agent=AGENT)
        except StoreUnavailableError:
            return None
        text = wire.to_json(fact)
        self.ledger.wrote(f"agent makes {fact.id}", saw="", over="", after=text)
        return fact.id

    def update(self, fact_id: str, change: Callable[[Fact], Mapping[str, Value]]) -> None:
        """An agent changes a fact."""
        self.clock.advance(0.002)
        try:
            saw = facts.get(self.mirror, fact_id, agent=AGENT)
        except (StoreUnavailableError, LookupError, facts.FactNotFoundError):
            return
        values = change(saw)
        before, wanted = wire.to_json(saw), wire.to_json(saw.changed(values))
        try:
            facts.update(self.mirror, fact_id, values, agent=AGENT)
        except (StoreUnavailableError, facts.FactNotFoundError):
            return
        who = f"agent changes {fact_id}"
        self.ledger.wrote(who, saw=before, over=before, after=wanted)

    def touch(self, fact_id: str) -> None:
        """An agent writes the same again."""
        row = self.store._rows[fact_id]
        fact = self.facts()[fact_id]
        with suppress(StoreUnavailableError):
            write = Write(fact_id, fact, row.written.revision, AGENT)
            assert not isinstance(self.store.write([write])[0], RevisionMismatch)

    def forget(self, fact_id: str) -> None:
        """An agent deletes a fact."""
        self.clock.advance(0.002)
        try:
            saw = facts.get(self.mirror, fact_id, agent=AGENT)
            facts.forget(self.mirror, fact_id, agent=AGENT)
        except (StoreUnavailableError, facts.FactNotFoundError):
            return
        text = wire.to_json(saw)
        self.ledger.wrote(f"agent deletes {fact_id}", saw=text, over=text, after="")

    def unearth(self, fact_id: str) -> None:
        """An agent brings a fact back."""
        with suppress(StoreUnavailableError, facts.FactNotFoundError):
            facts.restore(self.mirror, fact_id, agent=AGENT)
            self.ledger.story.append(f"agent brings back {fact_id}")

    # --- accidents ---------------------------------------------------------------------

    def drop_archive(self) -> None:
        """The archive is lost with all it knew."""
        self.ledger.archive_lost()
        self.ledger.forgive(
            proofs.in_archive(self) - proofs.in_vault(self) - proofs.in_store(self)
        )
        self.vault.displaced.clear()
        self.use_archive(MemoryArchive())
        self.ledger.story.append("the archive is lost")

    def keep_backup(self) -> None:
        self.backup = self.store.snapshot()

    def restore_backup(self) -> None:
        """Somebody puts an old backup of the store in its place."""
        if self.backup is None:
            return
        before = proofs.in_store(self)
        self.store.restore(self.backup)
        gone = before - proofs.in_store(self) - proofs.in_vault(self)
        self.ledger.forgive(gone - proofs.in_conflicts(self))
        self.ledger.story.append("an old store is back")


def with_revision(fact: Fact, revision: str) -> Fact:
    """The fact, as read at a revision."""
    return replace(fact, revision=revision)


def has_words(text: str) -> bool:
    """Whether a text says anything that the ledger knows."""
    return re.search(proofs.WORD, text) is not None
