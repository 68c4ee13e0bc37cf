"""How well observations are classified and shortened, on golden/observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.eval.observations import TIERS, compressions, observations
from tests.eval.questions import Split
from vaultsync.observations.classifier import Classifier, ObservedText
from vaultsync.observations.compression import compress
from vaultsync.observations.rules import RuleClassifier


class TierFigures(NamedTuple):
    """What came of one half."""

    macro_f1: float
    """The mean of the F1 of the three tiers."""
    critical_recall: float
    compressed: float
    """The share of texts whose shortened form has the entity, the number and the verb."""


def tier_figures(classifier: Classifier, *, held_out: bool = False) -> TierFigures:
    """Measure one half; the held-out one for final reports only."""
    asked = observations(held_out=held_out)
    tiers = classifier.classify([ObservedText(x.text, x.context or "") for x in asked])
    seen = Counter((each.tier, tier) for each, tier in zip(asked, tiers, strict=True))
    known, answered = Counter(x.tier for x in asked), Counter(tiers)
    scores = [2 * seen[tier, tier] / (known[tier] + answered[tier]) for tier in TIERS]
    texts = compressions(held_out=held_out)
    kept = sum(not each.missing(compress(each.text)) for each in texts)
    return TierFigures(
        sum(scores) / len(TIERS),
        seen["critical", "critical"] / known["critical"],
        kept / len(texts),
    )


def print_tiers(splits: Sequence[Split]) -> None:
    """Print the figures of some halves."""
    print("\ntiers of observations, by rules\nhalf          macro F1  critical R  shortened")
    for split in splits:
        found = tier_figures(RuleClassifier(), held_out=split != "development")
        figures = f"{found.macro_f1:9.3f} {found.critical_recall:11.3f} {found.compressed:10.3f}"
        print(f"{split:12} {figures}")
