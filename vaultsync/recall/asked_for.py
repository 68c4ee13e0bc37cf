"""What a question asks for: facts of some types, in a state, in an order, or about a topic.

*Which decisions did we make about deposits?* asks for decisions, and names a topic; *What
promises are open?* asks for a set of facts and names none. Facts of that set are ranked first.
A question that only mentions a type (*Why was this decided?*) hints at it.

The words are in tables, in English, German, French, Spanish and Japanese; words with other
common meanings (note, fact, rule) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from msgspec import structs

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS
from vaultsync.indexing.ports import IMPORTANT, NEWEST
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import RETIRED_STATUSES
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import TYPES, WITH_STATE
from vaultsync.recall.asked_words import (
    BROKEN,
    DEADLINES,
    DID,
    DUE,
    FINISHED,
    FOR,
    GENERIC,
    HINT_ONLY,
    LANGUAGES,
    NEWS,
    OBJECT_QUESTION,
    OPEN,
    ORDERS,
    OTHER_QUESTION,
    OVERDUE,
    PEOPLE,
    STATE_OF_WORD,
    STATE_WORDS,
    TO_DO,
    TO_DO_NOUN,
    TYPE_NOUNS,
    TYPE_VERBS,
    WHO,
    AskedFor,
    TypeAt,
    function_words,
    state_in,
    word_set,
)

_TYPE_OF_NOUN = MappingProxyType({w: name for name, ws in TYPE_NOUNS.items() for w in ws.split()})
_TYPE_OF_VERB = MappingProxyType({w: name for name, ws in TYPE_VERBS.items() for w in ws.split()})

_FACTS = word_set(
    "facts notes memories everything fakten notizen alles faits notas hechos tout todas"
)
"""Words for facts of any type; a question for nothing else asks for all."""
_DATES = word_set("date dates fecha fechas")
_UPCOMING = word_set("next upcoming nächst~ prochain^ próxim*")
_DUE_DATES = word_set("deadlines fristen abgabetermine échéances dates plazos fechas vencimientos")
_PLACES = word_set("is are s ist sind steht est sont hay está están")
"""Words of a question for the place, not the time, of what is before something."""
_WORD = lazy_pattern(r"(?<![^\W_])[^\W_]{2,}+(?:(?:\.|::|_)[^\W_]{2,}+)+|[^\W\d_]+|\d+")
"""A word, a number, or a name of code, whose parts are no words: *Promise.all*.

