"""What the words of a question ask for that names a type, a state, an order or a time.

Loaded for such questions.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from vaultsync.indexing.ports import NEWEST
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.number_words import NUMBER_OF_WORD
from vaultsync.model.schema import WITH_STATE
from vaultsync.recall.asked_words import (
    BLOCKED,
    BROKEN,
    DID,
    DONE,
    DROPPED,
    DUE,
    FINISHED,
    FOR,
    GENERIC,
    HINT_ONLY,
    LAST,
    NEWS,
    NOT,
    OBJECT_QUESTION,
    OPEN,
    OR,
    ORDER_OF_WORD,
    ORDERS,
    OTHER_QUESTION,
    OVERDUE,
    PEOPLE,
    PROJECTS,
    REPLACED,
    STARTED,
    STATE_OF_WORD,
    TO_DO,
    UNDATED,
    UNSTARTED,
    WHO,
    AskedFor,
    TypeAt,
    function_words,
    state_in,
    word_set,
)

_BY_NEWER = word_set(
    "later newer new one ones neue neuere neueren spätere späteren nouvelle nouvelles nueva nuevas"
)
"""Words that are not a topic next to *replaced*."""
_NO_DUE = word_set("care course diligence process")
"""Nouns that mean something else behind *due*; so do all behind *late*: *the late fee*."""
_NOUNS_TOO = word_set("talk find fall list liste lista number zahl nombre")
"""Generic words that are nouns behind an order: *the last talk*."""
_RECENTLY = word_set("recently lately kürzlich neulich récemment recientemente")
_PARTS_OF_DAY = word_set(
    "morning noon afternoon evening night morgen vormittag mittag nachmittag abend nacht matin midi"
    " après soir nuit tarde noche mañana mediodía"
)
"""Words that are no topic beside a time: *yesterday evening* asks for that day, because the facts
of daily notes have no time of day."""
_GENERIC_BESIDE_TIME = GENERIC | _PARTS_OF_DAY | NEWS
_PLURAL = lazy_pattern(r"(?<![is])s\Z|sse\Z|(?<!h)en\Z")
"""The end of a plural among the nouns for types."""
_NOUN_WITHIN = 2
"""Number of content words at the beginning within which a noun asks for its type: *open tasks*,
*Bente's preferences*; a later noun only mentions it."""
_VERB_WITHIN = 3
_LAST_PLACE: TypeAt = (sys.maxsize, "")
_ITEMS = word_set("item items punkt punkte points puntos")
"""Beside a state, they stand for tasks and promises: *open items*."""
_HAPPENED = word_set("did happened geschah passierte gemacht pasó hicimos")
_INDEFINITE = word_set("a an une una eine")
_ABOUT = word_set("about regarding concerning on for über zu zum zur für sur pour sobre para")
_STILL = word_set("still left remaining noch encore aún todavía queda quedan sigue siguen")
_VALID = word_set(
    "hold holds apply applies valid stand stands force gelten gilt gültig~ valable^ vigente"
    " vigentes válid*"
)
"""Words that are no topic beside *still*: *Which decisions still hold?* asks for those of now."""
_ACTED = word_set("did has have had hat habe haben")
_ARTICLES = _INDEFINITE | word_set("the our my der die das den dem le la les los las el")

_BEFORE_LAST_NOUN = word_set(
    "the our my your his her their s die der das den dem unsere unser unseren meine mein la le les"
    " l notre nos ma mon mes el los las nuestra nuestro mi mis"
)
_NO_ORDER = word_set(
    "name names minute resort straw mile call aid class hand party principles lady floor point step"
    " steps line lines page pages column columns row rows word words letter letters digit digits"
    " character characters byte bytes chapter chapters train bus day world place prize sight"
    " hilfe stock etage schritt schritte zeile zeilen seite seiten spalte spalten kapitel wort zug"
    " tag schrei weltkrieg platz preis blick klasse ziffer ziffern stellen zeichen buchstabe"
    " buchstaben"
    " secours recours étage étape étapes ligne lignes page pages colonne colonnes chapitre mot mots"
    " jour ministre guerre place prix vue classe main chiffre chiffres lettre lettres caractères"
    " auxilios recurso piso paso pasos línea líneas página páginas columna capítulo palabra"
    " palabras tren autobús día guerra premio vista clase mano dígitos cifras letra letras"
    " caracteres"
)
"""Nouns behind which *first* and *last* are a part of a name, or a place in a sequence, and ask for
no facts: *first aid*, *the last step of the release*."""
_ADVISES = word_set("must should shall can could may do does will would to need needs comes goes")
"""Words beside an adverb such as *first* in a question for what to do, which has no *did*: *What
should I do first?*."""
_ADVERBS = word_set("first earliest")
_BEFORE_LAST = word_set("i we you he she they ich wir")
_BEFORE_VERB = word_set("how do does did will can could should")
"""First words of questions in which *last* at the end is a verb: *How long does it last?*."""
_AFTER_LAST = word_set("time mal fois vez")
"""Words next to *last* as an adverb: *When did we last meet?*, *the last time*."""


