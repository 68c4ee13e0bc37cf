r"""A memory file (`MEMORY.md`) -> sections, each of which becomes one fact.

The rules are those of seed 000:

- A heading of level 2 (`## `, at the beginning of a line) begins a section; deeper
  headings lie inside it. What stands before the first one is the preamble.
- The first `# ` heading is the title of the file and part of no section.
- A file without such headings is taken by paragraphs. Sections that an agent added do
  not count for that, so that a note of an agent does not change what a person wrote.
- A section of more than 4,096 characters is parted where paragraphs end, each part with
  the heading. What is shorter than 32 characters is left out.
- Code in fences is never parted, and what looks like a heading in it is none.

`<!-- vaultsync-managed -->` and `<!-- type: x -->` below a heading are about the section
and no part of it. The frontmatter is for `engine.memory_file`; here it is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256

from vaultsync.markdown.blocks import FencedLine, closed_title, fenced_lines
from vaultsync.model.fact import derive_title

MAX_SECTION_CHARS = 4096
"""Characters of a section, above which it is parted (seed 000)."""
MIN_SECTION_CHARS = 32
"""Characters below which a section is left out (seed 000)."""
MANAGED_MARKER = "<!-- vaultsync-managed -->"
"""Stands below the heading of a section that agents may change."""
_LONGEST_TITLE = 200

_FRONT = re.compile(r"-{3,}[ \t]*\r?\n(.*?)^-{3,}[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_SECOND = re.compile(r"##[ \t]")
_FIRST = re.compile(r"#[ \t]")
_DEEPER = re.compile(r"[ \t]*#{1,6}[ \t]")
_ABOUT = re.compile(
    r"\s*<!--\s*(?:(?P<managed>(?:vaultsync|cortex)-managed)|type:\s*(?P<type>[\w-]+))"
    r"\s*-->\s*\Z"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANKS = re.compile(r"\n{3,}")
_NAMESPACE = bytes.fromhex("6f1c8be2b6f45d0c9a3e2f6f0d1c7a55")
"""Of the ids of facts that come from memory files. It never changes."""


@dataclass(frozen=True, slots=True)
class MemorySection:
    """A piece of a memory file that becomes a fact."""

    heading: str | None
    """The words of its heading; None for the preamble and for paragraphs."""
    content: str
    r"""Its text below the heading, line ends `\n`, no blank lines around it."""
    title: str
    start: int
    end: int
    """The span of the file it comes from; parts of a section have their own."""
    line: int
    """Where it begins, counted from 1."""
    type_hint: str | None = None
    """What `<!-- type: x -->` says."""
    managed: bool = False
    """Whether agents may change it."""

    @property
    def text(self) -> str:
        """Heading and content as they are hashed."""
        return section_text(self.heading, self.content)

    @property
    def hash(self) -> str:
        """Of what it says; blanks, line ends and its place in the file do not count."""
        return hash_of(self.text)


@dataclass(frozen=True, slots=True)
class SectionBlock:
    """The lines of a file from one heading of level 2 to the next."""

    heading: str | None
    start: int
    body: int
    """Where its content begins: below heading, marks and blank lines."""
    end: int
    type_hint: str | None
    managed: bool


@dataclass(frozen=True, slots=True)
class MemoryOutline:
    """A memory file, read."""

    title: str | None
    """Its first heading of level 1."""
    blocks: Sequence[SectionBlock]
    sections: Sequence[MemorySection]
    left_out: Sequence[MemorySection]
    """Those that are too short."""


def normalize(text: str) -> str:
    r"""The text that is hashed: `\n`, no trailing blanks, single blank lines, trimmed."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BLANKS.sub("\n\n", _TRAILING.sub("", text)).strip()


def hash_of(text: str) -> str:
    """SHA-256 of the normalised text, in hex."""
    return sha256(normalize(text).encode(errors="surrogatepass")).hexdigest()


def section_text(heading: str | None, content: str) -> str:
    """A section as one normalised text."""
    return normalize(content if heading is None else f"## {heading}\n\n{content}")


def section_id(agent: str | None, source: str, digest: str, number: int) -> str:
    """The UUIDv5 of the `number`th section of a hash in a file; made when it is new.

    It is of the content and not of the place, so that it is the same after reordering,
    and when a lost state is made again.
    """
    name = f"{agent or ''}:{source}:{digest}:{number}"
    made = bytearray(sha1(_NAMESPACE + name.encode(), usedforsecurity=False).digest())
    made[6] = made[6] & 0x0F | 0x50
    made[8] = made[8] & 0x3F | 0x80
    digits = made[:16].hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def frontmatter_end(text: str) -> int:
    """Where the frontmatter ends; 0 when there is none."""
    found = _FRONT.match(text)
    return found.end() if found else 0


def read_outline(text: str, *, name: str, start: int = 0) -> MemoryOutline:
    """Read a memory file from `start`, behind its frontmatter; `name` titles a preamble."""
    inside = [
        FencedLine(
            start=each.start + start,
            end=each.end + start,
            prose=each.prose,
            fence=each.fence + start if each.code else -1,
        )
        for each in fenced_lines(text[start:])
    ]
    title, hidden = _title(text, inside)
    found = list(_blocks(text, inside, hidden))
    by_paragraph = all(block.heading is None or block.managed for block, _ in found)
    taken: list[MemorySection] = []
    left_out: list[MemorySection] = []
    for block, within in found:
        paragraphs = block.heading is None and by_paragraph
        pieces = _paragraphs(text, within) if paragraphs else [within]
        for piece in pieces:
            for section in _sections(text, block, piece, title or name, alone=paragraphs):
                fits = len(section.text) >= MIN_SECTION_CHARS
                (taken if fits else left_out).append(section)
    return MemoryOutline(title, [block for block, _ in found], taken, left_out)


