"""Rank facts: fuse keyword and semantic scores, add recency and utility, estimate the confidence.

All functions are pure, and each grows with each of its signals: stronger evidence for a fact
never ranks it lower. Constants described as measured were measured by `make eval` on
golden/retrieval, the LoCoMo dialogues (Maharana et al., 2024) and Obsidian's help; the figures
and the alternatives are in docs/concepts/recall.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, fsum, log1p
from sys import float_info
from types import MappingProxyType
from typing import Annotated

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
"""Text field of the note index -> the boost of a match in it; 0 excludes the field.

`entities` has whom a fact is about or who said it, `fields` the fields of a type and the
author's properties, `dates` the day in words. `around` has the content, the properties, the tags,
the day and the neighbours in the session together, so that a fact that shares the terms with its
neighbour, or has one as a tag, ranks above a fact that repeats a few of them.

Measured: higher boosts of aliases and headings push up notes that only mention a thing."""

MIN_ANSWERABLE = 0.8
"""Minimum probability that there is an answer; below it hits are weak, and nothing is packed.

What was measured, and what else was tried: docs/decisions/0071, 0085, 0097 and 0098."""
NAME_MATCH_WEIGHT = 6.0
"""Boost per query term for a fact whose title or alias equals the query: such a query asks for
that note first, and then for notes about it."""


Weight = Annotated[float, Meta(ge=0, le=float_info.max, description="a number (0 or more)")]


class RankingWeights(Struct, frozen=True, forbid_unknown_fields=True):
    """The weight of each signal; a setting.

    Similarity, recency and utility correspond to relevance, recency and importance in *Generative
    Agents* (Park et al., 2023). Their default weights are a requirement, not a measurement.
    """

    similarity: Weight = 0.5
    recency: Weight = 0.3
    utility: Weight = 0.2
    vectors: Weight = 1.0
    """Weight of the cosine in `fuse()`. Measured: LoCoMo's recall@5 is 0.69 to 0.71 from 0.5
    to 2."""
    fields: Annotated[Mapping[str, Weight], Meta(description="a table of numbers (0 or more)")] = (
        FIELD_WEIGHTS
    )
    least: Weight = 0.0
    """Minimum score of a hit. By default there is none (docs/decisions/0021)."""


class RankingSignals(Struct, frozen=True):
    """The components of a hit's score, each from 0 to 1."""

    similarity: float
    """1 for the best candidate, 0 for the first excluded one; see `rescale_similarities()`."""
    recency: float
    utility: float


def weighted_score(signals: RankingSignals, weights: RankingWeights) -> float:
    """The weighted sum by which hits are ordered."""
    return (
        weights.similarity * signals.similarity
        + weights.recency * signals.recency
        + weights.utility * signals.utility
    )


CHUNKS_AVERAGED = 10
"""Number of a fact's nearest chunks that count, because a long fact covers several topics."""
_AVERAGE_SHARE = 0.3


def chunks_similarity(cosines: Sequence[float]) -> float:
    """The similarity of a fact by the cosines of its chunks: 0.7 · nearest + 0.3 · mean of ten.

    With the nearest chunk alone, a paragraph that mentions a thing ranks above a text about it.
    Measured by nDCG@10, with vectors alone: 0.66 instead of 0.62 on summaries of technical
    texts, 0.80 instead of 0.78 on headings, and as much as embedding whole texts where these
    are short enough for the model (docs/decisions/0036).

    Args:
        cosines: one per chunk, at least one, -1 to 1, in any order.
    """
    nearest = sorted(cosines, reverse=True)[:CHUNKS_AVERAGED]
    mean = fsum(nearest) / len(nearest)
    return (1 - _AVERAGE_SHARE) * nearest[0] + _AVERAGE_SHARE * mean


HINT_MISMATCH_FACTOR = 0.7
"""Factor on the fused score of a fact that does not match the hints of the query. Measured:
LoCoMo, whose facts have no types, does not change from 0.5 to 1; typed facts gain much."""
ASKED_MISMATCH_FACTOR = 0.1
"""The same if the query asks for facts of a type, rather than mentioning it: with more, a text that
contains *decision* ranks above the decisions. Measured on golden/questions by both searches:
relevance@5 is 0.812 instead of 0.808 with 0.4."""
NAMED_MISMATCH_FACTOR = 0.5
"""Factor on the similarity of others if a question only names what the memory has a note of."""
ASSISTANT_FACTOR = 0.4
"""Factor on the fused score of an assistant's message, unless the question asks for it. Such
messages are long, repeat the question and have words of every question on their topic; answers
are mostly in what the user said."""
PREFERENCE_FACTOR = 2.0
"""Factor on the fused score of a fact that states a preference, if the question asks for advice
or help."""
ORDERED_SIMILARITY = 0.5
"""Minimum similarity of facts among which the newest, or oldest, of a topic is chosen."""


