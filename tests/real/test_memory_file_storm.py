"""Processes that write one memory file, are killed, and a person who saves it meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from vaultsync.api import opening
from vaultsync.errors import MemoryFileBusyError
from vaultsync.memory_files.managed_block import MARKS
from vaultsync.memory_files.sections import MANAGED_MARKER

pytestmark = pytest.mark.long(5)

MAX_BYTES, MAX_LINES = 25_000, 200
"""What Claude Code reads of a `MEMORY.md`."""
HEAD = "\ufeff# Memory  \n\nWords with\ta tab.\r\n\n## Of the person\n\n"
WINDOW = 5
"""Lines of one writer that are in its section at once."""


def said(writer: int, number: int) -> str:
    """What a writer has in its section after so many writes."""
    first = max(number - WINDOW + 1, 0)
    return "\n".join(
        f"- Writer {writer} learned this, number {n}." for n in range(first, number + 1)
    )


class Storm:
    """A vault, a memory file, and those who write it."""

    def __init__(self, folder: Path, *, writers: int, writes: int) -> None:
        self.file = folder / "MEMORY.md"
        self.vault, self.state = str(folder / "vault"), str(folder / "state")
        self.writes = writes
        self.done = [folder / f"writer-{number}" for number in range(writers)]
        self.typed: list[str] = []
        self.saved = b""
        self.over: list[int] = []
        self.kills = 0

    def begins(self) -> None:
        """Make the vault with some facts, and the file with a block of them."""
        opening.init(self.vault, state_dir=self.state)
        self.saves(by_rename=True)
        for each in self.done:
            each.touch()
        with opening.open(self.vault, state_dir=self.state, agent="indy") as memory:
            for number in range(20):
                memory.remember(f"Berth {number} has a light. " * 20, title=f"Berth {number}")
            memory.sync_memory_file(self.file)
            memory.manage_memory_file(self.file, budget=9_000)

    def write(self, writer: int) -> None:
        """Write what is left to write: add, change the fact of the section, fill the block."""
        title, done = f"Of writer {writer}", self.done[writer]
        with opening.open(self.vault, state_dir=self.state, agent="indy") as memory:
            for number in range(len(done.read_bytes()), self.writes):
                own = [x for x in memory.list(limit=500).facts if x.title == title]
                if number % 4 == 3 and own:
                    memory.update(own[0].id, content=said(writer, number))
                    with suppress(MemoryFileBusyError):  # who has the lock syncs this, too
                        memory.sync_memory_file(self.file)
                else:
                    memory.add_to_memory_file(
                        self.file, said(writer, number), section=title, replace_all=True
                    )
                if number % 25 == 20:
                    with suppress(MemoryFileBusyError):
                        memory.manage_memory_file(self.file, budget=9_000)
                with done.open("ab") as log:
                    log.write(b".")

    def saves(self, *, by_rename: bool) -> None:
        """The person types a line, and saves it with what an editor has of the rest."""
        now = self.file.read_bytes() if self.file.exists() else b""
        if now != self.saved and (len(now) > MAX_BYTES or now.count(b"\n") > MAX_LINES):
            self.over.append(len(now))
        self.typed.append(f"- The person typed this, number {len(self.typed)}.  \n")
        rest = now[now.find(b"\n## Of writer") :] if b"\n## Of writer" in now else b""
        if not rest and MARKS.begin.encode() in now:
            rest = b"\n" + now[now.find(MARKS.begin.encode()) :]
        self.saved = (HEAD + "".join(self.typed)).encode() + rest
        if by_rename:
            temp = self.file.with_name(".editor")
            temp.write_bytes(self.saved)
            temp.replace(self.file)
        else:
            self.file.write_bytes(self.saved)

    def rages(self, *, saves: int, kills: int, dice: random.Random) -> None:
        """All write until they are done; some are killed, and start again."""
        context = get_context("fork")

        def begin(writer: int) -> BaseProcess:
            process = context.Process(target=self.write, args=(writer,))
            process.start()
            return process

        running = {writer: begin(writer) for writer in range(len(self.done))}
        total = self.writes * len(self.done)
        while running:
            written = sum(each.stat().st_size for each in self.done)
            if len(self.typed) <= saves * written / total:
                self.saves(by_rename=dice.random() < 0.5)
            if self.kills < kills * written / total:
                victim = dice.choice(list(running))
                pid = running[victim].pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                running[victim].join()
                self.kills += 1
                running[victim] = begin(victim)
            for writer, process in list(running.items()):
                process.join(0.002)
                if process.exitcode is not None:
                    assert process.exitcode == 0
                    del running[writer]

    def ends(self) -> str:
        """Each writes once more, with nobody about; returns the file."""
        with opening.open(self.vault, state_dir=self.state, agent="indy") as memory:
            memory.sync_memory_file(self.file)
            for writer in range(len(self.done)):
                memory.add_to_memory_file(
                    self.file,
                    said(writer, self.writes),
                    section=f"Of writer {writer}",
                    replace_all=True,
                )
            assert not memory.sync().attention
            assert memory.verify().equal
            return self.file.read_bytes().decode()


def _storm(folder: Path, *, writers: int, writes: int, saves: int, kills: int) -> None:
    storm = Storm(folder, writers=writers, writes=writes)
    storm.begins()
    storm.rages(saves=saves, kills=kills, dice=random.Random(7))
    text = storm.ends()
    assert storm.kills >= kills
    head, _, rest = text.partition("\n## Of writer")
    assert head == HEAD + "".join(storm.typed)
    sections, _, block = f"\n## Of writer{rest}".partition(MARKS.begin)
    for writer in range(writers):
        whole = f"## Of writer {writer}\n{MANAGED_MARKER}\n\n{said(writer, storm.writes)}\n"
        assert whole in sections
        sections = sections.replace(whole, "")
    assert not sections.strip()
    assert block.rstrip().endswith(MARKS.end)
    assert (len(text.encode()) <= MAX_BYTES, text.count("\n") <= MAX_LINES, storm.over) == (
        True,
        True,
        [],
    )
    log = (next(Path(storm.state).glob("*/memory-files")) / "log.jsonl").read_text("utf-8")
    texts = {each.get("text") for each in map(json.loads, log.splitlines())}
    for writer in range(writers):
        lost = [n for n in range(writes) if n % 4 != 3 and said(writer, n) not in texts]
        assert lost == []


def test_no_line_of_a_person_or_of_writers_that_are_killed_is_lost(tmp_path: Path) -> None:
    _storm(tmp_path, writers=3, writes=8, saves=12, kills=2)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_eight_processes_of_a_thousand_writes_lose_no_line(tmp_path: Path) -> None:
    _storm(tmp_path, writers=8, writes=1_000, saves=100, kills=60)
