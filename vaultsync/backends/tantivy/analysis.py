"""Split text into terms, by its language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain

import tantivy

from vaultsync.errors import ConfigError
from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS, STEMMER_LANGUAGES, languages_of
from vaultsync.indexing.text_normalization import phrase_words, query_words

_LONGEST = 100
"""Maximum size of a word in bytes; longer words are not indexed."""
MAX_QUERY_TERMS = 100
"""Maximum number of terms in a question, as for a pasted document."""


class Analyzers:
    """The analyzers of an index: each language has its own stems and stop words.

    All words of a text are indexed, so that phrases are found literally; stop words are only
    removed from questions.
    """

    def __init__(self, language: str = ENGLISH) -> None:
        if language not in STEMMER_LANGUAGES:
            raise ConfigError(
                f"there is no stemmer for the language {language!r}",
                hint="use one of " + ", ".join(sorted(STEMMER_LANGUAGES)),
            )
        self.default = language
        """The language of texts whose language is not recognised."""

    def of_text(self, text: str, likely: Collection[str] = ()) -> list[str]:
        """The terms of a text in its own language, or a likely one, without stop words."""
        words = phrase_words(text)
        plain = PLAIN.analyze(words)
        language = self._language_of(plain, likely)
        return _kept(words, plain, language, language)

    def stemmer(self, text: str, languages: Collection[str]) -> Callable[[str], frozenset[str]]:
        """Word -> its stems, in some languages and in that of a text."""
        own = self._language_of(PLAIN.analyze(phrase_words(text)), languages)
        all_languages = frozenset({own, *languages})
        return lambda word: stems_of(word, all_languages)

    def of_question(self, text: str, languages: Iterable[str]) -> tuple[list[str], list[str]]:
        """The terms of a question in some languages, and the question as a whole name in each.

        Both without duplicates, in order. If a question has only stop words, they are its terms.
        """
        words, languages = query_words(text), sorted(languages)
        plain = PLAIN.analyze(words)
        language = self._language_of(plain, languages)
        kept = _content_words(plain, language) or set(plain)
        stems = [stemming_analyzer(each).analyze(words) for each in languages]
        rows = [row for row in zip(plain, *stems, strict=True) if row[0] in kept]
        terms = dict.fromkeys(stem for _, *some in rows for stem in some)
        if text.isascii():  # the words of the name are those of the question
            names = dict.fromkeys(map(" ".join, zip(*(some for _, *some in rows), strict=True)))
        else:
            names = dict.fromkeys(self.of_name(text, language, stemmed=each) for each in languages)
        return list(terms)[:MAX_QUERY_TERMS], list(filter(None, names))

    def of_phrase(self, text: str, languages: Iterable[str]) -> list[list[tuple[int, str]]]:
        """A phrase, stemmed in each of some languages: terms with their positions."""
        words = phrase_words(text)
        found: dict[tuple[tuple[int, str], ...], None] = {}
        for each in sorted(languages):
            tokens = stemming_analyzer(each).pre_tokenize(words).tokens
            first = tokens[0].position if tokens else 0
            found[tuple((one.position - first, one.text) for one in tokens)] = None
        return [list(terms) for terms in found if terms]

    def of_name(self, text: str, language: str, *, stemmed: str) -> str:
        """A whole name as one term, without the stop words of one language, stemmed in another."""
        words = phrase_words(text)
        stems = _kept(words, PLAIN.analyze(words), language, stemmed)
        return " ".join(stems or stemming_analyzer(stemmed).analyze(words))

    def _language_of(self, words: Iterable[str], likely: Collection[str]) -> str:
        """The language of a question, which may have a single function word: *Wo wohnt Emil?*.

        Of several, it is a likely one: all of them have most of its stop words.
        """
        found = _languages_in(" ".join(words))
        near = found if len(found) <= 1 else tuple(each for each in found if each in likely)
        return (*near, self.default)[0]


@lru_cache(maxsize=64)
def _languages_in(words: str) -> tuple[str, ...]:
    """The languages that a question may have; an answer asks several times for those of one."""
    return tuple(languages_of(words, least=1))


def _kept(words: str, plain: Iterable[str], language: str, stemmed: str) -> list[str]:
    """The terms of a text without the stop words of one language, stemmed in another."""
    kept = _content_words(plain, language)
    stems = stemming_analyzer(stemmed).analyze(words)
    return [stem for word, stem in zip(plain, stems, strict=True) if word in kept]


def _content_words(plain: Iterable[str], language: str) -> set[str]:
    """The words without stop words."""
    words = " ".join(set(plain) - FUNCTION_WORDS.get(language, frozenset()))
    return set(_stopping_analyzer(language).analyze(words))


def analyzer(*filters: tantivy.Filter) -> tantivy.TextAnalyzer:
    """Split a text into words in lower case, and apply filters to them."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    always = tantivy.Filter.remove_long(_LONGEST), tantivy.Filter.lowercase()
    for each in (*always, *filters):
        builder = builder.filter(each)
    return builder.build()


PLAIN = analyzer()
"""Split a text into words, without changing them further."""


@cache
def stemming_analyzer(language: str) -> tantivy.TextAnalyzer:
    """Split a text into the stems of its words, without accents.

    The stemmers of other languages know accents; that of English takes `école` and `ecole` for
    words with different endings.
    """
    stem, fold = tantivy.Filter.stemmer(language), tantivy.Filter.ascii_fold()
    return analyzer(fold, stem) if language == ENGLISH else analyzer(stem, fold)


@lru_cache(maxsize=10_000)
def stems_of(word: str, languages: frozenset[str]) -> frozenset[str]:
    """The stems of a word in some languages; cached because the same words occur in many facts."""
    return frozenset(chain.from_iterable(stemming_analyzer(x).analyze(word) for x in languages))


@cache
def _stopping_analyzer(language: str) -> tantivy.TextAnalyzer:
    with suppress(ValueError):  # tantivy has no stop words for this language
        return analyzer(tantivy.Filter.stopword(language))
    return PLAIN
