"""How much is done for each note of a mass run: counts, which no busy machine changes.

The bench measures times, and is run by hand; what takes time is counted here at each run of the
tests. A limit that is exceeded says that something is done twice, or one by one: find out what,
and raise the limit only where the work is worth its time in `make bench`.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import Mock

import pytest

from tests.bench import corpus
from tests.bench.worlds import World, notes_in, with_facts
from vaultsync.backends.tantivy.index import TantivyIndex

pytestmark = pytest.mark.long(5)

NOTES = 200
_OURS = f"{Path(__file__).parents[2] / 'vaultsync'}/"
_KINDS = {
    "read": "reads of files",
    "write": "writes of files",
    "openssl_sha256": "hashes",
    "Compress.flush": "texts packed",
    "compress": "texts packed",
    "Encoder.encode": "values written as JSON",
    "Decoder.decode": "values read from JSON",
    "_loads": "YAML read",
}


class Work:
    """Counts what is called, and the statements of SQL, those of triggers among them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        connect = sqlite3.connect

        def connected(*given: Any, **named: Any) -> sqlite3.Connection:  # noqa: ANN401
            db: sqlite3.Connection = connect(*given, **named)
            db.set_trace_callback(lambda _: self.counts.update(["statements"]))
            return db

        patch.setattr(sqlite3, "connect", connected)

    def of(self, act: Callable[[], object]) -> dict[str, float]:
        """What an act does for each of the notes, in all of its threads."""
        self.counts.clear()
        threading.setprofile(self._count)
        sys.setprofile(self._count)
        try:
            act()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return {what: number / NOTES for what, number in self.counts.items()}

    def _count(self, frame: FrameType, event: str, called: Any) -> None:  # noqa: ANN401
        if event == "call":
            self.counts["calls"] += frame.f_code.co_filename.startswith(_OURS)
        elif event == "c_call" and called.__qualname__ in _KINDS:
            self.counts[_KINDS[called.__qualname__]] += 1


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    # A run that takes longer than this removes the files that it has displaced itself.
    monkeypatch.setattr("vaultsync.sync.recovery.OPENING_SECONDS", 3600.0)
    return Work(monkeypatch)


def _exceeded(found: Mapping[str, float], most: Mapping[str, float]) -> dict[str, float]:
    return {what: number for what, number in found.items() if number > most[what]}


@pytest.mark.parametrize(("reads", "calls"), [(0.1, 271), (1.1, 285)])
def test_a_first_run_does_little_for_each_note(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: float, calls: int
) -> None:
    """Also if each note was written in the last tick of the clock, so that it is read again."""
    trusted = "vaultsync.sync.apply.trusted_stamp"
    monkeypatch.setattr(trusted, lambda stamp, _: None if reads > 1 else stamp)
    world = with_facts(tmp_path, NOTES)
    with world.open() as memory:
        found = work.of(memory.sync)
    assert len(notes_in(world.vault)) == NOTES
    assert not _exceeded(
        found,
        {
            "calls": calls,
            "statements": 6.6,  # intent, its end, bytes, base, move, history
            "reads of files": reads,
            "writes of files": 1.1,
            "hashes": 2.1,
            "texts packed": 2.1,  # note and fact
            "values written as JSON": 5.1,  # fact and intent, base, two of the history
            "values read from JSON": 1.1,
        },
    )


def test_a_rebuild_does_little_for_each_note(work: Work, tmp_path: Path) -> None:
    world = with_facts(tmp_path, NOTES)
    with world.open() as memory:
        memory.sync()
    world.lose_archive()
    with world.open() as memory:
        found = work.of(memory.sync)
        assert memory.status().facts == NOTES
    assert not _exceeded(
        found,
        {
            "calls": 88,
            "statements": 3.6,  # bytes, base, move
            "reads of files": 1.1,
            "writes of files": 0.1,
            "hashes": 1.1,
            "texts packed": 2.1,
            "values written as JSON": 1.1,
            "values read from JSON": 1.1,
        },
    )


def test_an_adopt_does_little_for_each_note(work: Work, tmp_path: Path) -> None:
    world = World(tmp_path)
    corpus.write_notes(world.vault, NOTES)
    with world.open() as memory:
        found = work.of(memory.adopt)
        assert memory.status().facts == NOTES
    assert not _exceeded(
        found,
        {
            "calls": 358,
            "statements": 10.6,
            "reads of files": 4.1,  # before and behind the exchange, and the displaced file
            "writes of files": 1.1,
            "hashes": 5.1,
            "texts packed": 3.1,  # note before and after, and the fact
            "values written as JSON": 7.1,
            "values read from JSON": 0.1,
            "YAML read": 2.1,  # the note, and the proof of what is written
        },
    )


def test_a_run_with_nothing_to_do_does_nothing_for_a_note(work: Work, tmp_path: Path) -> None:
    world = with_facts(tmp_path, NOTES)
    with world.open() as memory:
        for _ in range(3):  # the first runs after writing still move stamps
            memory.sync()
        found = work.of(memory.sync)
    assert not _exceeded(found, dict.fromkeys(found, 0.2) | {"calls": 2.2})


def test_an_unchanged_memory_file_does_nothing_for_a_section(work: Work, tmp_path: Path) -> None:
    world, file = World(tmp_path), tmp_path / "MEMORY.md"
    sections = (f"## {corpus.title(number)}\n\nSaid once.\n" for number in range(NOTES))
    file.write_text("# Memory\n\n" + "\n".join(sections), encoding="utf-8")
    with world.open() as memory:
        assert memory.sync_memory_file(file).counts["created"] == NOTES
        memory.sync_memory_file(file)  # the first run after writing still moves stamps
        found = work.of(lambda: memory.sync_memory_file(file))
        assert not _exceeded(found, dict.fromkeys(found, 0.2) | {"calls": 8})
        note = notes_in(world.vault)[0]
        text = note.read_text(encoding="utf-8")
        note.write_text(text.replace("Said once.", "Said twice."), encoding="utf-8")
        memory.sync_memory_file(file)
        assert [x.content for x in memory.list(limit=NOTES).facts].count("Said twice.") == 1


def test_a_question_looks_seldom_whether_the_index_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, looks, look = with_facts(tmp_path, 20), Mock(return_value=None), TantivyIndex._stamps
    with world.open(derived=True) as memory:
        memory.index()
        monkeypatch.setattr(TantivyIndex, "_stamps", lambda index: looks() or look(index))
        assert memory.recall(" ".join(corpus.WORDS[:5]), mode="index").hits
    # For the stems of the question, before the index is updated, and after that.
    assert looks.call_count <= 3


def test_a_purge_makes_only_the_note_index_again(work: Work, tmp_path: Path) -> None:
    world = with_facts(tmp_path, NOTES)
    with world.open(derived=True) as memory:
        memory.sync()
        memory.index()
        found = work.of(lambda: memory.purge(corpus.fact_id(1)))
    assert not _exceeded(
        found,
        dict.fromkeys(found, 0.2)
        | {
            "calls": 235,  # the note index discards its files
            "statements": 2.5,
            "values written as JSON": 1.5,  # searched for quotations
            "values read from JSON": 5.5,
        },
    )
