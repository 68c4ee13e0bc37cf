"""Thousands of mixed operations of people and agents, with kills and an outage.

Nothing is lost by the ledger, both sides are equal at the end, and a further pass
writes nothing. Repeat a failure with the seed it prints.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proofs import agents, texts
from tests.proofs.ledger import words
from tests.real.home import Home, say
from tests.real.programs import start
from vaultsync.errors import EngineBusyError, GuardError, VaultsyncError
from vaultsync.model import serialization as wire

pytestmark = pytest.mark.long(5)

OPERATIONS = int(os.environ.get("VAULTSYNC_SOAK", "10000"))
SEEDS = [int(x) for x in os.environ.get("VAULTSYNC_SEEDS", "1").split()]
OUTAGE = 500
LINGER = 5.0
SETTLE = 5.0
"""Saves in place are not atomic: on a busy disk an engine looks in between for long."""
MOST = 300
"""Notes; with so many there are, as many are deleted as made."""
PASS_EVERY = 25
KILL_EVERY = 200
TYPES = ("note", "decision", "lesson", "person", "observation", "task")
NAMES = ("A.md", "b.md", "Plan.md", "A copy.md", "ünï.md", "Plan (2).md")
FOLDERS = ("notes", "decisions", "lessons", "tasks", "people", "notes/deep")
EDITS = [each for each in texts.EDITS if each is not texts.source]


class Soak:
    """People and agents on one vault, one operation after the other."""

    def __init__(self, home: Home, seed: int) -> None:
        self.home = home
        self.chance = random.Random(seed)
        self.memory = home.open()
        self.engine: subprocess.Popen[str] | None = None
        self.broken: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.many = False
        self.makers = (self.remember, self.supersede, self.person_writes_a_note, self.person_copies)
        self.deeds: list[tuple[int, Callable[[], object]]] = [
            (9, self.remember),
            (12, self.agent_updates),
            (8, self.agent_updates_by_the_api),
            (3, self.tags),
            (3, self.supersede),
            (4, self.forget),
            (3, self.restore),
            (30, self.person_edits),
            (4, self.person_writes_a_note),
            (7, self.person_moves),
            (2, self.person_moves_a_folder),
            (5, self.person_deletes),
            (3, self.person_copies),
            (2, self.person_breaks_or_mends),
            (2, self.person_settles),
        ]

    def step(self) -> None:
        weights, deeds = zip(*self.deeds, strict=True)
        (deed,) = self.chance.choices(deeds, weights)
        if self.many and deed in self.makers:
            deed = self.chance.choice((self.forget, self.person_deletes))
        with contextlib.suppress(VaultsyncError, FileNotFoundError, FileExistsError):
            deed()
            self.counts[deed.__name__] += 1

    # --- what there is ---------------------------------------------------------------

    @property
    def live(self) -> bool:
        return self.engine is not None

    def _note(self) -> str:
        found = self.home.notes()
        if not found:
            raise FileNotFoundError
        return self.chance.choice(found)

    def _fact(self, *, deleted: int = 0) -> str:
        rows = self.home._query(
            "store",
            f"SELECT id FROM facts WHERE deleted = {deleted} ORDER BY id",  # noqa: S608
        )
        if not rows:
            # The store is unavailable: any fact that is known.
            rows = self.home._query("archive", "SELECT fact_id FROM bases")
        if not rows:
            raise FileNotFoundError
        return str(self.chance.choice(rows)[0])

    # --- agents ----------------------------------------------------------------------

    def remember(self) -> None:
        word = self.home.ledger.word
        lines = "\n".join(f"Line {word()}." for _ in range(self.chance.randint(1, 4)))
        fact = self.memory.remember(
            lines,
            type=self.chance.choice(TYPES),
            title=self.chance.choice(["Plan", "Ann", f"About {word()}"]),
            tags=[word()],
            scope="public",
        )
        self.home.ledger.wrote("agent", saw="", over="", after=wire.fact_to_json(fact))

    def agent_updates(self) -> None:
        change = self.chance.choice(agents.CHANGES)
        self.home.update(self.memory, self._fact(), change)

    def agent_updates_by_the_api(self) -> None:
        fact_id, word = self._fact(), self.home.ledger.word()
        old = self.memory.get(fact_id)
        text = f"{old.content}\n\nAdded {word}."
        new = self.memory.update(fact_id, content=text, expect=old.revision)
        self._agent_wrote(wire.fact_to_json(old), wire.fact_to_json(new))

    def tags(self) -> None:
        fact_id, word = self._fact(), self.home.ledger.word()
        old = self.memory.get(fact_id)
        new = self.memory.update(fact_id, add_tags=[word], remove_tags=old.tags[:1])
        self._agent_wrote(wire.fact_to_json(old), wire.fact_to_json(new))

    def _agent_wrote(self, saw: str, after: str) -> None:
        self.home.ledger.wrote("agent", saw=saw, over=saw, after=after)

    def supersede(self) -> None:
        word = self.home.ledger.word()
        fresh = self.memory.supersede(self._fact(), f"Newer {word}.")
        self._agent_wrote("", wire.fact_to_json(fresh))
        # It is in the title as well, which may be changed apart from the content.
        self.home.ledger.at_least_kept([word])

    def forget(self) -> None:
        fact_id = self._fact()
        self.home.ledger.at_least_kept(words(wire.fact_to_json(self.memory.get(fact_id))))
        self.memory.forget(fact_id)

    def restore(self) -> None:
        self.memory.restore(self._fact(deleted=1))

    # --- people ----------------------------------------------------------------------

    def person_edits(self) -> None:
        path = self._note()
        change = self.chance.choice(EDITS)
        self.home.edit(path, change, rename=self.chance.random() < 0.5)
        if self.live:
            self._kept_at_least(path)

    def _kept_at_least(self, path: str) -> None:
        """An engine may have written the note between this person's look and save.

        What it brought there is gone from the note then, as after any old buffer.
        """
        fact_id = texts.id_of(self.home.data(path))
        fact = self.memory._ctx.store.find_many([fact_id or ""])
        for each in fact.values():
            now = words(self.home.data(path))
            self.home.ledger.at_least_kept(words(wire.fact_to_json(each)) - now)

    def person_writes_a_note(self) -> None:
        folder, name = self.chance.choice(FOLDERS), self.chance.choice(NAMES)
        path = f"public/{folder}/{self.home.ledger.made}-{name}"
        front = "---\nmood: mine\n---\n# {0}\n\nMine.\n"
        self.home.new_note(path, self.chance.choice([front, "Just {}.\n"]))

    def person_moves(self) -> None:
        path = self._note()
        folder, name = self.chance.choice(FOLDERS), path.rpartition("/")[2]
        if self.chance.random() < 0.4:
            name = f"{self.home.ledger.made} {self.chance.choice(NAMES)}"
        to = f"public/{folder}/{name}"
        if not (self.home.root / to).exists():
            self.home.rename(path, to)
            self.broken = {to if each == path else each for each in self.broken}

    def person_moves_a_folder(self) -> None:
        deep, moved = (f"public/notes/{name}" for name in ("deep", "deeper"))
        if (self.home.root / deep).exists() and not (self.home.root / moved).exists():
            self.home.rename(deep, moved)
        elif (self.home.root / moved).exists():
            for path in (self.home.root / moved).iterdir():
                to = self.home.root / deep / path.name
                to.parent.mkdir(parents=True, exist_ok=True)
                if not to.exists():
                    path.rename(to)

    def person_deletes(self) -> None:
        path = self._note()
        self.home.delete(path)
        self.broken.discard(path)

    def person_copies(self) -> None:
        path = self._note()
        copy = f"{path[:-3]} copy {self.home.ledger.made}.md"
        self.home.save(copy, self.home.data(path))

    def person_breaks_or_mends(self) -> None:
        if self.broken and self.chance.random() < 0.5:
            self._mend(self.broken.pop())
            return
        path = self._note()
        data = self.home.data(path)
        if data.startswith(b"---\n") and texts.BROKEN not in data:
            self.home.save(path, texts.break_yaml(data))
            self.broken.add(path)

    def _mend(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.home.save(path, texts.mend_yaml(self.home.data(path)))

    def person_settles(self) -> None:
        if self.live or not self.home.store_file.exists():
            return
        self.a_pass()
        open_ones = [each for each in self.memory.conflicts() if each.conflict_path]
        if not open_ones:
            return
        conflict = self.chance.choice(open_ones)
        path = self.home.root / (conflict.conflict_path or "")
        data = path.read_bytes()
        # Whichever side is taken, the other's words are in the record and no more, and
        # what is taken goes over all that was written since.
        self.home.ledger.at_least_kept(words(data))
        facts = self.memory._ctx.store.find_many([conflict.fact_id])
        self.home.ledger.at_least_kept(words("".join(map(wire.fact_to_json, facts.values()))))
        if self.chance.random() < 0.5:
            path.write_bytes(data.replace(b"- [ ]", b"- [x]"))
        else:
            path.unlink()
        self.a_pass()

    # --- the engine ------------------------------------------------------------------

    def a_pass(self) -> None:
        """A pass in which the user confirms what the guard asks."""
        with contextlib.suppress(EngineBusyError):
            try:
                self.memory.sync()
            except GuardError as stopped:
                self.memory.sync(confirm=stopped.run)
                self.counts["confirmed"] += 1
            self.counts["passes"] += 1
        self.many = len(self.home.notes()) > MOST

    def kill_an_engine(self) -> None:
        """Start an engine, or kill the one that runs."""
        if self.engine is None:
            self.engine = start("engine", self.home)
            return
        self.engine.send_signal(signal.SIGKILL)
        self.engine.communicate()
        self.engine = None
        self.counts["kills"] += 1

    def take_the_store_away(self) -> None:
        self._move_store(".away", "")

    def bring_the_store_back(self) -> None:
        self._move_store("", ".away")

    def _move_store(self, to: str, now: str) -> None:
        for end in ("", "-wal", "-shm"):
            file = f"{self.home.store_file}{end}"
            with contextlib.suppress(FileNotFoundError):
                Path(f"{file}{now}").rename(f"{file}{to}")

    def end(self) -> None:
        """All mends are made, all engines gone, and passes run until there is peace."""
        if self.engine is not None:
            self.kill_an_engine()
        for path in self.home.notes():
            self._mend(path)
        self.a_pass()
        self._tell_copies_apart()
        for _ in range(3):
            self.a_pass()
        time.sleep(max(LINGER, SETTLE))
        for _ in range(3):
            self.a_pass()
        self.memory.close()

    def _tell_copies_apart(self) -> None:
        """A person says of copies that the engine asks about which is the new note."""
        met: set[str] = set()
        for path in self.home.notes():
            data = self.home.data(path)
            fact_id = texts.id_of(data) or ""
            if fact_id in met:
                line = f"id: {fact_id}\n".encode()
                self.home.save(path, data.replace(line, b"", 1))
            met.add(fact_id)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_in_a_long_run(seed: int, tmp_path: Path) -> None:
    soak(tmp_path / "home", seed, OPERATIONS)


def test_nothing_is_lost_in_a_short_run(tmp_path: Path) -> None:
    soak(tmp_path / "home", 7, 150)


def soak(where: Path, seed: int, operations: int) -> None:
    home = Home.make(where, linger=LINGER, settle=SETTLE)
    run = Soak(home, seed)
    began = time.monotonic()
    away = range(operations // 2, operations // 2 + min(OUTAGE, operations // 10))
    for n in range(operations):
        if n == away.start:
            if run.live:
                run.kill_an_engine()
            run.take_the_store_away()
        if n == away.stop:
            run.bring_the_store_back()
        run.step()
        if n % PASS_EVERY == 0:
            run.a_pass()
        if n % (KILL_EVERY // 2) == KILL_EVERY // 4 and n not in away:
            run.kill_an_engine()
        if n % 1000 == 999 and n not in away and not run.live:
            run.a_pass()
            home.check_nothing_lost()
    run.end()
    seconds = time.monotonic() - began
    say(
        f"seed {seed}: {operations} operations in {seconds:.0f} s, "
        f"{home.ledger.made} words, {len(home.notes())} notes, {dict(run.counts)}"
    )
    home.check_nothing_lost()
    home.check_equal()
    home.check_quiet()
