"""One tape of operations on every kind of store ends in equal vaults and equal answers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.doubles.vectors import MemoryVectors
from tests.qdrants import in_memory, in_process, store_in
from tests.recalls import RecallWorld
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.qdrant.operations import PointCollection
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.backends.qdrant.vectors import QdrantVectors
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.backends.vectors.local import LocalVectors
from vaultsync.errors import GuardError
from vaultsync.facts import service as fact_work
from vaultsync.indexing.ports import VectorIndex
from vaultsync.storage.clock import Clock
from vaultsync.storage.store import Store
from vaultsync.sync.sync_request import SyncRequest

Sides = tuple[Store, VectorIndex]
WORDS = (
    *("harbour", "lamp", "berth", "ledger", "tide", "ferry", "rope", "chart", "anchor"),
    *("buoy", "crane", "pilot", "storm", "signal", "dock", "winch", "mast", "keel"),
)
TYPES = ("note", "decision", "task", "observation", "lesson")
CLOSE = 1e-4
"""Scores that differ by less may come in any order."""


def _qdrant(points: PointCollection, clock: Clock) -> Sides:
    store: QdrantStore = store_in(points, clock)
    return store, QdrantVectors(points, dimension=lambda: HashEmbedder().dimension)


@contextmanager
def _memory(folder: Path, clock: Clock) -> Iterator[Sides]:
    yield MemoryStore(clock), MemoryVectors()


@contextmanager
def _files(folder: Path, clock: Clock) -> Iterator[Sides]:
    store = SqliteStore(folder / "store.sqlite3", clock=clock, create=True)
    vectors = LocalVectors(folder / "vectors")
    yield store, vectors
    vectors.close()
    store.close()


@contextmanager
def _local(folder: Path, clock: Clock) -> Iterator[Sides]:
    points = in_memory(clock=clock)
    yield _qdrant(points, clock)
    points.close()


@contextmanager
def _edge(folder: Path, clock: Clock) -> Iterator[Sides]:
    points = in_process(folder, clock)
    yield _qdrant(points, clock)
    points.close()


@dataclass
class End:
    """How a tape ended."""

    vault: list[tuple[str, bytes]]
    facts: list[str]
    answers: list[list[tuple[str, float]]]


class Tape:
    """The same operations each time, on whatever store."""

    def __init__(self, world: RecallWorld, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed)
        self._known: list[str] = []
        self._dead: list[str] = []
        self._answers: list[list[tuple[str, float]]] = []

    def play(self, length: int) -> End:
        """Do so many operations, and see where that leads."""
        deeds: list[tuple[int, Callable[[], object]]] = [
            (6, self._remember),
            (8, self._update),
            (2, self._supersede),
            (2, self._forget),
            (1, self._restore),
            (5, self._edit),
            (1, self._delete),
            (4, self._sync),
            (2, self._ask),
        ]
        weights, acts = zip(*deeds, strict=True)
        for _ in range(length):
            self._world.clock.advance(self._rng.choice([2, 30, 4_000]))
            self._rng.choices(acts, weights)[0]()
        self._sync()
        self._world.quiesce()
        self._world.assert_equal_sides()
        self._ask()
        facts = [repr(f.evolve(revision="")) for f in self._world.facts()]
        files = self._world.vault.files
        vault = sorted((_named(p), _read(files[p].data)) for p in files)
        return End(vault, facts, self._answers)

    def _sync(self) -> None:
        try:
            self._world.sync()
        except GuardError as stopped:
            self._world.sync(SyncRequest(confirm=stopped.run))

    def _text(self) -> str:
        lines = [" ".join(self._rng.choices(WORDS, k=6)) for _ in range(3)]
        return "\n\n".join(f"{line.capitalize()}." for line in lines)

    def _alive(self, ids: list[str]) -> list[str]:
        found = self._world.store.find_many(ids)
        return [each for each in ids if each in found]

    def _some(self) -> str | None:
        alive = self._alive(self._known)
        return self._rng.choice(alive) if alive else None

    def _remember(self) -> None:
        if len(self._known) - len(self._dead) > 40:
            self._forget()
        fact = self._world.agent_remembers(
            self._text(),
            title=" ".join(self._rng.choices(WORDS, k=3)),
            type=self._rng.choice(TYPES),
            tags=self._rng.choices(WORDS, k=2),
            priority=self._rng.randrange(4),
        )
        self._known.append(fact.id)

    def _update(self) -> None:
        if (fact_id := self._some()) is not None:
            lines = self._world.fact(fact_id).content.split("\n\n")
            lines[-1] = f"{lines[-1]} And {self._rng.choice(WORDS)}."
            self._world.agent_updates(
                fact_id, content="\n\n".join(lines), tags=self._rng.choices(WORDS, k=2)
            )

    def _supersede(self) -> None:
        if (fact_id := self._some()) is not None:
            fact = self._world.fact(fact_id)
            if fact.superseded_by_id is None:
                self._known.append(self._world.supersedes(fact_id, self._text()).id)

    def _forget(self) -> None:
        if (fact_id := self._some()) is not None:
            self._world.agent_forgets(fact_id)
            self._dead.append(fact_id)

    def _restore(self) -> None:
        alive = self._alive(self._dead)
        dead = [each for each in self._dead if each not in alive]
        if dead:
            fact_id = self._rng.choice(dead)
            fact_work.restore(self._world.ctx, fact_id, agent="indy")

    def _edit(self) -> None:
        if notes := self._world.notes():
            path = self._rng.choice(notes)
            text = self._world.text(path)
            word = self._rng.choice(WORDS)
            self._world.person_writes(path, text.replace(word, word.upper(), 1))

    def _delete(self) -> None:
        if notes := self._world.notes():
            self._world.person_deletes(self._rng.choice(notes))

    def _ask(self) -> None:
        self._world.embed()
        for mode in ("vector", "fused"):
            question = " ".join(self._rng.choices(WORDS, k=3))
            found = self._world.ask(question, mode=mode, limit=8)
            assert not found.degraded
            self._answers.append([(hit.id, hit.score) for hit in found])


def _named(path: str) -> str:
    """A path without the id of a conflict."""
    return re.sub(r"(\.[0-9a-f]{8})?\.conflict\.md$", ".conflict.md", path)


def _read(data: bytes) -> bytes:
    """A file without the id of a conflict, which is made of the store's revision."""
    return re.sub(rb'conflict: "[0-9a-f]+"|resolve [0-9a-f]{16}', b"conflict", data)


