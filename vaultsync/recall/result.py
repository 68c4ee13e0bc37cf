"""What recall is given, and what it answers: hits, what each stage did, what was missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.recall.ranking import RankingWeights

if TYPE_CHECKING:  # an answer that is only shown needs none of them
    from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
    from vaultsync.recall.ports import Reranker
    from vaultsync.sync.context import ReadContext


def _nothing() -> None:
    """What is not there."""


@dataclass(frozen=True, slots=True)
class RecallSources:
    """What a question is answered from.

    Models and vectors are asked for when they are needed, for to load them is dear; None
    is not there, and the answer says so.
    """

    ctx: ReadContext
    index: NoteIndex
    vectors: Callable[[], VectorIndex | None] = _nothing
    embedder: Callable[[], Embedder | None] = _nothing
    reranker: Callable[[], Reranker | None] = _nothing
    weights: RankingWeights = field(default_factory=RankingWeights)


class Hit(NamedTuple):
    """A fact that was found, and why."""

    fact: Fact
    """As the store has it, with the path of its note."""
    score: float
    similarity: float
    recency: float
    utility: float
    stage: str
    """What found it: `index`, `vector`, or `fused` for both."""
    why: str
    """One sentence."""
    snippet: str
    """The passage that fits best, in one line."""

    @property
    def id(self) -> str:
        """The fact's id."""
        return self.fact.id

    @property
    def title(self) -> str:
        """The fact's title."""
        return self.fact.title

    @property
    def type(self) -> str:
        """The fact's type."""
        return self.fact.type

    @property
    def path(self) -> VaultPath | None:
        """Where its note is; None while it has none."""
        return self.fact.path

    def as_json(self) -> dict[str, Value]:
        """The hit as JSON."""
        return {
            "id": self.id,
            "title": self.title,
            "type": self.type,
            "path": self.path,
            "score": self.score,
            "similarity": self.similarity,
            "recency": self.recency,
            "utility": self.utility,
            "stage": self.stage,
            "why": self.why,
            "snippet": self.snippet,
        }


class StageCandidate(NamedTuple):
    """A candidate of a stage, and its score there."""

    id: str
    score: float


class RecallStage(NamedTuple):
    """What one stage did."""

    name: str
    seconds: float
    candidates: tuple[StageCandidate, ...] = ()
    """Best first."""

    def as_json(self) -> dict[str, Value]:
        """The stage as JSON."""
        seen: list[dict[str, Value]] = [each._asdict() for each in self.candidates]
        return {"stage": self.name, "seconds": self.seconds, "candidates": seen}


@dataclass(frozen=True, slots=True)
class RecallResult:
    """An answer."""

    query: str
    source: str
    """`index`, `vector` or `fused`."""
    confidence: float
    """How sure it is that the first five hits hold what was asked for, 0 to 1."""
    degraded: tuple[str, ...]
    """What was missing, a sentence each; empty when nothing was."""
    seconds: float
    hits: tuple[Hit, ...]
    stages: tuple[RecallStage, ...] = ()
    """Only when it was asked to explain itself."""

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        """The hit of a rank, from 0."""
        return self.hits[rank]

    def as_json(self) -> dict[str, Value]:
        """The answer as JSON; `stages` only when there are some."""
        found: dict[str, Value] = {
            "query": self.query,
            "source": self.source,
            "confidence": self.confidence,
            "degraded": list(self.degraded),
            "seconds": self.seconds,
            "hits": [each.as_json() for each in self.hits],
        }
        if self.stages:
            found["stages"] = [each.as_json() for each in self.stages]
        return found


def recall_from_json(said: Mapping[str, Any]) -> RecallResult:
    """The answer that `as_json()` made this of; of each fact it holds what a hit shows.

    Raises:
        KeyError, TypeError: it is no answer.
    """
    hits = [
        Hit(
            Fact(each["id"], type=each["type"], title=each["title"], path=each["path"]),
            **{key: each[key] for key in _HIT_KEYS},
        )
        for each in said["hits"]
    ]
    stages = [
        RecallStage(
            each["stage"],
            each["seconds"],
            tuple(StageCandidate(**x) for x in each["candidates"]),
        )
        for each in said.get("stages", ())
    ]
    told = {key: said[key] for key in ("query", "source", "confidence", "seconds")}
    degraded = tuple(said["degraded"])
    return RecallResult(**told, degraded=degraded, hits=tuple(hits), stages=tuple(stages))


_HIT_KEYS = ("score", "similarity", "recency", "utility", "stage", "why", "snippet")
