"""Evaluate recall, context packs and sync on a vault: quality, and time relative to a floor."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from statistics import fmean, median, quantiles
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import DecodeError, Meta, Struct, ValidationError, convert, json
from msgspec.structs import replace

from vaultsync.context_packs.pack import ENTITY_TIER, ContextPack
from vaultsync.context_packs.ports import TokenCounter
from vaultsync.context_packs.service import MAX_RECALLED, build_context
from vaultsync.errors import UsageError
from vaultsync.model.filters import FactFilters
from vaultsync.recall.recall_request import DEFAULT_BUDGET, ContextRequest, RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch

FIRST_HITS = 5
RANKED_HITS = 10
"""Number of hits that are examined; an expected one beyond them counts as not found."""
INDEX_FIRST = "index-first"
"""The mode of a command, which loads a model only if keyword search is not sure."""
ASKED_MODES: Mapping[str, str] = {
    "index": "index",
    "vector": "vector",
    "fused": "fused",
    INDEX_FIRST: "auto",
}
"""The ways in which each question is asked, with the mode of the request."""
ROUNDS = 5
"""How often all questions are timed."""
MILLISECONDS = 1000
HIGHER, LOWER = "higher", "lower"


class EvalQuestion(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question, and the notes that answer it."""

    question: Annotated[str, Meta(min_length=1)]
    expected: tuple[str, ...] = ()
    """Paths or ids of all facts that answer it; none where nothing does."""
    id: str = ""
    all: bool = False
    """Whether to include what is hidden by default."""
    at: datetime | None = None
    """The time at which it is asked, in UTC unless it has a zone; None is now."""


