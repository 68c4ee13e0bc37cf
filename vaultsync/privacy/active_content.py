"""Decide whether a place in a text is active in Obsidian, and where its construct ends.

In doubt, it is active.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from vaultsync.markdown.blocks import fences, joined_spans
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.privacy.providers import data_text

ACTIVE_TAGS = (
    "script", "iframe", "frame", "frameset", "object", "embed", "applet", "webview",
    "portal", "img", "image", "picture", "source", "track", "video", "audio", "svg",
    "math", "link", "meta", "base", "style", "form", "input", "button", "textarea",
    "select", "template", "body", "html", "noscript",
)  # fmt: skip
"""HTML that loads, runs or sends something without, or with a single, click."""

ACTIVE_FENCES = lazy_pattern(
    r"(?i)(?:dataview(?:js)?|datacore(?:js|jsx|ts|tsx)?|templater[\w-]*|js-engine|jse"
    r"|meta-bind[\w-]*|execute[\w-]*|run-[\w-]+|button|buttons|tasks|customjs|shell-command"
    r"|plantuml[\w-]*|kroki|query|sqlseal|jsx?:[\w-]+|html-render|iframe|dynamic-embed)(?![\w-])"
)
"""Fences that Obsidian or a plugin runs as code, as a query, or by a service, even where a line
probably begins none; where it does, all that are not known to be inert are active."""

ACTIVE_TAG_PATTERN = "|".join(ACTIVE_TAGS)
_OTHER_TAG = lazy_pattern(rf"<(?=[A-Za-z])(?!(?i:{ACTIVE_TAG_PATTERN})(?![A-Za-z0-9-]))")
"""A tag that can be active only because of its attributes."""


_HTML_NAME = r"[A-Za-z][A-Za-z0-9-]{0,40}+"
_WHOLE_TAG = lazy_pattern(
    rf"""{_HTML_NAME}(?>[ ]{_HTML_NAME}="[^"'<>=`&\\\n\r]{{0,500}}+")+[ ]?+/?+>"""
)
"""The rest of a tag that all programs end at the same place, as in `<span class="icon">`."""


class ActiveSite(NamedTuple):
    """A place where a backslash makes a construct inactive."""

    kind: str
    start: int
    """Where its construct begins."""
    at: int
    """Where the backslash goes, or the first existing one."""
    slashes: int
    """Number of existing backslashes."""


_UNSURE = lazy_pattern(r"%%|\$\$|<[A-Za-z!?/]")
"""Text that can change the meaning of a fence below it."""
_REACH = 2_000
"""Maximum length of a tag or of the text of a link."""
_MAX_BRACKET_DEPTH = 8
"""Nested brackets beyond which the closing one is not searched."""
_IN_CODE_TOO = frozenset({"templater", "fence", "tick"})


