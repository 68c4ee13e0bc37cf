"""Tools about the memory as a whole: conflicts, the graph, how it stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, structs

from vaultsync import __version__
from vaultsync.mcp_server.tool import Tool, ToolAnswer, ToolArgs
from vaultsync.notes import conflict_note as core

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.mcp_server.answers import SomeConflicts

MAX_GRAPH_CHARS = 40_000
"""Of an exported graph at most: it is drawn with fewer nodes until it fits."""


class ConflictsArgs(ToolArgs, frozen=True):
    """The arguments of `memory_conflicts`."""

    fact_id: Annotated[str | None, Meta(description="Only the conflicts of one fact.")] = None


def conflicts(memory: AgentMemory, asked: ConflictsArgs) -> SomeConflicts:
    """`conflicts`."""
    from vaultsync.mcp_server.answers import MAX_LISTED_CONFLICTS, SomeConflicts, more_than_some

    found = [
        core.shown_conflict(each)
        for each in memory.conflicts()
        if asked.fact_id in (None, each.fact_id)
    ]
    return SomeConflicts(found[:MAX_LISTED_CONFLICTS], more_than_some(found))


class ResolveArgs(ToolArgs, frozen=True):
    """The arguments of `memory_resolve_conflict`."""

    conflict: Annotated[str, Meta(description="The id of the conflict.", min_length=1)]
    take: Annotated[
        Literal["vault", "store"],
        Meta(
            description="vault: the person's value, which stands in the note, stays."
            " store: the agent's value replaces it."
        ),
    ]
    field: Annotated[str | None, Meta(description="Only this field of it; else all of them.")] = (
        None
    )


def resolve(memory: AgentMemory, asked: ResolveArgs) -> ToolAnswer:
    """`resolve`."""
    from vaultsync.mcp_server.answers import OneSettled

    done = memory.resolve(asked.conflict, take=asked.take, field=asked.field)
    left = conflicts(memory, ConflictsArgs())
    return OneSettled(left.conflicts, left.more, resolved=core.shown_conflict(done))


class ExportGraphArgs(ToolArgs, frozen=True):
    """The arguments of `memory_export_graph`."""

    format: Annotated[
        Literal["json", "graphml", "canvas"],
        Meta(description="json: in `graph`; the others are a file's text in `text`."),
    ] = "json"
    scope: Annotated[str | None, Meta(description="Only facts of one scope.")] = None
    around: Annotated[
        str | None,
        Meta(description="Only what is near this: a title, an alias, an id or the path of a note."),
    ] = None
    depth: Annotated[int, Meta(description="Up to so many steps from `around`.", ge=1, le=5)] = 1
    limit: Annotated[
        int,
        Meta(
            description="At most so many nodes; those that are joined to most are kept.",
            ge=1,
            le=1_000,
        ),
    ] = 100


def export_graph(memory: AgentMemory, asked: ExportGraphArgs) -> ToolAnswer:
    """`graph export`."""
    from vaultsync.mcp_server.answers import ExportGraphResult

    limit = asked.limit
    while True:
        made = memory.graph_export(
            format=asked.format,
            scope=asked.scope,
            around=asked.around,
            depth=asked.depth,
            limit=limit,
        )
        if len(made.text) <= MAX_GRAPH_CHARS or made.nodes <= 1:
            break
        limit = made.nodes // 2
    drawn = {"graph": json.loads(made.text)} if asked.format == "json" else {"text": made.text}
    return ExportGraphResult(made.format, made.nodes, made.links, made.left_out, **drawn)


class StatusArgs(ToolArgs, frozen=True):
    """The arguments of `memory_status`: none."""


def status(memory: AgentMemory, _: StatusArgs) -> ToolAnswer:
    """`status`."""
    from vaultsync.mcp_server.answers import MAX_LISTED_CONFLICTS, AgentStatus, more_than_some

    found = memory.status()
    known = {
        **structs.asdict(found),
        "attention": found.attention[:MAX_LISTED_CONFLICTS],
    }
    return AgentStatus(
        agent=memory.name,
        scope=memory.scope,
        version=__version__,
        more=more_than_some(found.attention),
        **known,
    )


SYNC_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "memory_conflicts",
        "List conflicts",
        "The open conflicts: fields that a person and an agent changed differently, each"
        " with what both last agreed on (base), the person's value (vault) and the"
        " agent's (store). The person's value stands until it is resolved.",
        ConflictsArgs,
        "SomeConflicts",
        conflicts,
        reads=True,
        fresh=True,
    ),
    Tool(
        "memory_resolve_conflict",
        "Resolve a conflict",
        "Settle a conflict, or one field of it, for one side. Taking the store's side"
        " replaces what a person wrote: ask them first.",
        ResolveArgs,
        "OneSettled",
        resolve,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_export_graph",
        "Export the graph",
        "The graph of facts and entities and of what joins them: links, relations,"
        " related and superseding facts; around one of them, or all of it.",
        ExportGraphArgs,
        "ExportGraphResult",
        export_graph,
        reads=True,
        fresh=True,
        longest=None,
    ),
    Tool(
        "memory_status",
        "See how the memory stands",
        "Who you are to this memory, how many facts and notes there are, what waits to"
        " be taken up, and what waits for a person.",
        StatusArgs,
        "AgentStatus",
        status,
        reads=True,
    ),
)
