"""What a question by MCP reads of the disk when no daemon runs, and that it misses nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.machines import configure_machine
from tests.mcp_clients import Home
from tests.watchers import open_queues
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.watchers.inotify import InotifyWatcher
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="no inotify here"),
    pytest.mark.long(5),
]

FILE_EVENTS = ("open", "os.listdir", "os.scandir")
_counted: list[str] | None = None


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _counted is not None and event in FILE_EVENTS:
        _counted.append(f"{event} {arguments[0]}")


sys.addaudithook(_audit)  # for good: there is no way to remove one


@contextmanager
def counted() -> Iterator[list[str]]:
    """The files that are opened and the folders that are listed meanwhile."""
    global _counted  # noqa: PLW0603 - the hook has no other way to know
    found: list[str] = []
    _counted = found
    try:
        yield found
    finally:
        _counted = None


def ask(memory: AgentMemory, question: str) -> list[str]:
    """The titles of the hits of a question, with all that follows an answer."""
    done = run_tool(memory, TOOLS_BY_NAME["memory_recall"], {"query": question})
    memory.finish_pending()
    answer: Any = done.structuredContent
    assert not any("taken up" in each for each in answer.get("degraded", ()))
    return [each["title"] for each in answer["hits"]]


def adopted(home: Home, count: int) -> Path:
    """A vault with notes in folders of five, none of which follows another; the first note."""
    for number in range(0, 10 * count, 10):
        path = home.vault / "public" / "notes" / f"f{number // 50}" / f"Note {number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nThe heron of pond {number} is grey.\n")
    assert home.run("sync", "-q").exit_code == 0
    old = 1_700_000_000
    for path in home.vault.rglob("Note*.md"):
        os.utime(path, (old, old))
    return home.vault / "public" / "notes" / "f0" / "Note 0.md"


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often the vault was scanned, or one of its folders."""
    seen: list[str] = []
    whole, one = VaultFs.scan, VaultFs.folder

    def scan(self: VaultFs) -> Any:  # noqa: ANN401 - as it was
        seen.append("*")
        return whole(self)

    def folder(self: VaultFs, path: Any) -> Any:  # noqa: ANN401 - as it was
        seen.append(path)
        return one(self, path)

    monkeypatch.setattr(VaultFs, "scan", scan)
    monkeypatch.setattr(VaultFs, "folder", folder)
    return seen


@pytest.mark.parametrize("count", [10, 200])
def test_a_question_reads_few_files_in_any_vault(home: Home, scans: list[str], count: int) -> None:
    adopted(home, count)
    with home.memory() as memory:
        for _ in range(3):
            ask(memory, "heron")
        scans.clear()
        with counted() as files:
            for _ in range(5):
                assert ask(memory, "heron")
    assert scans == []
    assert len(files) <= 5 * 3, files


def test_an_edit_right_before_the_question_is_in_its_answer(home: Home, scans: list[str]) -> None:
    note = adopted(home, 20)
    with home.memory() as memory:
        ask(memory, "heron")
        scans.clear()
        for number in range(5):
            text = note.read_text()
            note.write_text(f"{text}\nSeen again: bittern{number}x.\n")
            assert ask(memory, f"bittern{number}x") == ["Note 0"]
    assert set(scans) == {"public/notes/f0"}


def test_files_that_are_made_moved_and_deleted_are_in_the_next_answer(home: Home) -> None:
    note = adopted(home, 5)
    with home.memory() as memory:
        ask(memory, "heron")
        deep = home.vault / "public" / "notes" / "new" / "deep"
        deep.mkdir(parents=True)
        (deep / "Otter.md").write_text("# Otter\n\nThe otter sleeps.\n")
        assert ask(memory, "otter") == ["Otter"]
        (deep / "Otter.md").write_text("# Otter\n\nThe weasel sleeps.\n")  # a folder made since
        os.utime(deep / "Otter.md", (1, 1))
        assert ask(memory, "weasel") == ["Otter"]
        beside = note.with_name("beside.tmp")
        beside.write_text(note.read_text() + "\nA kingfisher, too.\n")
        beside.replace(note)
        assert ask(memory, "kingfisher") == ["Note 0"]
        note.rename(deep / "Moved.md")
        ask(memory, "kingfisher")
        found = memory.list(type="note").facts
        assert "public/notes/new/deep/Moved.md" in {each.path for each in found}


def test_a_fact_of_another_process_gets_its_note_with_the_next_question(home: Home) -> None:
    adopted(home, 5)
    with home.memory("kai") as other, home.memory() as memory:
        ask(memory, "heron")
        with memory._engine.lock:  # nobody writes the note at once
            told = other.remember("The curlew calls.", title="Curlew", scope="public")
        assert told.path is None
        assert ask(memory, "curlew") == ["Curlew"]
        assert memory.get(told.id).path is not None


def test_where_the_system_tells_of_no_changes_every_question_scans(
    home: Home, scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = adopted(home, 5)

    def start(self: InotifyWatcher) -> None:
        raise OSError(28, "no more watches")

    monkeypatch.setattr(InotifyWatcher, "start", start)
    with home.memory() as memory:
        ask(memory, "heron")
        scans.clear()
        note.write_text(note.read_text() + "\nA dipper.\n")
        assert ask(memory, "dipper") == ["Note 0"]
    assert "*" in scans


def test_a_vault_to_be_polled_is_scanned_for_each_question(home: Home, scans: list[str]) -> None:
    configure_machine(home.vault, '[watch]\nwatcher = "polling"\n')
    adopted(home, 5)
    with home.memory() as memory:
        ask(memory, "heron")
        scans.clear()
        ask(memory, "heron")
    assert scans == ["*"]


def test_a_server_that_ends_leaves_no_watch_behind(home: Home) -> None:
    adopted(home, 5)
    before = open_queues()
    with home.memory() as memory:
        ask(memory, "heron")
        assert open_queues() - before
    assert open_queues() <= before