class Reading:
    """What the words of a question are: nouns and verbs for types, states, orders, its topic."""

    def __init__(
        self,
        text: str,
        words: Sequence[str],
        nouns: Sequence[TypeAt],
        verbs: Sequence[TypeAt],
        *,
        is_narrowed: bool,
        is_of_tasks: bool,
    ) -> None:
        self._text = text
        self._words = words
        self._first = "".join(words[:1])
        self._nouns = nouns
        self._verbs = verbs
        self._is_narrowed = is_narrowed
        self._has_order = not ORDERS.isdisjoint(words)
        self._is_object = is_of_tasks or bool(OBJECT_QUESTION.match(text))

    def asked(self) -> AskedFor:
        """What it asks for."""
        types, state = self._types, self._state
        named_at = {at for at, name in (*self._nouns, *self._verbs) if name in types}
        order, ordered_at = self._order(named_at)
        unordered = self._others_than({*named_at, *ordered_at})
        named = self._without_state(unordered)
        if not _STILL.isdisjoint(self._words):
            named = [word for word in named if word not in _VALID]
        if state == REPLACED:
            # With a topic, the newer fact may state what was replaced.
            is_set = types and _BY_NEWER.issuperset(named)
            state, named = (state, []) if is_set else ("", unordered)
        is_time = self._only_mentions and not types
        ordered = [self._words[at] for at in ordered_at]
        if order and _is_no_order(ordered, named, is_time=is_time):
            order, named = "", named or [self._words[at] for at in self._content]
        is_one = bool(order) and self._has_singular_of(types)
        return AskedFor(types, self._mentioned | types, order, state, tuple(named), is_one)

    # ----------------------------------------------------------------- words

    @cached_property
    def _function(self) -> frozenset[str]:
        return function_words(self._words)

    @cached_property
    def _content(self) -> list[int]:
        """The positions of the words that may be a topic."""
        beside = GENERIC | NEWS if self._has_order else GENERIC
        skipped = self._function | (_GENERIC_BESIDE_TIME if self._is_narrowed else beside)
        behind_order = zip(("", *self._words), self._words, strict=False)
        return [
            at
            for at, (before, word) in enumerate(behind_order)
            if word not in skipped
            or (word in _NOUNS_TOO and before in ORDERS and word not in self._function)
        ]

    @cached_property
    def _bare(self) -> list[int]:
        return _without_modifiers(self._content, self._words)

    def _within(self, named: Iterable[TypeAt], most: int) -> list[TypeAt]:
        """Those of the words for types that are among the first content words."""
        return [each for each in named if each[0] in self._bare[:most]]

    # ----------------------------------------------------------------- types

    @cached_property
    def _only_mentions(self) -> bool:
        """Whether it asks for a reason, time, place, manner or person, and only mentions types."""
        is_how = self._first == "how" and self._words[1:2] != ["many"]
        return is_how or self._first in OTHER_QUESTION

    @cached_property
    def _by_noun(self) -> list[TypeAt]:
        named = _without_compound(self._nouns, self._words, self._content)
        nouns = self._within(named, _NOUN_WITHIN)
        for at, name in named:
            # *Security tasks, decisions and promises*
            before = at - 1 - (self._words[at - 1] in OR)
            if (at, name) not in nouns and before in [each for each, _ in nouns]:
                nouns.append((at, name))
        admitted = PEOPLE if self._first in WHO else frozenset[str]()
        return [each for each in nouns if not self._only_mentions or each[1] in admitted]

    @cached_property
    def _by_verb(self) -> list[TypeAt]:
        # *Decided last week* has nothing but a time besides the verb.
        is_narrowed = self._is_narrowed or self._has_order
        is_only_verb = is_narrowed and self._bare == [at for at, _ in self._verbs]
        return self._within(self._verbs, _VERB_WITHIN) if self._is_object or is_only_verb else []

    @cached_property
    def _named_types(self) -> frozenset[str]:
        first_verb = self._by_verb[:1]
        is_verb_first = first_verb and first_verb < (self._by_noun[:1] or [_LAST_PLACE])
        return frozenset(name for _, name in (first_verb if is_verb_first else self._by_noun))

    @cached_property
    def _types(self) -> frozenset[str]:
        return self._named_types | (WITH_STATE if self._is_of_tasks else frozenset())

    @property
    def _mentioned(self) -> frozenset[str]:
        """The types that its words mention, and people if it asks who."""
        named = frozenset(name for _, name in (*self._nouns, *self._verbs)) - HINT_ONLY
        return named | (PEOPLE if self._first in WHO else frozenset())

    def _has_singular_of(self, types: Collection[str]) -> bool:
        nouns = (self._words[at] for at, name in self._nouns if name in types)
        return any(not _PLURAL.search(noun) for noun in nouns)

    # ----------------------------------------------------------------- state, order and topic

    def _order(self, named_at: Collection[int]) -> tuple[str, Collection[int]]:
        """The order that it names, and the positions of its words."""
        return order_in(self._words, self._function, named_at) if self._has_order else ("", ())

    @cached_property
    def _of_topic(self) -> frozenset[int]:
        """The positions of words for a state in a topic: *tasks about the blocked drain*."""
        typed_at = [at for at, _ in (*self._nouns, *self._verbs)]
        return frozenset(
            at
            for at in self._content
            if self._words[at] in STATE_OF_WORD
            and min(typed_at, default=at) < at
            and {at + 1}.intersection(self._content).difference(typed_at)
            and self._is_behind_about(at)
        )

    def _is_behind_about(self, at: int) -> bool:
        return _before_article(self._words, at) in _ABOUT

    @cached_property
    def _written_state(self) -> str:
        others = ["" if at in self._of_topic else word for at, word in enumerate(self._words)]
        state = state_in(others)
        # *Which tasks must be done?*
        return OPEN if state == DONE and TO_DO.search(self._text) else state

    @cached_property
    def _is_of_tasks(self) -> bool:
        if self._named_types or self._only_mentions:
            return False
        state, is_object = self._written_state, self._is_object
        return _is_of_tasks(state, self._words, self._content, is_object=is_object)

    @property
    def _state(self) -> str:
        """The state that its types can have."""
        has_any = self._written_state == REPLACED or self._types & (WITH_STATE | PROJECTS)
        return self._written_state if has_any else ""

    def _others_than(self, places: Collection[int]) -> list[str]:
        """The words of the topic besides those at some places, and those for the last of a type."""
        last = LAST if self._types else frozenset[str]()
        others = (self._words[at] for at in self._content if at not in places)
        return [word for word in others if word not in last]

    def _without_state(self, words: Sequence[str]) -> list[str]:
        """The words without those for the state, if there is one."""
        if not self._state:
            return [*words]
        of_state = STATE_OF_WORD.keys() | NOT | BROKEN
        of_state |= DID if "did" in self._words else frozenset()
        of_state |= _ITEMS if self._is_of_tasks else frozenset()
        of_state -= {self._words[at] for at in self._of_topic}
        return [word for word in words if word not in of_state]


