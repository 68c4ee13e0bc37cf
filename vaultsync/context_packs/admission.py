"""Decide whether a pack is empty, and how relevant a fact must be to be packed.

What was measured, and what else was tried: docs/decisions/0071 and 0085.
"""

from __future__ import annotations

MIN_ANSWERABLE = 0.8
"""Minimum probability that there is an answer; below it nothing is packed."""
NEARNESS_SHARE = 0.3
"""The share of `RecallSearch.nearness()` in the relevance of a fact; the rest is its similarity.

Similarity is for ranking: it stretches small differences between candidates, and a rare word
outweighs much. The cosine tells better whether a fact belongs in the pack at all."""
_BY_WORDS, _BY_MEANING = (0.1, 0.5), (0.05, 0.75)
"""Minimum relevance of a packed fact at a confidence of 0, and how much it grows until one of 1."""


def should_be_empty(answerable: float) -> bool:
    """Whether nothing is packed, for the memory hardly has an answer."""
    return answerable < MIN_ANSWERABLE


def relevance_of(similarity: float, nearness: float | None) -> float:
    """How relevant a fact is to the question, 0 to 1; without a nearness its similarity alone."""
    if nearness is None:
        return similarity
    return (1 - NEARNESS_SHARE) * similarity + NEARNESS_SHARE * nearness


def required_relevance(confidence: float, *, by_meaning: bool) -> float:
    """Minimum relevance of a packed fact: the surer the first hits are, the less goes with them.

    A sure answer is in its best hits; an unsure one may be further down.
    """
    base, growth = _BY_MEANING if by_meaning else _BY_WORDS
    return base + growth * confidence
