"""What is connected to a fact: notes by their names, links in both directions, versions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest
from msgspec import to_builtins

from tests.world import LinkedWorld
from vaultsync.errors import AmbiguousNameError, FactNotFoundError, NotFoundError
from vaultsync.facts import related as related_work
from vaultsync.facts import service as fact_work
from vaultsync.facts.lookup import find_fact
from vaultsync.facts.related import (
    Named,
    Related,
    find_backlinks,
    find_related,
    linked_from,
    linking_to,
)
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value


class Around(LinkedWorld):
    """A world whose facts are looked up by the names of notes, and by what links to them."""

    def of(self, fact: Fact, *, agent: str | None = None) -> Related:
        return find_related(self.ctx, self.links, fact.id, agent=agent)

    def named(self, name: str, agent: str | None = "indy") -> str:
        return find_fact(self.ctx, name, agent=agent).id

    def linking_to(self, fact: Fact, *, agent: str | None = None) -> list[str]:
        return [x.title for x in find_backlinks(self.ctx, self.links, fact.id, agent=agent)]


@pytest.fixture
def world() -> Around:
    return Around()


def _titles(facts: Sequence[Named]) -> list[str]:
    return [fact.title for fact in facts]


def test_backlinks_and_related_facts_are_found(world: Around) -> None:
    tea = world.agent_remembers("-", title="Tea")
    mate = world.agent_remembers("See [[Tea]].", title="Mate", relatedFactIds=[tea.id])
    assert [each.path for each in world.of(mate).related] == [None]
    world.sync()
    assert _titles(world.of(tea).backlinks) == ["Mate"]
    found = world.of(mate)
    assert _titles(found.related) == ["Tea"]
    assert found.related[0].path == world.path(tea.id)
    assert _titles(world.of(tea).chain) == ["Tea"]


def test_the_chain_is_the_same_from_each_of_its_facts(world: Around) -> None:
    first = world.agent_remembers("One.", title="One")
    second = fact_work.supersede(world.ctx, first.id, "Two.", agent="indy")
    third = fact_work.supersede(world.ctx, second.id, "Three.", agent="indy")
    world.sync()
    for fact in (first, second, third):
        found = to_builtins(world.of(fact))
        assert [each["title"] for each in found["chain"]] == ["One", "Two", "Three"]


def test_a_chain_in_a_circle_ends(world: Around) -> None:
    one = world.agent_remembers("One.", title="One")
    two = world.agent_remembers("Two.", title="Two", supersedesId=one.id)
    world.agent_updates(one.id, supersedesId=two.id)
    assert _titles(world.of(one).chain) == ["Two", "One"]


def test_a_long_chain_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(related_work, "MAX_CHAIN_FACTS", 2)
    world = Around()
    fact = world.agent_remembers("0", title="T0")
    for n in range(1, 5):
        fact = world.agent_remembers(f"{n}", title=f"T{n}", supersedesId=fact.id)
    assert _titles(world.of(fact).chain) == ["T2", "T3", "T4"]


@pytest.mark.parametrize("deleted", [False, True])
def test_deleted_facts_and_those_of_other_agents_are_left_out(world: Around, deleted: bool) -> None:
    secret = world.agent_remembers("-", agent="moss", scope="private-moss")
    values: dict[str, Value] = {"relatedFactIds": [secret.id], "supersedesId": secret.id}
    fact = world.agent_remembers("-", agent="moss", **values)
    assert world.of(fact, agent="moss").related
    if deleted:
        world.agent_forgets(secret.id, agent="moss")
    seen = world.of(fact, agent="moss" if deleted else "indy")
    assert (seen.related, _titles(seen.chain)) == ((), [fact.title])
    with pytest.raises(FactNotFoundError):
        world.of(secret, agent="indy")


def test_the_signals_are_those_that_are_kept_out_of_the_note(world: Around) -> None:
    fact = world.agent_remembers("-", importance=0.8)
    assert to_builtins(world.of(fact))["signals"] == {
        "accessCount": 0,
        "lastAccessedAt": None,
        "decayFactor": 1.0,
        "importance": 0.8,
        "utility": 0.4,
    }


# --- the names of notes, and links in both directions ---------------------------------


def test_a_name_of_two_notes_or_of_none_names_no_note(world: Around) -> None:
    world.note_of("Tea")
    world.note_of("Tea")
    with pytest.raises(NotFoundError, match="2 facts match 'Tea'") as two:
        world.named("Tea")
    assert "use one of: team-core/notes/" in two.value.hint
    with pytest.raises(NotFoundError, match="no fact is called 'Mate'"):
        world.named("Mate")
    with pytest.raises(NotFoundError):
        world.named("0" * 8 + "-0000-0000-0000-" + "0" * 12)


def test_links_are_found_in_both_directions(world: Around) -> None:
    tea = world.note_of("Tea", type="entity")
    one = world.note_of("One", "See [[Tea]].")
    two = world.note_of("Two", entities=["Tea"])
    world.note_of("Three", "See [[Mate]], which is no note.")
    related = world.note_of("Four", relatedFactIds=[one.id])

    assert linking_to(world.ctx, world.links, "Tea", agent="indy") == {one.id, two.id}
    assert linking_to(world.ctx, world.links, one.id, agent="indy") == {related.id}
    for source, goals in ((one, {tea.id}), (two, {tea.id}), (related, {one.id})):
        assert linked_from(world.ctx, world.links, source.id, agent="indy") == goals
    assert linked_from(world.ctx, world.links, "Three", agent="indy") == set()


def test_facts_are_found_by_a_name_that_has_no_note(world: Around) -> None:
    one = world.note_of("One", entities=["Mara"])
    two = world.note_of("Two", "Ask [[Mara]].", agent="ada", scope="private-ada")
    tea = world.note_of("Tea", type="entity")
    world.note_of("Four", "See [[Tea]].", relatedFactIds=[one.id])
    assert linking_to(world.ctx, world.links, "Mara", agent="indy") == {one.id}
    assert linking_to(world.ctx, world.links, "mara", agent=None) == {one.id, two.id}
    for name in ("Ada", tea.id[:-1]):
        with pytest.raises(NotFoundError):
            linking_to(world.ctx, world.links, f"{name}x", agent="indy")
    world.note_of("Mara", type="entity", agent="ada", scope="private-ada")
    assert linking_to(world.ctx, world.links, "Mara", agent="indy") == {one.id}, "as before"
    world.note_of("Five", "Ask [[Bob]].", agent="ada", scope="private-ada")
    with pytest.raises(NotFoundError):
        linking_to(world.ctx, world.links, "Bob", agent="indy")
    world.note_of("Same", "One.")
    world.note_of("Same", "Two.")
    with pytest.raises(AmbiguousNameError):
        linking_to(world.ctx, world.links, "Same", agent="indy")


def test_the_links_to_a_hub_are_found_without_reading_the_facts_that_link(
    world: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = world.note_of("Hub", type="entity")
    linking = {world.note_of(f"Note {number}", "See [[Hub]].").id for number in range(5)}
    hidden = world.note_of("Mine", "See [[Hub]].", agent="ada", scope="private-ada").id
    assert linking_to(world.ctx, world.links, hub.id, agent="indy") == linking
    read: list[str] = []
    find_many = type(world.ctx.store).find_many

    def recorded(store: Any, fact_ids: Collection[str]) -> dict[str, Fact]:  # noqa: ANN401
        read.extend(fact_ids)
        return find_many(store, fact_ids)

    monkeypatch.setattr(type(world.ctx.store), "find_many", recorded)
    assert linking_to(world.ctx, world.links, hub.id, agent=None) == {*linking, hidden}
    assert {*read} <= {hub.id}


def test_a_link_of_a_note_to_itself_is_not_counted(world: Around) -> None:
    tea = world.note_of("Tea", "See [[Tea]].", type="entity")
    assert linked_from(world.ctx, world.links, tea.id, agent=None) == set()
    assert linking_to(world.ctx, world.links, tea.id, agent=None) == set()


def test_a_fact_without_a_note_has_links_too(world: Around) -> None:
    tea = world.note_of("Tea", type="entity")
    fresh = world.agent_remembers("See [[Tea]].", agent="indy", title="Fresh")
    assert linked_from(world.ctx, world.links, fresh.id, agent="indy") == {tea.id}


def test_canvases_that_link_to_a_note_are_named(world: Around) -> None:
    alice = world.mirrored("-", title="Alice", type="person")
    card = {"type": "text", "text": "[[Alice]]"}
    for path in ("b.canvas", "a.canvas", "private-ada/c.canvas"):
        world.person_writes(path, json.dumps({"nodes": [card]}))
    world.person_writes("Odd.canvas", "[")
    world.person_writes("d.canvas", '{"nodes":[{"type":"file","file":"Alice.md"}]}')

    found = [find_related(world.ctx, world.links, alice.id, agent=x) for x in (None, "indy")]

    seen = [each.canvases for each in found]
    assert seen == [("a.canvas", "b.canvas", "private-ada/c.canvas"), ("a.canvas", "b.canvas")]


# --- backlinks -------------------------------------------------------------------------


def test_backlinks_are_the_notes_that_link_to_a_note(world: Around) -> None:
    alice = world.note_of("Alice", type="person")
    world.note_of("In the text", "with [[alice]] and ![[Alice#Work]]")
    world.note_of("As entity", entities=["Alice"])
    world.note_of("As relation", reports_to=["[[Alice|her]]"])
    world.note_of("By id", relatedFactIds=[alice.id])
    world.note_of("By path", f"[x]({alice.path})")
    world.note_of("To others", "with [[Bob]] and `[[Alice]]`")
    world.agent_updates(alice.id, content="I am [[Alice]]")
    found = ["As entity", "As relation", "By id", "By path", "In the text"]
    assert sorted(world.linking_to(alice)) == found
    assert all(fact.path for fact in find_backlinks(world.ctx, world.links, alice.id))


def test_a_link_leads_to_the_note_that_obsidian_resolves_it_to(world: Around) -> None:
    one = world.note_of("Note", type="entity")
    other = world.note_of("Note", type="person")
    world.note_of("Short", "[[Note]]")  # people/Note.md is the shorter path
    world.note_of("Long", f"[[{one.path}]]")
    world.note_of("Beside", "[[Note]]", type="entity")
    assert world.linking_to(one) == ["Beside", "Long"]
    assert world.linking_to(other) == ["Short"]


def test_an_agent_sees_no_backlinks_from_scopes_of_others(world: Around) -> None:
    tea = world.note_of("Tea", type="entity")
    world.note_of("Hers", "[[Tea]]", scope="private-ada", agent="ada")
    world.note_of("Ours", "[[Tea]]")
    assert world.linking_to(tea, agent="indy") == ["Ours"]
    assert world.linking_to(tea, agent="ada") == ["Hers", "Ours"]
    assert world.linking_to(tea) == ["Hers", "Ours"]


def test_a_fact_without_a_note_is_linked_to_by_its_id_alone(world: Around) -> None:
    bare = world.agent_remembers("no note yet")
    assert world.linking_to(bare) == []
    world.agent_remembers("-", title="Related", relatedFactIds=[bare.id])
    world.agent_remembers(f"[[{bare.id}]]", title="Not resolved")
    assert world.linking_to(bare) == ["Related"]


def test_a_missing_note_has_no_backlinks_and_a_lost_fact_is_none(world: Around) -> None:
    tea = world.note_of("Tea", type="entity")
    world.note_of("Short", "[[Tea]]")
    gone = world.note_of("Gone", "[[Tea]]")
    assert world.linking_to(tea) == ["Gone", "Short"]
    del world.store._rows[gone.id]
    assert world.linking_to(tea) == ["Short"]
    missing = world.base(tea.id)._replace(missing_since="2026-01-01T00:00:00Z")
    with world.archive.transaction():
        world.archive.put_bases([missing])
    assert VaultPath(tea.path or "") not in world.archive.paths()
    assert world.linking_to(tea) == []


def test_a_note_that_an_index_names_is_found_without_reading_all_facts(world: LinkedWorld) -> None:
    tea = world.mirrored("A drink.", title="Tea", aliases=["Chai"])
    other = world.mirrored("Another.", title="Coffee")
    walk, walks = world.store.iter_facts, []

    def counting(after: str = "", **more: bool) -> Iterator[Fact]:
        walks.append(after)
        return walk(after, **more)

    world.store.iter_facts = counting  # type: ignore[method-assign]
    ids = {"Tea": [tea.id], "chai": [other.id, tea.id], "Nothing": None, "Coffee": []}
    for name in ("Tea", "chai", world.path(other.id), "Coffee"):
        found = find_fact(world.ctx, name, agent=None, called=lambda x: ids.get(x, []))
        assert found.id == (tea.id if name in ("Tea", "chai") else other.id)
    assert len(walks) == 1  # the index did not know Coffee, whose file has another name
    with pytest.raises(NotFoundError):
        find_fact(world.ctx, "Nothing", agent=None, called=ids.get)
