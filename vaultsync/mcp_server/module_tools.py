"""Tools for the layered documents of a project. They are listed where it has some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, structs

from vaultsync.mcp_server.tool import Tool, ToolAnswer, ToolArgs, about, evident
from vaultsync.mcp_server.toolsets import MODULES

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

Topic = Annotated[str, about("A folder of docs/memories."), Meta(min_length=1)]


class ModuleReadArgs(ToolArgs, frozen=True):
    """The arguments of `module_read`."""

    topic: Topic
    chunk: Annotated[str | None, evident("Only this module.")] = None


def read(memory: AgentMemory, args: ModuleReadArgs) -> ToolAnswer:
    """`module read`."""
    return memory.modules.read(args.topic, args.chunk)


class ModuleWriteArgs(ToolArgs, frozen=True):
    """The arguments of `module_write`."""

    topic: Topic
    chunk: Annotated[str, about("Its id, such as ap-01."), Meta(min_length=1)]
    text: Annotated[str, evident("The whole text, in markdown."), Meta(min_length=1)]
    title: Annotated[str | None, evident("Default: its heading.")] = None
    tags: Annotated[tuple[str, ...] | None, evident("Replace its tags.")] = None
    expect: Annotated[str | None, about("The `checksum` you read.")] = None


def write(memory: AgentMemory, args: ModuleWriteArgs) -> ToolAnswer:
    """`module write`."""
    return memory.modules.write(**structs.asdict(args))


MODULE_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "module_read",
        "Read a project's modules",
        "Read what this project documented about a topic, or one module (`chunk`) of it.",
        ModuleReadArgs,
        "ModuleAnswer",
        read,
        reads=True,
        toolset=MODULES,
    ),
    Tool(
        "module_write",
        "Write a module of a project",
        "Write a whole module: one subject that all on this project should know.",
        ModuleWriteArgs,
        "ModuleWritten",
        write,
        destructive=True,
        unlisted=frozenset({"title", "tags"}),
        toolset=MODULES,
    ),
)
