"""Markdown -> chunks: the pieces that are embedded, each with the hash of its text as id.

What a chunk's text holds decides what has to be embedded again. A fact that is short
enough is one chunk: title, aliases, context and content together. A longer one has

- its *lead*: title, aliases, context, the headings and all paragraphs of a few words, in
  order, in as many chunks as that takes, and
- each other paragraph (list, table, code block) as a chunk of its own, **without** title
  and headings.

So a paragraph that is moved, inside a note or into another one, is embedded already. It
costs a new lead to change a title or a heading, and a new chunk to edit a short note.
Of a link counts what is read, so that a note may be renamed without new vectors for all
that link to it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from operator import itemgetter

from vaultsync.links.wikilinks import find_links
from vaultsync.markdown.blocks import FencedLine, closed_title, fenced_lines
from vaultsync.model.fact import Fact
from vaultsync.model.schema import OWN_FIELDS_BY_KEY, ValueKind

CHUNK_RULES = "paragraphs-1"
"""Name and version of these rules, for `Identity`; other rules make other chunks."""
MAX_CHUNK_SIZE = 1000
"""The `size()` of a chunk: 250 tokens of 256, two of which the model takes itself."""
_FEW = 64
"""The `size()` under which a paragraph goes into the lead: some ten words."""

_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|\Z)")
_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s")
_GOES_ON = re.compile(_ITEM.pattern + r"|(?: {2}|\t)")
"""A line that goes on with a list behind a blank one."""
_CHARS_PER_TOKEN_DENSE = re.compile(r"[^A-Za-z\s]")
_BREAKS = (
    re.compile(r"\n"),
    re.compile(r"(?<![.!?…])[.!?…]++[\"')\]]*+\s+|[。！？]+[」』]*"),
    re.compile(r"\s+"),
    re.compile(r".", re.DOTALL),
)
"""Where a block that is too large is cut: lines, sentences, words, signs."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a fact."""

    id: str
    """sha256 of `text`, in hex."""
    text: str
    """What is embedded."""
    start: int
    end: int
    """The span of the content it comes from; empty for a lead, and behind the content
    for texts of other fields."""
    headings: tuple[str, ...] = ()
    """The headings it stands under, from the outside in; for citations."""


def token_quarters(text: str) -> int:
    """Quarters of a token that a text takes, rather too many than too few.

    English letters and blanks are a quarter of a token each; any other sign is taken for
    a whole one, as the vocabulary of MiniLM has it. Sizes of parts add up. On notes,
    code and chats this is 0.9 to 1.5 times what its tokenizer counts.
    """
    return len(text) + 3 * len(_CHARS_PER_TOKEN_DENSE.findall(text))


def chunk_fact(fact: Fact, *, around: str = "") -> list[Chunk]:
    """The chunks of a fact, each id once, the lead first.

    `around` is text of its neighbours that lends a short fact context; of it goes in
    what there is room for. It is part of the text that is hashed.
    """
    told = [fact.content]
    for key, value in fact.own.items():
        if OWN_FIELDS_BY_KEY[key].kind is ValueKind.TEXT and isinstance(value, str):
            told.append(value)
        elif OWN_FIELDS_BY_KEY[key].kind is ValueKind.LINES and isinstance(value, Sequence):
            told.append("\n".join(f"- {each}" for each in value))
    heads = [fact.title, ", ".join(fact.aliases), fact.context or ""]
    text = "\n\n".join(filter(None, told))
    return _once(_whole(heads, text, around) or _parts(heads, text))


def _whole(heads: Iterable[str], text: str, around: str) -> list[Chunk]:
    """All in one chunk; none when it is too large for that."""
    # A fact that came without a title got its first words for one.
    told = [shown for each in heads if (shown := _text_as_read(each)).rstrip("…") not in text]
    whole = "\n".join([*told, _text_as_read(text)])
    room = MAX_CHUNK_SIZE - token_quarters(whole) - token_quarters("\n")
    if room < 0:
        return []
    if around and room >= _FEW:
        start, end = next(_cut(around, 0, len(around), limit=room))
        whole = f"{whole}\n{around[start:end]}"
    return [_chunk(whole, 0, len(text))]


