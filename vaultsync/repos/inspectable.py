"""The inspectable files as bytes: `memory.json` and the lines of `summaries.jsonl`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from vaultsync.errors import InvalidFieldError, RepoFileParseError
from vaultsync.markdown.diff3 import merge_text
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.repos.entries import (
    CONVENTION,
    DECISION,
    DECISION_PATHS,
    DECISION_RATIONALE,
    NOTE,
    RepoConvention,
    RepoDecision,
    RepoNote,
    StepSummary,
    by_kind,
    check_source,
    clean_path,
    convention_values,
    decision_values,
    note_values,
    to_entry,
)

LISTS = {CONVENTION: "conventions", DECISION: "decisions", NOTE: "notes"}
"""Type of a fact -> its list in `memory.json`."""
MANY = 3
"""If at least this many entries disappear from a file at once, none is deleted."""
_ENTRY_TYPES = {CONVENTION: RepoConvention, DECISION: RepoDecision, NOTE: RepoNote}
_FACT_KEYS: Mapping[str, Mapping[str, str]] = {
    CONVENTION: {"title": "title", "content": "content", "tags": "tags"},
    DECISION: {"summary": "title", "rationale": "content", "impactedPaths": DECISION_PATHS},
    NOTE: {"content": "content", "source": "source"},
}
"""Key of an entry -> key of its fact."""

JsonEntry = Mapping[str, Any]
JsonMemory = Mapping[str, Sequence[JsonEntry]]
"""Type of a fact -> its entries."""


class MemoryEdits(NamedTuple):
    """What a person or another program changed in `memory.json`."""

    added: Sequence[tuple[str, JsonEntry]]
    """Type and entry."""
    changed: Sequence[tuple[str, JsonEntry, JsonEntry]]
    """Type, the entry as it was written, and the edited entry."""
    removed: Sequence[str]
    """Ids."""
    is_emptied: bool = False
    """Whether all entries disappeared at once; none is removed then."""


class UnknownKeys(NamedTuple):
    """Keys in `memory.json` of other tools, without secrets."""

    values: Mapping[str, Any]
    """At the top level."""
    entries: Mapping[object, Mapping[str, Any]]
    """In entries, by the type of the fact and its id, or its text if it has none."""


def unknown_keys(current: bytes | None, redact: Callable[[str], str] = str) -> UnknownKeys | None:
    """The keys of `memory.json` that are not known here; None when it has none.

    `redact` takes the secrets out of a text.
    """
    try:
        found = _load(current or b"{}")
    except (ValueError, RecursionError):
        found = {}  # reading it says what is wrong
    found = found if isinstance(found, dict) else {}
    entries: dict[object, Mapping[str, Any]] = {}
    for kind, name in LISTS.items():
        listed = found.get(name)
        known = _ENTRY_TYPES[kind].__struct_encode_fields__
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and (more := _unknown(entry, known, redact)):
                key = entry["id"] if isinstance(entry.get("id"), str) else _text_key(entry)
                entries[kind, key] = more
    values = _unknown(found, LISTS.values(), redact)
    return UnknownKeys(values, entries) if values or entries else None


def _text_key(entry: JsonEntry) -> tuple[str, str]:
    return str(entry.get("title") or entry.get("summary")), str(entry.get("content"))


def _unknown(
    found: Mapping[str, Any], known: Collection[str], redact: Callable[[str], str]
) -> dict[str, Any]:
    def plain(value: object) -> object:
        if isinstance(value, str):
            return redact(value)
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, dict):
            return {redact(key): plain(each) for key, each in value.items()}
        return value

    return {redact(key): plain(value) for key, value in found.items() if key not in known}


def render_memory(facts: Iterable[Fact], more: UnknownKeys | None = None) -> bytes:
    """The bytes of `memory.json`; the unknown keys in `more` stay."""
    lists, memory = by_kind(facts), dict[str, Any]()
    for kind, name in LISTS.items():
        memory[name] = [
            _with_unknown(msgspec.to_builtins(to_entry(fact)), kind, more) for fact in lists[kind]
        ]
    if more is None:
        return msgspec.json.format(msgspec.json.encode(memory), indent=2) + b"\n"
    # Unlike msgspec, `json` writes big numbers and lone surrogates.
    text = json.dumps({**memory, **more.values}, indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _with_unknown(entry: dict[str, Any], kind: str, more: UnknownKeys | None) -> dict[str, Any]:
    if more is None:
        return entry
    named = more.entries.get((kind, entry["id"]))
    return {**entry, **(named or more.entries.get((kind, _text_key(entry)), {}))}


def read_memory(data: bytes | None, path: str) -> JsonMemory:
    """The entries of `memory.json`, by the type of their facts; none if there is no file.

    Raises:
        RepoFileParseError: it is no JSON object of lists of objects.
    """
    if data is None:
        return dict.fromkeys(LISTS, ())
    try:
        found = _load(data)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RepoFileParseError(path, why) from None
    if not isinstance(found, dict):
        raise RepoFileParseError(path, "it is not a JSON object")
    lists = {}
    for kind, name in LISTS.items():
        entries = found.get(name, [])
        if not isinstance(entries, list) or not all(isinstance(x, dict) for x in entries):
            raise RepoFileParseError(path, f"{name} is not a list of objects")
        lists[kind] = entries
    return lists


def without_entries(data: bytes, ids: Collection[str]) -> bytes:
    """`memory.json` without the entries of some facts; unchanged if it has none, or is damaged."""
    try:
        found = _load(data)
        lists = {name: found[name] for name in LISTS.values() if name in found}
        kept = {name: [x for x in each if x.get("id") not in ids] for name, each in lists.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return data
    return data if kept == lists else json.dumps({**found, **kept}, indent=2).encode() + b"\n"


def _load(data: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Decode JSON without numbers that could not be written again."""
    return json.loads(data, parse_constant=_refuse, parse_float=_finite)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError(f"{literal} is too large a number")
    return number


