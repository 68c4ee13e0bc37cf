"""Edit a part of a fact's content: append to it, replace a section, or replace some text."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vaultsync.errors import EditTargetError, UsageError
from vaultsync.markdown.blocks import HEADING_BLOCK, closed_title, prose_spans
from vaultsync.model.lazy_pattern import lazy_pattern

_HEADING = lazy_pattern(r"(#{1,6})[ \t]*(.*)")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_LISTED = 8
"""Maximum number of headings that an error lists."""


class Section(NamedTuple):
    """A heading, and where its text begins and ends."""

    title: str
    start: int
    end: int


def content_edit(
    *,
    append: str | None = None,
    section: str | None = None,
    find: str | None = None,
    replace: str | None = None,
) -> Callable[[str], str]:
    """The edit that the arguments describe, as a function of the content.

    Args:
        append: text for the end, after a blank line; a list item continues a list.
        section: the heading whose text `replace` replaces, up to the next heading of its
            level or above; with or without its `#`.
        find: text that occurs once, which `replace` replaces.
        replace: the new text.

    Raises:
        UsageError: none of the three edits is described, or more than one.
    """
    match append, section, find, replace:
        case str(text), None, None, None:
            return lambda content: append_text(content, text)
        case None, str(title), None, str(text):
            return lambda content: replace_section(content, title, text)
        case None, None, str(old), str(new):
            return lambda content: replace_text(content, old, new)
        case _:
            message = "give either append, or section and replace, or find and replace"
            raise UsageError(message, hint="see `vaultsync edit --help`")


def append_text(content: str, text: str) -> str:
    """The content with a text at its end; a list item continues a list without a blank line."""
    before = content.rstrip()
    if not before:
        return text
    last = before.rpartition("\n")[2]
    gap = "\n" if _ITEM.match(last) and _ITEM.match(text) else "\n\n"
    return before + gap + text.strip("\n")


def replace_section(content: str, title: str, text: str) -> str:
    """The content with another text below a heading.

    Raises:
        EditTargetError: no heading has that title, or more than one.
    """
    wanted = title.strip().lstrip("#").strip()
    found = [each for each in sections(content) if each.title == wanted]
    if len(found) != 1:
        titles = [each.title for each in sections(content)]
        listed = ", ".join(titles[:_LISTED]) if titles else "none: use append, or find"
        raise EditTargetError(f"section {wanted[:80]!r}", len(found), f"its sections are {listed}")
    body = text.strip("\n")
    rest = content[found[0].end :]
    return (
        content[: found[0].start].rstrip("\n")
        + (f"\n\n{body}" if body else "")
        + (f"\n\n{rest}" if rest else "")
    )


def replace_text(content: str, old: str, new: str) -> str:
    """The content with a text, which it has exactly once, replaced.

    Raises:
        EditTargetError: the content does not have the text, or more than once.
    """
    count = content.count(old) if old else 0
    if count != 1:
        hint = "give more of the text around it" if count else "copy it from `vaultsync get`"
        raise EditTargetError(f"text {old[:80]!r}", count, hint)
    return content.replace(old, new)


def sections(content: str) -> list[Section]:
    """The headings outside code and quotes, each with the range of the text below it."""
    found: list[Section] = []
    opened: list[tuple[int, int]] = []
    """Level and number of the sections that go on, each within the one before it."""
    for span in prose_spans(content):
        heading = _HEADING.match(content, span.inner, span.end)
        if span.kind == HEADING_BLOCK and heading and not content[span.start : span.inner].strip():
            level = len(heading[1])
            while opened and opened[-1][0] >= level:
                number = opened.pop()[1]
                found[number] = found[number]._replace(end=span.start)
            opened.append((level, len(found)))
            found.append(Section(closed_title(heading[2]), span.end, len(content)))
    return found