Only at the beginning of letters and digits is a name looked for: behind others, it is none.
"""
_NOT_JAPANESE = "a-zA-Z是的什么麼吗嗎们們这這哪你您我"
_KANA = lazy_pattern(
    rf"[\u3040-\u30ff]|\A(?![^{_NOT_JAPANESE}]*[{_NOT_JAPANESE}])[^\u4e00-\u9fff]*[\u4e00-\u9fff]"
)
"""Kana, or Chinese characters without Latin ones and those of questions in Chinese."""
_PREFERENCES = frozenset({"preference"})
_REASONS = frozenset({"convention", "decision", "lesson"})
_WHY = dict.fromkeys(word_set("why warum wieso weshalb pourquoi"), _REASONS)
_TYPES_OF_QUESTION = dict.fromkeys(WHO, PEOPLE) | _WHY
"""First word of a question -> the types that it hints at."""
_ALLOWED = word_set(
    "should shouldn avoid never allowed forbidden supposed soll sollte sollen sollten darf dürfen"
    " vermeiden erlaubt verboten devrait devrais devons faut éviter interdit jamais debe debería"
    " deberíamos evitar prohibido nunca"
)
"""Words that ask for rules, as *Why* does: *What should I not do on Fridays?*."""
_USED = word_set(
    "use uses used using choose chose chosen pick picked nutzen nutzt verwenden verwendet benutzen"
    " gewählt utilise utilisons utilisé choisi usamos usan usar elegimos elegido"
)
_WISHED = word_set(
    "like want prefer mag möchte wünscht bevorzugt aime veut préfère quiere gusta prefiere"
)
_WISHES = (["how", "do"], ["how", "does"], ["how", "would"], ["what", "do"], ["what", "does"])
_WHICH = word_set("which what welch~ was quel quelle quels quelles qué cuál")
_STANDING = frozenset(TYPES) - {"commitment", "episodic", "observation", "person", "task"}
"""Types of facts that say what is used: *Which database do we use?*."""
_TO_DOS = lazy_pattern(
    r"\bto-?dos?\b(?:[- ]list(?:en?|s)?\b)?|\bto ?do[- ]list(?:en?|s)?\b|\baction items?\b"
    r"|\A(?:(?:my|our|things|what)\s+)*to\s+do\W*\Z"
)
"""Nouns for tasks that are more than one word, or have a common first word."""
_ANYTHING = ("anything", "etwas")
"""One of these is in a question for whether there is something to do."""
_SPANISH_ALL = "todas"
_KNOWN_STATUSES = frozenset({*RETIRED_STATUSES, "active"})
_DOING = word_set(
    "do done finish finished complete completed ready coming faire hacer erledigen erledigt tun"
    " getan machen fertig steht"
)
"""One of these is in a question for what remains to be done."""
_AUXILIARIES = word_set("do does has have muss müssen hat haben doit tiene")
_PURPOSES = word_set("to um zu pour para with mit if when wenn")
_NAME_WORDS = 2
"""Maximum number of words of who has to do something."""


def asked_for(text: str, *, is_narrowed: bool = False, is_of_tasks: bool = False) -> AskedFor:
    """Find out what a question asks for.

    Args:
        text: the question without filters, request phrases and dates.
        is_narrowed: whether it had any of these; then, without a topic, it asks for a set.
        is_of_tasks: whether a filter admits only tasks and promises: *type:task open*.
    """
    if _KANA.search(text):
        from vaultsync.recall.asked_in_japanese import asked_in_japanese  # noqa: PLC0415 - few are

        return asked_in_japanese(text)
    words = _words_of(text)
    if what_is_due := _asked_what_is_due(text, words):
        return what_is_due
    is_done = "did" in words and not DID.isdisjoint(words)
    is_done = is_done and (words[-1] in FINISHED or not FOR.isdisjoint(words))
    has_state = is_done or not STATE_OF_WORD.keys().isdisjoint(words)
    has_order = not ORDERS.isdisjoint(words)
    nouns = [*_nouns(words, is_one_task=has_state or has_order)]
    verbs = [(at, _TYPE_OF_VERB[word]) for at, word in enumerate(words) if word in _TYPE_OF_VERB]
    if not (nouns or verbs or has_state or has_order or is_narrowed):
        return _asked_for_facts(text, words)
    from vaultsync.recall.asked_reading import Reading  # noqa: PLC0415 - many questions name none

    read = Reading(text, words, nouns, verbs, is_narrowed=is_narrowed, is_of_tasks=is_of_tasks)
    return read.asked()


def _asked_what_is_due(text: str, words: Sequence[str]) -> AskedFor | None:
    """What a question asks for that is only about what to do, or about due dates."""
    if not _DOING.isdisjoint(words) and mentions_to_dos(text):
        topic = _besides_to_dos(text)
        if not topic or _is_subject(topic, words):
            return AskedFor(WITH_STATE, WITH_STATE, state=OPEN, topic=topic)
    if DEADLINES.isdisjoint(words):
        return None
    known = function_words(words).union(GENERIC, STATE_OF_WORD, DEADLINES, BROKEN, _DATES)
    if words == ["deadline"] or not known.issuperset(words):  # alone it may be a topic
        return None
    is_upcoming = not _UPCOMING.isdisjoint(words)
    is_one = is_upcoming and _DUE_DATES.isdisjoint(words)
    is_late = not BROKEN.isdisjoint(words) or state_in(words) == OVERDUE
    state = OVERDUE if is_late else DUE
    return AskedFor(WITH_STATE, WITH_STATE, state=state, is_one=is_one, is_upcoming=is_upcoming)


def _asked_for_facts(text: str, words: Sequence[str]) -> AskedFor:
    """What a question asks for that names neither a type, a state, an order nor anything else."""
    is_about_facts = not _FACTS.isdisjoint(words)
    if is_about_facts and function_words(words).union(GENERIC, _FACTS).issuperset(words):
        return AskedFor(order=IMPORTANT)
    is_about_news = not NEWS.isdisjoint(words) and OBJECT_QUESTION.match(text)
    if is_about_news and function_words(words).union(GENERIC, NEWS).issuperset(words):
        return AskedFor(order=NEWEST)
    first = "".join(words[:1])
    hinted = _TYPES_OF_QUESTION.get(first, frozenset())
    if [*words[:2]] in _WISHES and not _WISHED.isdisjoint(words) and not _compares(words):
        hinted = _PREFERENCES
    elif first in _WHICH and not _USED.isdisjoint(words):
        hinted = _STANDING
    elif first not in OTHER_QUESTION and not _ALLOWED.isdisjoint(words):
        hinted = _REASONS
    return AskedFor(hinted_types=hinted, topic=tuple(words))


def _compares(words: Sequence[str]) -> bool:
    """Whether *like* is a preposition: *How do plugins like Dataview work?*."""
    behind = words[words.index("like") + 1 :] if "like" in words else ()
    others = [word for word in behind if word not in FUNCTION_WORDS[ENGLISH]]
    return len(others) > 1 and behind[0] == others[0]


def _nouns(words: Sequence[str], *, is_one_task: bool) -> Iterator[TypeAt]:
    """The positions of the nouns for types, and their types.

    *Task* has other meanings without a state or an order, and before a noun: *next task force*.
    """
    for at, word in enumerate(words):
        if word in _TYPE_OF_NOUN:
            yield at, _TYPE_OF_NOUN[word]
        elif word == "task" and is_one_task:
            behind = set(words[at + 1 : at + 2])
            if behind <= FUNCTION_WORDS[ENGLISH] or behind <= STATE_OF_WORD.keys():
                yield at, word


_PHRASE_SIGNS = (
    *("priorit", "priorid"),
    *(" date", "deadline", "datum", "frist", " fecha", "chéance", " plazo", "progress"),
    *("past due", "past-due", "under way", "arbeit", "en cours", "en curso", "en marcha"),
    *("in gang", "working on", "on hold", "on-hold", "en paus", "auf eis", "travaill", "trabaj"),
)
"""Of these, a phrase for a state has one."""


def _words_of(text: str) -> list[str]:
    """The words of a question in lower case; of the nouns for to-dos, one stands for all."""
    lowered = text.lower()
    if any(map(lowered.__contains__, _PHRASE_SIGNS)):
        from vaultsync.recall.task_states import with_state_words  # noqa: PLC0415 - few questions

        lowered = with_state_words(lowered)
    if TO_DO_NOUN[:-1] in lowered:
        words = {*_WORD.findall(lowered)} - {TO_DO_NOUN[:-1], TO_DO_NOUN}
        counts = {each: len(FUNCTION_WORDS[each] & words) for each in LANGUAGES}
        if "¿" in text or counts[ENGLISH] < counts["spanish"]:
            lowered = re.sub(rf"\b{TO_DO_NOUN}?\b", _SPANISH_ALL, lowered)
    found = _WORD.findall(_TO_DOS.sub(TO_DO_NOUN, lowered))
    if ORDERS.isdisjoint(found):
        return found
    from vaultsync.recall.asked_reading import without_counts  # noqa: PLC0415 - few have an order

    return without_counts(found)


def is_of_place(text: str) -> bool:
    """Whether a question asks, besides something else, only what is there: *What is …?*."""
    words = _WORD.findall(text.lower())
    return not _PLACES.isdisjoint(words) and function_words(words).union(_PLACES).issuperset(words)


def mentions_to_dos(text: str) -> bool:
    """Whether a question asks for what remains to be done, perhaps with a time or a topic."""
    is_asked = OBJECT_QUESTION.match(text) or any(map(text.lower().__contains__, _ANYTHING))
    if is_asked and TO_DO.search(text):
        return True
    return not DEADLINES.isdisjoint(_WORD.findall(text.lower()))


def _besides_to_dos(text: str) -> tuple[str, ...]:
    """The words of a question for what remains to be done that are about something else."""
    words = _WORD.findall(TO_DO.sub(" ", text).lower())
    known = function_words(words).union(GENERIC, STATE_WORDS[OPEN].split())
    return tuple(word for word in words if word in _PURPOSES or word not in known)


def _is_subject(topic: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a topic is who has to do something: *What does Ann have to do?*.

    *What must I do to restore it?* and *What do I have to do in an emergency?* ask for
    instructions, and *What concerts are coming up?* for no tasks.
    """
    if _AUXILIARIES.isdisjoint(words[1:2]) or len(topic) > _NAME_WORDS:
        return False
    done_at = next((at for at, word in enumerate(words[2:], 2) if word in _DOING), 0)
    return topic[0] in words[2:done_at] and (_PURPOSES | ORDERS).isdisjoint(topic)


def names_type(word: str) -> bool:
    """Whether a word is a noun for a type, ignoring case."""
    return word.lower() in _TYPE_OF_NOUN


def due_then(asked: AskedFor) -> AskedFor:
    """What a question with a future time asks for: facts due then, if its types can be due."""
    if not (asked.types or asked.topic):
        asked = structs.replace(
            asked, types=WITH_STATE, hinted_types=asked.hinted_types | WITH_STATE
        )
    return structs.replace(asked, state=DUE) if asked.types & WITH_STATE else asked


def type_word(fact: Fact) -> str:
    """The type of a fact if questions use the word, such as lesson; otherwise empty."""
    return fact.type if fact.type in TYPE_NOUNS and fact.type not in HINT_ONLY else ""


def status_word(fact: Fact) -> str:
    """The status of a fact if its author gave it one, such as `gelesen`; otherwise empty."""
    return "" if fact.status in _KNOWN_STATUSES else fact.status
