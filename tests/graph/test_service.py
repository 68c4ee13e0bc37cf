"""The graph of the facts that an agent can see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from tests.doubles.sqlite import MemoryLinks
from tests.world import World
from vaultsync.errors import InvalidScopeError, NotFoundError
from vaultsync.graph.graph_formats import graph_to_canvas
from vaultsync.graph.model import UNRESOLVED, Graph
from vaultsync.graph.service import (
    Neighborhood,
    find_node,
    load_graph,
    load_graph_around,
    load_neighborhood,
    neighborhood,
)
from vaultsync.graph.stats import find_neighbors, graph_stats
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value


@pytest.fixture
def world() -> World:
    world = World()
    world.mirrored("-", title="Alice", type="person", aliases=["Al"])
    world.mirrored("with [[Alice]]", title="Tea", type="fact")
    world.mirrored("with [[Tea]]", title="Cup", type="fact")
    world.mirrored("my [[Alice]]", title="Hers", agent="ada", scope="private-ada")
    world.agent_remembers("no note yet, [[Alice]]", title="New")
    return world


def labels(world: World, agent: str | None = None, **only: str | int | None) -> set[str]:
    graph = load_graph(world.ctx, agent=agent, **only)  # type: ignore[arg-type]
    return {node.label for node in graph.nodes.values()}


def labels_around(world: World, name: str, *, depth: int = 1) -> set[str]:
    graph, _ = load_graph_around(world.ctx, MemoryLinks(), name, depth=depth, agent=None)
    return {node.label for node in graph.nodes.values()}


def test_a_person_sees_all_facts_an_agent_those_of_its_scopes(world: World) -> None:
    assert labels(world) == {"Alice", "Tea", "Cup", "Hers", "New"}
    assert labels(world, "ada") == {"Alice", "Tea", "Cup", "Hers", "New"}
    assert labels(world, "indy") == {"Alice", "Tea", "Cup", "New"}


def test_nodes_have_the_current_paths_of_their_notes(world: World) -> None:
    alice = next(each for each in world.facts() if each.title == "Alice")
    world.person_renames(alice, "people/A.md")
    world.quiesce()

    graph = load_graph(world.ctx, agent=None)

    assert graph.nodes[alice.id].path == "people/A.md"
    (new,) = [node for node in graph.nodes.values() if node.label == "New"]
    assert new.path is not None


def test_a_graph_can_be_of_one_scope(world: World) -> None:
    assert labels(world, scope="private-ada") == {"Hers", "Alice"}
    with pytest.raises(InvalidScopeError):
        labels(world, scope="nonsense scope")


def _board(*paths: str) -> str:
    return json.dumps({"nodes": [{"type": "file", "file": each} for each in paths]})


def test_a_canvas_leads_to_the_notes_on_it(world: World) -> None:
    paths = {each.title: world.path(each.id) for each in world.facts() if each.title != "New"}
    tea, hers = paths["Tea"], paths["Hers"]
    world.person_writes("Boards/Plan.canvas", _board(tea, hers, "Alice.md", "no/Cup.md"))
    world.person_writes("private-ada/Own.canvas", _board(tea))

    hood = load_neighborhood(world.ctx, MemoryLinks(), "Plan.canvas", depth=1, agent="indy")

    assert (hood.id, hood.type, hood.path) == (
        "canvas:boards/plan.canvas",
        "canvas",
        "Boards/Plan.canvas",
    )
    assert [(each.label, each.via[0].type) for each in hood.neighbors] == [("Tea", "mentions")]
    near = {"Cup", "Tea", "Alice", "Plan.canvas", "Own.canvas"}
    assert labels_around(world, "Cup", depth=2) == near
    assert "Own.canvas" not in labels(world, "indy")
    assert labels(world, scope="private-ada") == {"Hers", "Alice"}


def test_a_search_ends_where_the_graph_does(world: World) -> None:
    fact = world.mirrored("x", title="Alone")
    hood = load_neighborhood(world.ctx, MemoryLinks(), fact.id, depth=10**12, agent="indy")
    assert hood.neighbors == ()
    assert find_neighbors(load_graph(world.ctx, agent="indy"), fact.id, 10**12) == []


def test_an_exported_graph_is_no_canvas_of_its_own(world: World) -> None:
    world.person_writes("Map.canvas", graph_to_canvas(load_graph(world.ctx, agent=None)))

    assert labels(world) == {"Alice", "Tea", "Cup", "Hers", "New"}


def test_an_unknown_name_is_not_found_and_an_ambiguous_name_asks_for_a_path(world: World) -> None:
    with pytest.raises(NotFoundError, match="no node is called"):
        labels_around(world, "Nobody")
    world.mirrored("-", title="Alice", type="project")

    with pytest.raises(NotFoundError, match="2 nodes match") as error:
        labels_around(world, "Alice")
    assert "team-core/people/Alice.md" in error.value.hint
    assert "Alice" in labels_around(world, "team-core/people/Alice")


TITLES = ("Tea", "tea", "Cup", "Pot", "A/B", "Lid.md")
_LINKS = st.sampled_from(
    ("[[Tea]]", "[[cup|c]]", "[[Gone]]", "[[x/Pot]]", "[Lid](Lid.md)", "[[B]]")
)
_FACTS = st.tuples(
    st.sampled_from(TITLES),
    st.lists(_LINKS, max_size=3),
    st.sampled_from(("team-core", "private-ada")),
    st.sampled_from(((), ("Cup",), ("Mug",))),
    st.sampled_from(("", "relatedFactIds", "supersedesId", "parentFactId", "up")),
    st.integers(0, 6),
)


def _neighborhood_or_error(graph: Graph, name: str, depth: int) -> tuple[Neighborhood | None, str]:
    try:
        return neighborhood(graph, find_node(graph, name), depth), ""
    except NotFoundError as error:
        return None, error.message


@pytest.mark.long(5)
@settings(max_examples=60, deadline=None)
@given(
    st.lists(_FACTS, min_size=1, max_size=7),
    st.integers(1, 3),
    st.booleans(),
    st.lists(_LINKS, max_size=3),
)
def test_what_is_read_around_a_node_is_a_part_of_the_whole_graph(
    made: list[tuple[str, list[str], str, tuple[str, ...], str, int]],
    depth: int,
    all_seen: bool,
    on_canvas: list[str],
) -> None:
    world = World()
    ids: list[str] = []
    for title, links, scope, aliases, key, number in made:
        more: dict[str, Value] = {"aliases": list(aliases)} if aliases else {}
        if key == "up":
            more[key] = "[[Tea]]"
        elif key and ids:
            other = ids[number % len(ids)]
            more[key] = [other] if key == "relatedFactIds" else other
        content = " and ".join(links) or "-"
        kind = "entity" if aliases else "note"
        fact = world.agent_remembers(
            content, title=title, scope=scope, type=kind, agent="ada", **more
        )
        ids.append(fact.id)
    world.quiesce()
    cards = [{"type": "text", "text": each} for each in on_canvas]
    cards += [{"type": "file", "file": each} for each in world.notes()[: len(on_canvas)]]
    world.person_writes("My.canvas", json.dumps({"nodes": cards}))
    agent = None if all_seen else "indy"
    whole, index = load_graph(world.ctx, agent=agent), MemoryLinks()
    for name in (
        *ids,
        *(each[:length] for each in ids for length in (8, 18)),
        *TITLES,
        "Gone",
        "name:gone",
        "Mug",
        "my.canvas",
        "canvas:my.canvas",
        *world.notes(),
    ):
        wanted, why = _neighborhood_or_error(whole, name, depth)
        if wanted is None:
            with pytest.raises(NotFoundError, match=re.escape(why)):
                load_neighborhood(world.ctx, index, name, depth=depth, agent=agent)
            continue
        hood = load_neighborhood(world.ctx, index, name, depth=depth, agent=agent)
        assert hood == wanted
        part, centre = load_graph_around(world.ctx, index, name, depth=depth, agent=agent)
        kept = whole.only([hood.id, *(each.id for each in hood.neighbors)])
        assert (dict(part.nodes), set(part.edges)) == (dict(kept.nodes), set(kept.edges))
        assert centre == hood.id


def test_only_facts_around_a_node_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        world.agent_remembers("about [[Alice]] alone", title=f"Other {number}")
    world.quiesce()
    links = MemoryLinks()
    load_neighborhood(world.ctx, links, "Cup", depth=1, agent=None)
    read: list[str] = []
    store = world.store
    find_many = store.find_many

    def counted(fact_ids: Iterable[str]) -> dict[str, Fact]:
        wanted = list(fact_ids)
        read.extend(wanted)
        return find_many(wanted)

    monkeypatch.setattr(store, "find_many", counted)
    monkeypatch.setattr(store, "iter_facts", None)
    hood = load_neighborhood(world.ctx, links, "Cup", depth=1, agent=None)
    assert [each.label for each in hood.neighbors] == ["Tea"]
    assert len(set(read)) <= 4
    with pytest.raises(InvalidScopeError):
        load_neighborhood(world.ctx, links, "Cup", depth=1, agent=None, scope="no scope")
    hers = load_neighborhood(world.ctx, links, "Hers", depth=2, agent=None, scope="private-ada")
    assert [(each.label, each.type) for each in hers.neighbors] == [("Alice", UNRESOLVED)]


def test_statistics_as_json_are_plain(world: World) -> None:
    graph = load_graph(world.ctx, agent="indy")
    exported = json.loads(json.dumps(to_builtins(graph_stats(graph, hubs=1))))

    assert (exported["nodes"], exported["kinds"]) == (4, {"mentions": 3})
    assert ([hub["label"] for hub in exported["hubs"]], exported["orphans"]) == (["Alice"], [])
