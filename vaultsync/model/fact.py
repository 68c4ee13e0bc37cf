"""The fact: one memory, the unit that is reconciled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vaultsync.model.canonical import (
    LINK,
    canonical,
    check_id,
    check_property,
    clean_line,
    clean_text,
    clean_time,
    json_value,
    link_name,
)
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import (
    DEFAULT_PRIORITY,
    DEFAULT_STATUS,
    DEFAULT_TYPE,
    FIELDS,
    FIELDS_BY_KEY,
    OWN_FIELDS_BY_KEY,
    TIERS,
    TYPES,
    FactType,
    Field,
    FieldOwner,
    MergeRule,
    Value,
    ValueKind,
    snake_case,
    tier_of,
)
from vaultsync.model.scope import PUBLIC

__all__ = [
    "DEFAULT_PRIORITY",
    "DEFAULT_STATUS",
    "DEFAULT_TYPE",
    "FIELDS",
    "FIELDS_BY_KEY",
    "OWN_FIELDS_BY_KEY",
    "TIERS",
    "TYPES",
    "Fact",
    "FactType",
    "Field",
    "FieldOwner",
    "MergeRule",
    "Value",
    "ValueKind",
    "canonical",
    "check_id",
    "check_property",
    "clean_line",
    "clean_text",
    "clean_time",
    "derive_title",
    "json_value",
    "link_name",
    "make_fact",
    "relations",
    "snake_case",
    "tier_of",
]


@dataclass(frozen=True)  # no slots: `but()` copies by `__dict__`, 20 times faster
class Fact:
    r"""One memory. Frozen; `changed()` and `but()` make another.

    Values are canonical when they went through `make_fact()` or `changed()`: times are
    `2026-02-14T13:45:00Z`, text has `\n` line ends and no blank lines around it, lists
    hold each element once.
    """

    id: str
    type: str = DEFAULT_TYPE
    title: str = ""
    context: str | None = None
    content: str = ""
    priority: int = DEFAULT_PRIORITY
    status: str = DEFAULT_STATUS
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    """Names of entities, without brackets."""
    related_fact_ids: tuple[str, ...] = ()
    own: Mapping[str, Value] = field(default_factory=dict)
    """The type's own fields by key (`decisionOutcome`); only those that are set."""
    properties: Mapping[str, Value] = field(default_factory=dict)
    """All other properties of the note: the author's. Those that hold links are the
    relations of an entity (`reports_to: ["[[Bob]]"]`)."""
    scope: str = PUBLIC
    created_at: str = ""
    updated_at: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    source: str | None = None
    session_id: str | None = None
    conversation_id: str | None = None
    parent_fact_id: str | None = None
    supersedes_id: str | None = None
    superseded_by_id: str | None = None
    theme_ids: tuple[str, ...] = ()
    importance: float | None = None
    confidence: float | None = None
    sentiment: str | None = None
    emotional_weight: float | None = None
    expires_at: str | None = None
    access_count: int = 0
    last_accessed_at: str | None = None
    decay_factor: float | None = None
    recall_ids: tuple[str, ...] = ()
    path: VaultPath | None = field(default=None, compare=False)
    """Where its note is; None while it has none. Not part of what it says."""
    revision: str = field(default="", compare=False)
    """Opaque token of the store's version that this was read at."""
    line: bytes | None = field(default=None, init=False, compare=False, repr=False)
    """Its JSON, UTF-8, if it was read from it or written as it. Copies that say anything
    else have none."""

    def evolve(self, **attrs: object) -> Fact:
        """The fact with other attributes, which are taken as they are."""
        made = object.__new__(Fact)
        # A dict that is copied whole keeps its size; one that is filled grows three times.
        held = self.__dict__ | attrs
        if "line" in held and not attrs.keys() <= _NOT_SERIALIZED:
            del held["line"]
        object.__setattr__(made, "__dict__", held)
        return made

    def value(self, key: str) -> Value:
        """The value of a field by its key; None or an empty value when it is not set.

        Keys of other types' own fields, and of properties, are looked up there.
        """
        row = FIELDS_BY_KEY.get(key)
        if row is None:
            return (
                self.own[key]
                if key in OWN_FIELDS_BY_KEY and key in self.own
                else self.properties.get(key)
            )
        held: Value = getattr(self, row.attr)
        return held

    def values(self) -> dict[str, Value]:
        """All fields that are set, by key: lists as lists, no `properties`."""
        found: dict[str, Value] = {}
        for row in FIELDS:
            held = getattr(self, row.attr)
            if held is None or held == () or (row.key == "accessCount" and not held):
                continue
            found[row.key] = list(held) if isinstance(held, tuple) else held
        found.update(self.own)
        return found

    def replace(self, values: Mapping[str, Value]) -> Fact:
        """The fact with other values, by key; None or an empty list clears a field.

        A key that is neither a field nor an own field of the (new) type is a property.
        Own fields of a former type stay: nothing anybody wrote is lost.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError: a
            value that its field does not take.
        """
        attrs: dict[str, object] = {}
        own, properties = dict(self.own), dict(self.properties)
        for key, value in values.items():
            row = FIELDS_BY_KEY.get(key)
            if row is not None:
                kept = canonical(row, value)
                attrs[row.attr] = "" if key == "createdAt" and kept is None else kept
            elif key in OWN_FIELDS_BY_KEY:
                kept = canonical(OWN_FIELDS_BY_KEY[key], value)
                if kept is None or kept == ():
                    own.pop(key, None)
                else:
                    own[key] = list(kept) if isinstance(kept, tuple) else kept
            elif value is None:
                properties.pop(key, None)
            else:
                properties[check_property(key)] = json_value(key, value)
        return _with_entity_type(self.evolve(**attrs, own=own, properties=properties))

    def overlay(self, values: Mapping[str, Value], properties: Mapping[str, Value]) -> Fact:
        """The fact with other values by key, all of them canonical already.

        Lists of fields may be lists or tuples; other properties stay.
        """
        attrs: dict[str, object] = {}
        own = dict(self.own)
        for key, value in values.items():
            row = FIELDS_BY_KEY.get(key)
            if row is not None:
                attrs[row.attr] = tuple(value) if isinstance(value, list) else value
            elif value is not None:
                own[key] = list(value) if isinstance(value, tuple) else value
        return _with_entity_type(
            self.evolve(**attrs, own=own, properties={**self.properties, **properties})
        )


