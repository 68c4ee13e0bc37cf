"""Change values in a TOML text line by line.

An edit changes only the lines of one value: the result is parsed, and refused if it has any
other change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from vaultsync.errors import ConfigError
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.settings import Table, parse_toml

_HEADER = lazy_pattern(r"\s*\[")
_LINES = lazy_pattern(r"[^\n]*\n|[^\n]+")
_LAST_LINE = lazy_pattern(r"(?:\]|\"\"\"|''')\s*(?:#.*)?$")
"""The last line of a value that has more than one."""
_MOST_PLACES = 100
"""Number of places at which a value is looked for: each is parsed."""
_BARE_KEY = lazy_pattern(r"[A-Za-z0-9_-]+")


def edit_toml(text: str, changes: Mapping[tuple[str, ...], object], path: Path) -> str:
    """Change values in a TOML text, keeping all other lines.

    Args:
        text: the text.
        changes: path of a value, such as `("watch", "watcher")` -> the new one; None removes it.
        path: of the file, for the error.

    Raises:
        ConfigError: the text is not TOML, or a setting is written in a way that cannot be
            changed line by line.
    """
    for names, value in changes.items():
        table, key = names[:-1], names[-1]
        without = dict(parse_toml(text, path))
        _table(without, table).pop(key, None)
        lines = _without(_LINES.findall(text), key, without, path)
        if value is None and table and not _table(without, table):
            lines = _without_header(lines, table)
        if value is not None:
            _table(without, table)[key] = list(value) if isinstance(value, tuple) else value
            _insert(lines, table, f"{_key(key)} = {_literal(value)}")
        text = "".join(lines)
        try:
            found = parse_toml(text, path)
            is_right = found == _pruned(without, found)
        except ConfigError:
            is_right = False
        if not is_right:
            raise ConfigError(
                f"`{'.'.join(names)}` in {path} cannot be changed safely in its current form;"
                " nothing was written",
                hint="change it by hand",
            )
    return text


def _without(lines: Sequence[str], key: str, wanted: dict[str, Any], path: Path) -> list[str]:
    """The lines without those of a setting; all of them if it has none."""
    begins = re.compile(rf"""\s*(["']?){re.escape(key)}\1\s*=""")
    starts = (start for start, line in enumerate(lines) if begins.match(line))
    places = chain.from_iterable(_possible_ends(lines, start) for start in starts)
    found_at = -1
    for start, end in islice(places, _MOST_PLACES):
        if start == found_at or not _is_toml(lines[start:end], path):
            continue
        found_at = start
        rest = [*lines[:start], *lines[end:]]
        with suppress(ConfigError):
            found = parse_toml("".join(rest), path)
            if found == _pruned(wanted, found):
                return rest
    return list(lines)


def _possible_ends(lines: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """A line in which a value begins, with each of the lines behind which it may end."""
    yield start, start + 1
    for end in range(start + 1, len(lines)):
        if _LAST_LINE.search(lines[end]):
            yield start, end + 1


def _is_toml(lines: Sequence[str], path: Path) -> bool:
    try:
        parse_toml("".join(lines), path)
    except ConfigError:
        return False
    return True


def _without_header(lines: list[str], table: Sequence[str]) -> list[str]:
    """The lines without the header of a table that is now empty, without even a comment."""
    header = _header(table)
    start = next((n for n, each in enumerate(lines) if header.match(each)), len(lines))
    end = start + 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    if start == len(lines) or (end < len(lines) and not _HEADER.match(lines[end])):
        return lines
    kept = [*lines[:start], *lines[end:]]
    while end >= len(lines) and kept and not kept[-1].strip():
        kept.pop()
    return kept


def _header(table: Sequence[str]) -> re.Pattern[str]:
    name = r"\s*\.\s*".join(rf"(?:{re.escape(each)}|{re.escape(_key(each))})" for each in table)
    return re.compile(rf"\s*\[\s*{name}\s*\]\s*(?:#.*)?$")


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _literal(name)


def _pruned(wanted: Table, found: Table) -> Table:
    """The wanted tables, without empty ones that were not found."""
    kept = {}
    for key, value in wanted.items():
        there = found.get(key)
        inner = _pruned(value, there or {}) if isinstance(value, dict) else value
        if inner != {} or key in found:
            kept[key] = inner
    return kept


def _insert(lines: list[str], table: Sequence[str], line: str) -> None:
    """Add a line at the end of its table, which is created if necessary."""
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    at = 0
    if table:
        header = _header(table)
        heads = [n for n, each in enumerate(lines) if header.match(each)]
        if not heads:
            name = ".".join(map(_key, table))
            lines += [*([end] if lines else []), f"[{name}]{end}", f"{line}{end}"]
            return
        at = heads[0] + 1
    while at < len(lines) and not _HEADER.match(lines[at]):
        at += 1
    while at and not lines[at - 1].strip():
        at -= 1
    lines.insert(at, f"{line}{end}")


def _table(tables: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    for name in names:
        tables = tables.setdefault(name, {})
    return tables


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)
