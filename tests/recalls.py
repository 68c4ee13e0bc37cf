"""A world for questions: indexes in memory, and a model of hashes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tests.doubles.note_index import TemporaryIndex
from tests.doubles.vectors import MemoryVectors
from tests.world import World
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.errors import EmbedderError
from vaultsync.facts import service as fact_work
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.vector_index_sync import embed_pending
from vaultsync.model.fact import Fact
from vaultsync.recall.ports import Reranker
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.recall.service import RecallSearch


class BrokenEmbedder(HashEmbedder):
    """A model that fails when it is used."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EmbedderError("the model is gone")


class LengthReranker:
    """Ranks the longest text first."""

    model = "length"
    candidates, share = 20, 0.5

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        return [float(len(each)) for each in texts]


class BrokenReranker(LengthReranker):
    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        raise EmbedderError("the reranker is gone")


class RecallWorld(World):
    """A world with a note index and, after `embed()`, with vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.index = TemporaryIndex()
        self.vectors: MemoryVectors | None = None
        self.embedder: HashEmbedder | None = None
        self.reranker: Reranker | None = None
        self.elsewhere: Callable[[], Collection[str]] | None = None
        self.english = frozenset[str]()
        """Words that are no misspellings."""

    def embed(self) -> None:
        """Embed all facts."""
        self.vectors = self.vectors or MemoryVectors()
        self.embedder = self.embedder or HashEmbedder()
        catch_up_note_index(self.ctx, self.index)
        embed_pending(self.ctx, self.vectors, self.embedder, self.index)

    def supersedes(self, fact_id: str, text: str) -> Fact:
        self.clock.advance(1)
        return fact_work.supersede(self.ctx, fact_id, text, agent="indy")

    @property
    def sources(self) -> RecallSources:
        return RecallSources(
            self.ctx,
            self.index,
            lambda: self.vectors,
            lambda: self.embedder,
            lambda: self.reranker,
            elsewhere=self.elsewhere,
            is_word=lambda word: word.lower() in self.english,
        )

    def ask(
        self,
        question: str,
        *,
        agent: str | None = "indy",
        **more: Any,  # noqa: ANN401 - what a `RecallRequest` takes
    ) -> RecallResult:
        asked = RecallRequest(question, agent=agent, **more)
        return RecallSearch(self.sources, asked).answer()

    def titles(
        self,
        question: str,
        **more: Any,  # noqa: ANN401 - what recall() takes
    ) -> list[str]:
        return [hit.title for hit in self.ask(question, **more)]
