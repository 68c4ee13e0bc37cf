"""`python -m tests.eval.bare`: vectors in the product beside the bare model, on longer texts.

The bare model is the reference, by sentence-transformers: it embeds each text whole, as far as
it reads, and ranks by the cosine. What the product does beyond that (chunks, eight bits, the
order of hits) must not lose anything. Prints the nDCG@10 of both, and the difference of the
same questions with its 95 % interval.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from tests.eval.arms import ask
from tests.eval.collections import HEADLINE, KINDS, Asked, Collection
from tests.eval.measures import interval, measured
from tests.eval.texts import long_texts
from tests.eval.worlds import MODELS, conversation
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.indexing.ports import Embedder
from vaultsync.model.fact import Fact

_ADVERSARIAL = set(KINDS.values()) - HEADLINE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.eval.bare", description=__doc__)
    parser.add_argument("--only", nargs="+", help="words of the names of sets", default=[""])
    parser.add_argument("--arms", nargs="+", default=["vector"])
    parser.add_argument("--bare", default="sentence", help="the embedder that is the bare model")
    asked = parser.parse_args()
    os.environ.setdefault("VAULTSYNC_MODELS", str(MODELS))
    bare = embedder_for(asked.bare, models=MODELS, clock=SystemClock())
    if bare is None:
        raise SystemExit("there is no bare model")
    print(f"{'set':26} {'n':>4} {'bare':>6} {'arm':>7} {'product':>7}  difference")
    for name, parts in long_texts().items():
        if any(word in name for word in asked.only):
            _show(name, parts, bare, asked.arms)


def _show(name: str, parts: Sequence[Collection], bare: Embedder, arms: Sequence[str]) -> None:
    without: list[float] = []
    found: dict[str, list[float]] = {arm: [] for arm in arms}
    for one in parts:
        questions = [each for each in one.questions if each.kind not in _ADVERSARIAL]
        without += _bare_ranking(bare, one.facts, questions)
        with tempfile.TemporaryDirectory() as folder, conversation(Path(folder), one) as sources:
            for arm in arms:
                answers = ask(sources, questions, arm)
                found[arm] += [each.worth.ndcg_10 for each in answers]
    for arm, worths in found.items():
        differences = [ours - theirs for ours, theirs in zip(worths, without, strict=True)]
        low, high = interval(differences)
        print(
            f"{name:26} {len(worths):4} {mean(without):6.3f} {arm:>7} {mean(worths):7.3f}"
            f"  {mean(differences):+.3f} ({low:+.3f} to {high:+.3f})",
            flush=True,
        )


def _bare_ranking(bare: Embedder, facts: Sequence[Fact], questions: Sequence[Asked]) -> list[float]:
    """The nDCG@10 of each question, by the cosine of whole texts."""
    import numpy as np

    texts = np.array(bare.embed([_whole(each) for each in facts]), np.float32)
    asked = np.array(bare.embed([each.text for each in questions]), np.float32)
    worths = []
    for each, cosines in zip(questions, asked @ texts.T, strict=True):
        nearest = np.argsort(-cosines, kind="stable")[:10]
        worths.append(measured([facts[at].id for at in nearest], each.grades).ndcg_10)
    return worths


def _whole(fact: Fact) -> str:
    derived = fact.content.startswith(fact.title.rstrip("…"))
    return fact.content if derived else f"{fact.title}\n{fact.content}"


if __name__ == "__main__":
    main()
