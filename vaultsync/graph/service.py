"""The graph of the facts that an agent can see; built when asked for, never stored."""

from __future__ import annotations

from dataclasses import dataclass

from vaultsync.graph.model import Graph, GraphEdge, GraphNode, build_graph
from vaultsync.graph.stats import GraphStats, Neighbor, find_neighbors
from vaultsync.links.wikilinks import NoteNames, find_by_name
from vaultsync.model.schema import Value
from vaultsync.model.scope import can_see, check_scope
from vaultsync.sync.context import SyncContext


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """A node, and the nodes near it."""

    node: GraphNode
    depth: int
    near: tuple[Neighbor, ...]

    def as_json(self) -> dict[str, Value]:
        """The neighbourhood as JSON."""
        return {
            **node_json(self.node),
            "depth": self.depth,
            "neighbors": [
                {
                    **node_json(each.node),
                    "distance": each.distance,
                    "via": [_edge_json(edge) for edge in each.via],
                }
                for each in self.near
            ],
        }


def node_json(node: GraphNode) -> dict[str, Value]:
    """A node as JSON."""
    return {"id": node.id, "label": node.label, "type": node.type, "path": node.path}


def _edge_json(edge: GraphEdge) -> dict[str, Value]:
    return {"source": edge.source, "target": edge.target, "type": edge.kind, "label": edge.label}


def stats_json(stats: GraphStats) -> dict[str, Value]:
    """What a graph looks like, as JSON."""
    return {
        "nodes": stats.nodes,
        "links": stats.edges,
        "types": dict(stats.types),
        "kinds": dict(stats.kinds),
        "components": list(stats.components),
        "hubs": [
            {**node_json(hub.node), "rank": round(hub.rank, 6), "degree": hub.degree}
            for hub in stats.hubs
        ],
        "orphans": [node_json(node) for node in stats.orphans],
    }


def load_graph(
    ctx: SyncContext,
    *,
    agent: str | None,
    scope: str | None = None,
    around: str | None = None,
    depth: int = 1,
) -> Graph:
    """The graph of the facts that an agent can see.

    Args:
        ctx: the two sides.
        agent: whose facts; the user (None) sees all.
        scope: only the facts of one scope.
        around: only the node with this name, and those near it.
        depth: maximum distance from that node, in edges.

    Raises:
        StoreUnavailableError: the store does not answer.
        InvalidScopeError: there is no such scope.
        NotFoundError: no node, or more than one, has the name.
    """
    if scope is not None:
        check_scope(scope)
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    graph = build_graph(
        fact.evolve(path=paths.get(fact.id))
        for fact in ctx.redacted_store.iter_facts()
        if can_see(agent, fact.scope) and scope in (None, fact.scope)
    )
    if around is None:
        return graph
    hood = neighborhood(graph, around, depth)
    return graph.only([hood.node.id, *(each.node.id for each in hood.near)])


def neighborhood(graph: Graph, name: str, depth: int = 1) -> Neighborhood:
    """The node with a name, and the nodes up to `depth` edges from it.

    Raises:
        NotFoundError: no node, or more than one, has the name.
    """
    node = find_by_name(
        name,
        graph.nodes.values(),
        lambda each: NoteNames(each.id, each.path, each.label, each.aliases),
        kind="node",
    )
    return Neighborhood(node, depth, tuple(find_neighbors(graph, node.id, depth)))
