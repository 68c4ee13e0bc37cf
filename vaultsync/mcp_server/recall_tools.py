"""Tools that answer questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

from msgspec import Meta, structs

from vaultsync.mcp_server.answer_limits import Truncation
from vaultsync.mcp_server.tool import All, Since, Status, Tags, Types, Until, about, evident, tool
from vaultsync.recall.recall_request import (
    DEFAULT_BUDGET,
    QUERY_HELP,
    ContextQuestion,
    ContextRequest,
    Priority,
    RecallQuestion,
    RecallRequest,
    Words,
)

if TYPE_CHECKING:
    from vaultsync.context_packs.pack import ContextPack
    from vaultsync.mcp_server.agent_memory import AgentMemory
    from vaultsync.recall.result import RecallResult

MAX_HITS = 50
MAX_TOKENS = 32_000
"""The largest budget of a context pack."""
MAX_LEFT_OUT = 10
"""Maximum number of facts that a context lists as left out."""
_LEFT_OUT_HINT = "memory_recall finds what was left out; a larger `budget` has room for more"
_SINGULAR = {"type": "types", "scope": "scopes", "tag": "tags"}
"""The names of the same filters in query_vault -> those here."""
Query = Annotated[str, about(QUERY_HELP), Meta(min_length=1)]


class _RecallArgs(RecallQuestion, frozen=True, kw_only=True):
    query: Query
    types: Types = ()
    scopes: Annotated[Words, evident("Only these scopes; default: all.")] = ()
    tags: Tags = ()
    since: Since = None
    until: Until = None
    as_of: Annotated[str | None, about("As known on this date.")] = None
    limit: Annotated[int, evident("Maximum number."), Meta(ge=1, le=MAX_HITS)] = 10
    max_priority: Annotated[Priority | None, about("Lowest priority to include, 0 to 4.")] = None
    status: Status = ""
    all: All = False
    mode: Annotated[
        Literal["auto", "index", "vector", "fused"],
        about("Keyword (index), semantic (vector) or both (fused)."),
    ] = "auto"


@tool(
    "memory_recall",
    "Recall facts",
    "Find facts that answer a question, best first. Use it before you answer from memory"
    " or store. query_vault reads them in full.",
    reads=True,
    fresh=True,
    unlisted=frozenset({"types", "tags", "since", "until", "status", "max_priority", "mode"}),
    also_called=_SINGULAR,
)
def recall(memory: AgentMemory, args: _RecallArgs) -> RecallResult:
    """`recall`."""
    return memory.answer(RecallRequest(**structs.asdict(args), repo=memory.repository))


class _ContextArgs(ContextQuestion, frozen=True, kw_only=True):
    query: Annotated[str, evident("As for memory_recall."), Meta(min_length=1)]
    types: Types = ()
    scopes: Annotated[Words, evident("Only these scopes; default: all.")] = ()
    tags: Tags = ()
    since: Since = None
    status: Status = ""
    all: All = False
    budget: Annotated[int, evident("Maximum number of tokens."), Meta(ge=1, le=MAX_TOKENS)] = (
        DEFAULT_BUDGET
    )
    format: Annotated[Literal["markdown", "xml", "json"], evident("Output format.")] = "markdown"
    intent: Annotated[
        Literal["decisions", "recent", "balanced"] | None, evident("Gets most of the budget.")
    ] = None


@tool(
    "memory_get_context",
    "Get a context",
    "Get what is known about a task, critical first, in `budget` tokens. Use it when work starts.",
    reads=True,
    fresh=True,
    longest=None,
    unlisted=frozenset({"types", "scopes", "tags", "since", "status", "all", "format"}),
    also_called=_SINGULAR,
)
def context(memory: AgentMemory, args: _ContextArgs) -> ContextPack:
    """`context`."""
    pack = memory.pack(ContextRequest(**structs.asdict(args), repo=memory.repository))
    count = len(pack.left_out)
    if count <= MAX_LEFT_OUT:
        return pack
    # The budget counts the text only, and a list of all that was found can be longer than it.
    shown = structs.asdict(pack) | {"left_out": pack.left_out[:MAX_LEFT_OUT]}
    cut = [Truncation("left_out", MAX_LEFT_OUT, count)]
    return cast("ContextPack", {**shown, "cut": cut, "rest": _LEFT_OUT_HINT})
