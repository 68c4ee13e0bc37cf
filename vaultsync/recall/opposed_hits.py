"""Find facts that contradict a hit, to list them next to it, or a new fact, to tell its writer.

Nothing is changed: a rule cannot decide which of two facts is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import ceil

from vaultsync.model.fact import Fact
from vaultsync.recall.contradictions import (
    Claim,
    Glance,
    Statement,
    contradiction,
    done_share,
    instance_share,
    may_concern,
    statement_of,
    stems_of,
)

HITS_EXAMINED = 5
"""Number of first hits for which contradicting facts are searched."""
SET_EXAMINED = 30
"""Number of first facts of a set that are compared with each other."""
MIN_ASKED_SHARE = 0.5
"""Minimum share of the question's words in a sentence of a hit."""
MAX_DENIAL_SEARCHES = 2
"""Maximum number of searches for facts that contradict a *never*."""
MAX_BESIDE = 2
"""Maximum number of contradicting facts added per hit."""
MAX_BESIDE_DENIAL = 4
"""The same for a *never* that the question is about: each of several facts may be the answer."""

FindMatches = Callable[[str], Iterable[Fact]]
"""Words -> the best matching facts that may be shown."""


class OpposedHits:
    """The facts of an answer, each next to those that contradict it, the newest first.

    A contradicting fact is added only if it, too, is about the question.

    Args:
        facts: the candidates by id; added facts are added to `found`.
        find: searches for what a hit denies, which may have few words of the question; None
            for a set, whose facts are all about the question, and which gets no others.
        shown: the number of hits shown; only these are compared with each other, and all
            candidates with denials.
    """

    def __init__(
        self,
        question: str,
        ranked: Sequence[str],
        facts: Mapping[str, Fact],
        find: FindMatches | None,
        *,
        shown: int,
        keep_order: bool = False,
    ) -> None:
        self._question = stems_of(question) if find else frozenset()
        self._least = int(bool(find))
        self._most = max(self._least, ceil(MIN_ASKED_SHARE * len(self._question)))
        self._facts = dict(facts)
        self._find = find
        self._shown = shown if find else min(shown, SET_EXAMINED)
        self._keep_order = keep_order
        self._searches_left = MAX_DENIAL_SEARCHES
        self._statements: dict[tuple[str, int], Statement] = {}
        self._glances: dict[str, Glance] = {}
        self.order = list(ranked)
        """The ids, best first, including added facts."""
        self.contradicts: dict[str, list[str]] = {}
        """Id -> the ids of the facts that contradict it, which are next to it in `order`."""
        self.said_earlier: set[str] = set()
        """The ids of facts that are next to a denial because its speaker said them earlier."""
        for fact_id in ranked[: HITS_EXAMINED if find else self._shown]:
            if fact_id not in self.contradicts:
                self._place_beside(fact_id)

    def _place_beside(self, fact_id: str) -> None:
        statement = self._statement(fact_id, self._most)
        if not statement.claims:
            return
        denied = [each for each in statement.claims if each.never]
        is_asked = self._find is not None and any(
            len(words & self._question) >= self._most for each in denied for words in each.never
        )
        most = MAX_BESIDE_DENIAL if is_asked else MAX_BESIDE
        opposed = self._contradicting(statement, denied)[:most]
        others = self._said_earlier(statement, denied, opposed) if is_asked else ()
        earlier = [*islice(others, most - len(opposed))]
        if not (opposed or earlier):
            return
        group = [*sorted([fact_id, *opposed], key=self._age, reverse=True), *earlier]
        if not self._keep_order:
            at = min(map(self.order.index, filter(self.order.__contains__, group)))
            self.order = [each for each in self.order if each not in group]
            self.order[at:at] = group
            self.said_earlier.update(earlier)
        for each in opposed:
            self.contradicts.setdefault(fact_id, []).append(each)
            self.contradicts.setdefault(each, []).append(fact_id)

    def _contradicting(self, statement: Statement, denied: Sequence[Claim]) -> list[str]:
        """The ids of the facts that contradict a statement, the clearest first."""
        # A fact that contradicts a denial shares few words with the question.
        examined = self.order if denied and self._find else self.order[: self._shown]
        compared = {statement.fact.id, *self.contradicts, *self.said_earlier}
        candidates = [each for each in examined if each not in compared]
        if denied and self._find and self._searches_left:
            self._searches_left -= 1
            for fact in self._find(denied[0].text):
                self._facts.setdefault(fact.id, fact)
                if fact.id not in self.order:
                    candidates.append(fact.id)
        opposed = [each for each in candidates if self._contradicts(statement, each)]
        if not denied:
            return opposed
        opposed.sort(key=lambda each: -self._share(denied, each))
        # An earlier fact contradicts it; a later one may only be a change.
        return [x for x in opposed if self._is_earlier(x, statement)] or opposed

    def _said_earlier(
        self, statement: Statement, denied: Sequence[Claim], opposed: Sequence[str]
    ) -> Iterator[str]:
        """The ids of other earlier facts in which who denies it asserts something on the question.

        It may contradict a denial in other words.
        """
        speakers = {each.speaker for each in denied} - {""}
        placed = {*opposed, *self.contradicts, *self.said_earlier}
        for each in self.order:
            if (
                each not in placed
                and self._is_earlier(each, statement)
                and may_concern(self._facts[each], statement)
            ):
                claims = self._statement(each, self._least).claims
                if any(x.speaker in speakers and x.asserted & self._question for x in claims):
                    yield each

    def _is_earlier(self, fact_id: str, statement: Statement) -> bool:
        return self._age(fact_id) < self._age(statement.fact.id)

    def _contradicts(self, statement: Statement, fact_id: str) -> bool:
        if not (
            any(map(self._glance(fact_id).may_contradict, statement.claims))
            and may_concern(self._facts[fact_id], statement)
        ):
            return False
        other = self._statement(fact_id, self._least)
        return bool(other.claims and contradiction(statement, other))

    @cached_property
    def _has_denial(self) -> bool:
        return any(self._glance(each).denies for each in self.order[: self._shown])

    def _glance(self, fact_id: str) -> Glance:
        if fact_id not in self._glances:
            self._glances[fact_id] = Glance(self._facts[fact_id])
        return self._glances[fact_id]

    def _share(self, denied: Sequence[Claim], fact_id: str) -> float:
        """How clearly a fact contradicts denied claims, and how much of the question it has."""
        claims = self._statement(fact_id, self._least).claims
        return max(
            instance_share(denial, claim)
            * (1 + done_share(denial, claim) + self._asked_share(claim))
            for denial in denied
            for claim in claims
        )

    def _asked_share(self, claim: Claim) -> float:
        return len(self._question & claim.asserted) / max(1, len(self._question))

    def _statement(self, fact_id: str, minimum: int) -> Statement:
        """The claims of a fact on the subject of the question."""
        key = fact_id, minimum
        if key not in self._statements:
            fact = self._facts[fact_id]
            self._statements[key] = statement_of(
                fact, self._question, minimum=minimum, with_value=not self._has_denial
            )
        return self._statements[key]

    def _age(self, fact_id: str) -> tuple[str, str]:
        return self._facts[fact_id].created_at, fact_id
