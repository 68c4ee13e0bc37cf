"""Tools about single facts: stored, changed, replaced, deleted, looked up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, field

from vaultsync.errors import FixedFieldError, InvalidFieldError
from vaultsync.mcp_server.tool import FactId, Fields, Since, Tool, ToolAnswer, ToolArgs, TypeName
from vaultsync.model.serialization import public_new, public_values

if TYPE_CHECKING:
    from vaultsync.facts.listing import FactPage
    from vaultsync.mcp_server.agent_memory import AgentMemory

MAX_FACTS = 50
"""Facts of one answer."""


# --------------------------------------------------------------------------------- store


class StoreFactArgs(ToolArgs, frozen=True):
    """The arguments of `memory_store_fact`."""

    text: Annotated[
        str,
        Meta(
            description="What to remember, in markdown: one fact, complete enough to be"
            " understood by somebody who was not there. [[Name]] links to a note.",
            min_length=1,
        ),
    ]
    type: Annotated[
        TypeName | None, Meta(description="Its type; `note` when it is none of them.")
    ] = None
    title: Annotated[str | None, Meta(description="A short title; else its first sentence.")] = None
    context: Annotated[str | None, Meta(description="When or why it came to be, in one line.")] = (
        None
    )
    scope: Annotated[
        str | None,
        Meta(
            description="Who may see it: your own scope (usual), team-NAME, project-NAME or public."
        ),
    ] = None
    priority: Annotated[
        Annotated[int, Meta(ge=0, le=4)] | None,
        Meta(description="0 critical, 1, 2 (usual), 3, 4 background."),
    ] = None
    tags: Annotated[list[str], Meta(description="Tags, without #.")] = field(default_factory=list)
    entities: Annotated[
        list[str],
        Meta(description="Names of the people, projects and things it is about."),
    ] = field(default_factory=list)
    fields: Fields = field(default_factory=dict)


def store(memory: AgentMemory, asked: StoreFactArgs) -> ToolAnswer:
    """`remember`."""
    if asked.fields.get("agentId", memory.name) != memory.name:
        raise FixedFieldError("agentId")
    about = {} if memory.user is None else {"userId": memory.user}
    if asked.fields.get("userId", memory.user) != memory.user and about:
        raise FixedFieldError("userId")
    made = memory.remember(
        asked.text,
        type=asked.type,
        title=asked.title,
        context=asked.context,
        scope=asked.scope or memory.scope,
        priority=asked.priority,
        tags=asked.tags,
        entities=asked.entities,
        fields=asked.fields | about,
    )
    fact = memory.with_note(made)
    return public_new(fact)


# -------------------------------------------------------------------------------- change


class UpdateFactArgs(ToolArgs, frozen=True):
    """The arguments of `memory_update_fact`."""

    id: FactId
    content: Annotated[str | None, Meta(description="The whole new content, in markdown.")] = None
    set: Annotated[
        dict[str, Any],
        Meta(
            description="Fields to set by key, such as title, priority, status, type,"
            " entities or decisionOutcome; null clears one."
        ),
    ] = field(default_factory=dict)
    add_tags: Annotated[list[str], Meta(description="Tags to add.")] = field(default_factory=list)
    remove_tags: Annotated[list[str], Meta(description="Tags to remove.")] = field(
        default_factory=list
    )
    expect: Annotated[
        str | None,
        Meta(
            description="The `revision` that you read: the change is refused when the"
            " fact was changed since. Give it whenever you replace the content."
        ),
    ] = None


def update(memory: AgentMemory, asked: UpdateFactArgs) -> ToolAnswer:
    """`update`."""
    if asked.content is None and not (asked.set or asked.add_tags or asked.remove_tags):
        raise InvalidFieldError("the change", "nothing", "content, set, add_tags or remove_tags")
    fact = memory.update(
        asked.id,
        content=asked.content,
        set=asked.set,
        add_tags=asked.add_tags,
        remove_tags=asked.remove_tags,
        expect=asked.expect,
    )
    met = next((c for c in memory.conflicts() if c.fact_id == fact.id), None)
    return {**public_values(fact), **({"conflict": met.id} if met else {})}


class SupersedeArgs(ToolArgs, frozen=True):
    """The arguments of `memory_supersede`."""

    id: FactId
    text: Annotated[str, Meta(description="What holds from now on, in markdown.", min_length=1)]


def supersede(memory: AgentMemory, asked: SupersedeArgs) -> ToolAnswer:
    """`supersede`."""
    return public_values(memory.with_note(memory.supersede(asked.id, asked.text)))


class ForgetArgs(ToolArgs, frozen=True):
    """The arguments of `memory_forget`."""

    id: FactId


def forget(memory: AgentMemory, asked: ForgetArgs) -> ToolAnswer:
    """`forget`."""
    return memory.forget(asked.id)


# ------------------------------------------------------------------------------- look up


class QueryVaultArgs(ToolArgs, frozen=True):
    """The arguments of `query_vault`."""

    ids: Annotated[
        list[str],
        Meta(
            description="Just these facts, whole; all other filters but `offset` are"
            " then left aside.",
            max_length=MAX_FACTS,
        ),
    ] = field(default_factory=list)
    type: Annotated[TypeName | None, Meta(description="Only facts of a type.")] = None
    scope: Annotated[str | None, Meta(description="Only facts of a scope.")] = None
    tag: Annotated[str | None, Meta(description="Only facts with a tag.")] = None
    status: Annotated[
        str | None,
        Meta(description="Only facts of a status, such as active; `forgotten` too."),
    ] = None
    links_to: Annotated[
        str | None,
        Meta(
            description="Only facts whose notes link to this note: its id, path, title or an alias."
        ),
    ] = None
    links_from: Annotated[str | None, Meta(description="Only facts that this note links to.")] = (
        None
    )
    since: Since = None
    until: Annotated[str | None, Meta(description="Only facts up to this day or month.")] = None
    newest: Annotated[bool, Meta(description="The newest first, or the oldest.")] = True
    limit: Annotated[int, Meta(description="At most so many facts.", ge=1, le=MAX_FACTS)] = 20
    after: Annotated[
        str | None,
        Meta(description="The `next` of the page before, to get the page after it."),
    ] = None
    offset: Annotated[
        int,
        Meta(
            description="Begin the contents at this letter, to read on where a content was cut.",
            ge=0,
        ),
    ] = 0


def query(memory: AgentMemory, asked: QueryVaultArgs) -> ToolAnswer:
    """`list`, or `get` for ids."""
    from vaultsync.facts.listing import public_page
    from vaultsync.mcp_server.answers import QueryVaultResult

    if asked.ids:
        page, missing = memory.some(asked.ids)
    else:
        page, missing = _matching(memory, asked), []
    if asked.offset:
        begun = tuple(f.evolve(content=f.content[asked.offset :]) for f in page.facts)
        page = replace(page, facts=begun)
    shown = public_page(page)
    return QueryVaultResult(shown.facts, shown.next, missing or UNSET)


def _matching(memory: AgentMemory, asked: QueryVaultArgs) -> FactPage:
    return memory.list(
        type=asked.type,
        scope=asked.scope,
        status=asked.status,
        tag=asked.tag,
        since=asked.since,
        until=asked.until,
        links_to=asked.links_to,
        links_from=asked.links_from,
        newest=asked.newest,
        limit=asked.limit,
        after=asked.after,
    )


FACT_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "memory_store_fact",
        "Store a fact",
        "Remember something: it is stored, and a note of it appears in the person's"
        " vault, where they can read and edit it. Store what will matter later:"
        " decisions with their reasons, commitments, lessons, preferences, who and what"
        " things are. One fact a call; look first whether it is known"
        " (memory_recall), and use memory_update_fact or memory_supersede if it is.",
        StoreFactArgs,
        "NewFact",
        store,
    ),
    Tool(
        "memory_update_fact",
        "Update a fact",
        "Change a fact and its note: its content, fields or tags. What is not named"
        " stays. If a person edited the same thing at the same time their value stands,"
        " and yours is kept as a conflict, whose id is in the answer. For something that"
        " no longer holds, use memory_supersede, which keeps the old fact.",
        UpdateFactArgs,
        "UpdateFactResult",
        update,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_supersede",
        "Replace a fact by a newer one",
        "Store a new fact that replaces an older one which no longer holds. Both stay,"
        " linked to each other; recall finds the newer one only.",
        SupersedeArgs,
        "PublicFact",
        supersede,
    ),
    Tool(
        "memory_forget",
        "Forget a fact",
        "Delete a fact and its note. Use it for what should never have been stored, and"
        " when the person asks for it; what no longer holds is superseded instead."
        " A person can bring it back with `vaultsync restore`.",
        ForgetArgs,
        "ForgetResult",
        forget,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "query_vault",
        "Look up facts by filters, links or ids",
        "List facts without a question: by type, scope, tag, status, dates, by the notes"
        " that link to a note or that it links to; or read facts whole by their ids."
        " To find facts by what they say, use memory_recall.",
        QueryVaultArgs,
        "QueryVaultResult",
        query,
        reads=True,
        fresh=True,
    ),
)
