"""Whether a question asks for a time, a frequency or a number, and a text has one.

In English, German, French, Spanish and Japanese. It may be another time or number than the one
asked for; a message without any hardly answers *When did Anna move?*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from vaultsync.model.fact import Fact, is_turn
from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.model.number_words import JAPANESE_NUMBER, NUMBER_OF_WORD

LACKING_FACTOR = 0.7
"""Factor on the similarity of a turn or a short fact without a time or number, if the question
asks for one. Measured: with 0.6 to 0.9, LoCoMo's MRR rises by 0.2 to 0.8 points
(docs/decisions/0099)."""
MAX_LACKING_FACT = 300
"""Maximum number of characters of such a fact; nearly all longer ones have some number."""


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
_FREQUENCY_WORDS = (
    "always annually biweekly daily each every fortnightly hourly monthly never nightly"
    " occasionally often once quarterly rarely regularly seldom sometimes thrice twice usually"
    " weekly yearly"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays mornings evenings nights"
    " weekdays weekends"
    " dreimal einmal gelegentlich immer jährlich jede jeden jeder jedes manchmal meist monatlich"
    " nie regelmäßig selten stündlich täglich vierteljährlich wöchentlich zweimal oft montags"
    " dienstags"
    " mittwochs donnerstags freitags samstags sonntags morgens abends nachts werktags"
    " chaque toujours jamais souvent parfois rarement régulièrement quotidien quotidiennement"
    " hebdomadaire mensuel mensuellement annuel"
    " cada siempre nunca diario diaria diariamente semanal semanalmente mensual mensualmente anual"
    " regularmente"
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
        r"\bhow\s+(?:often|frequently)\b|\bwie\s*oft\b|\bquelle\s+fréquence\b"
        r"|\bcada\s+cuánto\b|\bqué\s+frecuencia\b",
        frozenset(_FREQUENCY_WORDS.split()),
        r"\b(?:times|mal|fois|veces)\b"
        r"|\b(?:(?:per|an?|pro|par|por)|(?i:tous\s+les|toutes\s+les|todos\s+los|todas\s+las))\s+"
        r"(?:hour|day|night|week|month|quarter|year|Stunde|Tag|Woche|Monat|Quartal|Jahr|heures?|jours?"
        r"|semaines?|mois|ans?|horas?|días?|semanas?|mes(?:es)?|años?)\b"
        r"|\blos\s+(?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)\b"
        r"|毎[日朝晩週月年回]|[日週月年]に",
        "names no frequency, which is asked for (ranked lower)",
    ),
    AnswerKind(
        r"\bhow\s+(?:far|long|many|much|old)\b|\b(?:what|which)\s+age\b"
        r"|\bwie\s*(?:alt|lange|viele?|weit)\b"
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

_ELAPSED = lazy_pattern(
    r"\b(?:ago|between|passed|since|how\s+long|(?:day|week|month|year)s"
    r"|lange|her|zwischen|vergingen|seit|tagen?|wochen|monaten?|jahren?"
    r"|entre|depuis|temps|jours|semaines|mois|ann?[ée]es"
    r"|desde|hace|tiempo|d[ií]as|semanas|meses|años)\b",
    re.IGNORECASE,
)
"""In a question for how much time passed, which the days of two facts tell."""


def asked_kind(question: str) -> AnswerKind | None:
    """The kind of answer that a question asks for; None for most questions."""
    return next((x for x in KINDS if compiled(x.asks, re.IGNORECASE).search(question)), None)


def lacking_facts(question: str, facts: Mapping[str, Fact], *, is_of_past: bool) -> dict[str, str]:
    """Short facts without the time or number that a question asks for -> the remark about them.

    Dialogues have rules of their own (`recall/dialogue_turns.py`).

    Args:
        question: the question.
        facts: the candidates, by id.
        is_of_past: whether it is about the past: when something was, or how long ago, may be told
            by the day of the fact itself.
    """
    kind = asked_kind(question)
    is_by_day = is_of_past and (kind is KINDS[0] or _ELAPSED.search(question))
    if kind is None or is_by_day:
        return {}
    return {
        x: kind.without for x, fact in facts.items() if not is_turn(fact) and _lacks(kind, fact)
    }


def _lacks(kind: AnswerKind, fact: Fact) -> bool:
    fields = (fact.title, fact.context, fact.content, *fact.own.values(), *fact.properties.values())
    text = "\n".join(each for each in fields if isinstance(each, str))
    return len(text) <= MAX_LACKING_FACT and not kind.is_in(text)
