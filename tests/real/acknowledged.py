"""The ledger of acknowledged writes, outside of the vault and of the store, and the writers.

Each writer is a process of its own and says on its output, line by line, each word that it was
told is kept. One that is killed has said what it had said.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import ClassVar

import vaultsync
from tests.forked import HeardProgram
from tests.proofs.ledger import words
from tests.real.home import Home, say
from vaultsync.api.memory import Memory
from vaultsync.errors import NotFoundError, RevisionMismatchError

MOST = 150
"""Maximum number of facts of an agent, which then changes them instead."""
FORGETS = 3
"""Of a person and each of the first two agents: nine, which do not stop a run of a small vault,
even if a slow machine does all of them in one."""
AGAIN = 10
"""The number of the first agent that takes the place of a killed one, and forgets nothing."""
AHEAD = (0.0, 0.0, 40.0, 3600.0)
"""Seconds by which the mtime of a saved note is ahead of the machine's clock."""


class Writer(HeardProgram):
    """A process that writes, and the words that it has acknowledged so far."""

    started: ClassVar[list[Writer]] = []

    def __init__(self, who: str, home: Home, number: int, *more: str) -> None:
        super().__init__(__name__, who, str(home.where), str(number), *more)
        self.started.append(self)

    @property
    def acknowledged(self) -> set[str]:
        return {line for line in self.lines if line[0] == "w"} - self.withdrawn

    @property
    def withdrawn(self) -> set[str]:
        """The words that the user deleted before any program read them."""
        return {line[1:] for line in self.lines if line[0] == "-"}


def _stopped(home: Home) -> bool:
    return (home.where / "stop").exists()


def agent(home: Home, number: str, *shared: str) -> None:
    """Remember, change without a condition and forget, without a pause."""
    own: list[str] = []
    chance, numbers = random.Random(int(number)), count(int(number) * 1_000_000)
    forgets = FORGETS if int(number) < AGAIN else 0
    with vaultsync.open(str(home.root), f"agent{number}", str(home.state)) as memory:
        while not _stopped(home):
            word, deed = f"w{next(numbers)}w", chance.random()
            try:
                if len(own) < MOST and deed < 0.5:
                    title = f"Seen by {number}"
                    own.append(memory.remember(f"I saw {word}.", title=title, scope="public").id)
                elif own and forgets and deed > 0.97:
                    forgets -= 1
                    memory.forget(own.pop(chance.randrange(len(own))))
                    continue
                else:
                    _update(memory, chance.choice([*own, *shared]), word, careful=deed > 0.9)
            except (RevisionMismatchError, NotFoundError):
                continue  # another writer was faster, and this one got an error
            say(word)


def _update(memory: Memory, fact_id: str, word: str, *, careful: bool) -> None:
    """Add a word to the content of a fact, or replace the content with it."""
    if careful:
        fact = memory.get(fact_id)
        memory.update(fact_id, content=f"{fact.content}\n\n{word}", expect=fact.revision)
    else:
        memory.update(fact_id, content=f"I know {word}.")


def person(home: Home, number: str) -> None:
    """Write, edit and delete notes in both ways of saving, with times that may be ahead."""
    chance, numbers = random.Random(int(number)), count(int(number) * 1_000_000)
    deletes = FORGETS
    while not _stopped(home):
        word, deed = f"w{next(numbers)}w", chance.random()
        paths = home.notes()
        if not paths or deed < 0.1:
            _save(home, f"public/notes/Mine {word}.md", f"A note with {word}.\n", chance)
        elif deed < 0.13 and deletes:
            deletes -= 1
            for unread in _delete(home, chance.choice(paths)):
                say(f"-{unread}")
            continue
        else:
            path = chance.choice(paths)
            try:
                text = home.text(path)
            except FileNotFoundError:  # it was deleted, or renamed with its title
                continue
            head, mark, block = text.partition("<!-- vaultsync")
            _save(home, path, f"{head.rstrip()}\n\nMine {word}.\n\n{mark}{block}", chance)
        say(word)
        time.sleep(chance.random() * 0.1)


def _save(home: Home, path: str, text: str, chance: random.Random) -> None:
    home.save(path, text.encode(), rename=chance.random() < 0.5)
    ahead = chance.choice(AHEAD)
    if ahead and (home.root / path).exists():
        os.utime(home.root / path, (time.time() + ahead,) * 2)


def _delete(home: Home, path: str) -> set[str]:
    """Delete a note; returns the words that only it has."""
    try:
        data = home.data(path)
        (home.root / path).unlink()
    except FileNotFoundError:
        return set()
    return words(data) - home.in_archive() - home.in_store()


PROGRAMS: dict[str, Callable[..., None]] = {"agent": agent, "person": person}


def main() -> None:
    name, where, *more = sys.argv[1:]
    PROGRAMS[name](Home(Path(where)), *more)


if __name__ == "__main__":
    main()
