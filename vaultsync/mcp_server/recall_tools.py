"""Tools that answer questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field, structs

from vaultsync.mcp_server.tool import (
    Query,
    Scopes,
    Since,
    Tags,
    Tool,
    ToolAnswer,
    ToolArgs,
    TypeNames,
)

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

MAX_HITS = 50
MAX_TOKENS = 32_000
"""The largest budget of a context."""


class RecallArgs(ToolArgs, frozen=True):
    """The arguments of `memory_recall`."""

    query: Query
    limit: Annotated[int, Meta(description="At most so many hits.", ge=1, le=MAX_HITS)] = 10
    types: TypeNames = field(default_factory=list)
    scopes: Scopes = field(default_factory=list)
    tags: Tags = field(default_factory=list)
    max_priority: Annotated[
        int,
        Meta(
            description="Down to this priority: 2 leaves out what is background, 4 is all.",
            ge=0,
            le=4,
        ),
    ] = 2
    since: Since = None
    until: Annotated[str | None, Meta(description="Only facts up to this day or month.")] = None
    mode: Annotated[
        Literal["auto", "index", "vector", "fused"],
        Meta(description="By words, by meaning, by both, or (auto) as it needs."),
    ] = "auto"


def recall(memory: AgentMemory, asked: RecallArgs) -> ToolAnswer:
    """`recall`."""
    from vaultsync.recall.request import RecallRequest
    from vaultsync.recall.result import said_of

    return said_of(memory.answer(RecallRequest(**structs.asdict(asked))))


class ContextArgs(ToolArgs, frozen=True):
    """The arguments of `memory_get_context`."""

    query: Query
    budget: Annotated[int, Meta(description="Tokens of the text at most.", ge=0, le=MAX_TOKENS)] = (
        4_000
    )
    format: Annotated[
        Literal["markdown", "xml", "json"], Meta(description="How it is written.")
    ] = "markdown"
    intent: Annotated[
        Literal["decisions", "recent", "balanced"] | None,
        Meta(description="What you are after; else it is told from your words."),
    ] = None
    types: TypeNames = field(default_factory=list)
    scopes: Scopes = field(default_factory=list)
    tags: Tags = field(default_factory=list)
    since: Since = None


def context(memory: AgentMemory, asked: ContextArgs) -> ToolAnswer:
    """`context`."""
    from vaultsync.recall.request import ContextRequest

    return memory.pack(ContextRequest(**structs.asdict(asked)))


RECALL_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "memory_recall",
        "Recall facts",
        "Find the facts that answer a question, the best first, each with the passage"
        " that fits and why it was found. It knows what people last saved in their"
        " notes. Use it before you answer from memory, and before you store. For the"
        " whole facts, use query_vault with their ids; for a text to work from, use"
        " memory_get_context.",
        RecallArgs,
        "RecallResult",
        recall,
        reads=True,
        fresh=True,
    ),
    Tool(
        "memory_get_context",
        "Get a context for a task",
        "What is known about a question or a task, written out in one text that fits a"
        " budget of tokens: critical facts first, each with its source. Use it at the"
        " beginning of a piece of work.",
        ContextArgs,
        "ContextPack",
        context,
        reads=True,
        fresh=True,
        longest=None,
    ),
)
