"""What an order of hits is worth, by the grades of what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from random import Random
from statistics import fmean, mean

RELEVANT = 2
"""Grades from here on are relevant where a measure wants yes or no; LoCoMo's evidence is
all of grade 3."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One question, or the mean of many."""

    recall_5: float
    recall_10: float
    ndcg_10: float
    mrr: float
    hit_5: float
    """1 when one of the first five is relevant."""
    tokens: float
    """Of the first ten hits whole, a quarter of their letters each."""


def measured(found: Sequence[str], grades: Mapping[str, int], *, tokens: float = 0.0) -> Measured:
    """What an order is worth. Recall@k is taken of k where more are relevant."""
    relevant = {key for key, grade in grades.items() if grade >= RELEVANT}
    ranks = [rank for rank, key in enumerate(found[:10]) if key in relevant]
    gains = [2 ** grades.get(key, 0) - 1 for key in found[:10]]
    best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:10]
    return Measured(
        recall_5=_recall(found, relevant, 5),
        recall_10=_recall(found, relevant, 10),
        ndcg_10=_discounted(gains) / _discounted(best),
        mrr=1 / (ranks[0] + 1) if ranks else 0.0,
        hit_5=float(bool(ranks) and ranks[0] < 5),
        tokens=tokens,
    )


def _recall(found: Sequence[str], relevant: set[str], most: int) -> float:
    return len(relevant.intersection(found[:most])) / min(len(relevant), most)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 2) for rank, gain in enumerate(gains))


def average(some: Sequence[Measured]) -> Measured:
    return Measured(*(mean(getattr(each, name) for each in some) for name in Measured.__slots__))


def interval(values: Sequence[float], *, draws: int = 2_000) -> tuple[float, float]:
    """Where the mean lies in 95 % of samples drawn anew from the values, the same each time."""
    random = Random(0)
    means = sorted(fmean(random.choices(values, k=len(values))) for _ in range(draws))
    cut = round(draws * 0.025)
    return means[cut], means[-1 - cut]


def calibration_error(said: Sequence[tuple[float, bool]], *, bins: int = 10) -> float:
    """How far probabilities are from what came true: the expected calibration error.

    Values fall into bins of equal width; each bin counts by its share of them, with the
    distance of their mean from the share that came true.
    """
    parts: dict[int, list[tuple[float, bool]]] = {}
    for value, is_true in said:
        parts.setdefault(min(int(value * bins), bins - 1), []).append((value, is_true))
    gaps = (
        abs(sum(value for value, _ in some) - sum(is_true for _, is_true in some))
        for some in parts.values()
    )
    return sum(gaps) / len(said)


def calibration_by_chance(values: Sequence[float], *, draws: int = 200) -> float:
    """The calibration error that these probabilities would have if they were true, on average.

    Few questions never come out as probable as they are.
    """
    random = Random(0)
    drawn = ([(value, random.random() < value) for value in values] for _ in range(draws))
    return fmean(map(calibration_error, drawn))