def _parts(heads: Iterable[str], text: str) -> Iterator[Chunk]:
    """The lead, then each larger block on its own."""
    lead = list(heads)
    larger = []
    for block in _blocks(text):
        if block.title or token_quarters(text[block.start : block.end]) < _FEW:
            lead.append(block.title or text[block.start : block.end].strip("\n"))
        else:
            larger.append(block)
    outline = "\n".join(map(_text_as_read, filter(None, lead)))
    for start, end in _cut(outline, 0, len(outline)):
        yield _chunk(outline[start:end], 0, 0)
    for block in larger:
        for start, end in _cut(text, block.start, block.end, code=block.code):
            yield _chunk(_text_as_read(text[start:end]), start, end, block.headings)


def _chunk(text: str, start: int, end: int, headings: tuple[str, ...] = ()) -> Chunk:
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return Chunk(sha256(text.encode()).hexdigest(), text, start, end, headings)


def _once(chunks: Iterable[Chunk]) -> list[Chunk]:
    found: dict[str, Chunk] = {}
    for chunk in chunks:
        if chunk.text:
            found.setdefault(chunk.id, chunk)
    return list(found.values())


def _text_as_read(text: str) -> str:
    """The text with each link as it is read."""
    parts, at = [], 0
    for link in find_links(text):
        if link.start >= at:
            words = link.alias or f"{link.target}{link.subpath}"
            parts += [text[at : link.start], words]
            at = link.end
    return "".join([*parts, text[at:]]) if at else text


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    headings: tuple[str, ...]
    """Those above it."""
    code: tuple[tuple[int, int], ...] = ()
    """The spans of fenced code in it."""
    title: str = ""
    """The words of a heading."""


def _blocks(text: str) -> Iterator[_Block]:
    """Headings, and what blank lines part. A list is one block, and so is fenced code."""
    above: list[tuple[int, str]] = []
    run: list[FencedLine] = []
    apart = in_list = False

    def block() -> Iterator[_Block]:
        if run:
            fences = {line.fence: (line.fence, line.end) for line in run if line.code}
            headings = tuple(title for _, title in above)
            code = tuple(fences.values())
            yield _Block(run[0].start, run[-1].end, headings, code)
            run.clear()

    for line in fenced_lines(text):
        words = text[line.start : line.end]
        heading = _HEADING.match(words) if line.prose else None
        if heading:
            yield from block()
            level, title = len(heading[1]), closed_title(words[heading.end() :])
            above = [each for each in above if each[0] < level]
            yield _Block(line.start, line.end, tuple(t for _, t in above), title=title)
            above.append((level, title))
        elif line.code or words.strip():
            inside = line.code and line.fence < line.start
            if apart and not inside and not (in_list and _GOES_ON.match(words)):
                yield from block()
            in_list = in_list if run else _ITEM.match(words) is not None
            run.append(line)
        apart = not words.strip()
    yield from block()


def _cut(
    text: str,
    start: int,
    end: int,
    *,
    code: Sequence[tuple[int, int]] = (),
    limit: int = MAX_CHUNK_SIZE,
    level: int = 0,
) -> Iterator[tuple[int, int]]:
    """Spans of at most `limit` that make up the given one; code may be larger."""
    if token_quarters(text[start:end]) <= limit or level == len(_BREAKS):
        yield start, end
        return
    ends = [found.end() for found in _BREAKS[level].finditer(text, start, end)]
    marks = [start, *(at for at in ends if at < end and not _is_in(at, code)), end]
    begin = stop = start
    used = 0
    for a, b in pairwise(marks):
        cost = token_quarters(text[a:b])
        if used + cost > limit and begin < stop:
            yield begin, stop
            begin, used = a, 0
        if cost > limit:
            yield from _cut(text, a, b, code=code, limit=limit, level=level + 1)
            begin = b
        else:
            used += cost
        stop = b
    if begin < stop:
        yield begin, stop


def _is_in(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_left(spans, at, key=itemgetter(0)) - 1
    return index >= 0 and at < spans[index][1]
