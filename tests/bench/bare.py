"""The libraries and system calls that a pass cannot do without, and nothing else.

Nothing is compared, merged, proved, planned or reported, and the notes to be written are
given. Effects come in the order of the protocol (docs/concepts/what-is-safe.md), as each
crash needs it. What a pass takes above this is ours to answer for; what this takes above
the floor is the price of Python, of reading YAML, of a durable database and of safety.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import yaml_rs

from tests.bench.worlds import notes_in
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.storage.archive import Base
from vaultsync.storage.vault import path_in

_Base: TypeAlias = tuple[str, str, str, str]
_Blob: TypeAlias = tuple[str, bytes]
BATCH = 1000
_STAGING = ".meta/bare"
WORDS = "the bare libraries for it"
PORTS = "its reads and writes alone"


def rebuild(vault: Path, store: Path, archive: Path) -> None:
    """Read each note and its fact, and keep the bytes and the meaning as a base."""
    facts = _facts(store)
    with _archive(archive) as db:
        for some in _in_batches(vault):
            bases, blobs = [], []
            for path in some:
                data, properties = _read(path)
                fact = msgspec.json.decode(facts[properties["id"]])
                bases.append(_base(path, data, fact))
                blobs.append((bases[-1][2], data))
            _keep(db, bases, blobs)


def through_the_ports(vault: Path, store: Path, archive: Path) -> None:
    """The same by the adapters themselves, which look twice, follow no link and value facts.

    What is left of a pass then is what it thinks.
    """
    clock = SystemClock()
    files = VaultFs(vault)
    facts = SqliteStore(store, clock=clock, create=False)
    kept = SqliteArchive.open(archive)
    try:
        scan = files.scan()
        paths = [path_in(at, name) for at, f in scan.folders.items() for name in f.files]
        for start in range(0, len(paths), BATCH):
            read = {path: files.read(path) for path in paths[start : start + BATCH]}
            ids = {path: _properties(file.data)["id"] for path, file in read.items()}
            known = facts.find_many(list(ids.values()))
            bases = [
                Base(known[ids[path]].evolve(path=path), file.sha, file.stamp)
                for path, file in read.items()
            ]
            with kept.transaction():
                kept.put_blobs({file.sha: file.data for file in read.values()})
                kept.put_bases(bases)
    finally:
        kept.close()
        facts.close()
        files.close()


def adopt(vault: Path, store: Path, archive: Path) -> None:
    """Read each note, give it an id line, and keep it as a fact and as a base."""
    (vault / _STAGING).mkdir(parents=True)
    with _archive(archive) as db, sqlite3.connect(store) as facts:
        facts.execute("CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT)")
        for number, some in enumerate(_in_batches(vault)):
            batch = _Batch(vault)
            old, rows = [], []
            for at, path in enumerate(some):
                data, properties = _read(path)
                fact_id = f"{number}-{at}"
                fresh = data.replace(b"\n---\n", f"\nid: {fact_id}\n---\n".encode())
                fact = {**properties, "content": data.decode().partition("\n---\n")[2]}
                batch.add(path, fresh, fact)
                old.append((hashlib.sha256(data).hexdigest(), data))
                rows.append((fact_id, batch.bases[-1][3]))
            batch.begin(db, old)
            facts.executemany("INSERT INTO bare VALUES (?, ?)", rows)
            facts.commit()
            batch.end(db)


def out(notes: list[tuple[str, bytes]], store: Path, vault: Path) -> None:
    """Read each fact, write its note, and keep both as a base."""
    facts = list(_facts(store).values())
    (vault / _STAGING).mkdir(parents=True)
    with _archive(vault / ".bare.sqlite3") as db:
        for start in range(0, len(notes), BATCH):
            batch = _Batch(vault)
            some = notes[start : start + BATCH]
            for (name, data), body in zip(some, facts[start:], strict=False):
                path = vault / name
                path.parent.mkdir(parents=True, exist_ok=True)
                batch.add(path, data, msgspec.json.decode(body))
            batch.begin(db, [])
            batch.end(db)


class _Batch:
    """Notes that are written together, so that they share their waits for the disk."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.bases: list[_Base] = []
        self.blobs: list[_Blob] = []
        self.paths: list[Path] = []

    def add(self, path: Path, data: bytes, fact: object) -> None:
        """A note that is to have these bytes."""
        self.bases.append(_base(path, data, fact))
        self.blobs.append((self.bases[-1][2], data))
        self.paths.append(path)

    def begin(self, db: sqlite3.Connection, old: list[_Blob]) -> None:
        """Keep the bytes of before and after and what is meant, and stage the files."""
        meant = [(each[0], each[3]) for each in self.bases]
        db.executemany("INSERT INTO waiting VALUES (?, ?)", meant)
        _keep(db, [], [*old, *self.blobs])
        staging = os.open(self.vault / _STAGING, os.O_RDONLY)
        try:
            for at, (_, data) in enumerate(self.blobs):
                _write(str(at), data, staging)
        finally:
            os.close(staging)
        _sync(self.vault)

    def end(self, db: sqlite3.Connection) -> None:
        """Put the files into their places, wait for the disk, and keep the bases."""
        for at, path in enumerate(self.paths):
            (self.vault / _STAGING / str(at)).replace(path)
        _sync(self.vault)
        done = ((each[0],) for each in self.bases)
        db.executemany("DELETE FROM waiting WHERE op = ?", done)
        told = ((each[0],) for each in self.bases)
        db.executemany("INSERT INTO history VALUES (?, 'note')", told)
        _keep(db, self.bases, [])


def _facts(store: Path) -> dict[str, str]:
    with sqlite3.connect(store) as db:
        return dict(db.execute("SELECT id, body FROM facts"))


def _archive(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 16384")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4096")
    db.execute("CREATE TABLE bases (id TEXT PRIMARY KEY, path, sha, fact)")
    db.execute("CREATE TABLE blobs (sha TEXT PRIMARY KEY, data BLOB)")
    db.execute("CREATE TABLE waiting (op TEXT PRIMARY KEY, fact)")
    db.execute("CREATE TABLE history (path, what)")
    return db


def _keep(db: sqlite3.Connection, bases: list[_Base], blobs: list[_Blob]) -> None:
    db.executemany("INSERT INTO bases VALUES (?, ?, ?, ?)", bases)
    db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs)
    db.commit()


def _base(path: Path, data: bytes, fact: object) -> _Base:
    sha = hashlib.sha256(data).hexdigest()
    return (str(path), str(path), sha, msgspec.json.encode(fact).decode())


def _in_batches(vault: Path) -> Iterator[list[Path]]:
    notes = notes_in(vault)
    for start in range(0, len(notes), BATCH):
        yield notes[start : start + BATCH]


def _read(path: Path) -> tuple[bytes, Any]:
    fd = os.open(path, os.O_RDONLY)
    try:
        data = os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)
    return data, _properties(data)


def _properties(data: bytes) -> Any:  # noqa: ANN401 - whatever the YAML holds
    yaml = data[4 : data.index(b"\n---\n")].decode()
    return yaml_rs.loads(yaml, parse_datetime=False)


def _write(name: str, data: bytes, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    fd = os.open(name, flags, 0o644, dir_fd=folder)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None)
        if not hasattr(libc, "syncfs") or libc.syncfs(fd):
            os.sync()
    finally:
        os.close(fd)
