"""Recall: the part of `Memory` that answers questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from vaultsync.api.wiring import Services
from vaultsync.errors import StoreUnavailableError

if TYPE_CHECKING:
    from vaultsync.recall.recall_request import RecallRequest
    from vaultsync.recall.result import RecallResult, RecallSources


class RecallMethods(Services):
    """`recall`: the index first, vectors when they are needed."""

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: str = "auto",
        types: Iterable[str] = (),
        scopes: Iterable[str] = (),
        tags: Iterable[str] = (),
        max_priority: int = 2,
        status: str | None = "active",
        heads_only: bool = True,
        since: str | None = None,
        until: str | None = None,
        user: str | None = None,
        explain: bool = False,
        agent: str | None = None,
    ) -> RecallResult:
        """The facts that answer a question, best first, each with the reason why.

        What is recalled is counted in its `accessCount`: later, when somebody looks.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter makes no sense.
        """
        from vaultsync.recall.recall_request import RecallRequest

        return self.answer(
            RecallRequest(
                query,
                limit=limit,
                mode=mode,
                types=tuple(types),
                scopes=tuple(scopes),
                tags=tuple(tags),
                max_priority=max_priority,
                status=status,
                heads_only=heads_only,
                since=since,
                until=until,
                user=user,
                explain=explain,
                agent=agent,
            )
        )

    def answer(self, asked: RecallRequest) -> RecallResult:
        """The same, asked for by a request.

        Raises: as `recall()`.
        """
        from vaultsync.recall.service import recall

        self._flush()
        agent, user = asked.agent or self.agent, asked.user or self.settings.user
        found = recall(self._sources, structs.replace(asked, agent=agent, user=user))
        self._accesses.add(hit.id for hit in found)
        return found

    @property
    def is_empty(self) -> bool:
        """Whether no fact is remembered yet, in any scope; unknown while the store is away."""
        try:
            return not self._ctx.store.state().facts
        except StoreUnavailableError:
            return False

    @property
    def _sources(self) -> RecallSources:
        from vaultsync.recall.result import RecallSources

        derived = self._derived
        return RecallSources(
            self._ctx,
            derived.words,
            vectors=lambda: derived.vectors,
            embedder=lambda: derived.embedder,
            reranker=lambda: derived.reranker,
            weights=self.settings.weights,
        )
