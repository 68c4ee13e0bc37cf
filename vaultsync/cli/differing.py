"""Long texts, shortened to the lines in which they differ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from difflib import SequenceMatcher

LONG = 60
"""Characters of a value that is shown whole."""
FEW = 8
"""Lines of a change that are shown."""


def essence(texts: Sequence[str]) -> list[str]:
    """The texts with only the lines that not all have, and one line around each."""
    rows = [text.split("\n") for text in texts]
    if max(map(len, rows)) <= FEW:
        return list(texts)
    return [_without_common(mine, rows) for mine in rows]


def _without_common(mine: list[str], rows: Sequence[list[str]]) -> str:
    common = set(range(len(mine)))
    for other in rows:
        blocks = _compared(mine, other).get_matching_blocks()
        common &= {k for a, _, size in blocks for k in range(a, a + size)}
    kept = {
        k + near for k in range(len(mine)) if k not in common for near in (-1, 0, 1)
    }
    shown: list[str] = []
    for k, line in enumerate(mine):
        if k in kept:
            shown.append(line)
        elif shown[-1:] != ["…"]:
            shown.append("…")
    return "\n".join(shown)


def changed_lines(before: str, after: str, *, width: int) -> list[str]:
    """`- ` and `+ ` lines, each cut to `width` around where it differs."""
    old, new = before.split("\n"), after.split("\n")
    shown: list[str] = []
    for tag, a, b, c, d in _compared(old, new).get_opcodes():
        if tag == "equal":
            continue
        for gone, come in itertools.zip_longest(old[a:b], new[c:d], fillvalue=""):
            at = _first_difference(gone, come)
            for mark, line in (("-", gone), ("+", come)):
                if line.strip():
                    shown.append(f"{mark} {_cut(line, at, width - 2)}")
    if len(shown) > FEW:
        shown[FEW:] = [f"… {len(shown) - FEW} more lines"]
    return shown


def _compared(one: list[str], other: list[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    same = (k for k, (mine, yours) in pairs if mine != yours)
    return next(same, min(len(one), len(other)))


def _cut(line: str, at: int, width: int) -> str:
    """At most `width` characters of a line, with the one at `at` among them."""
    start = max(0, at - width // 3) if len(line) > width else 0
    some = line[start:]
    head = "…" if start else ""
    if len(head) + len(some) <= width:
        return head + some
    return f"{head}{some[: width - len(head) - 1]}…"
