"""Markdown folders of other tools: a fact for each file, or each section.

Sources: https://docs.basicmemory.com/guides/knowledge-format/, https://code.claude.com/docs/en/memory,
https://cursor.com/docs/context/rules, https://www.notion.com/help/export-your-content.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import unquote

from vaultsync.errors import NoteError, UnreadableMemoryFileError
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import (
    NOT_UTF8,
    Found,
    SourceFact,
    UnreadablePartError,
    is_damaged,
    line_of,
    numbered,
    own_id,
    own_properties,
    skipping,
    time_of,
)
from vaultsync.links.wikilinks import is_linkable
from vaultsync.markdown.blocks import closed_title
from vaultsync.markdown.frontmatter import NoteParts, split_note
from vaultsync.memory_files.managed_block import without_blocks
from vaultsync.memory_files.plan import hinted_type
from vaultsync.memory_files.sections import read_memory
from vaultsync.model.canonical import link_name
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import TYPES, Value
from vaultsync.notes.body import read_body
from vaultsync.notes.parse import read_note
from vaultsync.privacy.escaping import unescape
from vaultsync.privacy.fact_texts import map_value_texts

_HEADING = re.compile(r"^#[ \t](?P<title>.*)", re.MULTILINE)
_NOTION_NAME = re.compile(r"(?P<title>.*?)[ _](?P<id>[0-9a-f]{32})\Z")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[\n]*)\]\((?P<target>[^()\s]+\.md)\)")
_UNQUOTED = re.compile(r"^(?P<key>description|globs):[ \t]+(?P<value>[^\s'\"\[].*)$", re.MULTILINE)
"""A property of a Cursor rule as Cursor writes it, without the quotes that YAML may require."""
_LONGEST_NAME = 40
_EMPTY = "it is empty"
MAX_TEXT = 16 << 20
"""Maximum length of a file in characters, because parsing takes many times its size in memory."""
_MARKDOWN = (".md", ".markdown", ".mdc")
_TIMES = ("createdAt", "created", "created_at", "date")
_NOTION_TIMES = ("Created", "Created time")
_UPDATES = ("updatedAt", "updated", "updated_at", "modified")
_TYPES = {name: name for name in TYPES}
_CLAUDE_TYPES = {"user": "preference", "feedback": "lesson", "project": "note", "reference": "note"}
"""Type in the frontmatter of Claude Code's memory -> type of the fact."""


def read_markdown(files: SourceFiles) -> Found:
    """A Markdown folder, such as another vault or an export of Mem: a note for each file."""
    return _documents(files, _document)


def read_basic_memory(files: SourceFiles) -> Found:
    """The notes of basic-memory, by permalink; observations and relations are kept as lines."""
    return _documents(files, partial(_document, identity="permalink"))


def read_claude_code(files: SourceFiles) -> Found:
    """Claude Code's memory folder: topic files, and `MEMORY.md` section by section."""
    return numbered(_documents(files, _claude_code_facts))


def _claude_code_facts(name: str, text: str) -> Found:
    if name.rpartition("/")[2].casefold() not in {"memory.md", "claude.md"}:
        yield from _document(name, text, types=_CLAUDE_TYPES)
        return
    try:
        memory = read_memory(text.encode(), name=name, title="Memory")
    except UnreadableMemoryFileError as error:
        raise UnreadablePartError(error.why) from None
    tags = memory.metadata.tags if memory.metadata else ()
    for section in (*memory.outline.sections, *memory.outline.left_out):
        is_convention = section.title.casefold() in {"convention", "conventions"}
        kind = hinted_type(section) or ("convention" if is_convention else "note")
        values: dict[str, Value] = {"type": kind, "title": section.title, "tags": [*tags]}
        yield SourceFact(f"{name}#{section.title}", {**values, "content": section.content})


def read_cursor(files: SourceFiles) -> Found:
    """Cursor's rules (`.cursor/rules/*.mdc`, `.cursorrules`), each as a convention."""
    rules = (x for x in files.names() if x.casefold().endswith(".mdc") or _is_cursorrules(x))
    return _each(files, rules, _cursor_rule)


def _is_cursorrules(name: str) -> bool:
    return name.rpartition("/")[2].casefold() == ".cursorrules"


