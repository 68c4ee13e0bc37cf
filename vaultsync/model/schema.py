"""The table of types and the table of fields.

`TYPES` names each type with its folder, its half-life and its own fields. `FIELDS` names
each field with its owner and the rule that merges it. The merge, the note format,
validation and the docs derive from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, structs

if TYPE_CHECKING:
    Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"
else:
    Value = Any  # msgspec reads annotations, and knows no type that holds itself
"""A JSON value."""


class FieldOwner(Enum):
    """Who may change a field."""

    IDENTITY = "identity"
    """Neither side; an edit in the note is reported and reverted."""
    SHARED = "shared"
    """The user and the agents."""
    PLACE = "place"
    """The folder the note lies in."""
    MACHINE = "machine"
    """The store; an edit in the note is reported and reverted."""
    VOLATILE = "volatile"
    """The store; updated in the note only when it is rewritten for another reason."""


class MergeRule(Enum):
    """How a field merges."""

    FIXED = "never changes"
    TEXT = "by line (diff3)"
    SET = "by element"
    WHOLE = "whole"
    MAP = "by key, each whole"
    FOLDER = "by folder"
    STORE = "the store wins"


class ValueKind(Enum):
    """The values that a field accepts."""

    LINE = "one line of text"
    TEXT = "text"
    LINES = "a list of lines"
    LINKS = "a list of names of notes"
    IDS = "a list of UUIDs"
    ID = "a UUID"
    TIME = "a time such as 2026-02-14T13:45:00Z"
    DATE = "a date such as 2026-02-14"
    PRIORITY = "a whole number from 0 (critical) to 4 (background)"
    SHARE = "a number from 0 to 1"
    NUMBER = "a number"
    COUNT = "a whole number, 0 or more"
    FLAG = "true or false"
    TYPE = "one of the types"
    SCOPE = "a scope"


LIST_KINDS = frozenset({ValueKind.LINES, ValueKind.LINKS, ValueKind.IDS})


class Field(Struct, frozen=True):
    """A row of the table of fields."""

    key: str
    """As spelled in frontmatter and in JSON."""
    owner: FieldOwner
    rule: MergeRule
    kind: ValueKind
    description: str
    """One line for the docs."""
    attr: str = ""
    """As spelled in Python; made of the key."""

    def __post_init__(self) -> None:
        """`createdAt` -> `created_at`."""
        attr = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in self.key)
        structs.force_setattr(self, "attr", attr)


_ID, _SH = FieldOwner.IDENTITY, FieldOwner.SHARED
_MA, _VO = FieldOwner.MACHINE, FieldOwner.VOLATILE

FIELDS: tuple[Field, ...] = (
    Field("id", _ID, MergeRule.FIXED, ValueKind.ID, "the identity; survives every rename"),
    Field("type", _SH, MergeRule.WHOLE, ValueKind.TYPE, "one of the types"),
    Field("title", _SH, MergeRule.WHOLE, ValueKind.LINE, "the heading, or else the file name"),
    Field("context", _SH, MergeRule.WHOLE, ValueKind.LINE, "when or why it was written"),
    Field("content", _SH, MergeRule.TEXT, ValueKind.TEXT, "what the author wrote"),
    Field("priority", _SH, MergeRule.WHOLE, ValueKind.PRIORITY, "0 critical … 4 background"),
    Field("status", _SH, MergeRule.WHOLE, ValueKind.LINE, "active, dormant, archived …"),
    Field("tags", _SH, MergeRule.SET, ValueKind.LINES, "tags, without #"),
    Field("aliases", _SH, MergeRule.SET, ValueKind.LINES, "other names of the note"),
    Field("entities", _SH, MergeRule.SET, ValueKind.LINKS, "people and things that it is about"),
    Field("relatedFactIds", _SH, MergeRule.SET, ValueKind.IDS, "related facts"),
    Field("scope", FieldOwner.PLACE, MergeRule.FOLDER, ValueKind.SCOPE, "who may see it"),
    Field("createdAt", _ID, MergeRule.FIXED, ValueKind.TIME, "when it was first written"),
    Field("updatedAt", _VO, MergeRule.STORE, ValueKind.TIME, "when the store last changed it"),
    Field("agentId", _ID, MergeRule.FIXED, ValueKind.LINE, "the agent that wrote the fact"),
    Field("userId", _MA, MergeRule.STORE, ValueKind.LINE, "the user whom it is about"),
    Field("source", _MA, MergeRule.STORE, ValueKind.LINE, "session, import, adopted …"),
    Field("sessionId", _MA, MergeRule.STORE, ValueKind.LINE, "the session from which it came"),
    Field("conversationId", _MA, MergeRule.STORE, ValueKind.LINE, "the conversation"),
    Field("parentFactId", _MA, MergeRule.STORE, ValueKind.ID, "the fact that it follows up"),
    Field("supersedesId", _MA, MergeRule.STORE, ValueKind.ID, "the older fact that it replaces"),
    Field("supersededById", _MA, MergeRule.STORE, ValueKind.ID, "the newer fact"),
    Field("themeIds", _MA, MergeRule.STORE, ValueKind.LINES, "themes"),
    Field("importance", _MA, MergeRule.STORE, ValueKind.SHARE, "weight in ranking"),
    Field("confidence", _MA, MergeRule.STORE, ValueKind.SHARE, "how certain the agent was"),
    Field("sentiment", _MA, MergeRule.STORE, ValueKind.LINE, "positive, neutral, negative"),
    Field(
        "emotionalWeight",
        _MA,
        MergeRule.STORE,
        ValueKind.SHARE,
        "slows decay: 1 doubles the half-life",
    ),
    Field("expiresAt", _MA, MergeRule.STORE, ValueKind.TIME, "when it expires"),
    Field("accessCount", _VO, MergeRule.STORE, ValueKind.COUNT, "how often it was used"),
    Field("lastAccessedAt", _VO, MergeRule.STORE, ValueKind.TIME, "when it was last used"),
    Field(
        "decayFactor", _VO, MergeRule.STORE, ValueKind.SHARE, "the share that is left after decay"
    ),
    Field(
        "recallIds", _VO, MergeRule.STORE, ValueKind.LINES, "the ids of the recalls that used it"
    ),
)
"""The table of fields. A type's own fields follow in `TYPES`, all of them shared."""

