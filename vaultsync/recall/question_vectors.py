"""Embed a question: as one vector, or as one for each of the two events that it compares.

Each event has a fact of its own. The vector of *How many days passed between the review of the
draft and the launch of the site?* lies between those of the two facts, and near neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import fsum, hypot

from vaultsync.indexing.instructions import instructions_for
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
