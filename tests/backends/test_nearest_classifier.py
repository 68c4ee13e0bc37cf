"""The nearest examples decide, and those of a person most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from vaultsync.backends.classifiers.nearest_classifier import _KEPT_AT_ONCE, NearestClassifier
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.errors import EmbedderError
from vaultsync.observations.classifier import ObservedText
from vaultsync.observations.labelled import LabelledText, shipped_examples

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
def nearest(tmp_path_factory: pytest.TempPathFactory) -> NearestClassifier:
    """It has computed the vectors of the thousands of examples once."""
    folder = tmp_path_factory.mktemp("examples")
    return NearestClassifier(HashEmbedder(256), folder, lambda: MOVED)


@pytest.mark.parametrize("tier", ["critical", "notable", "background"])
def test_what_is_like_moved_notes_gets_their_tier(nearest: NearestClassifier, tier: str) -> None:
    MOVED[:] = (LabelledText(f"Gulls on the roof of hall {n}, about ten.", tier) for n in "12")

    assert nearest.classify([GULLS]) == [tier]


def test_the_nearest_examples_are_the_reason(nearest: NearestClassifier) -> None:
    MOVED[:] = [LabelledText(GULLS.content, "critical")]

    reasons = nearest.explain(GULLS)

    assert reasons[0] == f"critical: moved by a person, 1.00 ({GULLS.content})"
    assert "an example" in reasons[1]


class Counting(HashEmbedder):
    """Counts the texts of each call, and fails at one of them."""

    def __init__(self, fails_at: int = 0) -> None:
        super().__init__()
        self.asked: list[int] = []
        self._fails_at = fails_at

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(len(texts))
        if len(self.asked) == self._fails_at:
            raise EmbedderError("the machine is switched off")
        return super().embed(texts)


def test_examples_are_fitted_once_for_each_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = Mock(wraps=np.linalg.solve)
    monkeypatch.setattr(np.linalg, "solve", fits)
    moved: list[LabelledText] = []
    embedder = Counting()
    nearest = NearestClassifier(embedder, tmp_path, lambda: moved)
    nearest.classify([GULLS])
    embedder.asked.clear()
    nearest.classify([GULLS])
    assert embedder.asked == [1]
    moved.append(LabelledText("Terns, too.", "critical"))
    nearest.classify([GULLS])
    nearest.explain(GULLS)
    assert embedder.asked == [1, 1, 1, 1]
    assert fits.call_count == 2


def test_what_a_process_embedded_of_the_examples_is_kept_for_the_next_one(tmp_path: Path) -> None:
    assert NearestClassifier(Counting(4), tmp_path).classify([GULLS]) == [None]
    second = Counting()
    tier = NearestClassifier(second, tmp_path).classify([GULLS])
    assert sum(second.asked) == len(shipped_examples()) - 3 * _KEPT_AT_ONCE + 1
    third = Counting()
    assert NearestClassifier(third, tmp_path).classify([GULLS]) == tier
    assert third.asked == [1]
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-4] + b"\0\0\0\1")
    fourth = Counting()
    assert NearestClassifier(fourth, tmp_path).classify([GULLS]) == tier
    assert sum(fourth.asked) == len(shipped_examples()) + 1


def test_observations_stay_pending_while_the_embedder_fails(tmp_path: Path) -> None:
    broken = NearestClassifier(Broken(), tmp_path)

    assert broken.classify([GULLS, GULLS]) == [None, None]
    assert broken.explain(GULLS) == ("no model",)
