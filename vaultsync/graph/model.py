"""The graph of a memory: facts and entities as nodes, links and relations as edges.

Nodes and edges have a fixed order, so that exports of the same facts are identical.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

from vaultsync.links.canvas import Canvas
from vaultsync.links.references import fact_links
from vaultsync.links.wikilinks import LinkResolver
from vaultsync.model.fact import Fact, relations
from vaultsync.model.paths import VaultPath, file_name_of, fold_case, parent_folder, stem_of

EDGE_MENTIONS, EDGE_RELATION, EDGE_RELATED = "mentions", "relation", "related"
EDGE_SUPERSEDES, EDGE_FOLLOWS = "supersedes", "follows"
EDGE_KINDS = (EDGE_MENTIONS, EDGE_RELATION, EDGE_RELATED, EDGE_SUPERSEDES, EDGE_FOLLOWS)
"""Links and entities; a property that holds links; `relatedFactIds`; a newer fact that
replaces an older one; a fact that follows up on another."""
UNRESOLVED = "unresolved"
"""The type of a link target without a note."""
UNRESOLVED_PREFIX = "name:"
"""The prefix of the id of such a node, before its folded name."""
CANVAS = "canvas"
"""The type of a canvas."""
CANVAS_PREFIX = "canvas:"
"""The prefix of the id of such a node, before its folded path."""


class GraphNode(Struct, frozen=True, rename={"scope": "group"}):
    """A fact, or a link target without a note."""

    id: str
    """The id of the fact; `name:` and the folded name of an unresolved target."""
    label: str
    type: str
    scope: str = ""
    path: str | None = None
    status: str = ""
    priority: int | None = None
    created: str = ""
    """The date."""
    aliases: tuple[str, ...] = ()


class GraphEdge(Struct, frozen=True, rename={"kind": "type"}):
    """A connection between two nodes."""

    source: str
    target: str
    kind: str
    label: str = ""
    """The name of the relation."""
    weight: int = 1
    """The number of links with the same ends, kind and label."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by id, and the edges between them; no edge leads from a node to itself."""

    nodes: Mapping[str, GraphNode]
    edges: tuple[GraphEdge, ...]

    def only(self, ids: Iterable[str]) -> Graph:
        """The subgraph of some nodes."""
        kept = set(ids)
        nodes = {key: node for key, node in self.nodes.items() if key in kept}
        edges = tuple(e for e in self.edges if e.source in kept and e.target in kept)
        return Graph(nodes, edges)


def targets_in_texts(fact: Fact) -> Iterator[tuple[str, str]]:
    """The links in the note of a fact: the property, if one has it, and the target."""
    return ((key, link.target) for key, link in fact_links(fact))


def build_graph(
    facts: Iterable[Fact],
    targets_of: Callable[[Fact], Iterable[tuple[str, str]]] = targets_in_texts,
    canvases: Iterable[Canvas] = (),
) -> Graph:
    """The graph of some facts, each with the path of its note; edges to others are left out.

    Links are resolved as in Obsidian; a name that no file has may still be the title or an
    alias of exactly one fact. With other `targets_of`, facts need no texts. Canvases that
    link to a fact are nodes.
    """
    known = sorted(facts, key=lambda fact: fact.id)
    nodes = {
        fact.id: GraphNode(
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
        for fact in known
    }
    resolver = _FactResolver(known)
    weights: Counter[tuple[str, str, str, str]] = Counter()
    for fact in known:
        for kind, label, target in _edges_of(fact, targets_of(fact), resolver):
            if isinstance(target, GraphNode):
                nodes.setdefault(target.id, target)
            target_id = target.id if isinstance(target, GraphNode) else target
            if target_id in nodes and target_id != fact.id:
                weights[fact.id, target_id, kind, label] += 1
    for canvas in canvases:
        node_id = CANVAS_PREFIX + fold_case(canvas.path)
        for each in canvas.links:
            to = resolver.find(each.link.target, canvas.path)
            if isinstance(to, str):
                node = GraphNode(node_id, file_name_of(canvas.path), CANVAS, path=canvas.path)
                nodes.setdefault(node_id, node)
                weights[node_id, to, EDGE_MENTIONS, ""] += 1
    order = {key: number for number, key in enumerate(nodes)}
    edges = [GraphEdge(*edge, weight) for edge, weight in weights.items()]
    edges.sort(key=lambda e: (order[e.source], order[e.target], e.kind, e.label))
    return Graph(nodes, tuple(edges))


class _FactResolver:
    """Finds the facts to which links lead."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._ids: dict[VaultPath, str] = {}
        self._by_name: dict[str, set[str]] = {}
        for fact in facts:
            if fact.path is not None:
                self._ids[fact.path] = fact.id
            for name in (fact.title, *fact.aliases):
                self._by_name.setdefault(fold_case(name), set()).add(fact.id)
        self._files = LinkResolver.of(self._ids)
        self._found: dict[tuple[str, VaultPath], str | GraphNode | None] = {}

    def find(self, target: str, source: VaultPath) -> str | GraphNode | None:
        """The id of a fact, or a node for an unresolved name; None for an attachment."""
        # All links to a name from one folder lead to the same file, but an empty one to its note.
        key = target, parent_folder(source) if target.strip() else source
        if key not in self._found:
            self._found[key] = self._find(target, source)
        return self._found[key]

    def _find(self, target: str, source: VaultPath) -> str | GraphNode | None:
        path = self._files.resolve(target, source)
        if path is not None:
            return self._ids.get(path)
        name = stem_of(target.strip())
        named = set() if target.startswith("/") else self._by_name.get(fold_case(name), set())
        if len(named) == 1:
            return next(iter(named))
        if _ATTACHMENT.search(target) or "://" in target or not name:
            return None
        return GraphNode(UNRESOLVED_PREFIX + fold_case(name), name, UNRESOLVED)


# Not any extension, because names such as Node.js end like files.
_ATTACHMENT = re.compile(
    r"\.(?:3gp|avif|base|bmp|canvas|csv|docx?|epub|flac|gif|heic|html?|jpe?g|json|m4a|mkv|mov|mp[34]"
    r"|od[pst]|og[gv]|opus|pdf|png|pptx?|svg|tiff?|txt|wav|web[mp]|xlsx?|zip)\Z",
    re.IGNORECASE,
)


def _edges_of(
    fact: Fact, targets: Iterable[tuple[str, str]], resolver: _FactResolver
) -> Iterator[tuple[str, str, str | GraphNode]]:
    """Kind, label and target of the edges that lead from a fact."""
    named = relations(fact)
    for key, written in targets:
        target = resolver.find(written, fact.path or VaultPath(""))
        relation = key.partition(".")[0]
        if target is not None and relation in named:
            yield EDGE_RELATION, relation, target
        elif target is not None:
            yield EDGE_MENTIONS, "", target
    yield from ((EDGE_RELATED, "", related) for related in fact.related_fact_ids)
    if fact.supersedes_id:
        yield EDGE_SUPERSEDES, "", fact.supersedes_id
    if fact.parent_fact_id:
        yield EDGE_FOLLOWS, "", fact.parent_fact_id
