"""The lines of a text, each with whether it is prose and which fenced code it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vaultsync.markdown.blocks import prose_paragraphs

_CODE_FENCE = re.compile(r"(?:[\s>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class FencedLine:
    """A line and what it is part of."""

    start: int
    end: int
    """Behind its line end."""
    prose: bool
    fence: int
    """Where the fenced code that it belongs to begins; -1 when it belongs to none."""

    @property
    def code(self) -> bool:
        """Whether it belongs to fenced code."""
        return self.fence >= 0


def fenced_lines(text: str) -> Iterator[FencedLine]:
    """All lines of a text, in order; together they are the text."""
    spans = [*prose_paragraphs(text), (len(text), len(text))]
    start = at = 0
    fence, mark = -1, ""
    for words in text.splitlines(keepends=True):
        end = start + len(words)
        while spans[at][1] <= start and at + 1 < len(spans):
            at += 1
        prose = spans[at][0] < end
        ends = False
        if prose:
            fence = -1
        elif fence >= 0:
            bare = words.strip("> \t\r\n")
            ends = len(bare) >= len(mark) and not bare.strip(mark[0])
        elif opened := _CODE_FENCE.match(words):
            fence, mark = start, opened[1]
        yield FencedLine(start, end, prose, fence)
        fence = -1 if ends else fence
        start = end


def closed_title(words: str) -> str:
    """The words of a heading, without the signs that may close it."""
    title = words.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:] in ("", " ", "\t") else title
