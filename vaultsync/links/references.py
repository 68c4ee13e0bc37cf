"""All references of a note: links in text and properties, tags, headings and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vaultsync.links.wikilinks import Link, ProseBlock, find_links, prose_blocks, whole_link
from vaultsync.markdown.blocks import HEADING_BLOCK
from vaultsync.model.fact import Fact
from vaultsync.model.schema import OWN_FIELDS_BY_KEY, Value, ValueKind

ENTITIES_PROPERTY = "entities"


@dataclass(frozen=True, slots=True)
class LinkAnchors:
    """The places in a note that a link can lead to."""

    headings: tuple[tuple[int, str], ...] = ()
    """Level and `comparable()` text of each heading, in order."""
    blocks: frozenset[str] = frozenset()
    """The ids of blocks, in lower case, without `^`."""
    footnotes: frozenset[str] = frozenset()

    def holds(self, subpath: str) -> bool:
        """Whether `#Heading`, `#One#Two` or `#^block` is there, as Obsidian looks for it.

        Each of several headings has to come after the one before it and lie deeper.
        Case, punctuation and runs of blanks do not count.
        """
        places = [each for each in subpath.split("#") if each.strip()]
        if len(places) == 1 and places[0].startswith("^"):
            return places[0][1:].lower() in self.blocks
        if len(places) == 1 and places[0].startswith("[^"):
            return places[0][2:].removesuffix("]") in self.footnotes
        wanted = [heading_key(each) for each in places]
        above = 0
        for level, heading in self.headings:
            if wanted and level > above and heading == wanted[0]:
                del wanted[0]
                above = level
        return not wanted


@dataclass(frozen=True, slots=True)
class NoteReferences:
    """What a note refers to, and what of it can be referred to."""

    links: tuple[Link, ...]
    """In the body, by where they begin."""
    properties: tuple[tuple[str, Link], ...]
    """In properties, each with its key: `up`, `see.0` for the first of a list."""
    tags: tuple[str, ...]
    """As written, without `#`, those of the property `tags` first."""
    anchors: LinkAnchors


def note_references(body: str, properties: Mapping[str, Value]) -> NoteReferences:
    """All references of a note, from its body and its properties as written."""
    links: list[Link] = []
    tags = property_tags(properties)
    headings: list[tuple[int, str]] = []
    blocks: set[str] = set()
    footnotes: set[str] = set()
    for passage in prose_blocks(body):
        links += passage.links
        block = passage.block
        inside = body[block.inner : block.end]
        if block.kind == HEADING_BLOCK:
            level, heading = _heading(inside)
            headings.append((level, heading_key(heading)))
        if "#" in inside:
            tags += _tags(body, passage)
        if "^" in inside:
            blocks.update(each.lower() for each in _BLOCK_ID.findall(inside))
            footnotes.update(_FOOTNOTE.findall(inside))
    anchors = LinkAnchors(tuple(headings), frozenset(blocks), frozenset(footnotes))
    return NoteReferences(tuple(links), tuple(property_links(properties)), tuple(tags), anchors)


# What Obsidian leaves out when it compares headings.
_MARKS = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\r\n]")
_ATX = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?\s*\Z", re.DOTALL)
_UNDERLINED = re.compile(r"(.*)\n[ \t>]*(=|-)[=-]*\s*\Z", re.DOTALL)
# Behind a blank; right behind an embed works too, and Obsidian's own help relies on it.
_BLOCK_ID = re.compile(r"(?:\A|\s|\]\])\^([A-Za-z0-9-]+)\s*\Z")
_FOOTNOTE = re.compile(r"\A\[\^([^\]\s]+)\]:")
# What ends a tag in Obsidian: all ASCII punctuation but `-`, `_` and `/`, and that of
# Unicode's general and supplemental blocks.
_TAG = re.compile(r"(?<!\S)#([^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")


def heading_key(heading: str) -> str:
    """A heading as it is compared: without punctuation, in lower case."""
    return " ".join(_MARKS.sub(" ", heading).split()).lower()


def _heading(text: str) -> tuple[int, str]:
    """Level and text of a heading of either kind."""
    found = _ATX.match(text)
    if found is not None:
        return len(found[1]), found[2]
    under = _UNDERLINED.match(text)
    assert under is not None  # noqa: S101 - a heading is one or the other
    return (1 if under[2] == "=" else 2), under[1]


def _tags(body: str, passage: ProseBlock) -> list[str]:
    block = passage.block
    closed = [*passage.opaque, *((link.start, link.end) for link in passage.links)]
    return [
        found[1]
        for found in _TAG.finditer(body, block.inner, block.end)
        if not found[1].isdecimal()
        and not any(start < found.end() and found.start() < end for start, end in closed)
    ]


def property_tags(properties: Mapping[str, Value]) -> list[str]:
    """The tags of the property `tags`: a list, or a text parted by commas or blanks."""
    found: list[str] = []
    for key, value in properties.items():
        if key.lower() != "tags":
            continue
        many = value if isinstance(value, (list, tuple)) else [value]
        for each in many:
            words = re.split(r"[,\s]+", each) if isinstance(each, str) else []
            found += [word.lstrip("#") for word in words if word.strip("#")]
    return found


def property_links(properties: Mapping[str, Value]) -> Iterator[tuple[str, Link]]:
    """The links in properties: a text counts when a wiki-link is all that it says."""
    for key, value in properties.items():
        yield from _links_in(key, value)


def _links_in(key: str, value: Value) -> Iterator[tuple[str, Link]]:
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
    """The links of a fact's note, each with the property that holds it, or with `""`.

    Related facts are no links by name; they are known by their ids.
    """
    for text in (fact.title, fact.context or "", fact.content):
        for link in find_links(text):
            yield "", link
    yield from _links_in(ENTITIES_PROPERTY, _bracketed(fact.entities))
    for key, value in fact.own.items():
        named = OWN_FIELDS_BY_KEY[key].kind is ValueKind.LINKS and isinstance(value, (list, tuple))
        yield from _links_in(key, _bracketed(value) if named else value)  # type: ignore[arg-type]
    yield from property_links(fact.properties)


def _bracketed(names: Sequence[Value]) -> list[str]:
    return [f"[[{name}]]" for name in names]
