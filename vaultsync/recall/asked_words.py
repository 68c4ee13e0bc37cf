"""The words by which a question names a type, a state or an order, in four languages.

Words with other common meanings (note, fact, rule) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS
from vaultsync.indexing.ports import NEWEST, OLDEST
from vaultsync.model.canonical import tag_keys_with_parents
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import WITH_STATE

OPEN, OVERDUE, DONE, DUE, REPLACED = "open", "overdue", "done", "due", "replaced"
STARTED, UNSTARTED, UNDATED = "started", "unstarted", "undated"
BLOCKED, DROPPED = "blocked", "dropped"
CLOSED = frozenset({DONE, DROPPED})
"""The states of tasks that are no longer open."""


class AskedFor(Struct, frozen=True):
    """What a question asks for besides its topic."""

    types: frozenset[str] = frozenset()
    """The types of facts that it asks for."""
    hinted_types: frozenset[str] = frozenset()
    """The types it mentions, including those it asks for."""
    order: str = ""
    """`newest` or `oldest`; empty for the default."""
    state: str = ""
    """`open`, `started`, `blocked`, `unstarted`, `undated`, `overdue`, `done`, `dropped`, `due`,
    `replaced` or empty."""
    topic: tuple[str, ...] = ()
    """The words of its topic; empty if it asks for a whole set."""
    is_one: bool = False
    """Whether it asks for one fact of an order: *our latest decision*."""
    is_upcoming: bool = False
    """Whether what is over by its due date comes last: *upcoming deadlines*."""


_ENDINGS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "~": ("", "e", "en", "er", "es", "em"),  # German
        "-": ("e", "en", "er", "es", "em"),
        "^": ("", "e", "s", "es"),  # French
        "*": ("o", "a", "os", "as"),  # Spanish
    }
)
"""Sign behind an adjective -> its endings."""


def inflected(text: str) -> str:
    """Words with all endings of the adjectives among them: `offen~`, `ouvert^`, `abiert*`."""
    return " ".join(
        f"{word.rstrip('~-^*')}{ending}"
        for word in text.split()
        for ending in _ENDINGS.get(word[-1], ("",))
    )


def word_set(text: str) -> frozenset[str]:
    """The words of a text, with all endings of its adjectives."""
    return frozenset(inflected(text).split())


TYPE_NOUNS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "decision decisions entscheidung entscheidungen beschluss beschlüsse décision"
        " décisions decisión decisiones",
        "commitment": "commitment commitments promise promises zusage zusagen versprechen"
        " verpflichtung verpflichtungen promesse promesses engagement engagements promesa promesas"
        " compromiso compromisos",
        "lesson": "lesson lessons learnings lektion lektionen lehre lehren erkenntnis erkenntnisse"
        " leçon leçons enseignements lección lecciones enseñanza enseñanzas",
        "observation": "observation observations beobachtung beobachtungen observación"
        " observaciones",
        "preference": "preference preferences vorliebe vorlieben präferenz präferenzen préférence"
        " préférences preferencia preferencias",
        "task": "tasks todos aufgabe aufgaben tâche tâches tarea tareas",
        "episodic": "episode episodes",
        "correction": "correction corrections korrektur korrekturen corrección correcciones",
        "convention": "convention conventions konvention konventionen convención convenciones",
        "person": "people persons personen leute personnes gens personas gente",
        "project": "projects projekte projets proyectos",
    }
)
"""Type -> the nouns for it."""
_OTHER_TAGS = {
    "convention": "規約 慣習",
    "correction": "訂正",
    "decision": "決定",
    "lesson": "教訓",
    "observation": "観察 観測",
    "person": "person personne persona 人物",
    "preference": "好み",
    "project": "project projekt projet proyecto プロジェクト",
}
"""Nouns in Japanese, and others that have other meanings in questions, which are tags, too."""
TAGS_OF_TYPE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        name: frozenset(f"{nouns} {_OTHER_TAGS.get(name, '')}".split())
        for name, nouns in TYPE_NOUNS.items()
        if name not in WITH_STATE
    }
)
"""Type -> the tags by which a note is of the type, too: `#projekt`. Tasks are another matter: a
note with `#task` often is one about tasks."""


def is_of_type(fact: Fact, types: AbstractSet[str]) -> bool:
    """Whether a fact has one of the types, or is a note with a tag for one: `#projekt`."""
    if fact.type in types or fact.type != "note" or types <= WITH_STATE:
        return fact.type in types
    from vaultsync.model.inline_tags import all_tags, may_be_tagged  # noqa: PLC0415 - notes only

    if not may_be_tagged(fact):
        return False
    tags = tag_keys_with_parents(all_tags(fact))
    return any(not tags.isdisjoint(TAGS_OF_TYPE.get(each, ())) for each in types)


TYPE_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "decide decided entschieden entscheiden beschlossen décidé décidés decidido"
        " decidimos decidí decidió",
        "commitment": "promise promised versprochen zugesagt promis prometido prometimos prometí"
        " prometió",
        "lesson": "learned learnt learn gelernt appris aprendido aprendimos aprendí",
        "observation": "observe observed notice noticed beobachtet bemerkt observé remarqué"
        " observamos notamos",
        "preference": "prefer prefers bevorzugt préfère prefiere",
    }
)
"""Type -> the verbs for creating it."""
STATE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        OVERDUE: inflected("overdue late überfällig~ retard vencid* atrasad*"),
        OPEN: inflected(
            "open pending outstanding unfinished unkept undone unfulfilled incomplete upcoming next"
            " offen~ ausstehend~ unerledigt~ unerfüllt~ anstehend~ nächst-"
            " ouvert^ prochain^ abiert* próxim* pendiente pendientes"
        ),
        DONE: inflected(
            "done finished completed closed kept fulfilled erledigt~ gehalten~ eingehalten~"
            " abgeschlossen~ fertig~ terminé^ tenu^ terminad* terminamos terminó cumplid*"
            " hecha hechas"
        ),
        DUE: inflected("due fällig~ dû dues vence vencen"),
        STARTED: inflected("started begonnen~ angefangen~ laufend~ entamé^"),
        UNSTARTED: "unstarted",
        BLOCKED: inflected("blocked stuck paused blockiert~ pausiert~ bloqué^ bloquead* pausad*"),
        DROPPED: inflected(
            "cancelled canceled dropped abandoned abgebrochen~ abgesagt~ annulé^ abandonné^"
            " cancelad* abandonad*"
        ),
        UNDATED: "undated undatiert undatierte undatierten",
        REPLACED: inflected(
            "replaced superseded outdated obsolete overturned reversed revoked ersetzt~ überholt~"
            " veraltet~ widerrufen~ remplacé^ révoqué^ reemplazad* revocad* sustituid*"
        ),
    }
)
ORDER_WORDS: Mapping[str, str] = MappingProxyType(
    {
        NEWEST: inflected(
            "latest newest recent recently lately neuest- neuster jüngst- aktuellst- zuletzt"
            " kürzlich neulich récent^ récemment reciente recientes recientemente"
        ),
        OLDEST: inflected(
            "first earliest oldest erst- frühest- ältest- premier premiers première premières"
            " primer*"
        ),
    }
)
ORDER_OF_WORD = MappingProxyType({w: name for name, ws in ORDER_WORDS.items() for w in ws.split()})
LAST = word_set("last letzt- dernière dernières dernier derniers últim*")
"""Words that ask for the newest, next to the noun of a type or behind an article: *our last
decision*, *the last meeting*. Elsewhere, *last* may be a verb."""
HINT_ONLY = frozenset({"person", "project"})
"""Types that can be asked for, but not hinted at: their words have other meanings."""
TypeAt: TypeAlias = tuple[int, str]
"""The position of a word for a type, and the type."""
STATE_OF_WORD = MappingProxyType({w: name for name, ws in STATE_WORDS.items() for w in ws.split()})
_DENIED = MappingProxyType({DONE: OPEN, OPEN: DONE, OVERDUE: OPEN, STARTED: UNSTARTED})
"""State -> the state meant by *not* and it."""
DID = word_set("keep finish complete fulfil fulfill")
"""Behind *did*, they ask for what is done: *Which promises did we keep?*."""
FINISHED = word_set("finish complete finished completed erledigt abgeschlossen")
"""Behind a person, they ask for tasks that are done: *What did Lena finish?*."""
FOR = word_set("for für pour para")
"""Before the topic of tasks that a question does not name: *What did we finish for the move?*."""
BROKEN = word_set("break broken miss missed gebrochen~ verpasst~ rompu^ manqué^ incumplid* rot*")
"""Beside a promise or a deadline, they ask for what is overdue."""
DEADLINES = word_set(
    "deadline deadlines frist fristen abgabetermin abgabetermine échéance échéances limite limites"
    " plazo plazos vencimiento vencimientos límite límites"
)
"""Words for the due date of a promise or task; alone, they ask for what is due."""
_PROMISED = DEADLINES.union(TYPE_NOUNS["commitment"].split())
NOT = word_set("not never isn t aren wasn weren hasn haven nicht pas non no longer mehr")
_NOT_WITHIN = 3
"""A state is negated by a word at most this far before it: *not yet done*, *aren't done*."""
OR = word_set("and or und oder et ou y o")
_BEFORE_LATE = word_set("how too")
GENERIC = word_set(
    "fall falls fell filed facts fact notes note thing things everything anything"
    " all any current currently every exist existing far find give got list made make makes making"
    " many me most need needs please remain remaining reached show still take taken takes tell"
    " there took us yet important know remember related agreed noted recorded stored written wrote"
    " happened geschrieben écrit escribió escrito write added captured jotted aufgeschrieben"
    " eingetragen hinzugefügt noté ajouté anoté anotado apuntado añadido"
    " discuss discussed talk talked"
    " notizen notas alle aktuell~ bisher bitte gefasst gegeben gemacht gezogen gibt getroffen nenne"
    " noch notiert welche fakten zeige liste geschehen passiert passierte ansteht steht stehen"
    " actuelles actuels encore fait faites faits j liste montre pris prises toutes tous existe"
    " quelles quels avons nous nos apprise apprises prise passé passe faire qu s l d"
    " todas actuales aún hecho hechos hemos hice hicimos lista muestra tomado tomamos tomaron hay"
    " dime qué pasó nuestra nuestras nuestros sigue siguen tengo tiene tenemos tienen"
    " geschah geschieht occurred occur ocurrió sucedió number anzahl zahl nombre número combien"
    " cuántas cuántos cuántos worden wurde wurden soon bald demnächst bientôt pronto kennen kennst"
    " connaissons conocemos active aktiv~ actif^ activ* ongoing urgent^ dringend~ wichtig~"
    " wichtigsten importants importantes whats etwas must muss müssen"
    " concern concerns concerning regarding affect affects affecting involve involves involving"
    " assigned betreffen betrifft betreffend zugewiesen~ concernent concernant assigné^ afectan"
    " asignad* now gerade momentan derzeit maintenant ahora à était étaient kenne connais conozco"
    " mis tus past previous earlier"
)
"""Words that are not a topic in a question for a set."""
NEWS = word_set(
    "new news changed changes change neu neues neue geändert verändert neuigkeiten neuf"
    " nouveau changé nouvelles nuevo nuevos cambiado cambió cambio novedades"
)
"""Words for what is new; a question for nothing else asks for the newest facts."""
ORDERS = LAST | ORDER_OF_WORD.keys()
OBJECT_QUESTION = lazy_pattern(
    r"\A\W*(?:(?:whats?|which)(?!\s+happen)|was|welche\w*|que|quoi|qu['’]|quelles?|quels?|qué|cuáles)\b",
    re.IGNORECASE,
)
LANGUAGES = (ENGLISH, "german", "french", "spanish")
OTHER_QUESTION = word_set(
    "why when where who whose whom because after before warum wann wo wer wessen pourquoi quand où"
    " qui por cuándo dónde quién quiénes"
)
"""First words of questions for a reason, time, place or person, which only mention types."""
PEOPLE = frozenset({"person"})
PROJECTS = frozenset({"project"})
"""They have the states of tasks by their status, but are not asked for by a state alone."""
WHO = word_set("who whos wer qui quién quiénes")
"""First words of questions for people, which can ask for no other type."""
TO_DO = lazy_pattern(
    r"\b(?:(?:(?:ha(?:ve|s)|needs?|remains|left|still|anything|left\s+for\s+\w+)\s+to|must)"
    r"\s+(?:be\s+)?(?:do(?:ne)?"
    r"|finish(?:ed)?|completed?|ready)\b|coming\s+up\b|steht\b(?=.*\sa(?:n|us)\W*\Z)|zu\s+(?:tun|erledigen)"
    r"|(?:dois-je|devons-nous|reste[-\s](?:t-il\s+)?à)\s+(?:encore\s+)?faire"
    r"|(?:teng[oa]|tenemos|hay)\s+que\s+hacer|queda\s+por\s+hacer"
    r"|(?:muss|müssen)\b(?=.*\b(?:erledig(?:en|t)|getan|tun|machen|fertig)\b)"
    r"|(?:erledigen|tun|machen|(?:erledigt|fertig|getan)\s+(?:sein|werden))\b)",
    re.IGNORECASE,
)
TO_DO_NOUN = "todos"
"""Stands for all of these; it also is the Spanish word for *all*."""


