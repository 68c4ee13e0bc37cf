"""Bugs in what finds, ranks and packs: what the gate is for."""

from __future__ import annotations

from tests.mutants.bug import Bug

GATE = "eval/test_gate.py::test_recall_is_as_good_as_its_baseline"

RECALL_BUGS: tuple[Bug, ...] = (
    Bug(
        "fused scores drop the words",
        "recall/ranking.py",
        "        key: trust**2 * keyword_scores.get(key, 0.0) / best\n",
        "        key: 0.0 * keyword_scores.get(key, 0.0) / best\n",
        GATE,
    ),
    Bug(
        "the type that is asked for is ignored",
        "recall/query.py",
        "        return self.asked.hinted_types\n",
        "        return frozenset()\n",
        GATE,
    ),
    Bug(
        "a pack drops its best hit",
        "context_packs/service.py",
        "        hits, facts = hits[:MAX_RECALLED], facts[:MAX_RECALLED]\n",
        "        hits, facts = hits[1:MAX_RECALLED], facts[1:MAX_RECALLED]\n",
        GATE,
    ),
)
