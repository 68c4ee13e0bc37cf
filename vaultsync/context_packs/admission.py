"""Whether a pack says anything at all, and how well a fact has to fit to be in it.

What was measured, and what else was tried: docs/decisions/0071.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.indexing.language import may_be_english

MIN_ANSWERABLE = 0.8
"""Minimum probability that there is an answer; below it nothing is packed."""
DOUBTFUL: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"index": (0.87, 0.2), "fused": (0.82, 0.5)}
)
"""Source of an answer -> the `answerable` and the confidence below both of which it is silent, too.

Either alone is a weak sign. Measured on questions that were asked of another memory, with both
searches: together they silence 85 % on LoCoMo (`MIN_ANSWERABLE` alone 23 %), 49 % on the sample
vault (14 %), 66 % on the help vault (49 %), and of those whose answer is among the first ten
hits 1 %, 4 % and none more. A detail that a known topic lacks shows in neither."""
LEAST_FIT, FIT_OF_SURE = 0.2, 0.5


def is_silent(question: str, source: str, *, answerable: float, confidence: float) -> bool:
    """Whether nothing is packed, for the memory hardly has an answer.

    Confidence counts for questions in English only: of others, the words are not in the notes.
    """
    if answerable < MIN_ANSWERABLE:
        return True
    less, unsure = DOUBTFUL.get(source, (0.0, 0.0))
    is_doubtful = answerable < less and confidence < unsure
    return is_doubtful and may_be_english(question)


def least_fit(confidence: float) -> float:
    """Minimum similarity of a packed fact: the surer the first hits are, the less goes with them.

    A sure answer is in its best hits; an unsure one may be further down.
    """
    return LEAST_FIT + FIT_OF_SURE * confidence
