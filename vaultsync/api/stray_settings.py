"""Names in the marker of a vault that are no settings: mistyped ones, as a rule.

They are left alone, so that an older vaultsync takes the file of a newer one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from pathlib import Path

from vaultsync.settings import (
    MARKER,
    MemoryFileSettings,
    PrivacySettings,
    Settings,
    WatchSettings,
)

_TABLES = {
    "watch": WatchSettings._fields,
    "memory_file": MemoryFileSettings._fields,
    "hygiene": PrivacySettings._fields,
}
_ELSEWHERE = {
    "": frozenset({"root", "state_dir", "agent", "models"}),
    "hygiene": frozenset({"optional"}),
}
"""What no file says: it comes from the caller, the environment or another setting."""


def unknown_settings_check(settings: Settings) -> tuple[str, bool, str, str]:
    """Whether each name in the marker is a setting, as a row of `doctor`."""
    said = tomllib.loads((settings.root / MARKER).read_text(encoding="utf-8"))
    found = _unknown_settings(said, Settings._fields)
    for table, names in _TABLES.items():
        found |= _unknown_settings(said.get(table, {}), names, table)
    folder = Path(settings.index_folder)
    for each in (folder, *folder.parents):
        if (settings.root / each).is_file():
            told = f"index_folder is {str(folder)!r}, but {str(each)!r} is a file"
            return "settings", False, told, "name a folder, or a new one"
    if not found:
        return "settings", True, "each name in .meta/config.toml is a setting", ""
    message = f"no setting in .meta/config.toml, and ignored: {', '.join(found)}"
    hint = ", ".join(f"`{like}` for {name}" for name, like in found.items() if like)
    return "settings", False, message, hint and f"is it {hint}?"


def _unknown_settings(
    said: Mapping[str, object], known: Iterable[str], table: str = ""
) -> dict[str, str]:
    """Names that are no settings, each with the one that is like it, or nothing."""
    names: AbstractSet[str] = frozenset(known) - _ELSEWHERE.get(table, frozenset())
    found = {}
    for name in sorted(said.keys() - names):
        like = get_close_matches(name, names, 1)
        found[f"[{table}] {name}" if table else name] = like[0] if like else ""
    return found