def memory_edits(base: JsonMemory, now: JsonMemory) -> MemoryEdits:
    """What changed between two versions of `memory.json`."""
    before = {str(x.get("id")): (kind, x) for kind, found in base.items() for x in found}
    added, changed, seen = [], [], set()
    for kind, found in now.items():
        for entry in found:
            key = str(entry.get("id"))
            known = before.get(key)
            if known is None or known[0] != kind or key in seen:
                added.append((kind, entry))
                continue
            seen.add(key)
            if entry != known[1]:
                changed.append((kind, known[1], entry))
    removed = [key for key in before if key not in seen]
    emptied = len(before) >= MANY and len(removed) == len(before) and not added
    return MemoryEdits(added, changed, [] if emptied else removed, emptied)


def added_values(kind: str, entry: JsonEntry) -> dict[str, Value]:
    """A new entry as the values of a fact.

    Raises:
        InvalidFieldError: a value is not what its key takes.
    """
    shown = {key: value for key, value in entry.items() if key not in ("createdAt", "updatedAt")}
    try:
        found = msgspec.convert({"id": "", **shown}, _ENTRY_TYPES[kind])
    except msgspec.ValidationError as error:
        raise InvalidFieldError(LISTS[kind], dict(entry), f"an entry ({error})") from None
    if isinstance(found, RepoConvention):
        return convention_values(found.title, found.content, found.tags)
    if isinstance(found, RepoDecision):
        return decision_values(found.summary, found.rationale, found.impacted_paths)
    return note_values(found.content, found.source)


