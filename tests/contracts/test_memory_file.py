"""Every memory file keeps to the words of `MemoryFile`, whoever saves it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.memory_file_worlds import SimFile
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.memory_file import STAGING_DIR, DiskMemoryFile
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.errors import MemoryFileBusyError, MemoryFileChangedError, UnreadableMemoryFileError

ANY = 1 << 20


class SimFileWorld:
    def __init__(self) -> None:
        self.file = SimFile()

    def person_saves(self, data: bytes | None) -> None:
        self.file.data = data

    def at(self, step: str, act: Callable[[], None]) -> None:
        """Let something happen once, before that step of `replace`."""

        def before(now: str) -> None:
            if now == step:
                self.file.before = lambda _: None
                act()

        self.file.before = before


class DiskWorld:
    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, *, exchange: bool) -> None:
        self.path = folder / "MEMORY.md"
        self.file = DiskMemoryFile(self.path, "m/MEMORY.md")
        self._waiting: tuple[str, Callable[[], None]] = ("", lambda: None)
        swaps = 0

        def step(name: str) -> None:
            if name == self._waiting[0]:
                _, act = self._waiting
                self._waiting = ("", lambda: None)
                act()

        real = syscalls.exchange
        peek = syscalls.read_bytes
        check = self.file._check_writable

        def swap(one: EntryAt, other: EntryAt) -> bool:
            nonlocal swaps
            step("back" if swaps else "swap")
            swaps += 1
            return exchange and real(one, other)

        def examine(place: EntryAt) -> bytes:
            step("examine")
            return peek(place)

        def look() -> None:
            nonlocal swaps
            swaps = 0
            step("look")
            check()

        patch.setattr(syscalls, "exchange", swap)
        patch.setattr(syscalls, "read_bytes", examine)
        patch.setattr(self.file, "_check_writable", look)

    def person_saves(self, data: bytes | None) -> None:
        if data is None:
            self.path.unlink()
        else:
            temp = self.path.with_name(".editor")
            temp.write_bytes(data)
            temp.replace(self.path)

    def at(self, step: str, act: Callable[[], None]) -> None:
        self._waiting = (step, act)


FileWorld: TypeAlias = SimFileWorld | DiskWorld


@pytest.fixture(params=["memory", "disk", "disk without exchange"])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> FileWorld:
    if request.param == "memory":
        return SimFileWorld()
    return DiskWorld(tmp_path, monkeypatch, exchange=request.param == "disk")


def test_what_is_not_there_is_none_and_what_is_too_large_is_not_read(world: FileWorld) -> None:
    assert world.file.read(ANY) is world.file.state() is None
    assert not world.file.has_leftovers()
    world.file.drop_leftovers()
    world.person_saves(b"12345")
    assert world.file.read(5) == b"12345"
    with pytest.raises(UnreadableMemoryFileError):
        world.file.read(4)


def test_a_file_and_its_state_are_made_or_replaced(world: FileWorld) -> None:
    for data, before in ((b"one", None), (b"two", b"one")):
        world.file.replace(data, before)
        world.file.put_state(data)
        assert world.file.read(ANY) == world.file.state() == data
    assert not world.file.has_leftovers()


@pytest.mark.parametrize("expect", [None, b"other"])
def test_what_is_not_expected_is_not_replaced(world: FileWorld, expect: bytes | None) -> None:
    world.person_saves(b"one")
    with pytest.raises(MemoryFileChangedError):
        world.file.replace(b"two", expect)
    assert world.file.read(ANY) == b"one"
    assert not world.file.has_leftovers()


@pytest.mark.parametrize("last", [b"saved again", None])
@pytest.mark.parametrize("step", ["swap", "back"])
def test_a_change_before_the_swap_stands(world: FileWorld, step: str, last: bytes | None) -> None:
    world.person_saves(b"one")

    def saves_last() -> None:
        world.person_saves(last)

    def saves_twice() -> None:
        world.person_saves(b"saved")
        world.at("back", saves_last)

    world.at("swap", saves_twice if step == "back" else saves_last)
    with pytest.raises(MemoryFileChangedError) as caught:
        world.file.replace(b"two", b"one")
    assert world.file.read(ANY) == last
    assert (b"saved" in caught.value.saved) is (step == "back")
    assert last not in caught.value.saved


def test_a_save_after_the_swap_stands_and_is_no_error(world: FileWorld) -> None:
    world.person_saves(b"one")
    world.at("examine", lambda: world.person_saves(b"saved"))
    world.file.replace(b"two", b"one")
    assert world.file.read(ANY) == b"saved"


def test_the_lock_is_for_one_at_a_time(world: FileWorld) -> None:
    with world.file.lock(0), pytest.raises(MemoryFileBusyError), world.file.lock(0.01):
        pass
    with world.file.lock(0):
        pass


def test_what_a_crash_left_is_told_until_it_is_dropped(world: FileWorld) -> None:
    world.person_saves(b"one")

    def crash() -> None:
        raise KeyboardInterrupt

    def save_and_crash() -> None:
        world.person_saves(b"saved")
        world.at("examine", crash)

    for step, act in (("examine", crash), ("swap", save_and_crash)):
        world.at(step, act)
        with pytest.raises(KeyboardInterrupt):
            world.file.replace(b"two", world.file.read(ANY))
        assert world.file.has_leftovers()
        displaced = [(b"saved", b"two")] if act is save_and_crash else []
        assert list(world.file.displaced()) == displaced
        world.person_saves(b"one")
    assert list(world.file.displaced()) == [(b"saved", None)]
    world.person_saves(b"saved")
    assert not world.file.displaced()
    world.file.drop_leftovers()
    assert not world.file.has_leftovers()
    if isinstance(world, DiskWorld):
        assert not (world.path.parent / STAGING_DIR).exists()
