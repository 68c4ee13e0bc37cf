"""Tiers by semantic similarity to labelled observations, combined with the rules.

The examples are those of the package, and the observations whose notes the user moved between the
folders of the tiers. A ridge regression of the tiers on the vectors of all examples scores a text.
The user's examples have a higher weight, and the more of them are near a text, the less weight
the rules have.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vaultsync.backends.replace_file import read_file, try_replace
from vaultsync.errors import EmbedderError
from vaultsync.indexing.ports import Embedder
from vaultsync.observations.classifier import ObservedText
from vaultsync.observations.fitted_tiers import TIERS_SCORED, tier_scores
from vaultsync.observations.labelled import LabelledText, shipped_examples
from vaultsync.observations.rules import signal_strengths, tier_by_scores
from vaultsync.observations.text_features import EXAMINED_CHARS

NEIGHBOURS = 12
MIN_SIMILARITY = 0.2
"""The minimum cosine of an example that counts."""
PERSON_WEIGHT = 4.0
"""The relative weight of the user's examples."""
RULES_SHARE = 0.6
"""The weight of the rules if no example of the user is near."""
RIDGE, BIAS = 2.0, 0.3
"""The regularisation of the regression, and the value of its constant feature."""
_SHOWN_CHARS = 80
_KEPT_AT_ONCE = 1_000
"""The number of examples after which their vectors are kept."""
_log = logging.getLogger(__name__)


class NearestClassifier:
    """Combines similar examples with the rules.

    Args:
        embedder: computes the vectors; while it fails, observations stay pending.
        folder: where the vectors of the shipped examples are kept. To compute them takes minutes:
            a process that is ended before leaves to the next one what it has.
        moved: returns the observations that the user moved.
    """

    name = "nearest examples"

    def __init__(
        self, embedder: Embedder, folder: Path, moved: Callable[[], Sequence[LabelledText]] = tuple
    ) -> None:
        self._embedder = embedder
        self._path = folder / "examples.vectors"
        self._moved = moved
        self._vectors: dict[str, NDArray[np.float32]] = {}
        """Text of an example -> its vector."""
        self._fitted: _Examples | None = None

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        """The tier of each text, in order; None for all while the embedder fails."""
        if not texts:
            return []
        try:
            examples = self._examples()
            vectors = self._embed([each.content for each in texts])
        except EmbedderError as error:
            _log.warning("observations stay pending: %s", error)
            return [None] * len(texts)
        return [
            examples.tier(each.content, vector) for each, vector in zip(texts, vectors, strict=True)
        ]

    def explain(self, text: ObservedText) -> tuple[str, ...]:
        """The nearest examples with their tiers, nearest first."""
        try:
            examples = self._examples()
            [vector] = self._embed([text.content])
        except EmbedderError as error:
            return (str(error),)
        return tuple(examples.nearest(vector))

    def _examples(self) -> _Examples:
        """The examples, fitted again when the user moved one."""
        texts = [*(moved := self._moved()), *shipped_examples()]
        if self._fitted is None or self._fitted.texts != texts:
            self._vectors = self._vectors or self._shipped_vectors()
            missing = [each.text for each in moved if each.text not in self._vectors]
            if missing:
                self._vectors.update(zip(missing, self._embed(missing), strict=True))
            vectors = np.asarray([self._vectors[each.text] for each in texts], dtype=np.float64)
            self._fitted = _Examples(texts, len(moved), vectors)
        return self._fitted

    def _shipped_vectors(self) -> dict[str, NDArray[np.float32]]:
        """The vectors of the shipped examples, of which those that are missing are computed."""
        texts = [each.text for each in shipped_examples()]
        dimension = self._embedder.dimension
        made_of = json.dumps([self._embedder.model, dimension, texts])
        identity = sha256(made_of.encode()).hexdigest()
        rows = np.frombuffer(self._kept(identity), np.float32).reshape(-1, dimension)
        while len(rows) < len(texts):
            more = self._embed(texts[len(rows) : len(rows) + _KEPT_AT_ONCE])
            rows = np.concatenate([rows, more])
            body = rows.tobytes()
            try_replace(self._path, _seal(identity, body) + body)
        return dict(zip(texts, rows, strict=True))

    def _kept(self, identity: str) -> bytes:
        """The vectors in the file; empty if they are of others, or damaged."""
        try:
            seal, end, body = read_file(self._path).partition(b"\n")
        except OSError:
            return b""
        return body if seal + end == _seal(identity, body) else b""

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        cut = [each[:EXAMINED_CHARS] for each in texts]
        return np.asarray(self._embedder.embed(cut), dtype=np.float32)


def _seal(identity: str, body: bytes) -> bytes:
    return f"{identity} {crc32(body)}\n".encode()


class _Examples:
    """The labelled texts with their vectors."""

    def __init__(
        self, texts: Sequence[LabelledText], moved: int, vectors: NDArray[np.float64]
    ) -> None:
        """Fit them; the first `moved` ones are those of the user."""
        self.texts = texts
        self._moved = moved
        self._vectors = vectors
        self._tiers = np.array([TIERS_SCORED.index(each.tier) for each in texts])
        counts = np.bincount(self._tiers, minlength=len(TIERS_SCORED))
        importance = len(self._tiers) / (len(TIERS_SCORED) * counts[self._tiers])
        """Weights of examples, so that a tier with many of them does not win by their number."""
        importance[: self._moved] *= PERSON_WEIGHT
        self._importance = importance
        rows = _with_constant(self._vectors)
        weighed = rows.T * importance
        self._weights = np.linalg.solve(
            weighed @ rows + RIDGE * np.eye(rows.shape[1]),
            weighed @ np.eye(len(TIERS_SCORED))[self._tiers],
        )

    def tier(self, text: str, vector: NDArray[np.float64]) -> str:
        near, similarities = self._near(vector)
        votes = np.maximum(similarities - MIN_SIMILARITY, 0) * self._importance[near]
        moved = near < self._moved
        by_people = float(votes[moved].sum()) / (float(votes.sum()) or 1.0)
        by_tier = np.bincount(self._tiers[near], votes * moved, len(TIERS_SCORED))
        of_people = by_people * by_tier / (float(by_tier.sum()) or 1.0)
        strengths = {name: (1 - by_people) * each for name, each in signal_strengths(text).items()}
        share = RULES_SHARE * (1 - by_people)
        scores = share * np.asarray(tier_scores(text, strengths))
        meaning = (1 - by_people) * (_with_constant(vector) @ self._weights)
        return tier_by_scores(text, list(scores + (1 - share) * (meaning + of_people)), strengths)

    def nearest(self, vector: NDArray[np.float64]) -> list[str]:
        """The nearest examples, as texts."""
        near, similarities = self._near(vector)
        return [
            f"{self.texts[at].tier}: {'moved by a person' if at < self._moved else 'an example'},"
            f" {similarity:.2f} ({self.texts[at].text[:_SHOWN_CHARS]})"
            for at, similarity in zip(near.tolist(), similarities.tolist(), strict=True)
            if similarity >= MIN_SIMILARITY
        ][:3]

    def _near(self, vector: NDArray[np.float64]) -> tuple[NDArray[np.int_], NDArray[np.float64]]:
        similarities = self._vectors @ vector
        near = np.argsort(-similarities, kind="stable")[:NEIGHBOURS]
        return near, similarities[near]


def _with_constant(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors with an appended constant feature."""
    constant = np.full((*vectors.shape[:-1], 1), BIAS**0.5)
    return np.concatenate([vectors, constant], axis=-1)
