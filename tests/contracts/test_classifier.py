"""Every classifier keeps the contract of `observations/classifier.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chat_service import serving_chat
from tests.fakes import FakeClock
from vaultsync.backends.classifiers.model_classifier import ModelClassifier
from vaultsync.backends.classifiers.nearest_classifier import NearestClassifier
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.model.schema import TIER_PRIORITIES
from vaultsync.observations.classifier import Classifier, ObservedText
from vaultsync.observations.rules import RuleClassifier

pytestmark = pytest.mark.long(5)

TEXTS = [
    ObservedText("We decided to move the bookings to SQLite."),
    ObservedText("Learned that a retry hides the timeout."),
    ObservedText("Opened a file.", "nightly"),
    ObservedText(""),
    ObservedText("\0 \U0001f600 " * 500),
]


@pytest.fixture(scope="module", params=["rules", "model", "embedding"])
def classifier(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Classifier]:
    if request.param == "rules":
        yield RuleClassifier()
    elif request.param == "embedding":
        yield NearestClassifier(HashEmbedder(), tmp_path_factory.mktemp("examples"))
    else:
        with serving_chat() as service:
            yield ModelClassifier(service.url, "by-rules", clock=FakeClock(), seconds=60)


def test_each_text_gets_a_tier_or_none_in_order(classifier: Classifier) -> None:
    tiers = classifier.classify(TEXTS)

    assert len(tiers) == len(TEXTS)
    assert {*tiers} <= {*TIER_PRIORITIES, None}
    assert classifier.classify([TEXTS[0]]) == tiers[:1]


def test_a_decision_is_critical_and_an_opened_file_is_not(classifier: Classifier) -> None:
    decision, _, opened, empty, _ = classifier.classify(TEXTS)

    assert (decision, opened, empty) == ("critical", "background", "background")


def test_the_same_text_gets_the_same_tier(classifier: Classifier) -> None:
    assert classifier.classify(TEXTS) == classifier.classify(TEXTS)


def test_no_texts_get_no_tiers(classifier: Classifier) -> None:
    assert classifier.classify([]) == []


def test_a_classifier_has_a_name_and_explains_any_text(classifier: Classifier) -> None:
    assert classifier.name
    for each in TEXTS:
        assert all(isinstance(reason, str) for reason in classifier.explain(each))
