"""Put the cosines of any model on the scale of the default model.

The constants of ranking, confidence and silence were fitted to cosines of the default model, by
which unrelated texts have about 0.05. By other models they have 0.5 or 0.8 (Ethayarajh, *How
Contextual are Contextualized Word Representations?*, 2019): then each question seems to have an
answer, and the differences between candidates weigh little. A linear map keeps the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from operator import mul
from statistics import median
from types import MappingProxyType
from weakref import WeakKeyDictionary

from msgspec import Struct

from vaultsync.indexing.instructions import instructions_for
from vaultsync.indexing.ports import Embedder

DEFAULT_UNRELATED = 0.05
"""The median cosine of `UNRELATED_TEXTS` by the default model, by which this is 0.045."""
DEFAULT_MODELS = ("all-MiniLM-L6-v2", "hash-1")
"""The models whose cosines stay as they are, by the beginnings of their names: the default one,
and the one without meaning."""
UNRELATED_IN: Mapping[str, float] = MappingProxyType(
    {"german": 0.39, "french": 0.48, "spanish": 0.48}
)
"""Language -> the median of these sentences in it, by the default model, which knows English: it
takes most texts in one other language for similar. Their order is still of use."""
INDISTINGUISHABLE = 0.99
"""By a model with this median or more, all texts are alike; no scale helps."""
UNRELATED_TEXTS = (
    "The council approved the new bus timetable.",
    "Red wine leaves stains on cotton.",
    "Restart the server after every update.",
    "My sister plays the cello in an orchestra.",
    "The invoice is due at the end of March.",
    "Penguins lose their feathers once a year.",
    "He wants shorter meetings on Mondays.",
    "The bridge was closed because of high winds.",
    "Use tabs for indentation in the Makefile.",
    "Their flight to Lisbon leaves at noon.",
    "Tomatoes need at least six hours of sun.",
    "The contract ends when both sides agree.",
)
"""Sentences with nothing in common."""


class CosineScale(Struct, frozen=True):
    """The scale of a model's cosines."""

    unrelated: float = DEFAULT_UNRELATED
    """The typical cosine of unrelated texts, below 1."""

    def rescale(self, cosine: float) -> float:
        """The cosine that the default model would typically have; 1 stays 1."""
        return 1 - (1 - cosine) * ((1 - DEFAULT_UNRELATED) / (1 - self.unrelated))


def foreign_scale(embedder: Embedder, language: str | None) -> CosineScale | None:
    """The scale of the default model's cosines in a language that it hardly knows.

    Returns: None for another model or language.
    """
    unrelated = UNRELATED_IN.get(language or "")
    is_default = embedder.model.startswith(DEFAULT_MODELS[0])
    return CosineScale(unrelated) if unrelated and is_default else None


def cosine_scale(embedder: Embedder) -> CosineScale:
    """The scale of an embedder's cosines, measured once by unrelated questions and texts.

    Raises:
        EmbedderError: the model is missing or its service does not answer.
    """
    if embedder.model.startswith(DEFAULT_MODELS):
        return CosineScale()
    if embedder not in _measured:
        _measured[embedder] = _measure(embedder)
    return _measured[embedder]


_measured: WeakKeyDictionary[Embedder, CosineScale] = WeakKeyDictionary()


def _measure(embedder: Embedder) -> CosineScale:
    before, half = instructions_for(embedder.model), len(UNRELATED_TEXTS) // 2
    questions = [before.question + each for each in UNRELATED_TEXTS[:half]]
    texts = [before.text + each for each in UNRELATED_TEXTS[half:]]
    vectors = embedder.embed([*questions, *texts])
    unrelated = median(
        fsum(map(mul, question, text)) for question in vectors[:half] for text in vectors[half:]
    )
    return CosineScale(unrelated) if unrelated < INDISTINGUISHABLE else CosineScale()
