"""Edit a part of a fact's content: append to it, replace a section, or replace some text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vaultsync.errors import EditTargetError, UsageError
from vaultsync.markdown.blocks import HEADING_BLOCK, closed_title, prose_spans
from vaultsync.model.lazy_pattern import lazy_pattern

_HEADING = lazy_pattern(r"(#{1,6})[ \t]*(.*)")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_SEPARATOR = " > "
_MOST_NAMES = 20
_LISTED = 8
"""Maximum number of headings that an error lists."""


class Section(NamedTuple):
    """A heading, and where its text begins and ends."""

    path: tuple[str, ...]
    """The titles of the headings above it, and its own."""
    level: int
    heading: int
    """Where the heading begins."""
    start: int
    end: int

    @property
    def title(self) -> str:
        """The text of the heading."""
        return self.path[-1]

    def moved(self, by: int) -> Section:
        """The same section, shifted by the length of text inserted before it."""
        places = {name: getattr(self, name) + by for name in ("heading", "start", "end")}
        return self._replace(**places)

    def is_called(self, names: Sequence[str]) -> bool:
        """Whether its title is the last of some names, and the others are above it, in order."""
        above = iter(self.path[:-1])
        return self.title == names[-1] and all(name in above for name in names[:-1])


def content_edit(
    *,
    append: str | None = None,
    section: str | None = None,
    find: str | None = None,
    replace: str | None = None,
    count: int = 1,
) -> Callable[[str], str]:
    """The edit that the arguments describe, as a function of the content.

    Args:
        append: text for the end, after a blank line; a list item continues a list.
        section: the heading whose text `replace` replaces, up to the next heading of its
            level or above; with or without its `#`. Headings above it tell it apart from
            others: `Linux > Install`.
        find: text that `replace` replaces.
        replace: the new text.
        count: how often the content has `find`; it is replaced everywhere.

    Raises:
        UsageError: none of the three edits is described, or more than one.
    """
    if count < 1 or (count > 1 and find is None):
        raise UsageError("count is the number of occurrences of find in the content, 1 or more")
    # A content has these line ends, and would not have the text of a host with others.
    given = (append, section, find, replace)
    match [each and each.replace("\r\n", "\n") for each in given]:
        case [str(text), None, None, None]:
            return lambda content: append_text(content, text)
        case [None, str(title), None, str(text)]:
            return lambda content: replace_section(content, title, text)
        case [None, None, str(old), str(new)]:
            return lambda content: replace_text(content, old, new, count)
        case _:
            message = "pass append, or section and replace, or find and replace"
            raise UsageError(message, hint="make other edits one after the other")


def append_text(content: str, text: str) -> str:
    """The content with a text at its end; a list item continues a list without a blank line.

    Raises:
        UsageError: with that text, the sections before it would be others.
    """
    before = content.rstrip("\n")
    if not text.strip():
        return content
    if not before.strip():
        return text
    last = before.rstrip().rpartition("\n")[2]
    gap = "\n" if _ITEM.match(last) and _ITEM.match(text) else "\n\n"
    edited = before + gap + text.strip("\n")
    kept = sections(content)
    if not _same_headings(kept, sections(edited)[: len(kept)]):
        raise _others()
    return edited


def replace_section(content: str, title: str, text: str) -> str:
    """The content with another text below a heading; nothing else of it changes.

    `title` may be a path of titles with ` > ` between them.

    Raises:
        EditTargetError: no heading has that title, or more than one.
        UsageError: with that text, the sections around it would be others.
    """
    before = sections(content)
    matches = [each for each in before if each.is_called([_bare(title)])]
    if not matches:
        matches = [each for each in before if any(map(each.is_called, _paths(title)))]
    if len(matches) != 1:
        names = [" > ".join(each.path) if matches else each.title for each in before]
        hint = "it has no sections: use append or find"
        if names:
            hint = f"its sections are {', '.join(names[:_LISTED])}"
        raise EditTargetError(f"section {_bare(title)[:80]!r}", len(matches), hint)
    [section] = matches
    body = text.strip("\n")
    below = content[section.end :]
    edited = (
        content[: section.start].rstrip("\n")
        + (f"\n\n{body}" if body else "")
        + (f"\n\n{below}" if below else "")
    )
    # A text with an open fence or comment would swallow what follows, for example.
    number = before.index(section)
    moved = [
        each.moved(len(edited) - len(content)) for each in before if each.heading >= section.end
    ]
    after = sections(edited)
    if (
        not _same_headings(after[: number + 1], before[: number + 1])
        or after[len(after) - len(moved) :] != moved
        or edited[after[number].start : after[number].end].strip("\n") != body
    ):
        raise _others()
    return edited


def _same_headings(some: Sequence[Section], others: Sequence[Section]) -> bool:
    """Whether sections have equal headings, whatever is below them."""
    same = (one[:3] == other[:3] for one, other in zip(some, others, strict=False))
    return len(some) == len(others) and all(same)


def _others() -> UsageError:
    return UsageError(
        "that text would change the sections around it; nothing was written",
        hint="close its code, comments and formulas, and use headings below the section's",
    )


def _bare(title: str) -> str:
    return title.strip().lstrip("#").strip()


def _paths(title: str) -> Iterator[list[str]]:
    """The ways to split a path: a title may contain the separator itself."""
    names = [_bare(each) for each in title.split(_SEPARATOR)]
    for joined in range(1, min(len(names), _MOST_NAMES)):
        yield [*names[:-joined], _SEPARATOR.join(names[-joined:])]


def replace_text(content: str, old: str, new: str, count: int = 1) -> str:
    """The content with a text replaced.

    Raises:
        EditTargetError: the content does not have the text `count` times.
    """
    matches = content.count(old) if old else 0
    if matches != count:
        hint = "include more of the surrounding text, or pass the count"
        if not matches:
            hint = "copy it from the content of the fact, with all blanks and line ends"
        raise EditTargetError(f"text {old[:80]!r}", matches, hint)
    return content.replace(old, new)


def sections(content: str) -> list[Section]:
    """The headings outside code and quotes, each with the range of the text below it."""
    found: list[Section] = []
    opened: list[int] = []
    """The numbers of the sections that go on, each within the one before it."""
    for begin, end, kind, inner in prose_spans(content):
        if kind != HEADING_BLOCK:
            continue
        line = content.rfind("\n", 0, begin) + 1
        if line < inner and content[line:inner].strip():
            continue  # in a quote or a list
        heading = _HEADING.match(content, inner, end)
        if heading is not None:
            level, title = len(heading[1]), closed_title(heading[2])
        else:
            words, _, rule = content[inner:end].strip().rpartition("\n")
            level, title = 1 if rule.lstrip().startswith("=") else 2, " ".join(words.split())
        while opened and found[opened[-1]].level >= level:
            last = opened.pop()
            found[last] = found[last]._replace(end=line)
        above = found[opened[-1]].path if opened else ()
        opened.append(len(found))
        found.append(Section((*above, title), level, line, end, len(content)))
    return found