def function_words(words: Iterable[str]) -> frozenset[str]:
    """The function words of a question, in the language that has most of them.

    English ones are always included, because questions in other languages contain some.
    """
    counts = {each: len(FUNCTION_WORDS[each].intersection(words)) for each in LANGUAGES}
    highest = max(counts.values())
    likely = [FUNCTION_WORDS[each] for each in LANGUAGES if counts[each] == highest]
    return FUNCTION_WORDS[ENGLISH].union(*likely)


def state_in(words: Sequence[str]) -> str:
    """The first state in a question; if it is negated, the remaining one. To-dos are open."""
    if "undated" in words:  # *open tasks without a due date*
        return UNDATED
    for at, word in enumerate(words):
        is_done = word in DID and "did" in words[:at]
        if state := DONE if is_done else _state_of(words, at):
            is_denied = not NOT.isdisjoint(words[max(0, at - _NOT_WITHIN) : at])
            if state == OPEN and OVERDUE in words and (OR | NOT).isdisjoint(words):
                return OVERDUE  # *Which open tasks are overdue?*
            return _DENIED.get(state, state) if is_denied else state
    return OPEN if TO_DO_NOUN in words else ""


def _state_of(words: Sequence[str], at: int) -> str:
    """The state that a word names; empty for *due to*, *too late* and *le retard du train*."""
    before, behind = "".join(words[max(0, at - 1) : at]), words[at + 1 : at + 3]
    if words[at] in BROKEN:
        beside = {before, *behind[:1]}
        # *Which promises have I broken?*
        beside = beside if behind else {*words}
        return "" if beside.isdisjoint(_PROMISED) else OVERDUE
    is_other = (
        (words[at] == "retard" and before != "en")
        or (words[at] == "late" and before in _BEFORE_LATE)
        or (words[at] == "due" and behind[:1] == ["to"] and behind != ["to", "be"])
    )
    return "" if is_other else STATE_OF_WORD.get(words[at], "")
