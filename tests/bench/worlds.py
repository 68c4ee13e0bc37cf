"""Vaults of any size, made once, or as often as they are used up."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path

from msgspec import structs

import vaultsync
from tests.bench import corpus
from vaultsync.api import configuration as config
from vaultsync.api.memory import Memory


class World:
    """A vault, its state and its store, side by side in one folder."""

    def __init__(self, folder: Path, *, made: bool = False) -> None:
        self.folder = folder
        self.vault = folder / "vault"
        self.state = folder / "state"
        self.store = folder / "store.sqlite3"
        if not made:
            vaultsync.init(str(self.vault), store=f"sqlite:{self.store}", state_dir=str(self.state))

    def open(self, *, embedder: str = "none", derived: bool = False) -> Memory:
        """Its memory; passes make indexes and vectors only where those are measured."""
        settings = config.load_settings(self.vault, state_dir=str(self.state))
        return Memory(structs.replace(settings, embedder=embedder, derive=derived))

    def lose_archive(self) -> None:
        """Lose all bases; both sides stay equal."""
        for path in self.state.glob("*/archive.sqlite3*"):
            path.unlink()

    def take_store_of(self, other: World) -> None:
        shutil.copy(other.store, self.store)


def notes_in(vault: Path) -> list[Path]:
    """The notes of a vault by path; the tables of its hidden folders are none."""
    found = vault.rglob("*.md")
    return sorted(
        path
        for path in found
        if not any(name.startswith(".") for name in path.relative_to(vault).parts)
    )


def with_facts(folder: Path, count: int) -> World:
    """A world whose facts have no notes yet."""
    world = World(folder)
    with world.open() as memory:
        memory.import_(corpus.fact_lines(count))
    return world


def with_notes(folder: Path, count: int) -> World:
    """A world of notes that nobody has adopted yet."""
    world = World(folder)
    corpus.write_notes(world.vault, count)
    settle_disk()
    return world


_GET_FLAGS, _SET_FLAGS, _TOPDIR = 0x80086601, 0x40086602, 0x00020000
"""Of ext4: `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS`, and the flag that `chattr +T` sets."""


def spread(folder: Path) -> None:
    """Let ext4 put what is made in a folder into parts of the disk that are not in use.

    Where many files were deleted in the last five minutes, as after a bench, making one
    takes ten times as long. Other file systems have no such flag and no such need.
    """
    if sys.platform != "linux":
        return
    import fcntl

    fd = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            held = bytearray(8)
            fcntl.ioctl(fd, _GET_FLAGS, held)
            (flags,) = struct.unpack("l", held)
            fcntl.ioctl(fd, _SET_FLAGS, struct.pack("l", flags | _TOPDIR))
    finally:
        os.close(fd)


def new_folder(where: Path) -> Path:
    """An empty folder; ext4 chooses its part of the disk by the name, so no name twice."""
    return Path(tempfile.mkdtemp(dir=where))


def seconds_to_make(where: Path) -> float:
    """How long making one small file takes in a new folder."""
    count = 200
    folder = new_folder(where)
    began = time.perf_counter()
    for number in range(count):
        (folder / str(number)).write_bytes(b"x" * 2000)
    return (time.perf_counter() - began) / count


def settle_disk() -> None:
    """Let the disk finish what came before, so that nobody else waits for it."""
    os.sync()
