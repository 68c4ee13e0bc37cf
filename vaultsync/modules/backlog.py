"""`memory-sync-backlog.md`: a table of the chunks that are not mirrored yet.

Users may write anything around the table, and delete rows.
"""

from __future__ import annotations

import re

from msgspec import Struct

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
    for line in text.splitlines():
        row = _row(line)
        if row is not None:
            rows.setdefault(row.chunk_id, row)
    return list(rows.values())


def put_row(text: str | None, row: BacklogRow) -> str:
    """The file with a row added or replaced; a replaced row keeps its time."""
    if text is None or not text.strip():
        text = _NEW
    known = {each.chunk_id: each for each in read_backlog(text)}
    if row.chunk_id in known:
        line = _line(BacklogRow(row.chunk_id, row.reason, known[row.chunk_id].time, row.agent))
        return _each_line(text, row.chunk_id, line)
    lines = text.splitlines(keepends=True)
    last = max((n for n, each in enumerate(lines) if each.lstrip().startswith("|")), default=None)
    if last is None:
        gap = "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{_HEADER}\n{_RULE}\n{_line(row)}\n"
    if not lines[last].endswith("\n"):
        lines[last] += "\n"
    lines.insert(last + 1, f"{_line(row)}\n")
    return "".join(lines)


def drop_row(text: str, chunk_id: str) -> str:
    """The file without the rows of a chunk."""
    return _each_line(text, chunk_id, None)


def _each_line(text: str, chunk_id: str, replacement: str | None) -> str:
    """Replace the first row of a chunk, and delete its other rows."""
    kept = []
    for line in text.splitlines(keepends=True):
        row = _row(line)
        if row is None or row.chunk_id != chunk_id:
            kept.append(line)
        elif replacement is not None:
            kept.append(replacement + line[len(line.rstrip("\r\n")) :])
            replacement = None
    return "".join(kept)


def _row(line: str) -> BacklogRow | None:
    line = line.strip()
    if not line.startswith("|") or _IS_RULE.match(line):
        return None
    cells = [_plain(each) for each in _CELL.split(line.strip("|"))]
    if not cells[0] or [each.casefold() for each in cells[:2]] == ["chunk", "reason"]:
        return None
    return BacklogRow(*[*cells, "", "", ""][:4])


def _plain(cell: str) -> str:
    return cell.strip().strip("`").replace(r"\|", "|")


def _line(row: BacklogRow) -> str:
    cells = (
        " ".join(each.split()).replace("|", r"\|")
        for each in (row.chunk_id, row.reason, row.time, row.agent)
    )
    return f"| {' | '.join(cells)} |"
