"""Decide whether a pack is empty, and how relevant a fact must be to be packed.

What was measured, and what else was tried: docs/decisions/0071, 0085 and 0097.
"""

from __future__ import annotations

MIN_ANSWERABLE = 0.8
"""Minimum probability that there is an answer; below it nothing is packed."""
NEARNESS_SHARE, WORDS_SHARE = 0.25, 0.2
"""The shares of nearness and of words in the relevance of a fact; the rest is its similarity.

Similarity is for ranking: it stretches small differences between candidates, and a common word
or a name that a fact repeats outweighs much. The cosine tells better whether a fact belongs in
the pack at all, and the question's words tell whether it is about the same point as the best."""
_BY_WORDS, _BY_MEANING = (0.05, 0.7), (0.04, 0.8)
"""Minimum relevance of a packed fact at a confidence of 0, and how much it grows until one of 1."""


def should_be_empty(answerable: float) -> bool:
    """Whether nothing is packed, for the memory hardly has an answer."""
    return answerable < MIN_ANSWERABLE


def relevance_of(similarity: float, nearness: float | None, words: float) -> float:
    """How relevant a fact is to the question, 0 to 1.

    Args:
        similarity: as of its hit, 0 to 1.
        nearness: its cosine as a share of the largest, 0 to 1; None for its similarity.
        words: how much of the question's words it has, as a share of those of the first hit,
            0 to 1.
    """
    nearness = similarity if nearness is None else nearness
    rest = 1 - NEARNESS_SHARE - WORDS_SHARE
    return rest * similarity + NEARNESS_SHARE * nearness + WORDS_SHARE * words


def required_relevance(confidence: float, *, by_meaning: bool) -> float:
    """Minimum relevance of a packed fact: the surer the first hits are, the less goes with them.

    A sure answer is in its best hits; an unsure one may be further down.
    """
    base, growth = _BY_MEANING if by_meaning else _BY_WORDS
    return base + growth * confidence