_NOT_SERIALIZED = frozenset({"path", "revision", "line"})
"""What a fact has and its JSON does not say."""


def make_fact(values: Mapping[str, Value]) -> Fact:
    """A canonical fact from values by key, `id` among them.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError: see
        `Fact.changed`.
    """
    made = Fact(check_id(values.get("id"))).replace(values)
    if not made.title:
        made = made.evolve(title=derive_title(made.content, made.type))
    return made


def _with_entity_type(fact: Fact) -> Fact:
    """An `entity` that is a person or a project is of that type."""
    kind = fact.own.get("entityType")
    if fact.type == "entity" and kind in ("person", "project"):
        return fact.evolve(type=str(kind))
    return fact


FACT_TITLE_LENGTH = 120


def derive_title(content: str, fact_type: str) -> str:
    """A title for a fact that came without: its first sentence, else its type."""
    for line in content.split("\n"):
        words = line.lstrip("#>-*+ \t").strip()
        if not words:
            continue
        sentence = re.split(r"(?<=[.!?。！？])\s", words, maxsplit=1)[0].rstrip(".")
        sentence = " ".join(sentence.split())
        if not sentence:
            continue
        if len(sentence) <= FACT_TITLE_LENGTH:
            return sentence
        cut = sentence[:FACT_TITLE_LENGTH].rsplit(" ", 1)[0]
        return cut.rstrip(",;:") + "…"
    return fact_type.capitalize()


def relations(fact: Fact) -> dict[str, tuple[str, ...]]:
    """The properties that hold links: relation -> names of the notes it points to."""
    found: dict[str, tuple[str, ...]] = {}
    for key, value in fact.properties.items():
        many = value if isinstance(value, (list, tuple)) else (value,)
        names = tuple(
            match[1].strip()
            for each in many
            if isinstance(each, str) and (match := LINK.match(each.strip()))
        )
        if names and len(names) == len(many):
            found[key] = names
    return found
