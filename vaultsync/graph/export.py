"""A graph as JSON, as GraphML, and as a canvas for Obsidian; the same for the same graph."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import MappingProxyType

from vaultsync.graph.colours import colour_of
from vaultsync.graph.model import EDGE_MENTIONS, EDGE_RELATED, Graph, GraphEdge, GraphNode
from vaultsync.graph.page import graph_to_html
from vaultsync.model.schema import Value


def graph_to_json(graph: Graph) -> str:
    """`{"nodes": […], "links": […]}`, as D3 and many others read it."""
    said = {
        "nodes": [_node_json(node) for node in graph.nodes.values()],
        "links": [_edge_json(edge) for edge in graph.edges],
    }
    return json.dumps(said, ensure_ascii=False, indent=1) + "\n"


def _node_json(node: GraphNode) -> dict[str, Value]:
    return {
        "id": node.id,
        "label": node.label,
        "type": node.type,
        "group": node.scope,
        "path": node.path,
        "status": node.status,
        "priority": node.priority,
        "created": node.created,
    }


def _edge_json(edge: GraphEdge) -> dict[str, Value]:
    return {
        "source": edge.source,
        "target": edge.target,
        "type": edge.kind,
        "label": edge.label,
        "weight": edge.weight,
    }


# XML 1.0 has no place for these, not even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def graph_to_graphml(graph: Graph) -> str:
    """GraphML, as Gephi, yEd and Cytoscape read it."""
    import networkx as nx  # noqa: PLC0415 - takes 0.2 s to load

    made = nx.MultiDiGraph()  # type: ignore[var-annotated]
    for node in graph.nodes.values():
        made.add_node(_xml(node.id), **_attributes(_node_json(node), "id"))
    for number, edge in enumerate(graph.edges):
        ends = _xml(edge.source), _xml(edge.target)
        said = _attributes(_edge_json(edge), "source", "target")
        made.add_edge(*ends, f"e{number}", **said)
    lines = nx.generate_graphml(made, named_key_ids=True)
    return "\n".join(["<?xml version='1.0' encoding='utf-8'?>", *lines, ""])


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _attributes(said: Mapping[str, Value], *ends: str) -> dict[str, str | int]:
    """What GraphML keeps of a node or an edge: texts and numbers."""
    return {
        key: _xml(value) if isinstance(value, str) else value
        for key, value in said.items()
        if key not in ends and isinstance(value, (str, int))
    }


# ------------------------------------------------------------------------- canvas

WIDTH, HEIGHT = 320, 120
"""Of a card, in pixels: a title and a line or two."""
GAP, CANVAS_MARGIN, BETWEEN = 40, 60, 260
"""Between cards, around them in their group, and between groups."""


def graph_to_canvas(graph: Graph) -> str:
    """A JSON Canvas (spec 1.0): a frame for each type, with a card for each note.

    Frames stand in rows, facts above what they are about; in each, the cards that are
    joined to most come first.
    """
    degrees: dict[str, int] = defaultdict(int)
    for edge in graph.edges:
        degrees[edge.source] += 1
        degrees[edge.target] += 1
    nodes: list[dict[str, Value]] = []
    centres: dict[str, tuple[int, int]] = {}
    y = 0
    for row in _rows(graph):
        x = below = 0
        for type_name, members in row:
            cards = sorted(members, key=lambda n: (-degrees[n.id], n.label, n.id))
            columns = max(1, round(math.sqrt(len(cards) * 1.2)))
            for number, node in enumerate(cards):
                left = x + CANVAS_MARGIN + number % columns * (WIDTH + GAP)
                top = y + CANVAS_MARGIN + number // columns * (HEIGHT + GAP)
                nodes.append(_card(node, left, top))
                centres[node.id] = (left + WIDTH // 2, top + HEIGHT // 2)
            width = min(columns, len(cards)) * (WIDTH + GAP) - GAP + 2 * CANVAS_MARGIN
            lines = math.ceil(len(cards) / columns)
            height = lines * (HEIGHT + GAP) - GAP + 2 * CANVAS_MARGIN
            nodes.append(_frame(type_name, len(cards), (x, y, width, height)))
            x += width + BETWEEN
            below = max(below, height)
        y += below + BETWEEN
    # What comes first lies below: frames under their cards.
    nodes.sort(key=lambda node: node["type"] != "group")
    edges = [_arrow(edge, centres) for edge in graph.edges]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent="\t")


_ROWS = (
    ("decision", "commitment", "task", "lesson", "convention", "correction"),
    ("fact", "preference", "note", "episodic", "observation"),
    ("person", "project", "entity", "unresolved"),
)
"""The types side by side in each row; a type that is in none gets the last one."""


def _rows(graph: Graph) -> list[list[tuple[str, list[GraphNode]]]]:
    by_type: dict[str, list[GraphNode]] = defaultdict(list)
    for node in graph.nodes.values():
        by_type[node.type].append(node)
    known = {name for row in _ROWS for name in row}
    others = tuple(sorted(by_type.keys() - known))
    rows = [*_ROWS[:-1], _ROWS[-1] + others]
    found = [[(name, by_type[name]) for name in row if name in by_type] for row in rows]
    return [row for row in found if row]


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _card(node: GraphNode, x: int, y: int) -> dict[str, Value]:
    place: dict[str, Value] = {"x": x, "y": y, "width": WIDTH, "height": HEIGHT}
    card: dict[str, Value] = {
        "id": _hex(node.id),
        **place,
        "color": colour_of(node.type),
    }
    if node.path is not None:
        return {**card, "type": "file", "file": node.path}
    return {**card, "type": "text", "text": _MARKUP.sub(r"\\\g<0>", node.label)}


_MARKUP = re.compile(r"[\\`*_\[\]<>#|~$%=]")


def _frame(type_name: str, many: int, box: tuple[int, int, int, int]) -> dict[str, Value]:
    x, y, width, height = box
    return {
        "id": _hex(f"group {type_name}"),
        "type": "group",
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "color": colour_of(type_name),
        "label": f"{type_name} ({many})",
    }


def _arrow(edge: GraphEdge, centres: Mapping[str, tuple[int, int]]) -> dict[str, Value]:
    (x1, y1), (x2, y2) = centres[edge.source], centres[edge.target]
    if abs(x2 - x1) * HEIGHT > abs(y2 - y1) * WIDTH:
        sides = ("right", "left") if x2 > x1 else ("left", "right")
    else:
        sides = ("bottom", "top") if y2 > y1 else ("top", "bottom")
    made: dict[str, Value] = {
        "id": _hex(f"{edge.source}\n{edge.target}\n{edge.kind}\n{edge.label}"),
        "fromNode": _hex(edge.source),
        "fromSide": sides[0],
        "toNode": _hex(edge.target),
        "toSide": sides[1],
        "toEnd": "none" if edge.kind == EDGE_RELATED else "arrow",
    }
    label = edge.label or ("" if edge.kind in (EDGE_MENTIONS, EDGE_RELATED) else edge.kind)
    return {**made, "label": label} if label else made


EXPORTS: Mapping[str, Callable[[Graph], str]] = MappingProxyType(
    {
        "json": graph_to_json,
        "graphml": graph_to_graphml,
        "canvas": graph_to_canvas,
        "html": graph_to_html,
    }
)
"""Format -> what makes it."""
