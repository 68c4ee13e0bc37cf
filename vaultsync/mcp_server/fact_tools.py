"""Tools for single facts: store, update, supersede, forget, look up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import UNSET, Meta, field, structs

from vaultsync.errors import FixedFieldError, UsageError
from vaultsync.facts.written_facts import public_changed, public_new
from vaultsync.mcp_server.tool import (
    FactId,
    Fields,
    Since,
    Tags,
    ToolArgs,
    Types,
    Until,
    about,
    evident,
    tool,
    with_lists,
)
from vaultsync.mcp_server.toolsets import SESSIONS
from vaultsync.model.serialization import public_values
from vaultsync.recall.recall_request import TypeName, Words

if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultsync.exchange.session_messages import RememberedSession
    from vaultsync.facts.service import ForgetResult
    from vaultsync.facts.written_facts import NewFact
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.mcp_server.answers import QueryVaultResult, UpdateFactResult
    from vaultsync.model.fact import Fact
    from vaultsync.model.serialization import PublicFact
    from vaultsync.observations.service import Observed

Expect = Annotated[str | None, about("The `revision` you read; refused if it changed.")]
MAX_FACTS = 50
"""Maximum number of facts in one answer."""
_FACT_ID = {"fact_id": "id"}
"""The name of the id of a fact in conflicts and proposals -> its name here."""


class _StoreFactArgs(ToolArgs, frozen=True):
    text: Annotated[
        str, about("Markdown, clear without this conversation; [[Name]] links."), Meta(min_length=1)
    ]
    type: Annotated[TypeName | None, evident("`note` if no other fits.")] = None
    title: Annotated[str | None, evident("Default: the first sentence.")] = None
    context: Annotated[str | None, evident("When or why.")] = None
    scope: Annotated[str | None, about("Default: yours; or team-NAME, project-NAME, public.")] = (
        None
    )
    priority: Annotated[
        Annotated[int, Meta(ge=0, le=4)] | None, about("0 critical to 4 background.")
    ] = None
    tags: Annotated[tuple[str, ...], evident("Without #.")] = ()
    entities: Annotated[tuple[str, ...], evident("People, projects and things.")] = ()
    fields: Fields = field(default_factory=dict)


@tool(
    "memory_store_fact",
    "Store a fact",
    "Store one fact as a note in the user's vault: a decision and why, a commitment, lesson,"
    " preference, who someone is. First memory_recall: if known, memory_update_fact or"
    " memory_supersede.",
    proposes=True,
    also_called={"content": "text"},
)
def store(memory: AgentMemory, args: _StoreFactArgs) -> NewFact:
    """`remember`."""
    if args.fields.get("agentId", memory.name) != memory.name:
        raise FixedFieldError("agentId")
    fixed = {} if memory.user is None else {"userId": memory.user}
    if fixed and args.fields.get("userId", memory.user) != memory.user:
        raise FixedFieldError("userId")
    values = structs.asdict(args)
    values |= {"scope": args.scope or memory.scope, "fields": with_lists(args.fields) | fixed}
    fact = memory.with_note(memory.remember(values.pop("text"), **values))
    answer = public_new(fact, memory.compare(fact))
    if fact.content == args.text:
        del answer["content"]
    return answer


class _StoreSessionArgs(ToolArgs, frozen=True):
    messages: Annotated[
        tuple[dict[str, Any], ...],
        about("In order: `role` (user or assistant), `content`, optional `at` and `name`."),
    ]
    session: Annotated[str, evident("Id of the conversation."), Meta(min_length=1)]
    scope: Annotated[str | None, evident("Yours by default.")] = None
    tags: Annotated[tuple[str, ...], evident("Without #.")] = ()


@tool(
    "memory_store_session",
    "Store a conversation",
    "Store the messages of a conversation, one fact each. Send all of it as it grows;"
    " stored messages are skipped.",
    proposes=True,
    unlisted=frozenset({"scope", "tags"}),
    toolset=SESSIONS,
)
def store_session(memory: AgentMemory, args: _StoreSessionArgs) -> RememberedSession:
    """`remember --messages`."""
    values = structs.asdict(args) | {"scope": args.scope or memory.scope, "user": memory.user}
    return memory.remember_messages(values.pop("messages"), **values)


class _ObserveArgs(ToolArgs, frozen=True):
    content: Annotated[str, evident("What happened."), Meta(min_length=1)]
    context: Annotated[str | None, evident("When or why.")] = None


@tool(
    "memory_observe",
    "Observe",
    "Record what happened; rules classify it.",
    also_called={"text": "content"},
)
def observe(memory: AgentMemory, args: _ObserveArgs) -> Observed:
    """`observe`."""
    scope = memory.scope if memory.may_observe(memory.scope) else None
    return memory.observe(args.content, context=args.context, scope=scope, user=memory.user)


class _UpdateFactArgs(ToolArgs, frozen=True):
    id: FactId
    content: Annotated[str | None, about("All of it.")] = None
    set: Annotated[
        dict[str, Any], about("Such as title, priority, status, entities; null clears one.")
    ] = field(default_factory=dict)
    add_tags: Annotated[tuple[str, ...], evident("Tags to add.")] = ()
    remove_tags: Annotated[tuple[str, ...], evident("Tags to remove.")] = ()
    expect: Expect = None


@tool(
    "memory_update_fact",
    "Update a fact",
    "Change a fact; omitted fields stay. If the user edited the same field, theirs is kept"
    " and yours becomes a `conflict`. If no longer true: memory_supersede.",
    also_called={"text": "content"} | _FACT_ID,
    destructive=True,
    proposes=True,
)
def update(memory: AgentMemory, args: _UpdateFactArgs) -> UpdateFactResult:
    """`update`."""
    if args.content is None and not (args.set or args.add_tags or args.remove_tags):
        message = "nothing to change"
        raise UsageError(message, hint="pass content, set, add_tags or remove_tags")
    changes = structs.asdict(args) | {"set": with_lists(args.set)}
    return _changed(memory, memory.update, changes.pop("id"), **changes)


def _changed(
    memory: AgentMemory,
    change: Callable[..., Fact],
    name: str,
    **changes: Any,  # noqa: ANN401 - those of `change`
) -> UpdateFactResult:
    """A fact after a change, and what came of the user's edits of the same field."""
    known = {each.id for each in memory.conflicts(memory.id_of(name))}
    fact = change(name, **changes)
    found = (each for each in memory.conflicts(fact.id) if each.id not in known)
    conflict = next(found, None)
    changed = public_changed(_without_usage(fact), memory.compare(fact))
    answer = cast("UpdateFactResult", {**changed})
    if conflict is not None:
        answer["conflict"] = conflict.id
    if conflict is None and memory.is_note_deleted(fact.id):
        answer["note_deleted"] = True
    if unwritten := memory.why_note_waits(fact.id):
        answer["note_waits"] = unwritten
    return answer