def fuse(
    keyword_scores: Mapping[str, float],
    cosines: Mapping[str, float],
    *,
    trust: float = 1.0,
    vector_weight: float = 1.0,
) -> dict[str, float]:
    """Combine keyword and semantic scores: `trust² · BM25 / best BM25 + weight · cosine`.

    A weighted sum of normalized scores, which beats reciprocal rank fusion when the scores
    mean something (Bruch et al., *An Analysis of Fusion Functions for Hybrid Retrieval*,
    2023). Measured: on LoCoMo, RRF fell below keyword search alone.

    Args:
        keyword_scores: fact id -> BM25 score.
        cosines: fact id -> its `chunks_similarity()`, -1 to 1; negative ones count as 0.
        trust: 0 to 1, how far the best keyword match can be trusted, which may contain only
            one term of seven. It is squared, so that
            vectors decide if few terms were found.
        vector_weight: the weight of a cosine; without keyword matches it has no effect.

    Returns:
        Fact id -> fused score, 0 or more. A missing keyword score counts as 0, a missing
        cosine as the smallest of the others, because the fact was farther than the last.
    """
    best = max(keyword_scores.values(), default=0.0) or 1.0
    weight = vector_weight if keyword_scores else 1.0
    smallest = max(0.0, min(cosines.values(), default=0.0))
    return {
        key: trust**2 * keyword_scores.get(key, 0.0) / best
        + weight * max(0.0, cosines.get(key, smallest))
        for key in {**keyword_scores, **cosines}
    }


def rescale_similarities(scores: Mapping[str, float], *, floor: float = 0.0) -> dict[str, float]:
    """Min-max normalize fused scores between `floor`, the first excluded one, and the best.

    Cosines are close together and BM25 scores are not; this measures how far a fact stands
    out. Measured: with shares of the best score, recency outweighed relevance, and LoCoMo's
    recall@5, a day after the last session, was 0.60 instead of 0.68.

    Returns:
        Fact id -> similarity from 0 to 1, 0 below the floor; 1 for all if none exceeds it.
    """
    spread = max(scores.values(), default=0.0) - floor
    return {
        key: max(0.0, (score - floor) / spread) if spread > 0 else 1.0
        for key, score in scores.items()
    }


# ------------------------------------------------------------------------- confidence

TENTH_HIT = 9
"""Index of the hit that the best one is compared with. The second is unsuitable: an answer that
occurs twice is no less certain."""


class LogisticCurve(Struct, frozen=True):
    """The coefficients of a logistic regression on the signals of an answer."""

    intercept: float
    lead: float = 0.0
    """The lead of the best hit over the tenth: a share of its BM25 score, or in cosine."""
    coverage: float = 0.0
    """The share of the query terms that the best of the first hits contains."""
    strength: float = 0.0
    """Log of the best BM25 score as a multiple of that of one rare term, or as in `AnswerSigns`."""
    nearest: float = 0.0
    """The largest cosine."""
    unknown: float = 0.0
    """As in `AnswerSigns`."""

    def probability(self, **signals: float) -> float:
        """The probability by the values of some signals, 0 to 1."""
        logit = self.intercept + fsum(getattr(self, name) * x for name, x in signals.items())
        return 1 / (1 + exp(-logit))


KEYWORD_CURVE = LogisticCurve(intercept=-5.6, lead=1.5, coverage=3.0, strength=2.0)
"""For answers of keyword search alone.

This curve and the next were fitted to 1,135 questions with known answers and 360 without one
(LoCoMo's four development dialogues; descriptions, first sentences and headings of the help of
Obsidian, removed from the notes). Coefficients are rounded and adjusted conservatively: with each
collection judged by a fit to the others, 90 % of the answers with 0.7 or more have a relevant
hit among the first five, and 1 % of the questions without an answer reach 0.7."""
VECTOR_CURVE = LogisticCurve(intercept=-4.3, lead=11.0, coverage=3.0)
"""For answers found by vectors alone."""
FUSED_CURVE = LogisticCurve(intercept=-2.05, coverage=1.8, strength=0.6, nearest=1.85)
"""For answers with both, fitted to the development half of golden/questions, LoCoMo and BEAM, where
nine in ten questions have an answer. The intercept is between the best one of notes, which is 0.2
higher, and of dialogues (docs/decisions/0097). The expected calibration error is 0.06 on
golden/questions, where chance is 0.07, and 0.03 on the answered questions of LoCoMo."""


