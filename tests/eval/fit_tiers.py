"""Fit the weights of the classifier by rules: `python -m tests.eval.fit_tiers`.

A ridge regression of the three tiers on the features of labelled texts, each tier with the same
total weight. A feature of few texts counts more than one of many. It has one solution, which
takes twelve seconds by conjugate gradients. `--folds` measures instead, on examples that were left
out.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.eval.observations import observations
from vaultsync.observations.classifier import CRITICAL
from vaultsync.observations.fitted_tiers import (
    BUCKETS,
    SIGNAL_SCALE,
    TIERS_SCORED,
    bucket_of,
    weighed_features,
)
from vaultsync.observations.rules import SMALL, signal_strengths, signals, tier_by_scores

Rows: TypeAlias = NDArray[np.floating[Any]]
Places: TypeAlias = NDArray[np.int_]
FOLDER = Path(__file__).parents[2] / "vaultsync" / "observations"
RIDGE, BIAS = 3.0, 0.3
RARITY_SCALE = 3.0
"""The logarithm of how rare a bucket is that makes it count as much as a signal of strength 1."""
FEWEST = 6
"""The number of texts that a bucket needs to be in to have a weight."""
STEPS = 31
"""The largest weight in the file, so that it is small when compressed."""
PRECISION = 1e-4
FOLDS = 6
SIGNALS = (
    *sorted({each.kind for each in signals()} | {"level", "amount", "figure"}),
    *(f"all {each}" for each in (*TIERS_SCORED, SMALL)),
)


class Labelled(NamedTuple):
    """A text with its tier."""

    text: str
    tier: str
    language: str


def shipped() -> list[Labelled]:
    """The examples of the package."""
    table = tomllib.loads((FOLDER / "examples.toml").read_text(encoding="utf-8"))
    return [
        Labelled(text, tier, language)
        for tier, languages in table.items()
        for language, texts in languages.items()
        for text in texts
    ]


def golden() -> list[Labelled]:
    """The development half of golden/observations."""
    return [Labelled(each.text, each.tier, each.language) for each in observations()]


class Features:
    """The features of some texts as a sparse matrix: a row for each text, its buckets in order.

    Signals follow the buckets, a column for each.
    """

    def __init__(self, texts: Sequence[Labelled]) -> None:
        rows = [_row(each.text) for each in texts]
        self.columns: Places = np.concatenate([np.fromiter(row, int) for row in rows])
        self.values: Rows = np.concatenate([np.fromiter(row.values(), float) for row in rows])
        self.rows: Places = np.repeat(np.arange(len(texts)), [len(row) for row in rows])
        self.tiers: Places = np.array([TIERS_SCORED.index(each.tier) for each in texts])

    def importance(self, kept: Places) -> Rows:
        """What each column counts: the rarer a bucket is in some texts, the more.

        One that is in fewer than `FEWEST` counts nothing.
        """
        held = np.bincount(self.columns[np.isin(self.rows, kept)], minlength=BUCKETS)[:BUCKETS]
        rarity = np.log((1 + len(kept)) / (1 + held)) / RARITY_SCALE
        return np.concatenate([np.where(held < FEWEST, 0, rarity), np.ones(len(SIGNALS))])

    def fit(self, kept: Places) -> tuple[Rows, Rows]:
        """The weights of the columns, and the constants of the tiers, from some texts.

        Only differences between tiers count: all three together get nothing.
        """
        importance = self.importance(kept)
        place = np.full(len(self.tiers), -1)
        place[kept] = np.arange(len(kept))
        used = (place[self.rows] >= 0) & (importance[self.columns] > 0)
        rows, columns = place[self.rows[used]], self.columns[used]
        values = self.values[used] * importance[columns]
        counts = np.bincount(self.tiers[kept], minlength=len(TIERS_SCORED))
        damping = RIDGE * len(TIERS_SCORED) * counts[self.tiers[kept]] / len(kept)

        def spread(of_rows: Rows) -> Rows:
            return np.bincount(columns, values * of_rows[rows], len(importance)).astype(float)

        def product(of_rows: Rows) -> Rows:
            summed = np.bincount(rows, values * spread(of_rows)[columns], len(kept))
            return np.asarray(summed + BIAS * of_rows.sum() + damping * of_rows, dtype=float)

        wanted = np.eye(len(TIERS_SCORED))[self.tiers[kept]].T
        solved = np.array([solve(product, each - wanted[-1]) for each in wanted[:-1]])
        solved = np.vstack([solved, 0 * wanted[-1]]) - solved.sum(axis=0) / len(TIERS_SCORED)
        weights = np.array([importance * spread(each) for each in solved]).T
        return weights, np.array([BIAS * each.sum() for each in solved])

    def scores(self, weights: Rows, bias: Rows) -> Rows:
        return (
            np.array(
                [
                    np.bincount(self.rows, self.values * column[self.columns], len(self.tiers))
                    for column in weights.T
                ]
            ).T
            + bias
        )


def _row(text: str) -> dict[int, float]:
    found: dict[int, float] = {}
    for feature, share, _ in weighed_features(text):
        at = bucket_of(feature)
        found[at] = found.get(at, 0.0) + share
    for name, strength in signal_strengths(text).items():
        found[BUCKETS + SIGNALS.index(name)] = SIGNAL_SCALE * strength
    return found


def solve(product: Callable[[Rows], Rows], wanted: Rows) -> Rows:
    """The vector whose product is the wanted one, by conjugate gradients."""
    found, rest = np.zeros_like(wanted), wanted.copy()
    step, norm = rest.copy(), float(rest @ rest)
    while norm > PRECISION:
        moved = product(step)
        length = norm / float(step @ moved)
        found += length * step
        rest -= length * moved
        norm, before = float(rest @ rest), norm
        step = rest + norm / before * step
    return found


def by_source(texts: Sequence[Labelled]) -> Places:
    """A part for each text, so that texts written together, about one topic, are in the same.

    Examples of a tier and a language stand in the order in which they were written.
    """
    parts = np.zeros(len(texts), dtype=int)
    for kind in {(each.tier, each.language) for each in texts}:
        places = [at for at, each in enumerate(texts) if (each.tier, each.language) == kind]
        parts[places] = np.arange(len(places)) * FOLDS // len(places)
    return parts


def left_out(one_in: int = 1) -> tuple[float, float]:
    """Macro F1 and recall of what is critical, on English examples that a fit has not seen.

    All of them, or one in `one_in`. The signals were tuned on the golden half, so that it says
    nothing here; and the examples of the other languages resemble the English ones.
    """
    examples = [each for each in shipped() if each.language == "en"][::one_in]
    texts = [*examples, *golden()]
    features, parts = Features(texts), by_source(examples)
    found = [""] * len(examples)
    strengths = [signal_strengths(each.text) for each in examples]
    for part in range(FOLDS):
        test = np.flatnonzero(parts == part)
        scores = features.scores(*features.fit(np.setdiff1d(np.arange(len(texts)), test)))
        for at in test.tolist():
            found[at] = tier_by_scores(texts[at].text, scores[at].tolist(), strengths[at])
    seen = Counter((each.tier, tier) for each, tier in zip(examples, found, strict=True))
    known, answered = Counter(each.tier for each in examples), Counter(found)
    f1 = [2 * seen[tier, tier] / (known[tier] + answered[tier]) for tier in TIERS_SCORED]
    return sum(f1) / len(f1), seen[CRITICAL, CRITICAL] / known[CRITICAL]


def main() -> None:
    """Fit, and write the weights."""
    if "--folds" in sys.argv:
        print("macro F1 {:.3f}, recall of critical {:.3f}".format(*left_out()))
        return
    features = Features([*shipped(), *golden()])
    weights, bias = features.fit(np.arange(len(features.tiers)))
    buckets = weights[:BUCKETS]
    scale = float(np.abs(buckets).max() / STEPS)
    steps = np.round(buckets.T[:-1] / scale).astype(np.int8)
    data = {
        "scale": round(scale, 8),
        "bias": [round(float(each), 4) for each in bias],
        "signals": {
            name: [round(float(each), 4) for each in row]
            for name, row in zip(SIGNALS, weights[BUCKETS:], strict=True)
        },
        "buckets": b64encode(zlib.compress(steps.tobytes(), 9)).decode(),
    }
    path = FOLDER / "tier_weights.json"
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
