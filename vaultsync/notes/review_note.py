"""Notes that ask the user: their ids, their boxes to tick, and how they show values.

Conflict notes and proposals are such notes. Their form is for a person; only the
frontmatter and the boxes are ever read back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain, count

from vaultsync.markdown.blocks import without_code
from vaultsync.markdown.diff3 import differing_lines
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import NAME_BYTES, VaultPath, file_name_of, stem_of
from vaultsync.model.schema import Value

CONFLICT_SUFFIX = ".conflict.md"
PROPOSAL_SUFFIX = ".proposal.md"


def is_review_note(name: str) -> bool:
    """Whether a file is a conflict note or a proposal, by its name."""
    return name.casefold().endswith((CONFLICT_SUFFIX, PROPOSAL_SUFFIX))


def review_path(
    note_path: str, suffix: str, *, taken: frozenset[str] = frozenset(), review_id: str = ""
) -> VaultPath:
    """Where the note that asks about a note goes: `Name.md` -> `Name` and the suffix.

    When that is `taken` (casefolded paths) or too long, the id becomes part of the name.
    """
    tags = (f".{review_id[:8]}", f".{review_id}") if review_id else ()
    fits = len((stem_of(note_path) + suffix).encode()) <= NAME_BYTES
    return next(
        path
        for tag in chain(("",) if fits else (), tags, (f".{n}" for n in count(2)))
        if (path := path_beside(note_path, tag + suffix)).casefold() not in taken
    )


def notes_beside(path: str) -> tuple[VaultPath, ...]:
    """The notes that a review note at a path may be about, by its name; none for other notes."""
    for suffix in (CONFLICT_SUFFIX, PROPOSAL_SUFFIX):
        if path.casefold().endswith(suffix):
            stem = path[: -len(suffix)]
            return VaultPath(f"{stem}.md"), VaultPath(f"{stem.rpartition('.')[0]}.md")
    return ()


def path_beside(path: str, suffix: str) -> VaultPath:
    """The path of a file beside a note: its name, shortened if need be, and the suffix."""
    folder, slash, _ = path.rpartition("/")
    room = NAME_BYTES - len(suffix.encode())
    short = stem_of(path).encode()[:room].decode(errors="ignore")
    return VaultPath(f"{folder}{slash}{short}{suffix}")


def review_id_in(text: str, kind: str) -> str | None:
    """The id of the `conflict` or `proposal` that a note asks about, if it is of that kind."""
    return _review_id(_properties(text), kind)


def is_review_text(data: bytes) -> bool:
    """Whether a file without the id of a fact is a review note, whatever its name is."""
    if b"\nvaultsync:" not in data:
        return False
    found = _properties(data.decode(errors="replace"))
    kinds = ("conflict", "proposal")
    return "id" not in found and any(_review_id(found, kind) is not None for kind in kinds)


def _properties(text: str) -> Mapping[str, str]:
    """The lines of the frontmatter that have a key; none if it has no end."""
    first, *lines = _lines(text)
    found: dict[str, str] = {}
    if first.rstrip() != "---":
        return found
    for line in lines:
        if line.rstrip() == "---":
            return found
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip("\"'"), value.strip().strip("\"'"))
    return {}


def _review_id(properties: Mapping[str, str], kind: str) -> str | None:
    named = properties.get(kind, "")
    ours = properties.get("vaultsync") == kind
    return named if ours and re.fullmatch("[0-9a-f]{16}", named) else None


_BOX = lazy_pattern(
    r" {0,3}[-*+] +\[(?P<tick>.)\] .*<!-- *vaultsync:take (?P<what>\w+)=(?P<name>[\w.%]+) *-->"
)


def box(label: str, what: str, name: str) -> str:
    """A box to tick, and what ticking it chooses."""
    return f"- [ ] {label} <!-- vaultsync:take {what}={encoded_name(name)} -->"


def ticked(text: str, what: str) -> frozenset[str] | None:
    """The names of the boxes of one sort that the user ticked; None when there is no box."""
    body = "\n".join(_lines(text)).partition("\n---")[2]
    shown = without_code(body).split("\n")
    boxes = [found for line in shown if (found := _BOX.match(line)) and found["what"] == what]
    if not boxes:
        return None
    return frozenset(decoded_name(each["name"]) for each in boxes if each["tick"] in "xX")


def fenced(language: str, text: str) -> str:
    """A fenced block, whose fence no line of the text can end."""
    runs = re.findall("`+", text)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


MIN_DIFF_LINES = 8
"""Lines of a text in which a person would have to search for what differs."""


def diff_of_texts(before: Value, after: Value) -> str:
    """The lines of two long texts that differ; "" when there is nothing to search."""
    if not (isinstance(before, str) and isinstance(after, str)):
        return ""
    if max(before.count("\n"), after.count("\n")) < MIN_DIFF_LINES:
        return ""
    lines = differing_lines(before, after)
    alike = any(line[:1] not in ("-", "+") for line in lines)
    return "\n".join(lines) if alike else ""


def shown_value(value: Value) -> str:
    """A value as a person reads it: text as it is, a list with one item per line."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, (list, tuple)):
        return "\n".join(each if isinstance(each, str) else _json(each) for each in value)
    return _json(value)


def _json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def note_link(path: str) -> str:
    """A link to the note by its whole path, never ambiguous; "" if it cannot be."""
    stem = stem_of(path)
    target = path.removesuffix(file_name_of(path)) + stem
    if set("[]|#^\n") & set(target):
        return ""
    return f"[[{target}]]" if target == stem else f"[[{target}|{stem}]]"


def plain(text: str) -> str:
    """Text that markdown, Obsidian and HTML read as nothing but text."""
    return re.sub(r"([\\`*_\[\]<>|$~=%#&])", r"\\\1", " ".join(text.split()))


def bold(text: str) -> str:
    """Bold text that is nothing but text."""
    return f"**{plain(text)}**"


def code(text: str) -> str:
    """Text as code, or as it is where it cannot be."""
    return plain(text) if set("`\n") & set(text) else f"`{text}`"


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    *many, last = words
    return f"{', '.join(many)} and {last}" if many else last


_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


def encoded_name(field: str) -> str:
    """A name with all that could end or break an HTML comment as `%` and two digits."""
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in field.encode())


def decoded_name(text: str) -> str:
    """What `encoded_name()` made this of."""
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return raw.decode(errors="replace")


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
