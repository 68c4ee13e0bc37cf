"""`<topic>.core.md`: the summary of a topic, its links and its log of changes.

Users write it too. Each module has one line in *TL;DR* and one in *Quick links*; a line that
vaultsync wrote follows its module, a line that the user reworded stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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


def update_core(text: str | None, topic: str, change: CoreChange) -> str:
    """The core file with updated lines for a module that was written."""
    if text is None or not text.strip():
        name = topic.replace("-", " ").replace("_", " ")
        text = f"# {name[:1].upper()}{name[1:]}\n"
    old = None
    if change.was_text is not None:
        old = _summary(change.chunk_id, change.was_title, change.was_text)
    new = _summary(change.chunk_id, change.title, change.text)
    text = _put(text, SUMMARY, new, old=old, mark=f"`{change.chunk_id}`")
    old = f"- [{_label(change.was_title)}]({change.file})"
    new = f"- [{_label(change.title)}]({change.file})"
    text = _put(text, LINKS, new, old=old, mark=f"]({change.file})")
    verb = "added" if change.was_text is None else "changed"
    line = f"- {change.day}: `{change.chunk_id}` {verb} by {_one_line(change.agent)}"
    return _put(text, LOG, line, old=line, mark=line, first=True)


def _summary(chunk_id: str, title: str, text: str) -> str:
    words = excerpt(text)
    return f"- **{_one_line(title)}** (`{chunk_id}`)" + (f": {words}" if words else "")


def _put(text: str, name: str, new: str, *, old: str | None, mark: str, first: bool = False) -> str:
    """Put a line into a section, replacing the old one, unless another line has the mark."""
    lines, start, stop = _section(text, name)
    if start is None:
        gap = "" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}## {name}\n\n{new}\n"
    inside = range(start, stop)
    for at in inside:
        if lines[at].rstrip() == old:
            lines[at] = new + lines[at][len(lines[at].rstrip()) :]
            return "".join(lines)
    if any(mark in lines[at] for at in inside):
        return text
    bullets = [at for at in inside if _BULLET.match(lines[at])]
    if bullets:
        at = bullets[0] if first else bullets[-1] + 1
        while not first and at < stop and lines[at].strip() and lines[at][0] in " \t":
            at += 1
        if lines[at - 1][-1:] != "\n":
            lines[at - 1] += "\n"
        lines.insert(at, f"{new}\n")
    else:
        at = stop
        while at > start and not lines[at - 1].strip():
            at -= 1
        if lines[at - 1][-1:] != "\n":
            lines[at - 1] += "\n"
        lines[at:stop] = ["\n", f"{new}\n", *(["\n"] if stop < len(lines) else [])]
    return "".join(lines)


def _section(text: str, name: str) -> tuple[list[str], int | None, int]:
    """The lines of a text, and the start and end of a section without its heading."""
    found = fenced_lines(text)
    lines = [text[each.start : each.end] for each in found]
    start, level = None, 0
    for at, each in enumerate(found):
        heading = _HEADING.match(lines[at]) if each.prose else None
        if heading is None:
            continue
        if start is not None and len(heading[1]) <= level:
            return lines, start, at
        title = closed_title(lines[at][heading.end() :])
        if start is None and re.sub("[^a-z]", "", title.casefold()) in _NAMES[name]:
            start, level = at + 1, len(heading[1])
    return lines, start, len(lines)


def _label(title: str) -> str:
    return re.sub(r"([\[\]])", r"\\\1", _one_line(title))


def _one_line(words: str) -> str:
    return " ".join(words.split()) or "the user"
