"""Translate a question into English, word by word, for notes in English.

A question in German, French, Spanish or Japanese shares few words with an English note, and the
default model knows English alone. A small dictionary of common words, which ships with the
package, says most of it in English; what it does not know, such as names, stays as it is.
"""

from __future__ import annotations

import pkgutil
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from math import fsum, hypot
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from vaultsync.indexing.language import FUNCTION_WORDS, language_of
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.text_normalization import split_words
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.explanation import QueryTerms

GERMAN, JAPANESE = "german", "japanese"
GLOSSED = (GERMAN, "french", "spanish", JAPANESE)
"""Languages of the dictionary, in the order of its columns."""
MAX_WORD = 40
"""Maximum number of letters of a word that is looked up."""
_KANA = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa]")
_HIRAGANA = lazy_pattern("[\u3041-\u3096]+")
_PARTICIPLE = lazy_pattern("(ab|an|auf|aus|ein|her|hin|mit|um|vor|weg|zu|zuruck|)ge(?=...)")
"""The *ge* of a German participle, which may stand inside: *ausgeschaltet*."""
_ENDINGS = (0, 0, 0, 1, 3, 4, 6)
"""How many letters may follow a beginning, by its length."""
_ENDING_OF_WORD = 3
"""How many may follow a German one; after more of them it may be a compound."""
_LEAST_PART = 4
"""Minimum number of letters of a part of a German compound."""

_Beginnings: TypeAlias = Mapping[str, tuple[str, ...]]


class Gloss(NamedTuple):
    """A word of a question, and the English words for it: none where they are not known."""

    word: str
    english: tuple[str, ...]

    @property
    def best(self) -> str:
        """The first of the English words, or the word itself."""
        return (*self.english, self.word)[0]


def translated_terms(question: str, index: NoteIndex) -> tuple[str, QueryTerms, str] | None:
    """A question in English, its terms, and all words to look for as well as its own.

    Returns: None, unless more of the words are in fewer facts than their English is; so a
        question in the language of the facts stays as it is.
    """
    found = glosses(question)
    translated = [each for each in found if each.english]
    asked = (x for each in translated for x in (each.word.lower(), *each.english))
    known, lead = index.facts_with(asked), 0
    for each in translated:
        own, english = known[each.word.lower()], max(map(known.__getitem__, each.english))
        lead += (english > own) - (english < own)
    if lead <= 0:
        return None
    text = " ".join(each.best for each in found)
    terms = QueryTerms(index.tokens(text))
    for each in translated:
        first, *others = (index.tokens(x) for x in (*each.english, each.word))
        for stem in chain.from_iterable(others):
            if first and first[0] in terms.stems:
                terms.add_spelling(first[0], stem)
    return text, terms, " ".join(x for each in translated for x in each.english)


def mean_direction(vectors: Sequence[Sequence[float]]) -> list[float]:
    """The vector of unit length in the middle of some."""
    total = [fsum(values) for values in zip(*vectors, strict=True)]
    length = hypot(*total) or 1.0
    return [each / length for each in total]


def glosses(text: str) -> list[Gloss]:
    """The words of a question with their English, without function words.

    Returns: none where the language is none of `GLOSSED`, or cannot be told.
    """
    if _KANA.search(text):
        return _japanese(text)
    language = language_of(text, least=1)
    if language not in GLOSSED:
        return []
    known, skipped = _dictionary()[language], FUNCTION_WORDS[language]
    words = (each for each in split_words(text) if each.lower() not in skipped)
    return [Gloss(each, _english(_bare(each), known, language)) for each in words]


def _japanese(text: str) -> list[Gloss]:
    """The words of the dictionary, and between them what is not grammar."""
    known, found = _dictionary()[JAPANESE], []
    for number, part in enumerate(_japanese_words().split(text)):
        if number % 2:
            found.append(Gloss(part, known[part]))
        else:
            words = (word for some in _HIRAGANA.split(part) for word in split_words(some))
            found += [Gloss(word, ()) for word in words]
    return found


@cache
def _japanese_words() -> re.Pattern[str]:
    words = sorted(_dictionary()[JAPANESE], key=len, reverse=True)
    return re.compile(f"({'|'.join(words)})")


def _english(word: str, known: _Beginnings, language: str) -> tuple[str, ...]:
    if len(word) > MAX_WORD:
        return ()
    if language != GERMAN:
        return _begun(word, known)
    participle = _PARTICIPLE.match(word)
    base = participle[1] + word[participle.end() :] if participle else word
    return (
        _begun(word, known, ending=_ENDING_OF_WORD)
        or _begun(base, known, ending=_ENDING_OF_WORD)
        or _compound(word, known)
        or _begun(word, known)
    )


def _compound(word: str, known: _Beginnings) -> tuple[str, ...]:
    """The English of a German word of two words, as two words, and what else each may be."""
    for at in range(len(word) - _LEAST_PART, _LEAST_PART - 1, -1):
        last = _begun(word[at:], known)
        first = last and _begun(word[:at], known, ending=_ENDING_OF_WORD)
        if first:
            return (f"{first[0]} {last[0]}", *first[1:], *last[1:])
    return ()


def _begun(word: str, known: _Beginnings, *, ending: int = _ENDINGS[-1]) -> tuple[str, ...]:
    """The English of the longest beginning of a word, after which there is only an ending."""
    for end in range(len(word), max(1, len(word) - ending - 1), -1):
        if word[:end] in known and len(word) - end <= _ENDINGS[min(end, len(_ENDINGS) - 1)]:
            return known[word[:end]]
    return ()


def _bare(word: str) -> str:
    """A word in lower case, without accents."""
    split = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return "".join(each for each in split if not unicodedata.combining(each))


@cache
def _dictionary() -> Mapping[str, _Beginnings]:
    """Language -> the beginnings of its words -> the English words for them."""
    known: dict[str, dict[str, tuple[str, ...]]] = {each: {} for each in GLOSSED}
    lines = (pkgutil.get_data(__package__, "english_words.txt") or b"").decode().splitlines()
    for line in lines:
        if not line.startswith("#"):
            english, *columns = (each.split() for each in line.split("|"))
            for language, words in zip(GLOSSED, columns, strict=True):
                for word in words:
                    others = known[language].get(word, ())
                    known[language][word] = tuple(dict.fromkeys((*others, *english)))
    return MappingProxyType(known)
