"""The fact: one memory, the unit that is reconciled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType

from msgspec import Struct, field, structs

from vaultsync.model.canonical import LINK, canonical_values, check_id
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import (
    DEFAULT_PRIORITY,
    DEFAULT_STATUS,
    DEFAULT_TYPE,
    FIELDS,
    FIELDS_BY_KEY,
    LINEAGE,
    OWN_FIELDS_BY_KEY,
    PLACE_PROPERTIES,
    Value,
    equal_as_json,
)
from vaultsync.model.scope import PUBLIC


class Fact(Struct, frozen=True, eq=False, repr_omit_defaults=True):
    r"""One memory. `replace()` and `evolve()` return a changed copy.

    Facts made by `make_fact()` or `replace()` have canonical values: times are
    `2026-02-14T13:45:00Z`, text has `\n` line ends and no blank lines around it, lists
    contain each element once. Facts are equal when all but `path` and `revision` are.
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
    """All other properties of the note, which are the author's. Those that contain links
    are the relations of an entity (`reports_to: ["[[Bob]]"]`)."""
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
    path: VaultPath | None = None
    """The path of its note; None while it has none."""
    revision: str = ""
    """Opaque token of the version in the store that this was read from."""

    def __eq__(self, other: object) -> bool:
        """Whether all values are equal; path and revision are not values."""
        if not (isinstance(other, Fact) and _values_of(self) == _values_of(other)):
            return False
        return equal_as_json(self.properties, other.properties)

    def __ne__(self, other: object) -> bool:
        """The opposite; that of `Struct` does not use `__eq__`."""
        return not self == other

    __hash__ = None  # type: ignore[assignment] # its maps have none

    def evolve(self, **attrs: object) -> Fact:
        """A copy with other attributes, which must be canonical."""
        return structs.replace(self, **attrs)

    def value(self, key: str) -> Value:
        """The value of a field, own field or property; None or empty when it is not set."""
        row = FIELDS_BY_KEY.get(key)
        if row is None:
            own = key in OWN_FIELDS_BY_KEY and key in self.own
            return self.own[key] if own else self.properties.get(key)
        value: Value = getattr(self, row.attr)
        return value

    def plain(self, key: str) -> Value:
        """The value of a key as JSON has it: a list in place of a tuple."""
        value = self.value(key)
        return list(value) if isinstance(value, tuple) else value

    def values_at(self, keys: Iterable[str]) -> dict[str, Value]:
        """What `value()` says of each of the keys."""
        return {key: self.value(key) for key in keys}

    def values(self) -> dict[str, Value]:
        """All fields that are set, by key, with lists as lists; without properties."""
        found: dict[str, Value] = {}
        for row in FIELDS:
            value = getattr(self, row.attr)
            if value is None or value == () or (row.key == "accessCount" and not value):
                continue
            found[row.key] = list(value) if isinstance(value, tuple) else value
        found.update(self.own)
        return found

    def replace(self, values: Mapping[str, Value]) -> Fact:
        """A copy with other values, by key; None or an empty list clears a field.

        A key that is not a field of any type is a property. Own fields of a former type
        stay, so that nothing is lost. A title that is cleared is derived from the content.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError: a
            field does not accept its value.
        """
        attrs: dict[str, object] = {}
        own, properties = dict(self.own), dict(self.properties)
        for key, new in canonical_values(values).items():
            row = FIELDS_BY_KEY.get(key)
            if row is not None:
                attrs[row.attr] = "" if key == "createdAt" and new is None else new
                continue
            others = own if key in OWN_FIELDS_BY_KEY else properties
            if new is None or new == ():
                others.pop(key, None)
            else:
                others[key] = list(new) if isinstance(new, tuple) else new
        fact = _with_entity_type(self.evolve(**attrs, own=own, properties=properties))
        titled = fact.title or "title" not in values
        return fact if titled else fact.evolve(title=derive_title(fact.content, fact.type))

    def overlay(self, values: Mapping[str, Value], properties: Mapping[str, Value]) -> Fact:
        """A copy with other values by key, all of them canonical already.

        Lists may be lists or tuples; properties that are not given stay.
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


_values_of = attrgetter(*(n for n in Fact.__struct_fields__ if n not in ("path", "revision")))


def make_fact(values: Mapping[str, Value]) -> Fact:
    """A canonical fact from values by key, `id` among them.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError: see
        `Fact.replace`.
    """
    return Fact(check_id(values.get("id"))).replace({"title": None, **values})


def _with_entity_type(fact: Fact) -> Fact:
    """An `entity` that is a person or a project is of that type."""
    kind = fact.own.get("entityType")
    if fact.type == "entity" and kind in ("person", "project"):
        return fact.evolve(type=str(kind))
    return fact


FACT_TITLE_LENGTH = 120


INTERJECTION_LENGTH = 12
"""Characters; a shorter sentence of one word, such as `Done.`, is no title by itself."""


def derive_title(content: str, fact_type: str) -> str:
    """A title for a fact without one: its first sentence, else its type."""
    for line in filter(str.strip, content.split("\n")):
        words = " ".join(line.lstrip("#>-*+ \t").split())
        sentence, *rest = re.split(r"(?<=[.!?。！？])\s", words, maxsplit=2)
        if rest and len(sentence) <= INTERJECTION_LENGTH and " " not in sentence:
            sentence = f"{sentence} {rest[0]}"
        sentence = sentence.rstrip(". ")
        if len(sentence) > FACT_TITLE_LENGTH:
            return sentence[:FACT_TITLE_LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + "…"
        if sentence:
            return sentence
    return fact_type.capitalize()


def relations(fact: Fact) -> dict[str, tuple[str, ...]]:
    """The properties that contain only links: relation -> names of the linked notes."""
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


_FOR_PROGRAMS = frozenset(("cssclass", "cssclasses", "publish"))
"""Properties that tell Obsidian how to show a note; those of plugins end in `-plugin`."""
_OF_REPOSITORY = _FOR_PROGRAMS.union(PLACE_PROPERTIES)
"""Those, and the ones that vaultsync keeps of a repository."""
PROPERTY_LENGTH = 200
"""Maximum number of characters of a property that is shown with others."""


def property_lines(fact: Fact, *, length: int | None = None) -> list[str]:
    """The author's properties as they are read and found: `birthday: 1951-12-18`.

    Those that vaultsync keeps of a repository are left out, and those for programs.

    Args:
        fact: the fact.
        length: maximum number of characters of a value; longer ones end with an ellipsis.
    """
    skipped = _OF_REPOSITORY if LINEAGE in fact.properties else _FOR_PROGRAMS
    lines = []
    for key, value in fact.properties.items():
        if key in skipped or key.endswith("-plugin"):
            continue
        text = _plain_text(value)
        if length is not None and len(text) > length:
            text = f"{text[: length - 1]}…"
        if text:
            lines.append(f"{' '.join(key.split())}: {text}")
    return lines


def _plain_text(value: Value) -> str:
    """The texts and numbers in a value, in order, in one line."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(_plain_text, value)))
    if isinstance(value, Mapping):
        return _plain_text([*value.values()])
    if isinstance(value, bool):
        return "true" if value else "false"  # as they are written
    return str(value) if isinstance(value, (int, float)) else ""


