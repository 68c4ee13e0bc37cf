"""The formats of other tools: a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vaultsync.exchange import agent_memories as agents
from vaultsync.exchange import chat_exports as chats
from vaultsync.exchange import markdown_folders as folders
from vaultsync.exchange import plain_tables as tables
from vaultsync.exchange import writers as to
from vaultsync.exchange.ports import SourceFiles
from vaultsync.exchange.source_facts import SourceFact, Unreadable
from vaultsync.model.fact import Fact

Reader = Callable[[SourceFiles], Iterator[SourceFact | Unreadable]]
Writer = Callable[[Iterable[Fact]], to.Files]


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


_CHATS = "the export, as ZIP, folder or `conversations.json`"
_OBJECTS = "a file with one object per line, or an array of objects"
_CLAUDE = "the folder `memory` of a project in `~/.claude/projects`, or a `CLAUDE.md`"
_ANY = "Markdown from Mem, another vault or any other tool"
_FILES = "a folder, a ZIP or a `.md` file"
_RULES = "a project folder, or a `.mdc` file"
_PAGES = "the export in Markdown, as ZIP or folder"
_ROWS: Sequence[tuple[str, str, str, Reader, Writer | None]] = (
    ("chatgpt", "ChatGPT", _CHATS, chats.read_chatgpt, None),
    ("claude", "Claude", _CHATS, chats.read_claude, None),
    (
        "basic-memory",
        "basic-memory",
        "a project folder",
        folders.read_basic_memory,
        to.write_basic_memory,
    ),
    ("mem0", "mem0", "the JSON of `get_all()`", agents.read_mem0, to.write_mem0),
    ("letta", "Letta or MemGPT", "an agent file (`.af`)", agents.read_letta, to.write_letta),
    ("mcp-memory", "the MCP memory server", "its `memory.json`", agents.read_memory_server, None),
    ("claude-code", "Claude Code", _CLAUDE, folders.read_claude_code, None),
    ("cursor", "Cursor's rules", _RULES, folders.read_cursor, None),
    ("notion", "Notion", _PAGES, folders.read_notion, None),
    ("markdown", _ANY, _FILES, folders.read_markdown, to.write_markdown),
    ("jsonl", "JSON Lines", _OBJECTS, tables.read_lines, to.write_lines),
    ("csv", "CSV", "a file with column names in the first row", tables.read_csv, None),
)
FORMATS: Mapping[str, ExchangeFormat] = {row[0]: ExchangeFormat(*row) for row in _ROWS}
"""The formats by their names on the command line."""
WRITTEN: Mapping[str, Writer] = {
    name: each.write for name, each in FORMATS.items() if each.write is not None
}
"""The formats that can be written."""
