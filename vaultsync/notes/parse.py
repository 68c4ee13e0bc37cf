"""Read a note: the values that its text shows, and no values for what it does not show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.errors import InvalidIdError, UnreadableNoteError, UsageError
from vaultsync.markdown import frontmatter
from vaultsync.markdown.frontmatter import NoteParts
from vaultsync.model.canonical import canonical, check_id, check_property, json_value
from vaultsync.model.due_dates import invalid_due_dates
from vaultsync.model.fact import Fact
from vaultsync.model.paths import PathInfo, VaultPath, path_info, stem_of, vault_path
from vaultsync.model.schema import (
    ALL_FIELDS_BY_KEY,
    OWN_FIELDS_BY_KEY,
    TIERS,
    TYPES,
    Value,
    tier_of,
)
from vaultsync.notes.body import NoteBody, read_body

_NESTED = frozenset({"decision", "commitment", "lesson", "observation", "entity"})
_NOT_READ = frozenset({"id", "content", "scope"})
_ENTITY_TYPES = ("person", "project")
_FOLDER_TYPES = {row.folder: name for name, row in TYPES.items()}


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A property with a value that its field does not accept; the field keeps its value."""

    key: str
    line: int
    message: str
    hint: str


class UnreadDate(FieldProblem):
    """A due date of a task that names no day; as any property of the author, the fact has it."""


class UnknownPlaceholder(FieldProblem):
    """A field with a placeholder that stands for no secret."""


class Note(NamedTuple):
    """A parsed note."""

    path: VaultPath
    place: PathInfo
    parts: NoteParts
    body: NoteBody
    raw: Mapping[str, Value]
    """The properties as written."""
    id: str | None
    values: Mapping[str, Value]
    """The values it shows, by key, canonical; lists as tuples of text."""
    properties: Mapping[str, Value]
    """The author's other properties."""
    problems: tuple[FieldProblem, ...] = ()
    spelled: Mapping[str, Value] = MappingProxyType({})
    """The wording it shows, by key, where that differs from the value (see `notes/view.py`)."""

    @property
    def links(self) -> frozenset[str]:
        """The targets of the links under Related Facts."""
        return frozenset(self.body.related)


def read_note(data: bytes, path: VaultPath) -> Note:
    """Read a note.

    Raises:
        UnreadableNoteError: not UTF-8, NUL bytes, or frontmatter that is no YAML map.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        why = "the text is not UTF-8"
        hint = "save it as UTF-8 in your editor; the next sync reads it"
        raise UnreadableNoteError(path, why, hint=hint, line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableNoteError(path, "it contains NUL bytes, so it is not text", line=line)
    parts, raw = frontmatter.split_note(text, path)
    body = read_body(parts.body)
    problems: list[FieldProblem] = []
    fact_id = _read_id(raw, parts, problems)
    values, properties = _read_properties(raw, parts, problems)
    title = body.title
    if title is not None:
        values["title"] = title.strip()
    elif not values.get("title"):
        values["title"] = stem_of(path)
    if body.context is not None:
        values["context"] = body.context_text
    values["content"] = body.content_text
    where = path_info(path)
    return Note(path, where, parts, body, raw, fact_id, values, properties, tuple(problems))


def _read_properties(
    raw: Mapping[str, Value], parts: NoteParts, problems: list[FieldProblem]
) -> tuple[dict[str, Value], dict[str, Value]]:
    """The values of fields by key, and the author's other properties."""
    values: dict[str, Value] = {}
    properties: dict[str, Value] = {}
    nested = not _NESTED.isdisjoint(raw)
    for key, value in _flat(raw) if nested else raw.items():
        if key in _NOT_READ:
            continue
        row = ALL_FIELDS_BY_KEY.get(key)
        try:
            if row is None:
                properties[check_property(key)] = json_value(key, value)
            elif value is not None:
                values[key] = canonical(row, value)
        except UsageError as error:
            problems.append(FieldProblem(key, _line_of(parts, key), error.message, error.hint))
    if values.get("type") == "entity" and values.get("entityType") in _ENTITY_TYPES:
        values["type"] = values["entityType"]
    return values, properties


