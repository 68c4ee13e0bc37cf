"""Tools for the memory as a whole: conflicts, proposals, the graph, its status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, structs

from vaultsync import __version__
from vaultsync.mcp_server.tool import ToolArgs, about, evident, tool
from vaultsync.mcp_server.toolsets import FILES, MEMORY_FILE
from vaultsync.notes.conflict_note import DELETED_SIDE, is_deletion, shown_conflict

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.mcp_server.answers import (
        AgentStatus,
        ExportGraphResult,
        FileAdded,
        OpenConflicts,
        OpenProposals,
        ResolvedConflict,
    )
    from vaultsync.proposals.service import SettledProposals

MAX_GRAPH_CHARS = 40_000
"""Maximum length of an exported graph: nodes are left out until it fits."""


class _ConflictsArgs(ToolArgs, frozen=True):
    fact_id: Annotated[str | None, evident("Only of this fact.")] = None


@tool(
    "memory_conflicts",
    "List conflicts",
    "List fields that the user and an agent both changed.",
    reads=True,
    fresh=True,
    unlisted=frozenset({"fact_id"}),
    also_called={"id": "fact_id"},
)
def conflicts(memory: AgentMemory, args: _ConflictsArgs) -> OpenConflicts:
    """`conflicts`."""
    from vaultsync.mcp_server.answers import OpenConflicts, first_of

    fact_id = None if args.fact_id is None else memory.id_of(args.fact_id)
    return OpenConflicts(*first_of(map(shown_conflict, memory.conflicts(fact_id))))


class _ResolveArgs(ToolArgs, frozen=True):
    conflict: Annotated[str, evident("Id of the conflict."), Meta(min_length=1)]
    take: Annotated[Literal["vault", "store"], evident("vault keeps the user's value.")]
    field: Annotated[str | None, evident("Only this field.")] = None


def resolve_question(memory: AgentMemory, args: _ResolveArgs) -> str:
    """What the user is asked before their own words are overwritten."""
    if args.take != "store":
        return ""
    found = [each for each in memory.conflicts() if each.is_called(args.conflict)]
    if len(found) != 1:
        return ""
    title = found[0].title or found[0].path
    for each in filter(is_deletion, found[0].fields):
        if each.vault == DELETED_SIDE:
            return f"Write “{title}” again, which you deleted and the agent changed?"
        return f"Delete “{title}”, which you changed and the agent deleted?"
    fields = args.field or ", ".join(each.field for each in found[0].fields)
    return f"Overwrite what you wrote in {fields} of “{title}” with the agent's version?"


@tool(
    "memory_resolve_conflict",
    "Resolve a conflict",
    "Take one side. `store` overwrites what the user wrote (`vault`): ask them first.",
    destructive=True,
    also_called={"id": "conflict"},
    question=resolve_question,
)
def resolve(memory: AgentMemory, args: _ResolveArgs) -> ResolvedConflict:
    """`resolve`."""
    from vaultsync.mcp_server.answers import ResolvedConflict, first_of

    resolved = shown_conflict(memory.resolve(args.conflict, take=args.take, field=args.field))
    left = map(shown_conflict, memory.conflicts())
    return ResolvedConflict(*first_of(left), resolved=resolved)


@tool(
    "memory_proposals",
    "List proposals",
    "List changes that wait for the user.",
    reads=True,
    fresh=True,
)
def proposals(memory: AgentMemory, _: ToolArgs) -> OpenProposals:
    """`proposals list`."""
    from vaultsync.mcp_server.answers import OpenProposals, first_of

    return OpenProposals(*first_of(memory.proposals()))


class _ResolveProposalArgs(ToolArgs, frozen=True):
    proposal: Annotated[str, evident("Id of the proposal."), Meta(min_length=1)]
    accept: Annotated[bool, evident("Else reject.")]


def proposal_question(memory: AgentMemory, args: _ResolveProposalArgs) -> str:
    """What the user is asked before an agent accepts for them."""
    return f"Accept the proposal “{memory.proposal(args.proposal).title}”?" if args.accept else ""


@tool(
    "memory_resolve_proposal",
    "Answer a proposal",
    "Reject your own, or accept one if the user says so.",
    destructive=True,
    also_called={"id": "proposal"},
    question=proposal_question,
)
def resolve_proposal(memory: AgentMemory, args: _ResolveProposalArgs) -> SettledProposals:
    """`proposals accept` and `proposals reject`."""
    answer = memory.accept_proposals if args.accept else memory.reject_proposals
    return answer([args.proposal])


class _ExportGraphArgs(ToolArgs, frozen=True):
    format: Annotated[
        Literal["json", "graphml", "canvas"], evident("json is in `graph`, others in `text`.")
    ] = "json"
    scope: Annotated[str | None, evident("Only this scope.")] = None
    around: Annotated[str | None, about("A title, id or path.")] = None
    depth: Annotated[int, evident("Links from `around`."), Meta(ge=1, le=5)] = 1
    limit: Annotated[int, evident("Maximum number of nodes."), Meta(ge=1, le=1_000)] = 100


@tool(
    "memory_export_graph",
    "Export the graph",
    "Export facts and entities with their links, all or those around one.",
    reads=True,
    fresh=True,
    longest=None,
    unlisted=frozenset({"depth", "format", "limit"}),
)
def export_graph(memory: AgentMemory, args: _ExportGraphArgs) -> ExportGraphResult:
    """`graph export`."""
    from vaultsync.mcp_server.answers import ExportGraphResult

    export = memory.graph_export(**structs.asdict(args), max_chars=MAX_GRAPH_CHARS)
    graph = {"graph": json.loads(export.text)} if args.format == "json" else {"text": export.text}
    return ExportGraphResult(export.format, export.nodes, export.links, export.left_out, **graph)


@tool(
    "memory_status", "Get the status", "Your scope, counts, unsynced changes, notices.", reads=True
)
def status(memory: AgentMemory, _: ToolArgs) -> AgentStatus:
    """`status`."""
    from vaultsync.mcp_server.answers import AgentStatus, first_of, without_repeated_hints

    found = memory.status()
    notices, more = first_of(found.attention)
    return AgentStatus(
        agent=memory.name,
        scope=memory.scope,
        version=__version__,
        more=more,
        **{**structs.asdict(found), "attention": without_repeated_hints(notices)},
    )


class _FileAddArgs(ToolArgs, frozen=True):
    text: Annotated[str, about("Markdown without ## headings."), Meta(min_length=1)]
    section: Annotated[str, evident("Heading of the section."), Meta(min_length=1)]
    file: Annotated[str, evident("Another memory file that is synced.")] = MEMORY_FILE
    replace: Annotated[bool, evident("Replace what you wrote in the section.")] = False


@tool(
    "memory_file_add",
    "Add to a memory file",
    "Add text to your section of MEMORY.md, or replace it. The user's text stays.",
    destructive=True,
    unlisted=frozenset({"file"}),
    toolset=FILES,
)
def file_add(memory: AgentMemory, args: _FileAddArgs) -> FileAdded:
    """`memory-file add`."""
    from vaultsync.mcp_server.answers import FileAdded

    done = memory.add_to_memory_file(
        args.file, args.text, section=args.section, replace_all=args.replace, within=Path.cwd()
    )
    return FileAdded(done.name, done.section, done.status, done.reason)
