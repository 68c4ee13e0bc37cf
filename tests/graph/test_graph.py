from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vaultsync.graph
from vaultsync.graph.colours import COLOURS, colour_of, merged_colours
from vaultsync.graph.graph_formats import (
    EXPORTS,
    begins_export,
    graph_to_canvas,
    graph_to_graphml,
    graph_to_html,
    graph_to_json,
)
from vaultsync.graph.model import Graph, GraphEdge, GraphNode, build_graph
from vaultsync.graph.service import find_node
from vaultsync.graph.stats import find_neighbors, graph_stats, most_connected, pagerank
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import TYPES, Value

LAYOUT = Path(vaultsync.graph.__file__).with_name("static") / "layout.js"


def number(n: int) -> str:
    return f"0193f6c2-0000-7000-8000-{n:012d}"


def a_fact(n: int, title: str, content: str = "", **values: Value) -> Fact:
    path = values.pop("path", f"public/{values.get('type', 'note')}/{title}.md")
    fact = make_fact({"id": number(n), "title": title, "content": content, **values})
    return fact.evolve(path=VaultPath(str(path)) if path else None)


ALICE = a_fact(1, "Alice", type="person", aliases=["Al"], reports_to=["[[Bob]]"])
BOB = a_fact(2, "Bob", type="person")
OLD = a_fact(3, "Old", "with [[Alice]] and [[alice|her]] [[#here]]", type="decision")
NEW = a_fact(
    4,
    "New",
    "![[p.png]] [x](https://a.b) [[#here]] [[New]] [[https://a.b]] ![[Nobody]]",
    type="decision",
    entities=["Alice", "Convex"],
    supersedesId=OLD.id,
    relatedFactIds=[BOB.id, number(99)],
    parentFactId=BOB.id,
    createdAt="2026-02-14T13:45:00Z",
)
BARE = a_fact(5, "No note yet", "[[Nobody]]", path="", aliases=["Bare"])
LONE = a_fact(6, "Lone", "see [[Bare]]", type="fact")
ALONE = a_fact(7, "Alone", type="fact")
FACTS = [ALICE, BOB, OLD, NEW, BARE, LONE, ALONE]


@pytest.fixture
def graph() -> Graph:
    return build_graph(reversed(FACTS))


@pytest.mark.parametrize(
    ("target", "is_node"),
    [
        ("Node.js", True),
        ("Booking.com", True),
        ("v1.2.rc1", True),
        ("report.PDF", False),
        ("pic.webp", False),
        ("Board.canvas", False),
        ("data/table.xlsx", False),
    ],
)
def test_a_name_with_a_dot_is_a_node_and_a_file_is_none(target: str, *, is_node: bool) -> None:
    graph = build_graph([a_fact(1, "One", f"[[{target}]]"), a_fact(2, "Two", f"[[{target}]]")])
    assert [each.label for each in graph.nodes.values()][2:] == [target] * is_node
    assert len(graph.edges) == 2 * is_node


def edges_of(graph: Graph) -> set[tuple[str, str, str, str, int]]:
    names = {key: node.label for key, node in graph.nodes.items()}
    return {(names[e.source], e.kind, e.label, names[e.target], e.weight) for e in graph.edges}


def test_facts_and_names_are_nodes_and_links_are_edges(graph: Graph) -> None:
    assert edges_of(graph) == {
        ("Alice", "relation", "reports_to", "Bob", 1),
        ("Old", "mentions", "", "Alice", 2),
        ("New", "mentions", "", "Alice", 1),
        ("New", "mentions", "", "Convex", 1),
        ("New", "mentions", "", "Nobody", 1),
        ("New", "supersedes", "", "Old", 1),
        ("New", "related", "", "Bob", 1),
        ("New", "follows", "", "Bob", 1),
        ("No note yet", "mentions", "", "Nobody", 1),
        ("Lone", "mentions", "", "No note yet", 1),
    }
    titles = [fact.title for fact in FACTS]
    assert [node.label for node in graph.nodes.values()] == [*titles, "Nobody", "Convex"]


