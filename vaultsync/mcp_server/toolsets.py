"""Toolsets: which tools are listed. The list is in the context of every session of an agent.

A tool that is not listed can still be called by its name.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from vaultsync.errors import ConfigError

MEMORY: Final = "memory"
REPO: Final = "repo"
MODULES: Final = "modules"
FILES: Final = "files"
SESSIONS: Final = "sessions"
TOOLSETS = (MEMORY, REPO, MODULES, FILES, SESSIONS)
AUTO, ALL = "auto", "all"
MEMORY_FILE = "MEMORY.md"
MODULES_FOLDER = Path("docs") / "memories"


def choose_toolsets(setting: str, folder: Path) -> frozenset[str]:
    """The toolsets that a server lists.

    Args:
        setting: `auto`, `all`, or names with commas between them. `auto` lists the tools for
            repositories in one, those for modules where it has their folder, and those for
            memory files where the folder has one.
        folder: that the server works in.

    Raises:
        ConfigError: a name is unknown.
    """
    names = [each.strip() for each in setting.split(",") if each.strip()] or [AUTO]
    if unknown := set(names) - {*TOOLSETS, AUTO, ALL}:
        message = f"unknown toolset {min(unknown)!r:.60}"
        raise ConfigError(message, hint=f"use auto, all, or some of {', '.join(TOOLSETS)}")
    if ALL in names:
        return frozenset(TOOLSETS)
    found = set(names) - {AUTO}
    if AUTO in names:
        found |= {MEMORY}
        here = folder.absolute()
        found |= {FILES} if (here / MEMORY_FILE).is_file() else set()
        root = next((x for x in (here, *here.parents) if os.path.lexists(x / ".git")), None)
        if root is not None:
            found |= {REPO}
            if (root / MODULES_FOLDER).is_dir():
                found |= {MODULES}
    return frozenset(found)
