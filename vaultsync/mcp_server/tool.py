"""A tool: a function for agents, with its JSON Schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from vaultsync.errors import InvalidArgumentsError, VaultsyncError
from vaultsync.mcp_server.answer_limits import Truncation
from vaultsync.mcp_server.toolsets import MEMORY
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import ALL_FIELDS_BY_KEY, LIST_KINDS, ValueKind
from vaultsync.recall.recall_request import TypeName, Word, Words

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

ToolAnswer = msgspec.Struct | Mapping[str, object]
"""It becomes a JSON object."""


class ToolArgs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The arguments of a tool; the class itself is that of tools without any."""


def about(description: str) -> Meta:
    """The description of an argument or a key, for clients."""
    return Meta(description=description)


def evident(description: str) -> Meta:
    """The description of an argument whose name and type say enough: the list omits it."""
    return Meta(description=description, extra_json_schema={_EVIDENT: True})


_EVIDENT = "evident"
FactId = Annotated[str, evident("`id` of a fact.")]
Fields = Annotated[dict[str, Any], about("dueDate, aliases …")]
Since = Annotated[Word | None, about("2026-02, 7d …")]
Until = Annotated[Word | None, evident("Likewise.")]
Types = Annotated[tuple[TypeName, ...], evident("As when stored."), Meta(max_length=1_000)]
Tags = Annotated[Words, evident("All of these.")]
Status = Annotated[str, evident("Default: not retired.")]
All = Annotated[bool, about("Include superseded, archived.")]


KEY_DESCRIPTIONS = {
    "confidence": "Estimated probability that one of the first hits is relevant, 0 to 1.",
    "hits": "Best first.",
    "mirrored": "Whether its note already exists.",
    "revision": "Pass it as `expect` to change only this version.",
    "snippet": "The passage that matches best.",
    "why": "Why it was found, in one sentence.",
}
"""Descriptions of keys that many answers have, in the schemas for models."""


