"""The parts of a context pack in the making: pieces with what they cost, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vaultsync.context_packs.formats import Piece
from vaultsync.context_packs.pack import Candidate, Item
from vaultsync.model.decay import IMPORTANCE
from vaultsync.model.fact import Fact


class Whole(NamedTuple):
    """A fact as it is packed uncut."""

    piece: Piece
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Part:
    """A piece with its text and what it costs."""

    piece: Piece
    text: str
    tokens: int
    whole: Whole
    rank: int
    """Its place in the order of all."""
    candidate: Candidate


def item_of(part: Part) -> Item:
    """What a pack tells of a part."""
    piece = part.piece
    return Item(
        id=piece.fact.id,
        tokens=part.tokens,
        tier=piece.tier,
        reason=piece.reason,
        citation=piece.citation,
        title=piece.fact.title,
        cut=piece.cut,
    )


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """By priority, then importance, then the newest first; by id when all that is equal."""
    by_age = sorted(candidates, key=lambda each: each.fact.id)
    by_age.sort(key=lambda each: each.fact.created_at, reverse=True)
    return sorted(
        by_age, key=lambda each: (each.fact.priority, -_importance(each.fact))
    )


def _importance(fact: Fact) -> float:
    return IMPORTANCE if fact.importance is None else fact.importance
