"""Which order a question asks for: the newest, the oldest, or none.

Loaded for questions with a word for an order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from vaultsync.indexing.ports import NEWEST
from vaultsync.model.number_words import NUMBER_OF_WORD
from vaultsync.recall.asked_words import LAST, ORDER_OF_WORD, word_set

_ARTICLES = word_set(
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


def without_counts(words: Sequence[str]) -> list[str]:
    """The words without numbers beside an order, which are no topic: *the last 5 decisions*."""
    orders = LAST | ORDER_OF_WORD.keys()
    return [
        word
        for at, word in enumerate(words)
        if not (word in NUMBER_OF_WORD or word.isdecimal())
        or orders.isdisjoint(words[max(0, at - 1) : at + 2])
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
        and (not at or words[at - 1] in _ARTICLES)
        and not (noun in function or noun in _NO_ORDER)
    )
