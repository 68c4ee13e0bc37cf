"""Questions are answered also where the note index can be neither read nor written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import vaultsync
from vaultsync.backends.tantivy.index import TantivyIndex

TEA = "Tea is served at four."


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    return vaultsync.init(str(tmp_path / "vault")).vault


@contextmanager
def unwritable(state: Path) -> Iterator[None]:
    """Permissions would not stop root."""
    locked, mkdir = TantivyIndex._locked, Path.mkdir

    def refuse(index: TantivyIndex) -> object:
        if index._folder.is_relative_to(state):
            raise PermissionError(13, "Permission denied")
        return locked(index)

    def refuse_folder(path: Path, mode: int = 0o777, **options: bool) -> None:
        if path.is_relative_to(state / "index") and not path.exists():
            raise PermissionError(13, "Permission denied")
        mkdir(path, mode, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse_folder)
        patch.setattr(TantivyIndex, "_locked", refuse)
        yield


@pytest.mark.parametrize("agent", [None, "ada"])
def test_an_unusable_index_is_replaced_by_a_temporary_one(
    vault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str | None
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with vaultsync.open(vault) as memory:
        fact = memory.remember(TEA)
        memory.remember("The secret tea is green.", scope="private-bob")
        state = memory.settings.state_dir
    shutil.rmtree(state / "index", ignore_errors=True)
    with unwritable(state), vaultsync.open(vault, agent=agent) as memory:
        found = memory.recall("tea", mode="index")
        later = memory.remember("Tea is cold at six.", scope=f"private-{agent or 'bob'}")
        again = memory.recall("tea", mode="index")
        pack = memory.context("tea", mode="index")
    assert fact.id in {hit.id for hit in found}
    assert len(found) == (1 if agent else 2)
    assert len(again) == len(found) + 1
    assert later.id in {hit.id for hit in again}
    reason = "the note index cannot be written: Permission denied"
    sentence = f"The note index was replaced by a temporary one: {reason}."
    assert sentence in found.degraded
    assert sentence in pack.degraded
    assert [*temporary.iterdir()] == []


def test_an_index_that_can_be_read_is_used_although_it_is_behind(vault: str) -> None:
    with vaultsync.open(vault) as memory:
        memory.remember(TEA)
        memory.index(wait=False)
        state = memory.settings.state_dir
    with unwritable(state), vaultsync.open(vault) as memory:
        memory.remember("Tea is cold at six.")
        found = memory.recall("tea", mode="index")
    assert len(found) == 1
    assert found.degraded[0].startswith("The note index may be out of date")


def test_without_room_for_a_temporary_index_the_answer_is_empty(vault: str) -> None:
    with vaultsync.open(vault) as memory:
        memory.remember(TEA)
        state = memory.settings.state_dir
    shutil.rmtree(state / "index" / "words", ignore_errors=True)
    with unwritable(Path("/")), vaultsync.open(vault) as memory:
        found = memory.recall("tea", mode="index")
    assert len(found) == 0
    assert found.degraded[0].startswith("The note index may be out of date")


def test_an_unusable_index_of_an_agent_is_replaced_by_a_temporary_one(vault: str) -> None:
    with vaultsync.open(vault) as memory:
        fact = memory.remember(TEA)
        memory.remember("The secret tea is green.", scope="private-bob")
        memory.index(wait=False)
        state = memory.settings.state_dir
    with unwritable(state), vaultsync.open(vault, agent="ada") as memory:
        found = memory.recall("tea", mode="index")
    assert [hit.id for hit in found] == [fact.id]
    assert "was replaced by a temporary one" in found.degraded[0]
