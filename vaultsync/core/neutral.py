r"""Text that would run in Obsidian -> the same text, disarmed by backslashes, and back.

What makes a text run is two neighbours: `<` and `%`, three backticks and a language, `!`
and `[`. A backslash between them ends it, and markdown mostly does not show it. Where
there are backslashes between them already, one more is put in, so that taking one out
again always gives what was there: `unescaped(escaped(x)) == x` for every text.

Each such place (a *site*) is found by its neighbours alone, on one line; whether it would
run is judged by all of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

TAGS = [
    "script",
    "iframe",
    "frame",
    "frameset",
    "object",
    "embed",
    "applet",
    "webview",
    "portal",
    "img",
    "image",
    "picture",
    "source",
    "track",
    "video",
    "audio",
    "svg",
    "math",
    "link",
    "meta",
    "base",
    "style",
    "form",
    "input",
    "button",
    "textarea",
    "select",
    "template",
    "body",
    "html",
    "noscript",
]
"""HTML that loads, runs or sends something by itself, or at one click."""

LANGUAGES = re.compile(
    r"(?i)(?:dataview(?:js)?|datacore(?:js|jsx|ts|tsx)?|templater[\w-]*|js-engine|jse"
    r"|meta-bind[\w-]*|execute[\w-]*|run-[\w-]+|button|buttons|tasks|customjs|shell-command"
    r"|plantuml[\w-]*|kroki|query|sqlseal|jsx?:[\w-]+|html-render|iframe|dynamic-embed)(?![\w-])"
)
"""Fences that a plugin, or Obsidian, runs: as code, as a query, or by a service."""

_TAGS = "|".join(TAGS)
_SITE = re.compile(
    r"(?P<templater><)\\*(?=%)"
    rf"|(?P<tag><)\\*(?=(?i:{_TAGS})(?![A-Za-z0-9-]))"
    r"|(?P<fence>(?<!`)`{3,}+[ \t]{0,40}+|(?<!~)~{3,}+[ \t]{0,40}+)\\*(?=[^\s`~\\])"
    r"|(?P<tick>(?<!`)`++[ \t]{0,40}+|(?m:^)[ \t]{0,40}+)\\*(?=\$=|(?:INPUT|VIEW|BUTTON)\[)"
    r"|(?P<image>!)\\*(?=\[)"
    r"|(?P<link>\])\\*(?=\()"
    r"|(?P<define>\])\\*(?=:)"
    r"|(?P<scheme>(?<![A-Za-z0-9+.-])(?:[jJ]\\*(?=(?i:avascript:\S))|[vV]\\*(?=(?i:bscript:\S))"
    r"|[oO]\\*(?=(?i:bsidian:\S))|[fF]\\*(?=(?i:ile:/))"
    r"|[dD]\\*(?=(?i:ata:(?:text/html|text/javascript|application/|image/svg)))))"
    r"|(?P<attribute>(?<![^\s\"'/])(?:[oO]\\*(?=(?i:n[a-z]{3,30})(?![\w-]))"
    r"|[sS]\\*(?=(?i:tyle|rcset|rcdoc|rc)(?![\w-]))|[hH]\\*(?=(?i:ref)(?![\w-]))"
    r"|[bB]\\*(?=(?i:ackground)(?![\w-]))|[pP]\\*(?=(?i:ing)(?![\w-]))))"
)
"""A site: what is before the backslashes, and what must follow them. A backslash is never
part of either, so that one more changes no other site."""


_OTHER_TAG = re.compile(rf"<(?=[A-Za-z])(?!(?i:{_TAGS})(?![A-Za-z0-9-]))")
"""A tag that does nothing, but for its attributes."""


class Site(NamedTuple):
    """A place where a backslash disarms a text."""

    kind: str
    start: int
    """Where its construct begins."""
    at: int
    """Where a backslash goes, or the first of those that are there."""
    slashes: int
    """How many are there."""


def may_run(text: str) -> bool:
    """Whether a text has to be looked at; that most need not costs about a microsecond."""
    return (
        ("\\" in text and _SLASHED.search(text) is not None)
        or "<" in text
        or ("!" in text and "![" in text)
        or ("$" in text and "$=" in text)
        or (":" in text and _has_scheme(text))
        or ("`" in text and _runs_code(text, "```"))
        or ("~" in text and _runs_code(text, "~~~"))
        or ("&" in text and ("](" in text or "]:" in text))
    )


_SLASHED = re.compile(r"(?:[<`~!\]jJvVoOfFdDsShHbBpP]|(?:^|[\n`~])[ \t]{0,40})\\")
"""A backslash where one of ours may be."""
_SCHEME_ENDS = frozenset("tTnNeEaA")


def _has_scheme(text: str) -> bool:
    """Whether a word ends before a colon as the schemes do that run."""
    at = text.find(":")
    while at >= 0:
        if text[at - 1 : at] in _SCHEME_ENDS and not text[at + 1 : at + 2].isspace():
            return True
        at = text.find(":", at + 1)
    return False


def _runs_code(text: str, fence: str) -> bool:
    """Whether a fence may be one that runs, or code in a line begins as such code does."""
    at = text.find(fence)
    while at >= 0:
        while text[at : at + 1] == fence[0]:
            at += 1
        if text[at : at + 1] != "\n" and _is_run(text, at):
            return True
        at = text.find(fence, at)
    return fence == "```" and any(each in text for each in _BUTTONS)


_BUTTONS = ("INPUT[", "VIEW[", "BUTTON[")


def _sites(text: str) -> Iterator[Site]:
    for match in _SITE.finditer(text):
        kind = match.lastgroup or ""
        end = match.end()
        at = end
        while text[at - 1 : at] == "\\":
            at -= 1
        yield Site(kind, match.start(), at, end - at)


def escaped(text: str, *, runs: bool = False) -> str:
    """A text of which nothing runs; with `runs`, only what looks escaped is escaped again."""
    if not may_run(text):
        return text
    look = _Look(text)
    return _with_backslashes(
        text,
        [
            site.at
            for site in _sites(text)
            if site.slashes or (not runs and look.runs(site))
        ],
    )


def disarmed(text: str, live: AbstractSet[str]) -> str:
    """A text that is escaped in part, with what runs in it escaped too.

    What stands in `live`, as `running()` gives it, may run.
    """
    if not may_run(text):
        return text
    look = _Look(text)
    return _with_backslashes(
        text,
        [
            site.at
            for site in _sites(text)
            if not site.slashes and look.runs(site) and look.construct(site) not in live
        ],
    )


def _with_backslashes(text: str, cuts: list[int]) -> str:
    if not cuts:
        return text
    made = [text[: cuts[0]]]
    for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
        made += ("\\", text[start:end])
    return "".join(made)


def unescaped(text: str) -> str:
    """What was escaped; a text that is not, is itself."""
    if "\\" not in text:
        return text
    made = []
    at = 0
    for site in _sites(text):
        if site.slashes:
            made.append(text[at : site.at])
            at = site.at + 1
    return "".join((*made, text[at:])) if made else text


def running(text: str) -> frozenset[str]:
    """The constructs of a text that run, each with all that belongs to it."""
    if not may_run(text):
        return frozenset()
    look = _Look(text)
    return frozenset(
        look.construct(site)
        for site in _sites(text)
        if not site.slashes and look.runs(site)
    )


_FENCE_LINE = re.compile(r"(?m)^(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)$")
_UNSURE = re.compile(r"%%|\$\$|<[A-Za-z!?/]")
"""What before a fence can make something else of it."""
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_REACH = 2_000
"""Letters in which a tag, or the text of a link, ends."""
_DEEP = 8
"""Brackets in brackets, from which on it is not looked for where they are closed."""
_IN_CODE_TOO = frozenset({"templater", "fence", "tick"})


class _Look:
    """What has to be known of a whole text to judge its sites."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._code = list(_code_of(text))
        self._remote_names: bool | None = None

    def runs(self, site: Site) -> bool:
        """Whether something would run, load or lead out of the vault there."""
        text, at = self._text, site.at
        if site.kind not in _IN_CODE_TOO and any(a <= at < b for a, b in self._code):
            return False
        match site.kind:
            case "fence":
                return _is_run(text, at)
            case "tick":
                return text[site.start : at].strip() != "" or _after_tick(text, site)
            case "image":
                return self._is_remote_image(at)
            case "link" | "define":
                # One that is spelled out is a site of its own.
                plain = _PLAIN_SCHEME.match(text, at + 1)
                return plain is None and _leads_out(_destination(text, at + 1))
            case "attribute":
                return self._is_in_tag(site)
            case _:
                return True

    def construct(self, site: Site) -> str:
        """The text of what runs, so that another in its place is told from it."""
        text, start = self._text, site.start
        return text[start : _end_of(site, text)]

    def _is_remote_image(self, at: int) -> bool:
        text = self._text
        if text.startswith("[[", at):
            return False
        close = _closing(text, at)
        if close is None:
            found = re.search(r"\n[ \t]*\n", text[at : at + _REACH])
            rest = text[at : at + (found.start() if found else _REACH)]
            return (
                any(
                    _is_remote(_destination(rest, each.end()))
                    for each in re.finditer(r"\]\(", rest)
                )
                or self._names_remote()
            )
        if text.startswith("(", close + 1):
            return _is_remote(_destination(text, close + 2))
        return self._names_remote()

    def _names_remote(self) -> bool:
        """Whether any link of the text is defined apart from it, and leads out."""
        if self._remote_names is None:
            self._remote_names = any(
                _is_remote(_destination(self._text, each.end()))
                for each in re.finditer(r"\]:", self._text)
            )
        return self._remote_names

    def _is_in_tag(self, site: Site) -> bool:
        text = self._text
        near = text[max(site.start - _REACH, 0) : site.start]
        for found in _OTHER_TAG.finditer(near):
            inside = near[found.end() :]
            ends = inside.find(">")
            if ends < 0 or '"' in inside[:ends] or "'" in inside[:ends]:
                word = text[site.start : site.start + 4].lower()
                return word != "href" or _leads_out(_value_of(text, site.start + 4))
        return False


