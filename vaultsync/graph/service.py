"""The graph of what somebody sees: made of the facts, never kept."""

from __future__ import annotations

from dataclasses import dataclass

from vaultsync.errors import NotFoundError
from vaultsync.graph.model import Graph, GraphEdge, GraphNode, build_graph
from vaultsync.graph.stats import (
    GraphStats,
    Neighbor,
    find_neighbors,
    find_nodes,
    graph_stats,
)
from vaultsync.model.schema import Value
from vaultsync.model.scope import can_see, check_scope
from vaultsync.sync.context import SyncContext

MAX_HINT_NAMES = 5
"""Names that a hint lists."""


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
    return {
        "source": edge.source,
        "target": edge.target,
        "type": edge.kind,
        "label": edge.label,
    }


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
    """The graph of the facts that an agent sees.

    Args:
        ctx: the sides.
        agent: who looks; a person (None) sees all.
        scope: only the facts of one scope.
        around: only a node of that name, and those near it.
        depth: up to how many steps from it.

    Raises:
        StoreUnavailableError: the store does not answer.
        InvalidScopeError: the scope makes no sense.
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
    """The node of a name, and those up to so many steps from it.

    Raises:
        NotFoundError: no node, or more than one, has the name.
    """
    found = find_nodes(graph, name)
    if not found:
        message = f"nothing in the graph is called {name!r}"
        raise NotFoundError(message, hint="give a title, an alias, an id or the path of a note")
    if len(found) > 1:
        named = ", ".join(each.path or each.id for each in found[:MAX_HINT_NAMES])
        message = f"{len(found)} in the graph are called {name!r}"
        raise NotFoundError(message, hint=f"name one by its path: {named}")
    return Neighborhood(found[0], depth, tuple(find_neighbors(graph, found[0].id, depth)))


def load_graph_stats(graph: Graph, *, hubs: int = 10) -> GraphStats:
    """What a graph looks like."""
    return graph_stats(graph, hubs=hubs)
