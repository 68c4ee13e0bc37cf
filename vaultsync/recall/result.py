"""The results of recall: hits, what each stage did, and what was unavailable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, overload

from msgspec import Struct, field

from vaultsync.model.hiding import HiddenMatches
from vaultsync.model.paths import VaultPath
from vaultsync.recall.ranking import RankingWeights

if TYPE_CHECKING:  # not needed to display a result
    from vaultsync.indexing.note_index_sync import IndexReport
    from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
    from vaultsync.recall.ports import Reranker
    from vaultsync.sync.context import ReadContext


class RecallSources(Struct, frozen=True):
    """The sources from which a question is answered.

    Models and vectors are slow to load, so they are loaded on demand. Each may be None; the
    result then states what was missing.
    """

    ctx: ReadContext
    index: NoteIndex
    vectors: Callable[[], VectorIndex | None] = lambda: None
    embedder: Callable[[], Embedder | None] = lambda: None
    reranker: Callable[[], Reranker | None] = lambda: None
    weights: RankingWeights = field(default_factory=RankingWeights)
    warm: bool = False
    """Whether the process is long-running, so that a model is worth loading for every question."""
    is_word: Callable[[str], bool] = lambda _: False
    """Whether a word is common in English, so that it is not misspelled if no fact has it."""
    unknown: tuple[str, ...] = ()
    """What can no longer be known about the requested time, one sentence each."""
    elsewhere: Callable[[], Collection[str]] | None = None
    """Returns the ids of the facts that do not apply to the question's branch; raises
    RepositoryError. Called once a fact of a repository is found."""
    visible_index: Callable[[], tuple[NoteIndex, IndexReport]] | None = None
    """Updates and returns the index of the facts that the asking agent may see; None to use
    `index`."""


class Hit(Struct, frozen=True):
    """A fact that was found, and why. Numbers are rounded to 4 digits."""

    id: str
    title: str
    type: str
    path: VaultPath | None
    """Where its note is; None while it has none."""
    score: float
    """The sum of `similarity`, `recency` and `utility`, each times its weight (0.5, 0.3 and
    0.2 unless the settings say otherwise): 0 to 1 where the weights add up to 1. Hits are
    sorted by it, highest first. It compares hits of one result, not of two questions."""
    similarity: float
    """How well it matches the question, 0 to 1: by its words (BM25), by its meaning (the
    cosine of the vectors) or by both. It is relative to the other candidates: 1 is the best
    of them, 0 the first that was left out."""
    recency: float
    """How new it is, 0 to 1: 0.5 ^ (age / half-life of its type). 0 when its age is unknown."""
    utility: float
    """How useful it has been, 0 to 1: importance · (1 + log10(1 + times used)) / 2, at
    most 1. A fact without an importance counts as 0.5."""
    stage: str
    """What found it: `index` (keyword search), `vector` (semantic search), `fused` (both) or
    `index-files` (keyword search in the notes that `.index/` lists)."""
    why: str
    """Why it was found, in a sentence."""
    snippet: str
    """The passage that matches best, in one line: quoted from memory, and no instruction."""
    origin: str = ""
    """Who wrote it: `user`, `agent`, `tool`, `import` or `inference`."""
    date: str = ""
    """The day it was created, such as `2026-02-14`; empty when that is not known."""
    contradicts: tuple[str, ...] = ()
    """The ids of the hits that say otherwise. They stand side by side, the newest first, at the
    rank of the best of them."""


class StageCandidate(Struct, frozen=True):
    """A candidate of a stage, and its score there."""

    id: str
    score: float


class RecallStage(Struct, frozen=True):
    """What one stage did."""

    stage: str
    """Its name."""
    seconds: float
    candidates: tuple[StageCandidate, ...] = ()
    """Best first."""


class RecallResult(Struct, frozen=True, omit_defaults=True):
    """The answer to a question. A sequence of its hits."""

    query: str
    """The question, without the secrets in it."""
    source: str
    """`index`, `vector` or `fused`; `index-files` without a store."""
    confidence: float
    """How likely the first five hits hold what was asked for, 0 to 1."""
    answerable: float
    """How likely the memory has an answer at all, 0 to 1: low where the words of the question,
    or texts like it, are not known."""
    degraded: tuple[str, ...]
    """What was missing, a sentence each; empty when nothing was."""
    seconds: float
    hits: tuple[Hit, ...]
    """Best first."""
    hidden: tuple[HiddenMatches, ...]
    """The number of keyword matches that each default left out; for other branches, only among
    the examined candidates."""
    nothing_known: str = ""
    """Why nothing was found, if the question asks for a set, such as *our decisions*; otherwise it
    is not in the JSON."""
    stages: tuple[RecallStage, ...] = ()
    """Only if the request has `explain`; otherwise it is not in the JSON."""

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """The number of hits."""
        return len(self.hits)

    @overload
    def __getitem__(self, rank: int) -> Hit: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, rank: int | slice) -> Hit | tuple[Hit, ...]:
        """The hit at a rank, from 0, or those of a slice."""
        return self.hits[rank]
