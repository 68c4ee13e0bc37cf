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
    "january february March april May june july august september october november december Jan"
    " Feb Apr Jun Jul Aug Sep Sept Oct Nov Dec Okt Dez monday tuesday wednesday thursday friday"
    " saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays days week"
    " weeks weekend weekends month months year years decade decades clock ago recently currently"
    " since after before during today tomorrow tonight yesterday morning mornings noon afternoon"
    " evening evenings night nights midnight spring summer summers autumn winter winters"
    " christmas easter holidays halloween thanksgiving birthday birthdays anniversary"
    " januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag"
    " freitag samstag sonntag tagen woche wochen wochenende monat monate monaten jahr jahre jahren"
    " jahrzehnt gestern heute seit vorgestern morgen morgens mittag mittags nachmittag"
    " abend abends nacht nachts mitternacht uhr frühling frühjahr sommer herbst weihnachten ostern"
    " silvester geburtstag nachdem bevor während danach neulich kürzlich kurzem"
    " janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi"
    " mercredi jeudi vendredi samedi dimanche jours semaine semaines mois ans année années"
    " décennie aujourd demain depuis hier matin midi soir nuit minuit printemps automne hiver noël"
    " pâques anniversaire après avant pendant récemment veille lendemain"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " lunes martes miércoles jueves viernes sábado domingo días semana semanas mes meses año años"
    " década hace ayer anoche hoy mañana mediodía tarde noche medianoche primavera verano otoño"
    " invierno navidad pascua cumpleaños después antes durante recientemente siguiente"
)
_NUMBER_WORDS = (
    "another both billion couple daily double dozen dozens every few half hundred hundreds"
    " million millions monthly none once pair several single thousand thousands triple triplets"
    " twice twin twins weekly yearly zero"
    " first second third fourth fifth sixth seventh eighth ninth tenth"
    " beide beiden dutzend dutzende dreimal einmal hundert hunderte jeden jedes keine keinen"
    " mehrere million millionen paar tausend tausende täglich wöchentlich zweimal zwilling"
    " zwillinge erste ersten erster erstes zweite zweiten zweiter zweites dritte dritten dritter"
    " drittes"
    " aucun aucune cent centaine chaque dizaine douzaine jumeaux jumelles mille plusieurs quelques"
    " premier première deuxième troisième quatrième"
    " ambas ambos cada cien cientos docena gemelas gemelos mil miles millón millones ningún"
    " ninguna ninguno varias varios primer primera primero segunda segundo tercer tercera tercero"
)
KINDS = (
    AnswerKind(
        # *When I start a project, what comes first?* asks for no time.
        r"\bwhen(?:['’]s|(?:,?\s+exactly)?,?"
        r"\s+(?:am|are|can|could|did|do|does|had|has|have|is|might|should|was|were|will|would))\b"
        r"|\b(?:what|which)\s+(?:date|day|month|season|time|week|weekday|weekend|year)\b"
        r"|\bwann\b|\bwelche[mnrs]?\s+(?:datum|jahr|monat|tag|uhrzeit|woche)\b"
        r"|\bquand\b(?![^?]{0,200},)|\bquel(?:le)?s?\s+(?:année|date|heure|jour|mois|semaine)\b"
        r"|\bcuándo\b|\bqué\s+(?:año|día|fecha|hora|mes|semana)\b"
        r"|いつ(?!も)|何(?:年|月|日|時|曜日)",
        frozenset(_TIME_WORDS.split()),
        r"\b(?:1\d|20)\d\d\b|\b\d{1,2}(?:[.:/]\d{1,2}|(?i:st|nd|rd|th|h|\s?[ap]\.?m))\b|\d0['’]?s\b"
        r"|\b(?:[Tt]he\s+other\s+day|[Nn]ach\s+(?:de|eine|meine|unsere)[mnr])\b"
        # The lookahead skips Latin letters ten times as fast.
        rf"|(?=[\d\u3000-\uffff])(?:(?:\d|{JAPANESE_NUMBER})[年月日時]|今[日朝夜晩週月年]|[去昨先来]年"
        r"|[先来][週月]|[昨明]日|昨[夜晩]|先日|一昨日|明後日|きのう|きょう|あした|[月火水木金土日]曜|[春夏秋冬朝昼夜]|夕方|午[前後]"
        r"|誕生日|正月|クリスマス|後(?!ろ)|(?<!名)前)",
        "names no time, which is asked for (ranked lower)",
    ),
    AnswerKind(
        r"\bhow\s+(?:far|long|many|much|often|old)\b|\b(?:what|which)\s+age\b"
        r"|\bwie\s*(?:alt|lange|oft|viele?|weit)\b"
        r"|\bcombien\b|\bquel\s+âge\b|\bcu[áa]nt[oa]s?\b|\bqué\s+edad\b"
        r"|いくつ|いくら|ど[のれ]くらい|何(?:人|個|回|歳|才|分|本|枚|台|冊)",
        frozenset(NUMBER_OF_WORD).union(_NUMBER_WORDS.split()),
        # As in *how long* and *how often*; *one* alone is mostly an article.
        r"\b(?:(?:[Aa]n?|[Ee]ine?m?|[Uu]n[ea]?)\s+(?:hour|day|week|month|year|decade|Stunde|Tag|Woche"
        r"|Monat|Jahr|heure|jour|semaine|mois|an|hora|día|semana|mes|año)"
        r"|(?:[Jj]ust|[Oo]nly|[Nn]ur|[Ss]eulement|[Ss][oó]lo)\s+(?:one|eine?[nrs]?|un[aeo]?)"
        r"|[Uu]n\s+par)\b"
        rf"|\d|{JAPANESE_NUMBER}|[百千万]|両方|双子|(?:ひと|ふた)[つり]|毎[日週月年回]",
        "names no number, which is asked for (ranked lower)",
    ),
)
"""The first that a question asks for counts."""


def asked_kind(question: str) -> AnswerKind | None:
    """The kind of answer that a question asks for; None for most questions."""
    return next((x for x in KINDS if compiled(x.asks, re.IGNORECASE).search(question)), None)