class ActiveContent:
    """Judges the sites of one text; caches what it needs to know of the whole text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._identified = 0
        """Characters of the constructs that were asked for."""
        self._identifiable = 4 * len(text) + _REACH
        self._next: dict[re.Pattern[str], tuple[int, int]] = {}
        """By the end of a construct: its last one that was found."""

    def runs(self, site: ActiveSite) -> bool:
        """Whether the site would run or load something, or lead out of the vault."""
        text, at = self._text, site.at
        kind = site.kind
        if kind not in _IN_CODE_TOO and self._code and _is_in(at, self._code):
            return False
        match kind:
            case "templater" | "tag" | "scheme":
                return True
            case "fence":
                return is_active_fence(text, at)
            case "tick":
                inside = text[site.start : at].strip() != ""
                return inside or self._is_below_tick(site.start)
            case "image":
                return self._is_remote_image(at)
            case "link" | "define":
                # A plain scheme is a site of its own.
                plain = _PLAIN_SCHEME.match(text, at + 1)
                return plain is None and _leads_out(_destination(text, at + 1))
            case "attribute":
                return self._is_in_tag(site)
            case _:
                return True

    @cached_property
    def _code(self) -> list[tuple[int, int]]:
        return list(_code_of(self._text))

    def construct(self, site: ActiveSite) -> str:
        """What identifies the construct: its text.

        Where many constructs contain each other, none of them is known by its own text alone,
        but by that of the whole: each change makes all of them unknown.
        """
        if self._identified <= self._identifiable:
            end = self._end_of(site)
            self._identified += end - site.start
            if self._identified <= self._identifiable:
                return self._text[site.start : end]
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._text.encode(errors="surrogatepass")).hexdigest()

    def _is_below_tick(self, at: int) -> bool:
        """Whether a backtick is the last character before a place that is no blank."""
        while at and self._text[at - 1].isspace():
            at -= 1
        return self._text[at - 1 : at] == "`"

    def _is_remote_image(self, at: int) -> bool:
        text = self._text
        if text.startswith("[[", at):
            return _is_remote(_destination(text, at + 2))
        places = self._remote_targets
        number = bisect_left(places, at)
        far = places[number] if number < len(places) else sys.maxsize
        if far > at + _REACH + 2 and not self._names_remote:
            return False
        close = _closing(text, at)
        if close is None:
            if far < at + _REACH and not _PARAGRAPH_END.search(text, at, far):
                return True
            return self._names_remote
        if text.startswith("(", close + 1):
            return _is_remote(_destination(text, close + 2))
        return self._names_remote

    @cached_property
    def _remote_targets(self) -> list[int]:
        """Where the remote destinations of links and images begin."""
        return list(_remote_places("](", self._text))

    @cached_property
    def _names_remote(self) -> bool:
        """Whether the text has a link reference definition that leads out."""
        return next(_remote_places("]:", self._text), None) is not None

    def _is_in_tag(self, site: ActiveSite) -> bool:
        if not _is_in(site.start, self._tags):
            return False
        text, name = self._text, site.start + 4
        if text[site.start : name].lower() != "href":
            return True
        value = _VALUE.match(text, name)
        return value is not None and _leads_out(_decoded(_with_next(text, value.span(1), "\"'>")))

    @cached_property
    def _tags(self) -> list[tuple[int, int]]:
        """The spans in which a tag may still have attributes.

        In quotes, `>` does not end it; in doubt, it goes on. There is no doubt where all of it is
        well-formed.
        """
        text, spans = self._text, []
        for found in _OTHER_TAG.finditer(text):
            start = found.end()
            whole = _WHOLE_TAG.match(text, start)
            end = whole.end() if whole else text.find(">", start, start + _REACH)
            if not whole and (end < 0 or self._after(_QUOTE, start) <= end):
                end = start + _REACH
            spans.append((start, end))
        return joined_spans(spans)

    def _end_of(self, site: ActiveSite) -> int:
        text, at = self._text, site.at
        if site.kind == "scheme":
            end = self._after(_SCHEME_END, at)
            return end - 1 if end < len(text) or _SCHEME_END.match(text, end - 1) else end
        if site.kind == "fence":
            return self._after(_FENCE_ENDS[text[site.start]], at)
        if site.kind == "tag":
            name = _NAME.match(text, at)
            closing = re.compile(re.escape(f"</{name[0] if name else ''}"))
            closed = self._after(closing, at)
            if closed < len(text):
                return closed - (len(name[0]) if name else 0) - 1
        return self._after(_ENDS[site.kind], at)

    def _after(self, pattern: re.Pattern[str], at: int) -> int:
        """The end of the next match of a pattern, or of the text; asked with growing places."""
        start, end = self._next.get(pattern, (-1, 0))
        if start < at:
            found = pattern.search(self._text, at)
            start, end = found.span() if found else (len(self._text), len(self._text))
            self._next[pattern] = start, end
        return end


def _is_in(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a place is in one of some spans, which are in order."""
    number = bisect_right(spans, (at, sys.maxsize)) if spans else 0
    return number > 0 and at < spans[number - 1][1]


@cache
def inert_fences() -> Mapping[str, re.Pattern[str] | None]:
    """The languages of inert fences, each with what makes a block of it active all the same."""
    return {
        name: re.compile(row["unless"]) if "unless" in row else None
        for row in tomllib.loads(data_text("inert_fences.toml")).values()
        for name in row["names"]
    }


_LANGUAGE = lazy_pattern(r"[^\s{]+")
_MAX_DIAGRAM = 20_000
"""Characters of a diagram that are searched; a longer one is active."""


def is_active_fence(text: str, at: int) -> bool:
    """Whether the fence whose language begins at a position is active.

    Only those that are known to be inert are not. Where the line cannot begin a fence, only
    those are that are known to run.
    """
    line = text[at : at + 200].partition("\n")[0]
    if _runs(line):
        return True
    start = at
    while text[start - 1 : start] in (" ", "\t"):
        start -= 1
    mark = text[start - 1 : start]
    if not _begins_line(text, start, mark) or (mark == "`" and "`" in line):
        return False
    found = _LANGUAGE.match(line)
    language = found[0].lower() if found else ""
    if language not in inert_fences():
        return True
    unless = inert_fences()[language]
    if unless is None:
        return False
    close = text.find(f"\n{mark * 3}", at, at + _MAX_DIAGRAM)
    return close < 0 or unless.search(text, at, close) is not None


@lru_cache(maxsize=256)  # a note has few languages, and many fences
def _runs(line: str) -> bool:
    """Whether the line behind a fence names what is known to run."""
    runs = ACTIVE_FENCES.match(_unescaped(line).lstrip("{. \t"))
    return runs is not None or line.startswith("$=")


_CONTAINERS = frozenset(" \t>-*+.)0123456789")


def _begins_line(text: str, at: int, mark: str) -> bool:
    """Whether before the fence that ends at a position is only what begins quotes and lists."""
    while at and text[at - 1] == mark:
        at -= 1
    while at and text[at - 1] in _CONTAINERS:
        at -= 1
    return at == 0 or text[at - 1] in "\n\r\f\v\x1c\x1d\x1e\x85\u2028\u2029\ufeff"


_BRACKETS = lazy_pattern(r"[\[\]`<\n]|\\(?s:.)?")