def test_a_node_says_where_its_note_is(graph: Graph) -> None:
    assert graph.nodes[NEW.id] == GraphNode(
        NEW.id, "New", "decision", "public", NEW.path, "active", 2, "2026-02-14", ()
    )
    assert graph.nodes["name:convex"] == GraphNode("name:convex", "Convex", "unresolved")


def test_the_order_of_the_facts_does_not_matter(graph: Graph) -> None:
    assert build_graph(FACTS) == graph
    for make in EXPORTS.values():
        assert make(build_graph(FACTS)) == make(graph)


def test_the_beginning_of_an_export_is_recognised(graph: Graph) -> None:
    for make in EXPORTS.values():
        for each in (graph, build_graph([])):
            assert begins_export(make(each).encode())
    for other in (b"", b"<!doctype html>", b'{"nodes": []}', b"<?xml version='1.0'?>\n<graphml>"):
        assert not begins_export(other)


def test_a_subgraph_keeps_the_edges_between_its_nodes(graph: Graph) -> None:
    part = graph.only([ALICE.id, BOB.id])

    assert edges_of(part) == {("Alice", "relation", "reports_to", "Bob", 1)}


# -------------------------------------------------------------------------- stats


def _degree(graph: Graph, key: str) -> int:
    return sum((edge.source == key) + (edge.target == key) for edge in graph.edges)


def test_stats_count_components_hubs_and_orphans(graph: Graph) -> None:
    stats = graph_stats(graph, hubs=2)

    assert (stats.nodes, stats.links) == (9, 10)
    assert dict(stats.types) == {"decision": 2, "fact": 2, "person": 2, "unresolved": 2, "note": 1}
    assert next(iter(stats.types)) == "decision"
    assert (stats.kinds["mentions"], stats.components) == (6, (8,))
    assert ([hub.label for hub in stats.hubs], stats.hubs[0].degree) == (["Bob", "Nobody"], 2)
    most = sorted(graph.nodes, key=lambda key: (-_degree(graph, key), key))
    assert most_connected(graph, 2) == most[:2]
    assert [node.label for node in stats.orphans] == ["Alone"]


def test_an_empty_graph_has_stats_and_exports() -> None:
    empty = build_graph([])

    assert graph_stats(empty).components == ()
    assert pagerank(empty) == {}
    for make in EXPORTS.values():
        assert make(empty)


def graphs() -> st.SearchStrategy[Graph]:
    ids = [str(n) for n in range(6)]
    nodes = {key: GraphNode(key, key, "fact") for key in ids}
    ends = st.permutations(ids)
    edge = st.builds(
        lambda end, n: GraphEdge(end[0], end[1], "mentions", weight=n), ends, st.integers(1, 3)
    )
    return st.lists(edge, max_size=12).map(lambda edges: Graph(nodes, tuple(edges)))


@given(graphs())
def test_pagerank_agrees_with_networkx(graph: Graph) -> None:
    pytest.importorskip("scipy")
    nx = pytest.importorskip("networkx")
    exported = nx.DiGraph()
    exported.add_nodes_from(graph.nodes)
    for edge in graph.edges:
        before = exported.get_edge_data(edge.source, edge.target, {"weight": 0})["weight"]
        exported.add_edge(edge.source, edge.target, weight=before + edge.weight)

    ranks = pagerank(graph)

    assert sum(ranks.values()) == pytest.approx(1)
    assert ranks == pytest.approx(nx.pagerank(exported, tol=1e-10, max_iter=1000), abs=1e-6)


