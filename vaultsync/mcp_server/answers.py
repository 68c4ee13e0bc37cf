"""The results of the tools. Loads the engine, so it is loaded when tools are listed or called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NotRequired, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from vaultsync.context_packs.pack import ContextPack
from vaultsync.exchange.session_messages import RememberedSession
from vaultsync.facts.listing import PublicPage
from vaultsync.facts.service import ForgetResult
from vaultsync.facts.written_facts import ChangedFact, NewFact
from vaultsync.model.serialization import PublicFact
from vaultsync.modules.report import ModuleAnswer, ModuleWritten
from vaultsync.notes.conflict_note import ShownConflict
from vaultsync.observations.service import Observed
from vaultsync.proposals.service import SettledProposals
from vaultsync.recall.result import RecallResult
from vaultsync.repos.entries import StepSummary
from vaultsync.repos.repo_context import RepoContext
from vaultsync.sync.report import Conflicts, Proposals, ProposedWrite, ReportedNotice, Status

__all__ = [
    "AgentStatus",
    "ContextPack",
    "ExportGraphResult",
    "FileAdded",
    "ForgetResult",
    "ModuleAnswer",
    "ModuleWritten",
    "NewFact",
    "Observed",
    "OpenConflicts",
    "OpenProposals",
    "PublicFact",
    "QueryVaultResult",
    "RecallResult",
    "RememberedSession",
    "RepoContext",
    "RepoEntry",
    "ResolvedConflict",
    "SettledProposals",
    "StepSummary",
    "UpdateFactResult",
]

MAX_LISTED = 20
"""Maximum number of conflicts or notices in one answer."""
T = TypeVar("T")
More: TypeAlias = Annotated[int, Meta(description="How many more there are.")] | UnsetType


def first_of(found: Iterable[T]) -> tuple[list[T], int | UnsetType]:
    """Those that an answer lists, and how many more there are."""
    whole = list(found)
    return whole[:MAX_LISTED], max(0, len(whole) - MAX_LISTED) or UNSET


def without_repeated_hints(notices: Iterable[ReportedNotice]) -> list[ReportedNotice]:
    """The notices, each hint with the first that has it."""
    seen: set[str] = set()
    listed = []
    for each in notices:
        listed.append(structs.replace(each, hint="") if each.hint in seen else each)
        seen.add(each.hint)
    return listed


class RepoEntry(Struct, frozen=True, rename="camel"):
    """What `repo_remember` answers: the keys of the kind of entry that was written."""

    id: str
    created_at: str
    updated_at: str
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    rationale: str | UnsetType = UNSET
    impacted_paths: tuple[str, ...] | UnsetType = UNSET
    source: str | UnsetType = UNSET


class UpdateFactResult(ChangedFact):
    """What `memory_update_fact` answers."""

    conflict: NotRequired[
        Annotated[
            str,
            Meta(
                description="The id of a conflict: the user changed the same field, and"
                " their value is kept; see memory_conflicts."
            ),
        ]
    ]
    note_deleted: NotRequired[
        Annotated[
            bool,
            Meta(
                description="The user deleted its note. The next sync writes it again, and the"
                " user decides in a conflict."
            ),
        ]
    ]
    note_waits: NotRequired[
        Annotated[
            str,
            Meta(
                description="Why its note could not be written. The store has the change, and"
                " the note follows once it can be written."
            ),
        ]
    ]


class QueryVaultResult(PublicPage, frozen=True):
    """What `query_vault` answers."""

    missing: Annotated[list[str], Meta(description="Ids that no fact has.")] | UnsetType = UNSET


class OpenConflicts(Conflicts, frozen=True):
    """What `memory_conflicts` answers."""

    more: More = UNSET


class ResolvedConflict(OpenConflicts, frozen=True, kw_only=True):
    """What `memory_resolve_conflict` answers: the resolved conflict and those still open."""

    resolved: ShownConflict


class FileAdded(Struct, frozen=True):
    """What `memory_file_add` answers."""

    file: str
    section: str
    status: str
    """`written`, `unchanged` (the file has it already) or `queued` (written by the next sync)."""
    reason: str = ""
    """Why it waits."""


class OpenProposals(Proposals, frozen=True):
    """What `memory_proposals` answers."""

    more: More = UNSET


class ProposedAnswer(ProposedWrite, frozen=True, kw_only=True):
    """What a tool answers that would write where the agent may only propose."""

    text: Annotated[str, Meta(description="That it waits for the user, and for what.")]


class ExportGraphResult(Struct, frozen=True):
    """What `memory_export_graph` answers."""

    format: str
    nodes: Annotated[int, Meta(description="The number of nodes.")]
    links: Annotated[int, Meta(description="The number of links.")]
    left_out: Annotated[int, Meta(description="The number of nodes that were left out.")]
    graph: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class AgentStatus(Status, frozen=True, kw_only=True):
    """What `memory_status` answers."""

    agent: Annotated[str, Meta(description="Your name in this memory.")]
    scope: Annotated[
        str, Meta(description="The scope of the facts you store, unless you name one.")
    ]
    version: str
    more: More = UNSET
