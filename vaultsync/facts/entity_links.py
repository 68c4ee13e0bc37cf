"""Turn entities that an agent mentions into links in its text.

When an agent replaces a text, only the lines that it changed get links.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from vaultsync.errors import StoreUnavailableError
from vaultsync.links.mentions import Mention
from vaultsync.links.wikilinks import (
    Link,
    LinkResolver,
    ProseBlock,
    find_links,
    is_linkable,
    name_key,
    prose_blocks,
)
from vaultsync.markdown.blocks import HEADING_BLOCK, TABLE_ROW_BLOCK, joined_spans
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import entity_name
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import fold_case
from vaultsync.privacy.placeholders import replace_spans
from vaultsync.sync.context import SyncContext


def link_entities(
    ctx: SyncContext, fact: Fact, *, agent: str | None, before: Fact | None = None
) -> Fact:
    """The fact with links to the entities that its content mentions, unless the user writes it.

    An entity given by its title is named as its note is, because a link finds a note by nothing
    else; an alias stays what its facts are found by. Lines and entities that the replaced version
    `before` has too stay as they are.
    """
    content = "" if before is not None and before.content == fact.content else fact.content
    known = frozenset(before.entities) if before is not None else frozenset()
    given = [each for each in fact.entities if each not in known]
    if agent is None or not ctx.policy.auto_link or not (content or given):
        return fact
    try:
        mentions = ctx.names.mentions(ctx.redacted_store, content)
    except StoreUnavailableError:
        return fact
    named = {each: ctx.names.same_named(each) - {fact.id} for each in given}
    keys = {key for each in mentions for key in each.keys}.union(*named.values()) - {fact.id}
    targets = _link_targets(ctx, fact, keys) if keys else {}
    if not targets:
        return fact
    entities = [_note_name(each, named.get(each, ()), targets) for each in fact.entities]
    fact = fact.evolve(entities=tuple(dict.fromkeys(entities)))
    within = None if before is None else _changed_lines(before.content, content)
    linked = fact
    if content:
        text = link_mentions(content, mentions, targets, within=within)
        linked = fact.evolve(content=text)
    # A link that splits a secret, or the word that reveals one, would show it.
    intact = ctx.view.content_secrets(linked) == ctx.view.content_secrets(fact)
    return linked if intact else fact


def _note_name(name: str, keys: Iterable[str], targets: Mapping[str, LinkTarget]) -> str:
    """The name of the note of the only entity with a title; the same name where there is none."""
    links = [targets[key].link for key in keys if key in targets]
    if len(links) != 1 or "/" in links[0] or not is_linkable(links[0]):
        return name
    return name if name_key(links[0]) == name_key(name) else links[0]


def _changed_lines(before: str, after: str) -> list[tuple[int, int]]:
    """The spans of the lines of `after` that `before` does not have."""
    old = Counter(before.split("\n"))
    spans, start = [], 0
    for line in after.split("\n"):
        if old[line]:
            old[line] -= 1
        else:
            spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans


def _link_targets(ctx: SyncContext, fact: Fact, keys: Iterable[str]) -> dict[str, LinkTarget]:
    """The mentioned entities that every reader of the fact can see, with their link texts.

    The text is a file name, or a path if that is not unique. An entity whose note is not written
    yet will get a note of its name. Where several entities have one name, those in the scope of
    the fact win.
    """
    found = ctx.names.find(keys).values()
    entities = [each for each in found if each.scope == fact.scope]
    names = {fold_case(name) for each in entities for name in each.names}
    entities += [
        each
        for each in found
        if each.scope != fact.scope
        and ctx.policy.permissions.readers_also_read(fact.scope, each.scope)
        and names.isdisjoint(map(fold_case, each.names))
    ]
    namesakes = {each.fact_id: ctx.names.same_named(each.names[0]) for each in entities}
    bases = ctx.archive.find_bases({key for keys in namesakes.values() for key in keys})
    paths = {key: base.path for key, base in bases.items() if base.missing_since is None}
    targets = {}
    for each in entities:
        key, same_named = each.fact_id, namesakes[each.fact_id]
        text = ""
        if key in paths:
            resolver = LinkResolver.of(paths[other] for other in same_named if other in paths)
            text = resolver.link_text(paths[key])
        elif key not in bases and len(same_named) == 1:
            text = entity_name(each.names[0])
        if text:
            targets[key] = LinkTarget(text, each.names)
    return targets


class LinkTarget(NamedTuple):
    """An entity that a text may mention."""

    link: str
    """The target of a link to its note."""
    names: tuple[str, ...]
    """Its name and its aliases."""


def link_mentions(
    text: str,
    mentions: Sequence[Mention],
    targets: Mapping[str, LinkTarget],
    *,
    within: Sequence[tuple[int, int]] | None = None,
) -> str:
    """The text with the first mention of each target linked; the rest stays as it is.

    Of overlapping mentions the longest counts; a mention of several targets counts for none.
    Nothing is linked in headings, code, math, comments, links, brackets, addresses, tags and
    HTML, outside of the spans `within`, and no target that the text links to already or that a
    wiki-link cannot hold. Applied again, it changes nothing.
    """
    if all(targets.keys().isdisjoint(mention.keys) for mention in mentions):
        return text
    parts = prose_blocks(text)
    linked = {name_key(link.target) for part in parts for link in part.links}
    unlinked = {
        key
        for key, each in targets.items()
        if is_linkable(each.link) and linked.isdisjoint(map(name_key, (each.link, *each.names)))
    }
    rows = [part.block[:2] for part in parts if part.block.kind == TABLE_ROW_BLOCK]
    # A line with a bar may be the row of a table without outer bars.
    barred = [found.span() for found in _BARRED_LINE.finditer(text)]
    edits: list[tuple[int, int, str]] = []
    for mention in _linkable_mentions(text, mentions, parts):
        if not unlinked:
            break
        keys = [key for key in mention.keys if key in targets]
        if len(keys) != 1 or keys[0] not in unlinked:
            continue
        in_row = _is_within(mention, rows)
        name, target = text[mention.start : mention.end], targets[keys[0]].link
        link = _wiki_link(name, target, in_row=in_row, barred=_is_within(mention, barred))
        if link and (within is None or _is_within(mention, within)):
            edits.append((mention.start, mention.end, link))
            unlinked.remove(keys[0])
    if not edits:
        return text
    linked_text = replace_spans(text, edits)
    before = [link for part in parts for link in part.links]
    return linked_text if _adds_links_only(before, linked_text, len(edits)) else text


def _is_within(mention: Mention, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether one of the spans, which are in order and apart, contains a mention."""
    number = bisect_right(spans, mention.start, key=itemgetter(0)) - 1
    return number >= 0 and mention.end <= spans[number][1]


