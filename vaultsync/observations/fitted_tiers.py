"""The tier that a text resembles, by weights that were fitted to labelled observations.

`tests/eval/fit_tiers.py` makes the weights, `tier_weights.json`, from `examples.toml` and the
development half of golden/observations. A feature has the weights of the bucket that its name
falls into.
"""

from __future__ import annotations

import json
import pkgutil
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple
from zlib import crc32

from vaultsync.observations.classifier import BACKGROUND, CRITICAL, NOTABLE
from vaultsync.observations.text_features import text_features

TIERS_SCORED = (CRITICAL, NOTABLE, BACKGROUND)
BUCKETS = 8192
SIGNAL_SCALE = 0.3
"""The weight of a signal relative to the words. A larger one trusts the table of phrases too much:
on texts that its author had not seen, the words are right more often."""


class TierWeights(NamedTuple):
    """What features add to the scores of the three tiers."""

    scale: float
    bias: Sequence[float]
    signals: Mapping[str, Sequence[float]]
    buckets: bytes
    """Signed bytes, three of each bucket; `scale` is the value of 1."""

    def of(self, feature: str) -> tuple[float, float, float]:
        """What one feature adds to the scores, before they are normalised."""
        at = 3 * bucket_of(feature)
        critical, notable, background = (
            self.scale * ((each + 128) % 256 - 128) for each in self.buckets[at : at + 3]
        )
        return critical, notable, background


@cache
def tier_weights() -> TierWeights:
    """The weights, read on first use."""
    data = json.loads(pkgutil.get_data("vaultsync.observations", "tier_weights.json") or b"{}")
    return TierWeights(data["scale"], data["bias"], data["signals"], b64decode(data["buckets"]))


def bucket_of(feature: str) -> int:
    """The bucket of a feature."""
    return crc32(feature.encode()) % BUCKETS


def tier_scores(text: str, strengths: Mapping[str, float]) -> list[float]:
    """The score of a text for each tier, in the order of `TIERS_SCORED`; about 0 to 1.

    Args:
        text: the observation.
        strengths: the strengths of its signals, by name.
    """
    weights, features = tier_weights(), text_features(text)
    scores = list(weights.bias)
    share = len(features) ** -0.5
    for feature in features:
        for tier, each in enumerate(weights.of(feature)):
            scores[tier] += share * each
    for name, strength in strengths.items():
        for tier, each in enumerate(weights.signals[name]):
            scores[tier] += SIGNAL_SCALE * strength * each
    return scores


def telling_words(text: str, tier: str) -> list[str]:
    """The three words or forms of a text that speak most for a tier, the strongest first."""
    weights, place = tier_weights(), TIERS_SCORED.index(tier)
    found: dict[str, float] = {}
    for feature, shown in text_features(text).items():
        if shown[0].isalpha() and not feature.startswith("l:"):
            found[shown] = found.get(shown, 0.0) + weights.of(feature)[place]
    best = sorted((-total, shown) for shown, total in found.items() if total > 0)
    return [shown for _, shown in best[:3]]
