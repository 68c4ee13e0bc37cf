"""How facts are ranked: decay, utility, the mix of words and vectors, confidence.

All are pure functions of numbers, and each grows with each of its signals: more of what
speaks for a fact never ranks it lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from types import MappingProxyType
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

FIELD_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "title": 2.0,
        "aliases": 0.5,
        "tags": 1.0,
        "entities": 4.0,
        "headings": 0.5,
        "context": 1.0,
        "content": 1.0,
        "fields": 0.5,
        "dates": 1.0,
        "around": 1.0,
    }
)
"""Text field of the note index -> what a match in it counts; 0 leaves a field out.

`entities` are all whom a fact is about or who said it, `fields` a type's own ones and the
author's properties, `dates` the day in words. `around` is all that stands together: the
content, the day and the neighbours in the session, so that a fact that has some of the
words, and its neighbour the others, comes before one that has the same words again and
again.

Measured on the dialogues of LoCoMo and the help of Obsidian, where aliases and headings
that count more push notes up that only mention a thing."""

NAME_MATCH_WEIGHT = 6.0
"""What each term of a question counts, beside its matches, for a fact that is called just
so: whoever asks for a whole title or alias wants that note, and then those about it."""


Weight = Annotated[float, Meta(ge=0, le=float_info.max, description="a number (0 or more)")]


class RankingWeights(Struct, frozen=True, forbid_unknown_fields=True):
    """What each signal counts; a setting. The first three are those of the design (§8)."""

    similarity: Weight = 0.5
    recency: Weight = 0.3
    utility: Weight = 0.2
    vectors: Weight = 1.0
    """What a cosine of 1 counts beside the best match by words that can be trusted. With
    the square of the trust the turn recall@5 of LoCoMo is 0.69 to 0.71 from 0.5 to 2; with
    the trust itself, from 1 to 2.5, it is the same or less. Adding ranks (RRF) fell below
    words alone."""
    fields: Annotated[Mapping[str, Weight], Meta(description="a table of numbers (0 or more)")] = (
        FIELD_WEIGHTS
    )
    least: Weight = 0.0
    """What scores less is not told. Seed 001 cuts at 0.3, which costs right answers."""


class RankingSignals(NamedTuple):
    """What speaks for a fact, each from 0 to 1."""

    similarity: float
    """How well it fits the question: 1 for the best that was found, 0 for what was not."""
    recency: float
    utility: float


def weighted_score(signals: RankingSignals, weights: RankingWeights) -> float:
    """The weighted sum by which hits are ordered."""
    return (
        weights.similarity * signals.similarity
        + weights.recency * signals.recency
        + weights.utility * signals.utility
    )


HINT_MISMATCH_FACTOR = 0.7
"""What is left of the fit of a fact that is not what the question hints at. In dialogues a
hint is worth little (the turn recall@5 of LoCoMo is 0.67 from 0.5 to 1), where facts have
types it is worth much."""


def fuse(
    words: Mapping[str, float],
    near: Mapping[str, float],
    *,
    trust: float = 1.0,
    vectors: float = 1.0,
) -> dict[str, float]:
    """How well each fact fits the question; greater is better, 0 is not at all.

    `words` are BM25 scores, `near` cosines, by the id of the fact. `trust`, 0 to 1, is
    how far the best match by words can be trusted: there always is a best one, though it
    may have one word of seven. It counts squared: where few of the words were found,
    the vectors decide. `vectors` is the weight of a cosine. Whoever is missing in one of
    them was below its last one: no word fits, or no vector is nearer than the farthest
    that is known. Without words there is nothing beside which to weigh a cosine.
    """
    best = max(words.values(), default=0.0) or 1.0
    weight = vectors if words else 1.0
    least = max(0.0, min(near.values(), default=0.0))
    return {
        key: trust**2 * words.get(key, 0.0) / best + weight * max(0.0, near.get(key, least))
        for key in [*words, *(key for key in near if key not in words)]
    }


def rescale_similarities(fits: Mapping[str, float], *, floor: float = 0.0) -> dict[str, float]:
    """Fits between the best and `floor`, the fit of the first fact that was left out.

    Cosines lie close together and BM25 scores do not; what counts is how far a fact
    stands out from those that do not. Taken as shares of the best, the date of a fact
    that hardly fits outweighs the fit of the right one: LoCoMo's turn recall@5, asked
    the day after the last session, was 0.60 in place of 0.68.
    """
    room = max(fits.values(), default=0.0) - floor
    return {key: (fit - floor) / room if room > 0 else 1.0 for key, fit in fits.items()}


def blend_reranked(known: Mapping[str, float], scores: Mapping[str, float]) -> dict[str, float]:
    """Similarities after a reranker read the best: half its verdict, half what was known.

    Its scores have no scale, so they count between the least and the greatest of them.
    """
    low, high = min(scores.values()), max(scores.values())
    spread = (high - low) or 1.0
    mixed = {
        key: (had + (scores[key] - low) / spread) / 2 if key in scores else had / 2
        for key, had in known.items()
    }
    top = max(mixed.values()) or 1.0
    return {key: each / top for key, each in mixed.items()}