def _is_run(text: str, at: int) -> bool:
    line = text[at : at + 200].partition("\n")[0]
    said = _unspelled(line).lstrip("{. \t")
    return LANGUAGES.match(said) is not None or line.startswith("$=")


def _after_tick(text: str, site: Site) -> bool:
    return text[: site.start].rstrip().endswith("`")


def _closing(text: str, at: int) -> int | None:
    """Where the bracket at `at` is closed; None when that is not sure."""
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
            if depth > _DEEP:
                return None
        elif letter == "]":
            depth -= 1
            if depth == 0:
                return place
    return None


_TARGET = re.compile(r"\s{0,100}(?:<([^<>\n]{0,1000})|([^\s)]{0,1000}))")


def _destination(text: str, at: int) -> str:
    """Where a link leads, as it is after markdown and HTML took their escapes out."""
    found = _TARGET.match(text, at)
    return _decoded((found[1] or found[2] or "") if found else "")


def _value_of(text: str, at: int) -> str:
    found = re.match(
        r"\s{0,20}=\s{0,20}[\"']?([^\"'>]{0,1000})", text[at : at + _REACH]
    )
    return _decoded(found[1]) if found else ""


_PUNCTUATED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLANK = re.compile(r"[\x00-\x20\x7f\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]")


def _decoded(text: str) -> str:
    """A destination, as a browser reads it."""
    return _BLANK.sub("", _unspelled(text))


