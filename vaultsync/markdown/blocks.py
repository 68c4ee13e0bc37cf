"""Which parts of a note's body are prose: the paragraphs, and no code, math or comment.

Only blocks are told apart here, as CommonMark and Obsidian do. What stands within a
paragraph (inline code, an inline comment) is for the reader of the paragraph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

TEXT_BLOCK, HEADING_BLOCK, TABLE_ROW_BLOCK = "text", "heading", "row"
"""The kinds of prose: a paragraph (or a line of a list item), a heading, a table row."""

_FENCE_START = re.compile(r"(`{3,})[^`\n]*$|(~{3,})", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?=([ \t]*)(\S?))")
_HEADING = re.compile(r"#{1,6}(?=[ \t])")
_RULE = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\s*\Z")
_UNDERLINE = re.compile(r"(?:=+|-+)\s*\Z")
_RAW = re.compile(r"<(pre|script|style|textarea)(?=[\s>])", re.IGNORECASE)
_CODE = 4
"""Columns of indentation that make code."""
_TAB = 4
_QUOTE = 0
"""Stands for a quote among the containers; the width of a list item is never 0."""
_DEEPEST = 100
"""Containers within each other; a hostile text has more, and takes no more time."""


class ProseSpan(NamedTuple):
    """A piece of prose that nothing inline reaches out of."""

    start: int
    end: int
    kind: str
    """`TEXT`, `HEADING` or `ROW`."""
    inner: int
    """Where it begins inside its quotes and list items; a heading's `#` stands there."""


@dataclass(frozen=True, slots=True)
class _OpenFence:
    mark: str
    depth: int
    """Containers around it; a line that lies in fewer of them ends the fence."""


def prose_paragraphs(text: str) -> list[tuple[int, int]]:
    """The spans of paragraphs, headings, list items and rows of tables, in order.

    Nothing inline reaches from one span into another. Quote marks and indentation
    inside a span stay part of it.
    """
    return [block[:2] for block in _BlockScanner(text).blocks()]


def prose_spans(text: str) -> list[ProseSpan]:
    """The same with what each of them is."""
    return _BlockScanner(text).blocks()


