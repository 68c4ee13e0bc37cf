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
    "max_priority: expected 0 to 4": lambda m: m.context("x", max_priority=10**30),
    "max_priority: expected 0 to 4, got -1": lambda m: m.recall("x", max_priority=-1),
    "as_of": lambda m: m.recall("x", as_of=""),
    "id": lambda m: m.get(None),
    "id: expected text": lambda m: m.forget(5),
    "run": lambda m: m.undo(5),
    "run: expected the id": lambda m: m.undo(""),
    "run: expected text without": lambda m: m.undo("x\udcff"),
    "property's name": lambda m: m.remember("x", fields={"a\udcff": "y"}),
    "a property's name": lambda m: m.update(ID, set={"\udcff": "y"}),
    "mood: expected text": lambda m: m.update(ID, set={"mood": {"\udcff": "y"}}),
    "fields: expected": lambda m: m.remember("x", fields=["mood"]),
    "fields: expected values by name": lambda m: m.remember("x", fields={5: "y"}),
    "set: expected values by name": lambda m: m.update(ID, set="mood"),
    "tag": lambda m: m.list(tag=["tea", 5]),
    "type: expected a list of texts": lambda m: m.list(type=5),
    "scope: expected a list of texts": lambda m: m.list(scope=[None]),
    "tag: expected text without lone": lambda m: m.list(tag="t\udcff"),
    "links_to": lambda m: m.list(links_to=5),
    "links_from": lambda m: m.list(links_from=["x"]),
    "user": lambda m: m.recall("x", user=42),
    "user: expected text": lambda m: m.context("x", user=42),
    "user: expected the name": lambda m: m.recall("x", user=""),
    "user: expected the name of a user": lambda m: m.context("x", user=" "),
    "user: expected the name of": lambda m: m.export(print, user=""),
    "user: expected the": lambda m: m.export_to("jsonl", "out", user=""),
    "'' is not a valid agent name": lambda m: vaultsync.open(m.settings.root, agent=""),
    "count": lambda m: m.edit(ID, find="a", replace="b", count="2"),
    "limit: expected 1 or more": lambda m: m.log(limit=0),
    "limit: expected 0": lambda m: m.graph_export(limit=-1),
    "around": lambda m: m.graph_export(around=5),
    "depth": lambda m: m.graph_neighbors("Tea is green.", depth=0),
    "depth: expected 1 or more": lambda m: m.graph_export(around="Tea is green.", depth=-1),
    "max_chars": lambda m: m.graph_export(max_chars=0),
    "append": lambda m: m.edit("Tea is green.", append=5),
    "section": lambda m: m.edit("Tea is green.", section=5, replace="x"),
    "find": lambda m: m.edit("Tea is green.", find=b"x", replace="x"),
    "replace": lambda m: m.edit("Tea is green.", find="x", replace=["x"]),
    "text: expected text": lambda m: m.add_to_memory_file("MEMORY.md", None, section="Notes"),
    "section: expected text": lambda m: m.add_to_memory_file("MEMORY.md", "x", section=5),
    "hubs": lambda m: m.graph_stats(hubs=-1),
    "name": lambda m: m.graph_neighbors(None),
    "max_delete": lambda m: m.sync(max_delete=-1),
    "max_delete: expected a whole": lambda m: m.maintain(max_delete="5"),
    "max_delete: expected 0": lambda m: m.purge(ID, max_delete=-1),
    "query": lambda m: m.recall(None),
    "paths": lambda m: m.adopt("Inbox"),
    "paths: expected a list of texts": lambda m: m.adopt([5]),
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
