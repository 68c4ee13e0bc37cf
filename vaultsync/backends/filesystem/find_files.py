"""Files below a folder: memory files by pattern, and all files of a vault."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

from vaultsync.errors import UnsafePathError
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, vault_path

DEFAULT_INCLUDE = ("MEMORY.md",)
"""The files of a folder that are read by default."""
DEFAULT_EXCLUDE = (
    *("**/node_modules/**", "**/.git/**", "**/dist/**"),
    *("**/CHANGELOG.md", "**/LICENSE.md"),
)
"""The files of a folder that are never read."""
_DRAFTS = lazy_pattern(r"\.#.*|.*~|.*\.sw[a-p]|.*\.tmp")
"""Temporary files of editors."""
_WILDCARD = lazy_pattern(r"\\.|(\[\^?\]?(?:\\.|[^\]\\])*\]|\.)")
"""A class or a dot of a regular expression; escaped characters are skipped."""


def find_memory_files(
    paths: Sequence[Path], *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> list[Path]:
    """The named files, existing or not, and the files of named folders that match.

    Links are followed, so that a file with two names appears once; sorted.
    """
    found: set[Path] = set()
    wanted = tuple(include) or DEFAULT_INCLUDE
    unwanted = (*DEFAULT_EXCLUDE, *exclude)
    for path in paths:
        if path.is_dir():
            found.update(_below(path, wanted, unwanted))
        else:
            found.add(Path(os.path.realpath(path)))
    return sorted(found)


def _below(root: Path, include: Sequence[str], exclude: Sequence[str]) -> list[Path]:
    found = []
    whole = [each for each in exclude if each.endswith("/**")]
    for folder, below, names in os.walk(root):
        way = Path(folder).relative_to(root).as_posix()
        prefix = "" if way == "." else f"{way}/"
        below[:] = [name for name in below if not matches(f"{prefix}{name}/.", whole)]
        for name in names:
            path = prefix + name
            if (
                matches(path, include)
                and not matches(path, exclude)
                and not _DRAFTS.fullmatch(name)
            ):
                found.append(Path(os.path.realpath(Path(folder) / name)))
    return found


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path with `/` matches one of the patterns, in which `**` is any folders."""
    return any(_pattern(each).fullmatch(path) for each in patterns)


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    *folders, name = glob.split("/")
    first, *groups = _between_stars([*folders, "**"] if name == "**" else folders)
    *middle, last = groups or [""]
    # The first place of a group is as good as any, because any folders may follow it.
    above = [f"(?>{_ANY_FOLDERS}?{each})" for each in middle if each]
    below = f"{_ANY_FOLDERS if groups else ''}{last}{'[^/]+' if name == '**' else _part(name)}"
    return re.compile("".join((first, *above, below)))


_ANY_FOLDERS = "(?:[^/]+/)*"


def _between_stars(folders: Sequence[str]) -> list[str]:
    """The regular expressions of the folders before, between and behind each `**`."""
    groups = [""]
    for each in folders:
        if each == "**":
            groups.append("")
        else:
            groups[-1] += f"{_part(each)}/"
    return groups


def _part(glob: str) -> str:
    """The regular expression of a part of a pattern, which does not match a `/` either."""
    inside = translate(glob).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(r")\z")
    return _WILDCARD.sub(_without_slash, inside)


def _without_slash(match: re.Match[str]) -> str:
    if match[0] == ".":
        return "[^/]"
    return f"(?!/){match[0]}" if match[1] else match[0]


def vault_files(root: Path) -> Iterator[VaultPath]:
    """The paths of all files below the root that Obsidian shows, unordered, spelled as on disk.

    All notes are among them. Hidden files and folders are left out, and so are names that are
    invalid in a vault, and unreadable folders.
    """
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        prefix = Path(folder).relative_to(root).as_posix()
        for name in names:
            path = name if prefix == "." else f"{prefix}/{name}"
            try:
                vault_path(path)
            except UnsafePathError:
                continue
            yield VaultPath(path)
