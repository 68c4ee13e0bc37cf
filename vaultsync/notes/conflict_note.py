"""Conflict record <-> conflict note.

A conflict note lies beside the note, named and written by what the conflict says alone:
the same conflict, met again after a crash, is the same file byte by byte. Its form is
for a person; only its frontmatter and its tick boxes are ever read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from msgspec import Struct

from vaultsync.markdown.yaml.writer import quoted
from vaultsync.model.paths import VaultPath, stem_of
from vaultsync.model.schema import Value
from vaultsync.notes.review_note import (
    bold,
    box,
    code,
    diff_of_texts,
    fenced,
    listed,
    note_link,
    plain,
    review_id_in,
    shown_value,
    ticked,
)

CONFLICT_KIND = "conflict"
NOTE_FIELD = "note"
"""The field of a conflict in which one side deleted what the other changed."""
DELETED_SIDE, CHANGED_SIDE = "deleted", "changed"
"""What the two sides did to it then."""


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """One thing that both sides changed differently."""

    field: str
    """A field or property by key; `note`: one side deleted what the other changed."""
    base: Value
    vault: Value
    store: Value


@dataclass(frozen=True, slots=True)
class ConflictRecord:
    """A conflict as the archive records it: what both sides changed differently about one fact.

    The vault's values stand.
    """

    id: str
    """16 hex digits, made of the fact's id and all values: the same conflict, met
    again, has the same id."""
    fact_id: str
    path: VaultPath
    conflict_path: VaultPath | None
    """Where its conflict note lies; None when it has none (any more)."""
    fields: tuple[FieldConflict, ...]
    """Those that are still open."""
    actor: str
    """The agent whose values did not win."""
    at: str
    run: str
    title: str = ""
    sha: str = ""
    """Of the bytes of the conflict note as written."""
    outcome: str = ""
    """Empty while open; then `vault`, `store` or `mixed`: whose values stand."""

    def is_called(self, name: str) -> bool:
        """Whether a name is the beginning of its id, its fact, or the path of one of its notes."""
        return self.id.startswith(name) or name in (self.fact_id, self.path, self.conflict_path)


def is_deletion(field: FieldConflict) -> bool:
    """Whether one side deleted what the other changed; else it is a property `note`."""
    sides = (field.vault, field.store)
    return field.field == NOTE_FIELD and sides in (
        (DELETED_SIDE, CHANGED_SIDE),
        (CHANGED_SIDE, DELETED_SIDE),
    )


def conflict_id(fact_id: str, fields: Sequence[FieldConflict]) -> str:
    """16 hex digits, the same for the same values."""
    rows = sorted(
        json.dumps([each.field, each.base, each.vault, each.store], sort_keys=True)
        for each in fields
    )
    return hashlib.sha256(json.dumps([fact_id, rows]).encode()).hexdigest()[:16]


class ShownConflict(Struct, frozen=True):
    """A conflict as surfaces show it."""

    id: str
    fact_id: str
    path: VaultPath
    conflict_path: VaultPath | None
    fields: tuple[FieldConflict, ...]


def shown_conflict(conflict: ConflictRecord) -> ShownConflict:
    """What surfaces show of a conflict. A deletion has no base value, only a revision."""
    fields = tuple(
        replace(each, base=None) if is_deletion(each) else each for each in conflict.fields
    )
    return ShownConflict(
        conflict.id, conflict.fact_id, conflict.path, conflict.conflict_path, fields
    )


def render_conflict(conflict: ConflictRecord) -> str:
    """The text of the conflict note."""
    link = note_link(conflict.path)
    return "\n".join(
        (
            "---",
            "vaultsync: conflict",
            f"conflict: {quoted(conflict.id)}",
            f"note: {quoted(link or conflict.path)}",
            f"fact: {quoted(conflict.fact_id)}",
            "---",
            "",
            f"# Conflict: {plain(conflict.title or stem_of(conflict.path))}",
            "",
            *_story(conflict, link or code(conflict.path)),
            "",
            *chain.from_iterable(_section(each, author_of(conflict)) for each in conflict.fields),
        )
    )


COMMAND_ACTOR = "person"
"""Who writes a fact by a command that names no agent."""


def author_of(conflict: ConflictRecord) -> str:
    """What wrote the values of the store: `agent`, or `command` without an agent."""
    return "command" if conflict.actor == COMMAND_ACTOR else "agent"


def _story(conflict: ConflictRecord, note: str) -> Iterator[str]:
    author = author_of(conflict)
    actor = f"gent {code(conflict.actor)}" if conflict.actor else "n agent"
    actor = " command" if conflict.actor == COMMAND_ACTOR else actor
    changed = [bold(each.field) for each in conflict.fields if not is_deletion(each)]
    if changed:
        yield (
            f"A{actor} changed {listed(changed)} of {note}, and so did you, differently."
            f" The note keeps your version. Nothing is lost: the {author}'s version is"
            " kept here."
        )
    for each in conflict.fields:
        if is_deletion(each) and each.vault == DELETED_SIDE:
            yield (
                f"You deleted {note} while a{actor} changed it. An edit beats a deletion,"
                f" so the note is back, with the {author}'s change."
            )
        elif is_deletion(each):
            yield (
                f"A{actor} deleted the fact of {note} while you changed the note. An edit"
                " beats a deletion, so your note stands and the fact is back."
            )
    take, keep = "do what the box below says, tick it", "leave everything as it is now"
    if changed:
        take, keep = f"take the {author}'s version, tick its box below", "keep yours"
    yield from ("", f"- To {take} and save.", f"- To {keep}, delete this note.")
    yield (
        f"- Or run `vaultsync resolve {conflict.id} --take store` for what the {author}"
        " wanted, `--take vault` for what you wanted."
    )


def _section(field: FieldConflict, author: str) -> Iterator[str]:
    label = f"Take the {author}'s version of {bold(field.field)}"
    if is_deletion(field):
        label = (
            f"Keep the note, as the {author} changed it (to delete it after all, delete the"
            " note once more)"
            if field.vault == DELETED_SIDE
            else f"Delete the note, as the {author} did with the fact"
        )
    yield from (f"## {plain(field.field)}", "", box(label, "field", field.field), "")
    if is_deletion(field):
        return
    if differing := diff_of_texts(field.vault, field.store):
        heading = f"**What differs** (`-` yours, `+` the {author}'s):"
        yield from (heading, "", fenced("diff", differing), "")
    for heading, value in (
        ("Before", field.base),
        ("Yours", field.vault),
        (f"The {author}'s", field.store),
    ):
        if text := shown_value(value):
            yield from (f"**{heading}:**", "", fenced("text", text), "")
        else:
            yield from (f"**{heading}:** *(empty)*", "")


def ticked_fields(text: str) -> frozenset[str] | None:
    """The fields whose box a person ticked; None when it is no conflict note."""
    return None if conflict_id_in(text) is None else ticked(text, "field")


def conflict_id_in(text: str) -> str | None:
    """The id of the conflict whose note this is, from its frontmatter."""
    return review_id_in(text, CONFLICT_KIND)
