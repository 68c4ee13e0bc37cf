"""A search of every byte: which files it reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultsync.backends.filesystem.byte_search import FileByteSearch
from vaultsync.storage.erasure import UNREADABLE, Remnant, Traces

WORDS = "The harbour code is 4711."


@pytest.mark.parametrize("name", ["store.sqlite3", "store[1].sqlite3", "a*b?.sqlite3"])
def test_a_store_and_its_log_are_searched_whatever_its_name(tmp_path: Path, name: str) -> None:
    vault, places = tmp_path / "vault", tmp_path / "places"
    vault.mkdir()
    places.mkdir()
    for each in (name, f"{name}-wal"):
        (places / each).write_text(WORDS, encoding="utf-8")
    (places / "other").write_text(WORDS, encoding="utf-8")
    search = FileByteSearch([places / name], vault=vault, skip=tmp_path / "purging.json")

    found = search.find(Traces([], [WORDS]), erased=False)

    assert sorted(each.path for each in found) == [str(places / name), str(places / f"{name}-wal")]


def test_what_cannot_be_read_is_named_and_the_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, places = tmp_path / "vault", tmp_path / "places"
    for each in (vault / "closed", vault / "gone", places):
        each.mkdir(parents=True)
    for file in (vault / "a.md", vault / "b.md", places / "c"):
        file.write_text("The harbour code is 4711.", encoding="utf-8")
    search = FileByteSearch([places], vault=vault, skip=tmp_path / "purging.json")
    errors = {
        str(vault / "closed"): PermissionError,
        str(vault / "gone"): FileNotFoundError,
        str(vault / "a.md"): PermissionError,
        str(places / "c"): OSError,
    }

    def failing(real: Callable[..., object]) -> Callable[..., object]:
        def call(path: object, *args: object, **options: object) -> object:
            if str(path) in errors:
                raise errors[str(path)](13, "no", str(path))
            return real(path, *args, **options)

        return call

    monkeypatch.setattr(os, "scandir", failing(os.scandir))
    monkeypatch.setattr(Path, "open", failing(Path.open))

    found = list(search.find(Traces([], ["The harbour code is 4711."]), erased=False))

    assert sorted(found) == [
        Remnant(str(places / "c"), UNREADABLE),
        Remnant(str(vault / "a.md"), UNREADABLE, of_user=True),
        Remnant(str(vault / "b.md"), "text", of_user=True),
        Remnant(str(vault / "closed"), UNREADABLE, of_user=True),
    ]


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").touch()
    search = FileByteSearch([], vault=tmp_path, skip=tmp_path / "purging.json")

    def refuse(path: Path) -> os.stat_result:
        raise PermissionError(13, "no", str(path))

    monkeypatch.setattr(Path, "lstat", refuse)

    (found,) = search.find(Traces([], ["The harbour code is 4711."]), erased=False)

    assert found == Remnant(str(tmp_path / "a.md"), UNREADABLE, of_user=True)


def test_a_file_that_vanishes_is_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store.sqlite3-wal").write_text(WORDS, encoding="utf-8")
    search = FileByteSearch([], vault=tmp_path, skip=tmp_path / "purging.json")

    def vanish(path: Path, *_: object) -> object:
        raise FileNotFoundError(2, "gone", str(path))

    monkeypatch.setattr(Path, "open", vanish)

    assert list(search.find(Traces([], [WORDS]), erased=False)) == []
