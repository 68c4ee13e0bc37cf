"""Every classifier keeps the contract of `observations/classifier.py`."""

from __future__ import annotations

import pytest

from vaultsync.observations.classifier import TIER_PRIORITIES, Classifier, ObservedText
from vaultsync.observations.rules import RuleClassifier

TEXTS = [
    ObservedText("We decided to move the bookings to SQLite."),
    ObservedText("Learned that a retry hides the timeout."),
    ObservedText("Opened a file.", "nightly", ("Good morning.",)),
    ObservedText(""),
    ObservedText("\0 \U0001f600 " * 500),
]


@pytest.fixture
def classifier() -> Classifier:
    return RuleClassifier()


def test_each_text_gets_a_tier_or_none_in_order(classifier: Classifier) -> None:
    tiers = classifier.classify(TEXTS)

    assert len(tiers) == len(TEXTS)
    assert {*tiers} <= {*TIER_PRIORITIES, None}
    assert classifier.classify([TEXTS[0]]) == tiers[:1]


def test_the_same_text_gets_the_same_tier(classifier: Classifier) -> None:
    assert classifier.classify(TEXTS) == classifier.classify(TEXTS)


def test_no_texts_get_no_tiers(classifier: Classifier) -> None:
    assert classifier.classify([]) == []


def test_a_classifier_has_a_name_and_explains_any_text(classifier: Classifier) -> None:
    assert classifier.name
    for each in TEXTS:
        assert all(isinstance(reason, str) for reason in classifier.explain(each))
