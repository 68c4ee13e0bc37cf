"""Ask questions of a vault, and measure what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean

from msgspec import structs

from tests.eval.arms import SURE
from tests.eval.measures import calibration_by_chance, calibration_error, interval, measured
from tests.eval.questions import UNANSWERABLE, Question
from tests.eval.worlds import OpenVault
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.context_packs.pack import ENTITY_TIER
from vaultsync.context_packs.service import build_context
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.service import RecallSearch

HEAD = f"  {'kind':14} {'n':>4}  {'relevance@5 (95 %)':21} {'hit@5':>6} {'MRR':>6} {'sure':>6}"
MISSED = f"  {'kind':14} {'n':>4}  {'silence (95 %)':21} {'empty':>6}"
PACKED = f"  {'pack':14} {'n':>4}  {'precision':21} {'recall':21} {'silence':21} lost  tokens"
PACK_BUDGET = 4_000
"""Tokens; with more, packs hold the same."""
CALIBRATION = f"  {'calibration':14} {'n':>4}  {'confidence':21} answerable"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one question got."""

    asked: Question
    relevance_5: float
    """The share of the expected notes among the first five, of five where more are."""
    hit_5: float
    mrr: float
    sure: bool
    """It has hits, and is as sure of them as answers are held to."""
    empty: bool
    confidence: float = 0.0
    answerable: float = 0.0
    """What the answer says of itself, as `RecallResult`."""


def replies(vault: OpenVault, questions: Sequence[Question], arm: str) -> list[Reply]:
    """The replies to all questions, each at its own time."""
    sources = cache(vault.sources)
    found = []
    for each in questions:
        request = RecallRequest(each.text, mode=arm, **each.filter)
        search = RecallSearch(sources(each.now), request)
        answer = search.answer()
        if arm != "index" and answer.degraded:
            raise RuntimeError(*answer.degraded)
        hits = [fact.id for fact in search.facts]
        said = (answer.confidence, answer.answerable)
        sure = bool(hits) and answer.confidence >= SURE
        if not each.expected:
            found.append(Reply(each, 0.0, 0.0, 0.0, sure, not hits, *said))
            continue
        worth = measured(hits, {vault.ids[path]: 3 for path in each.expected})
        figures = (worth.recall_5, worth.hit_5, worth.mrr)
        found.append(Reply(each, *figures, sure, not hits, *said))
    return found


def packs(vault: OpenVault, asked: Sequence[Question]) -> list[str]:
    """What packs by both searches hold, without entities, and the shares that are empty."""
    sources, counter = cache(vault.sources), EstimatingCounter()
    precision, recall, tokens = list[float](), list[float](), list[float]()
    silent, lost = list[float](), list[float]()
    for each in asked:
        request = ContextRequest(each.text, budget=PACK_BUDGET, **each.filter)
        warm = structs.replace(sources(each.now), warm=True)
        pack = build_context(warm, counter, request)
        packed = {item.id for item in pack.items if item.tier != ENTITY_TIER}
        expected = {vault.ids[path] for path in each.expected}
        if not expected:
            silent.append(float(not packed))
            continue
        lost.append(float(not packed))
        recall.append(len(expected & packed) / len(expected))
        tokens.append(pack.tokens)
        if packed:
            precision.append(len(expected & packed) / len(packed))
    row = (
        f"  {'all':14} {len(asked):4}  {_share(precision):21} {_share(recall):21}"
        f" {_share(silent):21} {mean(lost):.3f} {mean(tokens):6.0f}"
    )
    return [PACKED, row]


def table(some: Sequence[Reply]) -> list[str]:
    """The figures of all kinds, and of each; those that nothing answers stand apart."""
    kinds: dict[str, list[Reply]] = {}
    for each in some:
        kinds.setdefault(each.asked.kind, []).append(each)
    missed = kinds.pop(UNANSWERABLE, [])
    rows = {"all": [each for kind in kinds.values() for each in kind], **kinds}
    silence = [_silence(missed)] if missed else []
    return [HEAD, *_rows(rows), MISSED, *silence, CALIBRATION, calibration(some)]


def calibration(some: Sequence[Reply]) -> str:
    """The calibration errors of what answers say of themselves, of all kinds of questions.

    Beside each what it would be by chance, if they were right.
    """
    confident = [(each.confidence, bool(each.hit_5)) for each in some]
    answerable = [(each.answerable, bool(each.asked.expected)) for each in some]
    errors = "  ".join(
        f"{calibration_error(said):.3f} (chance {calibration_by_chance([x for x, _ in said]):.3f})"
        for said in (confident, answerable)
    )
    return f"  {'all':14} {len(some):4}  {errors}"


def _rows(rows: Mapping[str, Sequence[Reply]]) -> list[str]:
    return [
        f"  {kind:14} {len(some):4}  {_share([each.relevance_5 for each in some]):21}"
        f" {mean(each.hit_5 for each in some):6.3f} {mean(each.mrr for each in some):6.3f}"
        f" {mean(each.sure for each in some):6.3f}"
        for kind, some in rows.items()
    ]


def _silence(some: Sequence[Reply]) -> str:
    silent = _share([float(not each.sure) for each in some])
    return f"  {UNANSWERABLE:14} {len(some):4}  {silent:21} {mean(e.empty for e in some):6.3f}"


def _share(values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{mean(values):.3f} ({low:.3f}-{high:.3f})"