class _QuestionPage(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of questions."""

    question: Annotated[tuple[EvalQuestion, ...], Meta(min_length=1)]


class Figure(Struct, frozen=True):
    """One measured value."""

    value: float
    better: str = ""
    """`higher` or `lower`; empty for a value that only informs."""
    noise: float = 0.0
    """The difference between repeated measurements."""


class Evaluation(Struct, frozen=True):
    """The results of an evaluation."""

    questions: int
    unanswerable: int
    """The number of questions without an answer in the vault."""
    digest: str
    """A hash of the questions; only figures of the same questions compare."""
    figures: dict[str, Figure]
    """By subject, way of asking and measure, such as `retrieval/index/relevance@5`."""
    missing: tuple[str, ...] = ()
    """The figures that could not be measured, each with the reason in a sentence."""


Act: TypeAlias = Callable[[], object]


class Paired(NamedTuple):
    """Work to be timed, and its floor: the least that it could cost."""

    name: str
    floor: Act
    ours: Act


@dataclass(frozen=True, slots=True)
class EvaluationParts:
    """What an evaluation needs."""

    sources: Callable[[datetime | None], RecallSources]
    """The sources of recall, at a time or now."""
    tokens: TokenCounter
    ids: Mapping[str, str]
    """Of facts, by their ids and by the paths of their notes."""
    seconds: Callable[[], float]
    """Processor time, which other processes hardly affect."""
    agent: str | None = None
    """Who asks; None is the user of the machine, who sees everything."""
    user: str | None = None
    floors: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    """The least work for a question, by the way of asking; by default a search of the index or
    the vectors alone."""
    others: Sequence[Paired] = ()


def parse_questions(text: str) -> tuple[EvalQuestion, ...]:
    """The questions of a TOML page: a `[[question]]` each.

    Raises:
        UsageError: it is no such page.
    """
    try:
        return convert(tomllib.loads(text), _QuestionPage).question
    except (tomllib.TOMLDecodeError, RecursionError, ValidationError) as error:
        raise UsageError(
            f"the questions cannot be read: {error}",
            hint="write a [[question]] table for each, with `question` and `expected`, the paths"
            " of all notes that answer it",
        ) from None


def evaluate(
    parts: EvaluationParts,
    questions: Sequence[EvalQuestion],
    *,
    budget: int = DEFAULT_BUDGET,
    rounds: int = ROUNDS,
) -> Evaluation:
    """Ask all questions in all ways, pack a context for each, and time both beside their floors.

    Nothing counts as used. With no rounds nothing is timed beside its floor.

    Raises:
        UsageError: an expected note is not in the vault.
    """
    cases = [_Case(parts, each) for each in questions]
    figures: dict[str, Figure] = {}
    missing = []
    timed = list(parts.others)
    for mode in ASKED_MODES:
        reason = cases[0].reason_against(mode)
        if reason:
            missing.append(f"{mode} was not measured: {reason}")
            continue
        figures |= _retrieval(mode, cases, parts.tokens.count)
        if mode in ("index", "fused"):
            timed += [each.paired(mode) for each in cases]
    figures |= _context(cases, budget)
    timed += [each.paired_pack(budget) for each in cases]
    if rounds:
        figures |= _ratios(timed, parts.seconds, rounds)
    return _evaluation(questions, figures, missing)


def _evaluation(
    questions: Sequence[EvalQuestion], figures: Mapping[str, Figure], missing: Sequence[str]
) -> Evaluation:
    return Evaluation(
        questions=len(questions),
        unanswerable=sum(not each.expected for each in questions),
        digest=sha256(json.encode(questions)).hexdigest()[:16],
        figures={
            name: Figure(round(each.value, 4), each.better, round(each.noise, 4))
            for name, each in figures.items()
        },
        missing=tuple(missing),
    )


class _Case:
    """A question of the evaluation, prepared for the search."""

    def __init__(self, parts: EvaluationParts, question: EvalQuestion) -> None:
        self.text, self._all = question.question, question.all
        self._parts = parts
        at = question.at
        self._sources = parts.sources(at.replace(tzinfo=at.tzinfo or UTC) if at else None)
        unknown = [each for each in question.expected if each not in parts.ids]
        if unknown:
            raise UsageError(
                f"{unknown[0]!r}, expected for {question.question!r}, is not a note in this vault",
                hint="use the path of a note in the vault, or the id of its fact",
            )
        self.expected = {parts.ids[each] for each in question.expected}

    def search(self, mode: str) -> RecallSearch:
        """Run recall."""
        sources = replace(self._sources, warm=False)
        return RecallSearch(sources, self._request(ASKED_MODES[mode], RANKED_HITS))

    def _request(self, mode: str, limit: int) -> RecallRequest:
        return RecallRequest(
            self.text,
            mode=mode,
            all=self._all,
            limit=limit,
            agent=self._parts.agent,
            user=self._parts.user,
        )

    def reason_against(self, mode: str) -> str:
        """Why a way of asking is not available; empty if it is. Loads the model."""
        if mode == "index":
            return ""
        return " ".join(self.search("fused").answer().degraded)

    def context_request(self, budget: int, mode: str = "auto") -> ContextRequest:
        """A question for a context pack."""
        return ContextRequest(
            self.text,
            all=self._all,
            budget=budget,
            mode=mode,
            agent=self._parts.agent,
            user=self._parts.user,
        )

    def packed(self, request: ContextRequest) -> ContextPack:
        """Build a context pack."""
        return build_context(self._sources, self._parts.tokens, request)

    def paired(self, mode: str) -> Paired:
        """Recall beside its floor."""
        by_default = self._embed_and_search if mode == "fused" else self._search_index
        floor = self._parts.floors.get(mode, by_default)
        return Paired(
            f"latency/{mode}", lambda: floor(self.text), lambda: self.search(mode).answer()
        )

    def paired_pack(self, budget: int) -> Paired:
        """A context pack beside its recall; both without a model."""
        request = self.context_request(budget, mode="index")
        recall = self._request("index", MAX_RECALLED)
        return Paired(
            "latency/context",
            lambda: RecallSearch(self._sources, recall).answer(),
            lambda: self.packed(request),
        )

    def _search_index(self, text: str) -> None:
        self._sources.index.search(text, FactFilters(), limit=RANKED_HITS)

    def _embed_and_search(self, text: str) -> None:
        vectors, embedder = self._sources.vectors(), self._sources.embedder()
        if vectors is None or embedder is None:
            return  # without them this is not measured
        (vector,) = embedder.embed([text])
        vectors.search(vector, FactFilters(), limit=RANKED_HITS)


def _retrieval(mode: str, cases: Sequence[_Case], count: Callable[[str], int]) -> dict[str, Figure]:
    answers = []
    for each in cases:
        search = each.search(mode)
        answer = search.answer()
        tokens = sum(count(f"{fact.title}\n{fact.content}") for fact in search.facts)
        found = tuple(hit.id for hit in answer)
        given = ToolAnswer(each.text, found, found_tokens=tokens, seconds=answer.seconds)
        answers.append((each.expected, given))
    return _found_figures(f"retrieval/{mode}", answers)


def _found_figures(name: str, answers: _Answers) -> dict[str, Figure]:
    shares, hits, ranks = [], [], []
    tokens: list[float] = []
    for expected, each in answers:
        if not expected:
            continue
        ids = each.found[:RANKED_HITS]
        first = expected.intersection(ids[:FIRST_HITS])
        shares.append(len(first) / min(len(expected), FIRST_HITS))
        hits.append(float(bool(first)))
        ranks.append(next((1 / n for n, x in enumerate(ids, 1) if x in expected), 0.0))
        if each.found_tokens is not None:
            tokens.append(each.found_tokens)
    figures = _means(
        {
            f"{name}/relevance@5": (shares, HIGHER),
            f"{name}/hit@5": (hits, HIGHER),
            f"{name}/MRR": (ranks, HIGHER),
            f"{name}/tokens": (tokens, ""),
        }
    )
    seconds = [MILLISECONDS * each.seconds for _, each in answers if each.seconds is not None]
    if seconds:
        figures[f"{name}/p50 ms"] = Figure(median(seconds))
        figures[f"{name}/p95 ms"] = Figure(_p95(seconds))
    return figures


def _context(cases: Sequence[_Case], budget: int) -> dict[str, Figure]:
    packs = []
    for each in cases:
        pack = each.packed(each.context_request(budget))
        ids = tuple(item.id for item in pack.items if item.tier != ENTITY_TIER)
        packs.append((each.expected, ToolAnswer(each.text, packed=ids, packed_tokens=pack.tokens)))
    return _pack_figures(packs)


def _pack_figures(packs: _Answers) -> dict[str, Figure]:
    recall, precision, silent = [], [], []
    tokens: list[float] = []
    for expected, each in packs:
        packed = set(each.packed or ())
        if not expected:
            silent.append(float(not packed))
            continue
        relevant = len(expected & packed)
        recall.append(relevant / len(expected))
        if packed:
            precision.append(relevant / len(packed))
        if each.packed_tokens is not None:
            tokens.append(each.packed_tokens)
    return _means(
        {
            "context/recall": (recall, HIGHER),
            "context/precision": (precision, HIGHER),
            "context/silence": (silent, HIGHER),
            "context/tokens": (tokens, LOWER),
        }
    )


# ---------------------------------------------------------------- answers of another tool


class ToolAnswer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The answer of a tool to a question."""

    question: Annotated[str, Meta(min_length=1)]
    """The question, or its `id`."""
    found: tuple[str, ...] = ()
    """Its hits, best first, named as in `expected` of the questions."""
    packed: tuple[str, ...] | None = None
    """The facts that it would put into a prompt; left out if it packs none."""
    found_tokens: Annotated[float, Meta(ge=0)] | None = None
    packed_tokens: Annotated[float, Meta(ge=0)] | None = None
    seconds: Annotated[float, Meta(ge=0)] | None = None


_Answers: TypeAlias = Sequence[tuple[set[str], ToolAnswer]]
"""The ids of the facts that answer each question, and what was found for it."""


def parse_answers(text: str) -> tuple[ToolAnswer, ...]:
    """The answers of JSON Lines, an object each; blank lines are skipped.

    Raises:
        UsageError: a line is no answer; the error names it.
    """
    answers = []
    for number, line in enumerate(text.split("\n"), 1):  # JSON texts may contain U+2028
        if not line.strip():
            continue
        try:
            answers.append(json.decode(line, type=ToolAnswer))
        except DecodeError as error:
            raise UsageError(
                f"line {number} of the answers cannot be read: {error}",
                hint='write an object on each line, such as {"question": "Who won the regatta?",'
                ' "found": ["public/facts/2026-05-02-regatta.md"]}',
            ) from None
    return tuple(answers)


def score_answers(questions: Sequence[EvalQuestion], answers: Sequence[ToolAnswer]) -> Evaluation:
    """Score the answers of another tool, by the formulas of `evaluate()`.

    A question without an answer counts as one for which nothing was found.

    Raises:
        UsageError: an answer is to no question, or a second one to the same.
    """
    names = {each.id: at for at, each in enumerate(questions) if each.id}
    names |= {each.question: at for at, each in enumerate(questions)}
    by_question: dict[int, ToolAnswer] = {}
    for each in answers:
        at = names.get(each.question)
        if at is None or at in by_question:
            what = "is not one of the questions" if at is None else "is answered twice"
            raise UsageError(
                f"{each.question[:80]!r} {what}",
                hint="give each question one answer, identified by its text or its id",
            )
        by_question[at] = each
    empty = len(questions) - len(by_question)
    left_out = f"{empty} of the questions have no answer, as if nothing was found"
    nothing = ToolAnswer("")
    pairs = [(set(x.expected), by_question.get(at, nothing)) for at, x in enumerate(questions)]
    figures = _found_figures("retrieval/tool", pairs)
    if any(each.packed is not None for each in answers):
        figures |= _pack_figures(pairs)
    return _evaluation(questions, figures, [left_out] if empty else [])


# ------------------------------------------------------------------------------- times


def _ratios(
    timed: Sequence[Paired], seconds: Callable[[], float], rounds: int
) -> dict[str, Figure]:
    """The ratios of times to their floors; measured in turns, so that load affects both.

    Each round gives one ratio, that of the medians. The figure is their median; its noise is half
    of their range.
    """
    by_name: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, ratio in _one_round(timed, seconds):
            by_name.setdefault(name, []).append(ratio)
    return {
        f"{name}/times its floor": Figure(median(values), LOWER, (max(values) - min(values)) / 2)
        for name, values in by_name.items()
    }


def _one_round(
    timed: Sequence[Paired], seconds: Callable[[], float]
) -> Iterator[tuple[str, float]]:
    floors: dict[str, list[float]] = {}
    measured: dict[str, list[float]] = {}
    for name, *acts in timed:
        for times, act in zip((floors, measured), acts, strict=True):
            began = seconds()
            act()
            times.setdefault(name, []).append(seconds() - began)
    for name, values in floors.items():
        floor = median(values)
        if floor > 0:
            yield name, median(measured[name]) / floor


def _means(figures: Mapping[str, tuple[Sequence[float], str]]) -> dict[str, Figure]:
    return {name: Figure(fmean(each), better) for name, (each, better) in figures.items() if each}


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
