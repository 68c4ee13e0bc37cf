"""Write a note: a new one, or an existing one with only the necessary lines changed.

Every rewrite is proved by reading the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from vaultsync.errors import UnsafeSpliceError
from vaultsync.markdown import frontmatter
from vaultsync.markdown.yaml.writer import emit_property
from vaultsync.model.canonical import canonical, link_name
from vaultsync.model.compare import agree, differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import ORIGINAL
from vaultsync.model.paths import stem_of
from vaultsync.model.schema import (
    ALL_FIELDS_BY_KEY,
    FIELDS,
    FIELDS_BY_KEY,
    OWN_FIELDS_BY_KEY,
    RELATED_KEY,
    Field,
    FieldOwner,
    Value,
    ValueKind,
)
from vaultsync.notes import body as bodies
from vaultsync.notes.body import NoteBody
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import Note, read_note
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.privacy.placeholders import REDACTION_PREFIX

_IMPORT = re.compile(r"import from ([a-z0-9-]+)")
"""The `source` of a fact that was imported from another tool."""
MAX_ORIGINAL_LENGTH = 280
"""Characters of the original of a compressed observation up to which its note shows it; the store
keeps longer ones, and `vaultsync observations show` prints them."""
_UNSET: tuple[Value, ...] = ("", (), [])
_SHOWN = [row for row in FIELDS if row.key not in ("id", "title", "context", "content", "scope")]
_MIDDLE = [row.key for row in _SHOWN].index("createdAt")

_OF_ONE_NOTE = frozenset({ValueKind.ID, ValueKind.IDS, ValueKind.TIME})
"""Kinds of values that two notes rarely share."""


def _line(key: str, value: Value) -> str:
    return emit_property(key, _written(FIELDS_BY_KEY[key], value))


_cached_line = lru_cache(maxsize=1 << 15)(_line)  # most values of a vault are in many notes


_FieldLine: TypeAlias = tuple[str, str, Callable[[str, Value], str]]
"""Attribute and key of a field, and what writes its line."""


def _of(rows: Sequence[Field]) -> list[_FieldLine]:
    """How each of the fields is written; a `Field` itself takes long to hash."""
    return [
        (row.attr, row.key, _line if row.kind in _OF_ONE_NOTE else _cached_line) for row in rows
    ]


_FIELDS_ABOVE = _of(_SHOWN[:_MIDDLE])
"""The fields above the type's own fields and the author's properties; the rest is below."""
_FIELDS_BELOW = _of(_SHOWN[_MIDDLE:])


def _field_lines(rows: Sequence[_FieldLine], fact: Fact) -> list[str]:
    lines = []
    for attr, key, line in rows:
        value = getattr(fact, attr)
        # 0 counts as unset in one field only.
        if value or (value is not None and value not in _UNSET and key != "accessCount"):
            lines.append(line(key, value))
    return lines


def render_note(fact: Fact, *, links: Mapping[str, str]) -> bytes:
    """A new note; `links` has the text of the link to each related fact, by id."""
    others = {
        key: _written(OWN_FIELDS_BY_KEY[key], value)
        for key, value in fact.own.items()
        if not _is_left_out(key, value)
    }
    others.update(fact.properties)
    lines = ["---\n", emit_property("id", fact.id), *_field_lines(_FIELDS_ABOVE, fact)]
    lines += [emit_property(key, value) for key, value in others.items()]
    lines += _field_lines(_FIELDS_BELOW, fact)
    body = bodies.render_body(
        title=fact.title,
        context=fact.context,
        content=fact.content,
        block=bodies.render_block(
            related=[links[each] for each in fact.related_fact_ids if each in links],
            entities=[f"[[{each}]]" for each in fact.entities],
            origin=_origin(fact),
        ),
    )
    return "".join((*lines, "---\n", body)).encode()


def _origin(fact: Fact) -> str:
    day = fact.created_at[:10]
    if imported := _IMPORT.fullmatch(fact.source or ""):
        return (
            f"Imported from {imported[1]}, dated {day}." if day else f"Imported from {imported[1]}."
        )
    agent = (fact.agent_id or "").replace("`", "'")
    origin = f"Created by agent `{agent}`" if agent else "Written by a person"
    return f"{origin} on {day}." if day else f"{origin}."


def _written(row: Field, value: Value) -> Value:
    """A value as a note shows it: links in brackets."""
    if isinstance(value, (list, tuple)):
        return [f"[[{each}]]" for each in value] if row.kind is ValueKind.LINKS else list(value)
    return value


def add_id_line(note: Note, fact_id: str) -> bytes:
    """The text of a note with nothing but an `id` line added; raises as `rewrite_note()`."""
    parts = frontmatter.edit_properties(note.parts, {"id": fact_id}, note.path, before=note.raw)
    return parts.text.encode()


def remove_id_line(note: Note) -> bytes:
    """The text of a note without its `id` line, to undo an adoption."""
    parts = frontmatter.edit_properties(note.parts, {"id": None}, note.path, before=note.raw)
    byte_order_mark = parts.head.partition("---")[0]
    text = parts.text if parts.yaml.strip() else byte_order_mark + parts.body
    return text.encode()


def stale_keys(note: Note, vault: Fact, merged: Fact) -> tuple[str, ...]:
    """The keys in which a note has to be rewritten to say what was merged.

    Values that the note shows are compared with `merged`; for those that it does not show,
    `vault` (the note as a fact) is. Volatile fields are never a reason to write.
    """
    found = []
    invalid = {problem.key for problem in note.problems} - {"id"}
    owns, properties = (vault.own, merged.own), (vault.properties, merged.properties)
    # Only these can be stale: the note shows them, or they have a value.
    present = {"id", *note.values, *note.properties, *merged.values(), *merged.properties}
    for key in dict.fromkeys(chain(FIELDS_BY_KEY, *owns, *properties)):
        if key not in present:
            continue
        row = ALL_FIELDS_BY_KEY.get(key)
        if key in invalid or key == "scope" or (row and row.owner is FieldOwner.VOLATILE):
            continue
        value = merged.value(key)
        if key == "id":
            shown: Value = note.id
        elif key in note.values:
            shown = note.values[key]
        elif key in note.properties:
            shown = note.properties[key]
        elif _is_unset(row, value) or _is_left_out(key, value):
            continue  # the note does not show it, so it need not take it back
        else:
            shown = vault.value(key)
        both_unset = _is_unset(row, shown) and _is_unset(row, value)
        if not (both_unset or agree(row, shown, value)):
            found.append(key)
    return tuple(found)


def _is_left_out(key: str, value: Value) -> bool:
    """Whether a value is too long for the frontmatter of a note that does not show it yet."""
    return key == ORIGINAL and isinstance(value, str) and len(value) > MAX_ORIGINAL_LENGTH


def _is_unset(row: Field | None, value: Value) -> bool:
    """Whether a field has no value; a property always has one, even if it is empty."""
    return value is None or (row is not None and value in _UNSET)


def rewrite_note(
    note: Note,
    vault: Fact,
    merged: Fact,
    *,
    links: Mapping[str, str],
    view: NoteView = IDENTITY_VIEW,
) -> bytes:
    """The text of a note that says `merged`, with only the necessary lines changed.

    `vault` is the note as a fact. Volatile fields are updated where the note shows them.
    `links` has the text of the link to each related fact, by id.

    Raises:
        UnsafeSpliceError: the result could not be proved to say `merged`.
    """
    if REDACTION_PREFIX in note.parts.text:
        # The merged fact says what the placeholders stand for.
        again = read_note(note.parts.text.encode(), note.path)
        note = view.from_note(again, merged, before=note)._replace(problems=note.problems)
    changed = stale_keys(note, vault, merged)
    parts = note.parts
    # The title tells where the content begins.
    keys = (*changed, "title") if "content" in changed else changed
    worded = view.to_note_wording(note, merged, keys)
    properties = _property_changes(note, worded, changed)
    if properties:
        parts = frontmatter.edit_properties(parts, properties, note.path, before=note.raw)
    body = _body_changes(note, worded, changed, parts.eol, links)
    fence = parts.fence
    if body.text and fence and not fence.endswith("\n"):
        fence += parts.eol  # the fence was the end of the file
    data = parts._replace(fence=fence, body=body.text).text.encode()
    _prove(note, vault, merged, data, view)
    return data


def _property_changes(
    note: Note, merged: Fact, changed: tuple[str, ...]
) -> dict[str, Value | None]:
    found: dict[str, Value | None] = {}
    for key in changed:
        if key == "content" or (key == "title" and note.body.heading):
            continue
        if key == "context" and merged.context and (note.body.context or note.body.block):
            continue
        row = ALL_FIELDS_BY_KEY.get(key)
        value = merged.value(key)
        if row is not None and isinstance(value, (list, tuple)):
            value = _keep_spelling(row, note.raw.get(key), value)
        elif key == "title" and value == stem_of(note.path):
            value = None
        elif row is not None and isinstance(value, str) and "\n" in value:
            # A `|` block ends its last line; what it becomes shall be one again.
            value += "\n" * str(note.raw.get(key)).endswith("\n")
        if _is_unset(row, value):
            if key in note.raw:
                found[key] = None
        else:
            found[key] = value
    return {**found, **_volatile_changes(note, merged)}


def _volatile_changes(note: Note, merged: Fact) -> dict[str, Value | None]:
    found: dict[str, Value | None] = {}
    for row in FIELDS:
        if row.owner is FieldOwner.VOLATILE and row.key in note.values:
            value = _written(row, merged.value(row.key))
            if value not in (None, []) and value != note.raw.get(row.key):
                found[row.key] = value
    return found


def _keep_spelling(row: Field, old: Value, new: Value) -> list[Value]:
    """A list in which every element that stays keeps its author's spelling."""
    spelled: dict[Value, Value] = {}
    for each in old if isinstance(old, (list, tuple)) else [old]:
        bare = canonical(row, [each]) if isinstance(each, (str, int, float)) else None
        if isinstance(bare, tuple) and len(bare) == 1:
            spelled[bare[0]] = each
    fresh = _written(row, new)
    assert isinstance(new, (list, tuple)) and isinstance(fresh, list)  # noqa: S101, PT018 - narrows
    return [spelled.get(bare, text) for bare, text in zip(new, fresh, strict=True)]


