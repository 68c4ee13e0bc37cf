"""Lines under headings -> files of bounded size, with a list of its parts in each that is split.

A file that would pass `LIMIT` becomes a list of its parts, and each part, where it is too
large itself, the same again: first by the keys of its items (type, then month; letter),
then by numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from vaultsync.notes.kinds import TABLE_MARK

INDEX_FOLDER = ".index"
MAX_FILE_BYTES = 200_000
"""Bytes of a file (seed 003 asks for less than 200 KB)."""


_FRAME = 8
"""Bytes around a line and its heading: marks and line ends."""
_TITLE = 2_000
"""Bytes that the title of a part may have."""


class TableLine(NamedTuple):
    """A line, and where it belongs."""

    line: str
    heading: str
    keys: tuple[str, ...] = ()
    """By which it is filed where its file is split: letters, digits and hyphens."""


def paged_files(
    stem: str, title: str, items: Sequence[TableLine], *, about: str = ""
) -> dict[str, str]:
    """The file `stem.md`, and its parts if it has any: name -> text."""
    return _files(stem, title, items, about, 0)


def _files(
    stem: str, title: str, items: Sequence[TableLine], about: str, depth: int
) -> dict[str, str]:
    text = _text(title, about, items)
    if len(items) <= 1 or len(text.encode()) <= MAX_FILE_BYTES:
        return {f"{stem}.md": text}
    parts = _parts(items, depth) if depth < len(items[0].keys) else _numbered(items)
    if len(parts) == 1:
        return _files(stem, title, items, about, depth + 1)
    made: dict[str, str] = {}
    contents = []
    for key, some in parts.items():
        made |= _files(f"{stem}-{key}", f"{title}: {key}", some, "", depth + 1)
        name = f"{stem}-{key}.md"
        contents.append(TableLine(f"- [{name}]({name}): {len(some):,} entries", "Parts"))
    return {f"{stem}.md": _text(title, about, contents), **made}


def _parts(items: Sequence[TableLine], depth: int) -> dict[str, list[TableLine]]:
    """By one of their keys, in order of the keys; the items of a part stay in order."""
    parts: dict[str, list[TableLine]] = {}
    for item in items:
        parts.setdefault(item.keys[depth], []).append(item)
    return {key: parts[key] for key in sorted(parts)}


def _numbered(items: Sequence[TableLine]) -> dict[str, list[TableLine]]:
    """As many of them as fit into a file, again and again.

    Each item counts with its heading and more than any title has.
    """
    parts: list[list[TableLine]] = []
    free = 0
    for item in items:
        size = len(item.line.encode()) + len(item.heading.encode()) + _FRAME
        if size > free:
            parts.append([])
            free = MAX_FILE_BYTES - _TITLE
        parts[-1].append(item)
        free -= size
    return {str(number): some for number, some in enumerate(parts, 1)}


def _text(title: str, about: str, items: Sequence[TableLine]) -> str:
    lines = ["---", TABLE_MARK, "---", f"# {title}", ""]
    if about:
        lines += [about, ""]
    for heading, many in groupby(items, key=lambda item: item.heading):
        lines += [f"## {heading}", *(item.line for item in many), ""]
    return "\n".join(lines)