def _without_usage(fact: Fact) -> Fact:
    """A fact without the counts that only ranking uses."""
    return fact.evolve(access_count=0, last_accessed_at=None)


class _EditFactArgs(ToolArgs, frozen=True):
    id: FactId
    append: Annotated[str | None, evident("Text to append.")] = None
    section: Annotated[str | None, about("Heading, or A > B for B below A.")] = None
    find: Annotated[str | None, evident("Text that occurs `count` times.")] = None
    replace: Annotated[str | None, evident("Replacement text.")] = None
    count: Annotated[int, evident("Number of occurrences."), Meta(ge=1)] = 1
    expect: Expect = None


@tool(
    "memory_edit_fact",
    "Edit a fact",
    "Change part of the content: `append`, or `replace` a `section` or the text to `find`.",
    fresh=True,
    unlisted=frozenset({"count"}),
    also_called=_FACT_ID,
    destructive=True,
    proposes=True,
)
def edit(memory: AgentMemory, args: _EditFactArgs) -> UpdateFactResult:
    """`edit`."""
    changes = structs.asdict(args)
    return _changed(memory, memory.edit, changes.pop("id"), **changes)


class _SupersedeArgs(ToolArgs, frozen=True):
    id: FactId
    text: Annotated[str, evident("What is true now, in markdown."), Meta(min_length=1)]


