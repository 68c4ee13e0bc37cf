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
from vaultsync.index_files.written_files import NumberedPart
from vaultsync.model.counts import count_noun
from vaultsync.notes.kinds import TABLE_MARK

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
    links: tuple[tuple[str, int], ...] = ()
    """Names of parts, and how many entries they have."""
    too_large: bool = False
    """Whether a single bucket is too large, so that it is divided line by line."""

    @property
    def lines(self) -> str:
        """Which lines it has, as a text to compare."""
        which = "links" if self.links else f"{self.buckets.start}-{self.buckets.stop}"
        return f"{'/'.join(self.keys)}:{which}"


class Divisions:
    """How long parts are divided by number: as before, where nothing in them changed."""

    def __init__(
        self,
        known: Mapping[str, Sequence[NumberedPart]] | None = None,
        is_changed: Callable[[PartKeys], bool] = lambda _: True,
    ) -> None:
        """Continue divisions that are known from before.

        Args:
            known: what `now` was then.
            is_changed: whether there are changes in a part since.
        """
        self._known = known or {}
        self._is_changed = is_changed
        self.now: dict[str, Sequence[NumberedPart]] = {}
        """Keys, joined -> the parts of what has them."""

    def of(
        self, keys: PartKeys, buckets_of: Callable[[PartKeys], Mapping[int, Volume]]
    ) -> Sequence[NumberedPart]:
        """The parts of what has some keys."""
        name = "\n".join(keys)
        known = None if self._is_changed(keys) else self._known.get(name)
        self.now[name] = _divided(buckets_of(keys)) if known is None else known
        return self.now[name]


def plan_pages(
    stem: str,
    title: str,
    parts: Mapping[PartKeys, Volume],
    divided: Callable[[PartKeys], Sequence[NumberedPart]],
    keys: PartKeys = (),
) -> Iterator[PagePlan]:
    """The file `stem.md` and its parts, if it has any.

    Args:
        stem: of the name.
        title: of the file.
        parts: keys -> how much there is.
        divided: keys -> the parts by number; asked where keys are not enough.
        keys: what all of it has in common.
    """
    depth = len(keys)
    if _fits(parts.values()):
        yield PagePlan(f"{stem}.md", title, keys)
        return
    if keys in parts:
        yield from _numbered(stem, title, keys, divided(keys))
        return
    below: dict[str, dict[PartKeys, Volume]] = {}
    for each, volume in sorted(parts.items()):
        below.setdefault(each[depth], {})[each] = volume
    if len(below) == 1:
        (key,) = below
        yield from plan_pages(stem, title, parts, divided, (*keys, key))
        return
    numbers = {key: sum(each.lines for each in some.values()) for key, some in below.items()}
    yield _links(stem, title, keys, numbers)
    for key, some in below.items():
        yield from plan_pages(f"{stem}-{key}", f"{title}: {key}", some, divided, (*keys, key))


def _numbered(
    stem: str, title: str, keys: PartKeys, parts: Sequence[NumberedPart]
) -> Iterator[PagePlan]:
    numbers = {part.start // (part.stop - part.start) + 1: part for part in parts}
    if len(parts) > 1:
        yield _links(stem, title, keys, {str(key): each.lines for key, each in numbers.items()})
    for number, part in numbers.items():
        name, shown = stem, title
        if len(parts) > 1:
            name, shown = f"{stem}-{number}", f"{title}: {number}"
        there = range(part.start, part.stop)
        yield PagePlan(f"{name}.md", shown, keys, there, too_large=part.too_large)


def _divided(buckets: Mapping[int, Volume]) -> list[NumberedPart]:
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
    return [
        NumberedPart(at, at + width, sum(each.lines for each in some), not _fits(some))
        for at, some in numbered.items()
        if some
    ]


def _fits(volumes: Iterable[Volume]) -> bool:
    some = list(volumes)
    lines = sum(each.lines for each in some)
    return lines <= 1 or sum(each.size for each in some) + _TITLE_BYTES <= MAX_FILE_BYTES


def _links(stem: str, title: str, keys: PartKeys, numbers: Mapping[str, int]) -> PagePlan:
    """A list of parts, from the keys of their names and their numbers of lines."""
    links = tuple((f"{stem}-{key}.md", number) for key, number in numbers.items())
    return PagePlan(f"{stem}.md", title, keys, links=links)


def link_lines(links: Iterable[tuple[str, int]]) -> list[TableLine]:
    """Links to parts, from their names and numbers of entries."""
    return [
        TableLine(f"- [{name}]({name}): {count_noun(number, 'entry', many='entries')}", "Parts")
        for name, number in links
    ]


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
        links.append((name, len(lines)))
    return {f"{stem}.md": page_text(title, link_lines(links), about=about), **files}


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
