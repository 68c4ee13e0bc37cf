"""Implementations of `Vault` for contract tests, each with the editors of its user.

A *world* is a vault and the events that a test can cause, between calls and within one.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.apps import FakeApp
from tests.sim import SimVault
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.obsidian.vault_through_app import VaultThroughApp
from vaultsync.storage.vault import Vault

VAULT_ID = "0193f6c2-0000-7000-8000-000000000001"
IGNORED = "Templates"
MAX_BYTES = 10_000


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def refuse_exchange(patch: pytest.MonkeyPatch) -> None:
    """Answer as a file system without `renameat2` does."""
    for name in ("exchange", "rename_new"):
        patch.setattr(syscalls, name, lambda *_: False)


def staged_text(vault: Vault) -> bytes | None:
    """The text that is staged under `op`."""
    staged = vault.staged("op")
    return staged and staged.data


class SimWorld(SimVault):
    """The vault in memory."""

    @property
    def vault(self) -> Vault:
        return self

    def content(self, path: str) -> bytes | None:
        return self.names[path].data if path in self.names else None

    def at(self, step: str, act: Callable[[], None]) -> None:
        def before(now: str) -> None:
            if now == step:
                self.before = lambda _: None
                act()

        self.before = before


class FsWorld:
    """A real folder, in which another program saves like editors."""

    def __init__(
        self, root: Path, patch: pytest.MonkeyPatch, *, exchange: bool, app: str = ""
    ) -> None:
        self.root = root
        self._patch = patch
        self._begin("")
        self._last_ns = 0
        (root / ".meta").mkdir(parents=True)
        self.files = VaultFs(root, ignore=[IGNORED], max_bytes=MAX_BYTES)
        if not exchange:
            refuse_exchange(patch)
        self.app = FakeApp(self, app, sha)
        self.vault: Vault = VaultThroughApp(self.files, self.app) if app else self.files
        self.swap_id(VAULT_ID)
        self._waiting: tuple[str, Callable[[], None]] = ("", lambda: None)
        self._watch("exchange", lambda: self._begin("exchange"))
        self._watch("stage_removal", lambda: self._begin("stage_removal"))
        self._watch("_swap", self._swapping)
        self._watch("_peek", lambda: f"{self._method}.examine")
        self._watch("_rename_new", lambda: f"{self._method}.back")

    def content(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

    def save_in_place(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)
        self._date(self.root / path)

    def save_by_rename(self, path: str, data: bytes) -> None:
        temp = self.root / ".editor"
        temp.write_bytes(data)
        self._date(temp)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        temp.replace(self.root / path)

    def _date(self, file: Path) -> None:
        """Give each save its own clock tick, as with real users."""
        self._last_ns = max(self._last_ns + 1, time.time_ns())
        os.utime(file, ns=(self._last_ns, self._last_ns))

    def open_handle(self, path: str) -> FsEditor:
        return FsEditor(self.root / path)

    def delete(self, path: str) -> None:
        (self.root / path).unlink()

    def rename(self, path: str, to: str) -> None:
        (self.root / path).rename(self.root / to)

    def make_folder(self, path: str) -> None:
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def make_odd(self, path: str, kind: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        outside = self.root.parent / f"outside-{file.name}"
        if kind == "a folder":
            file.mkdir()
        elif kind == "a pipe":
            os.mkfifo(file)
        elif kind == "a hard link":
            outside.write_bytes(b"secret")
            file.hardlink_to(outside)
        else:
            outside.mkdir()
            (outside / "note.md").write_bytes(b"secret")
            file.symlink_to(outside)

    def make_read_only(self, path: str) -> None:
        place = self.root / path
        place.chmod(0o555 if place.is_dir() else 0o444)

    def make_writable(self, path: str) -> None:
        place = self.root / path
        place.chmod(0o755 if place.is_dir() else 0o644)

    def break_folder(self, path: str) -> None:
        (self.root / path).chmod(0)

    def vanish(self) -> None:
        self.root.rename(self.root.with_name("unmounted"))

    def return_(self) -> None:
        self.root.with_name("unmounted").rename(self.root)

    def swap_id(self, new: str) -> None:
        text = f'vault_id = "{new}"\n' if new else ""
        (self.root / ".meta/config.toml").write_text(text)

    def at(self, step: str, act: Callable[[], None]) -> None:
        self._waiting = (step, act)

    def _watch(self, method: str, steps: Callable[[], str]) -> None:
        """Wrap a method of the vault so that a waiting event happens before it."""
        real = getattr(self.files, method)

        def watched(*args: object, **named: object) -> object:
            step, act = self._waiting
            if step == steps():
                self._waiting = ("", act)
                act()
            return real(*args, **named)

        self._patch.setattr(self.files, method, watched)

    def _begin(self, method: str) -> str:
        self._method, self._swaps = method, 0
        return method

    def _swapping(self) -> str:
        self._swaps += 1
        return "exchange.back" if self._swaps > 1 else "exchange.swap"

    def close(self) -> None:
        self.files.close()
        for folder, names, _ in os.walk(self.root):
            for name in names:
                with contextlib.suppress(OSError):
                    Path(folder, name).chmod(0o700)
        shutil.rmtree(self.root, ignore_errors=True)


class FsEditor:
    """An open file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("r+b", buffering=0)

    def write(self, data: bytes) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(data)
        self._file.close()


World: TypeAlias = SimWorld | FsWorld
"""A vault with its editors, with the same methods for every kind."""
WORLDS = (
    "sim",
    "fs",
    "fs without exchange",
    "fs, an app that refuses",
    "fs, an app that lies",
    "fs, an app that is slow",
)
"""The worlds that exchange a note, at least as the last step."""
APPLYING = "fs, an app that applies"
"""The world in which an app writes into the note itself."""


@contextlib.contextmanager
def open_world(kind: str, root: Path, patch: pytest.MonkeyPatch) -> Iterator[World]:
    """A new vault of a kind; permissions of folders also apply to root."""
    if kind == "sim":
        yield SimWorld(vault_uuid=VAULT_ID, ignore=frozenset({IGNORED}), max_bytes=MAX_BYTES)
        return
    app = kind.partition(", an app that ")[2]
    world = FsWorld(root, patch, exchange=kind != "fs without exchange", app=app)
    with unprivileged():
        yield world
    world.close()


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Drop the capabilities of root to ignore file modes (CAP_DAC_*), for the block."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    had, less = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, had) == 0
    less[:] = [had[0] & ~0b110, *had[1:]]  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, less) == 0
    try:
        yield
    finally:
        assert libc.capset(header, had) == 0
