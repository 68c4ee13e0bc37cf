"""The nearest examples decide, and those of a person most."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import Mock

import numpy as np
import pytest

from vaultsync.backends.classifiers.nearest_classifier import NearestClassifier
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.errors import EmbedderError
from vaultsync.observations.classifier import ObservedText
from vaultsync.observations.labelled import LabelledText

pytestmark = pytest.mark.long(5)

GULLS = ObservedText("Gulls on the roof of hall 3 again, about forty of them.")


class Broken:
    """An embedder that fails."""

    model, dimension = "broken", 2

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EmbedderError("no model")

    def close(self) -> None: ...


MOVED: list[LabelledText] = []


@pytest.fixture(scope="module")
def nearest() -> NearestClassifier:
    """It has computed the vectors of the thousands of examples once."""
    return NearestClassifier(HashEmbedder(256), lambda: MOVED)


@pytest.mark.parametrize("tier", ["critical", "notable", "background"])
def test_what_is_like_moved_notes_gets_their_tier(nearest: NearestClassifier, tier: str) -> None:
    MOVED[:] = (LabelledText(f"Gulls on the roof of hall {n}, about ten.", tier) for n in "12")

    assert nearest.classify([GULLS]) == [tier]


def test_the_nearest_examples_are_the_reason(nearest: NearestClassifier) -> None:
    MOVED[:] = [LabelledText(GULLS.content, "critical")]

    reasons = nearest.explain(GULLS)

    assert reasons[0] == f"critical: moved by a person, 1.00 ({GULLS.content})"
    assert "an example" in reasons[1]


def test_examples_are_embedded_and_fitted_once_for_each_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    fits = Mock(wraps=np.linalg.solve)
    monkeypatch.setattr(np.linalg, "solve", fits)

    class Counting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            asked.append(len(texts))
            return super().embed(texts)

    moved: list[LabelledText] = []
    nearest = NearestClassifier(Counting(), lambda: moved)
    nearest.classify([GULLS])
    nearest.classify([GULLS])
    assert asked[1:] == [1, 1]
    moved.append(LabelledText("Terns, too.", "critical"))
    nearest.classify([GULLS])
    nearest.explain(GULLS)
    assert asked[3:] == [1, 1, 1]
    assert fits.call_count == 2


def test_observations_stay_pending_while_the_embedder_fails() -> None:
    broken = NearestClassifier(Broken())

    assert broken.classify([GULLS, GULLS]) == [None, None]
    assert broken.explain(GULLS) == ("no model",)
