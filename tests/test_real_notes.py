"""The main job on real notes, where they lie beside the project."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_notes import NEEDED, copied_to
from vaultsync.api.memory import Memory
from vaultsync.api.opening import init
from vaultsync.api.opening import open as open_memory

ROUNDS, EDITS = 5, 20

pytestmark = NEEDED


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return copied_to(tmp_path / "vault")


@pytest.fixture
def memory(vault: Path, tmp_path: Path) -> Iterator[Memory]:
    init(str(vault), state_dir=str(tmp_path / "state"))
    with open_memory(str(vault), state_dir=str(tmp_path / "state")) as opened:
        yield opened


def _texts(root: Path) -> dict[str, list[str]]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode().split("\n")
        for path in root.rglob("*.md")
        if not {".meta", ".index"} & {*path.parts}
    }


def test_adopting_real_notes_adds_ids_and_nothing_else(vault: Path, memory: Memory) -> None:
    before = _texts(vault)

    report = memory.adopt()

    after = _texts(vault)
    assert report.counts["created_in_store"] == len(before) == len(after)
    assert not report.attention
    for name, old in before.items():
        changed = [line[2:].strip() for line in difflib.ndiff(old, after[name]) if line[0] in "+-"]
        ids = [line for line in changed if line.startswith("id: ")]
        assert len(ids) == 1, name
        assert set(changed) - set(ids) <= {"---"}, name
    assert memory.verify().equal
    assert memory.sync().quiet


def test_edits_on_both_sides_of_real_notes_end_equal(vault: Path, memory: Memory) -> None:
    chance = random.Random(1)
    memory.adopt()
    facts = [fact.id for fact in memory.list(limit=1000).facts]
    written: list[str] = []
    for turn in range(ROUNDS):
        for number in range(EDITS):
            word = f"person{turn}x{number}"
            fact = memory.get(chance.choice(facts))
            assert fact.path
            path = vault / fact.path
            lines = path.read_bytes().decode().split("\n")
            body = lines.index("---", 1) + 1
            lines.insert(chance.randrange(body, len(lines) + 1), word)
            path.write_bytes("\n".join(lines).encode())
            written.append(word)
            word = f"agent{turn}x{number}"
            fact = memory.get(chance.choice(facts))
            said = fact.content.split("\n")
            said.insert(chance.randrange(len(said) + 1), word)
            memory.update(fact.id, content="\n".join(said), set={"priority": number % 5})
            written.append(word)
        memory.sync()
        assert memory.verify().equal
    assert memory.sync().quiet
    said_now = "\n".join(path.read_bytes().decode() for path in vault.rglob("*.md"))
    assert [word for word in written if word not in said_now] == []
