"""What each tool does, says and refuses; with the SDK's client, in one process."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest import mock

import jsonschema  # type: ignore[import-untyped] # comes with the SDK
import pytest
from mcp import ClientSession, McpError
from mcp.types import JSONRPCResponse, TextContent, TextResourceContents
from msgspec.structs import asdict
from pydantic import AnyUrl, BaseModel

from tests.golden import GOLDEN, RENEW
from tests.mcp_clients import Home, ask, hits, in_memory
from vaultsync import errors
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.agent_settings import DEFAULT_AGENT
from vaultsync.mcp_server.answer_limits import MAX_LIST_ITEMS, MIN_TEXT_CHARS, truncate
from vaultsync.mcp_server.recall_tools import MAX_LEFT_OUT
from vaultsync.mcp_server.server import (
    TOOLS_BY_NAME,
    error_parts,
    error_text,
    run_tool,
    tool_row,
    tool_rows,
)
from vaultsync.mcp_server.tool import texts_in
from vaultsync.mcp_server.toolsets import FILES, MEMORY, MODULES, REPO, TOOLSETS
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import TYPES
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict

pytestmark = pytest.mark.long(5)

PAGE = GOLDEN / "surface" / "mcp.json"
NO_ID = "0" * 8 + "-0000-0000-0000-" + "0" * 12
T = TypeVar("T")


@pytest.fixture
def memory(home: Home) -> Iterator[AgentMemory]:
    with home.memory() as opened:
        yield opened


def call(memory: AgentMemory, tool: str, **given: object) -> dict[str, Any]:
    """What a tool answers, held against the schema that clients were told."""
    done = run_tool(memory, TOOLS_BY_NAME[tool], given)
    answer = done.structuredContent
    assert answer is not None
    plain: dict[str, Any] = json.loads(json.dumps(answer))
    if not done.isError:
        # Whether it is a schema at all is looked at once, below.
        jsonschema.Draft202012Validator(TOOLS_BY_NAME[tool].output_schema).validate(plain)
    return plain


def talk(home: Home, what: Callable[[ClientSession], Awaitable[T]]) -> T:
    """Run a client against the server."""

    async def ask_it() -> T:
        worker = home.worker()
        try:
            async with in_memory(worker) as session:
                return await what(session)
        finally:
            worker.close()

    return asyncio.run(ask_it())


# ------------------------------------------------------------------------- the surface


def test_the_surface_is_as_its_golden_file(home: Home) -> None:
    async def listed(session: ClientSession) -> str:
        found: dict[str, Sequence[BaseModel]] = {
            "tools": (await session.list_tools()).tools,
            "prompts": (await session.list_prompts()).prompts,
            "resources": (await session.list_resource_templates()).resourceTemplates,
        }
        said = {k: [each.model_dump(exclude_none=True) for each in v] for k, v in found.items()}
        return json.dumps(said, indent=1, ensure_ascii=False) + "\n"

    made = talk(home, listed)
    if RENEW:
        PAGE.write_text(made, encoding="utf-8")
    assert made == PAGE.read_text(encoding="utf-8")


WITH_MODULES = {MEMORY, REPO, MODULES}


@pytest.mark.parametrize(
    ("toolsets", "most"),
    [
        pytest.param({MEMORY}, 9_000, id="memory"),
        pytest.param({MEMORY, FILES}, 9_000, id="beside a memory file"),
        pytest.param({MEMORY, REPO}, 9_000, id="in a repository"),
        pytest.param(WITH_MODULES, 9_000, id="with modules"),
        pytest.param({*WITH_MODULES, FILES}, 9_000, id="all that auto can list"),
        pytest.param(set(TOOLSETS), 9_500, id="all"),
    ],
)
def test_the_list_of_tools_is_short(toolsets: set[str], most: int) -> None:
    """It is in the context of every session of every agent."""
    rows = tool_rows(toolsets).model_dump(mode="json", by_alias=True, exclude_none=True)
    sent = JSONRPCResponse(jsonrpc="2.0", id=1_000, result=rows)

    assert len(sent.model_dump_json(by_alias=True, exclude_none=True)) <= most


def test_the_list_describes_an_argument_once_and_no_evident_one() -> None:
    rows = {row.name: row.inputSchema["properties"] for row in tool_rows().tools}

    assert rows["memory_update_fact"]["expect"]["description"]
    assert "description" not in rows["memory_edit_fact"]["expect"]
    assert "description" not in rows["memory_get_context"]["budget"]
    assert rows["query_vault"]["all"] != rows["memory_recall"]["all"]
    assert rows["memory_store_fact"]["type"]["enum"] == [*TYPES]
    assert rows["query_vault"]["type"] == {"type": "string"}


@pytest.mark.parametrize("toolsets", [{MEMORY}, WITH_MODULES, set(TOOLSETS)])
def test_every_listed_argument_has_a_type_that_all_models_take(toolsets: set[str]) -> None:
    for row in tool_rows(toolsets).tools:
        for name, schema in row.inputSchema["properties"].items():
            assert schema["type"], f"{row.name}: {name}"
            assert (schema["type"] == "array") == ("items" in schema)
            assert not schema.keys() - {"type", "items", "enum", "maximum", "description"}


def test_what_is_not_listed_is_taken_and_documented() -> None:
    for tool in TOOLS_BY_NAME.values():
        known = tool.input_schema["properties"].keys()
        assert tool.unlisted <= known
        assert tool.listed_schema["properties"].keys() == known - tool.unlisted
        assert not tool.unlisted & set(tool.input_schema.get("required", []))


def test_hints_tell_hosts_which_calls_to_ask_about() -> None:
    """Codex asks before a call unless both hints are false; others take a missing hint as false."""
    for row in tool_rows(set(TOOLSETS)).tools:
        tool, hints = TOOLS_BY_NAME[row.name], row.annotations
        assert hints is not None
        assert bool(hints.readOnlyHint) == tool.reads
        if not tool.reads:
            assert hints.destructiveHint == tool.destructive
            assert hints.destructiveHint or hints.openWorldHint is False


def test_what_the_list_leaves_out_is_still_checked(memory: AgentMemory) -> None:
    """The list says nothing of limits that no model meets; each is refused all the same."""
    for tool, given in (
        ("memory_recall", {"query": ""}),
        ("memory_recall", {"query": "tea", "types": ["nonsense"] * 2_000}),
        ("query_vault", {"limit": 51}),
        ("query_vault", {"nonsense": 1}),
        ("memory_store_fact", {"text": "x", "priority": 5}),
    ):
        done = run_tool(memory, TOOLS_BY_NAME[tool], given)
        assert done.isError, (tool, given)


@pytest.mark.parametrize("name", TOOLS_BY_NAME)
def test_every_tool_has_a_description_and_valid_schemas(name: str) -> None:
    row = tool_row(TOOLS_BY_NAME[name])
    assert row.description
    for schema in (row.inputSchema, TOOLS_BY_NAME[name].output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
    assert TOOLS_BY_NAME[name].input_schema["additionalProperties"] is False
    arguments = TOOLS_BY_NAME[name].input_schema["properties"]
    for key, said in arguments.items():
        assert said.get("description"), f"{name}: {key}"
    # Who acts is never an argument.
    assert not {"agent", "user", "vault"} & set(arguments)


# --------------------------------------------------------------------------- the tools


def test_a_fact_is_stored_updated_superseded_and_forgotten(home: Home, memory: AgentMemory) -> None:
    made = call(
        memory,
        "memory_store_fact",
        text="LanceDB is embedded.",
        type="decision",
        title="Use LanceDB",
        context="the review",
        priority="0",
        tags=["storage"],
        entities=["LanceDB"],
        fields={"outcome": "implemented", "mood": "sunny"},
    )
    assert (made["scope"], made["agentId"]) == ("private-indy", "indy")
    assert (made["decisionOutcome"], made["properties"]) == ("implemented", {"mood": "sunny"})
    assert home.note(made["path"]).is_file()

    changed = call(
        memory,
        "memory_update_fact",
        id=made["id"],
        content="It has no server.",
        set={"priority": 1, "mood": None},
        add_tags=["new"],
        remove_tags=["storage"],
        expect=made["revision"],
    )
    assert (changed["content"], changed["tags"]) == ("It has no server.", ["new"])
    assert "properties" not in changed
    assert "It has no server." in home.note(made["path"]).read_text(encoding="utf-8")

    newer = call(memory, "memory_supersede", id=made["id"], text="Use SQLite alone.")
    assert newer["supersedesId"] == made["id"]
    found = call(memory, "memory_recall", query="LanceDB or SQLite", max_priority=4)
    assert [hit["id"] for hit in found["hits"]] == [newer["id"]]

    gone = call(memory, "memory_forget", id=newer["id"])
    assert gone == {"id": newer["id"], "status": "forgotten", "previous": made["id"]}
    assert not home.note(newer["path"]).exists()
    again = call(memory, "memory_forget", id=newer["id"])
    assert again["error"]["kind"] == "FactForgottenError"
    back = call(memory, "memory_restore", id=newer["id"])
    assert back == {"id": newer["id"], "status": "active"}
    assert home.note(newer["path"]).exists()


def test_a_part_of_a_fact_is_edited(home: Home, memory: AgentMemory) -> None:
    text = "Intro.\n\n## Linux\n\n### Install\n\nOld.\n\n## Mac\n\n### Install\n\nOld."
    made = call(memory, "memory_store_fact", text=text, title="Set up")

    edited = call(
        memory,
        "memory_edit_fact",
        id="Set up",
        section="Mac > Install",
        replace="brew",
        expect=None,
    )
    assert edited["content"] == text.removesuffix("Old.") + "brew"
    assert "brew" in home.note(made["path"]).read_text(encoding="utf-8")
    many = call(memory, "memory_edit_fact", id=made["id"], find="Install", replace="Get", count=2)
    assert many["content"].count("### Get") == 2
    stale = {"id": made["id"], "append": "More.", "expect": made["revision"]}
    assert call(memory, "memory_edit_fact", **stale)["error"]["kind"] == "RevisionMismatchError"
    twice = call(memory, "memory_edit_fact", id=made["id"], section="Get", replace="x")
    assert twice["error"]["kind"] == "EditTargetError"
    assert "Linux > Get" in twice["error"]["hint"]


def test_what_is_written_names_the_facts_that_it_contradicts(memory: AgentMemory) -> None:
    old = call(memory, "memory_store_fact", text="The slipway has 38 berths.")
    assert "contradicts" not in old
    new = call(memory, "memory_store_fact", text="The slipway has a crane.")
    assert "contradicts" not in new
    changed = call(memory, "memory_update_fact", id=new["id"], content="The slipway has 42 berths.")
    (found,) = changed["contradicts"]
    assert found["id"] == old["id"]
    assert "42 berths" in found["why"]
    hits = call(memory, "memory_recall", query="slipway berths")["hits"]
    pairs = {hit["id"]: hit.get("contradicts") for hit in hits}
    assert (pairs[old["id"]], pairs[new["id"]]) == ([new["id"]], [old["id"]])


def test_an_agent_with_a_user_recalls_and_stores_facts_of_that_user_only(home: Home) -> None:
    for user in ("u-1", "u-2"):
        with home.memory(user=user) as memory:
            made = call(memory, "memory_store_fact", text=f"The shell of {user}")
            assert memory.get(made["id"]).user_id == user
            refused = call(memory, "memory_store_fact", text="x", fields={"userId": "u-3"})
            assert refused["error"]["kind"] == "FixedFieldError"
    with home.memory(user="u-1") as memory:
        for tool, key in (("memory_recall", "hits"), ("memory_get_context", "items")):
            found = call(memory, tool, query="which shell")
            assert [each["title"] for each in found[key]] == ["The shell of u-1"]
    with home.memory() as memory:
        assert len(call(memory, "memory_recall", query="which shell")["hits"]) == 2


def test_the_messages_of_a_conversation_are_stored_once(home: Home) -> None:
    said = [{"role": "user", "content": "Which shell?"}, {"role": "assistant", "content": "fish"}]
    with home.memory(user="u-1") as memory:
        first = call(memory, "memory_store_session", messages=said[:1], session="s")
        again = call(memory, "memory_store_session", messages=said, session="s", tags=["talk"])
        wrong = call(memory, "memory_store_session", messages=[{"role": "?"}], session="s")
        facts = [memory.get(each) for each in (*first["ids"], *again["ids"])]
    assert [(x.content, x.user_id, x.scope, x.tags) for x in facts] == [
        ("User: Which shell?", "u-1", "private-indy", ()),
        ("Assistant: fish", "u-1", "private-indy", ("talk",)),
    ]
    assert again["known"] == 1
    with home.memory() as memory:
        ids = memory.remember_messages(said, session="t").ids
        assert call(memory, "memory_store_session", messages=said, session="t")["known"] == len(ids)
    assert wrong["error"]["kind"] == "InvalidFieldError"
    with home.memory(user="u-2") as memory:
        assert call(memory, "memory_store_session", messages=said, session="s")["facts"] == 2


def test_an_agent_stores_in_shared_scopes_and_its_own_but_no_other_agents(home: Home) -> None:
    with home.memory(scope="team-core") as memory:
        assert call(memory, "memory_status")["scope"] == "team-core"
        assert call(memory, "memory_store_fact", text="One.")["scope"] == "team-core"
        other = call(memory, "memory_store_fact", text="Two.", scope="public")
        assert other["scope"] == "public"
        own = call(memory, "memory_store_fact", text="Three.", scope="private-indy")
        assert own["scope"] == "private-indy"
        refused = call(memory, "memory_store_fact", text="Four.", scope="private-ada")
        assert refused["error"]["kind"] == "ScopeDeniedError"
    with home.memory(None) as memory:
        assert memory.name == DEFAULT_AGENT
        assert call(memory, "memory_status")["scope"] == "private-mcp"


def dispute(home: Home, memory: AgentMemory) -> tuple[dict[str, Any], Path, dict[str, Any]]:
    """A fact, its note, which a person edited, and the answer to what an agent wrote then."""
    made = call(memory, "memory_store_fact", text="One line.", title="T")
    memory.finish_pending()
    note = home.note(made["path"])
    text = note.read_text(encoding="utf-8")
    note.write_text(text.replace("One line.", "A person's line."), encoding="utf-8")
    return made, note, call(memory, "memory_update_fact", id=made["id"], content="An agent's.")


def test_a_change_beside_an_open_conflict_is_none_itself(home: Home, memory: AgentMemory) -> None:
    made, _, changed = dispute(home, memory)
    assert changed["conflict"]
    added = call(memory, "memory_edit_fact", id=made["id"], append="Another line.")
    assert added["content"] == "A person's line.\n\nAnother line."
    assert "conflict" not in added


def test_concurrent_edits_of_a_field_are_a_conflict(home: Home, memory: AgentMemory) -> None:
    made, note, changed = dispute(home, memory)
    assert changed["content"] == "A person's line."
    (met,) = call(memory, "memory_conflicts")["conflicts"]
    assert met["id"] == changed["conflict"]
    (field,) = met["fields"]
    assert (field["base"], field["vault"], field["store"]) == (
        "One line.",
        "A person's line.",
        "An agent's.",
    )
    assert call(memory, "memory_conflicts", fact_id=NO_ID)["conflicts"] == []
    for name in (made["id"], made["id"][:13], made["id"].upper(), "T", made["path"]):
        assert call(memory, "memory_conflicts", fact_id=name)["conflicts"] == [met]
    assert call(memory, "memory_conflicts", fact_id="none")["error"]["kind"] == "NotFoundError"
    assert call(memory, "memory_status")["conflicts"] == 1

    wrong = call(memory, "memory_resolve_conflict", conflict=met["id"], take="store", field="title")
    assert wrong["error"]["kind"] == "InvalidFieldError"
    done = call(memory, "memory_resolve_conflict", conflict=met["id"], take="store")
    assert (done["conflicts"], done["resolved"]["id"]) == ([], met["id"])
    assert "An agent's." in note.read_text(encoding="utf-8")
    again = call(memory, "memory_resolve_conflict", conflict=met["id"], take="vault")
    assert again["error"]["kind"] == "ConflictNotFoundError"
    assert "memory_conflicts" in again["error"]["hint"]


@pytest.mark.parametrize(
    ("take", "kept"), [("store", "A person's line."), ("vault", "An agent's.")]
)
def test_the_user_s_answer_in_a_conflict_note_precedes_that_of_an_agent(
    home: Home, memory: AgentMemory, take: str, kept: str
) -> None:
    _, note, _ = dispute(home, memory)
    (met,) = call(memory, "memory_conflicts")["conflicts"]
    review = home.note(met["conflict_path"])
    if take == "store":  # deleting the note keeps what the user wrote
        review.unlink()
    else:
        boxes = review.read_text(encoding="utf-8")
        review.write_text(boxes.replace("- [ ] Take", "- [x] Take"), encoding="utf-8")
    again = call(memory, "memory_resolve_conflict", conflict=met["id"], take=take)
    assert again["error"]["kind"] == "ConflictNotFoundError"
    assert kept in note.read_text(encoding="utf-8")


def test_facts_are_queried_by_filters_links_dates_and_pages(memory: AgentMemory) -> None:
    tea = call(memory, "memory_store_fact", text="A drink.", title="Tea", type="entity")
    one = call(memory, "memory_store_fact", text="See [[Tea]].", title="One", tags=["x"])
    two = call(memory, "memory_store_fact", text="Two.", title="Two", type="lesson")

    def ids(**given: object) -> list[str]:
        return [fact["id"] for fact in call(memory, "query_vault", **given)["facts"]]

    assert ids() == [two["id"], one["id"], tea["id"]]
    assert ids(newest=False) == [tea["id"], one["id"], two["id"]]
    assert ids(type="lesson") == [two["id"]]
    assert ids(tag="x") == ids(tags=["x"]) == ids(tag="x", types=["note"]) == [one["id"]]
    assert ids(type="lesson", types=["entity"]) == ids(types=["lesson", "entity"])
    assert ids(types=["lesson", "entity"], scopes=["private-indy"]) == [two["id"], tea["id"]]
    assert ids(tags=["x", "y"]) == ids(scopes=["public"]) == []
    assert ids(links_to="Tea") == [one["id"]]
    assert ids(links_from=one["id"]) == [tea["id"]]
    assert ids(links_from="Two") == []
    assert ids(links_to="Tea", links_from="One") == []
    assert ids(since="2020-01", until="2020-12-31") == []
    assert ids(since="2020-01") == ids(status="active") == ids(scope="private-indy")
    first = call(memory, "query_vault", limit=2)
    rest = call(memory, "query_vault", limit=2, after=first["next"])
    assert [f["id"] for f in (*first["facts"], *rest["facts"])] == ids()
    assert rest["next"] is None

    known = call(memory, "query_vault", ids=[one["id"], NO_ID, one["id"], "x"])
    assert [fact["id"] for fact in known["facts"]] == [one["id"]]
    assert known["missing"] == [NO_ID, "x"]
    alone = call(memory, "query_vault", ids=[NO_ID])
    assert alone["error"]["kind"] == "FactNotFoundError"
    assert "memory_recall" in alone["error"]["hint"]
    assert call(memory, "query_vault", links_to="Nobody")["error"]["kind"] == "NotFoundError"


def test_a_context_pack_is_a_text_with_its_sources(memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", text="We use SQLite.", type="decision")
    done = run_tool(memory, TOOLS_BY_NAME["memory_get_context"], {"query": "SQLite", "budget": 500})
    assert done.structuredContent is not None
    text, rest = (each.text for each in done.content if isinstance(each, TextContent))
    assert text == done.structuredContent["text"]
    assert json.loads(rest)["items"][0]["id"] == made["id"]
    assert "text" not in json.loads(rest)
    assert done.structuredContent["tokens"] <= 500


def test_a_context_lists_only_the_first_facts_that_were_left_out(memory: AgentMemory) -> None:
    for number in range(30):
        call(memory, "memory_store_fact", text=f"Crane {number} lifts {number} tons of salt.")
    answer = call(memory, "memory_get_context", query="type:note", budget=100)
    assert len(answer["left_out"]) == MAX_LEFT_OUT
    (cut,) = answer["cut"]
    assert cut["where"] == "left_out"
    assert cut["of"] + len(answer["items"]) == 30
    assert "memory_recall" in answer["rest"]


@pytest.mark.parametrize("form", ["json", "graphml", "canvas"])
def test_a_limited_graph_keeps_the_nodes_with_most_links(memory: AgentMemory, form: str) -> None:
    call(memory, "memory_store_fact", text="Hub.", title="Hub", type="entity")
    for number in range(4):
        call(memory, "memory_store_fact", text="[[Hub]]", title=f"Spoke {number}")
    call(memory, "memory_store_fact", text="Alone.", title="Alone")
    some = call(memory, "memory_export_graph", format=form, limit=3)
    assert (some["nodes"], some["links"], some["left_out"]) == (3, 2, 3)
    near = call(memory, "memory_export_graph", format=form, around="Hub")
    assert (near["nodes"], near["links"], near["left_out"]) == (5, 4, 0)
    nearest = call(memory, "memory_export_graph", format=form, around="Spoke 3", depth=2, limit=2)
    assert (nearest["nodes"], nearest["links"], nearest["left_out"]) == (2, 1, 3)
    for answer, label in ((some, "Hub"), (nearest, "Spoke 3"), (nearest, "Hub")):
        if form == "json":
            assert label in {node["label"] for node in answer["graph"]["nodes"]}
        elif form == "graphml" or label == "Hub":
            assert label in answer["text"]


@pytest.mark.long(5)
def test_a_graph_that_is_too_long_loses_nodes(memory: AgentMemory) -> None:
    for number in range(60):
        call(memory, "memory_store_fact", text="-", title=f"{number} " + "long " * 200)
    drawn = call(memory, "memory_export_graph")
    assert 1 <= drawn["nodes"] < 60
    assert drawn["nodes"] + drawn["left_out"] == 60
    assert len(json.dumps(drawn)) < 50_000


def test_status_reports_pending_changes_and_syncs_none(home: Home, memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", text="One.", title="T")
    memory.finish_pending()
    note = home.note(made["path"])
    note.write_text(note.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    status = call(memory, "memory_status")
    assert (status["facts"], status["pending"], status["agent"]) == (1, 1, "indy")
    assert call(memory, "memory_status")["pending"] == 1


def test_status_gives_a_hint_of_many_notices_once(home: Home, memory: AgentMemory) -> None:
    for name in ("One", "Two"):
        made = call(memory, "memory_store_fact", text=f"{name}.", title=name)
        memory.finish_pending()
        note = home.note(made["path"])
        text = note.read_text(encoding="utf-8").replace("---\n", "---\npriority: 77\n", 1)
        note.write_text(text, encoding="utf-8")
    memory.sync()
    hint, again = (each.hint for each in memory.status().attention)
    assert hint == again != ""
    listed = call(memory, "memory_status")["attention"]
    assert [each["hint"] for each in listed] == [hint, ""]
    assert all(each["message"] for each in listed)


# ---------------------------------------------------------------------- fresh answers


def test_every_answer_includes_the_users_last_edit(home: Home) -> None:
    with home.memory() as memory:
        made = call(memory, "memory_store_fact", text="Green.", title="Crane")
        note = home.note(made["path"])
        for colour in ("red", "blue", "white"):
            head = note.read_text(encoding="utf-8").partition("# Crane")[0]
            note.write_text(f"{head}# Crane\n\nIt is {colour}.\n", encoding="utf-8")
            found = call(memory, "memory_recall", query="crane")
            assert hits(found) == [f"It is {colour}."]
        by = {entry.actor for entry in memory.history(made["id"]) if entry.side == "vault"}
        assert by == {"person"}
        renamed = note.with_name("The crane.md")
        note.rename(renamed)
        found = call(memory, "memory_recall", query="crane")
        assert found["hits"][0]["path"].endswith("/The crane.md")


@pytest.mark.parametrize(
    "change", [{"append": "It is loud."}, {"find": "It is red.", "replace": "It is red and loud."}]
)
def test_an_edit_of_a_part_is_one_of_what_the_user_saved_last(
    memory: AgentMemory, home: Home, change: dict[str, str]
) -> None:
    made = call(memory, "memory_store_fact", text="It is green.", title="Crane")
    note = home.note(made["path"])
    note.write_text(note.read_text(encoding="utf-8").replace("green", "red"), encoding="utf-8")
    done = call(memory, "memory_edit_fact", id=made["id"], **change)
    assert "conflict" not in done
    assert "red" in done["content"]
    assert "loud" in done["content"]
    assert done["content"] in note.read_text(encoding="utf-8")


def test_a_failing_disk_or_missing_vault_degrades_answers(home: Home, memory: AgentMemory) -> None:
    why = "edits of notes were not synced: "
    call(memory, "memory_store_fact", text="The crane is green.")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch.object(VaultFs, "scan", side_effect=full):
        found = call(memory, "memory_recall", query="crane")
    assert hits(found) == ["The crane is green."]
    assert found["degraded"] == [f"{why}No space left on device"]
    fixed = OSError(errno.EROFS, os.strerror(errno.EROFS))
    with mock.patch.object(EngineLock, "try_lock", side_effect=fixed):
        found = call(memory, "memory_recall", query="crane")
    assert hits(found) == ["The crane is green."]
    assert found["degraded"] == [f"{why}Read-only file system"]
    (home.vault / ".meta").rename(home.vault / "meta")
    found = call(memory, "memory_recall", query="crane")
    assert hits(found) == ["The crane is green."]
    (said,) = found["degraded"]
    assert said.startswith(f"{why}the vault at ")
    assert call(memory, "query_vault")["degraded"] == [said]


def test_a_daemon_that_holds_the_lock_is_waited_for_once(home: Home) -> None:
    with home.memory("ada") as daemon, home.memory() as memory, daemon._engine.lock:
        assert not call(memory, "memory_store_fact", text="The crane is green.")["mirrored"]
        for _ in range(3):
            assert hits(call(memory, "memory_recall", query="crane"))
        busy = call(memory, "memory_resolve_conflict", conflict="x", take="vault")
        assert busy["error"]["kind"] == "EngineBusyError"
        assert memory._daemon


def test_a_new_fact_waits_for_the_daemons_note(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with home.memory("ada") as daemon, home.memory() as memory, daemon._engine.lock:
        DaemonFile(memory.settings.state_dir).write({})
        steps: list[float] = []

        def pass_by(seconds: float) -> None:
            steps.append(seconds)
            daemon.sync()

        monkeypatch.setattr(memory._ctx.clock, "sleep", pass_by)
        made = call(memory, "memory_store_fact", text="The crane is green.")
        assert made["mirrored"]
        assert home.note(made["path"]).is_file()
        assert len(steps) == 1


def test_a_text_may_have_the_name_that_other_tools_use(memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", content="One.")
    assert call(memory, "memory_update_fact", id=made["id"], text="Two.")["content"] == "Two."
    newer = call(memory, "memory_supersede", id=made["id"], content="Three.")
    seen = call(memory, "memory_observe", text="It rained.")
    shown = call(memory, "query_vault", ids=[newer["id"], seen["id"]])["facts"]
    assert [each["content"] for each in shown] == ["Three.", "It rained."]
    both = call(memory, "memory_observe", text="It rained.", content="It snowed.")
    assert "unknown field `text`" in both["error"]["message"]


def test_an_argument_may_have_the_name_that_other_tools_use(memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", text="The crane is red.", tags=["port"])
    for tool in ("memory_recall", "memory_get_context"):
        given = {"query": "crane", "type": "note", "tag": "port", "scope": made["scope"]}
        assert made["id"] in json.dumps(call(memory, tool, **given)), tool
        assert made["id"] not in json.dumps(call(memory, tool, **given | {"type": "task"})), tool
    assert call(memory, "query_vault", id=made["id"])["facts"][0]["id"] == made["id"]
    named = {"fact_id": made["id"]}
    assert call(memory, "memory_update_fact", add_tags=["quay"], **named)["id"] == made["id"]
    assert (
        "It is loud." in call(memory, "memory_edit_fact", append="It is loud.", **named)["content"]
    )
    assert call(memory, "memory_forget", **named)["status"] == "forgotten"
    assert call(memory, "memory_restore", **named)["status"] == "active"
    assert call(memory, "memory_conflicts", id=made["id"])["conflicts"] == []
    for tool, more in (
        ("memory_resolve_conflict", {"take": "vault"}),
        ("memory_resolve_proposal", {"accept": False}),
    ):
        assert call(memory, tool, id=NO_ID, **more)["error"]["kind"].endswith("NotFoundError")
    newer = call(memory, "memory_supersede", text="The crane is blue.", **named)
    assert newer["supersedesId"] == made["id"]


def test_a_fact_may_be_named_as_notes_link_to_it(memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", text="It is red.", title="The crane")
    for name in ("[[The crane]]", "[[the crane|it]]"):
        (shown,) = call(memory, "query_vault", ids=[name])["facts"]
        assert shown["id"] == made["id"]
    assert call(memory, "memory_export_graph", around="[[The crane]]")["nodes"] == 1


# --------------------------------------------------------------------------- refusals


ARGUMENTS, FIELD = "InvalidArgumentsError", "InvalidFieldError"


@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("memory_store_fact", {}, ARGUMENTS, "missing required field `text`"),
        ("memory_store_fact", {"text": ""}, ARGUMENTS, "length >= 1"),
        ("memory_store_fact", {"text": "x", "agent": "ada"}, ARGUMENTS, "unknown field `agent`"),
        ("memory_store_fact", {"text": "x", "priority": 5}, ARGUMENTS, "<= 4"),
        (
            "memory_recall",
            {"query": "x", "limit": 51},
            ARGUMENTS,
            "use a whole number from 1 to 50",
        ),
        ("memory_recall", {"query": "x", "tags": [1]}, ARGUMENTS, "use a list of text"),
        ("memory_recall", {"query": "x", "types": 3}, ARGUMENTS, "use a list of decision, com"),
        ("memory_store_fact", {"text": "x", "priority": "high"}, ARGUMENTS, "from 0 to 4"),
        ("memory_resolve_proposal", {"proposal": "x", "accept": "y?"}, ARGUMENTS, "true or false"),
        ("memory_recall", {"query": "x", "mode": "magic"}, ARGUMENTS, "use auto, fused, index"),
        ("query_vault", {"tag": ["x"]}, ARGUMENTS, "`$.tag`"),
        ("memory_resolve_conflict", {"conflict": "x", "take": "both"}, ARGUMENTS, "both"),
        ("memory_status", {"agent": "ada"}, ARGUMENTS, "unknown field `agent`"),
        ("memory_store_fact", {"text": "x", "type": "poem"}, "UnknownTypeError", "poem"),
        ("memory_store_fact", {"text": "x", "scope": "Mine"}, "InvalidScopeError", "Mine"),
        ("memory_store_fact", {"text": " "}, FIELD, "content"),
        ("memory_update_fact", {"id": NO_ID}, "UsageError", "nothing to change"),
        ("memory_update_fact", {"id": "../x", "content": "x"}, "NotFoundError", "../x"),
        ("memory_supersede", {"id": NO_ID, "text": "x"}, "FactNotFoundError", NO_ID),
        ("query_vault", {"since": "someday"}, FIELD, "someday"),
        ("memory_export_graph", {"around": "x"}, "NotFoundError", "x"),
        (
            "repo_remember",
            {"kind": "note", "text": "x", "title": "T"},
            "UsageError",
            "title: a note has none",
        ),
        ("memory_get_context", {"query": "x", "budget": 0}, ARGUMENTS, "from 1 to 32000"),
    ],
)
def test_errors_have_a_kind_a_message_and_a_hint(
    memory: AgentMemory, tool: str, given: dict[str, object], kind: str, said: str
) -> None:
    error = call(memory, tool, **given)["error"]
    assert error["kind"] == kind
    assert said in error["message"]
    assert error["hint"]
    assert error["hint"].startswith(f"{tool} takes ") == (kind == ARGUMENTS)


def test_lists_and_objects_may_be_written_as_texts(memory: AgentMemory) -> None:
    made = call(
        memory,
        "memory_store_fact",
        text="One.",
        tags='["tea", "cup"]',
        entities="Alice",
        fields='{"mood": "glad"}',
    )
    assert (made["tags"], made["properties"]) == (["tea", "cup"], {"mood": "glad"})
    assert made["entities"] == ["Alice"]
    assert len(call(memory, "memory_recall", query="One", types="note", tags="")["hits"]) == 1
    for wrong in ('{"a": 1', "[]", "x"):
        refused = call(memory, "memory_store_fact", text="Two.", fields=wrong)
        assert refused["error"]["kind"] == ARGUMENTS


@pytest.mark.parametrize(
    "written", ["tea,cup", "tea, cup,", "['tea', 'cup']", '["tea", "cup"]', "[tea, cup]"]
)
def test_a_list_may_be_written_as_a_text_with_commas(memory: AgentMemory, written: str) -> None:
    both = ["tea", "cup"]
    named = {"tags": written, "entities": written}
    made = call(memory, "memory_store_fact", text="One.", type="decision", **named)
    assert (made["tags"], made["entities"]) == (both, both)
    assert len(call(memory, "memory_recall", query="One", tags=written)["hits"]) == 1
    listed = {**named, "decisionAlternatives": '["Milk, cold", "Rum"]'}
    changed = call(memory, "memory_update_fact", id=made["id"], set=dict.fromkeys(listed, None))
    assert "tags" not in changed
    changed = call(memory, "memory_update_fact", id=made["id"], set=listed)
    assert (changed["tags"], changed["entities"]) == (both, both)
    assert changed["decisionAlternatives"] == ["Milk, cold", "Rum"]
    one = {"set": {"decisionAlternatives": "Milk, cold"}, "remove_tags": written}
    changed = call(memory, "memory_update_fact", id=made["id"], **one)
    assert changed["decisionAlternatives"] == ["Milk, cold"]
    assert "tags" not in changed
    for names in ("[[Smith, John]], [[Acme]]", "['[[Smith, John]]', '[[Acme]]']"):
        changed = call(memory, "memory_update_fact", id=made["id"], set={"entities": names})
        assert changed["entities"] == ["Smith, John", "Acme"]
    assert texts_in("a,b]], [c], d, [[e") == ["a,b]]", "[c]", "d", "[[e"]
    began = time.process_time()
    assert texts_in("a," * 50_000 + "[[b, c]]") == ["a"] * 50_000 + ["[[b, c]]"]
    assert time.process_time() - began < 5
    assert "missing" not in call(memory, "query_vault", ids=f"{made['id']}, {made['id'][:20]}")


def test_a_text_in_place_of_a_list_of_sentences_is_one_of_them(memory: AgentMemory) -> None:
    taken = replace(TOOLS_BY_NAME["repo_summarize_step"], run=lambda _, args: asdict(args))
    given = {"run": "1", "step": "2", "summary": "Done.", "follow_ups": "Test it, then ship it."}
    answer = taken.call(memory, given)
    assert isinstance(answer, dict)
    assert answer["follow_ups"] == ("Test it, then ship it.",)


def test_null_stands_for_an_argument_that_is_left_out(memory: AgentMemory) -> None:
    """Hosts with strict schemas send a null for each argument that has no value."""
    none = dict.fromkeys(("type", "scope", "since", "after"))
    assert call(memory, "query_vault", **none)["facts"] == []
    none = dict.fromkeys(("priority", "tags", "entities", "fields"))
    assert call(memory, "memory_store_fact", text="One.", **none)["title"] == "One"
    none = dict.fromkeys(("types", "all", "limit", "mode"))
    assert len(call(memory, "memory_recall", query="One", **none)["hits"]) == 1
    assert "got `null`" in call(memory, "memory_recall", query=None)["error"]["message"]


def test_an_answer_has_no_empty_text_and_repeats_no_text(memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", text="Tea is green.")
    assert "content" not in made
    linked = call(memory, "memory_store_fact", text="Tea is hot.\r\nMilk is cold.")
    assert linked["content"] == "Tea is hot.\nMilk is cold."
    call(memory, "query_vault", ids=[made["id"]])
    (shown,) = call(memory, "query_vault", ids=[made["id"]])["facts"]
    assert shown["content"] == "Tea is green."
    assert "accessCount" not in shown
    nothing = run_tool(memory, TOOLS_BY_NAME["memory_get_context"], {"query": "zebra crossing"})
    (block,) = nothing.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text)["nothing_known"]


def test_an_update_of_a_stale_revision_is_refused(memory: AgentMemory) -> None:
    made = call(memory, "memory_store_fact", text="One.")
    given = {"id": made["id"], "expect": made["revision"]}
    call(memory, "memory_update_fact", content="Two.", **given)
    late = call(memory, "memory_update_fact", content="Three.", **given)
    assert late["error"]["kind"] == "RevisionMismatchError"
    assert "query_vault" in late["error"]["hint"]


def test_an_update_of_what_the_user_just_edited_is_refused(memory: AgentMemory, home: Home) -> None:
    """`expect` also holds for edits that no sync has seen."""
    made = call(memory, "memory_store_fact", text="It is green.", title="Crane")
    note = home.note(made["path"])
    note.write_text(note.read_text(encoding="utf-8").replace("green", "red"), encoding="utf-8")
    given = {"id": made["id"], "content": "It is blue.", "expect": made["revision"]}
    late = call(memory, "memory_update_fact", **given)
    assert late["error"]["kind"] == "RevisionMismatchError"
    assert call(memory, "memory_conflicts")["conflicts"] == []
    (shown,) = call(memory, "query_vault", ids=[made["id"]])["facts"]
    assert shown["content"] == "It is red."
    done = call(memory, "memory_update_fact", **given | {"expect": shown["revision"]})
    assert done["content"] == "It is blue."


@pytest.mark.parametrize(
    ("sides", "asked"),
    [
        (("deleted", "changed"), "Write “The crane” again, which you deleted"),
        (("changed", "deleted"), "Delete “The crane”, which you changed"),
        (("Hers", "Its"), "Overwrite what you wrote in note of “The crane”"),
    ],
)
def test_the_user_is_asked_what_taking_the_other_side_does(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch, sides: tuple[str, str], asked: str
) -> None:
    fields = (FieldConflict("note", None, *sides),)
    path = VaultPath("public/The crane.md")
    record = ConflictRecord("0" * 16, NO_ID, path, None, fields, "indy", "", "", "The crane")
    monkeypatch.setattr(memory, "conflicts", lambda: [record])
    tool = TOOLS_BY_NAME["memory_resolve_conflict"]
    for name in ("0000", NO_ID, path):  # all that `resolve()` takes
        assert tool.question_for(memory, {"id": name, "take": "store"}).startswith(asked)
        assert tool.question_for(memory, {"id": name, "take": "vault"}) == ""


def test_an_unexpected_error_is_reported_and_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = error_parts(ZeroDivisionError("by nought"))
    assert error_text(failure).startswith("ZeroDivisionError: by nought\nhint: this is a bug")
    assert capsys.readouterr().out == ""
    assert "ZeroDivisionError" in caplog.text
    disk = error_parts(OSError(28, "No space left on device"))
    assert error_text(disk) == "the disk or the system failed: No space left on device"


def test_hints_name_tools_and_not_commands() -> None:
    for error in (
        errors.FactNotFoundError(NO_ID),
        errors.ConflictNotFoundError("x"),
        errors.InvalidIdError("x"),
        errors.FactForgottenError(NO_ID, "2026-02-14"),
        errors.SupersededError(NO_ID, NO_ID),
        errors.ModuleMissingError("x", "docs/memories"),
        errors.EngineBusyError("/vault"),
        errors.NotARepositoryError("/vault"),
    ):
        text = error_text(error_parts(error))
        assert "`vaultsync" not in text
        assert "--" not in text


# ----------------------------------------------------------------------- bounded answers


def test_a_truncated_content_can_be_read_to_its_end(memory: AgentMemory) -> None:
    text = "\n\n".join(f"Paragraph {number} of many." for number in range(4_000))
    made = call(memory, "memory_store_fact", text=text, title="Long")
    assert "content" not in made
    read = ""
    while True:
        answer = call(memory, "query_vault", ids=[made["id"]], offset=len(read))
        content = answer["facts"][0].get("content", "")
        if "cut" not in answer:
            read += content
            break
        (cut,) = answer["cut"]
        assert (cut["where"], cut["of"]) == ("facts[0].content", len(text) - len(read))
        assert "offset" in answer["rest"]
        assert len(json.dumps(answer)) < 45_000
        read += content[: cut["shown"]]
    assert read == text


def test_many_long_facts_are_truncated_to_fit_one_answer(memory: AgentMemory) -> None:
    for number in range(30):
        memory.remember(f"{number} " + "word " * 2_000, fields={"mood": "glad " * 400})
    answer = call(memory, "query_vault", limit=50)
    assert len(answer["facts"]) == 30
    assert len(json.dumps(answer)) < 60_000
    assert {"facts[0].content", "facts[29].properties.mood"} <= {
        cut["where"] for cut in answer["cut"]
    }


def test_long_lists_are_truncated() -> None:
    tags = [str(number) for number in range(MAX_LIST_ITEMS + 1)]
    answer = truncate({"tags": tags, "n": 1, "none": None}, 10_000, "more")
    assert answer["tags"] == tags[:MAX_LIST_ITEMS]
    assert answer["cut"] == [{"where": "tags", "shown": MAX_LIST_ITEMS, "of": MAX_LIST_ITEMS + 1}]
    assert answer["rest"] == "more"
    assert truncate({"a": "b"}, 10, "more") == {"a": "b"}


def test_a_text_of_the_lowest_limit_such_as_a_path_is_never_cut() -> None:
    path = "p" * MIN_TEXT_CHARS
    answer = truncate({"facts": [{"path": path, "content": path * 2}] * 50}, 10, "more")

    rows = cast("list[dict[str, str]]", answer["facts"])
    assert {row["path"] for row in rows} == {path}
    assert {row["content"] for row in rows} == {path + "…"}


# -------------------------------------------------------------- resources and prompts


def test_notes_and_tables_are_resources(home: Home) -> None:
    async def reads(session: ClientSession) -> None:
        made = await ask(session, "memory_store_fact", text="Tea.", title="Tea time")

        async def text(uri: str) -> str:
            (found,) = (await session.read_resource(AnyUrl(uri))).contents
            assert isinstance(found, TextResourceContents)
            assert found.mimeType == "text/markdown"
            return found.text

        note = home.note(made["path"]).read_text(encoding="utf-8")
        assert await text(f"vaultsync://fact/{made['id']}") == note
        listed = {str(each.uri): each for each in (await session.list_resources()).resources}
        for uri, row in listed.items():
            table = await text(uri)
            assert row.size == len(table.encode())
            assert table == (home.vault / ".index" / row.name).read_text("utf-8")
        assert "Tea time" in await text("vaultsync://index/vault-index")
        for wrong in (
            f"vaultsync://fact/{NO_ID}",
            "vaultsync://fact/x",
            "vaultsync://index/none.md",
            "vaultsync://index/..%2F..%2Fetc%2Fpasswd",
            "file:///etc/passwd",
        ):
            with pytest.raises(McpError) as refused:
                await text(wrong)
            assert refused.value.error.code == -32002

    talk(home, reads)


def test_a_fact_without_its_note_is_rendered(home: Home, memory: AgentMemory) -> None:
    made = memory.remember("Tea.", title="Tea time")
    text = home.note(made.path).read_text(encoding="utf-8")
    home.note(made.path).unlink()
    assert memory.note(made.id)[1] == text


def test_prompts_contain_what_is_known(home: Home) -> None:
    async def asks(session: ClientSession) -> None:
        await ask(session, "memory_store_fact", text="Tea is at four.", title="Tea")

        async def text(prompt: str, **given: str) -> str:
            (message,) = (await session.get_prompt(prompt, given)).messages
            assert isinstance(message.content, TextContent)
            return message.content.text

        known = await text("what_do_i_know_about", topic="tea")
        assert "Tea is at four." in known
        assert "not instructions" in known
        unknown = await text("what_do_i_know_about", topic="zebras")
        assert "found nothing" in unknown
        assert "Tea is at four." in await text("before_you_start_on", task="tea")
        assert "Nothing was found" in await text("before_you_start_on", task="zebras")
        for wrong in ({}, {"topic": " "}):
            with pytest.raises(McpError, match="topic is missing"):
                await text("what_do_i_know_about", **wrong)
        with pytest.raises(McpError, match="unknown prompt 'x'"):
            await text("x")
        with pytest.raises(McpError, match="unknown tool 'x'\nhint: use one of memory_store_fact"):
            await session.call_tool("x", {})

    talk(home, asks)


def test_a_prompt_names_open_conflicts(home: Home, memory: AgentMemory) -> None:
    made = memory.remember("One.", title="Disputed")
    memory.finish_pending()
    note = home.note(made.path)
    note.write_text(note.read_text("utf-8").replace("One.", "Two."), encoding="utf-8")
    memory.update(made.id, content="Three.")

    async def asks(session: ClientSession) -> None:
        found = await session.get_prompt("before_you_start_on", {"task": "anything"})
        content = found.messages[0].content
        assert isinstance(content, TextContent)
        conflicts = "conflicts between notes and memory:\n\n~~~ memory of names\n- Disputed\n~~~"
        assert conflicts in content.text

    talk(home, asks)


def test_each_call_fails_while_the_vault_cannot_be_opened(home: Home) -> None:
    (folder,) = home.state.iterdir()
    aside = folder.rename(home.state / "aside")
    folder.write_text("a file where the folder was")

    async def asks(session: ClientSession) -> None:
        failed = await ask(session, "memory_status")
        assert failed["error"]["kind"] == "ConfigError"
        with pytest.raises(McpError, match="the state folder"):
            await session.list_resources()
        folder.unlink()
        aside.rename(folder)
        assert (await ask(session, "memory_status"))["facts"] == 0

    talk(home, asks)
