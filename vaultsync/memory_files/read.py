"""The bytes of a memory file -> what it says, and what a person should know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vaultsync.errors import UnreadableMemoryFileError, UsageError
from vaultsync.memory_files.plan import FileMetadataValues
from vaultsync.memory_files.ports import MetadataReader
from vaultsync.memory_files.sections import MemoryOutline, frontmatter_end, read_outline
from vaultsync.model.canonical import canonical
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS_BY_KEY, TYPES, Value
from vaultsync.storage.archive import Notice

LARGE_FILE_BYTES = 1 << 20
"""Bytes above which a file is taken, but told about (seed 000)."""
_BINARY = 0.10
"""The share of bytes that are no UTF-8 above which it is no text (seed 000)."""
_BROKEN = 0.01
"""The share of characters that cannot be read above which it is left out (seed 000)."""


@dataclass(frozen=True, slots=True)
class MemoryFileContent:
    """What a memory file says."""

    outline: MemoryOutline
    metadata: FileMetadataValues | None
    """None when there is some, and it cannot be read."""
    notices: tuple[Notice, ...] = ()


def read_memory(data: bytes, *, name: str, title: str, reader: MetadataReader) -> MemoryFileContent:
    """Read a file; `title` is what its preamble is called when it has no own title.

    Raises:
        UnreadableMemoryFileError: it is no text.
    """
    text, broken = decode(data, name)
    notices = []
    if broken:
        why = f"{broken} characters are not UTF-8 and were read as �"
        notices.append(memory_file_notice("BadEncoding", name, why, "save the file as UTF-8"))
    if len(data) > LARGE_FILE_BYTES:
        why = f"it is larger than {LARGE_FILE_BYTES >> 20} MB, which makes many facts"
        notices.append(memory_file_notice("LargeFile", name, why, "part it into several files"))
    end = frontmatter_end(text)
    metadata: FileMetadataValues | None = FileMetadataValues()
    if end:
        try:
            said = reader.read(text[:end], name)
        except UnreadableMemoryFileError as error:
            metadata = None
            why = f"{error.why}; its sections were taken, and their tags stay"
            hint = "mend the YAML between the lines of ---"
            notices.append(memory_file_notice("BadFrontmatter", name, why, hint, 1))
        else:
            if said is None:
                end = 0  # a rule, some text, a rule: all of it is content
            metadata, wrong = _metadata(said or {}, name)
            notices += wrong
    outline = read_outline(text, name=title, start=end)
    for section in outline.sections:
        if section.type_hint and section.type_hint.lower() not in TYPES:
            why = f"there is no type {section.type_hint[:60]!r}; it was guessed"
            hint = "use one of " + ", ".join(TYPES)
            notices.append(memory_file_notice("UnknownType", name, why, hint, section.line))
    return MemoryFileContent(outline, metadata, tuple(notices))


def decode(data: bytes, name: str) -> tuple[str, int]:
    """The text, and how many characters of it could not be read.

    Raises:
        UnreadableMemoryFileError: too many.
    """
    if b"\0" in data:
        raise UnreadableMemoryFileError(name, "it holds NUL bytes, so it is no text")
    try:
        return data.decode("utf-8-sig"), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="replace")
    lost = len(data) - len(data.decode("utf-8-sig", errors="ignore").encode())
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    if lost > _BINARY * len(data):
        raise UnreadableMemoryFileError(name, "it is binary")
    if broken > _BROKEN * len(text):
        raise UnreadableMemoryFileError(name, "the text is not UTF-8")
    return text, broken


def memory_file_notice(
    kind: str, name: str, message: str, hint: str, line: int | None = None
) -> Notice:
    """Something about a memory file that a person should know."""
    return Notice(kind, VaultPath(name), message, hint, line)


def _metadata(said: Mapping[str, Value], name: str) -> tuple[FileMetadataValues, list[Notice]]:
    """What the properties say of all facts; the others are the author's."""
    told: dict[str, Any] = {}
    wrong = []
    for key in ("tags", "entities", "priority", "type"):
        if said.get(key) is None:
            continue
        try:
            value = canonical(FIELDS_BY_KEY[key], said[key])
        except UsageError as error:
            wrong.append(memory_file_notice("BadFrontmatter", name, error.message, error.hint, 1))
        else:
            told[key] = value
    return FileMetadataValues(**told), wrong
