"""The graph of the facts that an agent can see; built when asked for, never stored."""

from __future__ import annotations

from vaultsync.graph.model import Graph, build_graph
from vaultsync.graph.stats import Neighbor, NodeName, find_neighbors, name_of
from vaultsync.links.wikilinks import NoteNames, find_by_name
from vaultsync.model.scope import can_see, check_scope
from vaultsync.sync.context import SyncContext


class Neighborhood(NodeName, frozen=True):
    """A node, and the nodes near it."""

    depth: int
    """Maximum distance, in edges."""
    neighbors: tuple[Neighbor, ...]
    """The nearest first, then by name."""


def load_graph(
    ctx: SyncContext,
    *,
    agent: str | None,
    scope: str | None = None,
    around: str | None = None,
    depth: int = 1,
) -> Graph:
    """The graph of the facts that an agent can see, or only those of one scope.

    With `around`, only the node with this name, and those up to `depth` edges from it.

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
    return graph.only([hood.id, *(each.id for each in hood.neighbors)])


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
    return Neighborhood(*name_of(node), depth, tuple(find_neighbors(graph, node.id, depth)))
