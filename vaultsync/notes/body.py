"""The body of a note: heading, context line, content and the managed block.

A body is split into spans of its exact text, so that an edit replaces one span and leaves
every other byte alone. The content belongs to the author: it is everything but the heading,
the context line and the managed block. Text that the user wrote inside or after the
managed block is part of the content, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vaultsync.markdown.blocks import fences
from vaultsync.markdown.diff3 import common_lines
from vaultsync.model.lazy_pattern import lazy_pattern

BLOCK_START = "<!-- vaultsync:managed -->"
BLOCK_END = "<!-- /vaultsync:managed -->"
RELATED_HEADING = "Related Facts"
ENTITIES_HEADING = "Entities"
PROVENANCE_HEADING = "Provenance"

# An underlined line is a heading only if it would otherwise begin a paragraph.
_NO_PARAGRAPH = (
    r"(?:\#{1,6}|[-+*]|\d{1,9}[.)])(?:[ \t]|[\r\n])|>|```|~~~|<|\||=|%%|\$\$|\[[^\]\r\n]*\]:"
    r"|(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})[\r\n]"
)
_TOP = lazy_pattern(
    r"(?P<lead>(?:[ \t]*(?:\r\n|\r|\n))*)"
    rf"(?:(?:\#[ \t]++(?P<title>\S[^\r\n]*+)|(?!{_NO_PARAGRAPH})(?P<over>\S[^\r\n]*)"
    r"(?:\r\n|\r|\n) {0,3}=+[ \t]*)"
    r"(?P<rest>(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*|\Z))?"
    r"(?:>[ \t]?\*\*Context:\*\*(?P<context>[^\r\n]*)(?P<after>\r\n|\r|\n|\Z))?"
)
_END_LINE = lazy_pattern(rf"(?<=[\r\n])[ \t]*+{BLOCK_END}")
_BREAK = lazy_pattern(r"\r\n|\r|\n")
_LINE_STARTS = lazy_pattern(r"(?<=\n)|(?<=\r)(?!\n)")
_ITEM = lazy_pattern(r"\A[ \t]*[-*+][ \t]+\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_PROVENANCE = lazy_pattern(
    r"\A(?:(?:Created by agent `[^`]*`|Written by a person)(?: on \d{4}-\d\d-\d\d)?"
    r"|Imported from [a-z0-9-]+(?:, dated \d{4}-\d\d-\d\d)?)\.\Z"
)
_SECTIONS = tuple(f"## {each}" for each in (RELATED_HEADING, ENTITIES_HEADING, PROVENANCE_HEADING))


class NoteBody(NamedTuple):
    """A body and its parts, which are spans (start, end) of `text`."""

    text: str
    heading: tuple[int, int] | None
    """The text of the heading, without `# ` or the line of `=` below it."""
    context: tuple[int, int] | None
    """The whole context line with its line break."""
    content: tuple[int, int]
    """Everything between the top and the managed block, with the blank lines around it."""
    block: tuple[int, int] | None
    """The managed block with its markers."""
    related: tuple[str, ...] = ()
    """Targets of the links under Related Facts."""
    entities: tuple[str, ...] = ()
    """Targets of the links under Entities."""
    strays: tuple[str, ...] = ()
    """Text that the user wrote inside or after the managed block."""

    @property
    def title(self) -> str | None:
        """The text of the heading."""
        return self.text[slice(*self.heading)] if self.heading else None

    @property
    def context_text(self) -> str | None:
        """The text of the context line; None when it is empty or missing."""
        if self.context is None:
            return None
        return self.text[slice(*self.context)].partition("**Context:**")[2].strip() or None

    @property
    def block_text(self) -> str:
        """The managed block, if any, with its markers."""
        return self.text[slice(*self.block)] if self.block else ""

    @property
    def content_text(self) -> str:
        r"""The content with `\n` line breaks and without surrounding blank lines."""
        first = normalize_text(self.text[slice(*self.content)])
        return "\n\n".join(part for part in (first, *self.strays) if part)


def normalize_text(text: str) -> str:
    r"""The text with `\n` line breaks and without surrounding blank lines."""
    if "\r" in text:
        text = _BREAK.sub("\n", text)
    return text.strip("\n")


def read_body(text: str) -> NoteBody:
    """Split a body into its parts; any text is a body."""
    top = _TOP.match(text)
    heading = context = None
    start = 0
    assert top is not None  # noqa: S101 - every part of it may be missing
    if top["rest"] is not None:
        at, end = top.span("title" if top["title"] is not None else "over")
        heading = at, at + len(text[at:end].rstrip(" \t"))
        start = top.start("rest")
    if top["context"] is not None:
        context = (text.rfind(">", 0, top.start("context")), top.end("after"))
        start = context[1]
    block = next(_blocks_upwards(text, start), None)  # the last one counts
    if block is None:
        return NoteBody(text, heading, context, (start, len(text)), None)
    related, entities, strays = _read_block(text[slice(*block)])
    after = normalize_text(text[block[1] :])
    if after.strip():
        strays = (*strays, after)
    return NoteBody(text, heading, context, (start, block[0]), block, related, entities, strays)


def _blocks_upwards(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The managed blocks on lines of their own, outside fenced code, the last one first.

    Fenced code that nothing closes does not contain any: content that was cut off would hide it.
    """
    at, below = text.rfind(BLOCK_START, start), len(text)
    code = [each for each in fences(text[start:]) if each.closed] if at >= 0 else []
    while at >= 0:
        while code and start + code[-1].start > at:
            code.pop()
        own_line = at == start or text[at - 1] in "\r\n"
        if own_line and not (code and at < start + code[-1].end):
            yield at, _end_of_block(text, at, below)
            below = at
        at = text.rfind(BLOCK_START, start, at)


