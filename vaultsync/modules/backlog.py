"""`memory-sync-backlog.md`: a table of the chunks that are not mirrored yet.

Users may write anything around the table, and delete rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, structs

BACKLOG_FILE = "memory-sync-backlog.md"
_HEADER = "| chunk | reason | time | agent |"
_RULE = "| --- | --- | --- | --- |"
_NEW = f"""# Memory sync backlog

These modules are not mirrored yet; `vaultsync module sync` sends them.

{_HEADER}
{_RULE}
"""
_CELL = re.compile(r"(?<!\\)\|")
_IS_RULE = re.compile(r"[\s|:-]+\Z")


class BacklogRow(Struct, frozen=True):
    """A chunk that is not mirrored yet."""

    chunk_id: str
    reason: str
    time: str
    """When it first failed, ISO 8601 in UTC."""
    agent: str = ""


def read_backlog(text: str) -> list[BacklogRow]:
    """The rows; only the first of each chunk."""
    rows: dict[str, BacklogRow] = {}
    for _, _, row in _lines(text):
        if row is not None:
            rows.setdefault(row.chunk_id, row)
    return list(rows.values())


def put_row(text: str | None, row: BacklogRow) -> str:
    """The file with a row added or replaced; a replaced row keeps its time."""
    if text is None or not text.strip():
        text = _NEW
    for known in read_backlog(text):
        if known.chunk_id == row.chunk_id:
            return _each_line(text, row.chunk_id, _line(structs.replace(row, time=known.time)))
    lines = [line for line, _, _ in _lines(text)]
    inside = [number for number, (_, is_inside, _) in enumerate(_lines(text)) if is_inside]
    if not inside:
        gap = "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{_HEADER}\n{_RULE}\n{_line(row)}\n"
    last = inside[-1]
    lines[last] = lines[last].removesuffix("\n") + f"\n{_line(row)}\n"
    return "".join(lines)


def drop_row(text: str, chunk_id: str) -> str:
    """The file without the rows of a chunk."""
    return _each_line(text, chunk_id, None)


def _each_line(text: str, chunk_id: str, replacement: str | None) -> str:
    """Replace the first row of a chunk, and delete its other rows."""
    kept = []
    for line, _, row in _lines(text):
        if row is None or row.chunk_id != chunk_id:
            kept.append(line)
        elif replacement is not None:
            kept.append(replacement + line[len(line.rstrip("\r\n")) :])
            replacement = None
    return "".join(kept)


def _lines(text: str) -> Iterator[tuple[str, bool, BacklogRow | None]]:
    """Each line, whether it is one of the table, and its row.

    The table begins with its header, and ends before the first line that is none of a table: users
    may have tables of their own.
    """
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if not bare.startswith("|"):
            inside = False
            yield line, False, None
            continue
        texts = (each.strip().strip("`") for each in _CELL.split(bare.strip("|")))
        cells = [each.replace(r"\|", "|") for each in texts]
        is_header = [each.casefold() for each in cells[:2]] == ["chunk", "reason"]
        inside = inside or is_header
        is_row = inside and bool(cells[0]) and not is_header and not _IS_RULE.match(bare)
        yield line, inside, BacklogRow(*[*cells, "", "", ""][:4]) if is_row else None


def _line(row: BacklogRow) -> str:
    cells = (
        " ".join(each.split()).replace("|", r"\|")
        for each in (row.chunk_id, row.reason, row.time, row.agent)
    )
    return f"| {' | '.join(cells)} |"
