"""Where a fact says what was asked: the words it has, the passage that has most of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from vaultsync.model.fact import Fact
from vaultsync.recall.query import type_hint

SNIPPET_LENGTH = 200
"""Letters of a passage, some more where a word ends."""
MAX_TERM_POSITIONS = 30
"""Places of one term that are looked at to find a passage."""
_ENDINGS = 5
"""Letters that may follow a stem; more make another word."""
# What is not read: of links all but their words, marks of headings, lists and emphasis.
_LINK = re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]")
_MARKS = re.compile(r"^[ \t>]*(?:#{1,6}|[-*+]|\d{1,3}[.)])[ \t]+|[*_`~]{1,3}", re.MULTILINE)
_ENDS = re.compile(r"[.!?…]+[\"”’)\]]*\s+|[。！？]|\n")


class QueryTerms:
    """The terms of a question, as they are looked for in texts.

    A term is a stem, as the index has it: in a text it begins a word. Texts are searched
    by `str.find`: a pattern took fifty times as long, and more than all the rest.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self.all = tuple(dict.fromkeys(term for term in terms if term))
        self._spelled = [_spelled(term) for term in self.all]

    def found(self, text: str) -> list[tuple[int, int, int]]:
        """Where terms occur, in order: the start, the end of the word, the term's number.

        Of a term that occurs again and again the first ones.
        """
        low = _folded(text)
        return sorted(
            (start, end, number)
            for number, stems in enumerate(self._spelled)
            for stem in stems
            for start, end in islice(_occurrences(low, stem), MAX_TERM_POSITIONS)
        )

    def held(self, text: str) -> dict[int, str]:
        """The terms that a text has, by number, each as it is first written there."""
        low = _folded(text)
        words = {}
        for number, stems in enumerate(self._spelled):
            firsts = (next(_occurrences(low, stem), None) for stem in stems)
            at = min(filter(None, firsts), default=None)
            if at is not None:
                words[number] = text[at[0] : at[1]]
        return words


def _folded(text: str) -> str:
    """A text without its case, as long as it was: in a few scripts case stays."""
    low = text.lower()
    return low if len(low) == len(text) else text


def _spelled(term: str) -> tuple[str, ...]:
    # Stemmers turn a last y into an i.
    return (term, f"{term[:-1]}y") if term.endswith("i") else (term,)


def _occurrences(text: str, stem: str) -> Iterator[tuple[int, int]]:
    """The words that a stem begins, and what may stand in them."""
    at = text.find(stem)
    while at >= 0:
        end = at + len(stem)
        if not stem.isascii():
            yield at, end
        elif at == 0 or not text[at - 1].isalnum():
            last = end
            while last < len(text) and last - end <= _ENDINGS and text[last].isalpha():
                last += 1
            alone = last == len(text) or not text[last].isalnum()
            if alone and (last == end or not stem.isdigit()):
                yield at, last
        at = text.find(stem, end)


def fact_text(fact: Fact) -> str:
    """All that a fact says in words, its date too."""
    return "\n".join(
        [
            fact.title,
            fact.context or "",
            *fact.aliases,
            *fact.tags,
            type_hint(fact),
            *fact.entities,
            fact.agent_id or "",
            fact.created_at[:10],
            *(each for each in fact.own.values() if isinstance(each, str)),
            fact.content,
        ]
    )


def has_phrases(phrases: Iterable[str], text: str) -> bool:
    """Whether a text has all of some phrases, however they are broken and capitalised."""
    if not phrases:
        return True
    said = " ".join(text.casefold().split())
    return all(" ".join(each.casefold().split()) in said for each in phrases)


def snippet(text: str, terms: QueryTerms, *, length: int = SNIPPET_LENGTH) -> str:
    """The part of a text that has most of the terms, in one line; its start if none."""
    text = _unlinked(text)
    start = _densest(terms.found(text), length)
    begin = _begin(text, start, length)
    end = len(text)
    if end - begin > length:
        end = begin + length
        blank = text.rfind(" ", begin, end)
        end = blank if blank > begin else end
    words = " ".join(_MARKS.sub("", text[begin:end]).split())
    before = "…" if text[:begin].strip() else ""
    after = "…" if text[end:].strip() else ""
    return f"{before}{words}{after}" if words else ""


def _unlinked(text: str) -> str:
    """A text with the words of its links in their place; the `!` of embeds goes too."""
    if "[[" not in text:
        return text
    made: list[str] = []
    done = 0
    for found in _LINK.finditer(text):
        start = found.start()
        bang = start > done and text[start - 1] == "!"
        made += (text[done : start - bang], found[1])
        done = found.end()
    return "".join((*made, text[done:]))


def _densest(found: Sequence[tuple[int, int, int]], length: int) -> int:
    """Where the window begins that has most different terms; of equals the first."""
    best, start, first = 0, 0, 0
    for at, (begin, _, _) in enumerate(found):
        while begin - found[first][0] > length:
            first += 1
        different = len({number for _, _, number in found[first : at + 1]})
        if different > best:
            best, start = different, found[first][0]
    return start


def _begin(text: str, start: int, length: int) -> int:
    """The start of the sentence that `start` lies in, or a word before it."""
    earliest = max(0, start - length // 2)
    ends = [match.end() for match in _ENDS.finditer(text, earliest, start)]
    if ends:
        return ends[-1]
    if earliest == 0:
        return 0
    blank = text.find(" ", earliest, start)
    return blank + 1 if blank >= 0 else start


class HitReasons(NamedTuple):
    """What speaks for a hit, for the sentence that says so."""

    words: Sequence[str] = ()
    """As they are written in the fact."""
    asked: int = 0
    """How many terms were asked for."""
    nearness: float | None = None
    """The cosine; None when no vector found it."""
    prefers: bool = False
    """It is what the question hints at: its type, its time, its tier."""
    accesses: int = 0
    importance: float | None = None


_IMPORTANT = 0.8
"""From here on importance is worth a word."""
_NEAR = 0.2
"""Below this, texts have as much to do with each other as any two."""
_OFTEN = 5
_MOST = 5
"""How many words are named."""


def explain_hit(reasons: HitReasons) -> str:
    """One readable sentence."""
    parts = []
    if reasons.words:
        named = [f"“{word}”" for word in reasons.words[:_MOST]]
        has = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
        part = len(reasons.words) < reasons.asked
        of = f" ({len(reasons.words)} of {reasons.asked} words)" if part else ""
        parts.append(f"has {has}{of}")
    if reasons.nearness is not None:
        near = "near" if reasons.nearness >= _NEAR else "not near"
        told = round(reasons.nearness, 2) + 0.0  # no -0.00
        parts.append(f"is {near} in meaning ({told:.2f})")
    if not parts:
        parts.append("stands beside what was asked for")
    if reasons.prefers:
        parts.append("is of the kind or time asked for")
    if reasons.accesses >= _OFTEN:
        parts.append(f"was recalled {reasons.accesses} times")
    if (reasons.importance or 0) >= _IMPORTANT:
        parts.append("is important")
    sentence = ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]
    return f"{sentence[0].upper()}{sentence[1:]}."