def _wiki_link(name: str, target: str, *, in_row: bool, barred: bool) -> str:
    """The link that replaces a mention; empty if none fits into its line."""
    if name == target:
        return f"[[{target}]]"
    if not is_linkable(name) or (barred and not in_row):
        return ""
    return f"[[{target}\\|{name}]]" if in_row else f"[[{target}|{name}]]"


def _linkable_mentions(
    text: str, mentions: Sequence[Mention], parts: Sequence[ProseBlock]
) -> Iterator[Mention]:
    """The mentions in prose that overlap no longer one, ordered by position.

    They are found block by block, as few of many are needed.
    """
    ends = [part.block.end for part in parts]
    mentioned: dict[int, list[Mention]] = {}
    for mention in mentions:
        mentioned.setdefault(bisect_right(ends, mention.start), []).append(mention)
    mentioned.pop(len(parts), None)
    for number, inside in sorted(mentioned.items()):
        begin, stop = parts[number].block[:2]
        blocked = bytearray(stop - begin)
        for start, end in _blocked_spans(text, parts[number]):
            blocked[start - begin : end - begin] = b"\1" * (end - start)
        kept = []
        for mention in sorted(inside, key=lambda each: each.start - each.end):
            start, end = mention.start - begin, mention.end - begin
            if start < 0 or end > len(blocked):
                continue  # not in prose
            if 1 not in blocked[start:end]:
                kept.append(mention)
            # A shorter mention within a blocked one is blocked too: `Alice` in `Alice Smith/x`.
            blocked[start:end] = b"\1" * (end - start)
        yield from sorted(kept)


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
"""A substring that each match contains, to test quickly; and the pattern."""
# Blocks without prose: HTML, and link reference definitions.
_NO_PROSE = lazy_pattern(r"</?[A-Za-z!]|\[(?!\^)[^\[\]]+\]:")
_BARRED_LINE = lazy_pattern(r"^[^\n|]*\|.*", re.MULTILINE)
_BRACKET = lazy_pattern(r"\\.|[\[\]]")
_DESTINATION = lazy_pattern(r"\([^()]*\)|\[[^\[\]]*\]")


def _blocked_spans(text: str, part: ProseBlock) -> list[tuple[int, int]]:
    """The spans of a block in which nothing may be linked."""
    block = part.block
    whole = (block.start, block.end)
    if block.kind == HEADING_BLOCK or _NO_PROSE.match(text, block.inner):
        return [whole]
    links = [(link.start, link.end) for link in part.links]
    plain = _blank_out(text, whole, links)  # the target of a link would look like a path
    marks = [
        (block.start + found.start(), block.start + found.end())
        for sign, pattern in _NON_PROSE
        if sign in plain
        for found in pattern.finditer(plain)
    ]
    return joined_spans([*part.opaque, *links, *marks, *_brackets(text, *whole)])


def _blank_out(text: str, whole: tuple[int, int], spans: Iterable[tuple[int, int]]) -> str:
    """A part of a text with some spans replaced by blanks."""
    position, last = whole
    pieces = []
    for start, end in spans:
        if start >= position:  # spans may nest
            pieces += [text[position:start], " " * (end - start)]
            position = end
    return "".join([*pieces, text[position:last]])


def _brackets(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of brackets, including the destination after them."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for mark in _BRACKET.finditer(text, start, end):
        if mark[0] == "[":
            opened.append(mark.start())
        elif mark[0] == "]" and opened:
            destination = _DESTINATION.match(text, mark.end(), end)
            found.append((opened.pop(), (destination or mark).end()))
    return found


def _adds_links_only(before: Sequence[Link], new: str, added: int) -> bool:
    """Whether the new text has the former links in order, and `added` more."""
    after = find_links(new)
    left = iter(after)
    # Compared without the span and the kind.
    kept = all(any(link[:4] == each[:4] for each in left) for link in before)
    return kept and len(after) == len(before) + added
