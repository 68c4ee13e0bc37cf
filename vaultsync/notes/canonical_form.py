"""Canonical notes: byte for byte what their facts would be written as.

Such a note need not be parsed, since a fact that is written and read again is the same
fact. Volatile fields are ignored, as they are never a reason to write.
"""

from __future__ import annotations

from vaultsync.errors import UsageError
from vaultsync.model.canonical import canonical
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS, FIELDS_BY_KEY, FieldOwner
from vaultsync.notes.body import RELATED_HEADING
from vaultsync.notes.parse import fits_folder
from vaultsync.notes.render import render_note
from vaultsync.notes.view import NoteView
from vaultsync.notes.wording import may_be_redacted

_FIRST = lazy_pattern(rb"---\nid: ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\n")
_CLOSING = b"\n---\n"
_VOLATILE = [row.key for row in FIELDS if row.owner is FieldOwner.VOLATILE]
# On one line, with nothing indented below it, which would belong to another value.
_VOLATILE_LINE = lazy_pattern(
    rf"\n({'|'.join(_VOLATILE)}): ([0-9][0-9T:.Z-]*)(?=\n[^\s-]|\Z)".encode()
)
_NUMBER = lazy_pattern(rb"[0-9]+\.?[0-9]*")
_HEADING = f"## {RELATED_HEADING}\n- ".encode()
_LINK = lazy_pattern(r"\[\[[^\[\]|\r\n]+(?:\|[^\[\]\r\n]*)?\]\]")


def leading_id(data: bytes) -> str | None:
    """The id of a text that begins like a new note; the rest may be anything."""
    found = _FIRST.match(data)
    return found[1].decode() if found else None


def is_canonical(data: bytes, path: VaultPath, fact: Fact, view: NoteView) -> bool:
    """Whether a text is what a new note of the fact would be, in a folder that fits it.

    Its links are accepted as they are, one for each related fact: the other notes may
    have been moved since.
    """
    if not fits_folder(fact, path):
        return False
    links = _links(data, fact) if fact.related_fact_ids else {}
    if links is None:
        return False
    shown = view.to_note(fact) if may_be_redacted(data) else fact
    rendered = render_note(shown, links=links)
    return rendered == data or _differs_in_volatile_only(rendered, data)


def _differs_in_volatile_only(one: bytes, other: bytes) -> bool:
    head, _, body = one.partition(_CLOSING)
    others_head, _, others_body = other.partition(_CLOSING)
    if body != others_body:
        return False
    lasting = _without_volatile_lines(head)
    return lasting is not None and lasting == _without_volatile_lines(others_head)


def _without_volatile_lines(head: bytes) -> bytes | None:
    """The frontmatter without its volatile lines; None if one of them is invalid."""
    found = _VOLATILE_LINE.findall(head)
    if len(found) != len({key for key, _ in found}):
        return None  # a duplicate key
    try:
        for key, value in found:
            number = _NUMBER.fullmatch(value)  # else a text such as a time
            canonical(FIELDS_BY_KEY[key.decode()], float(value) if number else value.decode())
    except UsageError:
        return None
    return _VOLATILE_LINE.sub(b"", head)


def _links(data: bytes, fact: Fact) -> dict[str, str] | None:
    """The links in the text by related fact; None if their numbers differ."""
    listed = data.rpartition(_HEADING)[2].partition(b"\n\n")[0]
    texts = listed.decode(errors="replace").split("\n- ")
    if len(texts) != len(fact.related_fact_ids) or not all(map(_LINK.fullmatch, texts)):
        return None
    return dict(zip(fact.related_fact_ids, texts, strict=True))
