"""A graph as JSON, GraphML, Obsidian canvas or page; the same graph gives the same bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType

from msgspec import to_builtins

from vaultsync.extras import needs_extra
from vaultsync.graph.colours import COLOURS, colour_of
from vaultsync.graph.model import (
    CANVAS,
    EDGE_KINDS,
    EDGE_MENTIONS,
    EDGE_RELATED,
    UNRESOLVED,
    Graph,
    GraphEdge,
    GraphNode,
)
from vaultsync.links.canvas import Canvas
from vaultsync.model.schema import TYPES, Value


def graph_to_json(graph: Graph) -> str:
    """`{"nodes": […], "links": […]}`, the format of D3 and many others."""
    exported = {
        "nodes": [_node_json(node) for node in graph.nodes.values()],
        "links": [to_builtins(edge) for edge in graph.edges],
    }
    return json.dumps(exported, ensure_ascii=False, indent=1) + "\n"


def _node_json(node: GraphNode) -> dict[str, Value]:
    return {key: value for key, value in to_builtins(node).items() if key != "aliases"}


# Not allowed in XML 1.0, not even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def graph_to_graphml(graph: Graph) -> str:
    """GraphML, for Gephi, yEd and Cytoscape."""
    with needs_extra("GraphML"):
        import networkx as nx  # noqa: PLC0415 - takes 0.2 s to load

    exported = nx.MultiDiGraph()  # type: ignore[var-annotated] # networkx has no types
    for node in graph.nodes.values():
        exported.add_node(_xml(node.id), **_attributes(_node_json(node), "id"))
    for number, edge in enumerate(graph.edges):
        attributes = _attributes(to_builtins(edge), "source", "target")
        exported.add_edge(_xml(edge.source), _xml(edge.target), f"e{number}", **attributes)
    lines = nx.generate_graphml(exported, named_key_ids=True)
    return "\n".join(["<?xml version='1.0' encoding='utf-8'?>", *lines, ""])


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _attributes(values: Mapping[str, Value], *excluded: str) -> dict[str, str | int]:
    """The values that GraphML can hold: texts and numbers."""
    return {
        key: _xml(value) if isinstance(value, str) else value
        for key, value in values.items()
        if key not in excluded and isinstance(value, (str, int))
    }


WIDTH, HEIGHT = 320, 120
"""The size of a card in pixels: enough for a title and one or two lines."""
GAP, CANVAS_MARGIN, BETWEEN = 40, 60, 260
"""Pixels between cards, around the cards of a group, and between groups."""


def graph_to_canvas(graph: Graph) -> str:
    """A JSON Canvas (spec 1.0): a group for each type, with a card for each note.

    Groups stand in rows, facts above entities; cards with the most edges come first.
    """
    degrees: dict[str, int] = defaultdict(int)
    for edge in graph.edges:
        degrees[edge.source] += 1
        degrees[edge.target] += 1
    nodes: list[dict[str, Value]] = []
    centres: dict[str, tuple[int, int]] = {}
    y = 0
    by_type: dict[str, list[GraphNode]] = defaultdict(list)
    for node in graph.nodes.values():
        by_type[node.type].append(node)
    for row in _rows(by_type):
        x = below = 0
        for type_name in row:
            cards = sorted(by_type[type_name], key=lambda n: (-degrees[n.id], n.label, n.id))
            columns = max(1, round(math.sqrt(len(cards) * 1.2)))
            for number, node in enumerate(cards):
                left = x + CANVAS_MARGIN + number % columns * (WIDTH + GAP)
                top = y + CANVAS_MARGIN + number // columns * (HEIGHT + GAP)
                nodes.append(_card(node, left, top))
                centres[node.id] = (left + WIDTH // 2, top + HEIGHT // 2)
            width = min(columns, len(cards)) * (WIDTH + GAP) - GAP + 2 * CANVAS_MARGIN
            lines = math.ceil(len(cards) / columns)
            height = lines * (HEIGHT + GAP) - GAP + 2 * CANVAS_MARGIN
            group = {"id": _group_id(type_name), "type": "group"}
            looks = {"color": colour_of(type_name), "label": f"{type_name} ({len(cards)})"}
            nodes.append({**group, **_box(x, y, width, height), **looks})
            x += width + BETWEEN
            below = max(below, height)
        y += below + BETWEEN
    # Obsidian draws the first nodes lowest: groups below their cards.
    nodes.sort(key=lambda node: node["type"] != "group")
    edges = [_arrow(edge, centres) for edge in graph.edges]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent="\t")


_ROWS = (
    ("decision", "commitment", "task", "lesson", "convention", "correction"),
    ("fact", "preference", "note", "episodic", "observation"),
    ("person", "project", "entity", "unresolved"),
)
"""The types of each row; any other type is in the last one."""


def _rows(types: Collection[str]) -> Iterator[list[str]]:
    others = sorted(set(types).difference(*_ROWS))
    rows = (*_ROWS[:-1], (*_ROWS[-1], *others))
    yield from filter(None, ([name for name in row if name in types] for row in rows))


def is_exported(canvas: Canvas) -> bool:
    """Whether a canvas is an export of a graph, which links to everything that it shows."""
    return not canvas.card_ids.isdisjoint(map(_group_id, (*TYPES, UNRESOLVED, CANVAS)))


def _group_id(type_name: str) -> str:
    return _hex(f"group {type_name}")


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _box(x: int, y: int, width: int, height: int) -> dict[str, Value]:
    return {"x": x, "y": y, "width": width, "height": height}


def _card(node: GraphNode, x: int, y: int) -> dict[str, Value]:
    card = {"id": _hex(node.id), **_box(x, y, WIDTH, HEIGHT), "color": colour_of(node.type)}
    if node.path is not None:
        return {**card, "type": "file", "file": node.path}
    return {**card, "type": "text", "text": _MARKUP.sub(r"\\\g<0>", node.label)}


_MARKUP = re.compile(r"[\\`*_\[\]<>#|~$%=]")


def _arrow(edge: GraphEdge, centres: Mapping[str, tuple[int, int]]) -> dict[str, Value]:
    (x1, y1), (x2, y2) = centres[edge.source], centres[edge.target]
    if abs(x2 - x1) * HEIGHT > abs(y2 - y1) * WIDTH:
        sides = ("right", "left") if x2 > x1 else ("left", "right")
    else:
        sides = ("bottom", "top") if y2 > y1 else ("top", "bottom")
    arrow: dict[str, Value] = {
        "id": _hex(f"{edge.source}\n{edge.target}\n{edge.kind}\n{edge.label}"),
        "fromNode": _hex(edge.source),
        "fromSide": sides[0],
        "toNode": _hex(edge.target),
        "toSide": sides[1],
        "toEnd": "none" if edge.kind == EDGE_RELATED else "arrow",
    }
    label = edge.label or ("" if edge.kind in (EDGE_MENTIONS, EDGE_RELATED) else edge.kind)
    return {**arrow, "label": label} if label else arrow


_SCRIPTS = ("layout.js", "draw.js", "controls.js")
"""The parts of the script, in the order in which they run."""


def graph_to_html(graph: Graph) -> str:
    """A self-contained page with a drawing of the graph that can be moved, zoomed and searched.

    Its content security policy allows only its own script and style sheet, by their hashes;
    the text of facts reaches the page as data only.
    """
    script = "\n".join(map(_static, _SCRIPTS))
    style = _static("page.css")
    policy = (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _static("page.html").format(policy=policy, style=style, data=_data(graph), script=script)


def _static(name: str) -> str:
    return (files("vaultsync.graph") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _data(graph: Graph) -> str:
    """The graph as compact JSON: types, kinds and nodes are referred to by number."""
    counts = Counter(node.type for node in graph.nodes.values())
    order = {name: place for place, name in enumerate(COLOURS)}
    types = sorted(counts, key=lambda name: (order.get(name, len(order)), name))
    number = {key: place for place, key in enumerate(graph.nodes)}
    data = {
        "types": [[name, colour_of(name)] for name in types],
        "kinds": list(EDGE_KINDS),
        "nodes": [
            [n.label, types.index(n.type), n.path, n.scope, n.created, n.status]
            for n in graph.nodes.values()
        ],
        "links": [
            [number[e.source], number[e.target], EDGE_KINDS.index(e.kind), e.label, e.weight]
            for e in graph.edges
        ],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # Escaped, so that no text can end its `<script>` element or begin another.
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


EXPORTS: Mapping[str, Callable[[Graph], str]] = MappingProxyType(
    {
        "json": graph_to_json,
        "graphml": graph_to_graphml,
        "canvas": graph_to_canvas,
        "html": graph_to_html,
    }
)
"""Format -> its writer."""

_BEGINNINGS = (
    b'{\n "nodes": [',
    b'{\n\t"nodes": [',
    b"<?xml version='1.0' encoding='utf-8'?>\n<graphml ",
)
_PAGE_TITLE, _LONGEST_HEAD = b"<title>Memory graph</title>", 1000


def begins_export(start: bytes) -> bool:
    """Whether a file that begins with these bytes is an export, in any format.

    A canvas that Obsidian saved is none, because the user may have rearranged it.
    """
    return start.startswith(_BEGINNINGS) or _PAGE_TITLE in start[:_LONGEST_HEAD]
