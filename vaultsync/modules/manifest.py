"""`manifest.yaml` of a topic: reading its entries, and edits that keep everything else.

Users write manifests by hand. An edit uses ruamel's round trip, which keeps comments, order and
unknown keys, and is read again to check that nothing else changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from msgspec import Struct

from vaultsync.errors import UnreadableModuleError, UnreadableNoteError
from vaultsync.markdown.yaml.reader import load_yaml
from vaultsync.model.schema import Value

MANIFEST_FILE = "manifest.yaml"
INDEX_FILE = "memory-index.json"
LIST_KEY = "modules"
"""The key of the list of modules in a new manifest; any key is read."""
REMOTE_ID, BYTEROVER_ID = "remote_id", "byterover_id"
SYNCED, PENDING, FAILED = "synced", "pending", "failed"
_DASH = re.compile(r"^([ ]*)- ", re.MULTILINE)
"""The indentation of the first list item, which is taken for all modules."""
_WIDEST = 1 << 30
"""Line width in columns; so large that no line is folded."""


class ManifestEntry(Struct, frozen=True):
    """The entry of one module."""

    chunk_id: str
    title: str
    module_path: str
    """As written in the manifest."""
    file: str
    """The file's name in the topic's folder; empty if the path is outside of it."""
    tags: tuple[str, ...] = ()
    checksum: str = ""
    """SHA-256 of the module when the entry was written."""
    last_updated_by: str = ""
    last_updated_at: str = ""
    sync_status: str = PENDING
    remote_id: str | None = None
    last_synced_at: str | None = None
    remote_key: str = REMOTE_ID
    """The key of the remote's id: some manifests use `byterover_id`."""


class ReadManifest(Struct, frozen=True):
    """The valid entries of a manifest, and the problems with others."""

    entries: tuple[ManifestEntry, ...] = ()
    problems: tuple[str, ...] = ()

    def find(self, chunk_id: str) -> ManifestEntry | None:
        """The entry of a chunk."""
        return next((each for each in self.entries if each.chunk_id == chunk_id), None)


def read_manifest(text: str, name: str, topic: str) -> ReadManifest:
    """The entries of a manifest.

    Raises:
        UnreadableModuleError: it is not YAML, or has no list of modules.
    """
    entries: dict[str, ManifestEntry] = {}
    problems = []
    for number, each in enumerate(_listed(_loaded(text, name), name), start=1):
        chunk_id = _text(each.get("chunk_id")) if isinstance(each, dict) else ""
        if not isinstance(each, dict) or not chunk_id:
            problems.append(f"entry {number} has no chunk_id")
        elif chunk_id in entries:
            problems.append(f"{chunk_id} is listed twice; the first entry is used")
        else:
            entry = entries[chunk_id] = _entry(chunk_id, each, topic)
            if not entry.file:
                problems.append(f"the module_path of {chunk_id} is not in the folder {topic}")
    return ReadManifest(tuple(entries.values()), tuple(problems))


def edit_manifest(
    text: str | None, name: str, changes: Mapping[str, Mapping[str, Value]], *, topic: str
) -> str:
    """Change the values of some chunks; an unknown chunk becomes a new entry.

    Without `text`, a new manifest of the `topic` is made. `changes` are chunk id -> key -> value;
    None clears an existing key.

    Raises:
        UnreadableModuleError: it is not YAML, or cannot be edited without other changes.
    """
    if text is None or not text.strip():
        text = (text or "") + f"topic: {topic}\n{LIST_KEY}: []\n"
    expected: Any = _loaded(text, name)
    _apply(_listed(expected, name), changes, dict, list)
    edited = _round_trip(text, name, changes)
    if _loaded(edited, name) != expected:
        raise UnreadableModuleError(
            name, "it cannot be edited without changing more", hint="write it in plain YAML"
        )
    return edited


def file_in_topic(module_path: str, topic: str) -> str:
    """The name of a file in its topic's folder; empty if the path is outside of it.

    A path begins at the topic's folder, or at any folder above it.
    """
    below = module_path.replace("\\", "/").removeprefix("./")
    if "/" in below:
        above, _, below = below.rpartition("/")
        if above.rpartition("/")[2] != topic or ".." in above.split("/") or above[:1] == "/":
            return ""
    return below if below.endswith(".md") and not below.startswith(".") else ""


