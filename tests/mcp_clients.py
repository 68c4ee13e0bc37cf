"""The SDK's client for the MCP server, over every transport."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner, Result
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult, TextContent

from tests.forked import start_program
from tests.world import open_scopes
from vaultsync.api import opening as app
from vaultsync.cli.main import cli
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.agent_settings import settings_for
from vaultsync.mcp_server.server import AgentWorker, make_server

MCP = ("mcp", "--http", "--port", "0")
"""The command line of an HTTP server."""


@dataclass(frozen=True)
class Home:
    """A vault and its state folder."""

    vault: Path
    state: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("VAULTSYNC_")}
        root = str(Path(__file__).parents[1])
        return {
            **kept,
            "PYTHONPATH": root,
            "VAULTSYNC_CONFIG_DIR": os.environ["VAULTSYNC_CONFIG_DIR"],
            "VAULTSYNC_EMBEDDER": "none",
            "VAULTSYNC_STATE_DIR": str(self.state),
            "VAULTSYNC_VAULT": str(self.vault),
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "vaultsync", *words]

    def run(self, *words: str) -> Result:
        """Run a command in this process."""
        alone = dict.fromkeys(os.environ.keys() - self.environment.keys())
        runner = CliRunner(env={**alone, **self.environment})
        return runner.invoke(cli, words, prog_name="vaultsync", catch_exceptions=False)

    def memory(
        self, agent: str | None = "indy", scope: str | None = None, user: str | None = None
    ) -> AgentMemory:
        settings = settings_for(
            str(self.vault), agent=agent, state_dir=str(self.state), scope=scope, user=user
        )
        return AgentMemory(settings, scope=scope)

    def worker(self, agent: str = "indy") -> AgentWorker:
        return AgentWorker(lambda: self.memory(agent))

    def note(self, path: object) -> Path:
        return self.vault / str(path)


def make_home(folder: Path) -> Home:
    home = Home(folder / "vault", folder / "state")
    app.init(str(home.vault), state_dir=str(home.state))
    open_scopes(home.vault)
    return home


@asynccontextmanager
async def in_memory(worker: AgentWorker) -> AsyncIterator[ClientSession]:
    """A client in this process."""
    async with create_connected_server_and_client_session(make_server(worker)) as session:
        yield session


@asynccontextmanager
async def over_stdio(home: Home, *, agent: str = "indy") -> AsyncIterator[ClientSession]:
    """A client that starts the server as its child process."""
    command, *words = home.command("mcp", "--agent", agent)
    server = StdioServerParameters(command=command, args=words, env=home.environment)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def over_http(home: Home, *, agent: str = "indy") -> AsyncIterator[ClientSession]:
    """A client of a server in a process of its own."""
    with serving(home, *MCP, "--agent", agent) as (_, address):
        headers = {"Authorization": f"Bearer {token(home)}"}
        async with (
            httpx.AsyncClient(headers=headers) as client,
            streamable_http_client(address, http_client=client) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session


@contextmanager
def serving(home: Home, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves over HTTP, and its address."""
    command, pipe = home.command(*words, "--json"), subprocess.PIPE
    with start_program(
        command, env=home.environment, stdout=pipe, stderr=pipe, text=True
    ) as program:
        assert program.stdout is not None
        address: str = json.loads(program.stdout.readline())["address"]
        try:
            yield program, address
        finally:
            program.terminate()
            assert program.wait(60) == 0


def token(home: Home) -> str:
    found: str = json.loads(home.run("bridge", "token", "--json").stdout)["token"]
    return found


async def ask(session: ClientSession, tool: str, **given: object) -> dict[str, Any]:
    """The answer of a tool; its error, if any, under `error`."""
    done = await session.call_tool(tool, given)
    answer = done.structuredContent
    assert answer is not None, done
    assert done.isError == ("error" in answer)
    assert text_of(done)
    return answer


def text_of(done: CallToolResult) -> str:
    """The text for clients that do not read structured content."""
    return "\n".join(e.text for e in done.content if isinstance(e, TextContent))


def hits(answer: Mapping[str, Any]) -> list[str]:
    return [hit["snippet"] for hit in answer["hits"]]
