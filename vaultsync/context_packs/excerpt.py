"""What a long text says about a passage: the sentences around it, as they are written.

A text is cut between sentences, lines and code blocks, never within one, so that what is
left can be read. It is cut by letters, which costs nothing to count.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vaultsync.context_packs.formats import fence_lines, paragraph_heading

EXCERPT_CHARS = 300
"""Letters of an excerpt, about 80 tokens. Of 45 notes of `golden/retrieval` that answer a
question, 38 still do in as many; in 200 letters 30 do, in 400 41."""
_WORTH = 1.3
"""How many times as long a text has to be for an excerpt to be worth it."""
# One set of signs to look for: a choice of two patterns takes twice as long.
_ENDS = re.compile(r"[.!?…。！？](?:(?<=[。！？])|[\"”’)\]*_]*\s+)")
_END = 24
"""Letters of an end of a passage, by which it is found."""
_WORD = re.compile(r"\w+")
_BLANKS = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(256))
"""Of ASCII, what is in no word: blanks in its place leave the words, ten times as fast."""


class Excerpt(NamedTuple):
    """A part of a text."""

    text: str
    section: str
    """The heading above it; empty when there is none."""


def excerpt(text: str, passage: str, letters: int = EXCERPT_CHARS) -> Excerpt | None:
    """The part that says most of a passage; None when the text is hardly longer.

    Args:
        text: markdown.
        passage: words of it, perhaps without their marks; empty is the beginning.
        letters: how long the part may be; one sentence, line or code block may be longer.
    """
    if len(text) <= _WORTH * letters:
        return None
    units = list(_units(text))
    found = _exact_units(text, units, passage, letters)
    first, last = _around(units, *(found or _best(text, units, passage, letters)), letters)
    while last - first > 1 and _heading(text, units[last - 1]):
        last -= 1  # nothing stands under it
    begin, end = units[first][0], units[last - 1][1]
    if end - begin >= len(text) / _WORTH:
        return None
    above = (_heading(text, unit) for unit in reversed(units[: first + 1]))
    before = "… " if first else ""
    after = " …" if last < len(units) else ""
    said = text[begin:end].rstrip()
    return Excerpt(f"{before}{said}{after}", next(filter(None, above), ""))


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Where sentences, lines and code blocks begin and end."""
    at = begin = 0
    block = False
    for line, code in fence_lines(text):
        end = at + len(line)
        if block and not code:
            yield begin, at
        if code:
            begin = begin if block else at
        elif line.strip():
            start = at
            for match in _ENDS.finditer(text, at, end):
                yield start, match.end()
                start = match.end()
            if start < end:
                yield start, end
        block = code
        at = end + 1
    if block:
        yield begin, len(text)


def _exact_units(
    text: str, units: Sequence[tuple[int, int]], passage: str, letters: int
) -> tuple[int, int] | None:
    """The units that a passage lies in, where it, or its ends, stand in a text."""
    said = passage.strip("… ")
    if not said:
        return None
    begin = text.find(said)
    end = begin + len(said)
    if begin < 0:
        begin = text.find(said[:_END])
        end = text.find(said[-_END:], begin) + len(said[-_END:])
    if begin < units[0][0] or not len(said) <= end - begin <= _WORTH * len(said):
        return None
    first = bisect_right(units, begin, key=_begin) - 1
    last = bisect_left(units, end, key=_begin)
    long = units[last - 1][1] - units[first][0]
    return (first, last) if long <= letters or last - first == 1 else None


def _begin(unit: tuple[int, int]) -> int:
    return unit[0]


def _best(
    text: str, units: Sequence[tuple[int, int]], passage: str, letters: int
) -> tuple[int, int]:
    """The shortest run of units that holds most words of a passage; the first of them."""
    wanted = set(_words(passage))
    held = [wanted.intersection(_words(text[begin:end])) for begin, end in units]
    most, best = (0, 0), (0, 1)
    for first, (begin, _) in enumerate(units):
        if not held[first]:
            continue  # the run without it is shorter and says as much
        words = set[bytes]()
        for last in range(first, len(units)):
            length = units[last][1] - begin
            if last > first and length > letters:
                break
            if not held[last] <= words:
                words |= held[last]
                if (len(words), -length) > most:
                    most, best = (len(words), -length), (first, last + 1)
    return best


def _words(text: str) -> list[bytes]:
    low = text.casefold()
    if low.isascii():
        return low.encode().translate(_BLANKS).split()
    return [word.encode(errors="replace") for word in _WORD.findall(low)]


def _around(
    units: Sequence[tuple[int, int]], first: int, last: int, letters: int
) -> tuple[int, int]:
    """As many units around some as there is room for; those after them come first."""
    while last < len(units) and units[last][1] - units[first][0] <= letters:
        last += 1
    while first and units[last - 1][1] - units[first - 1][0] <= letters:
        first -= 1
    return first, last


def _heading(text: str, unit: tuple[int, int]) -> str:
    begin, end = unit
    return paragraph_heading(text[begin:end]) if text.startswith("#", begin) else ""
