"""A real vault with its real store, the users and agents who write, and the ledger.

Everything that is written contains unique words of `tests.proofs.ledger`. Where a
word is now is read from the raw bytes of the files and the raw rows of the databases,
without vaultsync's own readers.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self

import vaultsync
from tests.proofs import agents
from tests.proofs.ledger import KEPT, SEEN, Ledger, words
from tests.world import open_scopes
from vaultsync.api.memory import Memory
from vaultsync.facts import service as fact_work
from vaultsync.model import serialization as wire
from vaultsync.model.schema import Value
from vaultsync.sync.report import Report

AGENT = "indy"
SETTINGS = """
grace_seconds = {grace}
linger_seconds = {linger}
settle_seconds = {settle}
"""
Picture = tuple[dict[str, tuple[object, ...]], list[tuple[object, ...]]]


def say(text: str) -> None:
    """Print a line for the reader of the output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Home:
    """A vault at `where/vault`, its state at `where/state`."""

    def __init__(self, where: Path, ledger: Ledger | None = None) -> None:
        self.where = where
        self.root = where / "vault"
        self.state = where / "state"
        self.ledger = ledger or Ledger()
        self.ledger.known = self.in_archive

    @classmethod
    def make(
        cls, where: Path, *, grace: float = 0.0, linger: float = 60.0, settle: float = 0.0
    ) -> Self:
        where.mkdir(parents=True, exist_ok=True)
        vaultsync.init(str(where / "vault"), state_dir=str(where / "state"))
        open_scopes(where / "vault")
        with (where / "vault/.meta/config.toml").open("a") as file:
            file.write(SETTINGS.format(grace=grace, linger=linger, settle=settle))
        return cls(where)

    def copy(self, where: Path) -> Home:
        """A copy of the vault and its state, with a copy of the ledger."""
        shutil.copytree(self.where, where, symlinks=True)
        ledger = Ledger(dict(self.ledger.owed), [*self.ledger.story], self.ledger.made)
        return Home(where, ledger)

    # --- the engine ------------------------------------------------------------------

    def open(self) -> Memory:
        return vaultsync.open(str(self.root), AGENT, str(self.state))

    def sync(self) -> Report:
        """One run, by a new engine."""
        with self.open() as memory:
            return memory.sync()

    @property
    def state_dir(self) -> Path:
        marker = tomllib.loads((self.root / ".meta" / "config.toml").read_text())
        (found,) = self.state.glob(f"{marker['vault_id']}*")
        return found

    @property
    def store_file(self) -> Path:
        return self.state_dir / "store.sqlite3"

    # --- people ----------------------------------------------------------------------

    def notes(self) -> list[str]:
        """The notes, without conflict notes."""
        found = []
        for folder, below, names in os.walk(self.root):
            below[:] = sorted(x for x in below if not x.startswith("."))
            at = Path(folder).relative_to(self.root)
            found += [
                (at / name).as_posix()
                for name in names
                if name.endswith(".md") and not name.endswith(".conflict.md")
            ]
        return sorted(found)

    def note_of(self, word: str) -> str:
        (found,) = (each for each in self.notes() if word in self.text(each))
        return found

    def data(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def text(self, path: str) -> str:
        return self.data(path).decode(errors="replace")

    def edit(
        self, path: str, change: Callable[[bytes, str], bytes], *, rename: bool = False
    ) -> str:
        """Edit a note as the user; returns the new word."""
        word, before = self.ledger.word(), self.data(path)
        after = change(before, word)
        self.save(path, after, rename=rename)
        self.ledger.wrote(f"person at {path}", saw=before, over=before, after=after)
        return word

    def save(self, path: str, data: bytes, *, rename: bool = False) -> None:
        """Save in place, or write a new file and rename it."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if rename:
            temp = file.with_name(f".{file.name}.swp")
            temp.write_bytes(data)
            temp.replace(file)
        else:
            file.write_bytes(data)

    def new_note(self, path: str, text: str = "A note of mine with {}.\n") -> str:
        """Create a note as the user; returns its word."""
        word = self.ledger.word()
        data = text.format(word).encode()
        self.save(path, data)
        self.ledger.wrote(f"person at {path}", saw=b"", over=b"", after=data)
        return word

    def delete(self, path: str) -> None:
        """Delete a note as the user; the archive must keep its words."""
        gone = words(self.data(path))
        (self.root / path).unlink()
        held = (
            self.in_archive()
        )  # read only once: an engine may be reading the note at the same time
        self.ledger.at_least_kept(gone & held)
        self.ledger.forgive(gone - held)
        self.ledger.story.append(f"person deletes {path}: {sorted(gone)}")

    def rename(self, path: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(self.root / to)
        self.ledger.story.append(f"person renames {path} to {to}")

    # --- agents, who write to the store alone ----------------------------------------

    def remember(self, memory: Memory, values: dict[str, Value]) -> str:
        """Create a fact as an agent; returns its id."""
        fact = fact_work.remember(memory._ctx, {"scope": "public", **values}, agent=AGENT)
        said = wire.fact_to_json(fact)
        self.ledger.wrote("agent", saw="", over="", after=said)
        return fact.id

    def update(self, memory: Memory, fact_id: str, change: agents.Change) -> str:
        """Change a fact as an agent; returns the new word."""
        word = self.ledger.word()
        old = fact_work.get(memory._ctx, fact_id, agent=AGENT)
        new = fact_work.update(
            memory._ctx, fact_id, change(old, word), agent=AGENT, expect=old.revision
        )
        saw, after = wire.fact_to_json(old), wire.fact_to_json(new)
        self.ledger.wrote(f"agent at {fact_id}", saw=saw, over=saw, after=after)
        return word

    def forget(self, memory: Memory, fact_id: str) -> None:
        """An agent deletes a fact; it stays in the store as a tombstone."""
        gone = words(wire.fact_to_json(memory._ctx.store.get(fact_id)))
        fact_work.forget(memory._ctx, fact_id, agent=AGENT)
        self.ledger.at_least_kept(gone)
        self.ledger.story.append(f"agent forgets {fact_id}: {sorted(gone)}")

    # --- where words are -------------------------------------------------------------

    def in_vault(self) -> set[str]:
        """The words in all files of the vault that the user can see."""
        return words(b"\n".join(self._files(hidden=False)))

    def in_staging(self) -> set[str]:
        return words(b"\n".join(self._files(hidden=True)))

    def _files(self, *, hidden: bool) -> Iterable[bytes]:
        for folder, below, names in os.walk(self.root):
            if not hidden:
                below[:] = [each for each in below if not each.startswith(".")]
            for name in names:
                if hidden or not name.startswith("."):
                    yield os.fsencode(name)
                    with contextlib.suppress(OSError):
                        yield Path(folder, name).read_bytes()

    def in_store(self) -> set[str]:
        """The words in facts; those of tombstones do not count."""
        return self._rows("store", "SELECT body FROM facts WHERE deleted = 0")

    def in_conflicts(self) -> set[str]:
        """The words in conflict records, settled ones too."""
        return self._rows("archive", "SELECT * FROM conflicts")

    def in_archive(self) -> set[str]:
        """The words in everything that a command can restore."""
        found = self._rows("store", "SELECT body FROM facts")
        for table in ("bases", "blobs", "waiting", "conflicts", "history"):
            found |= self._rows("archive", f"SELECT * FROM {table}")  # noqa: S608
        return found

    def _rows(self, which: str, statement: str) -> set[str]:
        return words(repr(self._query(which, statement)))

    def _query(self, which: str, statement: str) -> list[tuple[object, ...]]:
        path = self.state_dir / f"{which}.sqlite3"
        if not path.exists():
            return []
        with contextlib.closing(sqlite3.connect(path, timeout=60)) as db:
            return db.execute(statement).fetchall()

    # --- proofs ----------------------------------------------------------------------

    def check_nothing_lost(self, ledger: Ledger | None = None) -> None:
        """Check that each word is where the ledger requires it."""
        ledger = ledger or self.ledger
        seen = self.in_vault() | self.in_store() | self.in_conflicts()
        lost = ledger.due(SEEN) - seen
        assert not lost, f"lost from sight: {sorted(lost)}\n{self.tell(lost)}"
        lost = ledger.due(KEPT) - seen - self.in_archive()
        assert not lost, f"lost altogether: {sorted(lost)}\n{self.tell(lost)}"

    def check_equal(self) -> None:
        """Check that vault, store and base are equal, by `verify` and by the words."""
        with self.open() as memory:
            verified = memory.verify()
        assert verified.equal, f"{verified.differences[:5]}\n{self.tell()}"

    def check_quiet(self) -> None:
        """Check that another run writes nothing: no file, no mtime, no row."""
        before = self.picture()
        report = self.sync()
        assert report.quiet, f"{report.actions}\n{self.tell()}"
        after = self.picture()
        assert after[1] == before[1], f"a further pass wrote to the store{self.tell()}"
        changed = {
            path
            for path in before[0].keys() | after[0].keys()
            if before[0].get(path) != after[0].get(path)
        }
        assert not changed, f"a further pass wrote {sorted(changed)}\n{self.tell()}"

    def picture(self) -> Picture:
        """Every file and folder of the vault with its times, and the store's rows."""
        return tree(self.root), self._query(
            "store", "SELECT seq, id, revision FROM facts UNION SELECT seq, 0, 0 FROM store"
        )

    def tell(self, lost: Iterable[str] = ()) -> str:
        """Explain a failure: the actions on these words, and the current state."""
        wanted = set(lost)
        told: Sequence[str] = [
            line for line in self.ledger.story if not wanted or wanted & words(line)
        ][-60:]
        there = "\n".join(sorted(tree(self.root)))
        return f"{self.where}\n" + "\n".join(told) + f"\n--\n{there}"


def tree(root: Path) -> dict[str, tuple[object, ...]]:
    """All files and folders below a folder: kind, size, times, inode and bytes.

    What is removed meanwhile, because another process still works there, is not among them; nor are
    replaced files that a run keeps for a second, and the next one removes.
    """
    found: dict[str, tuple[object, ...]] = {}
    for folder, below, names in os.walk(root):
        if Path(folder).name == ".meta" and "staging" in below:
            below.remove("staging")
        for name in (*below, *names, "."):
            path = Path(folder, name)
            digest = ""
            try:
                seen = path.lstat()
                if path.is_file() and not path.is_symlink():
                    digest = hashlib.sha256(path.read_bytes()).hexdigest()
            except FileNotFoundError:
                continue
            times = seen.st_mtime_ns, seen.st_ctime_ns
            stamp = (seen.st_mode, seen.st_size, *times, seen.st_ino, digest)
            found[os.path.relpath(path, root)] = stamp
    return found
