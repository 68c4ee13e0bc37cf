"""Wrong but likely arguments of the Python API are refused by an error that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.errors import UsageError

ID = "01a20000-0000-7000-8000-00000000000a"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("arguments")
    vaultsync.init(str(folder / "v"), state_dir=str(folder / "s"))
    with vaultsync.open(str(folder / "v"), state_dir=str(folder / "s")) as opened:
        opened.remember("Tea is green.", id=ID, tags=["tea"])
        yield opened


WRONG: dict[str, Callable[[Any], object]] = {
    "tags": lambda m: m.remember("x", tags="abc"),
    "entities": lambda m: m.remember("x", entities="Ann"),
    "text": lambda m: m.remember(None),
    "priority": lambda m: m.remember("x", priority="high"),
    "scope": lambda m: m.remember("x", scope=5),
    "type": lambda m: m.remember("x", type="book"),
    "add_tags": lambda m: m.update(ID, add_tags="abc"),
    "remove_tags": lambda m: m.update(ID, remove_tags=5),
    "types": lambda m: m.recall("x", types="decision"),
    "scopes": lambda m: m.context("x", scopes="public"),
    "since": lambda m: m.recall("x", since=5),
    "until": lambda m: m.list(until="banana"),
    "limit": lambda m: m.recall("x", limit="5"),
    "budget": lambda m: m.context("x", budget="many"),
    "max_priority": lambda m: m.recall("x", max_priority="high"),
    "query": lambda m: m.recall(None),
    "paths": lambda m: m.adopt("Inbox"),
    "mode": lambda m: m.recall("x", mode="best"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named(memory: Memory, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        WRONG[name](memory)


def test_dates_are_taken_as_they_are(memory: Memory) -> None:
    today = datetime(2026, 2, 14, tzinfo=UTC)
    assert memory.recall("tea", since=today.date(), until=date(2999, 1, 1)).hits
    assert memory.list(since=today.replace(year=2000)).facts
    assert not memory.recall("tea", since=date(2999, 1, 1)).hits
