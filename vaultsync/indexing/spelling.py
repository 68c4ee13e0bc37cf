"""Find the terms of an index that a misspelled term may mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain, compress, filterfalse

from msgspec import Struct

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS
from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.text_normalization import split_words
from vaultsync.model.filters import FactFilters

_NEAR_LENGTHS = (5, 8)
"""Minimum lengths of a term of which one letter, and two letters, may differ. Most shorter terms
have neighbours that mean something else."""
_LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
_SIMILAR = 0.8
"""How much of two terms must be the same, as `difflib` counts."""


def letters_off(term: str) -> int:
    """How many letters of a term may differ: 0 to 2."""
    return sum(len(term) >= least for least in _NEAR_LENGTHS)


def near_terms(term: str, known: Iterable[str]) -> list[str]:
    """The terms that differ from one in a letter or two, the nearest first; three at most.

    The first letter has to be the same, as it is in nearly all misspellings (Yannakoudakis and
    Fawthrop, *The Rules of Spelling Errors*, 1983).
    """
    most, letters = letters_off(term), set(term)
    near = {
        each
        for each in known
        # A letter that differs adds one letter, takes one away, or both.
        if abs(len(each) - len(term)) <= most
        and each[:1] == term[:1]
        and len(letters.symmetric_difference(each)) <= 2 * most
    } - {term}
    if not near or not most:
        return []
    # Few questions come this far: a cold start does without it.
    from difflib import get_close_matches  # noqa: PLC0415 - see above

    return get_close_matches(term, sorted(near), cutoff=_SIMILAR)


_BRITISH_AND_AMERICAN = (
    *(("our", "or"), ("is", "iz"), ("ys", "yz"), ("enc", "ens"), ("ogu", "og"), ("grey", "gray")),
    *(("tr", "ter"), ("br", "ber"), ("ll", "l"), ("mm", "m"), ("ae", "e"), ("oe", "e")),
)
"""Parts of stems in British and in American spelling; *centre* has the stem *centr*."""


def british_or_american(term: str) -> list[str]:
    """A stem in the other spelling of English, as far as letters tell; most are no words."""
    return [
        other
        for pair in _BRITISH_AND_AMERICAN
        for old, new in (pair, pair[::-1])
        if old in term[1:] and (other := term[0] + new.join(term[1:].rsplit(old, 1))) != term
    ]


def is_slip(word: str, known: str) -> bool:
    """Whether a letter of a known word is missing, doubled or swapped with the next one."""
    at = next((n for n, each in enumerate(word) if not known.startswith(each, n)), len(word))
    if len(word) == len(known):
        return word[at : at + 2] == known[at : at + 2][::-1] and word[at + 2 :] == known[at + 2 :]
    short, long = (word, known) if len(word) < len(known) else (known, word)
    return at < len(short) and short[at:] == long[at + 1 :]


_SUFFIXES = ("ing", "ed", "er", "es", "ion", "ly", "ness")
"""English endings in which a letter may be wrong."""
_LEAST_STEM = 3


def stems_before_slip(word: str) -> list[str]:
    """What may be the stem of a word with a misspelled ending, the longest first: *shippng*."""
    return [
        stem
        for at in range(len(word) - 1, _LEAST_STEM - 1, -1)
        if word[at:].removesuffix("s") not in _SUFFIXES  # *Carter* is no cart
        and any(
            is_slip(word[at:], doubled + suffix)
            for suffix in _SUFFIXES
            for doubled in ("", word[at - 1])
        )
        for stem in (word[:at], f"{word[:at]}e")
    ]


_SEPARABLE = r"(?<![\w:#./\"-]){}(?![\w:./\"-])"
"""A word by itself, no part of a filter, a tag, a path or a quotation."""
_JOINED = r"[^\W\d_]{4,30}"
_JOINT = r"(?<![\w:#./\"])(?=([^\W\d_]+)[- ]([^\W\d_]+)(?![\w:./\"]))"
_VERB = r"\b([a-z]{3,20}) (up|down|in|out|off|over)\b"


class KnownWords(Struct, frozen=True):
    """The words of a question, and what knows those of facts and of English."""

    typed: str
    """The question."""
    index: NoteIndex
    stems_of: Callable[[str], Collection[str]]
    """Word -> its stems, as `NoteIndex.stemmer()`."""
    is_word: Callable[[str], bool]
    """Whether a word is correct: *driving* is no misspelled *dive*, and *Carter* is no *cart*."""

    def spelling_of(self, term: str) -> list[str]:
        """The known term that an unknown one is in another spelling or misspelled; mostly none."""
        # A slip keeps the stemmer from the ending of *bakrey*.
        near = self.index.near_terms(term)
        if not near and term.endswith("y"):
            near = self.index.near_terms(f"{term[:-1]}i")
        if other := set(near).intersection(british_or_american(term)):
            return sorted(other)[:1]
        typed = (each for each in split_words(self.typed) if term in self.stems_of(each))
        is_misspelled = near and not any(map(self.is_word, typed))
        return near[:1] if is_misspelled else self.before_slip(term)

    def before_slip(self, term: str) -> list[str]:
        """The known term of a word with a misspelled ending, such as *shippng*; mostly none."""
        typed = (x for x in split_words(self.typed.lower()) if term in self.stems_of(x))
        word = next(filterfalse(self.is_word, typed), "")
        possible = [x for each in stems_before_slip(word) for x in (*self.stems_of(each), each)]
        counts = self.index.facts_with(possible) if possible else {}
        return [each for each in possible if counts[each]][:1]

    def word_with(self, term: str) -> str:
        """A word with a term as its stem: *rehearse* for *rehears*, which has a shorter one."""
        words = (term, f"{term}e", f"{term}s")
        return next((each for each in words if term in self.stems_of(each)), term)

    def corrected(self, typed: str, term: str) -> str:
        """The English word with a term as its stem that a misspelled one is a letter away from.

        *Subscribers* for *subscribrs*; or else any word with the stem, for which a search for
        keywords needs no more.
        """
        parts = [(typed[:at], typed[at:]) for at in range(1, len(typed) + 1)]
        near = chain.from_iterable(
            (
                f"{a}{b[1:]}",
                f"{a}{b[1:2]}{b[:1]}{b[2:]}",
                *(f"{a}{x}{b[n:]}" for x in _LETTERS for n in (0, 1)),
            )
            for a, b in parts
        )
        words = filter(self.is_word, dict.fromkeys(near))
        return next((each for each in words if term in self.stems_of(each)), self.word_with(term))

    def nouns_of_verbs(self) -> Mapping[str, Collection[str]]:
        """Noun in facts -> the terms of the verb in a question: *backup* for *backed up*."""
        nouns = {
            f"{stem}{particle}": {*self.stems_of(verb), *self.stems_of(particle)}
            for verb, particle in re.findall(_VERB, self.typed.lower())
            for stem in self.stems_of(verb)
        }
        counts = self.index.facts_with(nouns)
        return {noun: stems for noun, stems in nouns.items() if counts[noun]}

    def with_joints(self, text: str, unknown: Collection[str]) -> str:
        """A text with words joined or parted as facts have them: *wifi* for *Wi-Fi*.

        `unknown` are the terms that no fact has.
        """
        is_unknown = frozenset(unknown).intersection
        joined = {
            (first, second): self.stems_of(f"{first}{second}".lower())
            for first, second in re.findall(_JOINT, text)
            if is_unknown((*self.stems_of(first.lower()), *self.stems_of(second.lower())))
        }
        counts = self.index.facts_with({*chain.from_iterable(joined.values())})
        for (first, second), stems in joined.items():
            if any(map(counts.get, stems)):
                text = re.sub(rf"\b{first}[- ]{second}\b", f"{first}{second}", text)
        for word in dict.fromkeys(re.findall(_SEPARABLE.format(_JOINED), text)):
            if is_unknown(self.stems_of(word.lower())) and (parted := self._parted(word)):
                text = re.sub(_SEPARABLE.format(word), parted, text)
        return text

    def _parted(self, word: str) -> str:
        """A word as the two adjacent ones that facts have; mostly empty. *Away* is no *a way*."""
        pairs = [(word[:at], word[at:]) for at in range(1, len(word) - 1)]
        pairs = [pair for pair in pairs if pair[0].lower() not in FUNCTION_WORDS[ENGLISH]]
        for place in (1, 0):  # few ends of a word are words
            stems = [self.stems_of(pair[place].lower()) for pair in pairs]
            counts = self.index.facts_with({*chain.from_iterable(stems)})
            known = [any(map(counts.get, some)) for some in stems]
            pairs = [*compress(pairs, known)]
        for pair in pairs:
            phrase = " ".join(pair)
            if self.index.search("", FactFilters(), phrases=(phrase,), limit=1):
                return phrase
        return ""
