"""Embed a question: as one vector, or as one for each of the two events that it compares.

Each event has a fact of its own. The vector of *How many days passed between the review of the
draft and the launch of the site?* lies between those of the two facts, and near neither.

The constants of ranking, confidence and silence were fitted to cosines of the default model, by
which unrelated texts have about 0.05. By other models they have 0.5 or 0.8 (Ethayarajh, *How
Contextual are Contextualized Word Representations?*, 2019): then each question seems to have an
answer, and the differences between candidates weigh little. So cosines are put on the scale of
the default model; a linear map keeps the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, hypot
from operator import mul
from statistics import median
from types import MappingProxyType
from weakref import WeakKeyDictionary

from msgspec import Struct

from vaultsync.indexing.embedding_texts import instructions_for
from vaultsync.indexing.ports import Embedder

_FORMS = (
    (
        "how (?:long|much time|many (?:days|weeks|months|years|hours|minutes))",
        (
            "are did do does elapsed had has have I is it lay lie pass passed take there took was"
            " we went by were will"
        ),
        " between ",
        " and ",
    ),
    (
        "wie (?:lange|viele? (?:zeit|tage|wochen|monate|jahre|stunden|minuten))",
        (
            "dauert dauerte es habe haben hatte hatten ich ist lag lagen liegen liegt sind vergehen"
            " verging vergingen war waren wir"
        ),
        " zwischen ",
        " und ",
    ),
    (
        "combien de (?:temps|jours|semaines|mois|années|heures|minutes)",
        (
            "a a-t-il ai-je avait-il avons-nous il ont passé s'est s'est-il se sont y"
            " écoulé écoulée écoulées écoulés"
        ),
        " entre ",
        " et ",
    ),
    (
        "cuánt[oa]s? (?:tiempo|días|semanas|meses|años|horas|minutos)",
        "ha había han hay hubo pasado pasan pasaron pasó tenemos tengo transcurrieron transcurrió",
        " entre ",
        " y ",
    ),
)
"""What asks for a duration, per language: how, the words that may follow, and those around the
first event. Any other word is a topic, which the events alone do not have: *How long does slack
water last between high and low tide?*"""


def question_vectors(
    embedder: Embedder, question: str, in_english: str = ""
) -> Sequence[Sequence[float]]:
    """The vector of a question, or those of the two events that it compares.

    Args:
        embedder: what embeds it, with the prefix that the model expects.
        question: the question.
        in_english: its translation; then the vector is the mean of both.
    """
    before = instructions_for(embedder.model).question
    texts = (question, in_english) if in_english else compared_events(question) or (question,)
    vectors = embedder.embed([before + each for each in texts])
    return [mean_direction(vectors)] if in_english else vectors


def mean_direction(vectors: Sequence[Sequence[float]]) -> list[float]:
    """The mean of vectors, normalized to unit length."""
    total = [fsum(values) for values in zip(*vectors, strict=True)]
    length = hypot(*total) or 1.0
    return [each / length for each in total]


def compared_events(question: str) -> tuple[str, ...]:
    """The two events whose distance in time a question asks for, as written; else none.

    The last *and* divides them. A single word is no event: *between Oslo and Bergen*.
    """
    for asks, others, before, between in _FORMS:
        asked, _, rest = question.partition(before)
        events = rest.partition("?")[0].rsplit(between, 1)
        if (
            len(events) > 1
            and all(len(each.split()) > 1 for each in events)
            and re.search(rf"\b{asks}(?: (?:{others.replace(' ', '|')}))*\Z", asked, re.IGNORECASE)
        ):
            return tuple(each.strip() for each in events)
    return ()


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


def foreign_scale(embedder: Embedder, languages: Iterable[str]) -> CosineScale | None:
    """The scale of the default model's cosines in the first language that it hardly knows.

    Returns: None for another model or other languages.
    """
    unrelated = next(filter(None, map(UNRELATED_IN.get, languages)), None)
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