def _unspelled(text: str) -> str:
    """A text without the escapes of markdown and HTML."""
    if "&" in text:
        import html  # noqa: PLC0415 - its tables are large, and seldom asked for

        text = html.unescape(text)
    return _PUNCTUATED.sub(r"\1", text)


_OUT = re.compile(
    r"(?i)(?:javascript|vbscript|obsidian|file"
    r"|data(?=:(?:text/html|text/javascript|application/|image/svg))):"
)
_PLAIN_SCHEME = re.compile(
    r"[ \t]{0,40}<?(?i:javascript:\S|vbscript:\S|obsidian:\S|file:/)"
)
_REMOTE = re.compile(r"(?i)(?!data:image/(?!svg))(?:[a-z][a-z0-9+.-]*:|[/\\]{2})")


def _leads_out(destination: str) -> bool:
    return _OUT.match(destination) is not None


def _is_remote(destination: str) -> bool:
    return _REMOTE.match(destination) is not None


def _code_of(text: str) -> Iterator[tuple[int, int]]:
    """Fenced code that is surely nothing else, without its first and last line."""
    at = 0
    while (opened := _FENCE_LINE.search(text, at)) is not None:
        if _UNSURE.search(text, at, opened.start()):
            return
        fence = re.escape(opened["fence"])
        closed = re.compile(rf"(?m)^{fence}{re.escape(fence[-1])}*[ \t]*$").search(
            text, opened.end()
        )
        if closed is None:
            return
        yield opened.end(), closed.start()
        at = closed.end()


_ENDS = {
    "templater": "%>",
    "tick": "`",
    "image": ")",
    "link": ")",
    "define": "\n",
    "attribute": ">",
}


def _end_of(site: Site, text: str) -> int:
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