def _end_of_block(text: str, start: int, below: int) -> int:
    """Where a block ends: behind the first end marker that begins a line.

    If none does, the user has joined it to the line above, and the last one counts.
    """
    line = _END_LINE.search(text, start, below)
    if line is not None:
        return line.end()
    joined = text.rfind(BLOCK_END, start, below)
    return below if joined < 0 else joined + len(BLOCK_END)


def read_blocks_above(body: NoteBody) -> tuple[frozenset[str], frozenset[str]]:
    """Targets of the links under Related Facts and Entities in blocks that are content.

    A note has such blocks when the text of other notes was merged into it.
    """
    related: set[str] = set()
    entities: set[str] = set()
    text = body.text[: body.content[1]]
    for block in _blocks_upwards(text, body.content[0]):
        links = _read_block(text[slice(*block)])
        related.update(links[0])
        entities.update(links[1])
    return frozenset(related), frozenset(entities)


class _BlockLine(NamedTuple):
    """A line of a managed block, without the markers."""

    text: str
    """With its line end."""
    section: str
    """The heading that it is below; empty above the first, and below one of the user's."""
    link: re.Match[str] | None
    """The link with which the line lists a fact or an entity; more text may follow it."""
    is_stray: bool
    """Whether it has text of the user."""

    @property
    def target(self) -> str | None:
        """The target of the link."""
        return self.link[1].strip() if self.link else None


def _block_lines(block: str) -> list[_BlockLine]:
    inner = block[len(BLOCK_START) :].removesuffix(BLOCK_END)
    code = [each for each in reversed(fences(inner)) if each.closed]
    lines, section, at = [], "", 0
    for text in _lines(inner):
        words, link, is_ours = text.strip(), None, False
        while code and code[-1].end <= at:
            code.pop()
        is_code = bool(code) and code[-1].start <= at
        at += len(text)
        if is_code or not words:
            is_ours = not is_code
        elif words.startswith(("# ", "## ")):
            is_ours = words in _SECTIONS
            section = words[3:] if is_ours else ""
        elif section == PROVENANCE_HEADING:
            is_ours = _PROVENANCE.match(words) is not None
        elif section and (link := _ITEM.match(text)):
            is_ours = not text[link.end() :].strip()
        lines.append(_BlockLine(text, section, link, not is_ours))
    return lines