class TruncatedAnswer(msgspec.Struct, frozen=True):
    """Keys that any answer may have."""

    cut: Annotated[list[Truncation], about("What was cut.")]
    rest: Annotated[str, about("How to get the rest.")]
    degraded: Annotated[list[str], about("What was unavailable, one sentence each.")]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that an agent may call: a function with `@tool`."""

    name: str
    title: str
    description: str
    args: type[msgspec.Struct]
    """Its arguments: they are checked, and described to clients, by this class."""
    answers: str
    """The name of the class of its answer in `answers.py`, which is not loaded yet."""
    run: Callable[[AgentMemory, Any], ToolAnswer]
    """Called in the thread of the memory."""
    reads: bool = False
    """Whether it only reads."""
    fresh: bool = False
    """Whether edited notes are synced before it runs. A tool that writes values needs no sync:
    they are merged with the user's edits."""
    destructive: bool = False
    """Whether it may delete or overwrite something."""
    proposes: bool = False
    """Whether it may answer with a proposal in place of what it would write."""
    longest: int | None = 40_000
    """Maximum length of its answer in characters of JSON; None when it limits itself."""
    unlisted: frozenset[str] = frozenset()
    """Arguments that the list of tools omits: a question says the same in words, or their
    defaults serve nearly always."""
    toolset: str = MEMORY
    """The set that it is listed with."""
    also_called: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments, which other tools use for the same -> their names here."""
    sentences: frozenset[str] = frozenset()
    """Lists whose texts may have commas: a text in place of such a list is its only one."""
    question: Callable[[AgentMemory, Any], str] | None = None
    """What the user is asked before it runs, where the client can ask them; an empty text where
    the decision is not theirs."""

    def call(self, memory: AgentMemory, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Check the arguments and run it.

        Raises:
            InvalidArgumentsError: the arguments do not match the schema.
            VaultsyncError: raised by the memory.
        """
        return self.run(memory, self._args(arguments))

    def needs_sync(self, arguments: Mapping[str, Any]) -> bool:
        """Whether edited notes are synced before a call: it reads them, or compares revisions."""
        return self.fresh or arguments.get("expect") is not None

    def question_for(self, memory: AgentMemory, arguments: Mapping[str, Any]) -> str:
        """What the user is asked before these arguments are taken; empty for nothing."""
        try:
            return self.question(memory, self._args(arguments)) if self.question else ""
        except VaultsyncError:
            return ""  # the call fails the same way, and says so

    def _args(self, arguments: Mapping[str, Any]) -> msgspec.Struct:
        try:
            msgspec.json.encode(dict(arguments))
        except (UnicodeEncodeError, RecursionError) as wrong:
            why = "nested too deeply" if isinstance(wrong, RecursionError) else "not Unicode text"
            names = tuple(self.args.__struct_fields__)
            raise InvalidArgumentsError(self.name, f"an argument is {why}", names) from None
        given = dict(arguments)
        for other, name in self.also_called.items():
            if other in given and name not in given:
                given[name] = given.pop(other)
        try:
            # Not strict: models sometimes write numbers as strings.
            return msgspec.convert(given, self.args, strict=False)
        except msgspec.ValidationError as wrong:
            parsed = self._parsed(given)
            if parsed != given:
                return self._args(parsed)
            why = f"{wrong}{self._valid_values(str(wrong))}"
            names = tuple(self.args.__struct_fields__)
            raise InvalidArgumentsError(self.name, why, names) from None

    def _parsed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with the lists and objects that a model wrote as texts, and without null."""
        required = self.input_schema.get("required", ())
        found = {k: v for k, v in given.items() if v is not None or k in required}
        for name, schema in self._properties.items():
            text, kind = given.get(name), schema.get("type")
            if not isinstance(text, str) or kind not in ("array", "object"):
                continue
            value: object = None
            with suppress(msgspec.DecodeError, RecursionError):
                value = msgspec.json.decode(text)
            if isinstance(value, list if kind == "array" else dict):
                found[name] = value
            elif kind == "array":
                found[name] = [text] if name in self.sentences else texts_in(text)
        return found

    def _valid_values(self, why: str) -> str:
        """The values of the argument that an error is about, unless that names a length."""
        name = re.split(r"\W", why.rpartition("`$.")[2], maxsplit=1)[0]
        schema = None if " of length " in why else self._properties.get(name)
        return f"; use {values_in_words(schema)}" if schema else ""

    @property
    def _properties(self) -> dict[str, dict[str, Any]]:
        """The schemas of all arguments, without that null stands for none."""
        properties = self.input_schema["properties"].items()
        return {name: without_null(schema) for name, schema in properties}

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, those that are required first."""
        schema = schema_of(self.args)
        required = schema.get("required", [])
        properties = sorted(schema["properties"].items(), key=lambda each: each[0] not in required)
        return {"additionalProperties": False, **schema, "properties": dict(properties)}

    @property
    def listed_schema(self) -> dict[str, Any]:
        """The schema of the arguments as clients list it, which is part of every session.

        It lacks what models do without: some arguments, limits that are only met on
        purpose, defaults, that null stands for none, and that there are no more keys. A call
        is checked in full.
        """
        found = {key: value for key, value in self.input_schema.items() if value}
        properties = self._properties.items()
        listed = {key: _listed(value) for key, value in properties if key not in self.unlisted}
        return {**found, "properties": listed}

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the answer, with the keys that any answer may have."""
        from vaultsync.mcp_server import answers

        kind: type = getattr(answers, self.answers)
        schema, more = schema_of(kind), schema_of(TruncatedAnswer)["properties"]
        required = schema.get("required", [])
        found = {**schema, "properties": {**schema["properties"], **more}}
        if not self.proposes:
            return found
        waits = schema_of(answers.ProposedAnswer)
        found["properties"] |= waits["properties"]
        del found["required"]
        return {**found, "anyOf": [{"required": x} for x in (required, waits["required"])]}


def tool(
    name: str,
    title: str,
    description: str,
    **traits: Any,  # noqa: ANN401 - the other fields of `Tool`
) -> Callable[[Callable[[AgentMemory, Any], ToolAnswer]], Tool]:
    """Make a tool of a function, whose types say what the tool takes and answers."""

    def make(run: Callable[[AgentMemory, Any], ToolAnswer]) -> Tool:
        _, takes, answers = run.__annotations__.values()
        return Tool(name, title, description, run.__globals__[takes], answers, run, **traits)

    return make


_BETWEEN_BRACKETS = lazy_pattern(r"[^\[\]]++(\]\])?")
"""A text whose commas are in a link, as that in `[[Smith, John]]`, if the link ends behind it."""


def texts_in(text: str) -> list[str]:
    """The texts of a list that a model wrote as one text: `a, b`, `['a', 'b']`, `[[a, b]], c`."""
    bare = text.strip()
    if bare.startswith("[") and bare.endswith("]") and not bare.startswith("[["):
        bare = bare[1:-1]
    runs = (run.span() for run in _BETWEEN_BRACKETS.finditer(bare) if not run[1])
    commas = [at for run in runs for at in range(*run) if bare[at] == ","]
    parts = (bare[at + 1 : end] for at, end in pairwise((-1, *commas, len(bare))))
    return [each for part in parts if (each := part.strip().strip("'\""))]


def with_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of fields, with the lists that a model wrote as texts."""
    found = dict(values)
    for key, text in values.items():
        row = ALL_FIELDS_BY_KEY.get(key)
        if not isinstance(text, str) or row is None or row.kind not in LIST_KINDS:
            continue
        with suppress(msgspec.DecodeError, RecursionError):
            if isinstance(value := msgspec.json.decode(text), list):
                found[key] = value
                continue
        if key == "tags" or row.kind is not ValueKind.LINES:
            found[key] = texts_in(text)
    return found


