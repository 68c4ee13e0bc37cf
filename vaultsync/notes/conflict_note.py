"""Conflict record <-> conflict note.

A conflict note lies beside the note, named and written by what the conflict says alone:
the same conflict, met again after a crash, is the same file byte by byte. Its form is
for a person; only its frontmatter and its tick boxes are ever read back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from msgspec import Struct

from vaultsync.markdown.blocks import without_code
from vaultsync.markdown.diff3 import differing_lines
from vaultsync.markdown.yaml.writer import quoted
from vaultsync.model.paths import NAME_BYTES, VaultPath, file_name_of, stem_of
from vaultsync.model.schema import Value

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


CONFLICT_SUFFIX = ".conflict.md"


def conflict_path(
    note_path: str, *, taken: frozenset[str] = frozenset(), conflict_id: str = ""
) -> VaultPath:
    """Where the conflict note of a note goes: `Name.md` -> `Name.conflict.md`.

    When that is `taken` (casefolded paths) or too long, the id becomes part of the name.
    """
    folder, slash, name = note_path.rpartition("/")
    stem = stem_of(name)
    tags = (f".{conflict_id[:8]}", f".{conflict_id}") if conflict_id else ()
    fits = len((stem + CONFLICT_SUFFIX).encode()) <= NAME_BYTES

    def named(tag: str) -> VaultPath:
        room = NAME_BYTES - len((tag + CONFLICT_SUFFIX).encode())
        short = stem.encode()[:room].decode(errors="ignore")
        return VaultPath(f"{folder}{slash}{short}{tag}{CONFLICT_SUFFIX}")

    return next(
        path
        for tag in chain(("",) if fits else (), tags, (f".{n}" for n in count(2)))
        if (path := named(tag)).casefold() not in taken
    )


def is_conflict_note(name: str) -> bool:
    """Whether a file is a conflict note, by its name."""
    return name.casefold().endswith(CONFLICT_SUFFIX)


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
    link = _link(conflict.path)
    return "\n".join(
        (
            "---",
            "vaultsync: conflict",
            f"conflict: {quoted(conflict.id)}",
            f"note: {quoted(link or conflict.path)}",
            f"fact: {quoted(conflict.fact_id)}",
            "---",
            "",
            f"# Conflict: {_plain(conflict.title or stem_of(conflict.path))}",
            "",
            *_story(conflict, link or _code(conflict.path)),
            "",
            *chain.from_iterable(_section(each, _author(conflict)) for each in conflict.fields),
        )
    )


COMMAND_ACTOR = "person"
"""Who writes a fact by a command that names no agent."""


def _author(conflict: ConflictRecord) -> str:
    """Who wrote the version of the store: an agent or a command."""
    return "command" if conflict.actor == COMMAND_ACTOR else "agent"


def _story(conflict: ConflictRecord, note: str) -> Iterator[str]:
    """What happened, and what to do."""
    author = _author(conflict)
    actor = f"gent {_code(conflict.actor)}" if conflict.actor else "n agent"
    actor = " command" if conflict.actor == COMMAND_ACTOR else actor
    changed = [_bold(each.field) for each in conflict.fields if not is_deletion(each)]
    if changed:
        yield (
            f"A{actor} changed {_listed(changed)} of {note}, and so did you, differently."
            f" Your version stands in the note. Nothing is lost: the {author}'s version is"
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
    label = f"Take the {author}'s version of {_bold(field.field)}"
    if is_deletion(field):
        label = (
            f"Keep the note, as the {author} changed it (to delete it after all, delete the"
            " note once more)"
            if field.vault == DELETED_SIDE
            else f"Delete the note, as the {author} did with the fact"
        )
    mark = f"<!-- {_MARK}{_encoded(field.field)} -->"
    yield from (f"## {_plain(field.field)}", "", f"- [ ] {label} {mark}", "")
    if is_deletion(field):
        return
    if differing := _differing(field):
        heading = f"**What differs** (`-` yours, `+` the {author}'s):"
        yield from (heading, "", _fenced("diff", differing), "")
    for heading, value in (
        ("Before", field.base),
        ("Yours, in the note now", field.vault),
        (f"The {author}'s", field.store),
    ):
        if text := _shown(value):
            yield from (f"**{heading}:**", "", _fenced("text", text), "")
        else:
            yield from (f"**{heading}:** *(empty)*", "")


def _fenced(language: str, text: str) -> str:
    runs = re.findall("`+", text)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


MIN_DIFF_LINES = 8
"""Lines of a text in which a person would have to search for what differs."""


def _differing(field: FieldConflict) -> str:
    """The lines of two long texts that differ; "" when there is nothing to search."""
    mine, theirs = field.vault, field.store
    if not (isinstance(mine, str) and isinstance(theirs, str)):
        return ""
    if max(mine.count("\n"), theirs.count("\n")) < MIN_DIFF_LINES:
        return ""
    lines = differing_lines(mine, theirs)
    alike = any(line[:1] not in ("-", "+") for line in lines)
    return "\n".join(lines) if alike else ""


def _shown(value: Value) -> str:
    """A value as a person reads it: text as it is, a list with one item per line."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, (list, tuple)):
        return "\n".join(each if isinstance(each, str) else _json(each) for each in value)
    return _json(value)


def _json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _link(path: str) -> str:
    """A link to the note by its whole path, never ambiguous; "" if it cannot be."""
    stem = stem_of(path)
    target = path.removesuffix(file_name_of(path)) + stem
    if set("[]|#^\n") & set(target):
        return ""
    return f"[[{target}]]" if target == stem else f"[[{target}|{stem}]]"


def _plain(text: str) -> str:
    """Text that markdown, Obsidian and HTML read as nothing but text."""
    return re.sub(r"([\\`*_\[\]<>|$~=%#&])", r"\\\1", " ".join(text.split()))


def _bold(text: str) -> str:
    return f"**{_plain(text)}**"


def _code(text: str) -> str:
    return _plain(text) if set("`\n") & set(text) else f"`{text}`"


def _listed(words: Sequence[str]) -> str:
    *many, last = words
    return f"{', '.join(many)} and {last}" if many else last


_MARK = "vaultsync:take field="
_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


def _encoded(field: str) -> str:
    """A name with all that could end or break an HTML comment as `%` and two digits."""
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in field.encode())


def _decoded(text: str) -> str:
    """What `_encoded()` made this of."""
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return raw.decode(errors="replace")


_BOX = re.compile(r" {0,3}[-*+] +\[(?P<tick>.)\] .*<!-- *" + _MARK + r"(?P<field>[\w.%]+) *-->")


def ticked_fields(text: str) -> frozenset[str] | None:
    """The fields whose box a person ticked; None when it is no conflict note."""
    if conflict_id_in(text) is None:
        return None
    body = "\n".join(_lines(text)).partition("\n---")[2]
    shown = without_code(body).split("\n")
    boxes = [found for line in shown if (found := _BOX.match(line))]
    if not boxes:
        return None
    return frozenset(_decoded(each["field"]) for each in boxes if each["tick"] in "xX")


def conflict_id_in(text: str) -> str | None:
    """The id of the conflict whose note this is, from its frontmatter."""
    first, *lines = _lines(text)
    if first.rstrip() != "---":
        return None
    found: dict[str, str] = {}
    for line in lines:
        if line.rstrip() == "---":
            break
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip("\"'"), value.strip().strip("\"'"))
    else:
        return None
    ours = found.get("vaultsync") == "conflict"
    named = found.get("conflict", "")
    return named if ours and re.fullmatch("[0-9a-f]{16}", named) else None


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
