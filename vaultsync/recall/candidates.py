"""The facts that indexes propose for one question: read, checked, and told apart.

An index proposes, the store decides: each fact is loaded from the store and checked
again, so what an index has not heard of yet, or must not tell, is in no answer.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.scope import can_see
from vaultsync.recall.explanation import fact_text, has_phrases
from vaultsync.recall.query import ParsedQuery
from vaultsync.recall.ranking import rescale_similarities
from vaultsync.sync.context import ReadContext

POOL_SIZE = 30
"""How many of the best fitting facts are loaded, and scored with their time and use; three
times the limit where that is more (seed 001)."""
CONFIDENCE_HITS = 5
"""Confidence is about the first five hits, so it looks at these."""


class Candidates:
    """What was proposed, as far as it was looked at.

    Args:
        ctx: where the facts are.
        asked: the question; its phrases must stand in a fact.
        filters: what may be found.
        agent: who asks.
        by_words: those that the note index named, as far as it was asked: it knows that
            they have the phrases.
        limit: how many facts will be told at most.
        fitting: how similar they have to be.
    """

    def __init__(
        self,
        ctx: ReadContext,
        asked: ParsedQuery,
        filters: FactFilters,
        agent: str | None,
        *,
        by_words: Container[str],
        limit: int,
        fitting: float,
    ) -> None:
        self._ctx = ctx
        self._asked = asked
        self._filters = filters
        self._agent = agent
        self._by_words = by_words
        self._fitting = fitting
        self.wanted = max(POOL_SIZE, 3 * limit)
        """So many of the best are scored."""
        self.degraded: list[str] = []
        """What was missing, a sentence each."""
        self._facts: dict[str, Fact | None] = {}
        """What was loaded; None is gone, or not for this question."""

    def fact(self, fact_id: str) -> Fact:
        """One of those that pass."""
        fact = self._facts[fact_id]
        assert fact is not None  # noqa: S101 - only those that pass are kept
        return fact

    def fits(self, similar: float) -> bool:
        """Whether a fact of this similarity may be told."""
        return similar >= self._fitting

    def passing(self, fits: Mapping[str, float]) -> list[str]:
        """The first of some facts that pass: those wanted, and the first left out.

        What fits too little to be told, nobody looks at: there an index is believed.
        """
        facts = self._facts
        order = sorted(fits, key=lambda each: (-fits[each], each))
        while True:
            passing = (each for each in order if facts.get(each, True) is not None)
            kept = list(islice(passing, self.wanted + 1))
            similar = self.similar(kept, fits)
            unread = [
                each
                for place, each in enumerate(kept)
                if each not in facts
                and (place < CONFIDENCE_HITS or self.fits(similar.get(each, 0.0)))
            ]
            if not unread:
                return kept
            self._load(unread)

    def similar(self, kept: Sequence[str], fits: Mapping[str, float]) -> dict[str, float]:
        """How far the facts that are wanted stand out from the first that is left out."""
        some = {each: fits[each] for each in kept[: self.wanted]}
        floor = fits[kept[-1]] if len(kept) > self.wanted else 0.0
        return rescale_similarities(some, floor=floor)

    def read(self, similar: Mapping[str, float]) -> dict[str, float]:
        """Those of some facts that pass, when all of them are looked at."""
        self._load([each for each in similar if each not in self._facts])
        return {each: found for each, found in similar.items() if self._facts[each] is not None}

    def _load(self, ids: Sequence[str]) -> None:
        found = self._found(ids) if ids else {}
        for each in ids:
            fact = found.get(each)
            self._facts[each] = fact if fact and self._passes(fact) else None

    def _found(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        ctx = self._ctx
        try:
            return ctx.redacted_store.find_many(ids)
        except StoreUnavailableError as error:
            self.degraded.append(f"The facts are as the last pass saw them: {error.message}.")
        bases = ctx.archive.find_bases(ids)
        return {each: ctx.view.redact(base.fact) for each, base in bases.items()}

    def _passes(self, fact: Fact) -> bool:
        return (
            can_see(self._agent, fact.scope)
            and self._filters.admits(fact)
            and (fact.id in self._by_words or has_phrases(self._asked.phrases, fact_text(fact)))
        )