def _body_changes(
    note: Note, merged: Fact, changed: tuple[str, ...], eol: str, links: Mapping[str, str]
) -> NoteBody:
    body = bodies.read_body(note.body.text) if note.spelled else note.body
    if "entities" in changed:
        had = {link_name(each): each for each in body.entities}
        body = bodies.set_links(
            body,
            bodies.ENTITIES_HEADING,
            add=[f"[[{x}]]" for x in merged.entities if x not in had],
            remove=[text for name, text in had.items() if name not in merged.entities],
            eol=eol,
        )
    if RELATED_KEY in changed:
        wanted = {links[x]: x for x in merged.related_fact_ids if x in links}
        had = {link_name(text): text for text in wanted}
        known = {link_name(text) for text in links.values()}
        body = bodies.set_links(
            body,
            bodies.RELATED_HEADING,
            add=[text for text in wanted if link_name(text) not in body.related],
            remove=[x for x in body.related if x in known and x not in had],
            eol=eol,
        )
    if "content" in changed:
        body = bodies.set_content(body, merged.content, eol, title=merged.title)
    if "context" in changed and (body.context or body.block):
        body = bodies.set_context(body, merged.context, eol)
    if "title" in changed and body.heading:
        body = bodies.set_title(body, merged.title)
    return body


def _prove(note: Note, vault: Fact, merged: Fact, data: bytes, view: NoteView) -> None:
    again = view.from_note(read_note(data, note.path), merged, before=note)
    before = {each.key for each in note.problems}
    # An invalid value says nothing about the field.
    invalid = {each.key for each in again.problems if each.key in before}
    left = stale_keys(again, merged, merged)
    kept = tuple(
        key
        for key in {**vault.own, **vault.properties}
        if key in {**again.values, **again.properties}
        and merged.value(key) is None
        and vault.value(key) is not None  # an empty property may stay empty
    )
    row_of = ALL_FIELDS_BY_KEY.get
    others = tuple(
        key
        for key in differing_keys(apply_note_edits(vault, note, again), merged)
        if key not in (RELATED_KEY, "scope", *invalid, *again.values)
        and (key in again.properties or not _is_unset(row_of(key), merged.value(key)))
        and not _is_left_out(key, merged.value(key))
    )
    for keys, why in (
        (left, "cannot be written into it"),
        (kept, "cannot be taken out of it"),
        (others, "would change with it"),
    ):
        if keys:
            raise UnsafeSpliceError(note.path, f"{', '.join(keys)} {why}")
