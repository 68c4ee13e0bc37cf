"""Link the first mention of each entity in a text, where it is prose and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vaultsync.links.mentions import Mention, NameMatcher
from vaultsync.links.wikilinks import (
    Link,
    ProseBlock,
    find_links,
    is_linkable,
    name_key,
    prose_blocks,
)
from vaultsync.markdown.blocks import HEADING_BLOCK, TABLE_ROW_BLOCK


class LinkTarget(NamedTuple):
    """An entity that a text may mention."""

    link: str
    """What a link to its note says."""
    names: tuple[str, ...]
    """What it is called: its name and its aliases."""


def auto_link(text: str, targets: Iterable[LinkTarget]) -> str:
    """The text with the first mention of each target as a link; see `link_mentions()`."""
    by_link = {each.link: each for each in targets}
    names = NameMatcher({link: each.names for link, each in by_link.items()})
    return link_mentions(text, names.mentions(text), by_link)


def link_mentions(
    text: str,
    mentions: Sequence[Mention],
    targets: Mapping[str, LinkTarget],
    *,
    within: Sequence[tuple[int, int]] | None = None,
) -> str:
    """The text with the first of the mentions of each target as a link; the rest stays.

    Of mentions that overlap the longest counts, and one of several targets counts for
    none. Nothing is linked in headings, code, math, comments, links, brackets, addresses,
    tags and HTML, and no target that the text links to already. Applied again, it changes
    nothing.

    Args:
        text: markdown.
        mentions: what `Vocabulary.mentions()` found in it.
        targets: by the keys of the mentions; mentions of others are passed over, and so
            are targets whose link no wiki-link can say.
        within: the spans in which links may be added; everywhere when None.
    """
    if not mentions:
        return text
    parts = prose_blocks(text)
    linked = {name_key(link.target) for part in parts for link in part.links}
    todo = {
        key
        for key, each in targets.items()
        if is_linkable(each.link) and linked.isdisjoint(map(name_key, (each.link, *each.names)))
    }
    rows = [part.block[:2] for part in parts if part.block.kind == TABLE_ROW_BLOCK]
    edits: list[tuple[int, int, str]] = []
    for mention in _free(text, mentions, parts):
        meant = [key for key in mention.keys if key in targets]
        if len(meant) != 1 or meant[0] not in todo:
            continue
        link = targets[meant[0]].link
        fresh = _written(text, mention, link, in_row=_is_within(mention, rows))
        if fresh and (within is None or _is_within(mention, within)):
            edits.append((mention.start, mention.end, fresh))
            todo.remove(meant[0])
    made = text
    for start, end, fresh in reversed(edits):
        made = made[:start] + fresh + made[end:]
    return made if _is_proved(text, made, len(edits)) else text


def _is_within(mention: Mention, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= mention.start and mention.end <= end for start, end in spans)


def _written(text: str, mention: Mention, link: str, *, in_row: bool) -> str:
    """The link that stands for a mention; empty when its line has no place for one."""
    said = text[mention.start : mention.end]
    if said == link:
        return f"[[{link}]]"
    if not is_linkable(said) or (not in_row and _may_be_row(text, mention)):
        return ""
    return f"[[{link}\\|{said}]]" if in_row else f"[[{link}|{said}]]"


def _may_be_row(text: str, mention: Mention) -> bool:
    """Whether a line holds a bar: it may be of a table that has none at its edge."""
    end = text.find("\n", mention.end)
    line = text.rfind("\n", 0, mention.start) + 1
    return "|" in text[line : end if end >= 0 else None]


def _free(text: str, mentions: Iterable[Mention], parts: Iterable[ProseBlock]) -> list[Mention]:
    """The mentions in prose that overlap no longer one, by where they begin."""
    closed = bytearray(b"\1") * len(text)
    for part in parts:
        start, end = part.block[:2]
        closed[start:end] = bytes(end - start)
        for start, end in _closed(text, part):
            closed[start:end] = b"\1" * (end - start)
    kept = []
    for mention in sorted(mentions, key=lambda each: each.start - each.end):
        start, end = mention[:2]
        if 1 not in closed[start:end]:
            kept.append(mention)
        # Where a part of it has no place, none has: `Alice` of `Alice Smith/x`.
        closed[start:end] = b"\1" * (end - start)
    return sorted(kept)


_NON_PROSE = tuple(
    (sign, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for sign, pattern in (
        ("<", r"<a\b.*?(?:</a\s*>|\Z)"),
        ("<", r"<[^<>\s][^<>]*>?"),  # other HTML, <addresses>
        (":", r"(?<![a-z0-9+.\-])(?:[a-z][a-z0-9+.\-]*:/|mailto:)\S*"),
        ("www.", r"(?<!\S)www\.\S*"),
        ("@", r"(?<!\S)\S*@\S*"),
        ("/", r"(?<!\S)\S*[\w.~]/\S*"),  # paths
        ("\\", r"[A-Za-z]:\\\S*"),
        ("#", r"(?<!\S)#\S+"),
        ("::", r"(?<!\S)\S+::\S*"),  # fields
    )
)
"""What each of them holds, and how it looks."""
# Blocks that are no text: HTML, and what `[a reference]: leads to`.
_NO_TEXT = re.compile(r"</?[A-Za-z!]|\[(?!\^)[^\[\]]+\]:")
_BRACKET = re.compile(r"\\.|[\[\]]")
_BEHIND = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


def _closed(text: str, part: ProseBlock) -> list[tuple[int, int]]:
    """Where in a block nothing may be linked."""
    block = part.block
    whole = (block.start, block.end)
    if block.kind == HEADING_BLOCK or _NO_TEXT.match(text, block.inner):
        return [whole]
    links = [(link.start, link.end) for link in part.links]
    plain = _blanked(text, whole, links)  # what a link leads to is no path
    marks = [
        (block.start + found.start(), block.start + found.end())
        for sign, pattern in _NON_PROSE
        if sign in plain
        for found in pattern.finditer(plain)
    ]
    return [*part.opaque, *links, *marks, *_brackets(text, *whole)]


def _blanked(text: str, whole: tuple[int, int], spans: Iterable[tuple[int, int]]) -> str:
    """A part of a text with blanks for some spans in it."""
    at, last = whole
    pieces = []
    for start, end in spans:
        if start >= at:  # not within one before
            pieces += [text[at:start], " " * (end - start)]
            at = end
    return "".join([*pieces, text[at:last]])


def _brackets(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """What stands in brackets, with the destination behind them."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for mark in _BRACKET.finditer(text, start, end):
        if mark[0] == "[":
            opened.append(mark.start())
        elif mark[0] == "]" and opened:
            behind = _BEHIND.match(text, mark.end(), end)
            found.append((opened.pop(), behind.end() if behind else mark.end()))
    return found


def _is_proved(old: str, new: str, added: int) -> bool:
    """Whether the new text has the links of the old one, and so many more."""
    then, now = [_link_words(link) for link in find_links(old)], find_links(new)
    left = iter(then)
    want = next(left, None)
    for link in now:
        if _link_words(link) == want:
            want = next(left, None)
    return want is None and len(now) == len(then) + added


def _link_words(link: Link) -> tuple[str, str, str | None, bool]:
    return link.target, link.subpath, link.alias, link.embed