class _BlockScanner:
    """One walk over the lines of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[ProseSpan] = []
        self._begin = self._inner = -1
        """Of the open block."""
        self._kind = TEXT_BLOCK
        self._open = False
        """A paragraph is open, which an indented line would go on."""
        self._containers: list[int] = []
        """Quotes, and list items by width, from the outside in."""
        self._fence: _OpenFence | None = None
        self._at = self._end = self._column = self._base = 0
        """In the line: where, up to where, in which column, and the column where the
        innermost container's content begins."""

    def blocks(self) -> list[ProseSpan]:
        while self._at < len(self._text):
            self._end = _line_end(self._text, self._at)
            self._column = self._base = 0
            self._at = self._line()
        self._close(len(self._text))
        return self._blocks

    def _close(self, end: int) -> None:
        if 0 <= self._begin < end:
            self._blocks.append(ProseSpan(self._begin, end, self._kind, self._inner))
        self._begin = -1
        self._kind = TEXT_BLOCK
        self._open = False

    def _line(self) -> int:
        """Take a line in; return where to go on, behind a block of many lines."""
        begin = self._at
        depth = self._matched()
        if self._fence is not None:
            if depth >= self._fence.depth:
                if self._ends(self._fence):
                    self._fence = None
                return self._end
            self._fence = None
        if self._is_blank():
            self._close(begin)
            del self._containers[depth:]
            return self._end
        while self._column - self._base < _CODE:
            entered = self._entered(depth)
            if entered is None:
                return self._leaf(begin, depth)
            self._close(begin)
            self._containers[depth:] = [entered]
            depth += 1
            begin = self._at
            self._skip_blanks()
            if self._is_blank():
                return self._end
        if not self._open:
            del self._containers[depth:]
        return self._end

    def _is_blank(self) -> bool:
        return self._at == self._end or self._text[self._at] in "\r\n"

    def _skip_blanks(self) -> None:
        while self._at < self._end and self._text[self._at] in " \t":
            tab = self._text[self._at] == "\t"
            self._column += _TAB - self._column % _TAB if tab else 1
            self._at += 1

    def _matched(self) -> int:
        """How many of the open containers this line goes on; moves behind them."""
        for depth, width in enumerate(self._containers):
            self._skip_blanks()
            indent = self._column - self._base
            if width == _QUOTE:
                if indent >= _CODE or not self._text.startswith(">", self._at):
                    return depth
                self._enter_quote()
            elif indent >= width:
                self._base += width
            elif not self._is_blank():
                return depth
        self._skip_blanks()
        return len(self._containers)

    def _ends(self, fence: _OpenFence) -> bool:
        line = self._text[self._at : self._end].rstrip()
        return (
            self._column - self._base < _CODE
            and len(line) >= len(fence.mark)
            and not line.strip(fence.mark[0])
        )

    def _enter_quote(self) -> None:
        self._at += 1
        self._column += 1
        spaced = self._text.startswith((" ", "\t"), self._at)
        self._base = self._column + 1 if spaced else self._column

    def _entered(self, depth: int) -> int | None:
        """Move into the quote or list item that begins here, if one does."""
        text, at = self._text, self._at
        if depth >= _DEEPEST:
            return None
        if text.startswith(">", at):
            self._enter_quote()
            return _QUOTE
        found = _ITEM.match(text, at, self._end)
        if found is None or _RULE.match(text, at, self._end):
            return None
        number, blanks, content = found.groups()
        if content and not blanks:
            return None
        goes_on = self._open and depth == len(self._containers)
        if goes_on and (not content or (number and int(number) != 1)):
            return None
        before = self._base
        self._at = found.end()
        self._column += len(found[0])
        gap = len((" " * self._column + blanks).expandtabs(_TAB)) - self._column
        self._base = self._column + (gap if content and 1 <= gap <= _CODE else 1)
        return self._base - before

    def _leaf(self, begin: int, depth: int) -> int:
        """Take in what a line holds inside its containers."""
        text, at, end = self._text, self._at, self._end
        fence = _FENCE_START.match(text, at, end)
        if fence:
            self._close(begin)
            del self._containers[depth:]
            self._fence = _OpenFence(fence[1] or fence[2], depth)
            return end
        beyond = _beyond(text, at, end)
        if beyond > at:
            self._close(begin)
            del self._containers[depth:]
            if text[beyond - 1] == "\n":
                return beyond
            begin, end = beyond, _line_end(text, beyond)
        goes_on = self._open and depth == len(self._containers)
        row = text.startswith("|", at)
        heading = _HEADING.match(text, at, end) is not None
        under = goes_on and self._begin >= 0 and _UNDERLINE.match(text, at, end)
        alone = row or heading or (not under and _RULE.match(text, at, end))
        if alone:
            self._close(begin)
        self._kind = (
            TABLE_ROW_BLOCK
            if row
            else HEADING_BLOCK
            if heading or under
            else TEXT_BLOCK
        )
        if not self._open:
            del self._containers[depth:]
        if self._begin < 0:
            self._begin, self._inner = begin, max(at, begin)
        if alone or under:
            self._close(end)
        self._open = row or self._begin >= 0
        return end


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _beyond(text: str, at: int, end: int) -> int:
    """The end of a comment, math or raw HTML of many lines that begins at `at`."""
    if text.startswith("<!--", at):
        stop = text.find("-->", at + 4)
        return len(text) if stop < 0 else stop + 3 if stop >= end else at
    if text.startswith(("%%", "$$"), at):
        stop = text.find(text[at : at + 2], at + 2)
        return stop + 2 if stop >= end else at
    raw = _RAW.match(text, at, end)
    if raw:
        found = re.compile(f"</{raw[1]}>", re.IGNORECASE).search(text, at)
        return _line_end(text, found.end()) if found else len(text)
    return at