FIELDS_BY_KEY: Mapping[str, Field] = MappingProxyType({each.key: each for each in FIELDS})

NON_FIELD_KEYS = frozenset({"embedding", "mirrored", "path", "revision"})
"""Names that describe a fact, here or in other programs, but are not fields of it."""


class FactType(Struct, frozen=True):
    """A row of the table of types."""

    name: str
    folder: str
    half_life: int
    """Days after which the recency of a fact of this type is halved."""
    own: tuple[Field, ...] = ()
    named: bool = False
    """Whether its notes are named by the title alone, as those of entities are."""


def _own(key: str, rule: MergeRule, kind: ValueKind, description: str) -> Field:
    return Field(key, FieldOwner.SHARED, rule, kind, description)


_DECISION = (
    _own("decisionOutcome", MergeRule.WHOLE, ValueKind.LINE, "proposed, implemented …"),
    _own("decisionRationale", MergeRule.WHOLE, ValueKind.TEXT, "why"),
    _own("decisionAlternatives", MergeRule.SET, ValueKind.LINES, "the alternatives"),
    _own("decisionConsequences", MergeRule.SET, ValueKind.LINES, "the consequences"),
    _own("decisionImpactedPaths", MergeRule.SET, ValueKind.LINES, "files it touches"),
)
_COMMITMENT = (
    _own("commitmentDueDate", MergeRule.WHOLE, ValueKind.DATE, "the due date"),
    _own("commitmentStatus", MergeRule.WHOLE, ValueKind.LINE, "pending, in_progress …"),
    _own("commitmentStakeholders", MergeRule.SET, ValueKind.LINKS, "who is waiting for it"),
)
_LESSON = (
    _own("lessonCategory", MergeRule.WHOLE, ValueKind.LINE, "debugging, process …"),
    _own("lessonContext", MergeRule.WHOLE, ValueKind.LINE, "where it was learned"),
    _own("lessonPrevention", MergeRule.WHOLE, ValueKind.TEXT, "what to do differently next time"),
)
_OBSERVATION = (
    _own("observationCompressed", MergeRule.WHOLE, ValueKind.FLAG, "whether it was shortened"),
    _own("observationOriginalContent", MergeRule.WHOLE, ValueKind.TEXT, "before shortening"),
)
_ENTITY = (_own("entityType", MergeRule.WHOLE, ValueKind.LINE, "person, project, tool …"),)

