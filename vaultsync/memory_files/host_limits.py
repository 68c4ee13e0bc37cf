"""How much of a memory file each host reads at the start of a session."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class HostLimits(NamedTuple):
    """The limits of one host for a file."""

    max_bytes: int | None
    """None if the host has no limit or documents none."""
    max_lines: int | None
    source: str
    """The source in the host's documentation."""
    file_names: tuple[str, ...] = ()
    """File names by which the host is recognised."""


GENERIC = "generic"
HOST_LIMITS: Mapping[str, HostLimits] = MappingProxyType(
    {
        # 25 KB are 25,600 bytes or 25,000; the smaller number holds in either case.
        "claude-code": HostLimits(
            25_000, 200, "https://code.claude.com/docs/en/memory", ("MEMORY.md", "CLAUDE.md")
        ),
        # `project_doc_max_bytes`, for all files from the root of the project on.
        "codex": HostLimits(
            32_768, None, "https://developers.openai.com/codex/guides/agents-md", ("AGENTS.md",)
        ),
        "gemini": HostLimits(
            None, None, "https://geminicli.com/docs/cli/gemini-md/", ("GEMINI.md",)
        ),
        # Advice: longer rules are read, too.
        "cursor": HostLimits(None, 500, "https://cursor.com/docs/context/rules"),
        "qwen": HostLimits(
            None, None, "https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/",
            ("QWEN.md",),
        ),
        GENERIC: HostLimits(None, None, "none: only the budget applies"),
    }
)  # fmt: skip
"""Name of a host -> its limits, which count the whole file."""


def host_of_file(name: str) -> str:
    """The host that reads files of this name; `generic` if unknown."""
    last = name.rpartition("/")[2]
    hosts = (host for host, limits in HOST_LIMITS.items() if last in limits.file_names)
    return next(hosts, GENERIC)
