"""Fit the weights of the classifier by rules: `python -m tests.eval.fit_tiers`.

A ridge regression of the three tiers on the features of labelled texts, each tier with the same
total weight. It has one solution, which takes two seconds: one equation for each text.
`--folds` measures instead, on examples that were left out.
"""

from __future__ import annotations

import json
import sys
import tomllib
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.eval.observations import observations
from vaultsync.observations.fitted_tiers import BUCKETS, SIGNAL_SCALE, TIERS_SCORED, bucket_of
from vaultsync.observations.rules import (
    ALL_CRITICAL,
    ALL_ROUTINE,
    ALL_SMALL,
    CRITICAL_MARGIN,
    KEPT_MARGIN,
    PLAINLY_CRITICAL,
    SMALL,
    signal_strengths,
    signals,
)
from vaultsync.observations.text_features import text_features

Rows: TypeAlias = NDArray[np.floating[Any]]
Places: TypeAlias = NDArray[np.int_]
FOLDER = Path(__file__).parents[2] / "vaultsync" / "observations"
RIDGE, BIAS = 1.0, 0.3
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


def features_of(texts: Sequence[Labelled]) -> Rows:
    """A row for each text: the buckets of its features, then its signals."""
    rows = np.zeros((len(texts), BUCKETS + len(SIGNALS)))
    for row, each in zip(rows, texts, strict=True):
        found = text_features(each.text)
        for feature in found:
            row[bucket_of(feature)] += len(found) ** -0.5
        for name, strength in signal_strengths(each.text).items():
            row[BUCKETS + SIGNALS.index(name)] = SIGNAL_SCALE * strength
    return rows


def solve(kernel: Rows, tiers: Places) -> Rows:
    """What each text counts for each tier, of the products of all their rows."""
    counts = np.bincount(tiers, minlength=3)
    importance = len(tiers) / (3 * counts[tiers])
    damped = kernel + BIAS + RIDGE * np.diag(1 / importance)
    return np.linalg.solve(damped, np.eye(3)[tiers]).astype(np.float64)


def tiers_of(scores: Rows, rows: Rows) -> Places:
    """The tier of each row, as `rules.tier_by_scores` chooses it."""
    critical, notable, background = scores.T
    strengths = rows[:, BUCKETS:] / SIGNAL_SCALE
    critical_all, small, routine = (
        strengths[:, SIGNALS.index(each)] for each in (ALL_CRITICAL, ALL_SMALL, ALL_ROUTINE)
    )
    plain = critical_all - small - routine
    hidden = np.where(plain >= PLAINLY_CRITICAL, 0, 2)
    kept = np.where(notable + KEPT_MARGIN > background, 1, hidden)
    return np.where(critical + CRITICAL_MARGIN > np.maximum(notable, background), 0, kept)


def left_out(*, seed: int = 1) -> tuple[float, float]:
    """Macro F1 and recall of what is critical, on the English examples that a fit has not seen.

    The signals were tuned on the golden half, so that it says nothing here; and the examples of
    the other languages resemble the English ones.
    """
    texts = [*(each for each in shipped() if each.language == "en"), *golden()]
    asked = len(texts) - len(golden())
    rows, tiers = features_of(texts), np.array([TIERS_SCORED.index(x.tier) for x in texts])
    found, kernel = np.zeros(asked, dtype=int), rows @ rows.T
    places = np.random.default_rng(seed).permutation(asked)
    for fold in range(FOLDS):
        test = places[fold::FOLDS]
        train = np.setdiff1d(np.arange(len(texts)), test)
        solved = solve(kernel[np.ix_(train, train)], tiers[train])
        scores = (kernel[np.ix_(test, train)] + BIAS) @ solved
        found[test] = tiers_of(scores, rows[test])
    known = tiers[:asked]
    seen = [[int(((known == a) & (found == b)).sum()) for b in range(3)] for a in range(3)]
    f1 = [2 * seen[t][t] / (sum(seen[t]) + sum(row[t] for row in seen)) for t in range(3)]
    return sum(f1) / 3, seen[0][0] / sum(seen[0])


def main() -> None:
    """Fit, and write the weights."""
    if "--folds" in sys.argv:
        print("macro F1 {:.3f}, recall of critical {:.3f}".format(*left_out()))
        return
    texts = [*shipped(), *golden()]
    rows, tiers = features_of(texts), np.array([TIERS_SCORED.index(x.tier) for x in texts])
    solved = solve(rows @ rows.T, tiers)
    weights, bias = rows.T @ solved, BIAS * solved.sum(axis=0)
    buckets = weights[:BUCKETS]
    scale = float(np.abs(buckets).max() / 127)
    data = {
        "scale": round(scale, 8),
        "bias": [round(float(each), 4) for each in bias],
        "signals": {
            name: [round(float(each), 4) for each in row]
            for name, row in zip(SIGNALS, weights[BUCKETS:], strict=True)
        },
        "buckets": b64encode(np.round(buckets / scale).astype(np.int8).tobytes()).decode(),
    }
    path = FOLDER / "tier_weights.json"
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