def _title(text: str, inside: Sequence[FencedLine]) -> tuple[str | None, FencedLine | None]:
    """The title of the file, and the line it is."""
    for line in inside:
        words = text[line.start : line.end]
        if line.prose and _SECOND.match(words):
            break
        if line.prose and _FIRST.match(words):
            return closed_title(words[2:]) or None, line
    return None, None


def _blocks(
    text: str, inside: Sequence[FencedLine], hidden: FencedLine | None
) -> Iterator[tuple[SectionBlock, Sequence[FencedLine]]]:
    """The preamble, if there are lines before the first heading, and the sections.

    Each with the lines of its content.
    """
    heads = [
        number
        for number, line in enumerate(inside)
        if line.prose and _SECOND.match(text, line.start, line.end)
    ]
    starts = heads if heads[:1] == [0] else [0, *heads]
    for begin, stop in zip(starts, [*starts[1:], len(inside)], strict=True):
        within = inside[begin:stop]
        if not within:
            continue
        heading = None
        if begin in heads:
            heading = closed_title(text[within[0].start + 2 : within[0].end])
        body = begin + (begin in heads)
        if heading is None and hidden is not None:
            # What stands above the title is part of the preamble; mostly nothing does.
            above = inside[begin : inside.index(hidden)]
            if not "".join(text[e.start : e.end] for e in above).strip():
                body = inside.index(hidden) + 1
        end = within[-1].end
        below, hint, managed = _marks(text, inside[body:stop])
        start = below.start if below else end
        content = inside[inside.index(below, body) : stop] if below else []
        yield SectionBlock(heading, within[0].start, start, end, hint, managed), content


def _marks(text: str, inside: Sequence[FencedLine]) -> tuple[FencedLine | None, str | None, bool]:
    """The first line behind the marks on top, and what the marks say."""
    hint, managed = None, False
    for line in inside:
        words = text[line.start : line.end]
        found = None if line.code else _ABOUT.match(words)
        if found is None and words.strip():
            return line, hint, managed
        if found:
            managed = managed or found["managed"] is not None
            hint = hint or found["type"]
    return None, hint, managed


def _paragraphs(text: str, inside: Sequence[FencedLine]) -> list[list[FencedLine]]:
    """Lines parted where blank ones are, but not within code.

    A heading, and what is too short to stand alone, belongs to the paragraph below it,
    or to the one above when there is none: of a file in small pieces nothing is lost.
    """
    pieces: list[list[FencedLine]] = []
    apart = True
    for line in inside:
        blank = not text[line.start : line.end].strip()
        if apart and not blank and not (line.code and line.fence < line.start):
            pieces.append([])
        pieces[-1].append(line)
        apart = blank
    joined: list[list[FencedLine]] = []
    small = False
    for piece in pieces:
        if small:
            joined[-1] += piece
        else:
            joined.append(piece)
        small = _is_small(text, joined[-1])
    if small and len(joined) > 1:
        joined[-2:] = [joined[-2] + joined[-1]]
    return joined


def _is_small(text: str, piece: Sequence[FencedLine]) -> bool:
    words = normalize(text[piece[0].start : piece[-1].end])
    last = words.rpartition("\n")[2]
    return len(words) < MIN_SECTION_CHARS or (
        piece[-1].fence < 0 and _DEEPER.match(last) is not None
    )


def _sections(
    text: str,
    block: SectionBlock,
    inside: Sequence[FencedLine],
    name: str,
    *,
    alone: bool,
) -> Iterator[MemorySection]:
    """A piece as one section, or in parts when it is too long."""
    below, hint, managed = _marks(text, inside)
    inside = inside[inside.index(below) :] if below else []
    if not inside and block.heading is None:
        return
    room = MAX_SECTION_CHARS - len(f"## {block.heading}\n\n" if block.heading else "")
    for number, part in enumerate(_parts(text, inside, room), 1):
        start = part[0].start if part else block.body
        end = part[-1].end if part else block.end
        content = _plain(text[start:end])
        title = derive_title(content, "memory") if alone else block.heading or name
        title = _CONTROL.sub(" ", title).strip()[:_LONGEST_TITLE] or "Untitled"
        yield MemorySection(
            heading=block.heading,
            content=content,
            title=title if number == 1 else f"{title} ({number})",
            start=start,
            end=end,
            line=text.count("\n", 0, block.start if block.heading else start) + 1,
            type_hint=hint or block.type_hint,
            managed=managed or block.managed,
        )


def _parts(text: str, inside: Sequence[FencedLine], room: int) -> Iterator[Sequence[FencedLine]]:
    """Runs of paragraphs that fit; a paragraph or code that does not fit alone is whole."""
    if not inside or len(normalize(text[inside[0].start : inside[-1].end])) <= room:
        yield inside
        return
    part: list[FencedLine] = []
    for paragraph in _runs(text, inside):
        end = paragraph[-1].end
        if part and len(normalize(text[part[0].start : end])) > room:
            yield part
            part = []
        part += paragraph
    yield part


def _runs(text: str, inside: Sequence[FencedLine]) -> Iterator[list[FencedLine]]:
    """Paragraphs, each with the blank lines below it."""
    run: list[FencedLine] = []
    apart = False
    for line in inside:
        blank = not text[line.start : line.end].strip()
        if apart and not blank and not (line.code and line.fence < line.start):
            yield run
            run = []
        run.append(line)
        apart = blank
    yield run


def _plain(text: str) -> str:
    """The text as it is held, without blank lines around it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip().strip("\n")
