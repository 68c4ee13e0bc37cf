"""The shapes of arguments and answers that several tools share."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from vaultsync.model.schema import TYPES

# ---------------------------------------------------------------------------- arguments

TypeName = Annotated[
    str,
    Meta(
        description="A type of fact.",
        extra_json_schema={"enum": list(TYPES)},
    ),
]
TypeNames = Annotated[list[TypeName], Meta(description="Only facts of these types; empty for all.")]
Scopes = Annotated[
    list[str],
    Meta(
        description="Only facts of these scopes: your own (private-NAME), team-NAME,"
        " project-NAME or public; empty for all that you may see."
    ),
]
Tags = Annotated[list[str], Meta(description="Only facts that have all of these tags, without #.")]
FactId = Annotated[str, Meta(description="The id of the fact: the `id` of a hit, item or fact.")]
Since = Annotated[
    str | None,
    Meta(description="Only facts from this day or month on, such as 2026-02-14."),
]
Query = Annotated[
    str,
    Meta(
        description='What you want to know, in plain words; "in quotes" must occur, and'
        " type:decision, tag:ops, tier:critical, since:2026-03 filter.",
        min_length=1,
    ),
]
Fields = Annotated[
    dict[str, Any],
    Meta(
        description="Other fields by key, such as decisionOutcome, commitmentDueDate,"
        " lessonPrevention or aliases; any other key is a property of the note."
    ),
]

# ------------------------------------------------------------------------------ answers


class TruncationJson(TypedDict):
    """What was cut."""

    where: str
    shown: int
    of: int


class TruncatedAnswer(TypedDict):
    """What every answer may say of itself."""

    cut: NotRequired[Annotated[list[TruncationJson], Meta(description="What was cut.")]]
    rest: NotRequired[Annotated[str, Meta(description="How to get what was cut.")]]
    degraded: NotRequired[
        Annotated[list[str], Meta(description="What was missing, a sentence each.")]
    ]


class FactJson(TypedDict):
    """A fact; fields that are not set are left out, and a type's own may follow."""

    id: str
    type: str
    scope: str
    priority: int
    status: str
    title: NotRequired[str]
    content: NotRequired[str]
    context: NotRequired[str]
    tags: NotRequired[list[str]]
    entities: NotRequired[list[str]]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]
    agentId: NotRequired[str]
    supersedesId: NotRequired[str]
    supersededById: NotRequired[str]
    properties: NotRequired[dict[str, Any]]
    path: Annotated[str | None, Meta(description="Where its note is; null while it has none.")]
    revision: Annotated[str, Meta(description="Give it as `expect` to change just this version.")]


class FactAnswer(FactJson, TruncatedAnswer):
    """A fact as the whole answer."""


class FieldConflictJson(TypedDict):
    """One field that both sides changed differently."""

    field: str
    base: Any
    vault: Any
    store: Any


class ConflictJson(TypedDict):
    """What both sides changed differently about one fact."""

    id: str
    fact_id: str
    path: str
    conflict_path: str | None
    fields: list[FieldConflictJson]
