"""Positions of nodes in a YAML text, for error messages.

Slow (milliseconds), so used only where the fast reader is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_DEEPEST = 64
"""Deeper nodes are not needed, and hostile text nests thousands deep."""


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A node of the document, or the end of a list or map."""

    depth: int
    """1 is the root."""
    parent: int
    """Number of the list or map it lies in; 0 for the root."""
    is_key: bool
    is_end: bool
    text: str | None
    """Of a scalar; None for all others."""
    style: str
    """`plain`, `'`, `"`, `|`, `>` for scalars; `flow` or `block`; `alias`."""
    start: int
    """Characters from the start of the text."""
    tagged: bool
    anchor: str | None
    """The name of its anchor, or of the one that the alias stands for."""


@dataclass(frozen=True, slots=True)
class YamlOutline:
    """The nodes of a YAML text in order, up to the first error."""

    nodes: tuple[YamlNode, ...]
    whole: bool
    """Whether the end was reached."""


@lru_cache(maxsize=2)  # one text is asked for several times
def yaml_outline(yaml: str) -> YamlOutline:
    """The nodes of `yaml`; never raises."""
    found: list[YamlNode] = []
    try:
        for node in _walk(yaml):
            found.append(node)
            if node.depth > _DEEPEST:
                return YamlOutline(tuple(found), whole=False)
    except Exception:  # noqa: BLE001 - ruamel raises far more than its own errors
        return YamlOutline(tuple(found), whole=False)
    return YamlOutline(tuple(found), whole=True)


def _walk(yaml: str) -> Iterator[YamlNode]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - takes 60 ms, and is rarely needed

    # (number, is it a map, how many children so far) of every open list and map
    opened: list[tuple[int, bool, int]] = []
    numbers = 0
    for event in YAML(typ="safe", pure=True).parse(yaml):
        kind = type(event).__name__
        ends = kind in ("MappingEndEvent", "SequenceEndEvent")
        starts = kind in ("MappingStartEvent", "SequenceStartEvent")
        if not (ends or starts or kind in ("ScalarEvent", "AliasEvent")):
            continue
        if ends:
            opened.pop()
        parent, in_map, children = opened[-1] if opened else (0, False, 0)
        if opened and not ends:
            opened[-1] = (parent, in_map, children + 1)
        if starts:
            style = "flow" if event.flow_style else "block"
        elif kind == "ScalarEvent":
            style = event.style or "plain"
        else:
            style = "alias"
        yield YamlNode(
            depth=len(opened) + 1,
            parent=parent,
            is_key=in_map and not ends and children % 2 == 0,
            is_end=ends,
            text=event.value if kind == "ScalarEvent" else None,
            style=style,
            start=event.start_mark.index,
            tagged=not ends and getattr(event, "tag", None) is not None,
            anchor=None if ends else getattr(event, "anchor", None),
        )
        if starts:
            numbers += 1
            opened.append((numbers, kind == "MappingStartEvent", 0))


def alias_of_itself(yaml: str) -> YamlNode | None:
    """The first alias inside the list or map that it stands for, which the parser reads as null."""
    opened: list[str | None] = []
    for node in yaml_outline(yaml).nodes:
        if node.is_end:
            opened.pop()
        elif node.style == "alias":
            if node.anchor in opened:
                return node
        elif node.text is None:
            opened.append(node.anchor)
    return None