def _closing(text: str, at: int) -> int | None:
    """Where the bracket at `at` is closed; None when that is uncertain."""
    depth = 0
    for found in _BRACKETS.finditer(text, at, at + _REACH):
        letter = text[found.start()]
        if letter == "[":
            depth += 1
            if depth > _MAX_BRACKET_DEPTH:
                return None
        elif letter == "]":
            depth -= 1
            if depth == 0:
                return found.start()
        elif letter != "\\":
            return None
    return None


_SPELLING = r"A-Za-z0-9+.:/\\&#;\x00-\x08\x0e-\x1b\x7f\xad\u200b-\u200f\u202a-\u202e\u2060\ufeff\-"
"""Characters of which a scheme may be spelled, escaped or not: nothing else decides where a
destination leads. A text is read no further, or many destinations beside each other would be
read again and again."""
_VALUE = lazy_pattern(rf"\s{{0,20}}=\s{{0,20}}[\"']?([{_SPELLING}\s]{{0,1000}})")
_TARGET = lazy_pattern(
    rf"\s{{0,100}}(?:<([{_SPELLING}\x00-\x09\x0b-\x20\u2028-\u202f]{{0,1000}})|([{_SPELLING}]{{0,1000}}))"
)


_ENDS_AT_ONCE = frozenset("!\"$%'()*,=>?@[]^_`{|}~")
"""Of what no scheme is spelled: a destination that begins with it leads nowhere else."""


def _destination(text: str, at: int) -> str:
    """How the destination of a link begins, without the escapes of Markdown and HTML."""
    if text[at : at + 1] in _ENDS_AT_ONCE:
        return ""
    found = _TARGET.match(text, at)
    assert found is not None  # noqa: S101 - each part of it may be empty
    if found[1] is not None:
        return _decoded(_with_next(text, found.span(1), "<>\n"))
    return _decoded(_with_next(text, found.span(2), ")\n"))


def _with_next(text: str, span: tuple[int, int], ends: str) -> str:
    """A span, and the next character unless it is an end: a backslash may escape it."""
    start, end = span
    after = text[end : end + 1]
    return text[start:end] if after.isspace() or after in ends else text[start : end + 1]


_PUNCTUATED = lazy_pattern(r"\\([!-/:-@\[-`{-~])")
_BLANK = lazy_pattern(r"[\x00-\x20\x7f\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]")


def _decoded(text: str) -> str:
    """A destination, as a browser reads it."""
    return _BLANK.sub("", _unescaped(text))


def _unescaped(text: str) -> str:
    """A text without the escapes of Markdown and HTML."""
    if "&" in text:
        import html  # noqa: PLC0415 - its tables are large, and rarely needed

        text = html.unescape(text)
    return _PUNCTUATED.sub(r"\1", text) if "\\" in text else text


_OUT = lazy_pattern(
    r"(?i)(?:javascript|vbscript|obsidian|file"
    r"|data(?=:(?:text/html|text/javascript|application/|image/svg))):"
)
_PLAIN_SCHEME = lazy_pattern(r"[ \t]{0,40}<?(?i:javascript:\S|vbscript:\S|obsidian:\S|file:/)")
_REMOTE = lazy_pattern(r"(?i)(?!data:image/(?!svg))(?:[a-z][a-z0-9+.-]*:|[/\\]{2})")


def _leads_out(destination: str) -> bool:
    return _OUT.match(destination) is not None


def _is_remote(destination: str) -> bool:
    return _REMOTE.match(destination) is not None


def _remote_places(sign: str, text: str) -> Iterator[int]:
    """Where remote destinations begin that follow a sign."""
    at = text.find(sign)
    while at >= 0:
        at += len(sign)
        if _is_remote(_destination(text, at)):
            yield at
        at = text.find(sign, at)


def _code_of(text: str) -> Iterator[tuple[int, int]]:
    """The content of fenced code that is certainly code."""
    at = 0
    for fence in fences(text):
        info = text[fence.start : fence.inner].lstrip(" ").lstrip(fence.mark[0])
        # Only CommonMark allows backticks after tildes; Obsidian's editor does not.
        unsure = not fence.closed or (fence.depth == 0 and "`" in info)
        if unsure or _UNSURE.search(text, at, fence.start):
            return
        if fence.depth == 0:
            yield fence.inner, fence.close
        at = fence.end


_ENDS = {
    "templater": lazy_pattern("%>"),
    "tick": lazy_pattern("`"),
    "image": lazy_pattern(r"\)"),
    "link": lazy_pattern(r"\)"),
    "define": lazy_pattern(r"\n"),
    "attribute": lazy_pattern(">"),
    "tag": lazy_pattern(">"),
    "marker": lazy_pattern("-->"),
}
"""How constructs end."""
_FENCE_ENDS = {mark: lazy_pattern(rf"\n[ \t>]*{mark}{{3,}}") for mark in "`~"}
_QUOTE = lazy_pattern("[\"']")
_NAME = lazy_pattern(r"[A-Za-z]*")
_SCHEME_END = lazy_pattern(r"[\s<>\"'`]")
_PARAGRAPH_END = lazy_pattern(r"\n[ \t]*\n")
