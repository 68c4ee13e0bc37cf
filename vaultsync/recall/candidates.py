"""The facts that a search proposes, loaded from the store, which decides what may be shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from vaultsync.errors import RepositoryError, StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import LINEAGE
from vaultsync.recall.result import RecallSources


class Candidates:
    """The candidates of a question: those that may be shown, and why others may not.

    Args:
        filters: what every candidate must match.
        degraded: receives a sentence about each thing that was missing.
    """

    def __init__(self, sources: RecallSources, filters: FactFilters, degraded: list[str]) -> None:
        self.filters = filters
        """They also exclude the facts of other branches, once one of a repository was found."""
        self.facts: dict[str, Fact] = {}
        """Loaded candidates that may be shown."""
        self.rejected: set[str] = set()
        """Loaded candidates that may not be shown, or no longer exist."""
        self.invisible: set[str] = set()
        """Rejected candidates that the agent cannot see, or that no longer exist."""
        self.of_other_branches: set[str] = set()
        """Candidates that would be shown on another branch."""
        self._sources = sources
        self._requested = filters
        self._degraded = degraded
        self._elsewhere: Collection[str] | None = None
        """Facts that do not apply to the branch; None until a fact of a repository was found."""

    def ask_branch(self, facts: Iterable[Fact]) -> None:
        """Exclude facts that do not apply to the branch, once a fact of a repository was found."""
        if self._elsewhere is not None or not any(LINEAGE in each.properties for each in facts):
            return
        self._elsewhere = ()
        try:
            if self._sources.elsewhere is not None:
                self._elsewhere = self._sources.elsewhere()
        except RepositoryError as error:
            self._degraded.append(f"Facts of other branches cannot be told apart: {error.message}.")
        without = self.filters.without.union(self._elsewhere)
        self.filters = self.filters._replace(without=without)

    def find(self, fact_ids: Sequence[str]) -> Mapping[str, Fact]:
        """Facts that apply to the branch; none while the store is unavailable."""
        try:
            facts = self._sources.ctx.redacted_store.find_many(fact_ids)
        except StoreUnavailableError:
            return {}
        self.ask_branch(facts.values())
        return {each: fact for each, fact in facts.items() if each not in self.filters.without}

    def load(self, fact_ids: Iterable[str], is_match: Callable[[Fact], bool]) -> list[Fact]:
        """Load those that are not loaded yet; returns the facts that may be shown.

        While the store is unavailable, they are loaded from the archive.

        Args:
            fact_ids: of candidates.
            is_match: whether a fact matches what no filter says, such as a phrase.
        """
        ctx = self._sources.ctx
        new = [each for each in fact_ids if each not in self.facts and each not in self.rejected]
        try:
            facts = ctx.redacted_store.find_many(new)
        except StoreUnavailableError as error:
            self._degraded.append(f"Facts are as of the last sync run: {error.message}.")
            bases = ctx.archive.find_bases(new)
            facts = {each: ctx.view.redact(base.fact) for each, base in bases.items()}
        self.ask_branch(facts.values())
        shown = []
        for each in new:
            fact = facts.get(each)
            if fact is not None and self.filters.admits(fact) and is_match(fact):
                self.facts[each] = fact
                shown.append(fact)
            else:
                self._reject(each, fact)
        return shown

    def _reject(self, fact_id: str, fact: Fact | None) -> None:
        self.rejected.add(fact_id)
        reader = self.filters.reader
        if fact is None or not (reader is None or reader.reads(fact.scope)):
            self.invisible.add(fact_id)
        elif fact_id in (self._elsewhere or ()) and self._requested.admits(fact):
            self.of_other_branches.add(fact_id)
