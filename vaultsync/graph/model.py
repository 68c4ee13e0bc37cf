"""The graph of a memory: facts and entities, and what joins them.

Plain values in a fixed order, so that every export is the same for the same facts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vaultsync.links.references import fact_links
from vaultsync.links.wikilinks import LinkResolver, fold_case
from vaultsync.model.fact import Fact, relations
from vaultsync.model.paths import VaultPath, stem_of

EDGE_MENTIONS, EDGE_RELATION, EDGE_RELATED = "mentions", "relation", "related"
EDGE_SUPERSEDES, EDGE_FOLLOWS = "supersedes", "follows"
EDGE_KINDS = (EDGE_MENTIONS, EDGE_RELATION, EDGE_RELATED, EDGE_SUPERSEDES, EDGE_FOLLOWS)
"""What an edge says: links and entities; a property that holds links; related facts; a
newer fact that replaces an older one; a fact that follows up another."""
UNRESOLVED = "unresolved"
"""The type of what is linked to and has no note."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A fact, or a name that links lead to and that is no fact's."""

    id: str
    """Of the fact; `name:` and the folded name of what is unresolved."""
    label: str
    type: str
    scope: str = ""
    path: str | None = None
    status: str = ""
    priority: int | None = None
    created: str = ""
    """The day."""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """What joins two nodes."""

    source: str
    target: str
    kind: str
    label: str = ""
    """The name of the relation."""
    weight: int = 1
    """How often it is said."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by id, and edges between them; no edge leads from a node to itself."""

    nodes: Mapping[str, GraphNode]
    edges: tuple[GraphEdge, ...]

    def only(self, ids: Iterable[str]) -> Graph:
        """Some nodes, and the edges between them."""
        kept = set(ids)
        nodes = {key: node for key, node in self.nodes.items() if key in kept}
        edges = tuple(e for e in self.edges if e.source in kept and e.target in kept)
        return Graph(nodes, edges)


def build_graph(facts: Iterable[Fact]) -> Graph:
    """The graph of some facts, each with the path of its note; of others nothing is said.

    A link means what it means in Obsidian; a name that is no file's may still be the
    title or alias of just one fact.
    """
    known = sorted(facts, key=lambda fact: fact.id)
    nodes = {fact.id: _node(fact) for fact in known}
    finder = _Finder(known)
    said: Counter[GraphEdge] = Counter()
    for fact in known:
        for kind, label, target in _edges_of(fact, finder):
            if isinstance(target, GraphNode):
                nodes.setdefault(target.id, target)
                target = target.id  # noqa: PLW2901 - a name, from here on
            if target in nodes and target != fact.id:
                said[GraphEdge(fact.id, target, kind, label)] += 1
    order = {key: number for number, key in enumerate(nodes)}
    edges = [
        GraphEdge(edge.source, edge.target, edge.kind, edge.label, number)
        for edge, number in said.items()
    ]
    edges.sort(key=lambda e: (order[e.source], order[e.target], e.kind, e.label))
    return Graph(nodes, tuple(edges))


def _node(fact: Fact) -> GraphNode:
    return GraphNode(
        fact.id,
        fact.title or fact.type.capitalize(),
        fact.type,
        fact.scope,
        fact.path,
        fact.status,
        fact.priority,
        fact.created_at[:10],
        fact.aliases,
    )


class _Finder:
    """Which fact a link leads to."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        by_path: dict[VaultPath, str] = {}
        self._called: dict[str, set[str]] = {}
        for fact in facts:
            if fact.path is not None:
                by_path[fact.path] = fact.id
            for name in (fact.title, *fact.aliases):
                self._called.setdefault(fold_case(name), set()).add(fact.id)
        self._ids = by_path
        self._names = LinkResolver.of(by_path)

    def find(self, target: str, source: VaultPath) -> str | GraphNode | None:
        """The id of a fact, or a node for what is unresolved; None for attachments."""
        path = self._names.resolve(target, source)
        if path is not None:
            return self._ids.get(path)
        name = stem_of(target.strip())
        called = self._called.get(fold_case(name), set())
        if len(called) == 1:
            return next(iter(called))
        if _ATTACHMENT.search(target) or "://" in target or not name:
            return None
        return GraphNode(f"name:{fold_case(name)}", name, UNRESOLVED)


_ATTACHMENT = re.compile(r"\.(?!md\Z)[A-Za-z][A-Za-z0-9]{1,5}\Z", re.IGNORECASE)


def _edges_of(fact: Fact, finder: _Finder) -> Iterator[tuple[str, str, str | GraphNode]]:
    """Kind, label and target of everything that a fact says of others."""
    source = fact.path or VaultPath("")
    named = relations(fact)
    for key, link in fact_links(fact):
        relation = key.partition(".")[0]
        kind = EDGE_RELATION if relation in named else EDGE_MENTIONS
        target = finder.find(link.target, source)
        if target is not None:
            yield kind, relation if kind == EDGE_RELATION else "", target
    for related in fact.related_fact_ids:
        yield EDGE_RELATED, "", related
    if fact.supersedes_id:
        yield EDGE_SUPERSEDES, "", fact.supersedes_id
    if fact.parent_fact_id:
        yield EDGE_FOLLOWS, "", fact.parent_fact_id
