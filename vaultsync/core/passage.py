"""Where a fact says what was asked: the words it has, the passage that has most of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vaultsync.core.fact import Fact

LENGTH = 200
"""Letters of a passage, some more where a word ends."""
_ENDINGS = 5
"""Letters that may follow a stem; more make another word."""
_LINK = re.compile(r"!?\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]")
_MARKS = re.compile(
    r"^[ \t>]*(?:#{1,6}|[-*+]|\d{1,3}[.)])[ \t]+|[*_`~]{1,3}", re.MULTILINE
)
_ENDS = re.compile(r"[.!?…]+[\"”’)\]]*\s+|[。！？]|\n")


class Terms:
    """The terms of a question, as they are looked for in texts.

    A term is a stem, as the index has it: in a text it begins a word.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self.all = tuple(dict.fromkeys(term for term in terms if term))
        parts = [f"({_spelled(term)})" for term in self.all]
        self._pattern = re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def found(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Which term occurs where: its number, the start and the end of the word."""
        if self._pattern is not None:
            for match in self._pattern.finditer(text):
                yield (match.lastindex or 1) - 1, match.start(), match.end()

    def held(self, text: str) -> dict[int, str]:
        """The terms that a text has, by number, each as it is first written there."""
        words: dict[int, str] = {}
        for number, start, end in self.found(text):
            words.setdefault(number, text[start:end])
        return words


def _spelled(term: str) -> str:
    if not term.isascii():
        return re.escape(term)
    if term.isdigit():
        return rf"(?<!\d){term}(?!\d)"
    # Stemmers turn a last y into an i.
    stem = f"{re.escape(term[:-1])}[iy]" if term.endswith("i") else re.escape(term)
    return rf"(?<![^\W_]){stem}[^\W\d_]{{0,{_ENDINGS}}}(?![^\W_])"


def said_by(fact: Fact) -> str:
    """All that a fact says in words, its date too."""
    return "\n".join(
        [
            fact.title,
            fact.context or "",
            *fact.aliases,
            *fact.tags,
            *fact.entities,
            fact.agent_id or "",
            fact.created_at[:10],
            *(each for each in fact.own.values() if isinstance(each, str)),
            fact.content,
        ]
    )


def has_all(phrases: Iterable[str], text: str) -> bool:
    """Whether a text has all of some phrases, however they are broken and capitalised."""
    if not phrases:
        return True
    said = " ".join(text.casefold().split())
    return all(" ".join(each.casefold().split()) in said for each in phrases)


def passage(text: str, terms: Terms, *, length: int = LENGTH) -> str:
    """The part of a text that has most of the terms, in one line; its start if none."""
    start = _densest(list(terms.found(text)), length)
    begin = _begin(text, start, length)
    end = len(text)
    if end - begin > length:
        end = begin + length
        blank = text.rfind(" ", begin, end)
        end = blank if blank > begin else end
    words = " ".join(_plain(text[begin:end]).split())
    before = "…" if text[:begin].strip() else ""
    after = "…" if text[end:].strip() else ""
    return f"{before}{words}{after}" if words else ""


def _densest(found: Sequence[tuple[int, int, int]], length: int) -> int:
    """Where the window begins that has most different terms; of equals the first."""
    best, start, first = 0, 0, 0
    for at, (_, begin, _) in enumerate(found):
        while begin - found[first][1] > length:
            first += 1
        different = len({number for number, _, _ in found[first : at + 1]})
        if different > best:
            best, start = different, found[first][1]
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


def _plain(text: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\1", text))


@dataclass(frozen=True, slots=True)
class Reasons:
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
_OFTEN = 5
_MOST = 5
"""How many words are named."""


def why(reasons: Reasons) -> str:
    """One readable sentence."""
    parts = []
    if reasons.words:
        named = [f"“{word}”" for word in reasons.words[:_MOST]]
        has = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
        part = len(reasons.words) < reasons.asked
        of = f" ({len(reasons.words)} of {reasons.asked} words)" if part else ""
        parts.append(f"has {has}{of}")
    if reasons.nearness is not None:
        parts.append(f"is near in meaning ({reasons.nearness:.2f})")
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
