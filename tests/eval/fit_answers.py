"""Fit whether a memory has an answer: `python -m tests.eval.fit_answers`.

Asks each memory what it can answer (development data alone), details that it lacks, and what
was asked of other memories. For each `LogisticCurve` of answers it prints the coefficients, fitted
to all memories but one, and what they tell about that one; then those of all. Details are no part
of the fit: only `AnswerSigns.lacking` shows some of them, and it is no sign of a curve.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tests.eval.collections import HEADLINE, Collection, locomo
from tests.eval.questions import questions, vaults
from tests.eval.texts import BEAM, beam
from tests.eval.worlds import conversation, open_vault
from vaultsync.recall.ranking import AnswerSigns, answer_probability
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch

Rows: TypeAlias = NDArray[np.floating[Any]]
ANSWER, DETAIL, FOREIGN = LABELS = ("answer", "detail", "foreign")
SIGNS = {
    "fused": ("unknown", "nearest", "strength"),
    "vector": ("unknown", "nearest"),
    "index": ("unknown", "strength"),
}
BOUNDS = (-2.5, -2.0, -1.5, -1.0)
CHATS = 10
PER_DIALOGUE, DETAILS, ASKED_ELSEWHERE = 60, 20, 20
RIDGE, STEPS = 0.02, 30


class Asking(NamedTuple):
    """A question with its label, and what it is asked of."""

    memory: str
    label: str
    text: str
    sources: RecallSources
    filters: Mapping[str, Any]


class Shown(NamedTuple):
    """What a memory shows of a question."""

    memory: str
    label: str
    signs: AnswerSigns


def main() -> None:
    """Ask, fit, and print."""
    found: dict[str, list[Shown]] = {arm: [] for arm in SIGNS}
    for asking in askings():
        for arm in SIGNS:
            found[arm] += shown(asking, arm)
    for arm, some in found.items():
        report(arm, some)


def report(arm: str, some: Sequence[Shown]) -> None:
    """Print the fits of an arm, each beside what it tells about the memory it has not seen."""
    names = SIGNS[arm]
    print(f"\n{arm}: intercept, {', '.join(names)}; {dict(Counter(x.label for x in some))}")
    for memory in dict.fromkeys(each.memory for each in some):
        seen = [each for each in some if each.memory != memory]
        if seen:
            _print_row(memory, names, fit(seen, names), [x for x in some if x.memory == memory])
    _print_row("all", names, fit(some, names), some)


def fit(some: Sequence[Shown], names: Sequence[str]) -> Rows:
    """The intercept and coefficients; all memories and both labels have the same weight."""
    some = [each for each in some if each.label != DETAIL]
    counts = Counter(each[:2] for each in some)
    weights = np.array([1 / counts[each[:2]] for each in some]) * len(some) / len(counts)
    right = np.array([float(each.label == ANSWER) for each in some])
    rows = features(some, names)
    damping = np.diag(RIDGE * len(some) * rows.var(axis=0))
    solved = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-rows @ solved))
        slope = rows.T @ (weights * (right - chance)) - damping @ solved
        curvature = (rows.T * (weights * chance * (1 - chance))) @ rows + damping
        solved = solved + np.linalg.solve(curvature, slope)
    return solved


def features(some: Sequence[Shown], names: Sequence[str]) -> Rows:
    """A row for each question: 1 for the intercept, and its signs."""
    return np.array([[1.0, *(getattr(each.signs, name) for name in names)] for each in some])


def area(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The share of pairs in order, which is the area under the curve."""
    ordered = np.subtract.outer(np.array(right), np.array(wrong))
    return float(np.mean(ordered > 0) + np.mean(ordered == 0) / 2)


def _print_row(memory: str, names: Sequence[str], solved: Rows, some: Sequence[Shown]) -> None:
    logits = features(some, names) @ solved
    by_label = {
        label: [x for x, each in zip(logits, some, strict=True) if each.label == label]
        for label in LABELS
    }
    areas = (f"{x} {area(by_label[ANSWER], by_label[x]):.2f}" for x in (FOREIGN, DETAIL))
    below = (
        f"{bound} " + "/".join(f"{np.mean(np.array(by_label[x]) < bound):.2f}" for x in LABELS)
        for bound in BOUNDS
    )
    print(f"{memory:13} {np.round(solved, 2)} area: {', '.join(areas)}; below: {', '.join(below)}")


def shown(asking: Asking, arm: str) -> list[Shown]:
    """What recall sees of a question; nothing of one for a set."""
    seen: list[Shown] = []

    def record(signs: AnswerSigns, **searches: bool) -> float:
        seen.append(Shown(asking.memory, asking.label, signs))
        return answer_probability(signs, **searches)

    with patch("vaultsync.recall.service.answer_probability", record):
        request = RecallRequest(asking.text, mode=arm, limit=30, **asking.filters)
        RecallSearch(asking.sources, request).answer()
    return seen


# ---------------------------------------------------------------------------- questions


def askings() -> Iterator[Asking]:
    """All questions, each of its memory."""
    for name, notes in vaults().items():
        if notes.is_dir():
            yield from _of_vault(name, notes)
    abstentions: list[list[str]] = [[] for _ in range(CHATS)]
    if BEAM.exists():
        abstentions = [
            [each["question"] for each in chat["questions"] if each["kind"] == "abstention"]
            for chat in json.loads(BEAM.read_text(encoding="utf-8"))[:CHATS]
        ]
    for one in locomo():
        adversarial = [each.text for each in one.questions if each.kind not in HEADLINE]
        known = [each.text for each in one.questions if each.kind in HEADLINE]
        yield from _of_dialogue("locomo", one, known, adversarial)
    for one, details in zip(beam(CHATS), abstentions, strict=False):
        known = [each.text for each in one.questions if each.kind != "abstention"]
        yield from _of_dialogue("beam", one, known, details)


def _of_vault(name: str, notes: Path) -> Iterator[Asking]:
    with tempfile.TemporaryDirectory() as folder, open_vault(Path(folder), notes) as vault:
        for each in questions(name):
            label = ANSWER if each.expected else DETAIL
            yield Asking(name, label, each.text, vault.sources(each.now), each.filter)
        sources = vault.sources(questions(name)[0].now)
        for text in random.Random(name).sample(_elsewhere(name), 2 * ASKED_ELSEWHERE):
            yield Asking(name, FOREIGN, text, sources, {})


def _of_dialogue(
    memory: str, one: Collection, known: Sequence[str], details: Sequence[str]
) -> Iterator[Asking]:
    chance = random.Random(known[0])
    labelled = [(text, ANSWER) for text in chance.sample(known, min(PER_DIALOGUE, len(known)))]
    labelled += [(text, DETAIL) for text in details[:DETAILS]]
    labelled += [(x, FOREIGN) for x in chance.sample(_elsewhere(memory), ASKED_ELSEWHERE)]
    with tempfile.TemporaryDirectory() as folder, conversation(Path(folder), one) as sources:
        for text, label in labelled:
            yield Asking(memory, label, text, sources, {})


@cache
def _elsewhere(memory: str) -> Sequence[str]:
    """What other memories can answer, in English and without naming a time or a tag."""
    found = {
        name: [
            each.text
            for each in questions(name)
            if each.expected and each.language == "en" and not each.filter
        ]
        for name in vaults()
    }
    talks = [x.text for one in locomo() for x in one.questions if x.kind in HEADLINE]
    found["locomo"] = talks[::12]
    found["beam"] = [x.text for one in beam(CHATS) for x in one.questions][::4]
    return [text for name, some in found.items() if name != memory for text in some]


if __name__ == "__main__":
    main()