def confidence(
    keyword_scores: Sequence[float], cosines: Sequence[float], *, coverage: float, fact_count: int
) -> float:
    """The probability, 0 to 1, that one of the first five hits is relevant.

    Args:
        keyword_scores: BM25 scores of the candidates that keyword search found.
        cosines: cosines of the candidates that semantic search found.
        coverage: the share of the query terms that the best of the first hits contains.
        fact_count: number of facts in the index, with which BM25 scores grow.
    """
    scores = sorted(keyword_scores or cosines, reverse=True)
    if not scores:
        return 0.0
    best, tenth = scores[0], scores[TENTH_HIT] if len(scores) > TENTH_HIT else 0.0
    if not keyword_scores:
        return VECTOR_CURVE.probability(lead=best - tenth, coverage=coverage)
    strength = log1p(best / _rare_term(fact_count))
    if cosines:
        return FUSED_CURVE.probability(
            coverage=coverage, strength=strength, nearest=max(0.0, *cosines)
        )
    return KEYWORD_CURVE.probability(lead=1 - tenth / best, coverage=coverage, strength=strength)


class AnswerSigns(Struct, frozen=True):
    """The signals for whether a memory has an answer."""

    unknown: float
    """The share of the question, weighted by `rarity()`, whose words occur in no fact."""
    nearest: float
    """The largest cosine, or 0."""
    strength: float
    """Log of the best BM25 score as a multiple of the score of the question's words, once each."""
    lacking: float
    """The `rarity()` of the rarest word of the question that none of the first hits has."""


FUSED_ANSWER = LogisticCurve(intercept=-4.3, unknown=-2.2, nearest=18.0, strength=2.8)
VECTOR_ANSWER = LogisticCurve(intercept=-2.8, unknown=-3.3, nearest=20.0)
KEYWORD_ANSWER = LogisticCurve(intercept=1.7, unknown=-4.0, strength=5.0)
"""For answers of keyword search alone; the next two are for both searches, and for vectors.

`python -m tests.eval.fit_answers` prints fits to questions with an answer and to questions asked
of another memory; the intercepts are then shifted so that one threshold suits all of them
(docs/decisions/0085).
"""
MOST_ANSWERABLE, LACKING_COST = 0.94, 0.02
"""The probability of an answer about a known topic, and how much of it the rarest word costs if
none of the first hits has it. About nine of ten such questions have an answer; hardly any other
signal shows that the topic lacks the requested detail (docs/decisions/0097 and 0106)."""
WRONG_NAME_FACTOR = 0.5
"""Factor on this probability if the question has a name that the memory never mentions, or another
person says of themselves what it asks about the named one."""


def answer_signs(
    keyword_scores: Sequence[float],
    cosines: Sequence[float],
    *,
    rarities: Sequence[float],
    unknown: float,
    lacking: float,
    fact_count: int,
) -> AnswerSigns:
    """Compute the signals for an answer.

    Args:
        keyword_scores: BM25 scores of the candidates that keyword search found.
        cosines: cosines of the candidates that semantic search found.
        rarities: the `rarity()` of each query term.
        unknown: the sum of the rarities of terms that no fact has.
        lacking: the largest rarity of a term that none of the first hits has.
        fact_count: number of facts in the index.
    """
    total = fsum(rarities) or 1.0
    best = max(keyword_scores, default=0.0)
    strength = log1p(best / (total * _rare_term(fact_count)))
    return AnswerSigns(unknown / total, max(0.0, *cosines, 0.0), strength, lacking)


def answer_probability(signs: AnswerSigns, *, has_keyword_scores: bool, has_cosines: bool) -> float:
    """The probability, 0 to 1, that the memory has an answer."""
    if not has_cosines:
        if not has_keyword_scores:
            return 0.0
        curve = KEYWORD_ANSWER
    else:
        curve = FUSED_ANSWER if has_keyword_scores else VECTOR_ANSWER
    known = curve.probability(unknown=signs.unknown, nearest=signs.nearest, strength=signs.strength)
    return (MOST_ANSWERABLE - LACKING_COST * signs.lacking) * known


def is_weak(answerable: float) -> bool:
    """Whether the memory hardly has an answer."""
    return answerable < MIN_ANSWERABLE


def rarity(facts_with_term: int, fact_count: int) -> float:
    """The inverse document frequency of a term, 0 to 1, as a share of that of a term in one fact.

    An index may also count former versions, so `facts_with_term` may exceed `fact_count`.
    """
    frequency = (max(fact_count, 1) - facts_with_term + 0.5) / (facts_with_term + 0.5)
    return min(1.0, max(0.0, log1p(frequency)) / _rare_term(fact_count))


def _rare_term(fact_count: int) -> float:
    """The inverse document frequency of a term in one fact (Robertson & Zaragoza, 2009)."""
    return log1p((max(fact_count, 1) - 0.5) / 1.5)