def _play(make: Callable[..., object], folder: Path, length: int, seed: int) -> End:
    folder.mkdir()
    world = RecallWorld()
    with make(folder, world.clock) as (store, vectors):  # type: ignore[attr-defined]
        world.store, world.vectors = store, vectors
        world.ctx = replace(world.ctx, store=store)
        return Tape(world, seed).play(length)


def _same_answers(one: End, other: End) -> None:
    assert len(one.answers) == len(other.answers)
    for ours, theirs in zip(one.answers, other.answers, strict=True):
        scores = dict(theirs)
        # Of what stands at the edge, equals may be in the one and not in the other.
        edge = min((score for _, score in ours), default=0.0) + CLOSE
        assert {key for key, score in ours if score > edge} <= scores.keys()
        assert {key for key, score in theirs if score > edge} <= dict(ours).keys()
        place = {key: at for at, (key, _) in enumerate(theirs)}
        for at, (key, score) in enumerate(ours):
            if key in scores:
                assert score == pytest.approx(scores[key], abs=CLOSE)
            for after, less in ours[at + 1 :]:
                if score - less > CLOSE and {key, after} <= place.keys():
                    assert place[key] < place[after]


def _compare(folder: Path, length: int, seed: int) -> None:
    reference = _play(_memory, folder / "memory", length, seed)
    assert len(reference.vault) > 5
    for name, make in {"files": _files, "local": _local, "edge": _edge}.items():
        end = _play(make, folder / name, length, seed)
        assert end.facts == reference.facts, name
        assert end.vault == reference.vault, name
        _same_answers(reference, end)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.long(2)
def test_a_short_tape_ends_the_same_on_every_store(tmp_path: Path, seed: int) -> None:
    _compare(tmp_path, 80, seed)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_tape_of_2000_operations_ends_the_same_on_every_store(tmp_path: Path) -> None:
    _compare(tmp_path, 2_000, 7)
