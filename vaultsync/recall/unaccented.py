"""Read words that ask for something as typed without accents: *derniere*, *naechste*."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS, GERMAN, language_of
from vaultsync.recall.asked_words import ORDER_WORDS, STATE_WORDS, TYPE_NOUNS, TYPE_VERBS

_TIME_WORDS = (
    "märz jänner nächste nächsten nächster nächstes übermorgen während frühling frühjahr hälfte"
    " février août décembre été après après-midi début moitié lendemain année pâques"
    " día días año mañana miércoles sábado próximo próxima próximos después otoño víspera"
)
_OTHER_WORDS = "dernière dernières última últimas último últimos geändert changé qué"
_PLAIN = str.maketrans("áàâäéèêëíîïóôöúùûüçñ", "aaaaeeeeiiiooouuuucn")
_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_OTHERS = FUNCTION_WORDS["french"].union(("termine", "premiere", "change", "decides", "debut"))
"""What they would be mixed up with: *du*, and words of other languages, such as *Termine*."""
_WORD = r"[^\W\d_]+(?:-midi)?"
_PUNCTUATION = "¿?¡!.,;:()"
_BEFORE_QUESTION = "¿¡ "
_UMLAUTS = frozenset("äöü")


def _typed() -> Iterator[tuple[str, str]]:
    """How a word is typed without accents, and the word."""
    tables = (TYPE_NOUNS, TYPE_VERBS, STATE_WORDS, ORDER_WORDS)
    texts = (_TIME_WORDS, _OTHER_WORDS, *(words for each in tables for words in each.values()))
    words = " ".join(texts).split()
    for word in words:
        if not word.isascii():
            typed = {word.translate(_PLAIN), word.translate(_DIGRAPHS)}
            yield from ((plain, word) for plain in typed.difference(_OTHERS, words))


_ACCENTED = dict(_typed())


def with_accents(question: str) -> str:
    """A question whose words for a time, a type, a state or an order have their accents.

    Unless it is in English: *the premiere* of a film is no *première*. In German, and within a
    name such as *Rui Dias*, words have no accents of French and Spanish.
    """
    words = [each.strip(_PUNCTUATION) for each in question.lower().split()]
    if _ACCENTED.keys().isdisjoint(words):
        return question
    language = language_of(" ".join(words), least=1)

    def restored(match: re.Match[str]) -> str:
        word = _ACCENTED.get(match[0].lower(), match[0])
        is_name = match[0].istitle() and question[: match.start()].strip(_BEFORE_QUESTION)
        is_kept = (is_name or language == GERMAN) and _UMLAUTS.isdisjoint(word)
        return match[0] if is_kept else word

    return question if language == ENGLISH else re.sub(_WORD, restored, question)
