"""The graph of what somebody sees: made of the facts, never kept."""

from __future__ import annotations

from vaultsync.errors import NotFoundError
from vaultsync.graph.model import Graph, build_graph
from vaultsync.graph.stats import (
    GraphStats,
    Neighbor,
    NodeName,
    find_neighbors,
    find_nodes,
    graph_stats,
    name_of,
)
from vaultsync.model.scope import can_see, check_scope
from vaultsync.sync.context import SyncContext

MAX_HINT_NAMES = 5
"""Names that a hint lists."""


class Neighborhood(NodeName, frozen=True):
    """A node, and the nodes near it."""

    depth: int
    """Up to how many steps."""
    neighbors: tuple[Neighbor, ...]
    """The nearest first."""


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
    return graph.only([hood.id, *(each.id for each in hood.neighbors)])


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
    near = tuple(find_neighbors(graph, found[0].id, depth))
    return Neighborhood(*name_of(found[0]), depth, near)


def load_graph_stats(graph: Graph, *, hubs: int = 10) -> GraphStats:
    """What a graph looks like."""
    return graph_stats(graph, hubs=hubs)
