"""Write facts in the formats of other tools. Reading them again gives the same facts.

If a format has metadata, all values of a fact are in it, under `OURS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress

from vaultsync.errors import UnsafePathError
from vaultsync.exchange.markdown_folders import heading_of
from vaultsync.exchange.source_facts import OURS, line_of
from vaultsync.markdown.yaml.writer import emit_property
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import slug
from vaultsync.model.paths import vault_path
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_to_json, fact_to_values

Files = Iterator[tuple[str, Iterable[str]]]
"""File names, and their texts in pieces."""


def write_lines(facts: Iterable[Fact]) -> Files:
    """All facts in one file of JSON Lines."""
    yield "memories.jsonl", (f"{fact_to_json(each)}\n" for each in facts)


def write_markdown(facts: Iterable[Fact]) -> Files:
    """A file per fact in the folder of its scope, with properties that other tools know."""
    taken = set[str]()
    for fact in facts:
        name = _free(f"{fact.scope}/{slug(fact.title) or fact.type}", fact.id, taken)
        values: dict[str, Value] = {
            "id": fact.id,
            "title": fact.title,
            "type": fact.type,
            "description": fact.context,
            "tags": [*fact.tags],
            "aliases": [*fact.aliases],
            "created": fact.created_at,
            "updated": fact.updated_at,
        }
        yield f"{name}.md", (_document(values, fact),)


def write_basic_memory(facts: Iterable[Fact]) -> Files:
    """A note per fact in the format of basic-memory, with its permalink."""
    taken = set[str]()
    for fact in facts:
        preferred = _permalink_of(fact) or f"{fact.scope}/{slug(fact.title) or fact.type}"
        name = _free(preferred, fact.id, taken)
        values: dict[str, Value] = {
            "title": fact.title,
            "type": fact.type,
            "permalink": name,
            "tags": [*fact.tags],
            "aliases": [*fact.aliases],
            "created": fact.created_at,
            "updated": fact.updated_at,
            "id": fact.id,
        }
        yield f"{name}.md", (_document(values, fact),)


_MAX_PERMALINK = 200
"""Bytes."""


def _permalink_of(fact: Fact) -> str:
    """The permalink of a fact, which another tool may have given it, if it names a file.

    It leaves room for what `_free()` appends, and no folder in it is the file of another one.
    """
    known = fact.properties.get("permalink")
    if not isinstance(known, str) or len(known.encode()) > _MAX_PERMALINK:
        return ""
    with suppress(UnsafePathError):
        path = vault_path(known)
        return "" if ".md/" in path.lower() else path
    return ""


def write_mem0(facts: Iterable[Fact]) -> Files:
    """A list as from `get_all()`, which can be read one element at a time."""
    yield "memories.json", _json_list(_mem0_memory(each) for each in facts)


def _mem0_memory(fact: Fact) -> dict[str, object]:
    return {
        "id": fact.id,
        "memory": fact.content or fact.title,
        "user_id": fact.user_id,
        "agent_id": fact.agent_id,
        "run_id": fact.session_id,
        "categories": fact.tags,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
        "metadata": _metadata(fact),
    }


def write_letta(facts: Iterable[Fact]) -> Files:
    """An agent file with one agent, which has a block for each fact."""
    yield "vaultsync.af", _agent_file(facts)


def _agent_file(facts: Iterable[Fact]) -> Iterator[str]:
    count, taken = 0, set[str]()

    def blocks() -> Iterator[dict[str, object]]:
        nonlocal count
        for fact in facts:
            text = fact.content or fact.title
            yield {
                "id": f"block-{count}",
                "label": _free(slug(fact.title) or fact.type, fact.id, taken),
                "description": fact.context or None,
                "value": text,
                "limit": max(len(text), _BLOCK_LIMIT),
                "metadata": _metadata(fact),
            }
            count += 1

    yield '{"blocks": '
    yield from _json_list(blocks())
    ids = [f"block-{number}" for number in range(count)]
    agent = {"id": "agent-0", "name": "vaultsync", "block_ids": ids}
    none = ("groups", "files", "sources", "tools", "mcp_servers")
    rest = json.dumps({"agents": [agent], **{key: [] for key in none}})
    yield f", {rest[1:]}\n"


_BLOCK_LIMIT = 5000
"""The smallest limit, in characters, that a block of Letta can have."""


def _metadata(fact: Fact) -> dict[str, object]:
    # Without this key, a text that equals the title means that there is no content.
    values = fact_to_values(fact)
    return {OURS: {k: x for k, x in values.items() if k != "content" or x == fact.title}}


def _json_list(rows: Iterable[dict[str, object]]) -> Iterator[str]:
    before = "["
    for row in rows:
        kept = {key: value for key, value in row.items() if value not in (None, ())}
        yield f"{before}\n{json.dumps(kept, ensure_ascii=False)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _free(name: str, fact_id: str, taken: set[str]) -> str:
    """A unique file name, even on case-insensitive file systems."""
    while name.casefold() in taken:
        name = f"{name}-{fact_id[-12:]}"
    taken.add(name.casefold())
    return name


def _document(values: dict[str, Value], fact: Fact) -> str:
    """A file with properties and the content.

    Readers remove a heading that equals the title, so such a heading is written twice.
    """
    head = "".join(emit_property(key, value) for key, value in values.items() if value)
    title = heading_of(fact.content)
    above = f"# {title}\n\n" if title and title == line_of(fact.title, None) else ""
    return f"---\n{head}---\n\n{above}{fact.content or fact.title}\n"
