"""`<topic>.core.md`: the summary of a topic, its links and its log of changes.

Users write it too. Each module has one line in *TL;DR* and one in *Quick links*; a line that
vaultsync wrote follows its module, a line that the user reworded stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from vaultsync.links.rewrite import Retarget, rewrite_links
from vaultsync.links.wikilinks import Link
from vaultsync.markdown.blocks import closed_title, fenced_lines
from vaultsync.modules.module_text import excerpt

SUMMARY, LINKS, LOG = "TL;DR", "Quick links", "Change log"
_NAMES = {
    SUMMARY: ("tldr", "summary"),
    LINKS: ("quicklinks", "links"),
    LOG: ("changelog", "changes", "log"),
}
_HEADING = re.compile(r"(#{1,6})[ \t]")
_BULLET = re.compile(r"[ \t]*[-*+][ \t]")


@dataclass(frozen=True, slots=True)
class CoreChange:
    """A change of a module."""

    chunk_id: str
    title: str
    text: str
    file: str
    was_title: str
    was_text: str | None
    """The former text; None for a new module."""
    agent: str
    day: str


class _Line(Struct, frozen=True, gc=False):
    text: str
    """With its line ending."""
    is_prose: bool = True
    """Whether it is outside code."""


def update_core(text: str | None, topic: str, change: CoreChange) -> str:
    """The core file with updated lines for a module that was written or edited."""
    if text is None or not text.strip():
        name = topic.replace("-", " ").replace("_", " ")
        text = f"# {name[:1].upper()}{name[1:]}\n"
    lines = [_Line(text[start:end], prose) for start, end, prose, _ in fenced_lines(text)]
    old = None
    if change.was_text is not None:
        old = _summary(change.chunk_id, change.was_title, change.was_text)
    new = _summary(change.chunk_id, change.title, change.text)
    _put(lines, SUMMARY, new, old=old, mark=f"`{change.chunk_id}`")
    old = f"- [{_label(change.was_title)}]({change.file})"
    new = f"- [{_label(change.title)}]({change.file})"
    _put(lines, LINKS, new, old=old, mark=f"]({change.file})")
    verb = "added" if change.was_text is None else "changed"
    line = f"- {change.day}: `{change.chunk_id}` {verb} by {_one_line(change.agent)}"
    _put(lines, LOG, line, old=line, mark=line, first=True)
    return "".join(each.text for each in lines)


def with_new_names(text: str, names: Mapping[str, str]) -> str:
    """The core file with links to the new names of module files, which `names` has by their old."""
    stems = {old.removesuffix(".md"): new.removesuffix(".md") for old, new in names.items()}

    def retarget(link: Link) -> Retarget | None:
        name = link.target.removeprefix("./")
        new = names.get(name) or stems.get(name)
        return Retarget(link.target.removesuffix(name) + new) if new else None

    return rewrite_links(text, retarget)


def _summary(chunk_id: str, title: str, text: str) -> str:
    words = excerpt(text)
    return f"- **{_one_line(title)}** (`{chunk_id}`)" + (f": {words}" if words else "")


def _put(
    lines: list[_Line], name: str, new: str, *, old: str | None, mark: str, first: bool = False
) -> None:
    """Put a line into a section, replacing the old one, unless another line has the mark."""
    section = _section(lines, name)
    if section is None:
        _end_line(lines, len(lines))
        gap = [_Line("\n")] if lines[-1].text != "\n" else []
        lines += [*gap, _Line(f"## {name}\n"), _Line("\n"), _Line(f"{new}\n")]
        return
    for at in section:
        words = lines[at].text
        if words.rstrip() == old:
            lines[at] = _Line(new + words[len(words.rstrip()) :])
            return
    if any(mark in lines[at].text.replace("](./", "](") for at in section):
        return
    bullets = [at for at in section if _BULLET.match(lines[at].text)]
    if bullets:
        at = bullets[0] if first else bullets[-1] + 1
        while not first and at < section.stop and re.match(r"[ \t]+\S", lines[at].text):
            at += 1
        _end_line(lines, at)
        lines.insert(at, _Line(f"{new}\n"))
    else:
        at = section.stop
        while at > section.start and not lines[at - 1].text.strip():
            at -= 1
        _end_line(lines, at)
        gap = [_Line("\n")] if section.stop < len(lines) else []
        lines[at : section.stop] = [_Line("\n"), _Line(f"{new}\n"), *gap]


def _end_line(lines: list[_Line], at: int) -> None:
    """End the line before another one."""
    last = lines[at - 1]
    if not last.text.endswith("\n"):
        lines[at - 1] = _Line(f"{last.text}\n", last.is_prose)


def _section(lines: Sequence[_Line], name: str) -> range | None:
    """The lines of a section, without its heading."""
    start, level = None, 0
    for at, each in enumerate(lines):
        heading = _HEADING.match(each.text) if each.is_prose else None
        if heading is None:
            continue
        if start is not None and len(heading[1]) <= level:
            return range(start, at)
        title = closed_title(each.text[heading.end() :])
        if start is None and re.sub("[^a-z]", "", title.casefold()) in _NAMES[name]:
            start, level = at + 1, len(heading[1])
    return None if start is None else range(start, len(lines))


def _label(title: str) -> str:
    return re.sub(r"([\[\]])", r"\\\1", _one_line(title))


def _one_line(words: str) -> str:
    return " ".join(words.split()) or "the user"
