"""Decide whether a place in a text is active in Obsidian, and where its construct ends.

In doubt, it is active.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from vaultsync.markdown.blocks import fences

ACTIVE_TAGS = (
    "script", "iframe", "frame", "frameset", "object", "embed", "applet", "webview",
    "portal", "img", "image", "picture", "source", "track", "video", "audio", "svg",
    "math", "link", "meta", "base", "style", "form", "input", "button", "textarea",
    "select", "template", "body", "html", "noscript",
)  # fmt: skip
"""HTML that loads, runs or sends something without, or with a single, click."""

ACTIVE_FENCES = re.compile(
    r"(?i)(?:dataview(?:js)?|datacore(?:js|jsx|ts|tsx)?|templater[\w-]*|js-engine|jse"
    r"|meta-bind[\w-]*|execute[\w-]*|run-[\w-]+|button|buttons|tasks|customjs|shell-command"
    r"|plantuml[\w-]*|kroki|query|sqlseal|jsx?:[\w-]+|html-render|iframe|dynamic-embed)(?![\w-])"
)
"""Fences that Obsidian or a plugin runs as code, as a query, or by a service."""

ACTIVE_TAG_PATTERN = "|".join(ACTIVE_TAGS)
_OTHER_TAG = re.compile(rf"<(?=[A-Za-z])(?!(?i:{ACTIVE_TAG_PATTERN})(?![A-Za-z0-9-]))")
"""A tag that can be active only because of its attributes."""


class ActiveSite(NamedTuple):
    """A place where a backslash makes a construct inactive."""

    kind: str
    start: int
    """Where its construct begins."""
    at: int
    """Where the backslash goes, or the first existing one."""
    slashes: int
    """Number of existing backslashes."""


_UNSURE = re.compile(r"%%|\$\$|<[A-Za-z!?/]")
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

    def runs(self, site: ActiveSite) -> bool:
        """Whether the site would run or load something, or lead out of the vault."""
        text, at = self._text, site.at
        anywhere = site.kind in _IN_CODE_TOO
        if not anywhere and any(start <= at < end for start, end in self._code):
            return False
        match site.kind:
            case "fence":
                return is_active_fence(text, at)
            case "tick":
                inside = text[site.start : at].strip() != ""
                return inside or text[: site.start].rstrip().endswith("`")
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
        """The text of the construct, which identifies it."""
        return self._text[site.start : _end_of(site, self._text)]

    def _is_remote_image(self, at: int) -> bool:
        text = self._text
        if text.startswith("[[", at):
            return False
        close = _closing(text, at)
        if close is None:
            found = re.search(r"\n[ \t]*\n", text[at : at + _REACH])
            rest = text[at : at + (found.start() if found else _REACH)]
            return _has_remote(r"\]\(", rest) or self._names_remote
        if text.startswith("(", close + 1):
            return _is_remote(_destination(text, close + 2))
        return self._names_remote

    @cached_property
    def _names_remote(self) -> bool:
        """Whether the text has a link reference definition that leads out."""
        return _has_remote(r"\]:", self._text)

    def _is_in_tag(self, site: ActiveSite) -> bool:
        text = self._text
        near = text[max(site.start - _REACH, 0) : site.start]
        for found in _OTHER_TAG.finditer(near):
            inside = near[found.end() :]
            ends = inside.find(">")
            if ends < 0 or '"' in inside[:ends] or "'" in inside[:ends]:
                name = site.start + 4
                value = _VALUE.match(text, name)
                is_link = text[site.start : name].lower() == "href"
                return not is_link or _leads_out(_decoded(value[1]) if value else "")
        return False


def is_active_fence(text: str, at: int) -> bool:
    """Whether the fence whose language begins at a position is active."""
    line = text[at : at + 200].partition("\n")[0]
    language = _unescaped(line).lstrip("{. \t")
    return ACTIVE_FENCES.match(language) is not None or line.startswith("$=")


def _closing(text: str, at: int) -> int | None:
    """Where the bracket at `at` is closed; None when that is uncertain."""
    depth = 0
    skip = False
    for place in range(at, min(at + _REACH, len(text))):
        letter = text[place]
        if skip:
            skip = False
        elif letter == "\\":
            skip = True
        elif letter in "`<\n":
            return None
        elif letter == "[":
            depth += 1
            if depth > _MAX_BRACKET_DEPTH:
                return None
        elif letter == "]":
            depth -= 1
            if depth == 0:
                return place
    return None


_VALUE = re.compile(r"\s{0,20}=\s{0,20}[\"']?([^\"'>]{0,1000})")
_TARGET = re.compile(r"\s{0,100}(?:<([^<>\n]{0,1000})|([^\s)]{0,1000}))")


def _destination(text: str, at: int) -> str:
    """The destination of a link, without the escapes of Markdown and HTML."""
    found = _TARGET.match(text, at)
    return _decoded((found[1] or found[2] or "") if found else "")


_PUNCTUATED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLANK = re.compile(r"[\x00-\x20\x7f\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]")


def _decoded(text: str) -> str:
    """A destination, as a browser reads it."""
    return _BLANK.sub("", _unescaped(text))


def _unescaped(text: str) -> str:
    """A text without the escapes of Markdown and HTML."""
    if "&" in text:
        import html  # noqa: PLC0415 - its tables are large, and rarely needed

        text = html.unescape(text)
    return _PUNCTUATED.sub(r"\1", text)


_OUT = re.compile(
    r"(?i)(?:javascript|vbscript|obsidian|file"
    r"|data(?=:(?:text/html|text/javascript|application/|image/svg))):"
)
_PLAIN_SCHEME = re.compile(r"[ \t]{0,40}<?(?i:javascript:\S|vbscript:\S|obsidian:\S|file:/)")
_REMOTE = re.compile(r"(?i)(?!data:image/(?!svg))(?:[a-z][a-z0-9+.-]*:|[/\\]{2})")


def _leads_out(destination: str) -> bool:
    return _OUT.match(destination) is not None


def _is_remote(destination: str) -> bool:
    return _REMOTE.match(destination) is not None


def _has_remote(sign: str, text: str) -> bool:
    """Whether a destination that follows a sign is remote."""
    return any(_is_remote(_destination(text, each.end())) for each in re.finditer(sign, text))


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
    "templater": "%>",
    "tick": "`",
    "image": ")",
    "link": ")",
    "define": "\n",
    "attribute": ">",
}


def _end_of(site: ActiveSite, text: str) -> int:
    at = site.at
    if site.kind == "fence":
        mark = text[site.start]
        found = re.compile(rf"\n[ \t>]*{re.escape(mark)}{{3,}}").search(text, at)
        return found.end() if found else len(text)
    if site.kind == "tag":
        name = re.compile(r"[A-Za-z]*").match(text, at)
        end = text.find(f"</{name[0] if name else ''}", at)
        return end + 1 if end >= 0 else _until(text, ">", at)
    if site.kind == "scheme":
        found = re.compile(r"[\s<>\"'`]|\Z").search(text, at)
        return found.start() if found else len(text)
    return _until(text, _ENDS[site.kind], at)


def _until(text: str, end: str, at: int) -> int:
    found = text.find(end, at)
    return len(text) if found < 0 else found + len(end)