def changed_values(fact: Fact, kind: str, before: JsonEntry, after: JsonEntry) -> dict[str, Value]:
    """What a changed entry changes in its fact.

    If the fact changed meanwhile, both texts are merged; if both changed the same lines, the file
    wins. `before` is the entry as it was written, `after` as it is now.

    Raises:
        InvalidFieldError: a value is not what its key takes.
    """
    current: JsonEntry = msgspec.to_builtins(to_entry(fact))
    changed: dict[str, Value] = {}
    for name, key in _FACT_KEYS[kind].items():
        if name not in after or after[name] == before.get(name) or after[name] == current[name]:
            continue
        value = _checked(name, after[name])
        if name in ("content", "rationale") and current[name] != before.get(name):
            old = before.get(name)
            merged = merge_text(str(old), str(value), str(current[name])) if old else None
            value = value if merged is None else merged
        has_rationale = name == "rationale" and fact.value(DECISION_RATIONALE)
        changed[DECISION_RATIONALE if has_rationale else key] = value
    return changed


def _checked(name: str, value: object) -> Value:
    if name in ("tags", "impactedPaths"):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidFieldError(name, value, "a list of texts")
        return [clean_path(each) for each in value] if name == "impactedPaths" else value
    if not isinstance(value, str):
        raise InvalidFieldError(name, value, "text")
    return check_source(value) if name == "source" else value


def nearest_base(bases: Sequence[bytes], now: bytes, path: str) -> JsonMemory:
    """The version from which an edited file was probably made.

    It is the one that shares the most entries with the file, so that changes made after an editor
    opened the file are not reverted when it saves. Ties go to the newest version of all, else to
    the oldest: an editor with an older version knows nothing of later ones. The newest of the
    `bases` is the last.
    """
    entries = [x for found in read_memory(now, path).values() for x in found]

    def alike(memory: JsonMemory) -> int:
        known: dict[str, list[JsonEntry]] = {}
        for each in chain.from_iterable(memory.values()):
            known.setdefault(str(each.get("id")), []).append(each)
        return sum(x in known.get(str(x.get("id")), ()) for x in entries)

    found, most = read_memory(None, path), -1
    for each in (*bases[-1:], *bases[:-1]):  # of several that have as many, the first one is it
        memory = read_memory(each, path)
        if (count := alike(memory)) > most:
            found, most = memory, count
    return found


def with_facts(
    base: JsonMemory, now: JsonMemory, kinds: Mapping[str, str], versions: Iterable[JsonMemory]
) -> JsonMemory:
    """The base of an edited file, with the entries of facts that only the file has.

    As an edit of its fact, such an entry is no second fact. `kinds` are the types of the facts,
    by id. What was edited is the entry as the oldest of the `versions` has it, the first of them:
    who saved the file may know nothing of later ones.
    """
    shown = {str(each.get("id")) for listed in base.values() for each in listed}
    lacking: dict[str, tuple[str, JsonEntry]] = {}
    for kind, listed in now.items():
        for entry in listed:
            key = str(entry.get("id"))
            if key not in shown and kinds.get(key) == kind:
                lacking.setdefault(key, (kind, entry))
    if not lacking:
        return base
    known = [*versions]
    more: dict[str, list[JsonEntry]] = {kind: [*listed] for kind, listed in base.items()}
    for key, (kind, entry) in lacking.items():
        found = [x for each in known for x in each[kind] if x.get("id") == key]
        more[kind].append(entry if entry in found else next(iter(found), {"id": key}))
    return more


def read_summary(line: bytes) -> StepSummary | None:
    """The summary of a line; None where it is none, such as a line that a crash cut off."""
    try:
        found = msgspec.json.decode(line, type=StepSummary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found if found.summary.strip() else None


def kept_lines(summaries: Iterable[StepSummary], *, entries: int, size: int) -> list[bytes]:
    """The lines of the newest summaries within the limits of the file, oldest first.

    The `summaries` are newest first. At most `entries` lines and `size` bytes stay, and the newest
    line always does.
    """
    lines: list[bytes] = []
    total = 0
    for each in summaries:
        line = msgspec.json.encode(each)
        total += len(line) + 1
        if len(lines) >= entries or (lines and total > size):
            break
        lines.append(line)
    return lines[::-1]