def _lines(text: str) -> list[str]:
    if "\r" in text:
        return _LINE_STARTS.split(text)
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), last]


def _read_block(block: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    links: dict[str, list[str]] = {RELATED_HEADING: [], ENTITIES_HEADING: []}
    strays: list[list[str]] = [[]]
    for line in _block_lines(block):
        if line.target is not None:
            links[line.section].append(line.target)
        if line.is_stray:
            strays[-1].append(line.text.rstrip("\r\n"))
        elif not line.text.strip():
            strays.append([])
    related, entities = map(tuple, links.values())
    return related, entities, tuple("\n".join(lines) for lines in strays if lines)


def render_body(*, title: str, context: str | None, content: str, block: str) -> str:
    """The body of a new note; `block` is the result of `render_block()`."""
    parts = [f"# {title}"]
    if context or ("**Context:**" in content and read_body(f"# {title}\n\n{content}").context):
        # An empty context line, so that content that begins like one is not taken for it.
        parts.append(f"> **Context:** {context}" if context else "> **Context:**")
    if content:
        parts.append(content)
    parts.append(block)
    return "\n" + "\n\n".join(parts) + "\n"


def render_block(*, related: Sequence[str], entities: Sequence[str], origin: str) -> str:
    """The managed block, from the texts of its links and the provenance line."""
    block = f"{BLOCK_START}\n"
    for name, links in ((RELATED_HEADING, related), (ENTITIES_HEADING, entities)):
        if links:
            listed = "\n- ".join(links)
            block += f"## {name}\n- {listed}\n\n"
    return f"{block}## {PROVENANCE_HEADING}\n{origin}\n{BLOCK_END}"


def set_title(body: NoteBody, title: str) -> NoteBody:
    """Replace the heading of a body that has one."""
    assert body.heading is not None  # noqa: S101 - the caller chose this form by it
    return read_body(_put(body.text, body.heading, title))


def set_context(body: NoteBody, context: str | None, eol: str) -> NoteBody:
    """Replace, remove or (below the heading) add the context line."""
    if body.context is not None:
        old = body.text[slice(*body.context)]
        ending = old[len(old.rstrip("\r\n")) :]
        if context:
            return read_body(_put(body.text, body.context, f"> **Context:** {context}{ending}"))
        rest = body.text[body.context[1] :].lstrip("\r\n")
        without = read_body(body.text[: body.context[0]] + rest)
        if without.context or (without.heading and not body.heading):
            return read_body(_put(body.text, body.context, f"> **Context:**{ending}"))
        return without
    if not context:
        return body
    at = body.content[0] if body.heading else 0
    line = (
        f"{eol}{eol}> **Context:** {context}{eol}" if at else f"> **Context:** {context}{eol}{eol}"
    )
    if at and not body.text[at:].startswith(("\n", "\r")):
        line += eol
    below = _BREAK.match(body.text, at)  # the line break that now follows the context line
    return read_body(body.text[:at] + line + body.text[below.end() if below else at :])


def set_content(body: NoteBody, content: str, eol: str, *, title: str = "") -> NoteBody:
    """Replace the content: unchanged lines keep their bytes, and strays move into it.

    Content that begins like a heading or a context line gets a heading with `title`, or an
    empty context line, above it if the note has none, because it would be taken for that.
    """
    if content == body.content_text and not body.strays:
        return body
    raw = body.text[slice(*body.content)]
    middle = raw.strip("\r\n")
    before = raw[: len(raw) - len(raw.lstrip("\r\n"))]
    after = raw[len(before) + len(middle) :]
    fresh = _keep_lines(middle, content, eol)
    top = body.content[0] > 0
    if fresh and not middle:
        before = before if not top else max(before, eol + eol, key=len)
        if body.block is not None:
            after = eol + eol
        elif not before:
            after = eol
    elif not fresh and body.block is not None:
        before, after = (eol + eol if top else before), ""
    above = body.text[: body.content[0]] + before
    begun = read_body(above + fresh)
    if begun.heading and not body.heading:
        above += f"# {title}{eol}{eol}"
    elif begun.context and not body.context:
        above += f"> **Context:**{eol}{eol}"
    text = above + fresh + after
    if body.block is not None:
        block = body.block_text
        rest = body.text[body.block[1] :]
        if body.strays:
            block = _without_strays(block)
            rest = eol
        text += block + rest
    return read_body(text)


def _keep_lines(old: str, new: str, eol: str) -> str:
    """The new text, in which each line of the old text keeps its exact line break."""
    if "\r" not in old:
        return new if eol == "\n" else new.replace("\n", eol)
    before = _LINE_STARTS.split(old)
    bare = [line.rstrip("\r\n") for line in before]
    after = new.split("\n")
    before[-1] += eol
    lines = [line + eol for line in after]
    for here, there in common_lines(bare, after):
        lines[there] = before[here]
    return "".join(lines).rstrip("\r\n")


def _without_strays(block: str) -> str:
    first, *lines = _block_lines(block)
    # What the user wrote behind the marker leaves the end of its line.
    kept = [_line_end(first.text)]
    for line in lines:
        if not line.is_stray:
            kept.append(line.text)
        elif line.link:
            kept.append(line.link[0] + _line_end(line.text))
    return _with_markers(block, kept)


def _line_end(text: str) -> str:
    return text[len(text.rstrip("\r\n")) :]


def _with_markers(block: str, lines: Sequence[str]) -> str:
    """A managed block with other lines; one that has no end marker gets none."""
    return "".join((BLOCK_START, *lines, BLOCK_END * block.endswith(BLOCK_END)))


def set_links(
    body: NoteBody, section: str, *, add: Sequence[str], remove: Sequence[str], eol: str
) -> NoteBody:
    """Add the texts of links to a section of the managed block, if any, and remove by target."""

    def goes(line: _BlockLine) -> bool:
        return line.section == section and line.target in remove

    if any(line.is_stray and goes(line) for line in _block_lines(body.block_text)):
        body = set_content(body, body.content_text, eol)  # moves what the user wrote beside it
    if body.block is None or not (add or remove):
        return body
    lines = [line for line in _block_lines(body.block_text) if line.is_stray or not goes(line)]
    ours = [
        number
        for number, line in enumerate(lines)
        if line.section == section and line.text.strip() and not line.is_stray
    ]
    texts = [line.text for line in lines]
    fresh = [f"- {each}{eol}" for each in add]
    if fresh:
        at = ours[-1] + 1 if ours else _place_of_section(lines, section)
        texts[at - 1] = texts[at - 1].rstrip("\r\n") + (_line_end(texts[at - 1]) or eol)
        texts[at:at] = fresh if ours else [f"## {section}{eol}", *fresh, eol]
    elif ours and lines[ours[-1]].target is None:
        # The section is empty now: its heading goes, too.
        end = ours[-1] + 1
        while end < len(texts) and not texts[end].strip():
            end += 1
        if end == len(texts) or texts[end].startswith("## "):
            del texts[ours[-1] : end]
    return read_body(_put(body.text, body.block, _with_markers(body.block_text, texts)))


def _place_of_section(lines: Sequence[_BlockLine], section: str) -> int:
    """Where a missing section begins: Related Facts come first, then Entities."""
    later = _SECTIONS[_SECTIONS.index(f"## {section}") + 1 :]
    return next((n for n, line in enumerate(lines) if f"## {line.section}" in later), 1)


def _put(text: str, span: tuple[int, int], fresh: str) -> str:
    return text[: span[0]] + fresh + text[span[1] :]
