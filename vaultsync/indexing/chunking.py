"""Split facts into chunks: the texts that are embedded, each identified by its hash.

A text that has been embedded before is not embedded again, so chunks are cut to survive edits.
A fact that is short enough is one chunk: title, aliases, context and content together. A longer
one has

- a *lead*: title, aliases, context, the headings and all paragraphs of a few words, in
  order, in as many chunks as that takes, and
- a chunk for each other paragraph (list, table, code block), **without** title and headings.

So a paragraph that is moved, in its note or to another one, needs no embedding. A change of a
title or a heading needs a new lead, an edit of a short note a new chunk. Links are replaced by
their display text, so that a renamed note needs no new vectors for the notes that link to it.
Encoded data, such as a picture in base64, is in no chunk.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from operator import itemgetter

from vaultsync.links.wikilinks import find_links
from vaultsync.markdown.blocks import FencedLine, closed_title, fenced_lines
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import OWN_FIELDS_BY_KEY, ValueKind

CHUNK_RULES = "paragraphs-1"
"""Name and version of these rules, part of the `embedding_identity()`."""
MAX_CHUNK_SIZE = 1000
"""Maximum size of a chunk in `token_quarters()`: 250 tokens. The model reads 256, two of which
are its own."""
_MAX_CHARACTER = 4
"""Size of the largest character."""
_MIN_PARAGRAPH_SIZE = 64
"""Size, about ten words, under which a paragraph goes into the lead."""

_KEPT_FACTS, _MAX_KEPT_SIZE = 256, 20_000
"""Facts whose chunks stay in memory, since questions read the passages of the same facts again
and again; and how many characters such a fact may have."""

_HEADING = lazy_pattern(r" {0,3}(#{1,6})(?=\s|\Z)")
_ITEM = lazy_pattern(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s")
_LIST_CONTINUATION = lazy_pattern(_ITEM.pattern + r"|(?: {2}|\t)")
"""A line that continues a list after a blank line."""
_QUARTERS = (string.ascii_letters + " \t\n\r\f\v\x1c\x1d\x1e\x1f").encode()
_WIDE_BLANK = lazy_pattern(r"[^\S\x00-\x7f]")
_SPLITS = (
    re.compile(r"\n"),
    re.compile(r"(?<![.!?…])[.!?…]++[\"')\]]*+\s+|[。！？]+[」』]*"),
    re.compile(r"\s+"),
)
"""Where a block that is too large is split: at lines, sentences, words; else between characters."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a fact."""

    id: str
    """sha256 of `text`, in hex."""
    text: str
    """The text that is embedded."""
    start: int
    end: int
    """The span of the content that it covers; empty for a lead, and behind the content for
    texts of other fields."""
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first; for citations."""


def token_quarters(text: str) -> int:
    """Estimate the tokens of a text, in quarters of a token; sizes of parts add up.

    English letters and blanks count a quarter each, any other character a whole token, as in
    the vocabulary of MiniLM. Measured on notes, code and chats, this is 0.9 to 1.5 times what
    its tokenizer counts.
    """
    whole = len(text.encode("ascii", "replace").translate(None, _QUARTERS))
    if not text.isascii():
        whole -= len(_WIDE_BLANK.findall(text))
    return len(text) + 3 * whole


def chunk_fact(fact: Fact, *, around: str = "") -> list[Chunk]:
    """The chunks of a fact, each id once, the lead first.

    Args:
        fact: of which title, aliases, context, content and a type's own texts are embedded.
        around: the text of its neighbours, which fills up the chunk of a short fact.
    """
    texts = [fact.content]
    for key, value in fact.own.items():
        if OWN_FIELDS_BY_KEY[key].kind is ValueKind.TEXT and isinstance(value, str):
            texts.append(value)
        elif OWN_FIELDS_BY_KEY[key].kind is ValueKind.LINES and isinstance(value, Sequence):
            texts.append("\n".join(f"- {each}" for each in value))
    heads = (fact.title, ", ".join(fact.aliases), fact.context or "")
    text = "\n\n".join(filter(None, texts))
    chunks = _chunks if len(text) <= _MAX_KEPT_SIZE else _chunks.__wrapped__
    return list(chunks(heads, text, around))


@lru_cache(_KEPT_FACTS)
def _chunks(heads: tuple[str, ...], text: str, around: str) -> tuple[Chunk, ...]:
    found: dict[str, Chunk] = {}
    # `status` loads this module, and makes no chunks.
    from vaultsync.markdown.encoded_data import replace_encoded_data, without_encoded_data  # noqa: PLC0415 - see above

    plain = without_encoded_data(text)
    # A blank line in its place, as long as it was, so that spans remain those of the content.
    blanked = replace_encoded_data(text, lambda length: f"\n{' ' * (length - 2)}\n")
    whole = _single_chunk(heads, plain, around, end=len(text))
    for chunk in whole or _lead_and_paragraphs(heads, blanked):
        if chunk.text:
            found.setdefault(chunk.id, chunk)
    return tuple(found.values())


def _single_chunk(heads: Iterable[str], text: str, around: str, *, end: int) -> list[Chunk]:
    """All in one chunk; none when that would be too large."""
    # The title may be derived from the first words of the content.
    lines = [line for each in heads if (line := _without_links(each)).rstrip("…") not in text]
    whole = "\n".join([*lines, _without_links(text)])
    room = MAX_CHUNK_SIZE - token_quarters(whole) - token_quarters("\n")
    if room < 0:
        return []
    if around and room >= _MIN_PARAGRAPH_SIZE:
        _, fits = next(_split(around, 0, len(around), max_size=room))
        whole = f"{whole}\n{around[:fits]}"
    return [_chunk(whole, 0, end)]


def _lead_and_paragraphs(heads: Iterable[str], text: str) -> Iterator[Chunk]:
    lead = list(heads)
    paragraphs = []
    for block in _blocks(text):
        if block.title or token_quarters(text[block.start : block.end]) < _MIN_PARAGRAPH_SIZE:
            lead.append(block.title or text[block.start : block.end].strip("\n"))
        else:
            paragraphs.append(block)
    outline = "\n".join(map(_without_links, filter(None, lead)))
    for start, end in _split(outline, 0, len(outline)):
        yield _chunk(outline[start:end], 0, 0)
    for block in paragraphs:
        for start, end in _split(text, block.start, block.end, code=block.code):
            yield _chunk(_without_links(text[start:end]), start, end, block.headings)


def _chunk(text: str, start: int, end: int, headings: tuple[str, ...] = ()) -> Chunk:
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return Chunk(sha256(text.encode()).hexdigest(), text, start, end, headings)


def _without_links(text: str) -> str:
    """The text with each link replaced by its display text."""
    parts, at = [], 0
    for link in find_links(text):
        if link.start >= at:
            parts += [text[at : link.start], link.alias or f"{link.target}{link.subpath}"]
            at = link.end
    return "".join([*parts, text[at:]]) if at else text


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    headings: tuple[str, ...]
    """The headings above it."""
    code: tuple[tuple[int, int], ...] = ()
    """The spans of fenced code in it."""
    title: str = ""
    """The text, if it is a heading."""


def _blocks(text: str) -> Iterator[_Block]:
    """Headings, and what blank lines separate; a list, or fenced code, is one block."""
    above: list[tuple[int, str]] = []
    lines: list[FencedLine] = []
    after_blank = in_list = False

    def finish_block() -> Iterator[_Block]:
        if lines:
            fences = {line.fence: (line.fence, line.end) for line in lines if line.code}
            headings = tuple(title for _, title in above)
            code = tuple(fences.values())
            yield _Block(lines[0].start, lines[-1].end, headings, code)
            lines.clear()

    for line in fenced_lines(text):
        start, end, prose, fence = line
        words = text[start:end]
        blank = words.isspace()
        heading = _HEADING.match(words) if prose else None
        if heading:
            yield from finish_block()
            level, title = len(heading[1]), closed_title(words[heading.end() :])
            above = [each for each in above if each[0] < level]
            yield _Block(start, end, tuple(t for _, t in above), title=title)
            above.append((level, title))
        elif fence >= 0 or not blank:
            inside = 0 <= fence < start
            if after_blank and not inside and not (in_list and _LIST_CONTINUATION.match(words)):
                yield from finish_block()
            in_list = in_list if lines else _ITEM.match(words) is not None
            lines.append(line)
        after_blank = blank
    yield from finish_block()


def _split(
    text: str,
    start: int,
    end: int,
    *,
    code: Sequence[tuple[int, int]] = (),
    max_size: int = MAX_CHUNK_SIZE,
    level: int = 0,
) -> Iterator[tuple[int, int]]:
    """Split a span into spans of at most `max_size`; fenced code stays whole and may be larger."""
    if token_quarters(text[start:end]) <= max_size or _covers(code, start, end):
        yield start, end
        return
    if level == len(_SPLITS):
        yield from _split_characters(text, start, end, max_size)
        return
    ends = [found.end() for found in _SPLITS[level].finditer(text, start, end)]
    cuts = [start, *(at for at in ends if at < end and not (code and _is_in(at, code))), end]
    begin = stop = start
    used = 0
    for a, b in pairwise(cuts):
        size = token_quarters(text[a:b])
        if used + size > max_size and begin < stop:
            yield begin, stop
            begin, used = a, 0
        if size > max_size:
            yield from _split(text, a, b, code=code, max_size=max_size, level=level + 1)
            begin = b
        else:
            used += size
        stop = b
    if begin < stop:
        yield begin, stop


def _split_characters(text: str, start: int, end: int, max_size: int) -> Iterator[tuple[int, int]]:
    """Split a span into spans that are as long as they may be."""
    begin = at = start
    room = max_size
    while at < end:
        # As many fit in any case.
        step = max(1, room // _MAX_CHARACTER)
        size = token_quarters(text[at : min(at + step, end)])
        if size > room:
            yield begin, at
            begin, room = at, max_size
        else:
            at += step
            room -= size
    yield begin, end


def _covers(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of the spans contains all from `start` to `end`."""
    index = bisect_right(spans, start, key=itemgetter(0)) - 1
    return index >= 0 and end <= spans[index][1]


def _is_in(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_left(spans, at, key=itemgetter(0)) - 1
    return index >= 0 and at < spans[index][1]
