"""Measures of a graph: components, hubs, orphans, and the neighbours of a node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from operator import itemgetter, mul, sub

from msgspec import Struct

from vaultsync.extras import needs_extra
from vaultsync.graph.model import Graph, GraphEdge, GraphNode
from vaultsync.model.paths import fold_case

DAMPING = 0.85
"""The probability of following a link instead of jumping to any node (Brin and Page, 1998)."""
PRECISION = 1e-9
STEPS = 200


class NodeName(Struct, frozen=True):
    """The id, label, type and path of a node."""

    id: str
    label: str
    type: str
    path: str | None


class Hub(NodeName, frozen=True):
    """A node to which many others link."""

    rank: float
    """PageRank, from 0 to 1, to 6 digits; the ranks of all nodes add up to 1."""
    degree: int
    """The number of nodes to which it is connected, in either direction."""


class Joint(Struct, frozen=True):
    """An edge between two nodes."""

    source: str
    target: str
    type: str
    label: str
    """The name of the relation."""


class Neighbor(NodeName, frozen=True):
    """A node near another one."""

    distance: int
    """The distance in edges, from 1."""
    via: tuple[Joint, ...]
    """The edges to nodes that are one step nearer."""


class GraphStats(Struct, frozen=True):
    """The measures of a graph."""

    nodes: int
    links: int
    types: Mapping[str, int]
    kinds: Mapping[str, int]
    components: tuple[int, ...]
    """The number of nodes of each connected component, the largest first; without orphans."""
    hubs: tuple[Hub, ...]
    orphans: tuple[NodeName, ...]
    """The nodes without an edge."""


def graph_stats(graph: Graph, *, hubs: int = 10) -> GraphStats:
    """The measures of a graph, with at most `hubs` hubs."""
    with needs_extra("measuring the graph"):
        import networkx as nx  # noqa: PLC0415 - takes 0.2 s to load

    undirected = nx.Graph([(edge.source, edge.target) for edge in graph.edges])
    ranks = pagerank(graph)
    best = sorted(undirected, key=lambda key: (-ranks[key], graph.nodes[key].label, key))
    alone = [node for key, node in graph.nodes.items() if key not in undirected]
    return GraphStats(
        len(graph.nodes),
        len(graph.edges),
        _counted(node.type for node in graph.nodes.values()),
        _counted(edge.kind for edge in graph.edges),
        tuple(sorted(map(len, nx.connected_components(undirected)), reverse=True)),
        tuple(
            Hub(*name_of(graph.nodes[key]), round(ranks[key], 6), undirected.degree(key))
            for key in best[:hubs]
        ),
        tuple(NodeName(*name_of(node)) for node in alone),
    )


def name_of(node: GraphNode) -> tuple[str, str, str, str | None]:
    """The identifying values of a node: its id, label, type and path."""
    return node.id, node.label, node.type, node.path


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0])))


def pagerank(graph: Graph) -> dict[str, float]:
    """PageRank by power iteration over weighted edges; all ranks add up to 1.

    Plain Python, because the one in networkx needs scipy, which nothing else here does. What
    flows to a node is added up without a step of the interpreter for each edge.
    """
    count = len(graph.nodes)
    if not count:
        return {}
    number = {key: place for place, key in enumerate(graph.nodes)}
    total = [0] * count
    sources: dict[int, list[int]] = defaultdict(list)
    """Node -> the nodes that link to it, one as often as its edge weighs."""
    for edge in graph.edges:
        source = number[edge.source]
        total[source] += edge.weight
        sources[number[edge.target]] += [source] * edge.weight
    # A second place, because `itemgetter` returns no tuple for a single one.
    inflows = [(target, itemgetter(count, *places)) for target, places in sources.items()]
    damped = [DAMPING / each if each else 0.0 for each in total]
    dangling = [place for place in range(count) if not total[place]]
    ranks = [1 / count] * count
    for _ in range(STEPS):
        lost = sum(ranks[place] for place in dangling)
        base = (1 - DAMPING + DAMPING * lost) / count
        flows = [*map(mul, ranks, damped), base]
        new = [base] * count
        for target, inflow in inflows:
            new[target] = sum(inflow(flows))
        change = sum(map(abs, map(sub, new, ranks)))
        ranks = new
        if change < PRECISION:
            break
    return dict(zip(graph.nodes, ranks, strict=True))


def most_connected(graph: Graph, limit: int, around: str | None = None) -> list[str]:
    """The ids of at most `limit` nodes, those with the most edges first.

    Around a node, the nearest come first, and the node itself before them.
    """
    degree = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    far = len(graph.nodes)
    steps: dict[str, int] = {}
    if around is not None:
        near = find_neighbors(graph, around, far)
        steps = {around: 0, **{each.id: each.distance for each in near}}
    return sorted(graph.nodes, key=lambda key: (steps.get(key, far), -degree[key], key))[:limit]


def find_neighbors(graph: Graph, node_id: str, depth: int = 1) -> list[Neighbor]:
    """The nodes up to `depth` edges from a node, ordered by distance, then by name."""
    edges: dict[str, list[GraphEdge]] = defaultdict(list)
    for edge in graph.edges:
        edges[edge.source].append(edge)
        edges[edge.target].append(edge)
    distance = {node_id: 0}
    found: list[Neighbor] = []
    ring = [node_id]
    for step in range(1, depth + 1):
        via: dict[str, list[GraphEdge]] = defaultdict(list)
        for key in ring:
            for edge in edges[key]:
                other = edge.target if edge.source == key else edge.source
                if distance.get(other, step) == step:
                    via[other].append(edge)
                    distance[other] = step
        if not via:
            break
        ring = sorted(via, key=lambda key: (fold_case(graph.nodes[key].label), key))
        for key in ring:
            joints = tuple(Joint(e.source, e.target, e.kind, e.label) for e in via[key])
            found.append(Neighbor(*name_of(graph.nodes[key]), step, joints))
    return found
