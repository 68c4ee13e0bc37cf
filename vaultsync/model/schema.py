"""The table of types and the table of fields.

`TYPES` names each type with its folder, its half-life and its own fields. `FIELDS` names
each field with its owner and the rule that merges it. The merge, the note format,
validation and the docs derive from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Value: TypeAlias = (
    "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"
)
"""What a field holds: what JSON holds."""


class Owner(Enum):
    """Who may change a field."""

    IDENTITY = "identity"
    """Nobody, ever; an edit in the note is reported and put back."""
    SHARED = "shared"
    """The person and the agents."""
    PLACE = "place"
    """The folder the note lies in."""
    MACHINE = "machine"
    """The store; an edit in the note is reported and put back."""
    VOLATILE = "volatile"
    """The store; shown in the note when it is rewritten for another reason."""


class Rule(Enum):
    """How a field merges."""

    FIXED = "never changes"
    TEXT = "by line (diff3)"
    SET = "by element"
    WHOLE = "whole"
    MAP = "by key, each whole"
    FOLDER = "by folder"
    STORE = "the store's stands"


class Kind(Enum):
    """What values a field takes."""

    __hash__ = object.__hash__  # that of `Enum` is slow, and each value asks for it

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


@dataclass(frozen=True, slots=True)
class Field:
    """A row of the table of fields."""

    key: str
    """As spelled in frontmatter and in JSON."""
    owner: Owner
    rule: Rule
    kind: Kind
    says: str
    """One line for the docs."""
    attr: str = field(init=False)
    """As spelled in Python."""

    def __post_init__(self) -> None:
        """Spell the key once: it is asked for with every fact."""
        object.__setattr__(self, "attr", snake_case(self.key))


def snake_case(key: str) -> str:
    """`createdAt` -> `created_at`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()


_ID, _SH, _MA, _VO = Owner.IDENTITY, Owner.SHARED, Owner.MACHINE, Owner.VOLATILE

FIELDS: tuple[Field, ...] = (
    Field("id", _ID, Rule.FIXED, Kind.ID, "the identity; survives every rename"),
    Field("type", _SH, Rule.WHOLE, Kind.TYPE, "one of the types"),
    Field("title", _SH, Rule.WHOLE, Kind.LINE, "the heading, else the file name"),
    Field("context", _SH, Rule.WHOLE, Kind.LINE, "when or why it came to be"),
    Field("content", _SH, Rule.TEXT, Kind.TEXT, "what the author wrote"),
    Field("priority", _SH, Rule.WHOLE, Kind.PRIORITY, "0 critical … 4 background"),
    Field("status", _SH, Rule.WHOLE, Kind.LINE, "active, dormant, archived …"),
    Field("tags", _SH, Rule.SET, Kind.LINES, "tags, without #"),
    Field("aliases", _SH, Rule.SET, Kind.LINES, "other names of the note"),
    Field("entities", _SH, Rule.SET, Kind.LINKS, "who and what it is about"),
    Field("relatedFactIds", _SH, Rule.SET, Kind.IDS, "facts that belong to it"),
    Field("scope", Owner.PLACE, Rule.FOLDER, Kind.SCOPE, "who may see it"),
    Field("createdAt", _ID, Rule.FIXED, Kind.TIME, "when it was first written"),
    Field("updatedAt", _VO, Rule.STORE, Kind.TIME, "when the store last changed it"),
    Field("agentId", _ID, Rule.FIXED, Kind.LINE, "the agent that wrote it"),
    Field("userId", _MA, Rule.STORE, Kind.LINE, "the person it belongs to"),
    Field("source", _MA, Rule.STORE, Kind.LINE, "session, import, adopted …"),
    Field("sessionId", _MA, Rule.STORE, Kind.LINE, "the session it came from"),
    Field("conversationId", _MA, Rule.STORE, Kind.LINE, "the conversation"),
    Field("parentFactId", _MA, Rule.STORE, Kind.ID, "the fact it follows up"),
    Field("supersedesId", _MA, Rule.STORE, Kind.ID, "the older fact it replaces"),
    Field("supersededById", _MA, Rule.STORE, Kind.ID, "the newer fact"),
    Field("themeIds", _MA, Rule.STORE, Kind.LINES, "themes"),
    Field("importance", _MA, Rule.STORE, Kind.SHARE, "weight in ranking"),
    Field("confidence", _MA, Rule.STORE, Kind.SHARE, "how sure the agent was"),
    Field("sentiment", _MA, Rule.STORE, Kind.LINE, "positive, neutral, negative"),
    Field("emotionalWeight", _MA, Rule.STORE, Kind.SHARE, "resists decay"),
    Field("expiresAt", _MA, Rule.STORE, Kind.TIME, "when it may be cleaned up"),
    Field("accessCount", _VO, Rule.STORE, Kind.COUNT, "how often it was recalled"),
    Field("lastAccessedAt", _VO, Rule.STORE, Kind.TIME, "when it was last recalled"),
    Field("decayFactor", _VO, Rule.STORE, Kind.SHARE, "what time left of it"),
    Field("recallIds", _VO, Rule.STORE, Kind.LINES, "recalls that used it"),
)
"""The table of fields. A type's own fields follow in `TYPES`, all of them shared."""

