"""The graph of the facts that an agent can see."""

from __future__ import annotations

import json

import pytest
from msgspec import to_builtins

from tests.world import World
from vaultsync.errors import InvalidScopeError, NotFoundError
from vaultsync.graph.service import load_graph, neighborhood
from vaultsync.graph.stats import graph_stats


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


def test_a_person_sees_all_facts_an_agent_those_of_its_scopes(world: World) -> None:
    assert labels(world) == {"Alice", "Tea", "Cup", "Hers", "New"}
    assert labels(world, "ada") == {"Alice", "Tea", "Cup", "Hers", "New"}
    assert labels(world, "indy") == {"Alice", "Tea", "Cup", "New"}


def test_nodes_have_the_current_paths_of_their_notes(world: World) -> None:
    alice = next(each for each in world.facts() if each.title == "Alice")
    world.person_renames(world.path(alice.id), "people/A.md")
    world.quiesce()

    graph = load_graph(world.ctx, agent=None)

    assert graph.nodes[alice.id].path == "people/A.md"
    (new,) = [node for node in graph.nodes.values() if node.label == "New"]
    assert new.path is not None


def test_a_graph_can_be_of_one_scope(world: World) -> None:
    assert labels(world, scope="private-ada") == {"Hers", "Alice"}
    with pytest.raises(InvalidScopeError):
        labels(world, scope="nonsense scope")


def test_a_graph_can_be_limited_to_a_neighbourhood(world: World) -> None:
    assert labels(world, around="Cup") == {"Cup", "Tea"}
    assert labels(world, around="Cup", depth=2) == {"Cup", "Tea", "Alice"}


def test_a_neighbourhood_has_the_edges_between_its_nodes(world: World) -> None:
    hood = neighborhood(load_graph(world.ctx, agent="indy"), "al", 2)

    found = [(each.label, each.distance) for each in hood.neighbors]
    assert found == [("New", 1), ("Tea", 1), ("Cup", 2)]
    exported = json.loads(json.dumps(to_builtins(hood)))
    assert exported["label"] == "Alice"
    assert exported["neighbors"][0]["via"][0]["type"] == "mentions"
    assert exported["neighbors"][0]["distance"] == 1


def test_an_unknown_name_is_not_found_and_an_ambiguous_name_asks_for_a_path(world: World) -> None:
    with pytest.raises(NotFoundError, match="no node is called"):
        labels(world, around="Nobody")
    world.mirrored("-", title="Alice", type="project")

    with pytest.raises(NotFoundError, match="2 nodes match") as error:
        labels(world, around="Alice")
    assert "team-core/people/Alice.md" in error.value.hint
    assert "Alice" in labels(world, around="team-core/people/Alice")


def test_statistics_as_json_are_plain(world: World) -> None:
    graph = load_graph(world.ctx, agent="indy")
    exported = json.loads(json.dumps(to_builtins(graph_stats(graph, hubs=1))))

    assert exported["nodes"] == 4
    assert exported["kinds"] == {"mentions": 3}
    assert [hub["label"] for hub in exported["hubs"]] == ["Alice"]
    assert exported["orphans"] == []
