"""A context pack and what it is made of: intents, candidates, items."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from msgspec import Struct

from vaultsync.model.fact import Fact
from vaultsync.model.hiding import HiddenMatches

ENTITY_TIER = "entities"
PACK_TIERS = ("critical", "notable", "background", ENTITY_TIER)
"""In the order in which they are packed; each may use the budget that those before left."""


@dataclass(frozen=True, slots=True)
class QueryIntent:
    """The intent of a question, and how it shares out the budget."""

    shares: Mapping[str, float]
    words: str
    """A regular expression for words of the question. The first intent that matches wins."""


def _shares(*shares: float) -> Mapping[str, float]:
    return MappingProxyType(dict(zip(PACK_TIERS, shares, strict=True)))


INTENTS: Mapping[str, QueryIntent] = MappingProxyType(
    {
        "decisions": QueryIntent(_shares(0.8, 0.2, 0.0, 0.0), r"decisions?|decid\w+|commit\w*"),
        "recent": QueryIntent(_shares(0.1, 0.3, 0.6, 0.0), r"observ\w+|recent\w*|lately|latest"),
        "balanced": QueryIntent(_shares(0.4, 0.4, 0.1, 0.1), r""),
    }
)
"""Intent -> shares of the budget for `PACK_TIERS`."""


def detect_intent(question: str) -> str:
    """The intent of a question, by its words; `balanced` when none matches."""
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
    """The passage of its content that matched, if any."""
    relevance: float = 1.0
    """Its score: how well it matches the question."""
    tasks: tuple[str, ...] = ()
    """The lines of its open check boxes, if it was found only for them; a long fact is packed
    without the others."""
    brief: bool = False
    """Whether an excerpt around its passage is enough."""
    beside: str = ""
    """The id of a newer fact that contradicts it, which it is packed behind; empty if none does."""
    named_by: frozenset[str] = frozenset()
    """For an entity: the ids of the facts that name it. It is packed beside one of them."""


class PackedItem(Struct, frozen=True):
    """A fact that was packed."""

    id: str
    tokens: int
    """Tokens of its own part of the text."""
    tier: str
    """`critical`, `notable` or `background`."""
    reason: str
    """Why it was packed."""
    citation: str
    """The path of its note, with the heading: `path#heading`."""
    title: str
    cut: bool = False
    """Whether only a part of it is in the text."""


class LeftOut(Struct, frozen=True):
    """A fact that was found and not packed, the tokens it would have taken, and why."""

    id: str
    tokens: int
    reason: str
    title: str


class ContextPack(Struct, frozen=True):
    """A text within a budget of tokens, and what it is made of."""

    text: str
    tokens: int
    """Tokens of the whole text."""
    budget: int
    by_tier: Mapping[str, int]
    """Tokens of the items of each tier, without the headings."""
    items: tuple[PackedItem, ...]
    """In the order of the text."""
    left_out: tuple[LeftOut, ...]
    """All that was found and not packed."""
    truncated: bool
    """Whether a fact was cut, or left out for lack of room."""
    intent: str
    format: str
    nothing_known: str = ""
    """Why nothing was packed, where the memory has no answer; empty otherwise."""
    needed: int = 0
    """The budget in tokens that the most relevant fact takes, where there is no room for it even
    with the smallest envelope; 0 otherwise."""
    themes: tuple[str, ...] = ()
    """The themes of the facts that were packed, those of most facts first."""
    counter: str = ""
    """The tokenizer that counted, or `estimate`."""
    degraded: tuple[str, ...] = ()
    """What was missing in the recall, a sentence each."""
    hidden: tuple[HiddenMatches, ...] = ()
    """How many facts match and were left out by each default."""
