"""What recall is given, and what it answers: hits, what each stage did, what was missing.

The values are dataclasses, which msgspec reads too: it is not loaded for an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.recall.ranking import RankingWeights

if TYPE_CHECKING:  # an answer that is only shown needs none of them
    from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
    from vaultsync.recall.ports import Reranker
    from vaultsync.sync.context import SyncContext


def _nothing() -> None:
    """What is not there."""


@dataclass(frozen=True, slots=True)
class RecallSources:
    """What a question is answered from.

    Models and vectors are asked for when they are needed, for they take long to load;
    None is not there, and the answer says so.
    """

    ctx: SyncContext
    index: NoteIndex
    vectors: Callable[[], VectorIndex | None] = _nothing
    embedder: Callable[[], Embedder | None] = _nothing
    reranker: Callable[[], Reranker | None] = _nothing
    weights: RankingWeights = field(default_factory=RankingWeights)


@dataclass(frozen=True)
class Hit:
    """A fact that was found, and why."""

    id: str
    title: str
    type: str
    path: VaultPath | None
    """Where its note is; None while it has none."""
    score: float
    """The weighted sum of the three below, by which hits are ordered: 0 to 1 where the
    weights add up to 1, as the usual ones do."""
    similarity: float
    """How well it fits the question, 0 to 1: by its words, its meaning, or both."""
    recency: float
    """How new it is, 0 to 1: halved with each half-life of its type."""
    utility: float
    """Its importance and how often it was recalled, 0 to 1."""
    stage: str
    """What found it: `index`, `vector`, or `fused` for both."""
    why: str
    """Why it was found, in a sentence."""
    snippet: str
    """The passage that fits best, in one line."""

    @cached_property
    def fact(self) -> Fact:
        """The fact as the store has it, with the path of its note; no part of the JSON.

        Of an answer that a bridge gave it is what a hit shows.
        """
        return Fact(self.id, type=self.type, title=self.title, path=self.path)

    def about(self, fact: Fact) -> Hit:
        """The same hit, which knows its fact."""
        self.__dict__["fact"] = fact
        return self


@dataclass(frozen=True, slots=True)
class StageCandidate:
    """A candidate of a stage, and its score there."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class RecallStage:
    """What one stage did."""

    stage: str
    """Its name."""
    seconds: float
    candidates: tuple[StageCandidate, ...] = ()
    """Best first."""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """An answer."""

    query: str
    source: str
    """`index`, `vector` or `fused`; `index-files` when only the tables were asked."""
    confidence: float
    """How sure it is that the first five hits hold what was asked for, 0 to 1."""
    degraded: tuple[str, ...]
    """What was missing, a sentence each; empty when nothing was."""
    seconds: float
    hits: tuple[Hit, ...]
    """The best first."""
    stages: tuple[RecallStage, ...] = ()
    """Only when it was asked to explain itself; else they are no part of the JSON."""

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        """The hit of a rank, from 0."""
        return self.hits[rank]


def said_of(found: RecallResult) -> dict[str, Value]:
    """An answer as its JSON has it."""
    said: dict[str, Value] = asdict(found)
    if not found.stages:
        del said["stages"]
    return said
