"""The blocks of a Markdown text: prose, fenced code, and the rest.

Prose is paragraphs, headings, list items and table rows; the rest is math, comments, raw HTML
and indented code. Blocks are those of CommonMark and Obsidian. Inline constructs (inline code,
an inline comment) are left to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vaultsync.model.lazy_pattern import lazy_pattern

TEXT_BLOCK, HEADING_BLOCK, TABLE_ROW_BLOCK = "text", "heading", "row"
"""The kinds of prose: a paragraph (or a line of a list item), a heading, a table row."""

_CODE_FENCE = lazy_pattern(r"(`{3,})[^`\n]*$|(~{3,})", re.MULTILINE)
_BULLETS, _DIGITS = "-*+", "0123456789"
_CONTAINER_SIGNS = f">{_BULLETS}{_DIGITS}"
"""What a quote or a list item begins with."""
_CONTINUES = " \t>\r\n"
"""What a line of an open quote or list item begins with, but for one that continues a paragraph."""
_LEAF_SIGNS = "`~<%$|#=-*_"
"""What any other block than a paragraph begins with."""
_ITEM = lazy_pattern(r"(?:[-*+]|([0-9]{1,9})[.)])(?=([ \t]*)(\S?))")
_HEADING = lazy_pattern(r"#{1,6}(?=[ \t])")
_RULE_RUNS = {mark: lazy_pattern(rf"[{re.escape(mark)} \t]+") for mark in "-*_"}
_RULE_LENGTH = 3
_UNDERLINE = lazy_pattern(r"(?:=+|-+)\s*\Z")
_RAW = lazy_pattern(r"<(pre|script|style|textarea)(?=[\s>])", re.IGNORECASE)
_FENCE_ENDS = {
    mark: lazy_pattern(rf"^ {{0,3}}({mark}{{3,}}+)[ \t\r]*+$", re.MULTILINE) for mark in "`~"
}
_RETURN = lazy_pattern(r"\r(?!\n)")
_CONTENT = lazy_pattern(r"[^ \t\r\n]")
_CODE = 4
"""Columns of indentation that make code."""
_TAB = 4
_QUOTE = 0
"""The entry of a block quote among the containers; the width of a list item is never 0."""
_DEEPEST = 100
"""Maximum nesting of containers, so that hostile text takes no more time."""


class ProseSpan(NamedTuple):
    """A piece of prose that contains every inline construct that begins in it."""

    start: int
    end: int
    kind: str
    """`TEXT_BLOCK`, `HEADING_BLOCK` or `TABLE_ROW_BLOCK`."""
    inner: int
    """Where it begins inside its quotes and list items: the position of a heading's `#`."""


class Fence(NamedTuple):
    """Fenced code, in whole lines."""

    start: int
    inner: int
    """The end of the opening line."""
    close: int
    """The start of the closing line; `end` when there is none."""
    end: int
    mark: str
    """The opening backticks or tildes."""
    depth: int
    """Number of containers around it; a line in fewer of them ends the fence."""

    @property
    def closed(self) -> bool:
        """Whether it has a closing line, and does not end with its container or the text."""
        return self.close < self.end


class FencedLine(NamedTuple):
    """A line, and the block that it is part of."""

    start: int
    end: int
    """The position behind its line end."""
    prose: bool
    fence: int
    """The start of the fenced code that it is part of; -1 when there is none."""

    @property
    def code(self) -> bool:
        """Whether it is part of fenced code."""
        return self.fence >= 0


def prose_spans(text: str) -> list[ProseSpan]:
    """The spans of paragraphs, headings, list items and table rows, in order.

    No inline construct reaches from one span into another. Quote markers and indentation
    inside a span are part of it.
    """
    return _BlockScanner(text).blocks()


def fences(text: str) -> list[Fence]:
    """The fenced code of a text, in order."""
    if "```" not in text and "~~~" not in text:
        return []
    scanner = _BlockScanner(text)
    scanner.blocks()
    return scanner.fences


def fenced_lines(text: str, offset: int = 0) -> Iterator[FencedLine]:
    """All lines of a text from `offset` on, in order; positions count from the text's beginning."""
    scanner = _BlockScanner(text[offset:])
    prose, code = scanner.blocks()[::-1], scanner.fences[::-1]
    start, find, size = 0, scanner.text.find, len(scanner.text)
    prose_at = prose_end = code_at = code_end = 0  # of the next ones; behind the last, the end
    while start < size:
        end = find("\n", start) + 1 or size
        while prose_end <= start:
            prose_at, prose_end = prose.pop()[:2] if prose else (size, size)
        while code_end <= start:
            code_at, code_end = (code[-1].start, code.pop().end) if code else (size, size)
        fence = code_at + offset if code_at <= start else -1
        yield tuple.__new__(FencedLine, (start + offset, end + offset, prose_at < end, fence))
        start = end


