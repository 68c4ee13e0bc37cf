"""Plain tables of memories: JSON Lines, and CSV with a header row."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from vaultsync.exchange.json_stream import read_objects
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import (
    NOT_UTF8,
    Found,
    SourceFact,
    Unreadable,
    UnreadablePartError,
    is_damaged,
    is_exported,
    line_of,
    own_id,
    own_properties,
    skipping,
    text_hash,
    time_of,
)
from vaultsync.model.schema import ALL_FIELDS_BY_KEY, TYPES, Value, ValueKind

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "content": ("content", "text", "memory", "fact", "body", "note"),
    "title": ("title", "name", "subject"),
    "type": ("type", "kind"),
    "createdAt": ("createdat", "created_at", "created", "timestamp", "date"),
    "updatedAt": ("updatedat", "updated_at", "updated", "modified"),
    "userId": ("userid", "user_id", "user"),
    "sessionId": ("sessionid", "session_id", "run_id", "session"),
    "context": ("context",),
}
"""Key of a fact -> its names in other tools, preferred ones first."""
_LISTS = tuple(
    key
    for key, row in ALL_FIELDS_BY_KEY.items()
    if key == "tags" or row.kind in (ValueKind.LINKS, ValueKind.IDS)
)
"""Fields with several values, of which a table has one text; other lists may contain commas."""
_IDS = ("id", "uuid", "key")
_SEPARATORS = (",", ";", "\t")
"""Between the cells of a CSV file: the one that its header has most often. Excel writes `;` where
`,` is a decimal sign, and tabs as Unicode text."""
_TOO_MANY_CELLS = "it has more cells than the header; put texts with {!r} in them in quotes"
_MAX_PROPERTY = 4_000
"""Maximum length of a value that becomes a property: frontmatter holds 64 KiB."""
_MAX_CELL = 1 << 22
_MAX_LINE = 1 << 24
"""Maximum length of a CSV line in characters, so that an endless one does not fill memory."""
_FORMULA_STARTS = (*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that begin a formula in spreadsheets; the last four are full-width."""


def as_text_cell(text: str) -> str:
    """A text as a cell that is not evaluated: a `'` is put before anything like a formula."""
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA_STARTS) else text


def _from_text_cell(cell: object) -> object:
    is_marked = isinstance(cell, str) and cell[:1] == "'" and as_text_cell(cell) != cell
    return cell[1:] if is_marked and isinstance(cell, str) else cell


def read_lines(files: SourceFiles) -> Found:
    """Objects, one per line or in an array, with the field names of other tools."""

    def read(value: Mapping[str, Any], _: str) -> Found:
        yield SourceFact(value["id"], value) if is_exported(value) else _row(value)

    return _distinct(read_objects(files, _named(files, (".jsonl", ".ndjson", ".json")), read))


def read_csv(files: SourceFiles) -> Found:
    """CSV with one memory per row, after a header row.

    Cells end with the separator that the header has most of: `,`, `;` or a tab.
    """
    return _distinct(_rows(files))


def _rows(files: SourceFiles) -> Found:
    csv.field_size_limit(_MAX_CELL)
    for name in _named(files, (".csv", ".tsv")):
        lines = _lines(files.text(name))
        number = 1
        try:
            header = next(lines, "")
            sign = max(_SEPARATORS, key=header.count)
            for number, row in enumerate(csv.DictReader(chain([header], lines), delimiter=sign), 2):
                cells = {k: _from_text_cell(v) for k, v in row.items() if k}
                too_many = _TOO_MANY_CELLS.format(sign) if any(row.get(None, ())) else ""
                yield from skipping(f"{name}: row {number}", _cells(cells, too_many))
        except csv.Error as error:
            yield Unreadable(f"{name}: row {number}", str(error))


def _cells(cells: Mapping[str, Any], too_many: str) -> Found:
    if any(is_damaged(f"{k}{v}") for k, v in cells.items()):
        raise UnreadablePartError(NOT_UTF8)
    if too_many:
        raise UnreadablePartError(too_many)
    yield _row(cells)


def _distinct(found: Found) -> Found:
    """Rows with unique ids: of those with one id, each with another text is another memory."""
    first: dict[str, bytes] = {}
    for each in found:
        if isinstance(each, SourceFact) and "id" not in each.values:
            digest = text_hash(str(each.values["content"]))
            if first.setdefault(each.source_id, digest) != digest:
                yield SourceFact(f"{each.source_id}~{digest.hex()}", each.values)
                continue
        yield each


def _named(files: SourceFiles, endings: tuple[str, ...]) -> list[str]:
    """The files with these endings; a single file always counts."""
    names = files.names()
    return names if len(names) == 1 else [x for x in names if x.casefold().endswith(endings)]


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    partial = ""
    for piece in pieces:
        *complete, partial = (partial + piece).split("\n")
        yield from (f"{line}\n" for line in complete)
        if len(partial) > _MAX_LINE:
            raise csv.Error(f"the line after it is longer than {_MAX_LINE >> 20} MiB")
    if partial:
        yield partial


def _row(given: Mapping[str, Any]) -> SourceFact:
    lowered = {str(key).strip().casefold(): x for key, x in given.items()}
    values: dict[str, Value] = {}
    for key in ALL_FIELDS_BY_KEY:
        known = given.get(key)
        if known not in (None, "") and not isinstance(known, (dict, bool)):
            values[key] = known
    read = {*_IDS, "tags"}
    for key, names in _COLUMNS.items():
        found = next((x for x in names if lowered.get(x) not in (None, "")), "")
        if key not in values and isinstance(value := lowered.get(found), (str, int, float)):
            values[key] = value if key.endswith("At") else str(value)
            read |= {found} if key != "type" or value in TYPES else set()
    for key in ("createdAt", "updatedAt"):
        values[key] = time_of(values.get(key))
    values["tags"] = values.get("tags", lowered.get("tags"))
    for key in _LISTS:
        listed = values.get(key)
        if isinstance(listed, str):
            values[key] = [x for x in (line_of(y).lstrip("#") for y in listed.split(",")) if x]
    kind = values.get("type")
    values["type"] = kind if isinstance(kind, str) and kind in TYPES else "fact"
    content = values.get("content") or values.get("title")
    values["content"] = content
    if not isinstance(content, str) or not content.strip():
        raise UnreadablePartError("it has no content")
    identity = next((str(lowered[x]) for x in _IDS if lowered.get(x)), text_hash(content).hex())
    values.pop("id", None)
    return SourceFact(identity, {**_others(given, read), **values, **own_id(lowered.get("id"))})


def _others(given: Mapping[str, Any], read: Collection[str]) -> dict[str, Value]:
    """The other columns as properties, without empty cells, vectors and whole documents."""
    named = ((str(key).strip(), x) for key, x in given.items())
    return own_properties(
        {name: x for name, x in named if name.casefold() not in read and _is_property(x)}
    )


def _is_property(value: object) -> bool:
    """Whether a value says anything, and is neither a vector nor a whole document."""
    if isinstance(value, list):
        value = None if all(isinstance(x, (int, float)) for x in value) else value
    return value not in (None, "", {}) and len(str(value)) <= _MAX_PROPERTY
