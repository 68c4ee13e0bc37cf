from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.entries import EntriesInMemory
from tests.packs import fact, words
from tests.strategies import facts
from vaultsync.backends.state.index_entries import FileEntryCache
from vaultsync.index_files.entry import entry_of
from vaultsync.index_files.ports import CachedEntries, EntryCache
from vaultsync.model.fact import Fact


@pytest.fixture(params=["memory", "disk"])
def entries(request: pytest.FixtureRequest, tmp_path: Path) -> EntryCache:
    if request.param == "memory":
        return EntriesInMemory()
    return FileEntryCache(tmp_path / "made" / "entries.json")


def held_of(version: str, *many: Fact) -> CachedEntries:
    made = (entry_of(each, words) for each in many)
    return CachedEntries(version, {each.id: each for each in made if each is not None})


@pytest.fixture
def file(tmp_path: Path) -> FileEntryCache:
    opened = FileEntryCache(tmp_path / "entries.json")
    opened.save(held_of("v1", fact(1)))
    return opened


def test_what_was_saved_last_is_loaded(entries: EntryCache) -> None:
    assert entries.load() is None
    full = fact(1, type="person", importance=0.5, entities=["Ann"], aliases=["Bo"])
    for held in (held_of("v1", full, fact(2).evolve(created_at="")), held_of("v2")):
        entries.save(held)
        assert entries.load() == held


@given(st.lists(facts(), max_size=4))
def test_any_entry_is_loaded_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, many: list[Fact]
) -> None:
    file = FileEntryCache(tmp_path_factory.mktemp("entries") / "entries.json")
    held = held_of("v", *many)
    file.save(held)

    assert file.load() == held


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-3],
        lambda data: data.replace(b"Fact 1", b"Fact 7"),
        lambda data: data.replace(b'"format":1', b'"format":9'),
        lambda _: b"",
        lambda _: b"{}\n[]",
        lambda _: b"\xff\xfe\n\x00",
    ],
)
def test_a_damaged_file_is_none(
    tmp_path: Path, file: FileEntryCache, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "entries.json"
    path.write_bytes(damage(path.read_bytes()))
    assert file.load() is None


def test_a_file_is_for_its_owner_alone_and_a_full_disk_leaves_it(
    tmp_path: Path, file: FileEntryCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "entries.json"
    assert path.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(Path, "replace", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        file.save(held_of("v2"))

    assert file.load() == held_of("v1", fact(1))
    assert list(tmp_path.iterdir()) == [path]