TYPES: Mapping[str, FactType] = MappingProxyType(
    {
        each.name: each
        for each in (
            FactType("decision", "decisions", 180, _DECISION),
            FactType("commitment", "commitments", 90, _COMMITMENT),
            FactType("lesson", "lessons", 365, _LESSON),
            FactType("observation", "observations", 14, _OBSERVATION),
            FactType("note", "notes", 180),
            FactType("fact", "facts", 365),
            FactType("preference", "preferences", 180),
            FactType("task", "tasks", 30),
            FactType("episodic", "episodes", 14),
            FactType("correction", "corrections", 365),
            FactType("convention", "conventions", 365),
            FactType("person", "people", 365, _ENTITY, named=True),
            FactType("project", "projects", 90, _ENTITY, named=True),
            FactType("entity", "entities", 365, _ENTITY, named=True),
        )
    }
)

NAMED_TYPES = frozenset(name for name, each in TYPES.items() if each.named)
"""The types of people, projects and things, whose titles are names."""
WITH_STATE = frozenset({"commitment", "task"})
"""The types that are open, due or done."""
DEFAULT_TYPE = "note"
DEFAULT_PRIORITY = 2
DEFAULT_STATUS = "active"
RELATED_KEY = "relatedFactIds"
LINEAGE = "lineage"
"""The property that only facts about a git repository have: which one that is."""
PLACE_PROPERTIES = ("repo", LINEAGE, "branch", "commit", "promotedTo")
"""The properties of such a fact that record where in the repository it holds."""

TIERS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"critical": (0,), "notable": (1, 2), "background": (3, 4)}
)
"""Tier -> its priorities; a note that is adopted in the folder of a tier gets the first one."""
TIER_PRIORITIES: Mapping[str, int] = MappingProxyType(
    {"critical": 0, "notable": 1, "background": 4}
)
"""Tier -> the priority that an observation gets with it: by its classifier, and by a move into the
folder of the tier. So a move that a crash cut off in the middle reads like what it was to be."""
_TIER_OF_PRIORITY = {each: tier for tier, members in TIERS.items() for each in members}
LOWEST_PRIORITY = max(TIERS["background"])
"""The lowest priority: a filter down to it admits all facts."""

OWN_FIELDS_BY_KEY: Mapping[str, Field] = MappingProxyType(
    {own.key: own for row in TYPES.values() for own in row.own}
)
"""The own fields of all types by key; a key belongs to one type or to all entities."""
ALL_FIELDS_BY_KEY: Mapping[str, Field] = MappingProxyType({**FIELDS_BY_KEY, **OWN_FIELDS_BY_KEY})
"""The fields, and the own fields of all types. Any other key is a property."""


def tier_of(priority: int) -> str:
    """The tier a priority belongs to."""
    return _TIER_OF_PRIORITY[priority]


def equal_as_json(one: Value, other: Value) -> bool:
    """Whether two values are equal as JSON: `true` is not 1, but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            equal_as_json(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal_as_json, one, other))
    return one == other
