"""Over MCP an agent can neither read nor change another agent's private data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import chdir
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcp_clients import Home, make_home
from vaultsync.errors import VaultsyncError
from vaultsync.mcp_server import resources
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.prompts import PROMPTS, prompt_text
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool

INSIDE = "zqxjkv"
"""Occurs in all of Ada's private texts, tags, entities, aliases and properties."""
TITLE = "qwvyk"
"""Occurs in their titles and paths. An answer may repeat it if the request has it."""
FREE = ("What Indy says.", "harmless", "2026-02-14")
"""Texts that Indy writes."""
WRITTEN = {
    *("text", "content", "title", "context", "tags", "entities", "add_tags"),
    *("section", "session", "chunk"),
}


class Neighbours:
    """A vault with Ada's private facts, which Indy tries to reach."""

    def __init__(self, home: Home) -> None:
        self.home = home
        with home.memory("ada") as ada:
            self.ids = [self._remember(ada, number) for number in range(3)]
            ada.finish_pending()
            note = home.note(ada.get(self.ids[0]).path)
            text = note.read_text(encoding="utf-8")
            note.write_text(text.replace("Content", "Edited"), encoding="utf-8")
            ada.update(self.ids[0], content=f"{INSIDE} otherwise.")
            (self.conflict,) = ada.conflicts()
            ada.supersede(self.ids[1], f"{TITLE} replaced.\n\n{INSIDE}.")
            ada.forget(self.ids[2])
            ada.remember("Seen by all.", scope="public", title="Open")
        bad = home.vault / "private-ada" / "people" / f"{TITLE} bad.md"
        bad.write_text("---\nid: [\n---\n", encoding="utf-8")
        self.indy = home.memory("indy")
        self.own = self.indy.remember("What Indy knows.", title="Mine")
        self.indy.finish_pending()
        self.before = self.of_ada()

    def _remember(self, ada: AgentMemory, number: int) -> str:
        return ada.remember(
            f"Content of {INSIDE}.",
            title=f"{TITLE} {number}",
            type="person" if number == 0 else "decision",
            tags=[INSIDE],
            entities=[INSIDE],
            fields={"mood": INSIDE, "aliases": [f"{INSIDE} alias"]},
        ).id

    def of_ada(self) -> object:
        """All of her facts, conflicts and notes."""
        with self.home.memory("ada") as ada:
            facts = [
                (fact.id, fact.content, fact.title, fact.tags, fact.superseded_by_id)
                for status in (None, "forgotten")
                for fact in ada.list(scope="private-ada", status=status).facts
            ]
            conflicts = [each.id for each in ada.conflicts()]
        notes = {
            str(path): path.read_bytes() for path in (self.home.vault / "private-ada").rglob("*.md")
        }
        return facts, conflicts, notes

    @cached_property
    def names(self) -> list[str]:
        """Arguments that could lead to her data."""
        paths = [p.relative_to(self.home.vault) for p in self.home.vault.rglob("*.md")]
        return [
            *(*self.ids, self.own.id, self.conflict.id, self.conflict.id[:4]),
            *("private-ada", "private-Ada", "ada", TITLE, f"{TITLE} 0", f"type:person {TITLE}"),
            *("Mine", "Open", "forgotten", ""),
            *sorted(map(str, paths)),
        ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbours]:
    folder: Path = tmp_path_factory.mktemp("neighbours")
    made = Neighbours(make_home(folder))
    with chdir(folder):  # the project of the modules
        yield made
    made.indy.close()


def _arguments(
    schema: Mapping[str, Any], names: list[str], key: str = ""
) -> st.SearchStrategy[Any]:
    """Arguments that match a schema, made of names that could lead to her data."""
    if "anyOf" in schema:
        return st.one_of(*(_arguments(each, names, key) for each in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            required = schema.get("required", [])
            parts = {k: _arguments(v, names, k) for k, v in schema["properties"].items()}
            needed = {k: v for k, v in parts.items() if k in required}
            more = {k: v for k, v in parts.items() if k not in required}
            return st.fixed_dictionaries(needed, optional=more)
        case "object":
            return st.fixed_dictionaries(
                {},
                optional={
                    "scope": st.sampled_from(["private-ada", "public", "private-indy"]),
                    "agentId": st.just("ada"),
                    "status": st.sampled_from(FREE),
                },
            )
        case "array":
            return st.lists(_arguments(schema["items"], names, key), max_size=2)
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 60)
            return st.integers(low, high)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return st.sampled_from(FREE if key in WRITTEN else names)


@given(data=st.data())
def test_no_tool_reveals_data_of_another_agent(world: Neighbours, data: st.DataObject) -> None:
    tool = TOOLS_BY_NAME[data.draw(st.sampled_from(sorted(TOOLS_BY_NAME)))]
    asked = data.draw(_arguments(tool.input_schema, world.names))
    done = run_tool(world.indy, tool, asked)
    said = done.model_dump_json()
    assert INSIDE not in said
    assert TITLE in json.dumps(asked) or TITLE not in said


def test_no_tool_changes_data_of_another_agent(world: Neighbours) -> None:
    for each in (*world.ids, world.conflict.id, "private-ada"):
        for tool in TOOLS_BY_NAME.values():
            for asked in (
                {"id": each, "content": "x"},
                {"id": each, "text": "x"},
                {"id": each},
                {"conflict": each, "take": "store"},
                {"text": "x", "scope": each},
            ):
                run_tool(world.indy, tool, asked)
    assert world.of_ada() == world.before


def test_status_counts_only_visible_conflicts(world: Neighbours) -> None:
    done = run_tool(world.indy, TOOLS_BY_NAME["memory_status"], {})
    assert done.structuredContent is not None
    assert done.structuredContent["conflicts"] == 0
    assert TITLE not in json.dumps(done.structuredContent)


def test_an_agent_cannot_write_in_the_name_of_another(world: Neighbours) -> None:
    store = TOOLS_BY_NAME["memory_store_fact"]
    for name, wrong in (("ada", True), ("indy", False)):
        done = run_tool(world.indy, store, {"text": "x", "fields": {"agentId": name}})
        assert done.isError == wrong


def test_resources_and_prompts_reveal_nothing_of_another_agent(world: Neighbours) -> None:
    for each in world.ids:
        with pytest.raises(VaultsyncError):
            resources.read_resource(world.indy, f"{resources.FACT_URI}{each}")
    for row in resources.list_resources(world.indy):
        text = resources.read_resource(world.indy, str(row.uri))
        assert INSIDE not in text
        assert TITLE not in text
    assert "private-indy" in world.indy.tables()["vault-index.md"]
    for prompt in PROMPTS.values():
        text = prompt_text(world.indy, prompt, {prompt.argument: "what Content is there"})
        assert INSIDE not in text
        assert TITLE not in text


def test_the_owner_of_a_fact_finds_it_in_the_tables(world: Neighbours) -> None:
    with world.home.memory("ada") as ada:
        assert TITLE in ada.tables()["vault-index.md"]
