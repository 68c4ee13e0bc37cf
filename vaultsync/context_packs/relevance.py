"""How relevant the facts of an answer are to its question, and which of them belong in a pack."""

from __future__ import annotations

from vaultsync.model.fact import Fact
from vaultsync.model.schema import TIERS
from vaultsync.recall.result import Hit
from vaultsync.recall.service import RecallSearch

# What was measured, and what else was tried: docs/decisions/0071, 0085 and 0097.
NEARNESS_SHARE, WORDS_SHARE = 0.25, 0.2
"""The shares of nearness and of words in the relevance of a fact; the rest is its similarity.

Similarity is for ranking: it stretches small differences between candidates, and a common word
or a name that a fact repeats outweighs much. The cosine is a better measure of whether a fact
belongs in the pack at all, and the words of whether it makes the same point as the best."""
_KEYWORD, _SEMANTIC = (0.05, 0.7), (0.04, 0.8)
"""Minimum relevance of a packed fact at a confidence of 0, and how much it grows until one of 1."""


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


def required_relevance(confidence: float, *, is_semantic: bool) -> float:
    """Minimum relevance of a packed fact: the more confident the answer, the fewer facts fit.

    A confident answer is in its best hits; another may be further down.

    Args:
        confidence: that of the answer, 0 to 1.
        is_semantic: whether semantic search was used, too.
    """
    base, growth = _SEMANTIC if is_semantic else _KEYWORD
    return base + growth * confidence


def hit_relevance(search: RecallSearch, hit: Hit, fact: Fact) -> float:
    """The `relevance_of()` of a hit and its fact."""
    nearness, largest = None, search.scaled(max(search.cosines.values(), default=0.0))
    if hit.id in search.cosines and largest > 0:
        nearness = max(0.0, search.scaled(search.cosines[hit.id]) / largest)
    return relevance_of(hit.similarity, nearness, words_share(search, fact))


def words_share(search: RecallSearch, fact: Fact) -> float:
    """How much of the question's words a hit has, by rarity, as a share of the first hit's.

    At most 1, and 1 for a turn that answers a question, which need not repeat its words.
    """
    first = search.words.weight(search.facts[0])
    if fact.id in search.answers or not first:
        return 1.0
    return min(1.0, search.words.weight(fact) / first)


def is_asked_for(search: RecallSearch, fact: Fact) -> bool:
    """Whether a hit has a type and state that the question asks for, and all words of its topic."""
    query = search.query
    is_of_type = query.is_of_asked_type(fact) and query.is_in_asked_state(fact)
    return (
        is_of_type
        and bool(query.asked.topic)
        and search.words.topic <= search.words.of(fact).keys()
    )


def is_critical_for(search: RecallSearch, fact: Fact) -> bool:
    """Whether a fact is critical, has a type or entity of the question, and all words of its topic.

    A name alone is not enough: it may be that of a project, which most facts have.
    """
    if fact.priority not in TIERS["critical"]:
        return False
    is_named = fact.type in search.query.asked.types or any(
        map(search.words.names, (*fact.entities, *fact.aliases))
    )
    return is_named and search.words.topic <= search.words.of(fact).keys()
