"""Every sequence of a few deeds, with equal states merged, as a model checker does.

A state is all that a later run may depend on: files, store and archive. Ids, hashes, words and
times are replaced by the order in which they appear, so that states that differ only in these are
equal. Only the newest part of the history counts, which keeps the number of states small.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias, TypeVar

from tests.doubles.sqlite import MemoryLinks
from tests.proofs import agents, texts
from tests.proofs import ledger as proofs
from tests.proofs.world import AGENT, Crash, World
from vaultsync import errors
from vaultsync.facts import service as facts
from vaultsync.model import serialization as wire
from vaultsync.model.paths import VaultPath
from vaultsync.operations.purge import PurgeParts, purge_facts
from vaultsync.operations.relink import sync_and_relink
from vaultsync.operations.settle_copies import KEEP, open_copies, settle_copy
from vaultsync.operations.undo import undo_run
from vaultsync.storage.archive import COPY_FIELD
from vaultsync.storage.erasure import Remnant, Traces
from vaultsync.sync.report import Report
from vaultsync.sync.sync_request import SyncRequest

FOLDER, OTHER_FOLDER = "public/notes", "public/decisions"
BOARD = "Plan.canvas"
COPY_MARK = ".sync-conflict-20300101-120000-ABCDEFG.md"
"""The end of the name of a conflict copy that Syncthing made."""
T = TypeVar("T")
WORKING_RUNS = 3
"""Maximum number of runs that have something to do, once nothing else happens."""


class Everything:
    """All places of a purge: it erases archive and store, and its search finds nothing."""

    def __init__(self, world: World) -> None:
        self._world = world

    def erase(self, traces: Traces) -> Mapping[str, int]:
        archive, store, ids = self._world.archive, self._world.store, traces.fact_ids
        with archive.transaction():
            rows = archive._rows
            used = {base.sha for key, base in rows.bases.items() if key not in ids}
            for some in (rows.bases, rows.moves):
                _drop(some, lambda key, _: key in ids)
            _drop(rows.blobs, lambda sha, data: sha not in used and traces.mentions(data))
            for waiting in (rows.intents, rows.displaced_files, rows.outbox, rows.conflicts):
                _drop(waiting, lambda _, row: row.fact_id in ids)
            _drop(rows.notices, lambda path, some: traces.mentions(f"{path} {some}"))
            rows.history = [
                each
                for each in rows.history
                if each.fact_id not in ids and not traces.mentions(f"{each.before} {each.after}")
            ]
        _drop(store._replaced, lambda _, row: row.feed_row.fact_id in ids)
        for key in ids & store._rows.keys():
            store.erase_text(key)
        return {}

    def find(self, traces: Traces, *, erased: bool) -> Iterator[Remnant]:
        return iter(())

    def fact_ids(self) -> tuple[str, ...]:
        return ()

    def begin(self, fact_ids: object, *, deleted: bool = False) -> None:
        """Do nothing: a purge is never interrupted here."""

    def were_deleted(self) -> bool:
        return False

    def end(self) -> None:
        """Do nothing, as at the beginning."""


def _drop(rows: dict, wanted: Callable[..., bool]) -> None:  # type: ignore[type-arg]
    for key in [key for key, row in rows.items() if wanted(key, row)]:
        del rows[key]


class StateWorld(World):
    """A world that can be copied, and that compares what each run says with what it did."""

    def __init__(self) -> None:
        super().__init__()
        self.purged: set[str] = set()
        """Words that must be nowhere any more."""
        self.copies: set[str] = set()
        """The hashes of the conflict copies that came: an undo can put back what is gone."""
        self.dies_at = 0
        """The number of the effect of the next deed before which the process ends; 0 for none."""

    def fork(self) -> StateWorld:
        """An equal world that shares nothing with this one."""
        new = StateWorld()
        new.clock._passed = self.clock._passed
        bits = random.Random(0)
        bits.setstate(self.clock._ids._random_bits.__self__.getstate())  # type: ignore[attr-defined]
        new.clock._ids._random_bits = bits.getrandbits
        new.clock._ids._at, new.clock._ids._count = self.clock._ids._at, self.clock._ids._count
        for name in ("owed", "story", "made"):
            value = getattr(self.ledger, name)
            setattr(new.ledger, name, value if isinstance(value, int) else value.copy())
        inodes = {id(i): replace(i) for i in self.vault.names.values()}
        new.vault.names = {name: inodes[id(i)] for name, i in self.vault.names.items()}
        for name in ("folders", "displaced", "held", "written"):
            setattr(new.vault, name, getattr(self.vault, name).copy())
        new.vault._inodes = self.vault._inodes
        new.store.restore(self.store.snapshot())
        new.store._writes = self.store._writes
        new.archive._rows = self.archive._rows.copy()
        for name in ("trash", "scopes", "not_durable", "purged", "copies"):
            setattr(new, name, getattr(self, name).copy())
        return new

    def run(self, work: Callable[[], T], at: Mapping[int, Callable[[], None]] | None = None) -> T:
        """Run the engine, and end the process if that is due."""
        at = {self.dies_at: self.die} if self.dies_at else at
        self.dies_at = 0
        return super().run(work, at)

    # --- what runs say, and do

    def _pass(self, request: SyncRequest | None) -> Report:
        before = self._notes(), self._alive(), self._paths()
        is_alone = not (self.at or self.archive.intents())
        conflicts = {each.id for each in self.archive.conflicts()}
        report = super()._pass(request)
        settled = conflicts - {each.id for each in self.archive.conflicts()}
        if is_alone and not settled:
            self._compare(report, *before)
        return report

    def _notes(self) -> dict[str, bytes]:
        return {path: self.data(path) for path in self.notes()}

    def _alive(self) -> dict[str, str]:
        rows = self.store._rows.items()
        return {key: row.feed_row.revision for key, row in rows if not row.feed_row.deleted}

    def _paths(self) -> dict[str, str]:
        bases = self.archive.iter_bases()
        return {base.fact.id: base.path for base in bases if not base.missing_since}

    def _compare(
        self, report: Report, notes: dict[str, bytes], alive: dict[str, str], paths: dict[str, str]
    ) -> None:
        """Nothing is deleted without a cause, and the report counts what happened."""
        now, living = self._notes(), self._alive()
        said = f"{[(each.action, each.path, each.reason) for each in report.actions]}"
        ids = {path: texts.id_of(data) for path, data in notes.items()}
        for key in alive.keys() - living.keys():
            claims = [path for path, other in ids.items() if other == key]
            path = paths.get(key, "")
            # Its note may have lost its id, or have that of another note, which is at its path.
            owner = ids.get(path) or ""
            if path in ids and (not owner or ids.get(paths.get(owner, "")) == owner):
                claims.append(path)
            assert not claims, f"deleted {key}, the fact of {claims}: {said}\n{self.tell()}"
        shown = {texts.id_of(data) for data in now.values()}
        at = {path: key for key, path in paths.items()}
        for path in notes.keys() - now.keys():
            key = ids[path] or at.get(path, "")
            kept = key in shown or notes[path] in now.values()
            assert kept or key not in alive, f"removed {path}: {said}\n{self.tell()}"
        counts = report.counts
        in_vault = counts["created_in_vault"] - counts["deleted_in_vault"]
        assert {
            "created": len(living.keys() - alive.keys()),
            "deleted": len(alive.keys() - living.keys()),
            "updated": sum(living.get(key, old) != old for key, old in alive.items()),
            "notes": len(now) - len(notes),
        } == {
            "created": counts["created_in_store"],
            "deleted": counts["deleted_in_store"],
            "updated": counts["updated_in_store"],
            "notes": in_vault,
        }, f"{counts}: {said}\n{self.tell()}"
        changed = {path for path in now.keys() & notes.keys() if now[path] != notes[path]}
        silent = changed - {each.path for each in report.actions}
        assert not silent, f"changed {silent}: {said}\n{self.tell()}"

    def check_words(self) -> None:
        """No word that is due is nowhere, and no purged one is anywhere."""
        found = proofs.in_vault(self) | proofs.in_staging(self) | proofs.in_store(self)
        found |= proofs.in_conflicts(self) | proofs.in_archive(self)
        lost = (self.ledger.due(proofs.SEEN) | self.ledger.due(proofs.KEPT)) - found
        assert not lost, f"lost {sorted(lost)}\n{self.tell()}"
        assert not found & self.purged, f"back {sorted(found & self.purged)}\n{self.tell()}"
        told = [x.before for x in self.archive.history(field=COPY_FIELD)]
        known = {each["sha"] for each in told if isinstance(each, dict)}
        known |= {inode.sha for inode in self.vault.names.values()}
        gone = self.copies - known
        assert not gone, f"no undo puts back {gone}\n{self.tell()}"

    def settle(self, settled: dict[bytes, int]) -> None:
        """Sync until nothing is left to do, or a state is met from which this was tried.

        `settled` has the number of runs with something to do that these states need.
        """
        path: list[tuple[bytes, int]] = []
        needed = None
        while needed is None and len(path) < WORKING_RUNS:
            self.check_words()
            self.clock.advance(self.policy.linger_seconds + 1)
            report = self.turn()
            state = fingerprint(self)
            path.append((state, not report.quiet if report else 1))
            needed = settled.get(state)
        self.check_words()
        if needed is None:
            self.quiesce()
            self.check_words()
            needed = self.worked
        for state, worked in reversed(path):
            settled[state] = needed
            needed += worked
        assert needed <= WORKING_RUNS, f"{needed} runs\n{self.tell()}"

    # --- further deeds

    def purge(self, fact_id: str) -> None:
        """Erase a fact; words that are also in other texts stay there."""
        synced = self.fork()  # a purge begins with a sync, which may find other notes of the fact
        with suppress(errors.GuardError):
            synced.sync()
        words = self._words_of(fact_id) | synced._words_of(fact_id)
        place = Everything(self)
        parts = PurgeParts([], dict, [place], place, place, [])
        with suppress(errors.FactNotFoundError, errors.GuardError):
            purge_facts(self.ctx, [fact_id], parts)
            bodies = (row.body or "" for row in self.store._rows.values())
            others = [*self.archive.conflicts(closed=True), *self.archive.history(), *bodies]
            self.purged |= words - proofs.words(repr(others)) - proofs.in_vault(self)
            self.ledger.forgive(words)
            self.ledger.at_least_kept([*self.ledger.owed])
            self.trash = [x for x in self.trash if not proofs.words(x[1]) & words]
            self.vault.displaced.clear()

    def _words_of(self, fact_id: str) -> set[str]:
        row, base = self.store._rows.get(fact_id), self.archive.find_base(fact_id)
        found = proofs.words(repr([row, base, self.archive.history(fact_id=fact_id)]))
        for path in self.notes_by_id().get(fact_id, []):
            found |= proofs.words(self.data(path))
        return found

    def supersede(self, fact_id: str) -> None:
        with suppress(errors.FactNotFoundError, errors.SupersededError):
            text = f"Newer {self.ledger.word()}."
            fact = facts.supersede(self.ctx, fact_id, text, agent=AGENT)
            self.ledger.wrote("agent supersedes", saw="", over="", after=wire.fact_to_json(fact))

    def undo(self) -> None:
        """Undo the last run, unless that was an undo."""
        last = next(iter(self.archive.runs(limit=1)), None)
        if last is not None and not last.kind.startswith("undo"):
            self.ledger.at_least_kept([*self.ledger.owed])
            with suppress(errors.RunNotFoundError, errors.PurgeNotUndoneError, errors.GuardError):
                self.run(lambda: undo_run(self.ctx, last.run))

    def copy_comes(self, path: str) -> None:
        """A sync tool adds a copy of a note, in which another machine has changed a line."""
        self.copy(path, path.replace(".md", COPY_MARK))
        self.edit(path.replace(".md", COPY_MARK), texts.change_line)
        self.copies.add(self.vault.names[path.replace(".md", COPY_MARK)].sha)

    def settle_copy(self, take: str) -> None:
        """Settle a conflict copy, if there is one."""
        path = next((each.path for each in open_copies(self.ctx)), None)
        if path is None:
            return
        if take == KEEP:
            self.copies.clear()
        else:
            self.ledger.at_least_kept(proofs.words(self.data(path)))
        self.run(lambda: settle_copy(self.ctx, VaultPath(path), take=take))

    def relink(self) -> None:
        """Sync, and let the links follow the notes that moved."""
        self.run(lambda: sync_and_relink(self.ctx, MemoryLinks()))

    def sync_some(self, request: SyncRequest) -> None:
        with suppress(errors.GuardError):  # it asks to confirm what the next run does
            self.sync(request)


# --- deeds

Deed: TypeAlias = Callable[[StateWorld], object]
_ID = re.compile(rb"(?m)^id: .*\n")


def _with_id(data: bytes, fact_id: str) -> bytes:
    line = f"id: {fact_id}\n".encode()
    return _ID.sub(line, data, count=1) if texts.id_of(data) else texts._set(data, "id", fact_id)


def _take_id(world: StateWorld, path: str, other: str) -> None:
    fact_id = texts.id_of(world.data(other))
    if fact_id is not None:
        world.save(path, _with_id(world.data(path), fact_id))


def _move_over(world: StateWorld, path: str, other: str) -> None:
    world.delete(other)
    world.rename(path, other)


def _swap(world: StateWorld, path: str, other: str) -> None:
    world.rename(path, "swap.md")
    world.rename(other, path)
    world.rename("swap.md", other)


UNKNOWN_ID = "0193f6c2-1111-7000-8000-00000000abcd"
WITH_NOTE: Mapping[str, Callable[[StateWorld, str], object]] = {
    "edits": lambda world, path: world.edit(path, texts.change_line),
    "appends": lambda world, path: world.edit(path, texts.append),
    "sets status": lambda world, path: world.edit(path, texts.status),
    "deletes": lambda world, path: world.delete(path),
    "renames": lambda world, path: world.rename(path, f"{FOLDER}/Other.md"),
    "moves": lambda world, path: world.rename(path, f"{OTHER_FOLDER}/{path.rpartition('/')[2]}"),
    "copies": lambda world, path: world.copy(path, f"{FOLDER}/Copy.md"),
    "copies to": lambda world, path: world.copy(path, f"{OTHER_FOLDER}/{path.rpartition('/')[2]}"),
    "removes id": lambda world, path: world.save(path, _ID.sub(b"", world.data(path), count=1)),
    "sets id": lambda world, path: world.save(path, _with_id(world.data(path), UNKNOWN_ID)),
}
"""What a person does with a note."""
WITH_TWO: Mapping[str, Callable[[StateWorld, str, str], object]] = {
    "sets other id": _take_id,
    "moves over": _move_over,
    "copies over": lambda world, path, other: world.save(other, world.data(path)),
    "swaps": _swap,
}
"""What a person does with a note and another one."""
WITH_FACT: Mapping[str, Callable[[StateWorld, str, str], object]] = {
    "updates": lambda world, key, word: world.update(key, lambda x: agents.first_line(x, word)),
    "retitles": lambda world, key, word: world.update(key, lambda x: agents.title(x, word)),
    "retypes": lambda world, key, _: world.update(
        key, lambda x: {"type": "note" if x.type == "decision" else "decision"}
    ),
    "forgets": lambda world, key, _: world.forget(key),
    "restores": lambda world, key, _: world.unearth(key),
    "purges": lambda world, key, _: world.purge(key),
    "supersedes": lambda world, key, _: world.supersede(key),
    "syncs": lambda world, key, _: world.sync_some(SyncRequest.for_facts([key], "update")),
}
"""What an agent does with a fact."""


def _answer(world: StateWorld, answer: Callable[[str], object]) -> None:
    for path in world.conflict_notes()[:1]:
        answer(path)


ALONE: Mapping[str, Deed] = {
    "undeletes": lambda world: world.restore_from_trash(),
    "remembers": lambda world: world.plan(title="Alpha"),
    "remembers at once": lambda world: world.plan(title="Alpha", at_once=True),
    "syncs all": lambda world: world.turn(),
    "syncs folder": lambda world: world.sync_some(
        SyncRequest(folders=frozenset({VaultPath(FOLDER)}))
    ),
    "undoes": lambda world: world.undo(),
    "ticks": lambda world: _answer(world, world.tick),
    "dismisses": lambda world: _answer(world, world.dismiss),
    "takes vault": lambda world: world.command("vault"),
    "takes store": lambda world: world.command("store"),
}
"""The runs, and what concerns no single note."""


RARE: Mapping[str, Deed] = {
    "a copy comes": lambda world: world.copy_comes(world.notes()[0]),
    "merges copy": lambda world: world.settle_copy("merge"),
    "keeps copy": lambda world: world.settle_copy("keep"),
    "drops copy": lambda world: world.settle_copy("drop"),
    "draws": lambda world: world.vault.save_in_place(
        BOARD, json.dumps({"nodes": [{"type": "file", "file": world.notes()[0]}]}).encode()
    ),
    "relinks": lambda world: world.relink(),
}
"""What is tried only in a few situations."""


def do(world: StateWorld, name: str) -> None:
    """Do what a name says: `edits 0` is the first of the deeds with the first note.

    `crashes at 3 in undoes` ends the process before the third effect of an undo.
    """
    deed, _, during = name.partition(" in ")
    what, _, which = deed.rpartition(" ")
    world.clock.advance(2)
    if name in (alone := {**ALONE, **RARE}):
        alone[name](world)
    elif what == "crashes at":
        world.dies_at = int(which)
        with suppress(Crash):
            do(world, during or "syncs all")
        world.dies_at = 0
    elif what in WITH_FACT:
        for key in sorted(world.store._rows)[int(which) : int(which) + 1]:
            WITH_FACT[what](world, key, world.ledger.word())
    else:
        notes = world.notes()
        for path in notes[int(which) : int(which) + 1]:
            if what in WITH_NOTE:
                WITH_NOTE[what](world, path)
            elif other := next((each for each in notes if each != path), None):
                WITH_TWO[what](world, path, other)


def names(*, crashes: int = 0) -> list[str]:
    """The names of all deeds, and of a crash before each of the first `crashes` effects."""
    each = [f"{what} {n}" for what in (*WITH_NOTE, *WITH_TWO, *WITH_FACT) for n in (0, 1)]
    return [*each, *ALONE, *(f"crashes at {n}" for n in range(1, crashes + 1))]


# --- states

_TOKEN = re.compile(
    r"(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|(?P<sha>\b[0-9a-f]{64}\b)"
    r"|(?P<op>\b[0-9a-f]{32}\b)|(?P<word>w\d+w)|(?P<revision>\b\d+-[0-9a-f]{8}\b)"
    r"|(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?)|(?P<short>\b[0-9a-f]{6,12}\b)"
)
_VOLATILE = ("cursor", "cursor_row", "summary_run")
_NEWEST = 4
"""Number of newest removals and creations in the history that count."""


def fingerprint(world: StateWorld) -> bytes:
    """A hash of all that later runs may depend on; equal for states that differ only in names."""
    rows, store = world.archive._rows, world.store._rows
    stamps = {base.path: base.stamp for base in rows.bases.values()}
    staged, notes = [], []
    for path, inode in sorted(world.vault.names.items()):
        text = inode.data.decode(errors="replace")
        if path.startswith(".meta/staging/"):
            staged.append(text)
        elif path != ".meta/sync-state.json":
            notes.append((path, text, stamps.get(VaultPath(path)) == inode.stamp))
    listed = world.vault.scan().folders
    cursor = int(rows.settings.get("cursor") or 0)
    now = world.clock.now().timestamp()
    events = [x for x in rows.history if x.field in ("note", "fact")][-_NEWEST:]
    state = [
        *(notes, staged, [(k, v) for k, v in rows.settings.items() if k not in _VOLATILE]),
        [
            (row.feed_row._replace(seq=0), row.body, row.op, row.feed_row.seq > cursor)
            for row in sorted(store.values(), key=lambda row: row.feed_row.fact_id)
        ],
        [row.body for row in world.store._replaced.values()],
        [
            (
                *(wire.fact_to_json(base.fact), base.fact.revision, base.path),
                *(rows.blobs.get(base.sha), base.stamp is None, base.missing_since is None),
            )
            for _, base in sorted(rows.bases.items())
        ],
        [(path, rows.folders.get(path) == each.fingerprint) for path, each in listed.items()],
        [(path, mark == b"") for path, mark in sorted(rows.folders.items())],
        [[*rows.intents.values()], [(x.path, x.due <= now) for x in rows.displaced_files.values()]],
        [(x.fact_id, x.conflict_path, x.outcome, x.fields) for x in rows.conflicts.values()],
        [(x.kind, x.path, x.message) for some in rows.notices.values() for x in some],
        [(x.fact_id, x.before, x.after) for x in events],
        (next((x.kind for x in world.archive.runs(limit=1)), ""), world.trash[-1:]),
    ]
    text = repr(state)
    owed = sorted((word, world.ledger.owed.get(word)) for word in proofs.words(text))
    seen: dict[str, str] = {}

    def named(token: re.Match[str]) -> str:
        kind = token.lastgroup or ""
        return kind if kind == "time" else seen.setdefault(token[0], f"{kind}{len(seen)}")

    return hashlib.sha256(_TOKEN.sub(named, f"{text}{owed}").encode()).digest()


def explore(
    start: StateWorld, deeds: Sequence[str], depth: int, *, first: Sequence[str] = ()
) -> Counter[int]:
    """Do every sequence of deeds, and let each new state settle.

    Args:
        start: the state to begin with.
        deeds: their names.
        depth: maximum length of a sequence.
        first: the deeds that begin a sequence; all if empty.

    Returns:
        The number of new states, by the length of their shortest sequence.
    """
    known, settled = {fingerprint(start)}, dict[bytes, int]()
    found = Counter({0: 1})
    queue = deque([(start, 0)])
    while queue:
        world, length = queue.popleft()
        for name in deeds if length else first or deeds:
            after = world.fork()
            do(after, name)
            state = fingerprint(after)
            if state in known:
                continue
            known.add(state)
            found[length + 1] += 1
            after.fork().settle(settled)
            if length + 1 < depth:
                queue.append((after, length + 1))
    return found


def begin(story: str, *, count: int = 2) -> StateWorld:
    """A world with some synced facts, after some deeds, divided by commas."""
    world = StateWorld()
    for title in ("Alpha", "Beta")[:count]:
        world.plan(title=title)
    for name in ["syncs all"] * 3 + [each.strip() for each in story.split(",") if each]:
        world.clock.advance(60)
        do(world, name)
    return world
