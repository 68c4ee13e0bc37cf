"""A colour for each type, and the colour groups of Obsidian's graph view."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.model.schema import TYPES, Value

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "#e0566f",
        "commitment": "#e8833a",
        "task": "#d9a514",
        "lesson": "#8aa62a",
        "convention": "#3f9d5a",
        "correction": "#1f9e8f",
        "fact": "#2b9bc4",
        "observation": "#4f7fe0",
        "preference": "#7d6ae0",
        "note": "#8b8fa3",
        "episodic": "#a8876b",
        "person": "#c558c0",
        "project": "#a24be0",
        "entity": "#d4618f",
        "unresolved": "#9a9a9a",
    }
)
"""Type -> colour; readable on light and on dark backgrounds."""

_HALF = re.compile("[\ud800-\udfff]")
OTHER_COLOUR = "#9a9a9a"


def colour_of(type_name: str) -> str:
    """The colour of a type, as `#rrggbb`."""
    return COLOURS.get(type_name, OTHER_COLOUR)


def merged_colours(text: str | None) -> str:
    """Obsidian's `graph.json` with a colour group for each type; the rest stays.

    The user's groups keep their colours and come first: Obsidian applies the first match.

    Raises:
        ValueError: the text is not JSON as Obsidian writes it.
    """
    try:
        return _merged(text)
    except RecursionError:
        why = "it is nested too deeply"
        raise ValueError(why) from None


def _merged(text: str | None) -> str:
    settings: Value = json.loads(text) if text and text.strip() else {}
    if not isinstance(settings, dict):
        why = "it is not a JSON object"
        raise ValueError(why)  # noqa: TRY004 - the file is wrong, not the call
    groups = settings.get("colorGroups", [])
    if not isinstance(groups, list):
        why = "its colour groups are not a list"
        raise ValueError(why)  # noqa: TRY004 - the same
    known = [each.get("query") for each in groups if isinstance(each, dict)]
    added = [
        {"query": query, "color": {"a": 1, "rgb": int(colour_of(name)[1:], 16)}}
        for name in TYPES
        if (query := f'[type:"{name}"]') not in known
    ]
    if text and not added:
        return text
    return settings_text({**settings, "colorGroups": [*groups, *added]})


def settings_text(settings: Mapping[str, object]) -> str:
    """The text of a settings file of Obsidian, as Obsidian writes it."""
    shown = json.dumps(settings, ensure_ascii=False, indent=2)
    # Half of a surrogate pair is no text that a file could hold; escaped it stays as it was.
    return json.dumps(settings, indent=2) if _HALF.search(shown) else shown
