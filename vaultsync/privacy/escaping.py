r"""Escape content that Obsidian would run, by backslashes, and undo it.

Content is active because of two adjacent parts: `<` and `%`, three backticks and a language,
`!` and `[`. A backslash between them stops it, and is mostly invisible in rendered Markdown.
Where there are backslashes already, one more is added, so that removing one restores the
original: `unescape(escape(x)) == x` for every text.

Each such place (a *site*) is found by its adjacent parts alone, on one line; whether it is
active depends on the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.privacy.active_content import (
    ACTIVE_TAG_PATTERN,
    ActiveContent,
    ActiveSite,
    is_active_fence,
)
from vaultsync.privacy.placeholders import replace_spans

MARKER_SITE = "marker"
"""The kind of our own markers, such as those of the managed block, which content may not forge."""
_MARKER = r"!--[ \t]{0,40}+/?(?:vaultsync|cortex)"
_FOLLOWED = r"\\*(?=\$=|(?:INPUT|VIEW|BUTTON)\[)"
_SIGNS = (
    ("templater", r"<\\*(?=%)"),
    (MARKER_SITE, rf"<\\*(?={_MARKER})"),
    ("tag", rf"<\\*(?=(?i:{ACTIVE_TAG_PATTERN})(?![A-Za-z0-9-]))"),
    ("fence", r"`(?<!``)`{2,}+[ \t]{0,40}+\\*(?=[^\s`~\\])"),
    ("fence", r"~(?<!~~)~{2,}+[ \t]{0,40}+\\*(?=[^\s`~\\])"),
    ("tick", r"`(?<!``)`*+[ \t]{0,40}+" + _FOLLOWED),
    ("image", r"!\\*(?=\[)"),
)
_LINKS = (("link", r"\]\\*(?=\()"), ("define", r"\]\\*(?=:)"))
_LETTERS = (
    *(
        ("scheme", rf"{first}(?<![A-Za-z0-9+.-].)\\*(?=(?i:{rest}))")
        for rest, both in (
            (r"avascript:\S", "jJ"),
            (r"bscript:\S", "vV"),
            (r"bsidian:\S", "oO"),
            (r"ile:/", "fF"),
            (r"ata:(?:text/html|text/javascript|application/|image/svg)", "dD"),
        )
        for first in both
    ),
    *(
        ("attribute", rf"{first}(?<![^\s\"'/].)\\*(?=(?i:{rest})(?![\w-]))")
        for rest, both in (
            ("n[a-z]{3,30}", "oO"),
            ("tyle|rcset|rcdoc|rc", "sS"),
            ("ref", "hH"),
            ("ackground", "bB"),
            ("ing", "pP"),
        )
        for first in both
    ),
)
_LINES = (("tick", r"(?m:^)[ \t]{0,40}+" + _FOLLOWED),)
"""The forms of sites: the part before the backslashes, and the part after them. Neither contains
a backslash, so that adding one changes no other site.

