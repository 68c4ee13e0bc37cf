r"""Split the bytes of a memory file (`MEMORY.md`) into sections, each of which becomes one fact.

- A heading of level 2 (`## `, at the beginning of a line) begins a section; deeper headings belong
  to it. What stands before the first one is the preamble.
- The first `# ` heading is the title of the file and part of no section.
- A file without such headings is split by paragraph. Sections that an agent added are ignored for
  this decision, so that an agent's note does not change how the user's own text is split.
- A section of more than 4,096 characters is split between paragraphs, each part with the heading.
  Sections shorter than 32 characters are left out.
- Fenced code is never split, and a line in it is never a heading.

`<!-- vaultsync-managed -->` and `<!-- type: x -->` below a heading describe the section and are not
part of its content. The frontmatter applies to all sections of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any
from uuid import UUID, uuid5

from msgspec import Struct

from vaultsync.errors import (
    MissingExtraError,
    UnreadableMemoryFileError,
    UnreadableNoteError,
    UsageError,
    VaultsyncError,
)
from vaultsync.extras import needs_extra
from vaultsync.markdown.blocks import FencedLine, closed_title, fenced_lines
from vaultsync.markdown.yaml.reader import load_yaml
from vaultsync.memory_files.managed_block import hide_block
from vaultsync.model.canonical import canonical
from vaultsync.model.fact import derive_title
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS_BY_KEY, TYPES, Value
from vaultsync.storage.archive import Notice

MAX_SECTION_CHARS = 4096
"""Characters above which a section is split."""
MIN_SECTION_CHARS = 32
"""Characters below which a section is left out."""
_SHORT_SOURCE = 1_000
"""Characters, blanks included, above which text is not too short for a section."""
LARGE_FILE_BYTES = 1 << 20
"""Bytes above which a file is read, but reported as large."""
MANAGED_MARKER = "<!-- vaultsync-managed -->"
"""Stands below the heading of a section that follows its fact, and that agents may change."""
BOM = b"\xef\xbb\xbf"
"""The byte order mark that some editors put before a text; it is none of its characters."""
_MAX_TITLE_CHARS = 200
_MAX_INVALID_BYTES = 0.10
"""Share of bytes that are not UTF-8 above which a file counts as binary."""
_MAX_REPLACED_CHARS = 0.01
"""Share of characters that cannot be decoded above which a file is refused."""

_FRONT = lazy_pattern(r"-{3,}[ \t]*\r?\n(.*?)^-{3,}[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_SECTION_HEADING = lazy_pattern(r"##[ \t]")
_FILE_TITLE = lazy_pattern(r"#[ \t]")
_HEADING = lazy_pattern(r"[ \t]*#{1,6}[ \t]")
_MARKER = lazy_pattern(
    r"\s*<!--\s*(?:(?P<managed>(?:vaultsync|cortex)-managed)|type:\s*(?P<type>[\w-]+))"
    r"\s*-->\s*\Z"
)
_START = attrgetter("start")
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
_TRAILING = lazy_pattern(r"(?<![ \t])[ \t]++$", re.MULTILINE)
_BLANK_LINES = lazy_pattern(r"\n{3,}")
_NAMESPACE = UUID("6f1c8be2-b6f4-5d0c-9a3e-2f6f0d1c7a55")
"""Of the ids of facts that come from memory files. It never changes."""


class SectionBlock(Struct, frozen=True, gc=False):
    """The lines of a file from one heading of level 2 to the next."""

    heading: str | None
    start: int
    body: int
    """Where its content begins: below heading, markers and blank lines."""
    end: int
    type_hint: str | None
    managed: bool


_NO_BLOCK = SectionBlock(None, 0, 0, 0, None, managed=False)


class MemorySection(Struct, frozen=True, gc=False):
    """A piece of a memory file that becomes a fact."""

    heading: str | None
    """The text of its heading; None for the preamble and for paragraphs."""
    content: str
    r"""Its text below the heading, with `\n` as line end and no blank lines around it."""
    text: str
    """Heading and content as they are hashed."""
    title: str
    start: int
    end: int
    """The span of the file that it comes from; parts of a section have their own."""
    line: int
    """Where it begins, counted from 1."""
    type_hint: str | None = None
    """The type named by `<!-- type: x -->`."""
    managed: bool = False
    """Whether agents may change it."""
    block: SectionBlock = _NO_BLOCK
    """The lines that it is in."""

    @property
    def follows(self) -> bool:
        """Whether it follows its fact. What has no heading of its own does not."""
        return self.managed and self.heading is not None

    @property
    def hash(self) -> str:
        """Hash of `text`, independent of blanks, line ends and the place in the file."""
        return hash_of(self.text)


@dataclass(frozen=True, slots=True)
class MemoryOutline:
    """A parsed memory file."""

    blocks: Sequence[SectionBlock]
    sections: Sequence[MemorySection]
    left_out: Sequence[MemorySection]
    """Those that are too short."""


def in_file_order(*groups: Iterable[MemorySection]) -> list[MemorySection]:
    """Sections as they follow each other in their file."""
    return sorted(chain(*groups), key=_START)


class FileMetadataValues(Struct, frozen=True):
    """Values from the frontmatter, which apply to all facts of a file."""

    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    priority: int | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryFileContent:
    """All that was read from a memory file."""

    outline: MemoryOutline
    metadata: FileMetadataValues | None
    """None when there is frontmatter that cannot be read."""
    notices: tuple[Notice, ...] = ()


def read_memory(data: bytes, *, name: str, title: str) -> MemoryFileContent:
    """Parse a file; `title` names a preamble of a file that has no title.

    Raises:
        UnreadableMemoryFileError: the bytes are not text.
    """
    text, replaced = decode(data, name)
    text = hide_block(text)
    notices = []
    if replaced:
        these = "1 character is" if replaced == 1 else f"{replaced} characters are"
        why = f"{these} not UTF-8 and read as �"
        notices.append(memory_file_notice("BadEncoding", name, why, "save the file as UTF-8"))
    if len(data) > LARGE_FILE_BYTES:
        why = f"the file is larger than {LARGE_FILE_BYTES >> 20} MB, which results in many facts"
        notices.append(memory_file_notice("LargeFile", name, why, "split it into several files"))
    end = frontmatter_end(text)
    metadata: FileMetadataValues | None = FileMetadataValues()
    if end:
        try:
            properties = read_frontmatter(text[:end], name)
        except (UnreadableMemoryFileError, MissingExtraError) as error:
            metadata = None
            why = error.why if isinstance(error, UnreadableMemoryFileError) else error.message
            why += "; the sections were read, and their tags were kept"
            notices.append(memory_file_notice("BadFrontmatter", name, why, error.hint, 1))
        else:
            if properties is None:
                end = 0  # a rule, some text, a rule: all of it is content
            metadata, invalid = _metadata(properties or {}, name)
            notices += invalid
    outline = read_outline(text, name=title, start=end)
    for section in outline.sections:
        if section.type_hint and section.type_hint.lower() not in TYPES:
            why = f"unknown type {section.type_hint[:60]!r}; the type was guessed"
            hint = "use one of " + ", ".join(TYPES)
            notices.append(memory_file_notice("UnknownType", name, why, hint, section.line))
    return MemoryFileContent(outline, metadata, tuple(notices))


def read_frontmatter(text: str, name: str) -> Mapping[str, Value] | None:
    """The properties of a text that begins with frontmatter; None if it is not a map.

    They are read with python-frontmatter, and the YAML reader of notes and its limits: the
    library's own handler reads YAML 1.1, where `no` is false and `08:30` a number, and expands
    nested aliases without limit.

    Raises:
        UnreadableMemoryFileError: it is not valid YAML.
        MissingExtraError: the library is not installed.
    """
    with needs_extra("reading frontmatter"):
        import frontmatter  # noqa: PLC0415 - few files have any
        from frontmatter.default_handlers import YAMLHandler  # noqa: PLC0415 - as above

    class BoundedYaml(YAMLHandler):  # type: ignore[misc, unused-ignore]
        is_map = True

        def load(self, fm: str, **_: object) -> Any:  # noqa: ANN401 - the library's
            found = load_yaml(fm.removeprefix("\n"), name)
            self.is_map = found is not None
            return found or {}

    handler = BoundedYaml()
    properties: Any
    try:
        properties, _ = frontmatter.parse(text, handler=handler)
    except UnreadableNoteError as broken:
        at = f" on line {broken.line}" if broken.line else ""
        why = f"its frontmatter cannot be read: {broken.why}{at}"
        hint = "correct the YAML between the lines of ---"
        raise UnreadableMemoryFileError(name, why, hint=hint) from None
    return properties if handler.is_map else None


def decode(data: bytes, name: str) -> tuple[str, int]:
    """The text, and how many of its characters replace bytes that are not UTF-8.

    Raises:
        UnreadableMemoryFileError: there are too many of them, or a NUL byte.
    """
    if b"\0" in data:
        raise UnreadableMemoryFileError(name, "it contains NUL bytes, so it is not text")
    try:
        return data.decode("utf-8-sig"), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="replace")
    invalid = len(data) - len(data.decode("utf-8-sig", errors="ignore").encode())
    replaced = text.count("\ufffd") - data.count("\ufffd".encode())
    if invalid > _MAX_INVALID_BYTES * len(data):
        raise UnreadableMemoryFileError(name, "it is binary")
    if replaced > _MAX_REPLACED_CHARS * len(text):
        raise UnreadableMemoryFileError(name, "the text is not UTF-8")
    return text, replaced


def decode_exactly(data: bytes | None, name: str) -> tuple[str, bytes]:
    """The text of a file that is to be written, and the byte order mark that goes before it.

    Raises:
        UnreadableMemoryFileError: some of its bytes are not UTF-8, and would be lost.
    """
    text, replaced_chars = decode(data or b"", name)
    if replaced_chars:
        raise UnreadableMemoryFileError(name, "not all of it is UTF-8")
    return text, BOM if (data or b"").startswith(BOM) else b""


def memory_file_notice(
    kind: str, name: str, message: str, hint: str, line: int | None = None
) -> Notice:
    """A notice about a memory file."""
    return Notice(kind, VaultPath(name), message, hint, line)


def memory_file_error_notice(name: str, error: VaultsyncError) -> Notice:
    """The notice of an error that concerns a memory file."""
    return memory_file_notice(type(error).__name__, name, error.message, error.hint)


def _metadata(
    properties: Mapping[str, Value], name: str
) -> tuple[FileMetadataValues, list[Notice]]:
    """The properties that apply to facts, and notices of invalid ones; others are ignored."""
    values: dict[str, Any] = {}
    invalid = []
    for key in ("tags", "entities", "priority", "type"):
        if properties.get(key) is None:
            continue
        try:
            values[key] = canonical(FIELDS_BY_KEY[key], properties[key])
        except UsageError as error:
            invalid.append(memory_file_notice("BadFrontmatter", name, error.message, error.hint, 1))
    return FileMetadataValues(**values), invalid


def normalize(text: str) -> str:
    r"""The text that is hashed: `\n`, no trailing blanks, single blank lines, trimmed."""
    text = _with_plain_line_ends(text)
    if " \n" in text or "\t\n" in text:
        text = _TRAILING.sub("", text)
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    return text.strip()


def _with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def section_content(text: str) -> str:
    r"""A text as sections have it: `\n` as line end, and no blank lines around it."""
    return _with_plain_line_ends(text).rstrip().strip("\n")


def hash_of(text: str) -> str:
    """SHA-256 of the normalized text, in hex."""
    return sha256(normalize(text).encode(errors="surrogatepass")).hexdigest()


def section_text(heading: str | None, content: str) -> str:
    """Heading and content of a section as one normalized text."""
    return normalize(content if heading is None else f"## {heading}\n\n{content}")


def section_id(agent: str | None, source: str, digest: str, number: int) -> str:
    """The id of a new fact for the `number`th section with a hash in a file.

    It depends on the content and not on the place: reordering sections, or losing the state
    beside the file, gives the same ids.
    """
    return str(uuid5(_NAMESPACE, f"{agent or ''}:{source}:{digest}:{number}"))


def is_section_id(fact_id: str) -> bool:
    """Whether `section_id()` may have made an id: a copy of a note gets one of another kind."""
    return UUID(fact_id).version == 5  # noqa: PLR2004 - the version that is made from a name


def frontmatter_end(text: str) -> int:
    """Where the frontmatter ends; 0 when there is none."""
    found = _FRONT.match(text)
    return found.end() if found else 0


def read_outline(text: str, *, name: str, start: int = 0) -> MemoryOutline:
    """Parse a memory file from `start`, the end of its frontmatter; `name` titles a preamble."""
    lines = list(fenced_lines(text, start))
    breaks = [end - 1 for end in accumulate(len(each) + 1 for each in text.split("\n")[:-1])]
    title, title_line = None, None
    for line in lines:
        if line.prose and _SECTION_HEADING.match(text, line.start, line.end):
            break
        if line.prose and _FILE_TITLE.match(text, line.start, line.end):
            title = closed_title(text[line.start + 2 : line.end]) or None
            title_line = line
            break
    found = list(_blocks(text, lines, title_line))
    by_paragraph = all(block.heading is None or block.managed for block, _ in found)
    taken: list[MemorySection] = []
    left_out: list[MemorySection] = []
    for block, content in found:
        alone = block.heading is None and by_paragraph
        pieces = _standalone_paragraphs(text, content) if alone else [content]
        for piece in pieces:
            for section in _sections(text, breaks, block, piece, title or name, alone=alone):
                fits = len(section.text) >= MIN_SECTION_CHARS
                (taken if fits else left_out).append(section)
    return MemoryOutline([block for block, _ in found], taken, left_out)


def _blocks(
    text: str, lines: Sequence[FencedLine], title_line: FencedLine | None
) -> Iterator[tuple[SectionBlock, Sequence[FencedLine]]]:
    """The preamble, if any, and the sections, each with the lines of its content."""
    headings = [
        number
        for number, (start, end, prose, _) in enumerate(lines)
        if prose and _SECTION_HEADING.match(text, start, end)
    ]
    starts = headings if headings[:1] == [0] else [0, *headings]
    titled = set(headings)
    for first, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        if first == stop:
            continue
        begin, end = lines[first].start, lines[stop - 1].end
        heading, body = None, first
        if first in titled:
            heading = closed_title(text[begin + 2 : lines[first].end])
            body += 1
        elif title_line is not None and not text[begin : title_line.start].strip():
            # Text above the title, which is rare, makes the title part of the preamble.
            body = lines.index(title_line) + 1
        content, hint, managed = _below_markers(text, lines[body:stop])
        start = content[0].start if content else end
        yield SectionBlock(heading, begin, start, end, hint, managed), content


def _below_markers(
    text: str, lines: Sequence[FencedLine]
) -> tuple[Sequence[FencedLine], str | None, bool]:
    """The lines below leading markers, the type they name, and whether one says `managed`."""
    hint, managed = None, False
    for number, line in enumerate(lines):
        words = text[line.start : line.end]
        marker = None if line.code or "<!--" not in words else _MARKER.match(words)
        if marker:
            managed = managed or marker["managed"] is not None
            hint = hint or marker["type"]
        elif words and not words.isspace():
            return lines[number:], hint, managed
    return [], hint, managed


def _paragraphs(text: str, lines: Sequence[FencedLine]) -> list[list[FencedLine]]:
    """Paragraphs, each with the blank lines below it; fenced code is never split."""
    found: list[list[FencedLine]] = []
    apart = True
    for line in lines:
        blank = not text[line.start : line.end].strip()
        if apart and not blank and not (line.code and line.fence < line.start):
            found.append([])
        found[-1].append(line)
        apart = blank
    return found


def _standalone_paragraphs(text: str, lines: Sequence[FencedLine]) -> list[list[FencedLine]]:
    """Paragraphs that are each long enough to be a section.

    A heading or a short paragraph is joined to the next one, or to the previous one at the end,
    so that nothing is lost from a file of short pieces.
    """
    joined: list[list[FencedLine]] = []
    small = False
    for paragraph in _paragraphs(text, lines):
        if small:
            joined[-1] += paragraph
        else:
            joined.append(paragraph)
        start, end = joined[-1][0].start, paragraph[-1].end
        is_short = end - start <= _SHORT_SOURCE
        words = normalize(text[start if is_short else paragraph[0].start : end])
        is_heading = paragraph[-1].fence < 0 and _HEADING.match(words.rpartition("\n")[2])
        small = (is_short and len(words) < MIN_SECTION_CHARS) or bool(is_heading)
    if small and len(joined) > 1:
        joined[-2:] = [joined[-2] + joined[-1]]
    return joined


def _sections(
    text: str,
    breaks: Sequence[int],
    block: SectionBlock,
    lines: Sequence[FencedLine],
    name: str,
    *,
    alone: bool,
) -> Iterator[MemorySection]:
    """A piece of a block as one section, or in parts when it is too long.

    `breaks` are the positions of the line ends of the text.
    """
    lines, hint, managed = _below_markers(text, lines)
    if not lines and block.heading is None:
        return
    limit = MAX_SECTION_CHARS - len(f"## {block.heading}\n\n" if block.heading else "")
    for number, part in enumerate(_split(text, lines, limit), 1):
        start = part[0].start if part else block.body
        end = part[-1].end if part else block.end
        content = section_content(text[start:end])
        title = derive_title(content, "memory") if alone else block.heading or name
        title = _CONTROL.sub(" ", title).strip()[:_MAX_TITLE_CHARS] or "Untitled"
        yield MemorySection(
            heading=block.heading,
            content=content,
            text=section_text(block.heading, content),
            title=title if number == 1 else f"{title} ({number})",
            start=start,
            end=end,
            line=bisect_left(breaks, block.start if block.heading else start) + 1,
            type_hint=hint or block.type_hint,
            managed=managed or block.managed,
            block=block,
        )


def _split(text: str, lines: Sequence[FencedLine], limit: int) -> Iterator[Sequence[FencedLine]]:
    """Groups of paragraphs of at most `limit` characters; a longer paragraph stays whole."""
    words = text[lines[0].start : lines[-1].end] if lines else ""
    if len(words) <= limit or len(normalize(words)) <= limit:
        yield lines
        return
    part: list[FencedLine] = []
    size = 0
    for paragraph in _paragraphs(text, lines):
        words = text[paragraph[0].start : paragraph[-1].end]
        # Below another one, a paragraph keeps the blanks that it begins with.
        size += len(normalize(f".\n\n{words}")) - 1
        if part and size > limit:
            yield part
            part = []
        if not part:
            size = len(normalize(words))
        part += paragraph
    yield part
