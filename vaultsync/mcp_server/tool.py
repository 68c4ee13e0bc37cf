"""A tool: a row of the table of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from vaultsync.errors import InvalidArgumentsError
from vaultsync.mcp_server.truncate import Truncation
from vaultsync.model.schema import TYPES

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

JsonSchema = Mapping[str, Any]
ToolAnswer = msgspec.Struct | Mapping[str, object]
"""What is told as an object of JSON."""


class ToolArgs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The arguments of a tool."""


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


SAYS = {
    "confidence": "How sure the answer is that it holds what was asked for, 0 to 1.",
    "hits": "The best first.",
    "mirrored": "Whether its note is there already.",
    "revision": "Give it as `expect` to change just this version.",
    "snippet": "The passage that fits best.",
    "why": "Why it was found, in a sentence.",
}
"""What models are told of keys that many answers have."""


class TruncatedAnswer(msgspec.Struct, frozen=True):
    """What every answer may say of itself."""

    cut: Annotated[list[Truncation], Meta(description="What was cut.")]
    rest: Annotated[str, Meta(description="How to get what was cut.")]
    degraded: Annotated[list[str], Meta(description="What was missing, a sentence each.")]


ArgsT = TypeVar("ArgsT", bound=ToolArgs)


@dataclass(frozen=True, slots=True)
class Tool(Generic[ArgsT]):
    """What an agent may call."""

    name: str
    title: str
    description: str
    asks: type[ArgsT]
    """What it takes: checked, and told to the client, by this class."""
    answers: str
    """What it answers, by its name in `answers.py`."""
    run: Callable[[AgentMemory, ArgsT], ToolAnswer]
    """Called in the thread of the memory."""
    reads: bool = False
    """Whether it changes nothing."""
    fresh: bool = False
    """Whether edits of notes are taken up before it answers. Not before a change: it is
    merged with what a person did since."""
    destructive: bool = False
    """Whether something that was there is not there any more."""
    idempotent: bool = False
    """Whether doing it twice is doing it once."""
    longest: int | None = 40_000
    """Letters of its answer; None when it bounds itself."""

    def call(self, memory: AgentMemory, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Check the arguments and run it.

        Raises:
            InvalidArgumentsError: they are not what it takes.
            VaultsyncError: whatever the memory raises.
        """
        try:
            # Not strict: models write numbers as texts now and then.
            asked = msgspec.convert(dict(arguments), self.asks, strict=False)
        except msgspec.ValidationError as wrong:
            raise InvalidArgumentsError(
                self.name, str(wrong), tuple(self.asks.__struct_fields__)
            ) from None
        return self.run(memory, asked)

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return {"additionalProperties": False, **schema_of(self.asks)}

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the answer, with what any answer may say of itself."""
        from vaultsync.mcp_server import answers

        kind: type = getattr(answers, self.answers)
        made, more = schema_of(kind), schema_of(TruncatedAnswer)["properties"]
        return {**made, "properties": {**made["properties"], **more}}


def schema_of(kind: type) -> dict[str, Any]:
    """JSON Schema in one piece: not all clients follow references."""
    made = msgspec.json.schema(kind)
    parts = made.get("$defs", {})

    def whole(schema: object) -> Any:  # noqa: ANN401 - JSON
        if isinstance(schema, list):
            return [whole(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return whole(parts[schema["$ref"].rpartition("/")[2]])
        made = {
            key: whole(each)
            for key, each in schema.items()
            if key != "title" or not isinstance(each, str)  # the name of a class
        }
        for key in SAYS.keys() & made.get("properties", {}).keys():
            made["properties"][key].setdefault("description", SAYS[key])
        return made

    found = {key: value for key, value in made.items() if key != "$defs"}
    made = whole(found)
    made.pop("description", None)
    return dict(made)
