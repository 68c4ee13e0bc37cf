"""The libraries and system calls that a pass cannot do without, and nothing else.

Nothing is compared, merged, proved, planned or reported. What a pass takes above this is
ours to answer for; what this takes above the floor is the price of Python, of reading
YAML and of a durable database.
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

_Base: TypeAlias = tuple[str, str, str, str]
_Blob: TypeAlias = tuple[str, bytes]
BATCH = 1000
WORDS = "the bare libraries for it"


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


def adopt(vault: Path, store: Path, archive: Path) -> None:
    """Read each note, give it an id line, and keep it as a fact and as a base."""
    staging = vault / ".meta"
    with _archive(archive) as db, sqlite3.connect(store) as facts:
        facts.execute("CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT)")
        for number, some in enumerate(_in_batches(vault)):
            bases, blobs, rows = [], [], []
            for at, path in enumerate(some):
                data, properties = _read(path)
                fresh = data.replace(b"\n---\n", f"\nid: {number}-{at}\n---\n".encode())
                _write(staging / f"bare-{at}", fresh)
                fact = {**properties, "content": data.decode().partition("\n---\n")[2]}
                bases.append(_base(path, fresh, fact))
                blobs += [(hashlib.sha256(data).hexdigest(), data)]
                blobs += [(bases[-1][2], fresh)]
                rows.append((f"{number}-{at}", bases[-1][3]))
            _keep(db, [], blobs)
            facts.executemany("INSERT INTO bare VALUES (?, ?)", rows)
            facts.commit()
            for at, path in enumerate(some):
                (staging / f"bare-{at}").replace(path)
            _sync(vault)
            _keep(db, bases, [])


def out(notes: list[tuple[str, bytes]], store: Path, vault: Path) -> None:
    """Read each fact, write its note, and keep both as a base."""
    facts = list(_facts(store).values())
    with _archive(vault / ".bare.sqlite3") as db:
        for start in range(0, len(notes), BATCH):
            bases, blobs = [], []
            for (name, data), body in zip(
                notes[start : start + BATCH], facts[start:], strict=False
            ):
                path = vault / name
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(path, data)
                bases.append(_base(path, data, msgspec.json.decode(body)))
                blobs.append((bases[-1][2], data))
            _keep(db, [], blobs)
            _sync(vault)
            _keep(db, bases, [])


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
    yaml = data[4 : data.index(b"\n---\n")].decode()
    return data, yaml_rs.loads(yaml, parse_datetime=False)


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
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
