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
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache

from vaultsync.privacy.active_content import (
    ACTIVE_TAG_PATTERN,
    ActiveContent,
    ActiveSite,
    is_active_fence,
)

_FOLLOWED = r"\\*(?=\$=|(?:INPUT|VIEW|BUTTON)\[)"
_SIGNS = (
    ("templater", r"<\\*(?=%)"),
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
"""The forms of sites: what is before the backslashes, and what must follow them. A backslash
is never part of either, so that one more changes no other site.

All but those of lines begin with one letter, and `re` is ten times as fast with a pattern of
which it knows all first letters; so what looks behind does so after the first letter.
"""


@cache
def _pattern(*, links: bool, letters: bool, lines: bool) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """A pattern of sites, and the kinds of its groups."""
    forms = [*_SIGNS]
    for wanted, more in ((links, _LINKS), (letters, _LETTERS), (lines, _LINES)):
        forms += more if wanted else ()
    pattern = "|".join(f"{form}()" for _, form in forms)
    return re.compile(pattern), ("", *(kind for kind, _ in forms))


def may_have_active_content(text: str) -> bool:
    """Whether a text has to be looked at; that most need not costs about a microsecond."""
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


_SLASHED = re.compile(r"\\(?<![^<`~!\]jJvVoOfFdDsShHbBpP \t\n]\\)")
"""A backslash where one of ours may be."""
_OPEN_TAG = r"<[A-Za-z](?![A-Za-z0-9.-]*>)"
"""A tag that may have attributes."""
_TAGGED = re.compile(rf"<(?:%|(?i:{ACTIVE_TAG_PATTERN})(?![A-Za-z0-9-]))|{_OPEN_TAG}")
_ATTRIBUTED = re.compile(rf"{_OPEN_TAG}|\\(?<![^oOsShHbBpP]\\)")
"""Where an attribute may be that runs, or is escaped."""
_RESPELLED = re.compile(
    r"[&\\<\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]"
)
"""What can be in a destination that does not show where it leads."""
_SCHEMES = ("avascript", "bscript", "bsidian", "ile", "ata")
_SCHEME_ENDS = frozenset("tTnNeEaA")


def _has_scheme(text: str) -> bool:
    """Whether a word ends before a colon as the schemes do that run."""
    at = text.find(":")
    while at >= 0:
        if text[at - 1 : at] in _SCHEME_ENDS:
            word = text[max(at - 9, 0) : at].lower()
            if word.endswith(_SCHEMES) and not text[at + 1 : at + 2].isspace():
                return True
        at = text.find(":", at + 1)
    return False


def _has_attribute(text: str) -> bool:
    """Whether there is a tag that may have attributes, or an attribute may be escaped."""
    return ("<" in text or "\\" in text) and _ATTRIBUTED.search(text) is not None


def _runs_code(text: str, fence: str) -> bool:
    """Whether a fence may be one that runs, or code in a line begins as such code does."""
    at = text.find(fence)
    while at >= 0:
        while text[at : at + 1] == fence[0]:
            at += 1
        if text[at : at + 1] != "\n" and is_active_fence(text, at):
            return True
        at = text.find(fence, at)
    return fence == "```" and any(each in text for each in _BUTTONS)


_BUTTONS = ("INPUT[", "VIEW[", "BUTTON[")


def _escape_sites(text: str) -> Iterator[ActiveSite]:
    """The sites of a text that run or are escaped, and others."""
    spelled = _has_scheme(text)
    pattern, kinds = _pattern(
        links=spelled or _RESPELLED.search(text) is not None,
        letters=spelled or _has_attribute(text),
        lines="$=" in text or any(each in text for each in _BUTTONS),
    )
    for match in pattern.finditer(text):
        end = match.end()
        at = end
        while text[at - 1 : at] == "\\":
            at -= 1
        yield ActiveSite(kinds[match.lastindex or 0], match.start(), at, end - at)


def escape(text: str, *, runs: bool = False) -> str:
    """A text of which nothing runs; with `runs`, only what looks escaped is escaped again."""
    return _add_backslashes(
        text,
        lambda look, site: bool(site.slashes) or (not runs and look.runs(site)),
    )


def escape_active(text: str, live: AbstractSet[str]) -> str:
    """A text that is escaped in part, with what runs in it escaped too.

    What stands in `live`, as `running()` gives it, may run.
    """
    return _add_backslashes(
        text,
        lambda look, site: (
            not site.slashes and look.runs(site) and look.construct(site) not in live
        ),
    )


def _add_backslashes(text: str, wanted: Callable[[ActiveContent, ActiveSite], bool]) -> str:
    """A text with one more backslash at each site that is wanted."""
    if not may_have_active_content(text):
        return text
    look = ActiveContent(text)
    cuts = [site.at for site in _escape_sites(text) if wanted(look, site)]
    if not cuts:
        return text
    made = [text[: cuts[0]]]
    for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
        made += ("\\", text[start:end])
    return "".join(made)


def unescape(text: str) -> str:
    """What was escaped; a text that is not, is itself."""
    if "\\" not in text:
        return text
    made = []
    at = 0
    for site in _escape_sites(text):
        if site.slashes:
            made.append(text[at : site.at])
            at = site.at + 1
    return "".join((*made, text[at:])) if made else text


def active_constructs(text: str) -> frozenset[str]:
    """The constructs of a text that run, each with all that belongs to it."""
    if not may_have_active_content(text):
        return frozenset()
    look = ActiveContent(text)
    return frozenset(
        look.construct(site) for site in _escape_sites(text) if not site.slashes and look.runs(site)
    )
