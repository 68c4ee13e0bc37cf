"""Requests to recall: their parameters, which are the same on every interface.

A `RecallQuestion` has the parameters for every caller: it is the input of the MCP tool. A
`RecallRequest` adds those that the program decides, such as the agent; it is the body of the
bridge's route. Limits on length and size are checked when a request is read from JSON; other
invalid values are refused by `query.parse_request()`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from vaultsync.model.schema import TYPES

RECALL_MODES = ("auto", "index", "vector", "fused")
DEFAULT_BUDGET = 4_000
"""Default budget of a pack in tokens."""
MAX_BUDGET = 1_000_000
"""Tokens of a pack without a limit."""

QUERY_HELP = (
    'In plain words; a "quoted phrase" must occur; type:decision, tag:ops, tier:critical,'
    " since:7d, until:2026-03 filter."
)
Word: TypeAlias = Annotated[str, Meta(max_length=1_000)]
Words: TypeAlias = Annotated[tuple[Word, ...], Meta(max_length=1_000)]
Priority: TypeAlias = Annotated[int, Meta(ge=0, le=4)]
PageSize: TypeAlias = Annotated[int, Meta(ge=1, le=1_000)]
TypeName: TypeAlias = Annotated[
    Word, Meta(description="A type of fact.", extra_json_schema={"enum": list(TYPES)})
]
Since: TypeAlias = Annotated[
    Word | None,
    Meta(
        description="Only facts from this day, month or year on, such as 2026-02-14, or such as"
        " 7d, monday or last week."
    ),
]
Status: TypeAlias = Annotated[
    Word | None,
    Meta(
        description="Only facts of this status, such as active, archived or superseded; by default"
        " all but retired ones (superseded, archived, expired)."
    ),
]
"""Empty for all except retired facts, None for any status."""
AsOf: TypeAlias = Annotated[
    Word | None,
    Meta(
        description="Answer with what held at the end of this day, month or year, or at this time:"
        " the facts that there were, as they were."
    ),
]
Until: TypeAlias = Annotated[
    Word | None, Meta(description="Only facts up to the end of this day, month or year.")
]


class Question(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parameters that recall and context packs share."""

    query: Annotated[str, Meta(description=QUERY_HELP, max_length=10_000)]
    types: Annotated[
        tuple[TypeName, ...],
        Meta(description="Only facts of these types; empty for all.", max_length=1_000),
    ] = ()
    scopes: Annotated[
        Words,
        Meta(
            description="Only facts of these scopes: your own (private-NAME), team-NAME,"
            " project-NAME or public; empty for all that you may see."
        ),
    ] = ()
    tags: Annotated[
        Words, Meta(description="Only facts that have all of these tags, without #.")
    ] = ()
    since: Since = None
    status: Status = ""
    all: Annotated[
        bool,
        Meta(
            description="Whether to include what is hidden by default; see `hidden` of the answer."
        ),
    ] = False


class RecallQuestion(Question, frozen=True):
    """The parameters of recall for every caller."""

    limit: Annotated[PageSize, Meta(description="Maximum number of hits.")] = 10
    max_priority: Annotated[
        Priority | None,
        Meta(
            description="Lowest priority to include, 0 to 4. By default all of what the user wrote,"
            " and of what agents wrote all but background facts (3 and 4)."
        ),
    ] = None
    until: Until = None
    as_of: AsOf = None
    mode: Word = "auto"
    """`auto`, `index` (keyword search), `vector` (semantic search) or `fused` (both)."""


class RecallRequest(RecallQuestion, frozen=True):
    """A question, with the parameters that the program decides."""

    heads_only: bool = True
    """Whether to leave out superseded facts."""
    user: Word | None = None
    """Only facts about this user."""
    without: Words = ()
    """Ids of facts to leave out."""
    repo: Word | None = None
    """The path of a git repository: facts that do not apply to its branch are hidden."""
    explain: bool = False
    """Whether the result lists what each stage found."""
    agent: Word | None = None
    """The agent that asks; None is the user, who sees all."""


class ContextQuestion(Question, frozen=True):
    """The parameters of a context pack for every caller."""

    budget: Annotated[
        int,
        Meta(
            description="Maximum number of tokens of the text; 0 for no limit.", ge=0, le=MAX_BUDGET
        ),
    ] = DEFAULT_BUDGET
    format: Word = "markdown"
    """`markdown`, `xml` or `json`."""
    intent: Word | None = None
    """`decisions`, `recent` or `balanced`; None to infer it from the words of the question."""


class ContextRequest(ContextQuestion, frozen=True):
    """A question for a context pack, with the parameters that the program decides."""

    mode: Word = "auto"
    max_priority: Priority = 4
    """Lower than that of a `RecallRequest`: a pack has a share for background facts."""
    user: Word | None = None
    without: Words = ()
    """Ids of facts to leave out."""
    repo: Word | None = None
    """As in `RecallRequest`."""
    agent: Word | None = None
