"""Ask all questions of a collection in one way, and measure the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.eval.collections import Asked
from tests.eval.measures import Measured, average, measured
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch

ARMS = ("index", "vector", "fused", "auto")
SURE = 0.7
"""Answers with so much confidence are held to their word."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question got."""

    asked: Asked
    worth: Measured
    confidence: float
    source: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What an arm is worth."""

    questions: int
    worth: Measured
    by_index: float
    """The share of questions that the index answered alone: its hit rate."""
    sure: int
    """How many answers are sure of themselves."""
    right: float
    """The share of those with a relevant hit among the first five."""


def ask(
    sources: RecallSources,
    questions: Sequence[Asked],
    arm: str,
    *,
    least: float = 0.0,
    **default: int,
) -> list[Answer]:
    """The answers to all questions; `default` filters where a question does not.

    Hits that score less than `least` do not count.
    """
    tokens = EstimatingCounter()
    found = []
    for each in questions:
        filters = {**default, **each.filter}
        request = RecallRequest(each.text, agent=each.agent, mode=arm, **filters)
        search = RecallSearch(sources, request)
        answer = search.answer()
        if arm != "index" and answer.degraded:
            raise RuntimeError(*answer.degraded)
        worthy = [
            fact for hit, fact in zip(answer, search.facts, strict=True) if hit.score >= least
        ]
        cost = sum(tokens.count(f"{fact.title}\n{fact.content}") for fact in worthy)
        worth = measured([fact.id for fact in worthy], each.grades, tokens=cost)
        found.append(Answer(each, worth, answer.confidence, answer.source))
    return found


def summary(answers: Iterable[Answer]) -> Summary:
    some = list(answers)
    sure = [each for each in some if each.confidence >= SURE]
    right = sum(each.worth.hit_5 for each in sure)
    return Summary(
        questions=len(some),
        worth=average([each.worth for each in some]),
        by_index=sum(each.source == "index" for each in some) / len(some),
        sure=len(sure),
        right=right / len(sure) if sure else 1.0,
    )