def _before_article(words: Sequence[str], at: int) -> str:
    """The word before a noun and its article."""
    return words[at - 1 - (words[at - 1] in _ARTICLES)] if at else ""


def _is_of_tasks(
    state: str, words: Sequence[str], content: Sequence[int], *, is_object: bool
) -> bool:
    """Whether a state is one of tasks and promises, though none are named.

    *What is open?*, *open items*, *What did Lena finish?* and *What did we finish for the move?*
    ask for them, but not *Is it open?*, nor *What is open late?*, nor *What happened next?*.
    """
    if state == OPEN and not (_HAPPENED | {"late"}).isdisjoint(words):
        return False
    if state in (OPEN, DONE, STARTED, UNSTARTED, UNDATED, BLOCKED, DROPPED):
        of_state = STATE_OF_WORD.keys() | NOT | (DID if "did" in words else frozenset())
        others = [at for at in content if words[at] not in of_state]
        if {words[at] for at in others} <= _ITEMS:
            return is_object or bool(others)
        if words[-1] in FINISHED and words[1] in _ACTED and others[-1] == len(words) - 2:
            return is_object
        remains = state == DONE or not _STILL.isdisjoint(words)
        return is_object and remains and _before_article(words, others[0]) in FOR
    return state in (OVERDUE, DUE) and not _is_attribute(words, content)


