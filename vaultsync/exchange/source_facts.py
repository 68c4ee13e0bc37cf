"""A memory of another tool, as the values of a fact."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from vaultsync.errors import InvalidIdError, NoteError
from vaultsync.model.canonical import EPOCH, check_id, is_property_name, to_microseconds
from vaultsync.model.schema import ALL_FIELDS_BY_KEY, NON_FIELD_KEYS, Value

OURS = "vaultsync"
"""The metadata key under which exported files have all values of a fact except the content."""
_ALWAYS_SET = frozenset({"id", "type", "scope", "createdAt"})
MAX_CONTENT = 200_000
"""Maximum length of a fact in characters; a longer conversation becomes several facts."""
_MAX_SECONDS = (1e11, 1e14, 1e17)
"""From these numbers on, seconds, milli- and microseconds would be of the year 5138 or later."""
_EPOCH_DIGITS = re.compile(r"[0-9]{10}(?:[0-9]{3}){0,3}(?:\.[0-9]{1,9})?")
"""Digits of a time of this century in one of these units; a date has fewer or others."""
_NO_CHARACTER = re.compile("[\udc80-\udcff]")
NOT_UTF8 = "it has a character that is not UTF-8; save the file as UTF-8, and import it again"
_PARAGRAPH = re.compile(r"\n{2,}")


@dataclass(frozen=True, slots=True)
class SourceFact:
    """A memory of another tool."""

    source_id: str
    """Its id in the other tool, or else its position; stable across exports."""
    values: Mapping[str, Value]
    """Key -> value of the fact; at least its content."""
    files: tuple[str, ...] = ()
    """The paths by which other memories of the source link to it; the last one is its own."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of an export that is not a memory, or is malformed."""

    where: str
    why: str


Found: TypeAlias = Iterator[SourceFact | Unreadable]
"""What a reader of an export finds."""


class UnreadablePartError(Exception):
    """A part of an export is not a memory, for the reason that is given."""


def skipping(where: str, found: Found) -> Found:
    """What is found, up to an error, which becomes its last part."""
    try:
        yield from found
    except (UnreadablePartError, NoteError) as error:
        yield Unreadable(where, str(error))


def is_damaged(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether a part of a file has bytes that are no characters; see `SourceFiles.text()`."""
    end = len(text) if end is None else end
    return not text.isascii() and _NO_CHARACTER.search(text, start, end) is not None


def is_exported(values: Mapping[str, Any]) -> bool:
    """Whether a mapping has all values of a fact, as from `fact_to_values()`."""
    return values.keys() >= _ALWAYS_SET and isinstance(values["id"], str)


def exported_fact(given: Mapping[str, Any], text: str) -> SourceFact | None:
    """A fact that vaultsync exported to another tool, by its metadata; None for others.

    `given` is the entry in the tool's file, where its `text` may have changed.
    """
    metadata = given.get("metadata")
    ours = metadata.get(OURS) if isinstance(metadata, Mapping) else None
    if not isinstance(ours, Mapping) or not is_exported(ours):
        return None
    content = {} if text == ours.get("title") else {"content": text}
    return SourceFact(ours["id"], {**ours, **content})


def fact_id(key: str, created_at: str | None) -> str:
    """The id of an imported fact, the same in each import: a UUIDv7 (RFC 9562, section 5.7).

    Its time is the memory's, or one between 1970 and 2004 if that is unknown. The other bits are
    taken from a SHA-256 of the key: the format, the importer, and the id in the other tool.
    """
    digest = bytearray(hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:16])
    unknown = int.from_bytes(digest[:5], "big")
    at = unknown if created_at is None else to_microseconds(created_at) // 1000
    digest[:6] = min(max(at, 0), 2**48 - 1).to_bytes(6, "big")
    digest[6] = 0x70 | digest[6] & 0x0F
    digest[8] = 0x80 | digest[8] & 0x3F
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def text_hash(content: str) -> bytes:
    """A hash of a text, ignoring whitespace, case and Unicode composition."""
    folded = unicodedata.normalize("NFKC", content).casefold()
    words = " ".join(folded.split()).encode(errors="surrogatepass")
    return hashlib.sha256(words).digest()[:16]


def numbered(found: Found) -> Found:
    """Memories with unique ids, where a tool identifies them by names that may repeat."""
    times = Counter[str]()
    for each in found:
        if isinstance(each, SourceFact):
            times[each.source_id] += 1
            if (number := times[each.source_id]) > 1:
                yield SourceFact(f"{each.source_id}~{number}", each.values, each.files)
                continue
        yield each


def in_parts(fact: SourceFact) -> Iterator[SourceFact]:
    """A fact, divided between paragraphs into several if its content is too long.

    One with an id of its own stays whole, because its parts could not have it.
    """
    content, title = str(fact.values.get("content") or ""), str(fact.values.get("title") or "")
    if len(content) <= MAX_CONTENT or "id" in fact.values:
        yield fact
        return
    parts = [part for part in _divided(content) if part]
    for number, part in enumerate(parts, 1):
        name = {"title": f"{title} ({number} of {len(parts)})"} if title else {}
        values = {**fact.values, **name, "content": part}
        files = fact.files if number == 1 else ()
        yield SourceFact(f"{fact.source_id}#{number}", values, files)


def _divided(content: str) -> Iterator[str]:
    start = 0
    while len(content) - start > MAX_CONTENT:
        breaks = [*_PARAGRAPH.finditer(content, start + MAX_CONTENT // 2, start + MAX_CONTENT)]
        end = breaks[-1].start() if breaks else start + MAX_CONTENT
        yield content[start:end].strip("\n")
        start = end
    yield content[start:].strip("\n")


def own_id(value: object) -> Mapping[str, Value]:
    """The id that an entry gives its fact, as a value of it; empty unless it is a UUID."""
    try:
        return {"id": check_id(value)}
    except InvalidIdError:
        return {}


def own_properties(given: Mapping[str, Any], read: Collection[str] = ()) -> dict[str, Value]:
    """The author's other properties: those that are not read, and have the name of no field."""
    taken = {*ALL_FIELDS_BY_KEY, *NON_FIELD_KEYS, "properties", *read}
    return {key: x for key, x in given.items() if key not in taken and is_property_name(key)}


def time_of(value: object) -> str | None:
    """A time in the format of facts, from a number or ISO 8601 text; None for anything else.

    A number counts from 1970, in seconds or, if it is too large for these, in milli-, micro- or
    nanoseconds.
    """
    try:
        if isinstance(value, str) and _EPOCH_DIGITS.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            units = sum(abs(value) >= each for each in _MAX_SECONDS)
            at = EPOCH + timedelta(seconds=value / 1000**units)
        elif isinstance(value, str) and value.strip():
            at = datetime.fromisoformat(value.strip())
        else:
            return None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return None


def line_of(value: object, limit: int | None = 200) -> str:
    """A text as one line, cut if it is longer than a limit; "" if it is not a string."""
    if not isinstance(value, str):
        return ""
    line = " ".join(value.split())
    return line if limit is None or len(line) <= limit else line[: limit - 2].rstrip() + " …"