def without_code(text: str) -> str:
    """A text without the lines of its fenced code."""
    kept, at = [], 0
    for fence in fences(text):
        kept.append(text[at : fence.start])
        at = fence.end
    return "".join([*kept, text[at:]])


def joined_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order; those that touch or overlap become one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def closed_title(words: str) -> str:
    """The text of a heading, without a closing sequence of `#`."""
    title = words.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:] in ("", " ", "\t") else title


class _BlockScanner:
    """Scans the lines of a text once."""

    def __init__(self, text: str) -> None:
        # A carriage return alone is a line end, too.
        if "\r" in text:
            text = _RETURN.sub("\n", text) if "\r\n" in text else text.replace("\r", "\n")
        self.text = text
        self.fences: list[Fence] = []
        self._blocks: list[ProseSpan] = []
        self._begin = self._inner = -1
        """Of the open block."""
        self._kind = TEXT_BLOCK
        self._open = False
        """Whether a paragraph is open, which an indented line would continue."""
        self._containers: list[int] = []
        """Quotes, and the widths of list items, from the outermost one."""
        self._empty_item = -1
        """The place among the containers of a list item that began with a blank line just now."""
        self._fence: Fence | None = None
        """The open one."""
        self._run = (0, 0, "")
        """The last run of the signs of a rule: its start, its end and the sign."""
        self._at = self._end = self._column = self._base = 0
        """In the line: the position, its end, the column, and the column where the content of the
        innermost container begins."""

    def blocks(self) -> list[ProseSpan]:
        size, find = len(self.text), self.text.find
        while self._at < size:
            if self._fence is not None and not self._fence.depth:
                self._at = self._fenced_lines(self._fence)
            else:
                self._end = find("\n", self._at) + 1 or size
                self._column = self._base = 0
                empty_item, self._empty_item = self._empty_item, -1
                self._at = self._line(empty_item)
        self._close(size)
        self._end_fence(size)
        return self._blocks

    def _close(self, end: int) -> None:
        if 0 <= self._begin < end:
            span = (self._begin, end, self._kind, self._inner)
            # The constructor of a named tuple takes as long as all else here.
            self._blocks.append(tuple.__new__(ProseSpan, span))
        self._begin = -1
        self._kind = TEXT_BLOCK
        self._open = False

    def _fenced_lines(self, fence: Fence) -> int:
        """Take the rest of fenced code outside of containers."""
        for found in _FENCE_ENDS[fence.mark[0]].finditer(self.text, self._at):
            if len(found[1]) >= len(fence.mark):
                end = _line_end(self.text, found.end())
                self._end_fence(found.start(), end)
                return end
        return len(self.text)

    def _line(self, empty_item: int) -> int:
        """Take a line; return the start of the next one, or the end of a block of many lines."""
        text, line = self.text, self._at
        begin = line
        depth = self._matched() if text[line] in _CONTINUES else 0
        if self._fence is not None:
            if depth >= self._fence.depth:
                if self._ends(self._fence):
                    self._end_fence(begin, self._end)
                return self._end
            self._end_fence(begin)
        if self._is_blank():
            self._close(begin)
            # A list item begins with at most one blank line.
            del self._containers[empty_item if 0 <= empty_item < depth else depth :]
            # Others that follow change nothing more.
            content = _CONTENT.search(text, self._end)
            last = text.rfind("\n", self._end, content.start() if content else len(text))
            return last + 1 or self._end
        while self._column - self._base < _CODE:
            entered = self._entered(depth) if text[self._at] in _CONTAINER_SIGNS else None
            if entered is None:
                return self._leaf(line, begin, depth)
            self._close(begin)
            self._containers[depth:] = [entered]
            depth += 1
            begin = self._at
            self._skip_blanks()
            if self._is_blank():
                self._empty_item = -1 if entered == _QUOTE else depth - 1
                return self._end
        if not self._open:
            del self._containers[depth:]
        return self._end

    def _is_blank(self) -> bool:
        return self._at == self._end or self.text[self._at] in "\r\n"

    def _skip_blanks(self) -> None:
        text, at, end = self.text, self._at, self._end
        while at < end and (sign := text[at]) in " \t":
            self._column += _TAB - self._column % _TAB if sign == "\t" else 1
            at += 1
        self._at = at

    def _matched(self) -> int:
        """Number of open containers that this line continues; moves behind their markers."""
        for depth, width in enumerate(self._containers):
            self._skip_blanks()
            indent = self._column - self._base
            if width == _QUOTE:
                if indent >= _CODE or not self.text.startswith(">", self._at):
                    return depth
                self._enter_quote()
            elif indent >= width:
                self._base += width
            elif not self._is_blank():
                return depth
        self._skip_blanks()
        return len(self._containers)

    def _ends(self, fence: Fence) -> bool:
        line = self.text[self._at : self._end].rstrip(" \t\r\n")
        return (
            self._column - self._base < _CODE
            and len(line) >= len(fence.mark)
            and not line.strip(fence.mark[0])
        )

    def _end_fence(self, close: int, end: int = 0) -> None:
        if self._fence is not None:
            start, inner, _, _, mark, depth = self._fence
            fence = (start, inner, close, end or close, mark, depth)
            self.fences.append(tuple.__new__(Fence, fence))  # as above
        self._fence = None

    def _enter_quote(self) -> None:
        self._at += 1
        self._column += 1
        spaced = self.text.startswith((" ", "\t"), self._at)
        self._base = self._column + 1 if spaced else self._column

    def _entered(self, depth: int) -> int | None:
        """Move into the quote or list item whose sign is here, if it is one."""
        text, at = self.text, self._at
        if depth >= _DEEPEST:
            return None
        if text[at] == ">":
            self._enter_quote()
            return _QUOTE
        found = _ITEM.match(text, at, self._end)
        if found is None:
            return None
        number, blanks, content = found.groups()
        if content and (not blanks or (content == text[at] and self._is_rule(at, self._end))):
            return None
        continues = self._open and depth == len(self._containers)
        if continues and (not content or (number and int(number) != 1)):
            return None
        before = self._base
        self._at = found.end()
        self._column += len(found[0])
        gap = len(blanks)
        if "\t" in blanks:
            gap = len((" " * self._column + blanks).expandtabs(_TAB)) - self._column
        self._base = self._column + (gap if content and 1 <= gap <= _CODE else 1)
        return self._base - before

    def _is_rule(self, at: int, end: int) -> bool:
        """Whether a line is a rule from `at` on.

        It may begin many list items, so a run of its signs is measured once.
        """
        mark = self.text[at : at + 1]
        form = _RULE_RUNS.get(mark)
        if form is None:
            return False
        start, stop, sign = self._run
        if sign != mark or not start <= at < stop:
            found = form.match(self.text, at, end)
            stop = found.end() if found else at
            self._run = at, stop, mark
        if stop < end and not self.text[stop:end].isspace():
            return False
        return self.text.count(mark, at, stop) >= _RULE_LENGTH

    def _paragraph_line(self, begin: int, depth: int) -> int:
        if not self._open:
            del self._containers[depth:]
        if self._begin < 0:
            self._begin, self._inner = begin, self._at
        self._kind, self._open = TEXT_BLOCK, True
        return self._end

    def _leaf(self, line: int, begin: int, depth: int) -> int:
        """Take the content of a line inside its containers."""
        text, at, end = self.text, self._at, self._end
        sign = text[at]
        if sign not in _LEAF_SIGNS:
            return self._paragraph_line(begin, depth)
        fence = _CODE_FENCE.match(text, at, end) if sign in "`~" else None
        if fence:
            self._close(begin)
            del self._containers[depth:]
            opened = (line, end, end, end, fence[1] or fence[2], depth)
            self._fence = tuple.__new__(Fence, opened)
            return end
        beyond = _beyond(text, at, end) if sign in "<%$" else at
        if beyond > at:
            self._close(begin)
            del self._containers[depth:]
            if text[beyond - 1] == "\n":
                return beyond
            begin, end = beyond, _line_end(text, beyond)
        continues = self._open and depth == len(self._containers)
        row = sign == "|"
        heading = sign == "#" and _HEADING.match(text, at, end) is not None
        under = continues and sign in "=-" and self._begin >= 0 and _UNDERLINE.match(text, at, end)
        alone = row or heading or (sign in _RULE_RUNS and not under and self._is_rule(at, end))
        if alone:
            self._close(begin)
        self._kind = TABLE_ROW_BLOCK if row else HEADING_BLOCK if heading or under else TEXT_BLOCK
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


_HEADING_LINE = lazy_pattern(r"\n#{1,6}[ \t](.*)")
"""Without `^`, which is tried at each character, this takes a seventh of the time."""


def note_headings(content: str) -> list[str]:
    """The texts of the headings of a note, without those in fenced code."""
    if "#" not in content:
        return []
    lines = _HEADING_LINE.findall("\n" + without_code(content))
    return list(filter(None, map(closed_title, lines)))


def conflict_marker_line(data: bytes) -> int | None:
    """The line where the first conflict of git begins, outside fenced code; None without one.

    Args:
        data: a note; the markers may have broken its frontmatter.
    """
    if b"<<<<<<< " not in data or b">>>>>>> " not in data:
        return None
    text = data.decode(errors="replace").replace("\r\n", "\n")
    begun, is_divided = 0, False
    for number, line in enumerate(fenced_lines(text), 1):
        words = "" if line.code else text[line.start : line.end].rstrip("\n")
        if words.startswith("<<<<<<< "):
            begun, is_divided = number, False
        elif begun and words == "=======":
            is_divided = True
        elif is_divided and words.startswith(">>>>>>> "):
            return begun
    return None
