"""What a context pack is made of and what it is: intents, candidates, items, the pack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from msgspec import Struct

from vaultsync.model.fact import Fact

ENTITY_TIER = "entities"
PACK_TIERS = ("critical", "notable", "background", ENTITY_TIER)
"""In the order in which they are packed; each may use what the one before it left."""


@dataclass(frozen=True, slots=True)
class QueryIntent:
    """What a question is after, and how that shares out the budget."""

    shares: Mapping[str, float]
    words: str
    """A pattern of words that give it away; the first intent that matches is meant."""


def _shares(*shares: float) -> Mapping[str, float]:
    return MappingProxyType(dict(zip(PACK_TIERS, shares, strict=True)))


INTENTS: Mapping[str, QueryIntent] = MappingProxyType(
    {
        "decisions": QueryIntent(_shares(0.8, 0.2, 0.0, 0.0), r"decisions?|decid\w+|commit\w*"),
        "recent": QueryIntent(_shares(0.1, 0.3, 0.6, 0.0), r"observ\w+|recent\w*|lately|latest"),
        "balanced": QueryIntent(_shares(0.4, 0.4, 0.1, 0.1), r""),
    }
)
"""Intent -> shares of the budget for critical, notable, background, entities."""


def detect_intent(question: str) -> str:
    """What a question is after, by its words; `balanced` when nothing tells."""
    return next(
        name
        for name, intent in INTENTS.items()
        if not intent.words or re.search(rf"\b(?:{intent.words})\b", question, re.IGNORECASE)
    )


@dataclass(frozen=True, slots=True)
class PackCandidate:
    """A fact that may be packed."""

    fact: Fact
    """With the `path` of its note, for the citation."""
    reason: str
    """Why it was found."""
    passage: str = ""
    """The words of its content that matched, if any."""
    fit: float = 1.0
    """How well it fits the question, beside the one that fits best."""
    brief: bool = False
    """Whether its passage, with what stands around it, is enough."""
    named_by: frozenset[str] = frozenset()
    """For an entity: the ids of the facts that name it. It is packed beside one of them."""


class PackedItem(Struct, frozen=True):
    """A fact that was packed."""

    id: str
    tokens: int
    """Of its part of the text alone."""
    tier: str
    reason: str
    citation: str
    title: str
    cut: bool = False


class LeftOut(Struct, frozen=True):
    """A fact that was not packed, and what it would have cost."""

    id: str
    tokens: int
    reason: str
    title: str


class ContextPack(Struct, frozen=True):
    """A text that costs no more tokens than its budget."""

    text: str
    tokens: int
    """Of the whole text."""
    budget: int
    by_tier: Mapping[str, int]
    """Tokens of the items of each tier; headings are not among them."""
    items: tuple[PackedItem, ...]
    """In the order of the text."""
    left_out: tuple[LeftOut, ...]
    truncated: bool
    """Whether something that was found has no room, or was cut."""
    intent: str
    format: str
    counter: str = ""
    """Who counted: the name of a tokenizer, or `estimate`."""
    degraded: tuple[str, ...] = ()
    """What recall missed, a sentence each."""
