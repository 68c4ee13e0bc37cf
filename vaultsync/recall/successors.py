"""The newest version of the replaced fact that matches a question best.

What replaced a fact, such as the one that *Why did we drop Kafka?* names, may have no word of the
question. Loaded if a replaced fact matches much better than all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vaultsync.model.fact import Fact


def successor_of_best(
    scores: Mapping[str, float],
    find: Callable[[Sequence[str]], Mapping[str, Fact]],
    factor: Callable[[Fact], float],
    *,
    least: float,
) -> tuple[str, float] | None:
    """The newest version of the replaced fact that matches best, and the score of that fact.

    Args:
        scores: replaced fact -> its score.
        find: ids -> those of the facts that there are.
        factor: what the score of a fact is multiplied by.
        least: the score that it must exceed.

    Returns: None if none exceeds it, or if there is no newest version any more.
    """
    rated = [(scores[x.id] * factor(x), x.id, x) for x in find([*scores]).values()]
    best = max(rated, default=None)
    if best is None or best[0] <= least:
        return None
    score, _, fact = best
    seen = set[str]()
    while (newer := fact.superseded_by_id) and newer not in seen:
        seen.add(newer)
        fact = find([newer]).get(newer, fact)
    return None if newer else (fact.id, score)
