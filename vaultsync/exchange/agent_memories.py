"""Memories of other agents' tools: mem0, Letta, and the knowledge graph of MCP's memory server.

Sources: https://docs.mem0.ai/api-reference/memory/get-memories,
https://docs.letta.com/guides/agents/agent-file,
https://github.com/modelcontextprotocol/servers/tree/main/src/memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from vaultsync.exchange.json_stream import read_objects
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import (
    OURS,
    Found,
    SourceFact,
    UnreadablePartError,
    exported_fact,
    line_of,
    numbered,
    own_properties,
    skipping,
    time_of,
)
from vaultsync.model.schema import NAMED_TYPES, Value


def read_mem0(files: SourceFiles) -> Found:
    """The memories that mem0's `get_all()` returns, as a list or in `results`."""
    return read_objects(files, _named(files, (".json", ".jsonl")), _mem0_memories)


def _mem0_memories(value: Mapping[str, Any], where: str) -> Found:
    listed = value.get("results", value.get("memories"))
    for number, each in enumerate(listed if isinstance(listed, list) else [value], 1):
        yield from skipping(f"{where}, memory {number}", _mem0_memory(each))


def _mem0_memory(given: object) -> Found:
    if not isinstance(given, Mapping):
        raise UnreadablePartError("it is not an object")
    text, identity = given.get("memory", given.get("text")), given.get("id")
    if not isinstance(text, str) or not text.strip() or not isinstance(identity, str):
        raise UnreadablePartError("it has no `memory` or no `id`")
    metadata = given.get("metadata")
    values: dict[str, Value] = {
        **(own_properties(metadata, {OURS}) if isinstance(metadata, Mapping) else {}),
        "type": "fact",
        "content": text,
        "createdAt": time_of(given.get("created_at")),
        "updatedAt": time_of(given.get("updated_at")) or time_of(given.get("created_at")),
        "userId": line_of(given.get("user_id")) or None,
        "sessionId": line_of(given.get("run_id")) or None,
        "tags": _tags(given.get("categories")),
    }
    yield exported_fact(given, text) or SourceFact(identity, values)


def read_letta(files: SourceFiles) -> Found:
    """The memory blocks in agent files of Letta (`.af`) and of MemGPT."""
    return numbered(read_objects(files, _named(files, (".af", ".json")), _letta_blocks))


def _letta_blocks(value: Mapping[str, Any], where: str) -> Found:
    agents = value.get("agents")
    agents = [value] if not isinstance(agents, list) else [value, *agents]
    name = line_of(next((x["name"] for x in agents if _is_named(x)), "")) or where
    blocks = [*chain.from_iterable(map(_blocks, agents))]
    if not blocks:
        raise UnreadablePartError("it has no memory blocks")
    for block in blocks:
        yield from skipping(where, _letta_block(block, name))


def _is_named(agent: object) -> bool:
    return isinstance(agent, Mapping) and isinstance(agent.get("name"), str)


def _blocks(agent: object) -> Iterator[Mapping[str, Any]]:
    for key in ("blocks", "core_memory"):
        listed = agent.get(key) if isinstance(agent, Mapping) else None
        yield from (each for each in _as_list(listed) if isinstance(each, Mapping))


def _letta_block(block: Mapping[str, Any], agent: str) -> Found:
    label, value = line_of(block.get("label")), block.get("value")
    if not label or not isinstance(value, str) or not value.strip():
        raise UnreadablePartError(f"the block {label or '(unnamed)'} is empty")
    values: dict[str, Value] = {
        "type": "note",
        "title": f"{agent}: {label}",
        "context": line_of(block.get("description"), None) or None,
        "content": value,
        "createdAt": time_of(block.get("created_at")),
    }
    yield exported_fact(block, value) or SourceFact(f"{agent}/{label}", values)


def read_memory_server(files: SourceFiles) -> Found:
    """The entities and relations of MCP's memory server (`memory.json`, lines of JSON)."""
    entities: dict[str, list[Mapping[str, Any]]] = {}
    relations: dict[str, dict[str, list[str]]] = {}

    def collect(value: Mapping[str, Any], _: str) -> Found:
        if value.get("type") == "entity" and (name := line_of(value.get("name"))):
            entities.setdefault(name, []).append(value)
        elif value.get("type") == "relation":
            name, verb, to = (line_of(value.get(x)) for x in ("from", "relationType", "to"))
            if name and verb and to:
                relations.setdefault(name, {}).setdefault(verb.replace(" ", "_"), []).append(to)
        else:
            raise UnreadablePartError("it is neither an entity nor a relation")
        yield from ()

    yield from read_objects(files, _named(files, (".json", ".jsonl")), collect)
    for name, found in entities.items():
        listed = chain.from_iterable(_as_list(each.get("observations")) for each in found)
        observed = [each for each in listed if isinstance(each, str)]
        kind = line_of(found[-1].get("entityType"))
        lines = [f"- {line_of(each, len(each))}" for each in dict.fromkeys(observed)]
        verbs = relations.get(name, {})
        lines += [f"- {verb.replace('_', ' ')} [[{x}]]" for verb in verbs for x in verbs[verb]]
        values: dict[str, Value] = {
            "type": kind.casefold() if kind.casefold() in NAMED_TYPES else "entity",
            "title": name,
            "content": "\n".join(lines) or name,
            "tags": _tags([] if kind.casefold() in NAMED_TYPES else [kind]),
        }
        yield SourceFact(name, values, (f"{name}.md",))


def _named(files: SourceFiles, endings: tuple[str, ...]) -> list[str]:
    return [each for each in files.names() if each.casefold().endswith(endings)]


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _tags(value: object) -> Value:
    """The words of a list that are valid tags in Obsidian."""
    words = [line_of(each, 50) for each in value] if isinstance(value, list) else []
    slugs = ["-".join("".join(c if c.isalnum() else " " for c in x).split()) for x in words]
    return [each for each in dict.fromkeys(slugs) if each and not each.isdigit()]