def test_pagerank_stops_after_some_steps(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultsync.graph.stats.STEPS", 1)

    assert sum(pagerank(graph).values()) == pytest.approx(1)


def test_a_node_is_found_by_any_of_its_names(graph: Graph) -> None:
    path = "public/person/alice"
    for name in ("Alice", " alice ", "Al", ALICE.id, f"{path}.md", path.title(), path):
        assert find_node(graph, name).id == ALICE.id
    assert find_node(graph, "convex").label == "Convex"
    assert find_node(build_graph([ALICE]), ALICE.id[:8]).id == ALICE.id


def test_neighbours_have_a_distance_and_the_edges_that_lead_to_them(graph: Graph) -> None:
    found = find_neighbors(graph, ALICE.id, 2)

    distances = {"Bob": 1, "New": 1, "Old": 1, "Convex": 2, "Nobody": 2}
    assert [(each.label, each.distance) for each in found] == list(distances.items())
    assert [edge.type for edge in found[0].via] == ["relation"]
    assert [edge.source for edge in found[3].via] == [NEW.id]
    assert [each.label for each in find_neighbors(graph, ALICE.id)] == ["Bob", "New", "Old"]
    assert find_neighbors(graph, ALONE.id, 3) == []


# ------------------------------------------------------------------------ exports


@given(graphs(), st.data())
def test_around_a_node_the_nearest_nodes_come_first(graph: Graph, data: st.DataObject) -> None:
    centre = data.draw(st.sampled_from(sorted(graph.nodes)))
    first, *others = most_connected(graph, len(graph.nodes), centre)
    near = {each.id: each.distance for each in find_neighbors(graph, centre, len(graph.nodes))}
    distances = [near.get(each, len(graph.nodes)) for each in others]
    assert first == centre
    assert distances == sorted(distances)
    assert most_connected(graph, 1, centre) == [centre]


def test_json_holds_nodes_and_links(graph: Graph) -> None:
    exported = json.loads(graph_to_json(graph))

    assert len(exported["nodes"]) == len(graph.nodes)
    assert exported["nodes"][3] == {
        "id": NEW.id,
        "label": "New",
        "type": "decision",
        "group": "public",
        "path": NEW.path,
        "status": "active",
        "priority": 2,
        "created": "2026-02-14",
    }
    assert exported["links"][0] == {
        "source": ALICE.id,
        "target": BOB.id,
        "type": "relation",
        "label": "reports_to",
        "weight": 1,
    }


def test_graphml_is_read_back_by_networkx(graph: Graph) -> None:
    nx = pytest.importorskip("networkx")
    text = graph_to_graphml(graph)

    back = nx.parse_graphml(text)

    assert set(back.nodes) == set(graph.nodes)
    assert back.number_of_edges() == len(graph.edges)
    assert back.nodes[NEW.id]["label"] == "New"
    ET.fromstring(text.encode())  # noqa: S314 - our own


def test_graphml_replaces_control_characters() -> None:
    text = graph_to_graphml(build_graph([a_fact(1, "x").evolve(title="a\x07b\ud800<&>")]))

    parsed = ET.fromstring(text.encode())  # noqa: S314 - our own
    labels = [each.text for each in parsed.iter() if each.get("key") == "label"]
    assert labels == ["a\ufffdb\ufffd<&>"]


COLOUR = re.compile(r"[1-6]|#[0-9a-f]{6}")
NEEDS: Mapping[str, tuple[str, ...]] = {"text": ("text",), "file": ("file",), "group": ()}
SIDES = {"top", "right", "bottom", "left"}


def check_canvas(text: str) -> dict[str, Any]:
    """Parse a canvas, and check it by JSON Canvas 1.0."""
    canvas: dict[str, Any] = json.loads(text)
    assert set(canvas) == {"nodes", "edges"}
    ids = [node["id"] for node in canvas["nodes"]]
    assert len({*ids}) == len(ids)
    for node in canvas["nodes"]:
        assert all(isinstance(node[key], int) for key in ("x", "y", "width", "height"))
        assert all(isinstance(node[key], str) for key in NEEDS[node["type"]])
        assert COLOUR.fullmatch(node["color"])
    edge_ids = [edge["id"] for edge in canvas["edges"]]
    assert len({*edge_ids}) == len(edge_ids)
    for edge in canvas["edges"]:
        assert {edge["fromNode"], edge["toNode"]} <= {*ids}
        assert {edge["fromSide"], edge["toSide"]} <= SIDES
        assert edge["toEnd"] in ("none", "arrow")
    return canvas


def test_a_canvas_follows_its_specification(graph: Graph) -> None:
    canvas = check_canvas(graph_to_canvas(graph))

    groups = [node["label"] for node in canvas["nodes"] if node["type"] == "group"]
    assert groups == ["decision (2)", "fact (2)", "note (1)", "person (2)", "unresolved (2)"]
    files = [node["file"] for node in canvas["nodes"] if node["type"] == "file"]
    assert len(files) == 6
    assert [node["type"] for node in canvas["nodes"][:5]] == ["group"] * 5
    labels = {edge.get("label") for edge in canvas["edges"]}
    assert labels == {None, "reports_to", "supersedes", "follows"}


def test_cards_of_a_canvas_lie_in_their_group_and_do_not_overlap() -> None:
    many = [a_fact(n, f"N{n}", type=name) for n, name in enumerate([*TYPES, "fact"] * 7, 1)]
    nodes = check_canvas(graph_to_canvas(build_graph(many)))["nodes"]

    def box(node: dict[str, int]) -> tuple[int, int, int, int]:
        x, y = node["x"], node["y"]
        return x, y, x + node["width"], y + node["height"]

    for kind in ("file", "group"):
        boxes = [box(node) for node in nodes if node["type"] == kind]
        for one, two in combinations(boxes, 2):
            apart = one[2] <= two[0] or two[2] <= one[0]
            assert apart or one[3] <= two[1] or two[3] <= one[1]
    frames = [box(node) for node in nodes if node["type"] == "group"]
    for node in nodes:
        x1, y1, x2, y2 = box(node)
        assert any(a <= x1 and b <= y1 and x2 <= c and y2 <= d for a, b, c, d in frames)


def test_a_card_of_a_canvas_shows_its_text_and_nothing_else() -> None:
    exported = build_graph([a_fact(1, "x", path="").evolve(title="# [[a]] `b`", type="odd")])
    texts = [n["text"] for n in check_canvas(graph_to_canvas(exported))["nodes"] if "text" in n]

    assert r"\# \[\[a\]\] \`b\`" in texts


# --------------------------------------------------------------------------- page


def part_of(page: str, tag: str, name: str = "script") -> str:
    """The content of an element that begins with a tag."""
    return page.partition(tag)[2].partition(f"</{name}>")[0]


def data_of(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(part_of(page, 'id="graph">'))
    return found


def run_node(script: str, *options: str) -> None:
    done = subprocess.run(
        ["node", *options], input=script, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no node here")


def test_a_page_is_self_contained(graph: Graph) -> None:
    page = graph_to_html(graph)

    script, style = part_of(page, "<script>"), part_of(page, "<style>", "style")
    for text, name in ((script, "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert page.count("<script") == 2
    rest = re.sub(r"sha256-[^']*", "", page)
    assert not re.search(r"(?:src|href|action)=|https?:|//[a-z]|@import|url\(", rest)
    assert not re.search(r"\son[a-z]+=|style=|javascript:", page)
    assert not re.search(r"innerHTML|outerHTML|document\.write|eval\(|Function\(", script)
    assert not re.search(r"fetch\(|XMLHttp|WebSocket|import\(|sendBeacon", script)


def test_the_text_of_facts_reaches_the_page_as_data_only() -> None:
    evil = "</script><script>alert(1)</script><!-- {x} &amp; \u2028 'q' \"p\" %s"
    page = graph_to_html(build_graph([a_fact(1, "x").evolve(title=evil)]))

    assert "<script>alert" not in page
    assert data_of(page)["nodes"][0][0] == evil


def test_a_page_shows_each_type_with_its_colour(graph: Graph) -> None:
    drawn = data_of(graph_to_html(graph))

    types = ("decision", "fact", "note", "person", "unresolved")
    assert drawn["types"] == [[name, COLOURS[name]] for name in types]
    assert [3, 1, 0, "", 1] not in drawn["links"]
    assert drawn["nodes"][0] == ["Alice", 3, ALICE.path, "public", "", "active"]


@needs_node
def test_the_layout_settles_and_is_deterministic() -> None:
    test = """
    const links = [];
    for (let i = 1; i < 300; i += 1) links.push([i, i % 7], [i, (i * 31) % 300]);
    const once = size => {
      const made = makeLayout(size, links.filter(([s, t]) => s !== t));
      let turns = 0;
      while (!made.run(0)) turns += 1;
      return [turns, [...made.x], [...made.y]];
    };
    for (const size of [320, 2000]) { // arranged at once, and from coarse to fine
      for (let i = 300; i < size - 20; i += 1) links.push([i, (i * 7) % i]);
      const [turns, x, y] = once(size);
      if (turns > 4000 || ![...x, ...y].every(Number.isFinite)) throw new Error("no rest");
      if (JSON.stringify(once(size)) !== JSON.stringify([turns, x, y])) throw new Error("random");
      const loose = Math.min(...y.slice(-20));
      if (loose <= Math.max(...y.slice(0, -20))) throw new Error("a loose node among the others");
    }
    for (const size of [0, 1]) makeLayout(size, []).run(Infinity);
    const twins = makeLayout(40, Array.from({ length: 39 }, (_, i) => [i + 1, 0]));
    twins.run(Infinity); twins.x.fill(3); twins.y.fill(4);
    twins.reheat(); twins.run(Infinity);
    if (new Set(twins.x).size < 20) throw new Error("they lie on each other");
    """
    run_node(LAYOUT.read_text(encoding="utf-8") + test, "-")


@needs_node
def test_the_script_of_the_page_is_javascript(graph: Graph) -> None:
    run_node(part_of(graph_to_html(graph), "<script>"), "--check", "-")


# ------------------------------------------------------------------------ colours


def test_every_type_has_a_colour_of_its_own() -> None:
    assert set(TYPES) < set(COLOURS)
    assert len({*COLOURS.values()}) == len(COLOURS)
    assert colour_of("odd") == COLOURS["unresolved"]


def test_colour_groups_are_merged_into_obsidians_settings() -> None:
    theirs = {"query": "tag:#x", "color": {"a": 1, "rgb": 1}}
    ours = {"query": '[type:"fact"]', "color": {"a": 1, "rgb": 2}}
    before = {"search": "é", "scale": 0.5, "colorGroups": [3, theirs, ours], "close": True}

    after = json.loads(merged_colours(json.dumps(before)))

    assert list(after) == list(before)
    assert {**after, "colorGroups": None} == {**before, "colorGroups": None}
    assert after["colorGroups"][:3] == [3, theirs, ours]
    queries = [group["query"] for group in after["colorGroups"][2:]]
    assert sorted(queries) == sorted(f'[type:"{name}"]' for name in TYPES)
    decision = {"query": '[type:"decision"]', "color": {"a": 1, "rgb": 0xE0566F}}
    assert decision in after["colorGroups"]


@pytest.mark.parametrize("text", [None, "", "  ", "{}", '{"colorGroups": []}'])
def test_colour_groups_are_added_once_where_there_are_none(text: str | None) -> None:
    once = merged_colours(text)

    assert len(json.loads(once)["colorGroups"]) == len(TYPES)
    assert merged_colours(once) == once


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"colorGroups": {}}', "[" * 100_000])
def test_settings_that_are_not_as_obsidian_writes_them_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        merged_colours(text)
