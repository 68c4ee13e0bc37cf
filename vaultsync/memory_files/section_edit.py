"""Change managed sections of a memory file, and nothing else in it.

Only a section with `<!-- vaultsync-managed -->` below its heading is changed. The new text is read
again to prove that every other section is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vaultsync.errors import InvalidFieldError, UsageError
from vaultsync.hosts.marked_blocks import INSTRUCTIONS, find_block
from vaultsync.memory_files.managed_block import (
    find_managed_block,
    find_own_block,
    has_marks,
    hide_block,
)
from vaultsync.memory_files.sections import (
    MANAGED_MARKER,
    MIN_SECTION_CHARS,
    MemorySection,
    SectionBlock,
    frontmatter_end,
    normalize,
    read_outline,
    section_content,
    section_text,
)
from vaultsync.model.lazy_pattern import lazy_pattern

_IMPORT = lazy_pattern(r"(?:^|(?<=\s))@(?=~|[^\s@]*[/\\]|[^\s@]*\.\w)\S+")
"""A text that hosts treat as the name of a file to import."""


class SectionChange(NamedTuple):
    """The new state of a section."""

    title: str
    content: str | None
    """None to remove the section."""


_SAME = SectionChange("", "")
ReadSections = Callable[[str], Sequence[MemorySection]]
"""The sections of a text, as a sync reads them."""


def change_sections(
    text: str,
    sections: Sequence[MemorySection],
    changes: Mapping[int, SectionChange],
    read: ReadSections,
) -> tuple[str, Mapping[int, SectionChange]]:
    """The text with all changes that leave every other section as it was, and those changes.

    Of a section that cannot have its new title, the content is changed alone. `read` reads the
    sections of the new text.
    """

    def attempt(some: Mapping[int, SectionChange]) -> str | None:
        new = _replaced(text, sections, some)
        return new if new is not None and _keys(read(new)) == _expected(sections, some) else None

    changed = attempt(changes)
    if changed is not None:
        return changed, changes
    changed, done = text, dict[int, SectionChange]()
    for number, change in changes.items():
        for each in (change, change._replace(title=sections[number].title)):
            new = attempt({**done, number: each})
            if new is not None:
                changed, done[number] = new, each
                break
    return changed, done


def return_section(
    text: str, sections: Sequence[MemorySection], title: str, content: str, read: ReadSections
) -> tuple[str, int] | None:
    """The text with one more managed section, and its number; None if that cannot be."""
    new = append_section(text, title, content)
    key, keys, before = _key(title, content, managed=True), _keys(read(new)), _keys(sections)
    for number in range(len(keys) - 1, -1, -1):
        if keys[number] == key and keys[:number] + keys[number + 1 :] == before:
            return new, number
    return None


def imports_file(content: str, before: str) -> bool:
    """Whether a text names a file that hosts would import, and that it did not name before."""
    return not {*_IMPORT.findall(content)} <= {*_IMPORT.findall(before)}


def _keys(sections: Sequence[MemorySection]) -> list[tuple[str, str, bool]]:
    return [_key(each.title, each.content, managed=each.managed) for each in sections]


def _key(title: str, content: str, *, managed: bool) -> tuple[str, str, bool]:
    return title, normalize(content), managed


def _expected(
    sections: Sequence[MemorySection], changes: Mapping[int, SectionChange]
) -> list[tuple[str, str, bool]]:
    keys = []
    for number, section in enumerate(sections):
        change = changes.get(number, SectionChange(section.title, section.content))
        if change.content is not None:
            keys.append(_key(change.title, change.content, managed=section.managed))
    return keys


def _replaced(
    text: str, sections: Sequence[MemorySection], changes: Mapping[int, SectionChange]
) -> str | None:
    """The text with the changes; None if a block of vaultsync stands within what they replace."""
    kept = {
        x.block.start for n, x in enumerate(sections) if changes.get(n, _SAME).content is not None
    }
    hidden = hide_block(text)
    file_eol = _line_end(text)
    edits: set[tuple[int, int, str]] = set()
    for number, change in changes.items():
        section = sections[number]
        block = section.block
        if change.content is None and block.start not in kept:
            edits.add((block.start, block.end, ""))
            continue
        words = hidden[section.start : section.end]
        eol = _line_end(words) if "\n" in words else file_eol
        content = (change.content or "").replace("\n", eol)
        if words.strip():
            first = section.end - len(words.lstrip("\r\n"))
            edits.add((first, section.start + len(words.rstrip()), content))
        else:
            gap = "" if hidden.endswith("\n", 0, section.start) else eol
            edits.add((section.start, section.start, gap + content + eol))
        if change.title != section.title:
            heading = hidden[block.start : block.body].partition("\n")[0].rstrip("\r")
            edits.add((block.start, block.start + len(heading), f"## {change.title}"))
    span = find_managed_block(text) or (len(text), len(text))
    moved = len(text) - len(hidden)  # what stands below the managed block
    blocks = [(span[0], span[1] - moved)]
    for at, until in filter(None, (find_block(text, marks) for marks in INSTRUCTIONS)):
        shift = moved if at >= span[1] else 0
        blocks.append((at - shift, until - shift))
    parts: list[str] = []
    last = len(text)
    for edit in sorted(edits, reverse=True):
        clipped = _beside(edit, blocks, hidden)
        if clipped is None:
            return None
        begin, end, new = clipped
        shift = moved if end > span[0] else 0
        parts += (text[end + shift : last], new)
        last = begin + shift
    return "".join((text[:last], *reversed(parts)))


def _beside(
    edit: tuple[int, int, str], blocks: Sequence[tuple[int, int]], hidden: str
) -> tuple[int, int, str] | None:
    """An edit that leaves out blocks at its end; None if one stands within what it replaces."""
    begin, end, new = edit
    for start, stop in blocks:
        if begin < stop and start < end:
            if begin >= start or hidden[start:end].strip():
                return None
            end = start
    return begin, end, new


def _line_end(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def append_section(text: str, title: str, content: str) -> str:
    """The text with a managed section at its end, or above the managed block."""
    start, _ = find_managed_block(text) or (len(text), 0)
    above, eol = text[:start], _line_end(text)
    gap = "" if not above or above.endswith("\n") else eol
    if above.strip() and not above.endswith(eol * 2):
        gap += eol
    lines = [f"## {title}", MANAGED_MARKER, "", content.replace("\n", eol), ""]
    return above + gap + eol.join(lines) + text[start:]


def insert_section(text: str, heading: str, body: str, *, replace_all: bool) -> str:
    """Add `body` to the agents' section with that heading, and return the new file.

    `body` becomes the last paragraph or, with `replace_all`, the whole content of the section.
    Lines that the section has already are not added again. The result is parsed to prove that
    no other section changed.

    Raises:
        InvalidFieldError: the heading is not one line, or the text does not fit in one section.
        UsageError: the file ends within code or a comment, so that no section can follow.
    """
    title = normalize(heading).lstrip("#").strip()
    span = find_own_block(text)
    if span is not None:  # the block stays as it is; new sections stand above it
        above, below = text[: span[0]], text[span[1] :]
        if _agents_section(below, title)[0] is not None:
            below = insert_section(below, heading, body, replace_all=replace_all)
        else:
            above = insert_section(above, heading, body, replace_all=replace_all)
        return above + text[slice(*span)] + below
    if not title or "\n" in title:
        raise InvalidFieldError("section", heading, "one line of text")
    normalized = normalize(body)
    if len(section_text(title, normalized)) < MIN_SECTION_CHARS:
        expected = f"{MIN_SECTION_CHARS} characters or more with its heading"
        raise InvalidFieldError("the text", body, expected)
    if has_marks(normalized):
        raise InvalidFieldError("the text", body, "text without markers of the managed block")
    probe = read_outline(f"## a\n\n{normalized}\n\n## b\n", name="")
    if [block.heading for block in probe.blocks] != ["a", "b"]:
        expected = "whole paragraphs, without headings of level 2 and with all code fences closed"
        raise InvalidFieldError("the text", body, expected)
    eol = _line_end(text)
    body = section_content(body)
    own, others = _agents_section(text, title)
    if own is None:
        result = append_section(text, title, body)
    else:
        before = text[own.body : own.end]
        if not replace_all and f"\n{normalized}\n" in f"\n{normalize(before)}\n":
            return text
        content = before.rstrip()
        blank_lines = before[len(content) :] or eol
        body = body.replace("\n", eol)
        after = body if replace_all or not content else content + eol * 2 + body
        result = text[: own.body] + after + blank_lines + text[own.end :]
    own, others_after = _agents_section(result, title)
    if (
        own is None
        or others != others_after
        or normalized not in normalize(result[own.body : own.end])
    ):
        # The text alone is a section, so that the cause is in the file.
        raise UsageError(
            "the file ends in unclosed code or an unclosed comment, so no text can be added",
            hint="close it in the file, then add the text again",
        )
    return result


def _agents_section(
    text: str, title: str
) -> tuple[SectionBlock | None, list[tuple[str | None, str]]]:
    """The agents' section with a title, and heading and text of all other blocks."""
    blocks = read_outline(text, name="", start=frontmatter_end(text)).blocks
    own = next((each for each in blocks if each.managed and each.heading == title), None)
    return own, [
        (block.heading, words)
        for block in blocks
        if block is not own and (words := normalize(text[block.start : block.end]))
    ]