_OMITTED = frozenset({"minLength", "maxLength", "maxItems", "minimum", "default", _EVIDENT})


def without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an argument that is given."""
    (whole,) = (each for each in schema.get("anyOf", [{}]) if each != {"type": "null"})
    return {**whole, **{key: value for key, value in schema.items() if key != "anyOf"}}


def _listed(schema: Mapping[str, Any]) -> dict[str, Any]:
    omitted = {*_OMITTED, "description"} if _EVIDENT in schema else _OMITTED
    found = {key: value for key, value in schema.items() if key not in omitted}
    if "enum" in found:
        found["type"] = "string"  # some models take a choice only with its type
    if "items" in found:
        found["items"] = _listed(found["items"])
        found["items"].pop("description", None)
    return found


def values_in_words(schema: Mapping[str, Any], quoted: Callable[[str], str] = str) -> str:
    """The values that a schema of an argument admits; `quoted` marks up each of a few."""
    if "enum" in schema:
        return ", ".join(map(quoted, schema["enum"]))
    if schema["type"] == "array":
        return f"a list of {values_in_words(schema['items'], quoted)}"
    lowest, highest = schema.get("minimum"), schema.get("maximum")
    span = f" from {lowest}" if lowest is not None else ""
    span += f" to {highest}" if highest is not None else ""
    return _KINDS[schema["type"]] + span


_KINDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "an object",
    "string": "text",
}


def schema_of(kind: type) -> dict[str, Any]:
    """JSON Schema of a type without references, which not all clients follow."""
    root = msgspec.json.schema(kind)
    parts = root.pop("$defs", {})

    def inlined(schema: object) -> Any:  # noqa: ANN401 - JSON
        if isinstance(schema, list):
            return [inlined(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return inlined(parts[schema["$ref"].rpartition("/")[2]])
        found = {
            key: inlined(each)
            for key, each in schema.items()
            if key != "title" or not isinstance(each, str)  # the name of a class
        }
        for key in KEY_DESCRIPTIONS.keys() & found.get("properties", {}).keys():
            found["properties"][key].setdefault("description", KEY_DESCRIPTIONS[key])
        return found

    found: dict[str, Any] = inlined(root)
    found.pop("description", None)
    return found
