"""The graph of the facts that an agent can see; built when asked for, never stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from vaultsync.errors import InvalidFieldError
from vaultsync.graph.graph_formats import EXPORTS, is_exported
from vaultsync.graph.model import (
    CANVAS,
    CANVAS_PREFIX,
    UNRESOLVED_PREFIX,
    Graph,
    GraphNode,
    build_graph,
    targets_in_texts,
)
from vaultsync.graph.stats import Neighbor, NodeName, find_neighbors, most_connected, name_of
from vaultsync.links.canvas import Canvas, iter_canvases
from vaultsync.links.index_sync import ID_KEYS, update_link_index
from vaultsync.links.ports import LinkIndex, LinkReference
from vaultsync.links.wikilinks import ID_PREFIX, NoteNames, find_by_name, name_key
from vaultsync.model.canonical import link_name
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, file_name_of, fold_case
from vaultsync.model.scope import check_scope
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.context import SyncContext

FACTS_READ_AT_ONCE = 500
"""Number of facts whose texts are in memory at the same time."""


class Neighborhood(NodeName, frozen=True):
    """A node, and the nodes near it."""

    depth: int
    """Maximum distance, in edges."""
    neighbors: tuple[Neighbor, ...]
    """Ordered by distance, then by name."""


class GraphExport(Struct, frozen=True):
    """A graph in one of its formats."""

    text: str
    format: str
    nodes: int
    links: int
    left_out: int = 0
    """Number of nodes left out because of the limits."""


def export_graph(
    ctx: SyncContext,
    links: LinkIndex,
    *,
    graph_format: str,
    agent: str | None,
    scope: str | None = None,
    around: str | None = None,
    depth: int = 1,
    limit: int | None = None,
    max_chars: int | None = None,
) -> GraphExport:
    """The graph, or the part of it around a node, as text.

    With a limit on the nodes or on the characters, those nearest to the node are kept, and those
    with the most links.

    Raises: as `load_graph_around()`, and
        InvalidFieldError: there is no such format.
    """
    if graph_format not in EXPORTS:
        raise InvalidFieldError("format", graph_format, "one of " + ", ".join(EXPORTS))
    centre: str | None = None
    if around is None:
        graph = load_graph(ctx, agent=agent, scope=scope)
    else:
        graph, centre = load_graph_around(ctx, links, around, depth=depth, agent=agent, scope=scope)
    total = len(graph.nodes)
    nodes = total if limit is None else min(limit, total)
    while True:
        part = graph.only(most_connected(graph, nodes, centre)) if nodes < total else graph
        text = EXPORTS[graph_format](part)
        if max_chars is None or len(text) <= max_chars or nodes <= 1:
            return GraphExport(text, graph_format, nodes, len(part.edges), total - nodes)
        nodes //= 2


def load_graph(ctx: SyncContext, *, agent: str | None, scope: str | None = None) -> Graph:
    """The graph of the facts that an agent can see, or only those of one scope.

    Raises:
        StoreUnavailableError: the store does not answer.
        InvalidScopeError: there is no such scope.
    """
    if scope is not None:
        check_scope(scope)
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    targets: dict[str, list[tuple[str, str]]] = {}
    same: dict[tuple[str, str], tuple[str, str]] = {}  # many links lead to few notes

    def without_texts() -> Iterator[Fact]:
        for fact in ctx.redacted_store.iter_facts():
            if ctx.policy.permissions.may_read(agent, fact.scope) and scope in (None, fact.scope):
                targets[fact.id] = [same.setdefault(x, x) for x in targets_in_texts(fact)]
                yield fact.evolve(path=paths.get(fact.id), content="", own={})

    canvases = _canvases(ctx, agent, scope)
    return build_graph(without_texts(), lambda fact: targets[fact.id], canvases)


def _canvases(ctx: SyncContext, agent: str | None, scope: str | None) -> list[Canvas]:
    """The canvases that an agent may see, without exports of the graph itself."""
    view = AgentView(ctx, agent)
    return [
        canvas
        for canvas in iter_canvases(ctx.vault)
        if scope in (None, canvas.path.partition("/")[0])
        and view.sees_note(canvas.path)
        and not is_exported(canvas)
    ]


def load_graph_around(
    ctx: SyncContext,
    links: LinkIndex,
    name: str,
    *,
    depth: int,
    agent: str | None,
    scope: str | None = None,
) -> tuple[Graph, str]:
    """The part of `load_graph()` up to `depth` edges from the node of a name; and the node's id.

    Only these facts are read, and those that share a name with one of them: the link index,
    which is brought up to date first, knows which they are.

    Raises: as `load_graph()`, and
        NotFoundError: no node, or more than one, has the name.
        IndexBusyError, OSError: as `LinkIndex.update()`.
    """
    # One step more: the edges between the nodes at the rim belong to the part, too.
    graph, node = _FactsAround(ctx, links, agent=agent, scope=scope).graph(name, depth + 1)
    near = (each.id for each in find_neighbors(graph, node.id, depth))
    return graph.only([node.id, *near]), node.id


def load_neighborhood(
    ctx: SyncContext,
    links: LinkIndex,
    name: str,
    *,
    depth: int,
    agent: str | None,
    scope: str | None = None,
) -> Neighborhood:
    """As `neighborhood()` of the whole graph; reads and raises as `load_graph_around()`."""
    graph, node = _FactsAround(ctx, links, agent=agent, scope=scope).graph(name, depth)
    return neighborhood(graph, node, depth)


class _FactsAround:
    """The facts of which a part of the graph is built.

    A link leads to a fact by the name of its file, its title or an alias. So with each name
    that a link to or from a node uses, all facts of that name are read: the link means in the
    part what it means in the whole. What the link index says is not read from their texts.
    """

    def __init__(
        self, ctx: SyncContext, links: LinkIndex, *, agent: str | None, scope: str | None
    ) -> None:
        if scope is not None:
            check_scope(scope)
        update_link_index(ctx.redacted_store, links)
        self._ctx = ctx
        self._links = links
        self._agent = agent
        self._scope = scope
        self._facts: dict[str, Fact | None] = {}
        """By id, without their texts; None for facts that are gone or cannot be seen."""
        self._leading: dict[str, list[LinkReference]] = {}
        """The links of a fact: those to a name that was asked for; of a node that was looked
        around, all."""
        self._around: set[str] = set()
        """The nodes whose edges were read."""
        self._canvases = {x.path: x for x in _canvases(ctx, agent, scope)}
        self._asked: set[str] = set()
        """Keys of the names whose links were read."""

    def graph(self, name: str, depth: int) -> tuple[Graph, GraphNode]:
        """A graph in which the node of a name has all that is up to `depth` edges from it.

        Returns:
            The graph, and the node.
        """
        name = link_name(name)
        key = name.lower()
        self._read([key, *(self._ctx.archive.known_ids(key) if ID_PREFIX.fullmatch(key) else ())])
        called = fold_case(name.removeprefix(CANVAS_PREFIX))
        self._read_on_canvases(
            path for path in self._canvases if called in map(fold_case, (path, file_name_of(path)))
        )
        self._read_linked([name, name.removeprefix(UNRESOLVED_PREFIX)])
        graph = self._built()
        node = find_node(graph, name)
        ring, step = [node], 0
        while ring:
            step += 1
            before = self._size()
            self._read_around(ring)
            if self._size() != before:  # only a hub without links of its own knew them all
                graph = self._built()
            near = find_neighbors(graph, node.id, step) if step < depth else []
            ring = [graph.nodes[each.id] for each in near if each.distance == step]
        return graph, graph.nodes[node.id]

    def _size(self) -> tuple[int, int]:
        """The numbers of facts and links that were read, which only grow."""
        return len(self._facts), sum(map(len, self._leading.values()))

    def _built(self) -> Graph:
        facts = filter(None, self._facts.values())
        return build_graph(facts, self._targets_of, self._canvases.values())

    def _targets_of(self, fact: Fact) -> Iterator[tuple[str, str]]:
        found = self._leading.get(fact.id, ())
        return ((link.key, link.target) for link in found if link.key not in ID_KEYS)

    def _read_around(self, nodes: Sequence[GraphNode]) -> None:
        """Read the facts that have an edge to or from some nodes."""
        own: list[str] = []
        for node in nodes:
            own += (node.id, node.path or "", node.label, *node.aliases)
        self._read_linked(own)
        targets: list[str] = []
        for node in nodes:
            self._around.add(node.id)
            self._leading[node.id] = self._links.links_from(node.id)
            targets += (link.target for link in self._leading[node.id])
        self._read_called(targets)
        self._read(targets)
        self._read_on_canvases(VaultPath(x.path or "") for x in nodes if x.type == CANVAS)

    def _read_on_canvases(self, paths: Iterable[VaultPath]) -> None:
        """Read the facts that some canvases link to."""
        for path in paths:
            self._read_called([each.link.target for each in self._canvases[path].links])

    def _read_linked(self, names: Collection[str]) -> None:
        """Read the facts with some names, and those that link to these."""
        self._read_called(names)
        new = set(map(name_key, names)) - self._asked
        self._asked |= new
        found = self._links.links_to(new)
        for each in found:
            if each.fact_id not in self._around:
                self._leading.setdefault(each.fact_id, []).append(each)
        self._read([each.fact_id for each in found])

    def _read_called(self, names: Collection[str]) -> None:
        files = self._ctx.archive.paths_called(names).values()
        self._read([*files, *self._links.called(names)])

    def _read(self, fact_ids: Iterable[str]) -> None:
        new = [each for each in dict.fromkeys(fact_ids) if each not in self._facts]
        for start in range(0, len(new), FACTS_READ_AT_ONCE):
            batch = new[start : start + FACTS_READ_AT_ONCE]
            paths = self._ctx.archive.note_paths(batch)
            facts = self._ctx.redacted_store.find_many(batch)
            permissions = self._ctx.policy.permissions
            for key in batch:
                fact = facts.get(key)
                seen = fact is not None and permissions.may_read(self._agent, fact.scope)
                if fact is None or not seen or self._scope not in (None, fact.scope):
                    self._facts[key] = None
                else:
                    self._facts[key] = fact.evolve(path=paths.get(key), content="", own={})


def find_node(graph: Graph, name: str) -> GraphNode:
    """The node with a name, id or path.

    Raises:
        NotFoundError: no node, or more than one, has it.
    """
    return find_by_name(
        name,
        graph.nodes.values(),
        lambda each: NoteNames(each.id, each.path, each.label, each.aliases),
        kind="node",
    )


def neighborhood(graph: Graph, node: GraphNode, depth: int = 1) -> Neighborhood:
    """A node, and the nodes up to `depth` edges from it."""
    return Neighborhood(*name_of(node), depth, tuple(find_neighbors(graph, node.id, depth)))