def _entry(chunk_id: str, values: Mapping[str, Value], topic: str) -> ManifestEntry:
    path, status = _text(values.get("module_path")), _text(values.get("sync_status"))
    tags = values.get("tags")
    key = BYTEROVER_ID if BYTEROVER_ID in values else REMOTE_ID
    return ManifestEntry(
        chunk_id,
        title=_text(values.get("title")) or chunk_id,
        module_path=path,
        file=file_in_topic(path, topic),
        tags=tuple(filter(None, map(_text, tags if isinstance(tags, list) else [tags]))),
        checksum=_text(values.get("checksum")),
        last_updated_by=_text(values.get("last_updated_by")),
        last_updated_at=_text(values.get("last_updated_at")),
        sync_status=status if status in (SYNCED, FAILED) else PENDING,
        remote_id=_text(values.get(key)) or None,
        last_synced_at=_text(values.get("last_synced_at")) or None,
        remote_key=key,
    )


def _text(value: Value) -> str:
    """A scalar as text on one line; anything else is empty."""
    shown = "" if value is None or isinstance(value, list | dict) else str(value)
    return " ".join(shown.split())


def _loaded(text: str, name: str) -> Value:
    """The content of a manifest.

    A top-level list is read below a key, because the reader of properties accepts only maps.
    """
    try:
        found = load_yaml(text, name)
        if found is None:
            inside = "".join(f"  {line}" for line in text.splitlines(keepends=True))
            found = load_yaml(f"{LIST_KEY}:\n{inside}", name)
    except UnreadableNoteError as error:
        at = f" in line {error.line}" if error.line else ""
        raise UnreadableModuleError(name, f"{error.why}{at}", hint=error.hint) from None
    return found


def _listed(found: Any, name: str) -> Any:  # noqa: ANN401 - YAML
    """The list of modules, in plain values or ruamel's, which may be changed in place."""
    if isinstance(found, list):
        return found
    lists = {key: each for key, each in (found or {}).items() if isinstance(each, list)}
    for key in (LIST_KEY, "chunks", "entries", *lists):
        if key in lists:
            return lists[key]
    raise UnreadableModuleError(name, "it has no list of modules", hint=f"add `{LIST_KEY}: []`")


def _apply(
    entries: Any,  # noqa: ANN401 - a list of maps
    changes: Mapping[str, Mapping[str, Value]],
    make_map: Any,  # noqa: ANN401 - ruamel's
    make_list: Any,  # noqa: ANN401 - ruamel's
) -> None:
    for chunk_id, values in changes.items():
        maps = (each for each in entries if isinstance(each, dict))
        entry = next((each for each in maps if _text(each.get("chunk_id")) == chunk_id), None)
        if entry is None:
            entry = make_map()
            entry["chunk_id"] = chunk_id
            entries.append(entry)
        for key, value in values.items():
            is_list = isinstance(value, Sequence) and not isinstance(value, str)
            new = make_list(value) if is_list else value
            if entry.get(key) != new and (value is not None or key in entry):
                entry[key] = new


def _round_trip(text: str, name: str, changes: Mapping[str, Mapping[str, Value]]) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415 - takes 60 ms
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415 - as above
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    eol = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    yaml, pieces = YAML(), list[str]()
    yaml.preserve_quotes, yaml.width, yaml.allow_unicode = True, _WIDEST, True
    try:
        dash = _DASH.search(plain)
        offset = len(dash[1]) if dash else 2
        yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
        found = yaml.load(plain)
        entries = _listed(found, name)
        if not entries and hasattr(entries, "fa"):
            entries.fa.set_block_style()  # so that `[]` becomes a line per module
        _apply(entries, changes, CommentedMap, lambda items: _flow(CommentedSeq(items)))
        yaml.dump(found, SimpleNamespace(write=pieces.append, encoding="utf-8"))
    except (YAMLError, TypeError, AttributeError) as error:
        why = f"it cannot be edited: {(str(error) or type(error).__name__).splitlines()[0]}"
        raise UnreadableModuleError(name, why) from None
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    return bom + "".join(pieces).replace("\n", eol)


def _flow(items: Any) -> Any:  # noqa: ANN401 - ruamel's list
    items.fa.set_flow_style()
    return items


def render_index(
    folder: str, topics: Mapping[str, Sequence[str]], documents: Iterable[str]
) -> bytes:
    """`memory-index.json` of a folder, which is generated and never edited.

    `folder` is the prefix of all paths, `topics` have their chunk ids, and `documents` are files
    without a manifest, each with an entry of its own.
    """
    index: dict[str, object] = {
        topic: {
            "core": f"{folder}/{topic}/{topic}.core.md",
            "manifest": f"{folder}/{topic}/{MANIFEST_FILE}",
            "chunks": list(chunks),
        }
        for topic, chunks in sorted(topics.items())
    }
    index |= {name: {"document": f"{folder}/{name}"} for name in sorted(documents)}
    return json.dumps(index, indent=2, ensure_ascii=False).encode() + b"\n"
