"""A tool: a row of the table of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from vaultsync.errors import InvalidArgumentsError
from vaultsync.model.schema import Value

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

JsonSchema = Mapping[str, Any]
ToolAnswer = Mapping[str, Value]


class ToolArgs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The arguments of a tool."""


ArgsT = TypeVar("ArgsT", bound=ToolArgs)


@dataclass(frozen=True, slots=True)
class Tool(Generic[ArgsT]):
    """What an agent may call."""

    name: str
    title: str
    description: str
    asks: type[ArgsT]
    """What it takes: checked, and told to the client, by this class."""
    answers: type
    """What it answers, as a class of typed keys."""
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
        """JSON Schema of the answer."""
        return schema_of(self.answers)


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
        return {
            key: whole(each)
            for key, each in schema.items()
            if key != "title" or not isinstance(each, str)  # the name of a class
        }

    found = {key: value for key, value in made.items() if key != "$defs"}
    made = whole(found)
    made.pop("description", None)
    return dict(made)