FIELD: Mapping[str, Field] = MappingProxyType({each.key: each for each in FIELDS})


NO_FIELDS = frozenset({"embedding", "mirrored", "path", "revision"})
"""What is told of a fact, here or by other programs, and is neither in it nor in its note."""


class FactType(NamedTuple):
    """A row of the table of types."""

    name: str
    folder: str
    half_life: int
    """Days after which a fact of this type weighs half (seeds 001 and 003)."""
    own: tuple[Field, ...] = ()
    named: bool = False
    """Whether its notes are named by their title alone, as entities are."""


def _own(key: str, rule: Rule, kind: Kind, says: str) -> Field:
    return Field(key, Owner.SHARED, rule, kind, says)


_DECISION = (
    _own("decisionOutcome", Rule.WHOLE, Kind.LINE, "proposed, implemented …"),
    _own("decisionRationale", Rule.WHOLE, Kind.TEXT, "why"),
    _own("decisionAlternatives", Rule.SET, Kind.LINES, "what else was possible"),
    _own("decisionConsequences", Rule.SET, Kind.LINES, "what follows from it"),
    _own("decisionImpactedPaths", Rule.SET, Kind.LINES, "files it touches"),
)
_COMMITMENT = (
    _own("commitmentDueDate", Rule.WHOLE, Kind.DATE, "until when"),
    _own("commitmentStatus", Rule.WHOLE, Kind.LINE, "pending, in_progress …"),
    _own("commitmentStakeholders", Rule.SET, Kind.LINKS, "who waits for it"),
)
_LESSON = (
    _own("lessonCategory", Rule.WHOLE, Kind.LINE, "debugging, process …"),
    _own("lessonContext", Rule.WHOLE, Kind.LINE, "where it was learned"),
    _own("lessonPrevention", Rule.WHOLE, Kind.TEXT, "what to do differently"),
)
_OBSERVATION = (
    _own("observationCompressed", Rule.WHOLE, Kind.FLAG, "whether it was shortened"),
    _own("observationOriginalContent", Rule.WHOLE, Kind.TEXT, "before shortening"),
)
_ENTITY = (_own("entityType", Rule.WHOLE, Kind.LINE, "person, project, tool …"),)

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
"""The table of types."""

DEFAULT_TYPE = "note"
DEFAULT_PRIORITY = 2
DEFAULT_STATUS = "active"

TIERS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"critical": (0,), "notable": (1, 2), "background": (3, 4)}
)
"""Tier -> its priorities, the first being the one a move into its folder gives."""
LOWEST = max(TIERS["background"])
"""The last priority: asked for down to it, all facts are."""

OWN: Mapping[str, Field] = MappingProxyType(
    {own.key: own for row in TYPES.values() for own in row.own}
)
"""Every type's own fields by key; a key belongs to one type or to all entities."""


def tier_of(priority: int) -> str:
    """The tier a priority belongs to."""
    return next(tier for tier, members in TIERS.items() if priority in members)
