from __future__ import annotations

import hashlib
import importlib.util
import socket
import tempfile
from pathlib import Path

import pytest

from tests.token_tables import small_table
from vaultsync.backends.tokens import tiktoken as tokens_tiktoken
from vaultsync.backends.tokens.tiktoken import TABLE_FILE_NAME, TiktokenCounter

tiktoken = pytest.importorskip("tiktoken")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tables that holds a small one, and no network."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    digest = hashlib.sha256(small_table()).hexdigest()
    monkeypatch.setattr(tokens_tiktoken, "TABLE_SHA256", digest)
    (tmp_path / TABLE_FILE_NAME).write_bytes(small_table())
    return tmp_path


def test_a_whole_table_is_read_once_and_counted_by_and_no_other_is_fetched(folder: Path) -> None:
    counter = TiktokenCounter.find()
    (folder / TABLE_FILE_NAME).write_bytes(small_table()[:-10])
    assert TiktokenCounter.find() is None
    (folder / TABLE_FILE_NAME).unlink()
    assert TiktokenCounter.find() is None
    assert list(folder.iterdir()) == []

    assert counter is not None
    assert counter.count("the thing") == 4  # the, a blank, th, ing
    assert counter.count("in") == counter.count("er") == 1
    assert counter.name == "o200k_base"


@pytest.mark.parametrize("lacks_folder", [True, False])
def test_without_tiktoken_or_its_folder_there_is_no_counter(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, lacks_folder: bool
) -> None:
    if lacks_folder:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    else:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert TiktokenCounter.find() is None


def test_tables_are_looked_for_where_tiktoken_keeps_them(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    temp = tmp_path_factory.mktemp("temp")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(temp))
    assert TiktokenCounter.find() is None

    (temp / "data-gym-cache").mkdir()
    (temp / "data-gym-cache" / TABLE_FILE_NAME).write_bytes(small_table())
    assert TiktokenCounter.find() is not None


@pytest.mark.parametrize(
    "text",
    [
        "The harbour's gate opens at NOON, and we'll wait outside.",
        "def f(x):\n\treturn x  # 12345678\n\n\n",
        "Lütthaven, Schleuse; 潮の表示は壊れています。",
        "🙂🙂 ├── a/b/c.md ``` ~~~ ---",
    ],
)
def test_texts_are_parted_as_tiktoken_does(text: str) -> None:
    counter = TiktokenCounter.find()
    if counter is None:
        pytest.skip("the table of o200k_base is not on this machine")

    assert counter.count(text) == len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))
