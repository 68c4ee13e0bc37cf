"""The formats of other tools: a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from vaultsync.exchange import agent_memories, chat_exports, markdown_folders, plain_tables, writers
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import SourceFact, Unreadable
from vaultsync.model.fact import Fact

Reader = Callable[[SourceFiles], Iterator[SourceFact | Unreadable]]
Writer = Callable[[Iterable[Fact]], writers.Files]


@dataclass(frozen=True, slots=True)
class ExchangeFormat:
    """A format in which another tool keeps or exports memories."""

    name: str
    title: str
    reads: str
    """The expected input: a file, a folder or an archive."""
    read: Reader
    write: Writer | None = None
    """Facts -> files; None if the format can only be read."""


FORMATS: Mapping[str, ExchangeFormat] = {
    each.name: each
    for each in (
        ExchangeFormat(
            "chatgpt",
            "ChatGPT",
            "the export, as ZIP, folder or `conversations.json`",
            chat_exports.read_chatgpt,
        ),
        ExchangeFormat(
            "claude",
            "Claude",
            "the export, as ZIP, folder or `conversations.json`",
            chat_exports.read_claude,
        ),
        ExchangeFormat(
            "basic-memory",
            "basic-memory",
            "a project folder",
            markdown_folders.read_basic_memory,
            writers.write_basic_memory,
        ),
        ExchangeFormat(
            "mem0", "mem0", "the JSON of `get_all()`", agent_memories.read_mem0, writers.write_mem0
        ),
        ExchangeFormat(
            "letta",
            "Letta or MemGPT",
            "an agent file (`.af`)",
            agent_memories.read_letta,
            writers.write_letta,
        ),
        ExchangeFormat(
            "mcp-memory",
            "the MCP memory server",
            "its `memory.json`",
            agent_memories.read_memory_server,
        ),
        ExchangeFormat(
            "claude-code",
            "Claude Code",
            "the folder `memory` of a project in `~/.claude/projects`, or a `CLAUDE.md`",
            markdown_folders.read_claude_code,
        ),
        ExchangeFormat(
            "cursor",
            "Cursor's rules",
            "a project folder, or a `.mdc` file",
            markdown_folders.read_cursor,
        ),
        ExchangeFormat(
            "notion",
            "Notion",
            "the export in Markdown, as ZIP or folder",
            markdown_folders.read_notion,
        ),
        ExchangeFormat(
            "markdown",
            "Markdown from Mem, another vault or any other tool",
            "a folder, a ZIP or a file",
            markdown_folders.read_markdown,
            writers.write_markdown,
        ),
        ExchangeFormat(
            "jsonl",
            "JSON Lines",
            "a file with one object per line, or an array of objects",
            plain_tables.read_lines,
            writers.write_lines,
        ),
        ExchangeFormat(
            "csv", "CSV", "a file with column names in the first row", plain_tables.read_csv
        ),
    )
}
"""The formats by their names on the command line."""
WRITTEN: Mapping[str, Writer] = {
    name: each.write for name, each in FORMATS.items() if each.write is not None
}
"""The formats that can be written."""
