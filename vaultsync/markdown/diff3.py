"""Three-way merge of text by line, as in `git merge-file`, and line diffs.

Each side is compared with the base by Myers' algorithm ("An O(ND) difference algorithm
and its variations", 1986). Its cost grows with the number of edits, not with repeated
lines: notes have many blank lines, on which `difflib` takes cubic time.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

MAX_EDITS = 1_000
"""A text with more inserted and deleted lines counts as rewritten in one piece.

The search is quadratic in them, and takes a quarter of a second at this limit.
"""


class Hunk(NamedTuple):
    """Lines `start` to `end` of the base became lines `begin` to `stop` of a side."""

    start: int
    end: int
    begin: int
    stop: int


def merge_text(
    base: str, vault: str, store: str, *, keep_inserted: bool = False, prefer_vault: bool = False
) -> str | None:
    """Merge both sides' edits of a text; None when they conflict.

    Edits conflict when they differ and touch the same or neighbouring lines. With
    `keep_inserted`, lines that both sides insert at the same place do not: all stay, those of
    the vault first. With `prefer_vault`, the edit of the vault is taken where they conflict. A
    line ends at a line feed and nowhere else; a last line with one differs from one without.
    """
    if vault in (base, store):
        return store
    if store == base:
        return vault
    before = _lines(base)
    sides = _lines(vault), _lines(store)
    hunks = hunks_of(before, sides[0]), hunks_of(before, sides[1])
    merged: list[str] = []
    at = 0
    for start, end, edits in _groups(hunks):
        merged += before[at:start]
        versions = [  # the lines of each side that replace this span of the base
            side[each[0].begin - (each[0].start - start) : each[-1].stop + (end - each[-1].end)]
            for each, side in zip(edits, sides, strict=True)
            if each
        ]
        merged += versions[0]
        at = end
        if versions[0] != versions[-1]:
            if keep_inserted and start == end:
                merged += _not_in(versions[0], versions[1])
            elif not prefer_vault:
                return None
    return "".join(merged + before[at:])


def _not_in(lines: list[str], others: list[str]) -> list[str]:
    """The lines of `others` that `lines` lacks, and the blank lines that separate them."""
    if others[: len(lines)] == lines:
        return others[len(lines) :]
    return [each for each in others if each.isspace() or each not in lines]


def differing_lines(one: str, other: str) -> list[str]:
    """A diff for users: `- ` lines of `one`, `+ ` lines of `other`.

    One line of context surrounds each change; `…` stands for all others.
    """
    old, new = one.split("\n"), other.split("\n")
    shown: list[str] = []
    at = 0
    hunks = hunks_of(old, new)
    for number, hunk in enumerate(hunks):
        shown += _around(old[at : hunk.start], above=number > 0, below=True)
        shown += _marked("- ", old[hunk.start : hunk.end])
        shown += _marked("+ ", new[hunk.begin : hunk.stop])
        at = hunk.end
    return shown + _around(old[at:], above=True, below=False) if hunks else []


def _around(same: list[str], *, above: bool, below: bool) -> list[str]:
    """The context in lines that do not differ: the first below a change, the last above one."""
    if len(same) <= above + below:
        return _marked("  ", same)
    first = _marked("  ", same[:1] if above else [])
    return [*first, "…", *_marked("  ", same[-1:] if below else [])]


def _marked(mark: str, lines: list[str]) -> list[str]:
    return [f"{mark}{line}" if line else mark.rstrip() for line in lines]


def _lines(text: str) -> list[str]:
    """The lines with their ends; `splitlines()` would break at ten other characters."""
    *ended, last = text.split("\n")
    lines = [line + "\n" for line in ended]
    return [*lines, last] if last else lines


_Both: TypeAlias = "tuple[list[Hunk], list[Hunk]]"


def _groups(hunks: _Both) -> list[tuple[int, int, _Both]]:
    """The hunks of both sides that touch each other, with the span of each group."""
    found: list[tuple[int, int, _Both]] = []
    for hunk, side in sorted((hunk, n) for n in (0, 1) for hunk in hunks[n]):
        if not found or found[-1][1] < hunk.start:
            found.append((hunk.start, hunk.end, ([], [])))
        start, end, edits = found[-1]
        edits[side].append(hunk)
        found[-1] = (start, max(end, hunk.end), edits)
    return found


def hunks_of(base: list[str], side: list[str]) -> list[Hunk]:
    """The differences of base and side, from top to bottom."""
    hunks: list[Hunk] = []
    start, begin = 0, 0
    for one, other in [*common_lines(base, side), (len(base), len(side))]:
        if start < one or begin < other:
            hunks.append(Hunk(start, one, begin, other))
        start, begin = one + 1, other + 1
    return _slide_down(hunks, base, side)


def _slide_down(hunks: list[Hunk], base: list[str], side: list[str]) -> list[Hunk]:
    """The same edits, each moved down as far as possible, as in git.

    Which of two equal lines was inserted is arbitrary. Both sides must choose the same, or
    one insertion on both sides would count as two.
    """
    slid: list[Hunk] = []
    limit = len(base)
    for each in reversed(hunks):
        hunk = each
        text, first = (base, 0) if hunk.begin == hunk.stop else (side, 2)
        while (
            (hunk.start == hunk.end or hunk.begin == hunk.stop)
            and hunk.end < limit
            and text[hunk[first]] == base[hunk.end]
        ):
            hunk = Hunk(*(at + 1 for at in hunk))
        slid.append(hunk)
        limit = hunk.start
    return slid[::-1]


def common_lines(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """Positions of lines that two texts have in common, rising in both."""
    head = _equal_lines(one, 0, other, 0)
    tail, shorter = 0, min(len(one), len(other))
    while tail < shorter - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    end, stop = len(one) - tail, len(other) - tail
    middle, others_middle = one[head:end], other[head:stop]
    both = set(middle) & set(others_middle)
    ones = [at for at, line in enumerate(middle, head) if line in both]
    others = [at for at, line in enumerate(others_middle, head) if line in both]
    found = _common([one[at] for at in ones], [other[at] for at in others])
    same = [(n, n) for n in range(head)]
    same += [(ones[x], others[y]) for x, y in found]
    return same + [(end + n, stop + n) for n in range(tail)]


def _equal_lines(one: list[str], at: int, other: list[str], there: int) -> int:
    """How many lines of two texts are equal, from a position in each on."""
    size, most = 0, min(len(one) - at, len(other) - there)
    while size < most and one[at + size] == other[there + size]:
        size += 1
    return size


def _common(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """The longest common subsequence; empty when there are too many edits.

    Row `d` holds, for the diagonals -d, -d + 2, … d, how far down `one` some `d` edits
    reach.
    """
    rows: list[list[int]] = []
    last: list[int] = []
    for edits in range(min(len(one) + len(other), MAX_EDITS) + 1):
        row: list[int] = []
        for n in range(edits + 1):
            x, _ = _entry(last, n)
            y = x - (2 * n - edits)
            if x < len(one) and y < len(other) and one[x] == other[y]:
                equal = _equal_lines(one, x, other, y)
                x += equal
                y += equal
            row.append(x)
            if x >= len(one) and y >= len(other):
                return _walk_back([*rows, row])
        rows.append(row)
        last = row
    return []


def _entry(last: list[int], n: int) -> tuple[int, int]:
    """Where diagonal `n` of a row begins, and the diagonal of the row before it comes from."""
    if not last:
        return 0, 0
    if n == 0 or (n < len(last) and last[n - 1] < last[n]):
        return last[n], n
    return last[n - 1] + 1, n - 1


def _walk_back(rows: list[list[int]]) -> list[tuple[int, int]]:
    """The lines in common on the way to the last entry of the last row."""
    found: list[tuple[int, int]] = []
    n = len(rows[-1]) - 1
    for edits in range(len(rows) - 1, -1, -1):
        start, before = _entry(rows[edits - 1] if edits else [], n)
        found += ((x, x - (2 * n - edits)) for x in range(rows[edits][n] - 1, start - 1, -1))
        n = before
    return found[::-1]
