"""The files of each host, the format of its entries, and where that is documented."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

EntryForm = Literal["json server", "vscode server", "toml server", "hooks", "flat hooks", "text"]
"""How an entry is written.

- `json server`: `{"mcpServers": {NAME: {"command", "args"}}}`;
- `vscode server`: `{"servers": {NAME: {"type": "stdio", "command", "args"}}}`;
- `toml server`: a table `[mcp_servers.NAME]`;
- `hooks`: `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command"}]}]}}`;
- `flat hooks`: `{"version": 1, "hooks": {EVENT: [{"command"}]}}`;
- `text`: a block of instructions in Markdown.
"""
System = Literal["linux", "macos"]


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file of a host that gets an entry."""

    form: EntryForm
    user: str | Mapping[System, str] = ""
    """Its place for all projects, below the home folder (`~`); "" for none."""
    project: str = ""
    """Its place in the folder of one project; "" for none."""
    events: Sequence[str] = ()
    """Of hooks: when the host is to call us."""
    preamble: str = ""
    """What a file that is ours alone begins with."""
    variable: str = ""
    """Name of a variable that replaces the folder of the file in the home folder."""


@dataclass(frozen=True, slots=True)
class Host:
    """A program that agents run in."""

    name: str
    title: str
    files: Sequence[HostFile]
    source: str
    """Where its formats are documented."""
    context_key: str = "hookSpecificOutput"
    """Where the output of its hook at the start of a session has the context."""


def _application(folder: str, file: str) -> Mapping[System, str]:
    return {
        "linux": f"~/.config/{folder}/{file}",
        "macos": f"~/Library/Application Support/{folder}/{file}",
    }


HOSTS: Mapping[str, Host] = {
    each.name: each
    for each in (
        Host(
            "claude-code",
            "Claude Code",
            (
                HostFile(
                    "json server", "~/.claude.json", ".mcp.json", variable="CLAUDE_CONFIG_DIR"
                ),
                HostFile(
                    "hooks",
                    "~/.claude/settings.json",
                    ".claude/settings.json",
                    events=("SessionStart", "PreCompact", "SessionEnd"),
                    variable="CLAUDE_CONFIG_DIR",
                ),
                HostFile("text", "~/.claude/CLAUDE.md", "CLAUDE.md", variable="CLAUDE_CONFIG_DIR"),
            ),
            "https://code.claude.com/docs/en/hooks",
        ),
        Host(
            "codex",
            "Codex",
            (
                HostFile(
                    "toml server",
                    "~/.codex/config.toml",
                    ".codex/config.toml",
                    variable="CODEX_HOME",
                ),
                # There is no event at the end of a session: `Stop` is the end of a turn.
                HostFile(
                    "hooks",
                    "~/.codex/hooks.json",
                    ".codex/hooks.json",
                    events=("SessionStart", "PreCompact", "Stop"),
                    variable="CODEX_HOME",
                ),
                HostFile("text", "~/.codex/AGENTS.md", "AGENTS.md", variable="CODEX_HOME"),
            ),
            "https://developers.openai.com/codex/hooks",
        ),
        Host(
            "cursor",
            "Cursor",
            (
                HostFile("json server", "~/.cursor/mcp.json", ".cursor/mcp.json"),
                HostFile(
                    "flat hooks",
                    "~/.cursor/hooks.json",
                    ".cursor/hooks.json",
                    events=("sessionStart", "preCompact", "sessionEnd"),
                ),
                HostFile(
                    "text",
                    project=".cursor/rules/vaultsync.mdc",
                    preamble="---\ndescription: The memory of vaultsync\nalwaysApply: true\n---\n",
                ),
            ),
            "https://cursor.com/docs/agent/hooks",
            context_key="additional_context",
        ),
        Host(
            "gemini",
            "Gemini CLI",
            (
                HostFile("json server", "~/.gemini/settings.json", ".gemini/settings.json"),
                HostFile(
                    "hooks",
                    "~/.gemini/settings.json",
                    ".gemini/settings.json",
                    events=("SessionStart", "PreCompress", "SessionEnd"),
                ),
                HostFile("text", "~/.gemini/GEMINI.md", "GEMINI.md"),
            ),
            "https://geminicli.com/docs/hooks/reference",
        ),
        Host(
            "vscode",
            "Visual Studio Code",
            (
                HostFile(
                    "vscode server", _application("Code/User", "mcp.json"), ".vscode/mcp.json"
                ),
                HostFile(
                    "text",
                    _application("Code/User", "prompts/vaultsync.instructions.md"),
                    ".github/copilot-instructions.md",
                    preamble='---\napplyTo: "**"\n---\n',
                ),
            ),
            "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
        ),
        Host(
            "claude-desktop",
            "Claude Desktop",
            (HostFile("json server", _application("Claude", "claude_desktop_config.json")),),
            "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        ),
    )
}
"""The hosts by their names on the command line."""
START_EVENTS = frozenset({"SessionStart", "sessionStart"})
"""The events at which a host takes context."""


def event_of(text: str) -> str:
    """The event that a host names; "" for none."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    name = given.get("hook_event_name") if isinstance(given, dict) else None
    return name if isinstance(name, str) else ""


def context_answer(host: str, event: str, text: str) -> str:
    """What a hook prints so that the host puts a text before its agent, as one line of JSON."""
    key = HOSTS[host].context_key
    if key != "hookSpecificOutput":
        return json.dumps({key: text}, ensure_ascii=False)
    answer = {"hookEventName": event, "additionalContext": text}
    return json.dumps({key: answer}, ensure_ascii=False)
