"""Kinds of markdown files that are not notes."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath

TABLE_MARK = "vaultsync: index"
"""The property that marks an index page in a visible folder."""
_TABLE_WORDS = TABLE_MARK.encode().split()


def is_table(data: bytes) -> bool:
    """Whether a file is a generated index page.

    A linter may have sorted its properties, added some, or quoted their values.
    """
    end = data.find(b"\n---", 3) if data.startswith(b"---") else -1
    if end < 0 or b"\nvaultsync:" not in data[:end]:
        return False
    lines = data[:end].replace(b'"', b"").replace(b"'", b"").splitlines()
    return any(line.split() == _TABLE_WORDS for line in lines)


TABLE_NAME = lazy_pattern(r"(?:vault-index|by-(?:type|priority|entity))(?:-[\w-]+)?\.md")


def is_index_page(index_folder: VaultPath, folder: VaultPath, name: str) -> bool:
    """Whether a file is in the visible copy of `.index/` and named like an index page."""
    return bool(index_folder) and folder == index_folder and TABLE_NAME.fullmatch(name) is not None


_CHANGES_NAME = lazy_pattern(r"\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d\.md")


def is_named_as_changes(name: str) -> bool:
    """Whether a file is named like a note of what changed in some days (`changes_name()`)."""
    return " to " in name and _CHANGES_NAME.fullmatch(name) is not None


def changes_name(first: str, last: str) -> str:
    """The name of a note of what changed from one day to another."""
    return f"{first} to {last}.md"


MODULE_SOURCE_PREFIX = "module:"
"""Prefix of the `source` of facts that come from modules and documents."""
_MODULE_NAME = lazy_pattern(r"memory-sync-backlog\.md|[^/]+/(?:[^/]+\.core|module-\d+-[^/]*)\.md")


def is_module_file(path: VaultPath, folders: Iterable[str]) -> bool:
    """Whether a file is in one of the folders of modules, and named like a file of a module."""
    return any(
        path.startswith(f"{each}/") and _MODULE_NAME.fullmatch(path[len(each) + 1 :])
        for each in folders
    )
