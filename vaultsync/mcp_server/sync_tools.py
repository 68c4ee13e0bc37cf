"""Tools about the memory as a whole: conflicts, the graph, how it stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from vaultsync import __version__
from vaultsync.mcp_server.shapes import ConflictJson, TruncatedAnswer
from vaultsync.mcp_server.tool import Tool, ToolAnswer, ToolArgs
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import conflict_json

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

MAX_LISTED_CONFLICTS = 20
"""Conflicts, and things that wait for a person, in one answer."""
MAX_GRAPH_CHARS = 40_000
"""Of an exported graph at most: it is drawn with fewer nodes until it fits."""


class ConflictsArgs(ToolArgs, frozen=True):
    """The arguments of `memory_conflicts`."""

    fact_id: Annotated[str | None, Meta(description="Only the conflicts of one fact.")] = None


class ConflictsResult(TruncatedAnswer):
    """What `memory_conflicts` answers."""

    conflicts: list[ConflictJson]
    more: NotRequired[Annotated[int, Meta(description="How many there are beside these.")]]


def conflicts(memory: AgentMemory, asked: ConflictsArgs) -> ToolAnswer:
    """`conflicts`."""
    found = [
        conflict_json(each) for each in memory.conflicts() if asked.fact_id in (None, each.fact_id)
    ]
    more: dict[str, Value] = (
        {"more": len(found) - MAX_LISTED_CONFLICTS} if len(found) > MAX_LISTED_CONFLICTS else {}
    )
    return {"conflicts": found[:MAX_LISTED_CONFLICTS], **more}


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


class ResolveResult(ConflictsResult):
    """What `memory_resolve_conflict` answers: what is open still, and what is not."""

    resolved: ConflictJson


def resolve(memory: AgentMemory, asked: ResolveArgs) -> ToolAnswer:
    """`resolve`."""
    done = memory.resolve(asked.conflict, take=asked.take, field=asked.field)
    return {**conflicts(memory, ConflictsArgs()), "resolved": conflict_json(done)}


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


class ExportGraphResult(TruncatedAnswer):
    """What `memory_export_graph` answers."""

    format: str
    nodes: Annotated[int, Meta(description="How many nodes it has.")]
    links: Annotated[int, Meta(description="How many links it has.")]
    left_out: Annotated[int, Meta(description="How many nodes were left out.")]
    graph: NotRequired[dict[str, Any]]
    text: NotRequired[str]


def export_graph(memory: AgentMemory, asked: ExportGraphArgs) -> ToolAnswer:
    """`graph export`."""
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
    drawn: dict[str, Value] = (
        {"graph": json.loads(made.text)} if asked.format == "json" else {"text": made.text}
    )
    return {
        "format": made.format,
        "nodes": made.nodes,
        "links": made.links,
        "left_out": made.left_out,
        **drawn,
    }


class StatusArgs(ToolArgs, frozen=True):
    """The arguments of `memory_status`: none."""


class NoticeJson(TypedDict):
    """Something that waits for a person."""

    kind: str
    path: str
    line: int | None
    message: str
    hint: str


class StatusResult(TruncatedAnswer):
    """What `memory_status` answers."""

    agent: Annotated[str, Meta(description="Who you are to this memory.")]
    scope: Annotated[str, Meta(description="Where your facts go unless you say so.")]
    version: str
    facts: int
    notes: int
    pending: Annotated[int, Meta(description="Edits that the next pass takes up.")]
    conflicts: Annotated[int, Meta(description="Open ones that you may see.")]
    attention: list[NoticeJson]
    more: NotRequired[int]
    outbox: int
    last_run: dict[str, Any] | None
    engine: Annotated[str, Meta(description="`idle`, or who has the vault now.")]
    foreign: Annotated[int, Meta(description="Notes that are no facts.")]


def status(memory: AgentMemory, _: StatusArgs) -> ToolAnswer:
    """`status`."""
    found = memory.status()
    said = found.as_json()
    waiting = said["attention"]
    assert isinstance(waiting, list)  # noqa: S101 - as the contract has it
    more: dict[str, Value] = (
        {"more": len(waiting) - MAX_LISTED_CONFLICTS} if len(waiting) > MAX_LISTED_CONFLICTS else {}
    )
    return {
        "agent": memory.name,
        "scope": memory.scope,
        "version": __version__,
        **said,
        "attention": waiting[:MAX_LISTED_CONFLICTS],
        **more,
    }


SYNC_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "memory_conflicts",
        "List conflicts",
        "The open conflicts: fields that a person and an agent changed differently, each"
        " with what both last agreed on (base), the person's value (vault) and the"
        " agent's (store). The person's value stands until it is resolved.",
        ConflictsArgs,
        ConflictsResult,
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
        ResolveResult,
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
        ExportGraphResult,
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
        StatusResult,
        status,
        reads=True,
    ),
)