def _cursor_rule(name: str, text: str) -> Found:
    parts, given = _split_rule(text, name)
    content = parts.body.strip()
    if not content:
        raise UnreadablePartError(_EMPTY)
    title = line_of(given.get("description"), None) or heading_of(content)
    title = title or ("" if _is_cursorrules(name) else _stem(name))
    globs = given.get("globs")
    paths = [x.strip() for x in globs.split(",")] if isinstance(globs, str) else globs
    values: dict[str, Value] = {"type": "convention", "title": title, "content": content}
    if isinstance(paths, list) and paths:
        values["globs"] = [line_of(each) for each in paths]
    yield SourceFact(name, values)


def _split_rule(text: str, name: str) -> tuple[NoteParts, dict[str, Value]]:
    """The parts and properties of a Cursor rule, such as `globs: *.ts`, which is no YAML."""
    try:
        return split_note(text, name)
    except NoteError:
        frontmatter, fence, body = text.partition("\n---")
        return split_note(_UNQUOTED.sub(_quoted, frontmatter) + fence + body, name)


def _quoted(found: re.Match[str]) -> str:
    value = found["value"].rstrip().replace("'", "''")
    return f"{found['key']}: '{value}'"


def read_notion(files: SourceFiles) -> Found:
    """Notion pages; links between them become links between notes."""
    names = {}
    for name in files.names():
        found = _NOTION_NAME.fullmatch(_stem(name))
        if found and name.casefold().endswith(_MARKDOWN):
            names[name] = found
    times = Counter(found["title"] for found in names.values())
    titles = {
        found["id"]: found["title"]
        for found in names.values()
        if times[found["title"]] == 1 and is_linkable(found["title"])
    }

    def wikilink(match: re.Match[str]) -> str:
        found = _NOTION_NAME.fullmatch(_stem(unquote(match["target"])))
        title = titles.get(found["id"]) if found else None
        if title is None:
            return match[0]  # it leads to the page by its file
        return f"[[{title}]]" if match["text"] == title else f"[[{title}|{match['text']}]]"

    def page(name: str, text: str) -> Found:
        found, text = names[name], text.replace("\r\n", "\n")
        title = heading_of(text) or found["title"]
        body = _HEADING.sub("", text, count=1) if heading_of(text) else text
        body = body.strip("\n")
        given, content = _notion_properties(body)
        content = content.strip() or body
        if not content.strip():
            raise UnreadablePartError(_EMPTY)
        created = next((key for key in _NOTION_TIMES if _notion_time(given.get(key, ""))), "")
        values: dict[str, Value] = {
            **own_properties(given, {created, "Tags"}),
            "type": "note",
            "title": line_of(title, None),
            "content": _LINK.sub(wikilink, content.strip()),
            "createdAt": _notion_time(given.get(created, "")),
            "tags": _list(given.get("Tags")),
        }
        known = (f"{titles[found['id']]}.md",) if found["id"] in titles else ()
        yield SourceFact(found["id"], values, (*known, name))

    return _each(files, names, page)


def _notion_properties(body: str) -> tuple[dict[str, str], str]:
    """The `Name: value` lines at the beginning of a database page, and the rest."""
    head, _, rest = body.partition("\n\n")
    lines = [line.partition(": ") for line in head.split("\n")]
    if not all(
        name and sign and name.isprintable() and len(name) <= _LONGEST_NAME
        for name, sign, _ in lines
    ):
        return {}, body
    return {name: value for name, _, value in lines}, rest


def _notion_time(text: str) -> str | None:
    """A time as Notion writes it, such as `January 5, 2026 3:45 PM`; it has no time zone."""
    for form in ("%B %d, %Y %I:%M %p", "%B %d, %Y"):
        with suppress(ValueError):
            return time_of(datetime.strptime(text, form).replace(tzinfo=UTC).isoformat())
    return time_of(text)


def _documents(files: SourceFiles, read: Callable[[str, str], Found]) -> Found:
    """What is found in each Markdown file, without blocks of vaultsync."""
    names = (name for name in files.names() if name.casefold().endswith(_MARKDOWN))
    return _each(files, names, lambda name, text: read(name, without_blocks(text)))


