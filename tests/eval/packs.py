"""What a context pack saves: its tokens beside those of the first hits packed whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from tests.eval.collections import Asked
from tests.eval.measures import RELEVANT
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.context_packs.formats import citation_of, fact_body
from vaultsync.context_packs.service import MAX_RECALLED, build_context
from vaultsync.indexing.session_context import own_title
from vaultsync.model.fact import Fact
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch

BUDGETS = (600, 800, 1_200, 1_600, 2_000, 4_000)


@dataclass(frozen=True, slots=True)
class Packed:
    """Packs of one budget, the mean over all questions."""

    budget: int
    tokens: float
    found: float
    """The share of the relevant facts that are in the pack, whole or in brief."""
    answered: float
    """The same, of those in brief only such as still hold the words that answer."""
    whole_found: float
    whole_answered: float
    """The tokens in which the first hits, packed whole, hold as large a share."""

    @property
    def saved_found(self) -> float:
        """The share of the tokens that the pack does without, for as much found."""
        return 1 - self.tokens / self.whole_found

    @property
    def saved_answered(self) -> float:
        """The same for as much answered."""
        return 1 - self.tokens / self.whole_answered


def pack_all(sources: RecallSources, questions: Sequence[Asked]) -> list[Packed]:
    """What packs hold and cost, by budget."""
    counted = EstimatingCounter()
    line = _whole(sources, questions)
    strict = _whole(sources, questions, strict=True)
    rows = []
    for budget in BUDGETS:
        costs, shares, answers = [], [], []
        for each in questions:
            asked = ContextRequest(
                each.text, agent=each.agent, budget=budget, max_priority=_lowest(each)
            )
            pack = build_context(sources, counted, asked)
            costs.append(pack.tokens)
            ids = [item.id for item in pack.items]
            shares.append(_share(each, ids))
            answers.append(_share(each, ids, pack.text))
        found, answered = mean(shares), mean(answers)
        rows.append(
            Packed(
                budget=budget,
                tokens=mean(costs),
                found=found,
                answered=answered,
                whole_found=_tokens_at(line, found),
                whole_answered=_tokens_at(strict, answered),
            )
        )
    return rows


def _lowest(each: Asked) -> int:
    """Down to which priority is asked: in packs, unless it is said, to the last."""
    return int(each.filter.get("max_priority", 4))


def _share(asked: Asked, ids: Sequence[str], text: str | None = None) -> float:
    """Of the relevant facts, with a text of those that answer in it."""
    relevant = {key for key, grade in asked.grades.items() if grade >= RELEVANT}
    held = [
        key
        for key in relevant.intersection(ids)
        if text is None or all(words in text for words in asked.said.get(key, ()))
    ]
    return len(held) / len(relevant)


def _whole(
    sources: RecallSources, questions: Sequence[Asked], *, strict: bool = False
) -> Sequence[tuple[float, float]]:
    """Mean tokens, and the mean share found, by the number of hits packed whole."""
    filled = []
    for each in questions:
        asked = RecallRequest(
            each.text, agent=each.agent, limit=MAX_RECALLED, max_priority=_lowest(each)
        )
        search = RecallSearch(sources, asked)
        search.answer()
        filled.append(_filling(each, search.facts, strict=strict))
    ends = ([steps[min(n, len(steps) - 1)] for steps in filled] for n in range(MAX_RECALLED + 1))
    return [(mean(e[0] for e in end), mean(e[1] for e in end)) for end in ends]


def _filling(asked: Asked, facts: Sequence[Fact], *, strict: bool) -> list[tuple[int, float]]:
    """Tokens and the share found after each fact, from none on."""
    count, steps = EstimatingCounter().count, [(0, 0.0)]
    text = f"# {asked.text}"
    for number, fact in enumerate(facts, start=1):
        title = f"\n\n## {own_title(fact)}".removesuffix("\n\n## ")
        text += f"{title}\n\nSource: {citation_of(fact)}\n\n{fact_body(fact)}"
        ids = [each.id for each in facts[:number]]
        steps.append((count(text), _share(asked, ids, text if strict else None)))
    return steps


def _tokens_at(line: Sequence[tuple[float, float]], found: float) -> float:
    """Where the line reaches a share, between its points."""
    before = (0.0, 0.0)
    for tokens, share in line:
        if share >= found:
            rise = share - before[1]
            part = (found - before[1]) / rise if rise > 0 else 0.0
            return before[0] + part * (tokens - before[0])
        before = (tokens, share)
    return before[0]