_ORIGIN_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "import": ("import",),
        "inference": ("infer", "consolidat", "deriv"),
        "tool": ("tool", "hook", "webhook"),
    }
)
"""Origin -> what the `source` of such facts begins with."""


def origin_of(fact: Fact) -> str:
    """Who wrote a fact: `user`, `agent`, `tool`, `import` or `inference`.

    By its `source` where that says so; otherwise by whether an agent wrote it or said it.
    """
    source = (fact.source or "").casefold()
    for origin, words in _ORIGIN_WORDS.items():
        if source.startswith(words):
            return origin
    return "agent" if fact.agent_id or is_of_assistant(fact) else "user"


ASSISTANT, USER = "Assistant", "User"
"""Who speaks in a message of a model, or of its user, that has no name."""


REPORTS = frozenset({"episodic", "observation"})
"""Types of facts that report an event: a later one may repeat or differ from an earlier one."""


def is_statement(fact: Fact) -> bool:
    """Whether a fact states something, rather than recording an event or message."""
    return fact.type not in REPORTS and not fact.session_id


def is_turn(fact: Fact) -> bool:
    """Whether a fact is a message of a session, of a speaker with at most 41 letters: `Ben: …`."""
    return fact.type == "episodic" and bool(fact.session_id) and ":" in fact.content[:42]


def is_of_assistant(fact: Fact) -> bool:
    """Whether a fact is what an assistant said in a session: `Assistant: …`.

    One with a name may be a person, whom a host has speak in the place of a model.
    """
    return bool(fact.session_id) and fact.content.startswith(f"{ASSISTANT}: ")
