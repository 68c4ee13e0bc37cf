"""Tools for single facts: store, update, supersede, forget, look up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, field, structs

from vaultsync.errors import FixedFieldError, InvalidFieldError
from vaultsync.mcp_server.tool import FactId, Fields, Tool, ToolAnswer, ToolArgs, about
from vaultsync.model.serialization import public_new, public_values
from vaultsync.recall.recall_request import Since, TypeName, Until

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

MAX_FACTS = 50
"""Maximum number of facts in one answer."""


class StoreFactArgs(ToolArgs, frozen=True):
    """The arguments of `memory_store_fact`."""

    text: Annotated[
        str,
        about(
            "What to remember, in markdown: one fact, complete enough to be"
            " understood without this conversation. [[Name]] links to a note."
        ),
        Meta(min_length=1),
    ]
    type: Annotated[TypeName | None, about("Its type; `note` when no other fits.")] = None
    title: Annotated[str | None, about("A short title; the first sentence when left out.")] = None
    context: Annotated[str | None, about("When or why it came about, in one line.")] = None
    scope: Annotated[
        str | None,
        about("Who may see it: your own scope (default), team-NAME, project-NAME or public."),
    ] = None
    priority: Annotated[
        Annotated[int, Meta(ge=0, le=4)] | None,
        about("From 0 (critical) to 4 (background); 2 is the default."),
    ] = None
    tags: Annotated[tuple[str, ...], about("Tags, without #.")] = ()
    entities: Annotated[
        tuple[str, ...], about("Names of the people, projects and things it is about.")
    ] = ()
    fields: Fields = field(default_factory=dict)


def store(memory: AgentMemory, args: StoreFactArgs) -> ToolAnswer:
    """`remember`."""
    if args.fields.get("agentId", memory.name) != memory.name:
        raise FixedFieldError("agentId")
    fixed = {} if memory.user is None else {"userId": memory.user}
    if fixed and args.fields.get("userId", memory.user) != memory.user:
        raise FixedFieldError("userId")
    values = structs.asdict(args)
    values |= {"scope": args.scope or memory.scope, "fields": args.fields | fixed}
    return public_new(memory.with_note(memory.remember(values.pop("text"), **values)))


class UpdateFactArgs(ToolArgs, frozen=True):
    """The arguments of `memory_update_fact`."""

    id: FactId
    content: Annotated[str | None, about("The whole new content, in markdown.")] = None
    set: Annotated[
        dict[str, Any],
        about(
            "Fields to set by key, such as title, priority, status, type,"
            " entities or decisionOutcome; null clears a field."
        ),
    ] = field(default_factory=dict)
    add_tags: Annotated[tuple[str, ...], about("Tags to add.")] = ()
    remove_tags: Annotated[tuple[str, ...], about("Tags to remove.")] = ()
    expect: Annotated[
        str | None,
        about(
            "The `revision` that you read: the change is refused if the fact was"
            " changed since. Pass it whenever you replace the content."
        ),
    ] = None


def update(memory: AgentMemory, args: UpdateFactArgs) -> ToolAnswer:
    """`update`."""
    if args.content is None and not (args.set or args.add_tags or args.remove_tags):
        raise InvalidFieldError("the change", "nothing", "content, set, add_tags or remove_tags")
    changes = structs.asdict(args)
    fact = memory.update(changes.pop("id"), **changes)
    conflict = next((each for each in memory.conflicts() if each.fact_id == fact.id), None)
    answer = {**public_values(fact), **({"conflict": conflict.id} if conflict else {})}
    if conflict is None and memory.is_note_deleted(fact.id):
        answer["note_deleted"] = True
    return answer


class SupersedeArgs(ToolArgs, frozen=True):
    """The arguments of `memory_supersede`."""

    id: FactId
    text: Annotated[str, about("What is true from now on, in markdown."), Meta(min_length=1)]


def supersede(memory: AgentMemory, args: SupersedeArgs) -> ToolAnswer:
    """`supersede`."""
    return public_values(memory.with_note(memory.supersede(args.id, args.text)))


class ForgetArgs(ToolArgs, frozen=True):
    """The arguments of `memory_forget`."""

    id: FactId


def forget(memory: AgentMemory, args: ForgetArgs) -> ToolAnswer:
    """`forget`."""
    return memory.forget(args.id)


class QueryVaultArgs(ToolArgs, frozen=True):
    """The arguments of `query_vault`."""

    ids: Annotated[
        tuple[str, ...],
        about("Return these facts in full; all filters but `offset` are ignored."),
        Meta(max_length=MAX_FACTS),
    ] = ()
    type: Annotated[TypeName | None, about("Only facts of this type.")] = None
    scope: Annotated[str | None, about("Only facts of this scope.")] = None
    tag: Annotated[str | None, about("Only facts with this tag.")] = None
    status: Annotated[
        str | None, about("Only facts of this status, such as `active` or `forgotten`.")
    ] = None
    links_to: Annotated[
        str | None,
        about("Only facts whose notes link to this note: its id, path, title or an alias."),
    ] = None
    links_from: Annotated[str | None, about("Only facts whose notes this note links to.")] = None
    since: Since = None
    until: Until = None
    all: Annotated[bool, about("Whether to list deleted facts too.")] = False
    newest: Annotated[bool, about("Newest first; oldest first when false.")] = True
    limit: Annotated[int, about("Maximum number of facts."), Meta(ge=1, le=MAX_FACTS)] = 20
    after: Annotated[str | None, about("The `next` of a page, to get the page after it.")] = None
    offset: Annotated[
        int,
        about("Return contents from this character on, to continue where one was cut."),
        Meta(ge=0),
    ] = 0


def query(memory: AgentMemory, args: QueryVaultArgs) -> ToolAnswer:
    """`list`, or `get` for each id."""
    from vaultsync.facts.listing import public_page
    from vaultsync.mcp_server.answers import QueryVaultResult

    if args.ids:
        page, missing = memory.some(args.ids)
    else:
        filters = structs.asdict(args)
        del filters["ids"], filters["offset"]
        page, missing = memory.list(**filters), []
    if args.offset:
        rests = tuple(f.evolve(content=f.content[args.offset :]) for f in page.facts)
        page = replace(page, facts=rests)
    shown = public_page(page)
    return QueryVaultResult(shown.facts, shown.next, shown.hidden, missing or UNSET)


FACT_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "memory_store_fact",
        "Store a fact",
        "Remember something: it is stored, and a note of it appears in the user's vault,"
        " where they can read and edit it. Store what will matter later: decisions with"
        " their reasons, commitments, lessons, preferences, who people are and what things"
        " are. One fact per call. First check with memory_recall whether it is known; if it"
        " is, use memory_update_fact or memory_supersede.",
        StoreFactArgs,
        "NewFact",
        store,
    ),
    Tool(
        "memory_update_fact",
        "Update a fact",
        "Change the content, fields or tags of a fact and its note. What you leave out stays"
        " as it is. If the user edited the same field at the same time, their value is kept"
        " and yours becomes a conflict, whose id is in the answer. If a fact is no longer"
        " true, use memory_supersede, which keeps the old one.",
        UpdateFactArgs,
        "UpdateFactResult",
        update,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_supersede",
        "Replace a fact with a newer one",
        "Store a new fact that replaces one that is no longer true. Both are kept and linked"
        " to each other; recall returns only the newer one.",
        SupersedeArgs,
        "PublicFact",
        supersede,
    ),
    Tool(
        "memory_forget",
        "Forget a fact",
        "Delete a fact and its note. Use it for what should never have been stored, and when"
        " the user asks for it; supersede what is no longer true instead. The user can"
        " restore it with `vaultsync restore`.",
        ForgetArgs,
        "ForgetResult",
        forget,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "query_vault",
        "Look up facts by filters, links or ids",
        "List facts by type, scope, tag, status, date, or by links to or from a note; or read"
        " facts in full by their ids. To find facts by what they say, use memory_recall.",
        QueryVaultArgs,
        "QueryVaultResult",
        query,
        reads=True,
        fresh=True,
    ),
)
