"""Facts are found by the names of notes, and links are followed in both directions."""

from __future__ import annotations

import pytest

from tests.world import LinkedWorld
from vaultsync.errors import NotFoundError
from vaultsync.facts.related import find_fact, linked_from, linking_to


class Joined(LinkedWorld):
    """A world whose facts are looked up by the names of notes."""

    def named(self, name: str, agent: str | None = "indy") -> str:
        return find_fact(self.ctx, name, agent=agent).id


@pytest.fixture
def world() -> Joined:
    return Joined()


def test_a_note_is_named_by_its_id_path_file_title_or_alias(world: Joined) -> None:
    tea = world.note_of("Tea", type="entity", aliases=["Cha"])
    world.note_of("Coffee", aliases=["Tea time"])
    path = world.path(tea.id)
    assert path is not None
    names = (tea.id, tea.id.upper(), path, path.removesuffix(".md"), "tea", "cha")
    assert {world.named(name) for name in names} == {tea.id}


def test_a_title_wins_over_an_alias(world: Joined) -> None:
    tea = world.note_of("Tea")
    world.note_of("Coffee", aliases=["Tea"])
    assert world.named("Tea") == tea.id


def test_a_name_of_two_notes_or_of_none_names_no_note(world: Joined) -> None:
    world.note_of("Tea")
    world.note_of("Tea")
    with pytest.raises(NotFoundError, match="2 notes are called 'Tea'") as two:
        world.named("Tea")
    assert "name one by its path: team-core/notes/" in two.value.hint
    with pytest.raises(NotFoundError, match="no note is called 'Mate'"):
        world.named("Mate")
    with pytest.raises(NotFoundError):
        world.named("0" * 8 + "-0000-0000-0000-" + "0" * 12)


def test_a_note_of_another_agent_is_not_found_by_any_name(world: Joined) -> None:
    hidden = world.note_of("Tea", agent="ada", scope="private-ada")
    for name in ("Tea", hidden.id, str(world.path(hidden.id))):
        with pytest.raises(NotFoundError):
            world.named(name)
        assert world.named(name, agent=None) == hidden.id


def test_links_are_found_in_both_directions(world: Joined) -> None:
    tea = world.note_of("Tea", type="entity")
    one = world.note_of("One", "See [[Tea]].")
    two = world.note_of("Two", entities=["Tea"])
    world.note_of("Three", "See [[Mate]], which is no note.")
    related = world.note_of("Four", relatedFactIds=[one.id])

    to_tea = linking_to(world.ctx, world.links, "Tea", agent="indy")
    assert to_tea == {one.id, two.id}
    to_one = linking_to(world.ctx, world.links, one.id, agent="indy")
    assert to_one == {related.id}
    for source, goals in ((one, {tea.id}), (two, {tea.id}), (related, {one.id})):
        found = linked_from(world.ctx, world.links, source.id, agent="indy")
        assert found == goals
    assert linked_from(world.ctx, world.links, "Three", agent="indy") == set()


def test_a_link_of_a_note_to_itself_is_not_counted(world: Joined) -> None:
    tea = world.note_of("Tea", "See [[Tea]].", type="entity")
    assert linked_from(world.ctx, world.links, tea.id, agent=None) == set()
    assert linking_to(world.ctx, world.links, tea.id, agent=None) == set()


def test_a_fact_without_a_note_has_links_too(world: Joined) -> None:
    tea = world.note_of("Tea", type="entity")
    fresh = world.agent_remembers("See [[Tea]].", agent="indy", title="Fresh")
    found = linked_from(world.ctx, world.links, fresh.id, agent="indy")
    assert found == {tea.id}
