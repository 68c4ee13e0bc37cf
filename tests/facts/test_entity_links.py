"""Entities that an agent mentions become links; what the user wrote stays."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.doubles.sqlite import MemoryLinks
from tests.world import World
from vaultsync.facts import service as fact_work
from vaultsync.links import entity_names
from vaultsync.links.entity_names import EntityNames
from vaultsync.links.index_sync import update_link_index
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.storage.feed_cursor import store_seq_of_version


def entity(world: World, title: str, *, agent: str = "indy", **values: Value) -> Fact:
    linked: dict[str, Value] = {"type": "person", **values}
    return world.mirrored("-", agent=agent, title=title, **linked)


def linked(world: World, content: str, **values: Value) -> str:
    fact = world.agent_remembers(content, agent="indy", **values)
    return world.fact(fact.id).content


@pytest.fixture
def world() -> World:
    world = World()
    entity(world, "Alice", aliases=["Al B."])
    entity(world, "Convex", type="project")
    return world


def test_what_an_agent_remembers_links_its_entities(world: World) -> None:
    fact = world.agent_remembers("Alice likes Convex. So does Al B.")
    world.quiesce()
    assert world.fact(fact.id).content == "[[Alice]] likes [[Convex]]. So does Al B."
    assert world.fact(fact.id).title == "Alice likes Convex"
    assert "[[Alice]] likes" in world.note(fact.id)
    world.assert_at_rest()


def test_what_the_user_writes_is_not_linked(world: World) -> None:
    fact = fact_work.remember(world.ctx, {"content": "Ask Alice."}, agent=None)
    world.agent_updates(fact.id, priority=0)  # nor by an update of other fields
    assert world.fact(fact.id).content == "Ask Alice."


def test_nothing_is_linked_while_that_is_disabled_or_the_store_unavailable(world: World) -> None:
    world.store.away = True
    fact = world.agent_remembers("Ask Alice.")
    world.store.away = False
    world.quiesce()
    assert world.fact(fact.id).content == "Ask Alice."
    world.ctx = replace(world.ctx, policy=world.ctx.policy._replace(auto_link=False))
    assert linked(world, "Ask Alice.") == "Ask Alice."


def test_an_update_links_in_the_lines_that_the_agent_changed(world: World) -> None:
    fact = world.mirrored("x", title="Talk")
    world.person_edits(fact, "\nx\n", "\nAlice said hello.\nConvex is fine.\n")
    world.quiesce()
    content = world.fact(fact.id).content
    world.agent_updates(fact.id, content=f"{content}\nAlice left.")
    assert world.fact(fact.id).content == f"{content}\n[[Alice]] left."
    world.assert_at_rest()


def test_an_update_with_the_text_before_linking_changes_nothing(world: World) -> None:
    fact = world.agent_remembers("Ask Alice.\nMore.")
    revision = world.fact(fact.id).revision
    world.agent_updates(fact.id, content="Ask Alice.\nMore.")
    assert world.fact(fact.id).revision == revision


def test_what_replaces_an_older_fact_is_linked_but_no_entity_to_itself(world: World) -> None:
    alice = next(each for each in world.facts() if each.title == "Alice")
    world.agent_updates(alice.id, content="Alice knows Convex.")
    assert world.fact(alice.id).content == "Alice knows [[Convex]]."
    old = world.agent_remembers("x")
    fresh = fact_work.supersede(world.ctx, old.id, "Ask Alice.", agent="indy")
    assert world.fact(fresh.id).content == "Ask [[Alice]]."


def test_entities_that_come_and_go_are_known_at_once(world: World) -> None:
    assert linked(world, "Ask Bob, Alice.") == "Ask Bob, [[Alice]]."
    bob = world.agent_remembers("-", title="Bob", type="person")
    assert linked(world, "Ask Bob.") == "Ask [[Bob]]."
    world.quiesce()
    world.agent_updates(bob.id, aliases=["Bobby"], title="Rob")
    assert linked(world, "Ask Bobby or Bob.") == "Ask [[Bob|Bobby]] or Bob."
    world.agent_forgets(bob.id)
    assert linked(world, "Ask Rob.") == "Ask Rob."


def test_a_renamed_note_is_linked_by_its_name_and_one_that_is_gone_is_not(world: World) -> None:
    alice = next(each for each in world.facts() if each.title == "Alice")
    world.person_renames(alice, "team-core/people/Dr A.md")
    world.quiesce()
    assert linked(world, "Ask Alice.") == "Ask [[Dr A|Alice]]."
    world.person_deletes("team-core/people/Dr A.md")
    world.sync()
    assert linked(world, "Ask Alice.") == "Ask Alice."


def test_entities_that_an_agent_names_are_named_as_their_notes(world: World) -> None:
    alice = next(each for each in world.facts() if each.title == "Alice")
    world.person_renames(world.path(alice.id), "team-core/people/Dr A.md")
    world.quiesce()
    named: list[Value] = ["alice", "Convex", "Al B.", "Nobody"]
    fact = world.agent_remembers("x", entities=named)
    assert fact.entities == ("Dr A", "Convex", "Al B.", "Nobody")
    assert world.agent_updates(fact.id, entities=["Alice", *named[1:]]).revision == fact.revision
    kept = fact_work.remember(world.ctx, {"content": "x", "entities": ["Alice"]}, agent=None)
    world.agent_updates(kept.id, entities=["Alice", "ALICE", "Zoe"])
    assert world.fact(kept.id).entities == ("Alice", "Dr A", "Zoe")

    entity(world, "Alice", scope="project-x")
    assert world.agent_remembers("x", entities=["Alice"]).entities == ("Dr A",)
    entity(world, "Convex", scope="project-x", type="entity")
    assert world.agent_remembers("x", entities=["Convex"]).entities == ("Convex",)


def test_private_entities_of_others_are_not_linked(world: World) -> None:
    entity(world, "Zoe Kim", scope="private-indy")
    assert linked(world, "Ask Zoe Kim.") == "Ask Zoe Kim."
    assert linked(world, "Ask Zoe Kim.", scope="private-indy") == "Ask [[Zoe Kim]]."
    hers = world.agent_remembers("Ask Zoe Kim.", agent="ada", scope="private-ada")
    assert world.fact(hers.id).content == "Ask Zoe Kim."


def test_of_two_entities_with_one_name_the_one_in_the_scope_of_the_fact_wins(world: World) -> None:
    entity(world, "Alice", scope="project-x")
    assert linked(world, "Ask Alice.") == "Ask [[team-core/people/Alice|Alice]]."
    assert linked(world, "Ask Alice.", scope="project-x") == (
        "Ask [[project-x/people/Alice|Alice]]."
    )
    assert linked(world, "Ask Alice.", scope="project-y") == "Ask Alice."


def test_two_new_entities_with_one_name_are_not_linked_before_they_have_notes(world: World) -> None:
    world.agent_remembers("-", title="Eve Ray", type="person")
    assert linked(world, "Ask Eve Ray.") == "Ask [[Eve Ray]]."
    world.agent_remembers("-", title="Eve Ray", type="project")
    assert linked(world, "Ask Eve Ray.") == "Ask Eve Ray."


# ------------------------------------------------------------- what it costs to know


def counted(world: World, names: EntityNames) -> list[str]:
    """What the store is asked from now on."""
    world.ctx = replace(world.ctx, names=names)
    asked: list[str] = []
    world.store.before = asked.append
    return asked


def test_a_new_process_loads_the_names_from_the_index(world: World) -> None:
    links = MemoryLinks()
    update_link_index(world.store, links)
    for _ in range(3):
        world.agent_remembers("x")
    found = counted(world, EntityNames(links))
    assert linked(world, "Ask Alice.") == "Ask [[Alice]]."
    assert "iter_facts" not in found
    assert found.count("feed") == 1


def test_a_late_index_is_updated_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity_names, "REBUILD_FEED_ROWS", 1)
    links = MemoryLinks()
    counted(world, EntityNames(links))
    assert linked(world, "Ask Alice.") == "Ask [[Alice]]."
    assert store_seq_of_version(links.version(), "memory") == world.store.state().seq - 1


def test_a_running_process_reads_only_new_rows_of_the_feed(world: World) -> None:
    asked = counted(world, EntityNames())
    linked(world, "Ask Alice.")
    asked.clear()
    linked(world, "Ask Alice.")
    assert asked.count("feed") == 1
    world.clock.advance(1)
    asked.clear()
    world.ctx.names.mentions(world.store, "Alice")
    world.ctx.names.mentions(world.store, "Alice")
    assert asked.count("feed") == 1


@pytest.mark.parametrize("version", [None, "other:1:1", "memory:99:1", "broken"])
def test_an_index_of_another_store_is_ignored(
    world: World, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> str | None:
        raise OSError

    links = MemoryLinks()
    if version == "broken":
        monkeypatch.setattr(links, "version", broken)
    elif version:
        links.update([], [], version=version)
    counted(world, EntityNames(links))
    assert linked(world, "Ask Alice.") == "Ask [[Alice]]."
