"""What a question asks for, a time or a number, and whether a message has one.

In English, German, French, Spanish and Japanese. It may be another time or number than the one
asked for; a message without any hardly answers *When did Anna move?*.
"""

from __future__ import annotations

import re

from msgspec import Struct

from vaultsync.model.lazy_pattern import compiled
from vaultsync.model.number_words import JAPANESE_NUMBER, NUMBER_OF_WORD


class AnswerKind(Struct, frozen=True):
    """A kind of answer."""

    asks: str
    """The pattern of questions for it."""
    words: frozenset[str]
    """The words that show it, in lower case unless a small letter makes another word of one."""
    written: str
    """The pattern of what else shows it."""
    without: str
    """The remark for a message without it, for `explain_hit()`."""

    def is_in(self, text: str) -> bool:
        """Whether a text has such an answer."""
        words = re.findall(r"\w+", text)
        return bool(
            not self.words.isdisjoint((*words, *map(str.lower, words)))
            or compiled(self.written).search(text)
        )


_TIME_WORDS = (
    "january february March april May june july august september october november december"
    " monday tuesday wednesday thursday friday saturday sunday days week weeks weekend month months"
    " year years ago recently since today tomorrow tonight yesterday"
    " januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag"
    " freitag samstag sonntag tagen woche wochen wochenende monat monate monaten jahr jahre jahren"
    " gestern heute seit vorgestern"
    " janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi"
    " mercredi jeudi vendredi samedi dimanche jours semaine semaines mois ans année années"
    " aujourd demain depuis hier"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " lunes martes miércoles jueves viernes sábado domingo días semana semanas mes meses año años"
    " ayer hoy mañana"
)
_NUMBER_WORDS = (
    "couple dozen half hundred once several thousand twice"
    " einmal hundert tausend cent mille cien mil"
)
KINDS = (
    AnswerKind(
        # *When I start a project, what comes first?* asks for no time.
        r"\bwhen(?:['’]s|\s+(?:are|can|could|did|do|does|had|has|have|is|should|was|were|will))\b"
        r"|\b(?:what|which)\s+(?:date|day|month|season|time|week|weekday|weekend|year)\b"
        r"|\bwann\b|\bwelche[mnrs]?\s+(?:datum|jahr|monat|tag|uhrzeit|woche)\b"
        r"|\bquand\b(?![^?]{0,200},)|\bquel(?:le)?s?\s+(?:année|date|heure|jour|mois|semaine)\b"
        r"|\bcuándo\b|\bqué\s+(?:año|día|fecha|hora|mes|semana)\b"
        r"|いつ|何(?:年|月|日|時|曜日)",
        frozenset(_TIME_WORDS.split()),
        r"\b(?:19|20)\d\d\b|\b\d{1,2}(?:[.:/]\d{1,2}|st|nd|rd|th)\b"
        r"|\d[年月日時]|昨日|今日|明日|先[週月]|来[週月年]|[去昨今]年|[月火水木金土日]曜",
        "names no time, which is asked for (ranked lower)",
    ),
    AnswerKind(
        r"\bhow\s+(?:far|long|many|much|often|old)\b|\bwie\s*(?:alt|lange|oft|viele?|weit)\b"
        r"|\bcombien\b|\bquel\s+âge\b|\bcuánt[oa]s?\b|\bqué\s+edad\b"
        r"|いくつ|いくら|ど[のれ]くらい|何(?:人|個|回|歳|才|分|本|枚|台|冊)",
        frozenset(NUMBER_OF_WORD).union(_NUMBER_WORDS.split()),
        rf"\d|{JAPANESE_NUMBER}",
        "names no number, which is asked for (ranked lower)",
    ),
)
"""The first that a question asks for counts."""


def asked_kind(question: str) -> AnswerKind | None:
    """The kind of answer that a question asks for; None for most questions."""
    return next((x for x in KINDS if compiled(x.asks, re.IGNORECASE).search(question)), None)
