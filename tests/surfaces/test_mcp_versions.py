"""What hosts get beyond tools, over stdio, on each major version of the server's SDK.

The client is that of the installed SDK. MCP_SDK_FOLDERS names folders with other versions, on
which the server runs, too: `make mcp-versions` does so.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from pydantic import AnyUrl

from tests.mcp_clients import Home, ask, hits
from vaultsync.mcp_server.sdk import Asker

pytestmark = pytest.mark.long(5)

ROOT = Path(__file__).parents[2]
SDKS = ["", *filter(None, os.environ.get("MCP_SDK_FOLDERS", "").split(os.pathsep))]
FACT = types.ResourceTemplateReference(type="ref/resource", uri="vaultsync://fact/{id}")
INDEX = types.ResourceTemplateReference(type="ref/resource", uri="vaultsync://index/{name}")


class User:
    """A user whom the host asks, and who answers in this order."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._answers = iter(
            [
                types.ElicitResult(action="decline"),
                types.ElicitResult(action="cancel"),
                types.ElicitResult(action="accept", content={"confirm": False}),
                types.ElicitResult(action="accept", content={"confirm": True}),
            ]
        )

    async def answer(
        self, context: object, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        self.asked.append(params.message)
        return next(self._answers)


@pytest.fixture(params=SDKS, ids=["installed", *SDKS[1:]])
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def host(home: Home, sdk: str, user: User) -> AsyncIterator[ClientSession]:
    """A host that can ask its user."""
    command, *words = home.command("mcp", "--agent", "indy")
    path = os.pathsep.join(filter(None, (sdk, str(ROOT))))
    server = StdioServerParameters(
        command=command, args=words, env={**home.environment, "PYTHONPATH": path}
    )
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, elicitation_callback=user.answer) as session,
    ):
        await session.initialize()
        yield session


def test_a_host_completes_ids_hears_of_progress_and_asks_its_user(home: Home, sdk: str) -> None:
    with home.memory("ada", scope="private-ada") as ada:
        hidden = ada.remember("The safe is open.", scope="private-ada")
    user = User()

    async def talk() -> None:
        async with host(home, sdk, user) as agent:
            assert len((await agent.list_tools()).tools) >= 16
            fact = await ask(agent, "memory_store_fact", text="Tea at four.", title="Tea")
            await completes_ids(agent, fact, hidden.id)
            await tells_progress(agent)
            await asks_the_user(agent, home.note(fact["path"]), fact["id"])

    asyncio.run(talk())
    question = "Overwrite what you wrote in content of “Tea” with the agent's version?"
    assert user.asked == [question] * 4


@pytest.mark.parametrize("sdk", SDKS[1:])  # version 1 does not speak this protocol
def test_a_host_that_takes_no_requests_is_told_what_to_ask_and_calls_again(
    home: Home, sdk: str
) -> None:
    with home.memory() as memory:
        fact = memory.remember("Tea at four.", title="Tea")
        note = home.note(fact.path)
        edited = note.read_text().replace("four", "five")
        note.write_text(edited)
        memory.update(fact.id, content="Tea at six.")
        (conflict,) = memory.conflicts()
    question = "Overwrite what you wrote in content of “Tea” with the agent's version?"

    def resolve(**more: object) -> dict[str, Any]:
        prefix = "io.modelcontextprotocol/"
        meta = {
            f"{prefix}protocolVersion": "2026-07-28",
            f"{prefix}clientInfo": {"name": "host", "version": "1"},
            f"{prefix}clientCapabilities": {"elicitation": {"form": {}}},
        }
        given = {"conflict": conflict.id, "take": "store"}
        params = {"name": "memory_resolve_conflict", "arguments": given, "_meta": meta, **more}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        done = subprocess.run(
            home.command("mcp", "--agent", "indy"),
            input=json.dumps(call) + "\n",
            env={**home.environment, "PYTHONPATH": os.pathsep.join((sdk, str(ROOT)))},
            capture_output=True,
            text=True,
            check=True,
        )
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result

    no, yes = ({"action": "accept", "content": {"confirm": x}} for x in (False, True))
    for answers in ({}, {"Another question?": yes}):
        asked = resolve(inputResponses=answers)
        assert asked["resultType"] == "input_required"
        assert asked["inputRequests"][question]["params"]["message"] == question
    declined = resolve(inputResponses={question: no})
    assert declined["structuredContent"]["error"]["kind"] == "UserDeclinedError"
    assert note.read_text() == edited
    assert resolve(inputResponses={question: yes})["structuredContent"]["conflicts"] == []
    assert "at six" in note.read_text()


@pytest.mark.parametrize(
    ("modes", "can"),
    [(None, False), ({}, True), ({"form": {}, "url": {}}, True), ({"url": {}}, False)],
)
def test_a_user_is_asked_where_the_host_has_a_form(
    modes: dict[str, object] | None, *, can: bool
) -> None:
    known = types.ClientCapabilities.model_validate({"elicitation": modes})
    session = SimpleNamespace(client_params=SimpleNamespace(capabilities=known))
    assert Asker(SimpleNamespace(session=session, request=None)).can_ask_user is can


async def completes_ids(agent: ClientSession, fact: dict[str, Any], hidden: str) -> None:
    async def completed(ref: types.ResourceTemplateReference, typed: str) -> list[str]:
        found = (await agent.complete(ref, {"name": "id", "value": typed})).completion
        assert (found.total, found.hasMore) == (len(found.values), False)
        return found.values

    assert await completed(FACT, fact["id"][:9]) == [fact["id"]]
    assert await completed(FACT, "private-") == [fact["path"]]
    assert await completed(FACT, hidden[:13]) == []
    assert await completed(INDEX, "by-t") == ["by-type.md"]
    uri = AnyUrl(f"vaultsync://fact/{quote(fact['path'], safe='')}")
    (text,) = (await agent.read_resource(uri)).contents
    assert isinstance(text, types.TextResourceContents)
    assert "Tea at four." in text.text
    prompt = (await agent.list_prompts()).prompts[0]
    shown = await agent.get_prompt(prompt.name, {"topic": "tea"})
    assert "Tea at four." in str(shown.messages[0].content)
    with pytest.raises(McpError, match="no fact is called"):
        await agent.read_resource(AnyUrl("vaultsync://fact/none"))


async def tells_progress(agent: ClientSession) -> None:
    told: list[tuple[float, float | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    found = await agent.call_tool("memory_recall", {"query": "tea"}, None, tell)
    assert hits(found.structuredContent or {}) == ["Tea at four."]
    assert told == [(0, 2), (1, 2)]


async def asks_the_user(agent: ClientSession, note: Path, fact_id: str) -> None:
    """Their own words are overwritten when they say so; they may always be kept."""
    edited = note.read_text().replace("at four", "at five")  # noqa: ASYNC240 - a small file
    note.write_text(edited)  # noqa: ASYNC240
    changed = await ask(agent, "memory_update_fact", id=fact_id, content="Tea at six.")
    words = {"conflict": changed["conflict"], "take": "store"}
    for _ in ("decline", "cancel", "not confirmed"):
        done = await ask(agent, "memory_resolve_conflict", **words)
        assert done["error"]["kind"] == "UserDeclinedError"
        assert note.read_text() == edited  # noqa: ASYNC240
    assert (await ask(agent, "memory_resolve_conflict", **words))["conflicts"] == []
    assert "at six" in note.read_text()  # noqa: ASYNC240