def _is_no_order(ordered: Collection[str], named: Collection[str], *, is_time: bool) -> bool:
    """Whether a question with a word for an order asks for a time, or for what is not new.

    *When is the first?* asks for a time, and *What did Mara paint recently?* for a painting.
    """
    if named:
        return bool(ordered) and _RECENTLY.issuperset(ordered)
    return is_time


def _without_compound(
    nouns: Sequence[tuple[int, str]], words: Sequence[str], content: Sequence[int]
) -> list[tuple[int, str]]:
    """The nouns for types without one like that of *a decision tree*, *une tâche de fond*."""
    last = len(words) - 1
    before = last - 1 - (words[last - 1 : last] in (["de"], ["d"]))
    is_compound = last in content and not _INDEFINITE.isdisjoint(words[before - 1 : before])
    return [(at, name) for at, name in nouns if not (is_compound and at == before)]


def _is_attribute(words: Sequence[str], content: Sequence[int]) -> bool:
    """Whether *late* or *due* belongs to a noun: *the late fee*."""
    return any(
        words[at - 1] == "late" or (words[at - 1] == "due" and words[at] in _NO_DUE)
        for at in content
        if at
    )


def _without_modifiers(content: Sequence[int], words: Sequence[str]) -> list[int]:
    """The positions of the content words, without numbers and those for a state or an order."""
    skipped = STATE_OF_WORD.keys() | ORDER_OF_WORD.keys() | LAST
    return [at for at in content if not (words[at] in skipped or words[at].isdecimal())]


# --------------------------------------------------------------------- the order


def without_counts(words: Sequence[str]) -> list[str]:
    """The words without numbers beside an order, which are no topic: *the last 5 decisions*."""
    return [
        word
        for at, word in enumerate(words)
        if not (word in NUMBER_OF_WORD or word.isdecimal())
        or ORDERS.isdisjoint(words[max(0, at - 1) : at + 2])
    ]


def order_in(
    words: Sequence[str], function: Collection[str], named_at: Collection[int]
) -> tuple[str, Collection[int]]:
    """The order that a question names, and the positions of its words."""
    last_at = _last_as_adverb(words) | _last_as_adjective(words, function)
    is_last = bool(last_at) or any(words[at - 1] in LAST for at in named_at if at)
    ordered_at = _order_words(words, function)
    default = NEWEST if is_last else ""
    order = next((ORDER_OF_WORD[words[at]] for at in ordered_at), default)
    return order, last_at.union(ordered_at)


def _order_words(words: Sequence[str], function: Collection[str]) -> list[int]:
    """The positions of the words for an order, without those of names and instructions."""
    is_advice = _asks_for_instruction(words)
    return [
        at
        for at, (word, noun) in enumerate(pairwise((*words, "")))
        if word in ORDER_OF_WORD
        and noun not in _NO_ORDER
        and not (word in _ADVERBS and (noun in ("", "thing") or noun in function) and is_advice)
    ]


def _asks_for_instruction(words: Sequence[str]) -> bool:
    return "did" not in words and not _ADVISES.isdisjoint(words)


def _last_as_adverb(words: Sequence[str]) -> frozenset[int]:
    """The positions of an adverb such as *last* in *Who joined last?*, and of its noun."""
    for at, word in enumerate(words):
        if word in LAST:
            is_at_end = at == len(words) - 1 > 1 and words[0] not in _BEFORE_VERB
            if (is_at_end and not _asks_for_instruction(words)) or (
                at and words[at - 1] in _BEFORE_LAST
            ):
                return frozenset({at})
            if words[at + 1 : at + 2] and words[at + 1] in _AFTER_LAST:
                return frozenset({at, at + 1})
    return frozenset()


def _last_as_adjective(words: Sequence[str], function: Collection[str]) -> frozenset[int]:
    """The position of *last* in *our last meeting* or *Last meeting*; empty if it has none."""
    return frozenset(
        at
        for at, (word, noun) in enumerate(pairwise(words))
        if word in LAST
        and (not at or words[at - 1] in _BEFORE_LAST_NOUN)
        and not (noun in function or noun in _NO_ORDER)
    )
