"""Divide lines under headings into files of limited size.

A file larger than `MAX_FILE_BYTES` becomes a list of links to its parts, and a part that is too
large is divided again: by the keys of its lines (type, then month; letter), then by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from vaultsync.notes.kinds import TABLE_MARK

INDEX_FOLDER = ".index"
MAX_FILE_BYTES = 200_000
"""Maximum size of an index file."""
_LINE_OVERHEAD = 8
"""Bytes around a line and its heading: marks and line ends."""
_TITLE_BYTES = 2_000
"""Bytes reserved for the title of a part."""


class TableLine(NamedTuple):
    """A line of an index file, and where it belongs."""

    line: str
    heading: str
    keys: tuple[str, ...] = ()
    """Names of the parts that it goes to where its file is divided: letters, digits, hyphens."""


def paged_files(
    stem: str, title: str, items: Sequence[TableLine], *, about: str = ""
) -> dict[str, str]:
    """The file `stem.md` and its parts, if it has any: name -> text."""
    return _files(stem, title, items, about, 0)


def _files(
    stem: str, title: str, items: Sequence[TableLine], about: str, depth: int
) -> dict[str, str]:
    text = _text(title, about, items)
    if len(items) <= 1 or len(text.encode()) <= MAX_FILE_BYTES:
        return {f"{stem}.md": text}
    if depth < len(items[0].keys):
        by_key = sorted(
            items, key=lambda item: item.keys[depth]
        )  # the lines of a part stay in order
        parts = {key: list(part) for key, part in groupby(by_key, lambda item: item.keys[depth])}
    else:
        parts = _parts_by_size(items)
    if len(parts) == 1:
        return _files(stem, title, items, about, depth + 1)
    files: dict[str, str] = {}
    links = []
    for key, lines in parts.items():
        files |= _files(f"{stem}-{key}", f"{title}: {key}", lines, "", depth + 1)
        name = f"{stem}-{key}.md"
        links.append(TableLine(f"- [{name}]({name}): {len(lines):,} entries", "Parts"))
    return {f"{stem}.md": _text(title, about, links), **files}


def _parts_by_size(items: Sequence[TableLine]) -> dict[str, list[TableLine]]:
    """Lines by number of the part, each with as many as fit into a file."""
    parts: list[list[TableLine]] = []
    free = 0
    for item in items:
        size = len(item.line.encode()) + len(item.heading.encode()) + _LINE_OVERHEAD
        if size > free:
            parts.append([])
            free = MAX_FILE_BYTES - _TITLE_BYTES
        parts[-1].append(item)
        free -= size
    return {str(number): lines for number, lines in enumerate(parts, 1)}


def _text(title: str, about: str, items: Sequence[TableLine]) -> str:
    lines = ["---", TABLE_MARK, "---", f"# {title}", ""]
    if about:
        lines += [about, ""]
    for heading, group in groupby(items, key=lambda item: item.heading):
        lines += [f"## {heading}", *(item.line for item in group), ""]
    return "\n".join(lines)
