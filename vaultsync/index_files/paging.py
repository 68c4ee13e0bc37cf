"""Divide lines under headings into files of limited size.

A file larger than `MAX_FILE_BYTES` becomes a list of links to its parts, and a part that is too
large is divided again: by the keys of its lines (type, then month; letter), then by number. A
number stands for some buckets of ids, so that a change of one entry changes one part, and not
all those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from vaultsync.index_files.entry import BUCKETS
from vaultsync.index_files.ports import PartKeys, Volume
from vaultsync.notes.kinds import TABLE_MARK

INDEX_FOLDER = ".index"
MAX_FILE_BYTES = 200_000
"""Maximum size of an index file."""
_LINE_OVERHEAD = 8
"""Bytes around a line and its heading: marks and line ends."""
_TITLE_BYTES = 2_000
"""Bytes reserved for the title of a part."""
ALL_BUCKETS = range(BUCKETS)


class TableLine(NamedTuple):
    """A line of an index file, and where it belongs."""

    line: str
    heading: str


class PagePlan(NamedTuple):
    """A file: links to its parts, or which lines it has."""

    name: str
    title: str
    keys: PartKeys = ()
    buckets: range = ALL_BUCKETS
    links: tuple[TableLine, ...] = ()
    too_large: bool = False
    """Whether a single bucket is too large, so that it is divided line by line."""

    @property
    def lines(self) -> str:
        """Which lines it has, as a text to compare."""
        if self.links:
            return "links"
        return f"{'/'.join(self.keys)}:{self.buckets.start}-{self.buckets.stop}"


def plan_pages(
    stem: str,
    title: str,
    parts: Mapping[PartKeys, Volume],
    buckets_of: Callable[[PartKeys], Mapping[int, Volume]],
) -> Iterator[PagePlan]:
    """The file `stem.md` and its parts, if it has any.

    Args:
        stem: of the name.
        title: of the file.
        parts: keys -> how much there is.
        buckets_of: keys -> bucket -> how much there is; asked where keys are not enough.
    """
    return _plan(stem, title, (), dict(parts), buckets_of)


def _plan(
    stem: str,
    title: str,
    keys: PartKeys,
    parts: Mapping[PartKeys, Volume],
    buckets_of: Callable[[PartKeys], Mapping[int, Volume]],
) -> Iterator[PagePlan]:
    depth = len(keys)
    if _fits(parts.values()):
        yield PagePlan(f"{stem}.md", title, keys)
        return
    if keys in parts:
        yield from _numbered(stem, title, keys, buckets_of(keys))
        return
    below: dict[str, dict[PartKeys, Volume]] = {}
    for each, volume in sorted(parts.items()):
        below.setdefault(each[depth], {})[each] = volume
    if len(below) == 1:
        (key,) = below
        yield from _plan(stem, title, (*keys, key), parts, buckets_of)
        return
    yield _links(stem, title, {key: some.values() for key, some in below.items()})
    for key, some in below.items():
        yield from _plan(f"{stem}-{key}", f"{title}: {key}", (*keys, key), some, buckets_of)


def _numbered(
    stem: str, title: str, keys: PartKeys, buckets: Mapping[int, Volume]
) -> Iterator[PagePlan]:
    """As few parts of equal numbers of buckets as fit, each by itself."""
    width, size = BUCKETS, sum(each.size for each in buckets.values())
    while width > 1:
        width //= 2
        if width > 1 and size * width > BUCKETS * MAX_FILE_BYTES:
            continue  # they cannot fit
        numbered = {
            at: [buckets[each] for each in range(at, at + width) if each in buckets]
            for at in range(0, BUCKETS, width)
        }
        if all(map(_fits, numbered.values())):
            break
    filled = {at: some for at, some in numbered.items() if some}
    if len(filled) > 1:
        yield _links(stem, title, {str(at // width + 1): some for at, some in filled.items()})
    for at, some in filled.items():
        number = at // width + 1
        name, shown = stem, title
        if len(filled) > 1:
            name, shown = f"{stem}-{number}", f"{title}: {number}"
        there = range(at, at + width)
        yield PagePlan(f"{name}.md", shown, keys, there, too_large=not _fits(some))


def _fits(volumes: Iterable[Volume]) -> bool:
    some = list(volumes)
    lines = sum(each.lines for each in some)
    return lines <= 1 or sum(each.size for each in some) + _TITLE_BYTES <= MAX_FILE_BYTES


def _links(stem: str, title: str, parts: Mapping[str, Iterable[Volume]]) -> PagePlan:
    links = []
    for key, volumes in parts.items():
        name, number = f"{stem}-{key}.md", sum(each.lines for each in volumes)
        links.append(TableLine(f"- [{name}]({name}): {number:,} entries", "Parts"))
    return PagePlan(f"{stem}.md", title, links=tuple(links))


def paged_files(
    stem: str, title: str, items: Sequence[TableLine], *, about: str = ""
) -> dict[str, str]:
    """The file `stem.md` of a few lines, and its parts, if these are very long."""
    text = page_text(title, items, about=about)
    if len(items) <= 1 or len(text.encode()) <= MAX_FILE_BYTES:
        return {f"{stem}.md": text}
    files: dict[str, str] = {}
    links = []
    for number, lines in enumerate(_parts_by_size(items), 1):
        name = f"{stem}-{number}.md"
        files[name] = page_text(f"{title}: {number}", lines)
        links.append(TableLine(f"- [{name}]({name}): {len(lines):,} entries", "Parts"))
    return {f"{stem}.md": page_text(title, links, about=about), **files}


def _parts_by_size(items: Sequence[TableLine]) -> list[list[TableLine]]:
    """Lines in parts, each with as many as fit into a file."""
    parts: list[list[TableLine]] = []
    free = 0
    for item in items:
        size = len(item.line.encode()) + len(item.heading.encode()) + _LINE_OVERHEAD
        if size > free:
            parts.append([])
            free = MAX_FILE_BYTES - _TITLE_BYTES
        parts[-1].append(item)
        free -= size
    return parts


def page_text(title: str, items: Sequence[TableLine], *, about: str = "") -> str:
    """The text of a file."""
    lines = ["---", TABLE_MARK, "---", f"# {title}", ""]
    if about:
        lines += [about, ""]
    for heading, group in groupby(items, key=lambda item: item.heading):
        lines += [f"## {heading}", *(item.line for item in group), ""]
    return "\n".join(lines)
