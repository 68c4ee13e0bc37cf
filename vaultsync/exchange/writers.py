"""Facts in the forms of other tools. Read again, each is the fact that it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultsync.exchange.markdown_folders import heading_of
from vaultsync.exchange.source_facts import line_of
from vaultsync.markdown.yaml.writer import emit_property
from vaultsync.model.fact import Fact
from vaultsync.model.paths import slug
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_to_json

Files = Iterator[tuple[str, Iterable[str]]]
"""Names of files, and their texts in pieces."""


def write_lines(facts: Iterable[Fact]) -> Files:
    """All facts in one file of JSON Lines."""
    yield "memories.jsonl", (f"{fact_to_json(each)}\n" for each in facts)


def write_markdown(facts: Iterable[Fact]) -> Files:
    """A file for each fact in the folder of its scope, with what other tools understand of it."""
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
    """A note for each fact, as basic-memory keeps them, with its permalink."""
    taken = set[str]()
    for fact in facts:
        known = fact.properties.get("permalink")
        permalink = known if isinstance(known, str) else ""
        wanted = permalink or f"{fact.scope}/{slug(fact.title) or fact.type}"
        name = _free(wanted, fact.id, taken)
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


def _free(name: str, fact_id: str, taken: set[str]) -> str:
    """A name that no other file has, also where case does not count."""
    if name.casefold() in taken:
        name = f"{name}-{fact_id[-12:]}"
    taken.add(name.casefold())
    return name


def _document(values: dict[str, Value], fact: Fact) -> str:
    """A file of some properties and the content.

    Readers take a heading that is the title away. So one that the content has is written twice.
    """
    head = "".join(emit_property(key, value, "\n") for key, value in values.items() if value)
    title = heading_of(fact.content)
    above = f"# {title}\n\n" if title and title == line_of(fact.title) else ""
    return f"---\n{head}---\n\n{above}{fact.content or fact.title}\n"
