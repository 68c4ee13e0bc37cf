"""What the tools answer. It loads the engine, and is itself loaded when a tool is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from vaultsync.context_packs.pack import ContextPack
from vaultsync.facts.listing import PublicPage
from vaultsync.facts.service import ForgetResult
from vaultsync.model.serialization import NewFact, PublicFact
from vaultsync.notes.conflict_note import OpenConflict
from vaultsync.recall.result import RecallResult
from vaultsync.sync.report import Conflicts, Status

__all__ = [
    "AgentStatus",
    "ContextPack",
    "ExportGraphResult",
    "ForgetResult",
    "NewFact",
    "OneSettled",
    "PublicFact",
    "QueryVaultResult",
    "RecallResult",
    "SomeConflicts",
    "UpdateFactResult",
]

MAX_LISTED_CONFLICTS = 20
"""Conflicts, and things that wait for a person, in one answer."""
More: TypeAlias = Annotated[int, Meta(description="How many there are beside these.")] | UnsetType


def more_than_some(found: Sequence[object]) -> int | UnsetType:
    """How many there are beside those that are shown."""
    return len(found) - MAX_LISTED_CONFLICTS if len(found) > MAX_LISTED_CONFLICTS else UNSET


class UpdateFactResult(PublicFact):
    """What `memory_update_fact` answers."""

    conflict: NotRequired[
        Annotated[
            str,
            Meta(
                description="The id of a conflict: a person changed the same thing, and"
                " their value stands; see memory_conflicts."
            ),
        ]
    ]


class QueryVaultResult(PublicPage, frozen=True):
    """What `query_vault` answers."""

    missing: (
        Annotated[list[str], Meta(description="Ids of which there is no fact.")] | UnsetType
    ) = UNSET


class SomeConflicts(Conflicts, frozen=True):
    """What `memory_conflicts` answers."""

    more: More = UNSET


class OneSettled(SomeConflicts, frozen=True, kw_only=True):
    """What `memory_resolve_conflict` answers: what is open still, and what is not."""

    resolved: OpenConflict


class ExportGraphResult(Struct, frozen=True):
    """What `memory_export_graph` answers."""

    format: str
    nodes: Annotated[int, Meta(description="How many nodes it has.")]
    links: Annotated[int, Meta(description="How many links it has.")]
    left_out: Annotated[int, Meta(description="How many nodes were left out.")]
    graph: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class AgentStatus(Status, frozen=True, kw_only=True):
    """What `memory_status` answers."""

    agent: Annotated[str, Meta(description="Who you are to this memory.")]
    scope: Annotated[str, Meta(description="Where your facts go unless you say so.")]
    version: str
    more: More = UNSET
