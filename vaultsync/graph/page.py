"""A graph as one self-contained HTML page: no network, no other file.

Its content security policy allows only its own script and style sheet, by their hashes;
the text of facts reaches the page as data only.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from importlib.resources import files

from vaultsync.graph.colours import COLOURS, colour_of
from vaultsync.graph.model import EDGE_KINDS, Graph

_SCRIPTS = ("layout.js", "draw.js", "controls.js")
"""The parts of the script, in the order in which they run."""


def graph_to_html(graph: Graph) -> str:
    """A page with a drawing of the graph that can be moved, zoomed and searched."""
    script = "\n".join(map(_static, _SCRIPTS))
    style = _static("page.css")
    policy = (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(policy=policy, style=style, data=_data(graph), script=script)


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


_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>Memory graph</title>
<style>{style}</style>
</head>
<body>
<canvas id="picture" tabindex="0" role="application" aria-describedby="keys"
 aria-label="Drawing of the graph"></canvas>
<header>
<h1>Memory graph</h1>
<p id="summary"></p>
<div class="find">
<label for="search">Search</label>
<input id="search" type="search" placeholder="Title, type or path" autocomplete="off"
 spellcheck="false" role="combobox" aria-controls="results" aria-expanded="false">
<ul id="results" role="listbox" aria-label="Search results" hidden></ul>
</div>
</header>
<aside id="panel" aria-live="polite" hidden></aside>
<nav aria-label="Types"><ul id="legend"></ul></nav>
<div id="tools" role="group" aria-label="View">
<button id="out" type="button" aria-label="Zoom out">&#8722;</button>
<button id="in" type="button" aria-label="Zoom in">+</button>
<button id="fit" type="button">Fit</button>
<button id="theme" type="button">Dark</button>
</div>
<p id="keys">Drag to move, scroll to zoom. Arrows move, + and &#8722; zoom, 0 fits,
/ searches, Esc clears the selection.</p>
<noscript><p class="none">This page needs JavaScript to draw the graph.</p></noscript>
<script type="application/json" id="graph">{data}</script>
<script>{script}</script>
</body>
</html>
"""
