"""The references of a note (links, tags), and the anchors that others can refer to."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vaultsync.links.wikilinks import Link, find_links, prose_blocks, whole_link
from vaultsync.markdown.blocks import HEADING_BLOCK, closed_title
from vaultsync.model.fact import Fact
from vaultsync.model.inline_tags import text_tags
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import OWN_FIELDS_BY_KEY, Value, ValueKind

ENTITIES_PROPERTY = "entities"
_DEEPEST_HEADING = 6


@dataclass(frozen=True)
class LinkAnchors:
    """The places within a note that a link can lead to."""

    headings: tuple[tuple[int, str], ...] = ()
    """Level and `heading_key()` of each heading, in order."""
    blocks: frozenset[str] = frozenset()
    """Block ids in lower case, without `^`."""
    footnotes: frozenset[str] = frozenset()

    @cached_property
    def _keys(self) -> frozenset[str]:
        """Those of all headings: a note may have many, and a link to each of them."""
        return frozenset(key for _, key in self.headings)

    @cached_property
    def _numbers(self) -> dict[tuple[int, str], list[int]]:
        """The places of each heading among all of them."""
        numbers: dict[tuple[int, str], list[int]] = {}
        for number, heading in enumerate(self.headings):
            numbers.setdefault(heading, []).append(number)
        return numbers

    def holds(self, subpath: str) -> bool:
        """Whether `#Heading`, `#One#Two` or `#^block` exists, as Obsidian looks it up.

        Each of several headings must follow the one before it, at a deeper level. Case,
        punctuation and runs of blanks do not count.
        """
        places = [each for each in subpath.split("#") if each.strip()]
        if len(places) == 1 and places[0].startswith("^"):
            return places[0][1:].lower() in self.blocks
        if len(places) == 1 and places[0].startswith("[^"):
            return places[0][2:].removesuffix("]") in self.footnotes
        wanted = [heading_key(each) for each in places]
        if len(wanted) <= 1 or not self._keys.issuperset(wanted):
            return self._keys.issuperset(wanted)
        last = above = 0
        for key in wanted:
            next_ones = [
                (numbers[at], level)
                for level in range(above + 1, _DEEPEST_HEADING + 1)
                if (numbers := self._numbers.get((level, key), []))
                and (at := bisect_left(numbers, last)) < len(numbers)
            ]
            if not next_ones:
                return False
            last, above = min(next_ones)
            last += 1
        return True


@dataclass(frozen=True, slots=True)
class NoteReferences:
    """The links and tags of a note, and its anchors."""

    links: tuple[Link, ...]
    """In the body, ordered by position."""
    properties: tuple[tuple[str, Link], ...]
    """In properties, each with its key: `up`, `see.0` for the first of a list."""
    tags: tuple[str, ...]
    """As written, without `#`; those of the property `tags` come first."""
    anchors: LinkAnchors


def note_references(body: str, properties: Mapping[str, Value]) -> NoteReferences:
    """The references in the body of a note and in its properties."""
    links: list[Link] = []
    words = re.split(r"[,\s]+", ",".join(property_texts(properties, "tags")))
    headings: list[tuple[int, str]] = []
    blocks: set[str] = set()
    footnotes: set[str] = set()
    for block, found, _ in prose_blocks(body):
        links += found
        inside = body[block.inner : block.end]
        if block.kind == HEADING_BLOCK:
            level, title = _heading(inside)
            headings.append((level, heading_key(title)))
        if "^" in inside:
            blocks.update(each.lower() for each in _BLOCK_ID.findall(inside))
            footnotes.update(_FOOTNOTE.findall(inside))
    named = [link for key, value in properties.items() for link in _links_in(key, value)]
    anchors = LinkAnchors(tuple(headings), frozenset(blocks), frozenset(footnotes))
    tags = (*(word.lstrip("#") for word in words if word.strip("#")), *text_tags(body))
    return NoteReferences(tuple(links), tuple(named), tags, anchors)


# Ignored by Obsidian when it compares headings.
_MARKS = lazy_pattern(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\r\n]")
_ATX = lazy_pattern(r"(#{1,6})[ \t]")
_SETEXT = lazy_pattern(r"(.*)\n[ \t>]*(=|-)[=-]*\s*\Z", re.DOTALL)
# After a blank; directly after an embed works too, and Obsidian's own help relies on it.
_BLOCK_ID = lazy_pattern(r"(?:\A|\s|\]\])\^([A-Za-z0-9-]+)\s*\Z")
_FOOTNOTE = lazy_pattern(r"\A\[\^([^\]\s]+)\]:")


def heading_key(heading: str) -> str:
    """The form in which headings are compared: lower case, without punctuation."""
    return " ".join(_MARKS.sub(" ", heading).split()).lower()


def _heading(text: str) -> tuple[int, str]:
    """Level and text of an ATX or setext heading."""
    found = _ATX.match(text)
    if found is not None:
        return len(found[1]), closed_title(text[found.end() :])
    setext = _SETEXT.match(text)
    assert setext is not None  # noqa: S101 - a heading is one or the other
    return (1 if setext[2] == "=" else 2), setext[1]


def property_texts(properties: Mapping[str, Value], name: str) -> Iterator[str]:
    """The texts of a property as Obsidian reads it: a list or one text, its name in any case."""
    for key, value in properties.items():
        if key.lower() == name:
            many = value if isinstance(value, (list, tuple)) else [value]
            yield from (each for each in many if isinstance(each, str))


def _links_in(key: str, value: Value) -> Iterator[tuple[str, Link]]:
    """The links in a property, each with its key: texts that consist of one link."""
    if isinstance(value, str):
        link = whole_link(value.strip())
        if link is not None:
            yield key, link
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _links_in(f"{key}.{name}", each)
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from _links_in(f"{key}.{number}", each)


def fact_links(fact: Fact) -> Iterator[tuple[str, Link]]:
    """The links in the note of a fact, each with its property, or with `""` in the body.

    Related facts are left out: they are referred to by id.
    """
    for text in (fact.title, fact.context or "", fact.content):
        for link in find_links(text):
            yield "", link
    yield from _links_in(ENTITIES_PROPERTY, list(map("[[{}]]".format, fact.entities)))
    for key, value in fact.own.items():
        named = OWN_FIELDS_BY_KEY[key].kind is ValueKind.LINKS and isinstance(value, (list, tuple))
        yield from _links_in(key, list(map("[[{}]]".format, value)) if named else value)  # type: ignore[arg-type] # named values are texts
    for key, value in fact.properties.items():
        yield from _links_in(key, value)
