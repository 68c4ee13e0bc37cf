"""Resources: notes by the ids of their facts, and the tables in `.index/`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcp import types

from vaultsync.errors import NotFoundError

if TYPE_CHECKING:
    from vaultsync.mcp_server.agent_memory import AgentMemory

MARKDOWN_MIME = "text/markdown"
MAX_COMPLETIONS = 100
"""As many as the protocol takes."""
FACT_URI, INDEX_URI = "vaultsync://fact/", "vaultsync://index/"

TEMPLATES = [
    types.ResourceTemplate(
        name="note",
        title="The note of a fact",
        uriTemplate=FACT_URI + "{id}",
        description="The note of a fact as it is in the vault, by the id of the fact.",
        mimeType=MARKDOWN_MIME,
    ),
    types.ResourceTemplate(
        name="index",
        title="A table of contents",
        uriTemplate=INDEX_URI + "{name}",
        description="A table in `.index/`, such as vault-index.md or by-type.md: the notes,"
        " each with a summary and its length in tokens.",
        mimeType=MARKDOWN_MIME,
    ),
]


def list_resources(memory: AgentMemory) -> list[types.Resource]:
    """The tables in `.index/`; there are too many notes to list them."""
    return [
        types.Resource.model_validate(
            {
                "name": name,
                "title": _title(text) or name,
                "uri": INDEX_URI + quote(name),
                "description": "A table of contents of the facts you may see.",
                "mimeType": MARKDOWN_MIME,
                "size": len(text.encode()),
            }
        )
        for name, text in memory.tables().items()
    ]


def _title(text: str) -> str:
    heading = next((li for li in text.split("\n") if li.startswith("# ")), "")
    return heading.removeprefix("# ").strip()


def read_resource(memory: AgentMemory, uri: str) -> str:
    """The text of a resource; raises NotFoundError or InvalidIdError where there is none."""
    if uri.startswith(FACT_URI):
        return memory.note(unquote(uri.removeprefix(FACT_URI)))[1]
    name = unquote(uri.removeprefix(INDEX_URI))
    tables = memory.tables() if uri.startswith(INDEX_URI) else {}
    text = tables.get(name, tables.get(f"{name}.md"))
    if text is None:
        raise NotFoundError(
            f"there is no resource {uri[:200]}",
            hint=f"notes are at {FACT_URI}ID, tables at {INDEX_URI}vault-index.md",
        )
    return text


def complete(memory: AgentMemory, uri: str, typed: str) -> list[str]:
    """What the name in a URI of a template may be: an id or a path of a fact, or a table."""
    if uri.startswith(FACT_URI):
        return memory.complete_fact(unquote(typed))
    names = memory.tables() if uri.startswith(INDEX_URI) else ()
    return [each for each in names if each.startswith(typed)]