All but those of lines begin with a fixed character, with which `re` is ten times as fast; so
lookbehinds follow the first character.
"""


@cache
def _pattern(*, links: bool, letters: bool, lines: bool) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """The pattern of sites, and the kinds of its groups."""
    forms = (*_SIGNS, *_LINKS * links, *_LETTERS * letters, *_LINES * lines)
    pattern = "|".join(f"{form}()" for _, form in forms)
    return re.compile(pattern), ("", *(kind for kind, _ in forms))


def may_have_active_content(text: str) -> bool:
    """Whether a text has to be scanned; the check takes about a microsecond for most texts."""
    return (
        ("\\" in text and _SLASHED.search(text) is not None)
        or ("<" in text and _TAGGED.search(text) is not None)
        or ("!" in text and "![" in text)
        or ("$" in text and "$=" in text)
        or (":" in text and _has_scheme(text))
        or ("`" in text and _runs_code(text, "```"))
        or ("~" in text and _runs_code(text, "~~~"))
        or ("&" in text and ("](" in text or "]:" in text))
    )


_SLASHED = lazy_pattern(r"\\(?<![^<`~!\]jJvVoOfFdDsShHbBpP \t\n]\\)")
"""A backslash that may be an escape."""
_OPEN_TAG = r"<[A-Za-z](?![A-Za-z0-9.-]*>)"
"""A tag that may have attributes."""
_TAGGED = lazy_pattern(rf"<(?:%|{_MARKER}|(?i:{ACTIVE_TAG_PATTERN})(?![A-Za-z0-9-]))|{_OPEN_TAG}")
_ATTRIBUTED = lazy_pattern(rf"{_OPEN_TAG}|\\(?<![^oOsShHbBpP]\\)")
"""A possible attribute that is active or escaped."""
_RESPELLED = lazy_pattern(
    r"[&\\<\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]"
)
"""Characters that can obscure the destination of a link."""
_SCHEMES = ("avascript", "bscript", "bsidian", "ile", "ata")
_SCHEME_ENDS = frozenset("tTnNeEaA")
_LONGER_SCHEME = lazy_pattern(r"[A-Za-z0-9+.-](?ai:javascript|vbscript|obsidian|file|data)\Z")
"""The end of another word, as in `memory-file:`, which is no scheme of these."""


def _has_scheme(text: str) -> bool:
    """Whether a word before a colon ends like an active scheme."""
    at = text.find(":")
    while at >= 0:
        if text[at - 1 : at] in _SCHEME_ENDS:
            word = text[max(at - 11, 0) : at]
            ends = word.lower().endswith(_SCHEMES) and not text[at + 1 : at + 2].isspace()
            if ends and not _LONGER_SCHEME.search(word):
                return True
        at = text.find(":", at + 1)
    return False


def _runs_code(text: str, fence: str) -> bool:
    """Whether a fence, or inline code, may be active."""
    at = text.find(fence)
    while at >= 0:
        while text[at : at + 1] == fence[0]:
            at += 1
        if text[at : at + 1] != "\n" and is_active_fence(text, at):
            return True
        at = text.find(fence, at)
    return fence == "```" and any(each in text for each in _BUTTONS)


_BUTTONS = ("INPUT[", "VIEW[", "BUTTON[")


def _site_pattern(text: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """`_pattern()` of the sites that a text may have."""
    spelled = _has_scheme(text)
    return _pattern(
        links=spelled or _RESPELLED.search(text) is not None,
        letters=spelled or (("<" in text or "\\" in text) and _ATTRIBUTED.search(text) is not None),
        lines="$=" in text or any(each in text for each in _BUTTONS),
    )


def _escape_sites(text: str) -> Iterator[ActiveSite]:
    """The sites of a text: active, escaped and others."""
    pattern, kinds = _site_pattern(text)
    for match in pattern.finditer(text):
        start, end = match.span()
        at = end
        while at > start and text[at - 1] == "\\":
            at -= 1
        # The constructor of a named tuple takes as long as all else here.
        yield tuple.__new__(ActiveSite, (kinds[match.lastindex or 0], start, at, end - at))


def escape(text: str, *, runs: bool = False) -> str:
    """Escape active content and our markers; with `runs`, only markers and what looks escaped."""
    return _add_backslashes(
        text,
        lambda content, site: (
            bool(site.slashes) or ((not runs or site.kind == MARKER_SITE) and content.runs(site))
        ),
    )


def escape_active(text: str, live: AbstractSet[str]) -> str:
    """Escape the active content of a text that is escaped in part.

    Constructs in `live`, as returned by `active_constructs()`, stay active.
    """
    return _add_backslashes(
        text,
        lambda content, site: (
            not site.slashes and content.runs(site) and content.construct(site) not in live
        ),
    )


def _add_backslashes(text: str, wanted: Callable[[ActiveContent, ActiveSite], bool]) -> str:
    if not may_have_active_content(text):
        return text
    content = ActiveContent(text)
    cuts = [site.at for site in _escape_sites(text) if wanted(content, site)]
    return replace_spans(text, [(at, at, "\\") for at in cuts])


def unescape(text: str) -> str:
    """Undo `escape()`; other text is returned as it is."""
    if "\\" not in text:
        return text
    # A site ends where its backslashes end; which of them is removed does not matter.
    ends = (match.end() for match in _site_pattern(text)[0].finditer(text))
    return replace_spans(text, [(at - 1, at, "") for at in ends if at and text[at - 1] == "\\"])


def active_constructs(text: str) -> frozenset[str]:
    """The complete active constructs of a text."""
    if not may_have_active_content(text):
        return frozenset()
    content = ActiveContent(text)
    return frozenset(
        content.construct(site)
        for site in _escape_sites(text)
        if not site.slashes and content.runs(site)
    )
