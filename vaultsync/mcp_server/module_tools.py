"""Tools for the layered documents of a project. They are listed where it has some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, structs

from vaultsync.mcp_server.tool import ToolArgs, about, evident, tool
from vaultsync.mcp_server.toolsets import MODULES

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.modules.report import ModuleAnswer, ModuleWritten

Topic = Annotated[str, about("A folder of docs/memories."), Meta(min_length=1)]


class _ModuleReadArgs(ToolArgs, frozen=True):
    topic: Topic
    chunk: Annotated[str | None, evident("Only this module.")] = None


@tool(
    "module_read",
    "Read a project's modules",
    "Read what this project documented about a topic, or one module (`chunk`) of it.",
    reads=True,
    toolset=MODULES,
)
def read(memory: AgentMemory, args: _ModuleReadArgs) -> ModuleAnswer:
    """`module read`."""
    return memory.modules.read(args.topic, args.chunk)


class _ModuleWriteArgs(ToolArgs, frozen=True):
    topic: Topic
    chunk: Annotated[str, about("Its id, such as ap-01."), Meta(min_length=1)]
    text: Annotated[str, evident("The whole text, in markdown."), Meta(min_length=1)]
    title: Annotated[str | None, evident("Default: its heading.")] = None
    tags: Annotated[tuple[str, ...] | None, evident("Replace its tags.")] = None
    expect: Annotated[str | None, about("The `checksum` you read.")] = None


@tool(
    "module_write",
    "Write a module of a project",
    "Write a whole module: one subject that all on this project should know.",
    destructive=True,
    unlisted=frozenset({"title", "tags"}),
    toolset=MODULES,
)
def write(memory: AgentMemory, args: _ModuleWriteArgs) -> ModuleWritten:
    """`module write`."""
    return memory.modules.write(**structs.asdict(args))