@tool(
    "memory_supersede",
    "Replace a fact",
    "Replace what is no longer true. Both are kept; recall returns the newer.",
    proposes=True,
    also_called={"content": "text"} | _FACT_ID,
)
def supersede(memory: AgentMemory, args: _SupersedeArgs) -> PublicFact:
    """`supersede`."""
    return public_values(memory.with_note(memory.supersede(args.id, args.text)))


class _FactArgs(ToolArgs, frozen=True):
    id: FactId


@tool(
    "memory_forget",
    "Forget a fact",
    "Delete what should never have been stored, or when the user asks.",
    destructive=True,
    proposes=True,
    also_called=_FACT_ID,
)
def forget(memory: AgentMemory, args: _FactArgs) -> ForgetResult:
    """`forget`."""
    return memory.forget(args.id)


@tool(
    "memory_restore", "Restore a fact", "Undo memory_forget.", proposes=True, also_called=_FACT_ID
)
def restore(memory: AgentMemory, args: _FactArgs) -> ForgetResult:
    """`restore`."""
    return memory.restore(args.id)


class _QueryVaultArgs(ToolArgs, frozen=True):
    ids: Annotated[tuple[str, ...], evident("Read these in full."), Meta(max_length=MAX_FACTS)] = ()
    type: Annotated[TypeName | None, evident("As when stored.")] = None
    scope: Annotated[str | None, evident("Only this scope.")] = None
    tag: Annotated[str | None, evident("Or a subtag.")] = None
    types: Types = ()
    scopes: Annotated[Words, evident("Only these scopes; default: all.")] = ()
    tags: Tags = ()
    status: Annotated[str | None, about("active, done …")] = None
    links_to: Annotated[str | None, evident("Links to this note.")] = None
    links_from: Annotated[str | None, evident("From this note.")] = None
    since: Since = None
    until: Until = None
    all: Annotated[bool, about("Include deleted.")] = False
    newest: Annotated[bool, evident("Newest first.")] = True
    limit: Annotated[int, evident("Maximum number."), Meta(ge=1, le=MAX_FACTS)] = 20
    after: Annotated[str | None, about("`next` of the last page.")] = None
    offset: Annotated[int, evident("Where cut texts continue."), Meta(ge=0)] = 0


@tool(
    "query_vault",
    "Look up facts",
    "List facts by filters, or read some in full by `ids`.",
    reads=True,
    fresh=True,
    unlisted=frozenset({"links_from", "newest", "types", "scopes", "tags"}),
    also_called={"id": "ids"},
)
def query(memory: AgentMemory, args: _QueryVaultArgs) -> QueryVaultResult:
    """`list`, or `get` for each id."""
    from vaultsync.facts.listing import public_page
    from vaultsync.mcp_server.answers import QueryVaultResult

    if args.ids:
        page, missing = memory.some(args.ids)
    else:
        filters = structs.asdict(args)
        del filters["ids"], filters["offset"]
        for one, several in (("type", "types"), ("scope", "scopes"), ("tag", "tags")):
            given = () if filters[one] is None else (filters[one],)
            filters[one] = (*given, *filters.pop(several))
        page, missing = memory.list(**filters), []
    facts = (_without_usage(each) for each in page.facts)
    rests = tuple(each.evolve(content=each.content[args.offset :]) for each in facts)
    shown = public_page(replace(page, facts=rests))
    return QueryVaultResult(shown.facts, shown.next, shown.hidden, missing or UNSET)