def _each(files: SourceFiles, names: Iterable[str], read: Callable[[str, str], Found]) -> Found:
    """What `read` finds in each file, given its name and its text."""

    def whole(name: str) -> Found:
        yield from read(name, _whole(files, name))

    for name in names:
        yield from skipping(name, whole(name))


def _whole(files: SourceFiles, name: str) -> str:
    """The text of a file, unless it is longer than `MAX_TEXT`, or not UTF-8."""
    pieces: list[str] = []
    size = 0
    for piece in files.text(name):
        size += len(piece)
        if size > MAX_TEXT:
            raise UnreadablePartError(f"it is larger than {MAX_TEXT >> 20} MiB")
        if is_damaged(piece):
            raise UnreadablePartError(NOT_UTF8)
        pieces.append(piece)
    return "".join(pieces)


def _document(
    name: str, text: str, *, identity: str = "", types: Mapping[str, str] = _TYPES
) -> Found:
    parts, given = split_note(text.replace("\r\n", "\n"), name)
    # The text of an export may contain a block, but it has `created`.
    if "createdAt" in given and read_body(parts.body).block is not None:
        yield _own_note(text, name)
        return
    content = parts.body.strip("\n")
    heading = heading_of(content)
    named = next((key for key in ("title", "name") if _texts(given.get(key))), "")
    title = next(iter(_texts(given.get(named))), "") or heading or _stem(name)
    if heading == title:
        content = _HEADING.sub("", content, count=1).strip("\n")
    if not content.strip():
        raise UnreadablePartError(_EMPTY)
    kind = line_of(given.get("type")).casefold()
    metadata = given.get("metadata")
    nested = line_of(metadata.get("type")).casefold() if isinstance(metadata, Mapping) else ""
    created_key = next((key for key in _TIMES if time_of(given.get(key))), "")
    updated_key = next((key for key in _UPDATES if time_of(given.get(key))), "")
    created = time_of(given.get(created_key))
    updated = time_of(given.get(updated_key)) or created
    tags = given.get("tags")
    read = {
        named,
        created_key,
        updated_key,
        "description",
        "metadata" if nested and not kind else "",
    }
    values: dict[str, Value] = {
        **own_properties(given, read),
        "type": types.get(kind or nested, "note"),
        "title": title,
        "context": line_of(given.get("description"), None) or None,
        "content": content,
        "tags": _list(re.split(r"[,\s]+", tags) if isinstance(tags, str) else tags),
        "aliases": _texts(given.get("aliases")),
        "createdAt": created,
        "updatedAt": updated,
    }
    known = line_of(given.get(identity)) if identity else ""
    if known:
        values[identity] = known
    files = (f"{known}.md", name) if known else (name,)
    yield SourceFact(known or name, {**values, **own_id(given.get("id"))}, files)


def _own_note(text: str, name: str) -> SourceFact:
    """A note of another vault of vaultsync, without its managed block and its escapes.

    Related facts are left out: the note names them by links, and not by their ids.
    """
    note = read_note(text.encode(errors="replace"), VaultPath(name))
    shown = {**note.properties, **note.values, "entities": [*map(link_name, note.body.entities)]}
    values = {key: map_value_texts(x, lambda text, **_: unescape(text)) for key, x in shown.items()}
    own = {} if note.id is None else {"id": note.id}
    return SourceFact(name, {"type": "note", **values, **own}, (name,))


def heading_of(text: str) -> str:
    """The level-1 heading at the beginning of a document; empty if there is none."""
    found = _HEADING.match(text.lstrip("\n"))
    return line_of(closed_title(found["title"]), None) if found else ""


def _stem(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0] or name.rpartition("/")[2]


def _texts(value: object) -> list[str]:
    """A text, a number, or those in a list, each as one line."""
    many = value if isinstance(value, list) else [value]
    lines = (str(x) if isinstance(x, (int, float)) and not isinstance(x, bool) else x for x in many)
    return [line for each in lines if (line := line_of(each, None))]


def _list(value: object) -> Value:
    words: list[Any] = value if isinstance(value, list) else str(value or "").split(",")
    tags = (line_of(str(each), None).lstrip("#").replace(" ", "-") for each in words)
    return [each for each in dict.fromkeys(tags) if each]
