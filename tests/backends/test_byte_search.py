"""A search of every byte: which files it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.backends.filesystem.byte_search import FileByteSearch
from vaultsync.storage.erasure import Traces


@pytest.mark.parametrize("name", ["store.sqlite3", "store[1].sqlite3", "a*b?.sqlite3"])
def test_a_store_and_its_log_are_searched_whatever_its_name(tmp_path: Path, name: str) -> None:
    vault, places = tmp_path / "vault", tmp_path / "places"
    vault.mkdir()
    places.mkdir()
    for each in (name, f"{name}-wal"):
        (places / each).write_text("The harbour code is 4711.", encoding="utf-8")
    (places / "other").write_text("The harbour code is 4711.", encoding="utf-8")
    search = FileByteSearch([places / name], vault=vault, skip=tmp_path / "purging.json")

    found = search.find(Traces([], ["The harbour code is 4711."]), erased=False)

    assert sorted(each.path for each in found) == [str(places / name), str(places / f"{name}-wal")]
