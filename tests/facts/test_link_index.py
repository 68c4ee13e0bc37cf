"""The link index follows the store, and finds backlinks."""

from __future__ import annotations

import pytest

from tests.world import LinkedWorld
from vaultsync.errors import StoreUnavailableError
from vaultsync.facts.related import find_backlinks
from vaultsync.links import index_sync as link_feed
from vaultsync.links.entity_names import EntityNames
from vaultsync.links.index_sync import LINK_INDEX_SCHEMA, update_link_index
from vaultsync.links.ports import EntityRecord
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Base
from vaultsync.storage.feed_cursor import make_version


class Linked(LinkedWorld):
    """A world whose backlinks are looked up."""

    def linking_to(self, fact: Fact, *, agent: str | None = None) -> list[str]:
        found = find_backlinks(self.ctx, self.links, fact.id, agent=agent)
        return [fact.title for fact in found]


@pytest.fixture
def world() -> Linked:
    return Linked()


def test_an_empty_index_is_up_to_date(world: Linked) -> None:
    assert update_link_index(world.store, world.links)
    assert world.links.version() == make_version(world.store, "memory", 0, LINK_INDEX_SCHEMA)
    assert not update_link_index(world.store, world.links)


def test_the_index_follows_the_feed(world: Linked) -> None:
    one = world.agent_remembers("see [[Tea]]", title="One")
    two = world.agent_remembers("see [[Mate]]")
    assert update_link_index(world.store, world.links)
    assert [link.target for link in world.links.links_from(one.id)] == ["Tea"]

    world.agent_updates(one.id, content="see [[Coffee]]")
    world.agent_forgets(two.id)
    update_link_index(world.store, world.links)

    assert world.links.links_to(["Tea", "Mate"]) == []
    assert [link.fact_id for link in world.links.links_to(["Coffee"])] == [one.id]
    assert world.links.version() == make_version(
        world.store, "memory", world.store.state().seq, LINK_INDEX_SCHEMA
    )


def test_the_index_is_brought_up_in_steps(world: Linked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_feed, "FACTS_PER_UPDATE", 2)
    facts = [world.agent_remembers(f"see [[N{n}]]") for n in range(5)]

    update_link_index(world.store, world.links)

    assert all(world.links.links_from(fact.id) for fact in facts)
    assert world.links.version() == make_version(world.store, "memory", 5, LINK_INDEX_SCHEMA)


@pytest.mark.parametrize("version", ["other:1:1", "memory:1:0", "memory:99:1", "odd"])
def test_an_index_of_another_store_or_version_is_rebuilt(world: Linked, version: str) -> None:
    world.links.update({"gone": []}, [], version=version, entities=[_entity("gone")])
    fact = world.agent_remembers("[[x]]", title="x")

    update_link_index(world.store, world.links)

    assert world.links.entities() == []
    assert len(world.links.links_from(fact.id)) == 1


def _entity(fact_id: str) -> EntityRecord:
    return EntityRecord(fact_id, "public", ("x",))


def test_a_store_that_was_restored_and_written_to_since_is_noticed(world: Linked) -> None:
    world.agent_remembers("[[kept]]", title="Kept")
    kept = world.store.snapshot()
    world.agent_remembers("[[lost]]", title="Lost", type="person")
    update_link_index(world.store, world.links)
    names = EntityNames(world.links)
    assert names.mentions(world.store, "Lost")

    world.store.restore(kept)
    world.agent_remembers("[[new]]", title="New", type="person")
    update_link_index(world.store, world.links)

    assert world.links.links_to(["lost"]) == []
    assert len(world.links.links_to(["new"])) == 1
    assert names.mentions(world.store, "Lost") == []
    assert names.mentions(world.store, "New")


def test_an_unavailable_store_leaves_the_index_as_it_was(world: Linked) -> None:
    world.agent_remembers("[[x]]", title="x")
    update_link_index(world.store, world.links)
    world.store.away = True

    with pytest.raises(StoreUnavailableError):
        update_link_index(world.store, world.links)
    assert len(world.links.links_to(["x"])) == 1


def test_entities_are_known_by_their_names(world: Linked) -> None:
    fact = world.agent_remembers("-", title="Alice", type="person", aliases=["Al"])
    world.agent_remembers("-", title="Tea", type="fact")
    update_link_index(world.store, world.links)

    assert world.links.entities() == [EntityRecord(fact.id, "team-core", ("Alice", "Al"))]


def test_backlinks_are_the_notes_that_link_to_a_note(world: Linked) -> None:
    alice = world.note_of("Alice", type="person")
    world.note_of("In the text", "with [[alice]] and ![[Alice#Work]]")
    world.note_of("As entity", entities=["Alice"])
    world.note_of("As relation", reports_to=["[[Alice|her]]"])
    world.note_of("By id", relatedFactIds=[alice.id])
    world.note_of("By path", f"[x]({alice.path})")
    world.note_of("To others", "with [[Bob]] and `[[Alice]]`")
    world.agent_updates(alice.id, content="I am [[Alice]]")

    assert sorted(world.linking_to(alice)) == [
        "As entity",
        "As relation",
        "By id",
        "By path",
        "In the text",
    ]
    assert all(fact.path for fact in find_backlinks(world.ctx, world.links, alice.id))


def test_a_link_leads_to_the_note_that_obsidian_resolves_it_to(world: Linked) -> None:
    one = world.note_of("Note", type="entity")
    other = world.note_of("Note", type="person")
    world.note_of("Short", "[[Note]]")  # people/Note.md is the shorter path
    world.note_of("Long", f"[[{one.path}]]")
    world.note_of("Beside", "[[Note]]", type="entity")

    assert world.linking_to(one) == ["Beside", "Long"]
    assert world.linking_to(other) == ["Short"]


def test_an_agent_sees_no_backlinks_from_scopes_of_others(world: Linked) -> None:
    tea = world.note_of("Tea", type="entity")
    world.note_of("Hers", "[[Tea]]", scope="private-ada", agent="ada")
    world.note_of("Ours", "[[Tea]]")

    assert world.linking_to(tea, agent="indy") == ["Ours"]
    assert world.linking_to(tea, agent="ada") == ["Hers", "Ours"]
    assert world.linking_to(tea) == ["Hers", "Ours"]


def test_a_fact_without_a_note_is_linked_to_by_its_id_alone(world: Linked) -> None:
    bare = world.agent_remembers("no note yet")
    world.agent_remembers("-", title="Related", relatedFactIds=[bare.id])
    world.agent_remembers(f"[[{bare.id}]]", title="Not resolved")

    assert world.linking_to(bare) == ["Related"]


def test_a_fact_without_links_to_it_has_no_backlinks(world: Linked) -> None:
    assert world.linking_to(world.note_of("Tea")) == []


def test_links_of_facts_that_the_store_lacks_are_left_out(world: Linked) -> None:
    tea = world.note_of("Tea", type="entity")
    gone = world.note_of("Gone", "[[Tea]]")
    update_link_index(world.store, world.links)
    del world.store._rows[gone.id]

    assert world.linking_to(tea) == []


def test_a_missing_note_has_no_backlinks(world: Linked) -> None:
    tea = world.note_of("Tea", type="entity")
    world.note_of("Short", "[[Tea]]")
    base = world.archive.find_base(tea.id)
    assert base
    with world.archive.transaction():
        world.archive.put_bases(
            [Base(base.fact, base.sha, None, missing_since="2026-01-01T00:00:00Z")]
        )
    assert VaultPath(tea.path or "") not in world.archive.paths()

    assert world.linking_to(tea) == []
