"""Guess the tier of a text, by weights that were fitted to labelled observations.

`tests/eval/fit_tiers.py` makes the weights, `tier_weights.json`, from `examples.toml` and the
development half of golden/observations. A feature has the weights of the bucket that its name
falls into; a bucket that few examples have weighs nothing. The words and forms of a text count as
much as the groups of letters in it, and twice as much as the pairs of words.
"""

from __future__ import annotations

import json
import pkgutil
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple
from zlib import crc32, decompress

from vaultsync.observations.classifier import BACKGROUND, CRITICAL, NOTABLE
from vaultsync.observations.text_features import letter_groups, text_features, word_pairs

TIERS_SCORED = (CRITICAL, NOTABLE, BACKGROUND)
BUCKETS = 262_144
PAIRS_WEIGHT = 0.5
"""The weight of the pairs of words relative to the words."""
SIGNAL_SCALE = 0.3
"""The weight of a signal relative to the words. A larger one trusts the table of phrases too much:
on texts that its author had not seen, the words are right more often."""


class TierWeights(NamedTuple):
    """What features add to the scores of the three tiers."""

    scale: float
    bias: Sequence[float]
    signals: Mapping[str, Sequence[float]]
    buckets: memoryview
    """Signed bytes, `scale` is the value of 1: of all buckets what they add to the first tier, then
    to the second. All three tiers together get nothing."""

    def of(self, feature: str) -> tuple[float, float, float]:
        """What one feature adds to the scores, before they are normalised."""
        at = bucket_of(feature)
        critical, notable = self.buckets[at], self.buckets[BUCKETS + at]
        return self.scale * critical, self.scale * notable, -self.scale * (critical + notable)


@cache
def tier_weights() -> TierWeights:
    """The weights, read on first use."""
    data = json.loads(pkgutil.get_data("vaultsync.observations", "tier_weights.json") or b"{}")
    buckets = memoryview(decompress(b64decode(data["buckets"]))).cast("b")
    return TierWeights(data["scale"], data["bias"], data["signals"], buckets)


def bucket_of(feature: str) -> int:
    """The bucket of a feature."""
    return crc32(feature.encode()) % BUCKETS


def weighed_features(text: str) -> Iterator[tuple[str, float, str]]:
    """The features of a text: each with its share of the text, and how a reason names it."""
    for features, weight in (
        (text_features(text), 1.0),
        (letter_groups(text), 1.0),
        (word_pairs(text), PAIRS_WEIGHT),
    ):
        share = weight * max(1, len(features)) ** -0.5
        for feature, shown in features.items():
            yield feature, share, shown


def tier_scores(text: str, strengths: Mapping[str, float]) -> list[float]:
    """The score of a text for each tier, in the order of `TIERS_SCORED`; only differences count.

    `strengths` are those of its signals, by name.
    """
    weights = tier_weights()
    critical, notable, background = weights.bias
    for feature, share, _ in weighed_features(text):
        added = weights.of(feature)
        critical += share * added[0]
        notable += share * added[1]
        background += share * added[2]
    scores = [critical, notable, background]
    for name, strength in strengths.items():
        for tier, each in enumerate(weights.signals[name]):
            scores[tier] += SIGNAL_SCALE * strength * each
    return scores


def telling_words(text: str, tier: str) -> list[str]:
    """The three words or forms of a text that speak most for a tier, the strongest first."""
    weights, place = tier_weights(), TIERS_SCORED.index(tier)
    found: dict[str, float] = {}
    for feature, share, shown in weighed_features(text):
        if shown[0].isalpha() and not feature.startswith("l:"):
            found[shown] = found.get(shown, 0.0) + share * weights.of(feature)[place]
    best = sorted((-total, shown) for shown, total in found.items() if total > 0)
    return [shown for _, shown in best[:3]]
