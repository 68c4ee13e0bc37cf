"""Many processes write what is known about one repository, some die, and a person edits it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import vaultsync
from tests.gits import GitFolder
from vaultsync.api.memory import Memory
from vaultsync.errors import FactForgottenError

pytestmark = pytest.mark.long(5)

WRITER = """
import sys
import vaultsync
from vaultsync.errors import LockTimeoutError
with vaultsync.open() as memory:
    repos = memory.repos
    for number in range(int(sys.argv[2])):
        name = f"{sys.argv[1]}-{number}"
        kinds = [
            lambda: repos.append_summary("run", name, f"Did {name}."),
            lambda: repos.upsert_convention(title=f"Shared {number % 40}", content=f"By {name}."),
            lambda: repos.upsert_decision(summary=f"Decided {name}", impacted_paths=["src/"]),
            lambda: repos.add_note(content=f"Noted {name}."),
            lambda: repos.upsert_convention(title=f"Of {sys.argv[1]}", content=f"At {number}."),
        ]
        while True:
            try:
                done = kinds[number % 5]()
            except LockTimeoutError:  # the only error that a caller has to expect
                continue
            print(number, done.id, flush=True)
            break
"""
"""Mixed writes; each line that it prints is a write that was acknowledged."""
QUIET = 5
"""Conventions that only the person edits, in their notes."""


class Written(NamedTuple):
    """A write that was acknowledged."""

    process: str
    number: int
    fact_id: str

    @property
    def says(self) -> str:
        """What its fact says, unless it may have been written again."""
        name = f"{self.process}-{self.number}"
        return {0: f"Did {name}.", 2: f"Decided {name}", 3: f"Noted {name}."}[self.number % 5]


class Person:
    """Edits `memory.json` and notes as editors do: without a lock, by renaming."""

    def __init__(self, file: Path, notes: list[Path]) -> None:
        self.file, self.notes, self.edits = file, notes, 0

    def edit(self) -> None:
        self.edits += 1
        found = json.loads(self.file.read_bytes())
        found["notes"].append({"content": f"By hand {self.edits}."})
        self._save(self.file, json.dumps(found, indent=2))
        note = self.notes[self.edits % len(self.notes)]
        self._save(note, note.read_text() + f"\nLine {self.edits}.\n")

    @staticmethod
    def _save(path: Path, text: str) -> None:
        new = path.with_name(f".{path.name}.editor")
        new.write_text(text)
        new.replace(path)


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitFolder:
    git = GitFolder(tmp_path / "app")
    git.commit("README.md", "An app.\n")
    monkeypatch.chdir(git.root)
    return git


@pytest.fixture
def memory(vault: Path, git: GitFolder) -> Iterator[Memory]:
    with vaultsync.open(str(vault)) as memory:
        yield memory


def storm(
    memory: Memory, folder: Path, *, processes: int, writes: int, kills: int, pause: float
) -> None:
    """All of it at once; then nothing that was acknowledged is lost."""
    quiet = [memory.repos.upsert_convention(title=f"Q{n}", content="0") for n in range(QUIET)]
    notes = [memory.settings.root / str(memory.get(each.id).path) for each in quiet]
    place = memory.settings.repos_dir / memory.repos.identity().repo_hash
    person, dice = Person(place / "memory.json", notes), random.Random(1)
    outs: list[Path] = []

    def start() -> subprocess.Popen[bytes]:
        outs.append(folder / f"p{len(outs)}")
        with outs[-1].open("wb") as file:
            words = [sys.executable, "-c", WRITER, outs[-1].name, str(writes)]
            return subprocess.Popen(words, stdout=file)

    running = [start() for _ in range(processes)]
    ends: list[int] = []
    seen = -1
    while running:
        time.sleep(pause)
        written = sum(len(out.read_bytes()) for out in outs)
        if written != seen:  # else a slow machine would do nothing but take edits over
            person.edit()
            seen = written
        ends += [each.returncode for each in running if each.poll() is not None]
        running = [each for each in running if each.returncode is None]
        if kills and running and written > 200:
            kills -= 1
            victim = running.pop(dice.randrange(len(running)))
            victim.kill()
            victim.wait()
            running.append(start())
    assert set(ends) == {0}, "an error that is not documented"
    lines = [(out.name, x.split()) for out in outs for x in out.read_text().splitlines()]
    done = [Written(name, int(each[0]), each[1]) for name, each in lines if len(each) == 2]
    memory.sync(max_delete=1_000)  # an older file that is saved forgets what was added since
    nothing_is_lost(memory, done, person, place)


def nothing_is_lost(memory: Memory, done: list[Written], person: Person, place: Path) -> None:
    known = memory.repos.get_repo_memory()
    texts = {x.id: x.summary for x in known.decisions}
    texts |= {x.id: x.summary for x in known.summaries}
    texts |= {x.id: x.content for x in known.conventions}
    texts |= {x.id: x.content for x in known.notes}
    again = {1, 4}  # of one title: the last of them stands
    for each in done:
        if each.fact_id not in texts:  # the person saved a file that did not have it yet
            with pytest.raises(FactForgottenError):
                memory.get(each.fact_id)
            assert memory.restore(each.fact_id)
        elif each.number % 5 not in again:
            assert texts[each.fact_id] == each.says
    # An older file that is saved forgets what was added since, which can be restored.
    contents = {x.content for x in memory._ctx.store.iter_facts(deleted=True)}
    contents |= {x.content for x in known.notes}
    assert {f"By hand {n + 1}." for n in range(person.edits)} <= contents
    for n in range(1, person.edits + 1):
        assert f"Line {n}." in person.notes[n % QUIET].read_text()
        assert any(f"Line {n}." in x.content for x in known.conventions)
    shown = [json.loads(x) for x in (place / "summaries.jsonl").read_bytes().splitlines()]
    assert {x["id"] for x in shown} <= {x.id for x in known.summaries}
    titles = [x.title for x in known.conventions]
    assert len(titles) == len(set(titles))
    assert memory.verify().equal


@pytest.mark.timeout(1200)
def test_nothing_is_lost_while_processes_write_and_die(memory: Memory, tmp_path: Path) -> None:
    storm(memory, tmp_path, processes=2, writes=10, kills=1, pause=0.2)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_nothing_is_lost_while_twenty_processes_write(memory: Memory, tmp_path: Path) -> None:
    storm(memory, tmp_path, processes=20, writes=500, kills=20, pause=2.0)