def value_problems(note: Note) -> tuple[FieldProblem, ...]:
    """The problems of a note, and the due dates of a task or promise that name no day."""
    if not note.properties:
        return note.problems
    fact_type = note.values.get("type") or type_of_folder(note.place)
    unread = (
        UnreadDate(error.field, _line_of(note.parts, error.field), error.message, error.hint)
        for error in invalid_due_dates(fact_type, note.properties)
    )
    return (*note.problems, *unread)


def _read_id(
    raw: Mapping[str, Value], parts: NoteParts, problems: list[FieldProblem]
) -> str | None:
    try:
        return None if raw.get("id") is None else check_id(raw["id"])
    except InvalidIdError as error:
        hint = "an id of vaultsync is a UUID: rename or remove this property"
        problems.append(FieldProblem("id", _line_of(parts, "id"), error.message, hint))
        return None


_ID_LINE = rb"(?mi)^id:[ \t]*[\"']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"


def id_in(data: bytes) -> str | None:
    """The id that an unreadable note seems to have."""
    found = re.search(_ID_LINE, data)
    return found[1].decode().lower() if found else None


def _flat(raw: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """All properties, with own fields taken out of maps such as `decision: {outcome: …}`.

    What an entity says of itself becomes properties, but no fields of its fact.
    """
    found: list[tuple[str, Value]] = []
    for key, value in raw.items():
        if key not in _NESTED or not isinstance(value, Mapping):
            found.append((key, value))
            continue
        for inner, held in value.items():
            flat = inner if inner in OWN_FIELDS_BY_KEY else key + inner[:1].upper() + inner[1:]
            if flat in raw:
                continue
            if flat in OWN_FIELDS_BY_KEY:
                found.append((flat, held))
            elif key == "entity" and inner == "properties" and isinstance(held, Mapping):
                found += [pair for pair in held.items() if _is_free(pair[0], raw)]
            elif key == "entity" and inner == "relationships":
                found += [pair for pair in _relationships(held) if _is_free(pair[0], raw)]
    return found


def _is_free(key: str, raw: Mapping[str, Value]) -> bool:
    """Whether a property can have a name: it is none of a field, or of another property."""
    return key not in raw and key not in ALL_FIELDS_BY_KEY


def _relationships(held: Value) -> list[tuple[str, Value]]:
    """`[{target: "[[Bob]]", type: reports_to}]` as one property per relation."""
    found: dict[str, list[Value]] = {}
    for each in held if isinstance(held, (list, tuple)) else ():
        if isinstance(each, Mapping) and each.get("type") and each.get("target"):
            found.setdefault(str(each["type"]), []).append(each["target"])
    return list(found.items())


def _line_of(parts: NoteParts, key: str) -> int:
    found = re.search(rf"(?m)^[\"']?{re.escape(key)}[\"']?\s*:", parts.yaml)
    before = parts.yaml[: found.start()] if found else ""
    return before.count("\n") + 2


def type_of_folder(where: PathInfo) -> str | None:
    """The type whose notes belong in the folder of a note; None in other folders."""
    return _FOLDER_TYPES.get(where.folder) if where.folder else None


def home_folder(fact: Fact) -> VaultPath:
    """The folder in which the note of a fact belongs; observations have one per tier."""
    tier = tier_of(fact.priority) if fact.type == "observation" else None
    folder = f"{fact.scope}/{TYPES[fact.type].folder}"
    return vault_path(folder if tier is None else f"{folder}/{tier}")


def fits_folder(fact: Fact, path: VaultPath) -> bool:
    """Whether the folder of a path implies no other scope, type or tier than that of the fact."""
    where = path_info(path)
    return (
        where.scope in (None, fact.scope)
        and type_of_folder(where) in (None, fact.type)
        and (where.tier is None or fact.priority in TIERS[where.tier])
    )
