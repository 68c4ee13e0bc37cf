"""Cut the excerpt around a passage out of a long text.

A text is cut between sentences, lines and code blocks, never inside one, so that the excerpt
can be read. Lengths are in characters, which cost nothing to count.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from vaultsync.context_packs.formats import fence_lines, paragraph_heading
from vaultsync.model.lazy_pattern import lazy_pattern

EXCERPT_CHARS = 300
"""Characters of an excerpt, about 80 tokens. Measured: of 45 notes of golden/retrieval that
answer a question, 38 excerpts of this length still do; 30 with 200 characters, 41 with 400."""
MIN_RATIO = 1.3
"""Minimum length of a text as a multiple of the length of its excerpt."""
# One character class and a look-behind: an alternative of two patterns takes twice as long.
_SENTENCE_END = lazy_pattern(r"[.!?…。！？](?:(?<=[。！？])|[\"”’)\]*_]*\s+)")
_ANCHOR = 24
"""Characters of both ends of a passage, by which it is found."""
_WORD = lazy_pattern(r"\w+")
_WORD_BYTES = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""Translates ASCII characters that are in no word to blanks: ten times as fast as a pattern."""


class Excerpt(NamedTuple):
    """A part of a text."""

    text: str
    section: str
    """The heading above it; empty without one."""


def excerpt(text: str, passage: str, max_chars: int = EXCERPT_CHARS) -> Excerpt | None:
    """The part of a text that contains most of a passage; None when the text is not much longer.

    The passage may be without markup, or empty for the beginning. A single sentence, line or code
    block may be longer than `max_chars`.
    """
    if len(text) <= MIN_RATIO * max_chars:
        return None
    units = list(_units(text))
    if not units:
        return None  # blanks
    exact = _exact_units(text, units, passage, max_chars)
    first, last = exact or _best_units(text, units, passage, max_chars)
    while last < len(units) and units[last][1] - units[first][0] <= max_chars:
        last += 1  # what follows the passage comes first
    while first and units[last - 1][1] - units[first - 1][0] <= max_chars:
        first -= 1
    while last - first > 1 and _heading(text, units[last - 1]):
        last -= 1  # a heading with nothing under it
    begin, end = units[first][0], units[last - 1][1]
    if end - begin >= len(text) / MIN_RATIO:
        return None
    headings = (_heading(text, unit) for unit in reversed(units[: first + 1]))
    before = "… " if first else ""
    after = " …" if last < len(units) else ""
    return Excerpt(f"{before}{text[begin:end].rstrip()}{after}", next(filter(None, headings), ""))


def _units(text: str) -> Iterator[tuple[int, int]]:
    """The spans of sentences, lines and code blocks."""
    at = begin = 0
    in_code = False
    for line, code in fence_lines(text):
        end = at + len(line)
        if in_code and not code:
            yield begin, at
        if code:
            begin = begin if in_code else at
        elif line.strip():
            start = at
            for match in _SENTENCE_END.finditer(text, at, end):
                yield start, match.end()
                start = match.end()
            if start < end:
                yield start, end
        in_code = code
        at = end + 1
    if in_code:
        yield begin, len(text)


def _exact_units(
    text: str, units: Sequence[tuple[int, int]], passage: str, max_chars: int
) -> tuple[int, int] | None:
    """The range of units that contains a passage, found whole or by its ends."""
    passage = passage.strip("… ")
    if not passage:
        return None
    begin = text.find(passage)
    end = begin + len(passage)
    if begin < 0:
        begin = text.find(passage[:_ANCHOR])
        end = text.find(passage[-_ANCHOR:], begin) + len(passage[-_ANCHOR:])
    if begin < units[0][0] or not len(passage) <= end - begin <= MIN_RATIO * len(passage):
        return None
    first = bisect_right(units, begin, key=itemgetter(0)) - 1
    last = bisect_left(units, end, key=itemgetter(0))
    length = units[last - 1][1] - units[first][0]
    return (first, last) if length <= max_chars or last - first == 1 else None


def _best_units(
    text: str, units: Sequence[tuple[int, int]], passage: str, max_chars: int
) -> tuple[int, int]:
    """The first of the shortest ranges of units that contain most words of a passage."""
    words_of_passage = set(_words(passage))
    shared = [words_of_passage.intersection(_words(text[begin:end])) for begin, end in units]
    most, best = (0, 0), (0, 1)
    for first, (begin, _) in enumerate(units):
        if not shared[first]:
            continue  # the range without it is shorter and contains as much
        words = set[bytes]()
        for last in range(first, len(units)):
            length = units[last][1] - begin
            if last > first and length > max_chars:
                break
            if not shared[last] <= words:
                words |= shared[last]
                if (len(words), -length) > most:
                    most, best = (len(words), -length), (first, last + 1)
    return best


def _words(text: str) -> list[bytes]:
    folded = text.casefold()
    if folded.isascii():
        return folded.encode().translate(_WORD_BYTES).split()
    return [word.encode(errors="replace") for word in _WORD.findall(folded)]


def _heading(text: str, unit: tuple[int, int]) -> str:
    begin, end = unit
    return paragraph_heading(text[begin:end]) if text.startswith("#", begin) else ""
