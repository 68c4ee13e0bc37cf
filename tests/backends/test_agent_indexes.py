"""The note indexes of agents: few are open, and unused ones are removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.contracts.test_note_index import ALL, A, a_fact, found, put
from vaultsync.backends.tantivy import question_indexes
from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.backends.tantivy.question_indexes import QuestionIndexes
from vaultsync.model.permissions import Permissions, Reader
from vaultsync.storage.erasure import Traces


@pytest.fixture
def indexes(tmp_path: Path) -> QuestionIndexes:
    return QuestionIndexes(tmp_path, TantivyIndex)


def reader(agent: str) -> Reader:
    return Reader(agent, Permissions())


def test_the_least_recently_used_index_is_closed(
    indexes: QuestionIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_indexes, "MAX_OPEN", 2)
    first, second = (indexes.of_reader(reader(agent)) for agent in ("ada", "bob"))
    put(first, a_fact())
    assert indexes.of_reader(reader("ada")) is first
    indexes.of_reader(reader("cleo"))
    assert indexes.of_reader(reader("ada")) is first
    assert indexes.of_reader(reader("bob")) is not second
    assert indexes.of_reader(reader("ada")) is first
    indexes.close()
    again = indexes.of_reader(reader("ada"))
    assert again is not first
    assert found(again, "green", ALL) == [A]


def test_an_index_that_nobody_used_is_removed(indexes: QuestionIndexes, tmp_path: Path) -> None:
    for agent in ("ada", "bob"):
        put(indexes.of_reader(reader(agent)), a_fact())
    for name in ("words", "past-1"):
        (tmp_path / name).mkdir()
    for folder in tmp_path.glob("*/"):
        os.utime(folder, (1000, 1000))
    kept = indexes.of_reader(reader("bob"))
    indexes.prune(before=2000)
    (left,) = tmp_path.glob("words-*/")
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "words",
        left.name,
        f"{left.name}.lock",
    ]
    assert found(kept, "green", ALL) == [A]


def test_all_of_them_are_erased(indexes: QuestionIndexes, tmp_path: Path) -> None:
    index = indexes.of_reader(reader("ada"))
    put(index, a_fact())
    assert indexes.erase(Traces([A])) == {}
    left = [path.name for path in tmp_path.glob("*/*")]
    assert left == ["removal"], "another process must notice that it was removed"
    assert found(index, "green", ALL) == []
    put(indexes.of_reader(reader("ada")), a_fact())
    assert found(indexes.of_reader(reader("ada")), "green", ALL) == [A]
