"""What a graph looks like: its parts, its hubs, what stands alone, who is near whom."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from vaultsync.graph.model import Graph, GraphEdge, GraphNode
from vaultsync.links.wikilinks import fold_case
from vaultsync.model.paths import stem_of

DAMPING = 0.85
"""How likely one follows a link instead of starting anywhere; as in the paper of 1998."""
PRECISION = 1e-9
STEPS = 200


class NodeName(Struct, frozen=True):
    """A node by its name."""

    id: str
    label: str
    type: str
    path: str | None


class Hub(NodeName, frozen=True):
    """A node that many lead to."""

    rank: float
    """PageRank, to 6 digits; all ranks together are 1."""
    degree: int
    """How many nodes it is joined to."""


class Joint(Struct, frozen=True):
    """An edge that joins two nodes."""

    source: str
    target: str
    type: str
    label: str
    """The name of the relation."""


class Neighbor(NodeName, frozen=True):
    """A node near another one."""

    distance: int
    """Steps."""
    via: tuple[Joint, ...]
    """The edges that join it to those one step nearer."""


class GraphStats(Struct, frozen=True):
    """What a graph looks like."""

    nodes: int
    links: int
    types: Mapping[str, int]
    kinds: Mapping[str, int]
    components: tuple[int, ...]
    """How many nodes each connected part has, the largest first; orphans left out."""
    hubs: tuple[Hub, ...]
    orphans: tuple[NodeName, ...]
    """What is joined to nothing."""


def graph_stats(graph: Graph, *, hubs: int = 10) -> GraphStats:
    """What a graph looks like, with so many of its hubs."""
    import networkx as nx  # noqa: PLC0415 - takes 0.2 s to load

    near = _near(graph)
    plain = nx.Graph([(edge.source, edge.target) for edge in graph.edges])
    ranks = pagerank(graph)
    best = sorted(near, key=lambda key: (-ranks[key], graph.nodes[key].label, key))
    return GraphStats(
        len(graph.nodes),
        len(graph.edges),
        _counted(node.type for node in graph.nodes.values()),
        _counted(edge.kind for edge in graph.edges),
        tuple(sorted(map(len, nx.connected_components(plain)), reverse=True)),
        tuple(
            Hub(*name_of(graph.nodes[key]), round(ranks[key], 6), len(near[key]))
            for key in best[:hubs]
        ),
        tuple(NodeName(*name_of(node)) for key, node in graph.nodes.items() if key not in near),
    )


def name_of(node: GraphNode) -> tuple[str, str, str, str | None]:
    """What names a node: its id, label, type and path."""
    return node.id, node.label, node.type, node.path


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0])))


def _near(graph: Graph) -> dict[str, list[str]]:
    """The nodes that each node is joined to, either way, in a fixed order."""
    found: dict[str, dict[str, None]] = {}
    for edge in graph.edges:
        found.setdefault(edge.source, {})[edge.target] = None
        found.setdefault(edge.target, {})[edge.source] = None
    return {key: list(many) for key, many in found.items()}


def pagerank(graph: Graph) -> dict[str, float]:
    """PageRank by power iteration, the weight of an edge counting; all ranks add up to 1.

    Plain Python: networkx' own needs scipy, which nothing else here does.
    """
    count = len(graph.nodes)
    if not count:
        return {}
    number = {key: place for place, key in enumerate(graph.nodes)}
    total = [0.0] * count
    for edge in graph.edges:
        total[number[edge.source]] += edge.weight
    flows = [
        (number[e.source], number[e.target], e.weight / total[number[e.source]])
        for e in graph.edges
    ]
    ends = [place for place in range(count) if not total[place]]
    ranks = [1 / count] * count
    for _ in range(STEPS):
        stuck = sum(ranks[place] for place in ends)
        fresh = [(1 - DAMPING + DAMPING * stuck) / count] * count
        for source, target, share in flows:
            fresh[target] += DAMPING * share * ranks[source]
        change = sum(abs(a - b) for a, b in zip(fresh, ranks, strict=True))
        ranks = fresh
        if change < PRECISION:
            break
    return dict(zip(graph.nodes, ranks, strict=True))


def most_connected(graph: Graph, limit: int) -> list[str]:
    """The ids of so many nodes at most, those that are joined to most first."""
    degree = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    return sorted(graph.nodes, key=lambda key: (-degree[key], key))[:limit]


def find_nodes(graph: Graph, name: str) -> list[GraphNode]:
    """The nodes of that id, name, alias, file name or path, the best match first.

    What it is called counts for more than what it is also called.
    """
    key = fold_case(name.strip())
    matches: list[list[GraphNode]] = [[], [], []]
    for node in graph.nodes.values():
        path = fold_case(node.path or "")
        if key in (node.id, path, path.removesuffix(".md")):
            matches[0].append(node)
        elif key in (fold_case(node.label), stem_of(path)):
            matches[1].append(node)
        elif key in map(fold_case, node.aliases):
            matches[2].append(node)
    return next((many for many in matches if many), [])


def find_neighbors(graph: Graph, node_id: str, depth: int = 1) -> list[Neighbor]:
    """The nodes up to so many steps from a node, the nearest first, then by name."""
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
        ring = sorted(via, key=lambda key: (fold_case(graph.nodes[key].label), key))
        found += [
            Neighbor(*name_of(graph.nodes[key]), step, tuple(map(_joint, via[key]))) for key in ring
        ]
    return found


def _joint(edge: GraphEdge) -> Joint:
    return Joint(edge.source, edge.target, edge.kind, edge.label)
