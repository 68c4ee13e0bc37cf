"""A search of every byte: which files it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds import unprivileged
from vaultsync.backends.filesystem.byte_search import FileByteSearch
from vaultsync.storage.erasure import Traces

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


def test_what_cannot_be_read_is_named_and_the_search_goes_on(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", tmp_path / "state"
    for folder in (vault, state, vault / "closed", vault / "listed"):
        folder.mkdir()
    for name in ("a.md", "closed/c.md", "listed/l.md", "z.md"):
        (vault / name).write_text(WORDS, encoding="utf-8")
    for name, mode in (("a.md", 0), ("closed", 0), ("listed", 0o400)):
        (vault / name).chmod(mode)
    search = FileByteSearch([state], vault=vault, skip=state / "purging.json")

    with unprivileged():
        found = [*search.find(Traces([], [WORDS]), erased=False)]

    assert {Path(each.path).name: (each.what, each.of_user) for each in found} == {
        "z.md": ("text", True),
        **dict.fromkeys(("a.md", "closed", "l.md"), ("not searched: Permission denied", False)),
    }
