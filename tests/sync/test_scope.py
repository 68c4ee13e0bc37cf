"""Who may see a fact is said by its folder, and only a person may change it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world import ALPHA, LINES, PERSONS, PERSONS_ALPHA, World, kinds, notice
from vaultsync import errors
from vaultsync.facts import service as work
from vaultsync.facts.listing import select_facts
from vaultsync.facts.service import find_conflict, visible_conflicts
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.sync.sync_request import SyncRequest

OTHER = "project-tide/notes/moved.md"
ALLOWED = SyncRequest(allow_scope_moves=True)


def _is_hidden(act: Callable[..., object], *args: object) -> None:
    """Ada does not even hear of a fact."""
    with pytest.raises(errors.FactNotFoundError):
        act(*args, agent="ada")


def test_a_move_into_another_scope_is_reported_and_not_followed(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_renames(path, OTHER)
    report = world.sync()
    assert kinds(report) == ["scope_move"]
    said = notice(report, "scope_move")
    assert "--allow-scope-moves" in said.hint
    assert said.path == OTHER
    assert world.fact(fact.id).scope == "team-core"
    assert world.fact(fact.id).revision == fact.revision
    assert world.notes() == [OTHER]
    assert kinds(world.sync()) == ["scope_move"]
    world.quiesce()
    assert world.notes() == [OTHER]
    # Edits reach their fact all the same.
    world.person_edits(OTHER, ALPHA, PERSONS_ALPHA)
    world.quiesce()
    assert world.fact(fact.id).content == PERSONS
    assert world.fact(fact.id).scope == "team-core"
    assert kinds(world.sync()) == ["scope_move"]
    world.agent_updates(fact.id, status="archived")
    world.quiesce()
    assert "status: archived" in world.text(OTHER)
    assert world.notes() == [OTHER]
    # Moved back, it needs no word.
    world.person_renames(OTHER, path)
    assert kinds(world.sync()) == []
    assert world.archive.notices() == []
    world.assert_at_rest()


@pytest.mark.parametrize("reported", [False, True])
def test_a_move_to_another_scope_is_allowed(world: World, fact: Fact, reported: bool) -> None:
    world.person_renames(fact, OTHER)
    if reported:
        world.quiesce()
    assert kinds(world.sync(ALLOWED)) == []
    assert world.fact(fact.id).scope == "project-tide"
    assert world.notes() == [OTHER]
    world.assert_at_rest()


def test_a_scope_in_frontmatter_is_a_property_and_moves_nothing(world: World, fact: Fact) -> None:
    world.person_edits(fact, "priority:", "scope: public\npriority:")
    note = world.note(fact.id)
    world.quiesce()
    assert world.fact(fact.id).scope == "team-core"
    assert world.note(fact.id) == note


def test_a_move_out_of_all_scopes_keeps_the_scope(world: World, fact: Fact) -> None:
    world.person_renames(fact, "Desk/moved.md")
    world.assert_at_rest()
    assert world.fact(fact.id).scope == "team-core"
    assert world.notes() == ["Desk/moved.md"]


def test_an_agent_that_changes_the_scope_moves_the_note(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.agent_updates(fact.id, scope="project-tide")
    world.assert_at_rest()
    assert world.path(fact.id) == path.replace("team-core", "project-tide")
    assert world.notes() == [world.path(fact.id)]


def test_a_private_note_never_becomes_public_by_a_copy_or_a_template(world: World) -> None:
    fact = work.remember(world.ctx, {"content": "Secret.", "title": "Secret"}, agent="indy")
    world.quiesce()
    world.person_renames(fact, "public/notes/open.md")
    world.quiesce()
    assert world.fact(fact.id).scope == "private-indy"
    _is_hidden(work.get, world.ctx, fact.id)


def test_an_agent_sees_and_writes_only_what_is_its_own_or_shared(world: World) -> None:
    mine = work.remember(world.ctx, {"content": "Mine."}, agent="indy")
    shared = world.agent_remembers("Shared.")
    for agent in ("indy", "INDY", None):
        assert work.get(world.ctx, mine.id, agent=agent)
    assert work.get(world.ctx, shared.id, agent="ada")
    _is_hidden(work.get, world.ctx, mine.id)
    _is_hidden(work.forget, world.ctx, mine.id)
    _is_hidden(work.update, world.ctx, mine.id, {"priority": 0})
    _is_hidden(work.supersede, world.ctx, mine.id, "x")
    with pytest.raises(errors.ScopeDeniedError):
        work.update(world.ctx, shared.id, {"scope": "private-ada"}, agent="indy")
    assert [x.id for x in select_facts(world.ctx, agent="ada").facts] == [shared.id]
    work.forget(world.ctx, mine.id, agent="indy")
    _is_hidden(work.restore, world.ctx, mine.id)
    assert work.restore(world.ctx, mine.id, agent="indy").status == "active"


def test_another_agents_fact_is_not_even_named_during_an_outage(world: World) -> None:
    mine = work.remember(world.ctx, {"content": "Mine."}, agent="indy")
    world.quiesce()
    world.store.away = True
    _is_hidden(work.get, world.ctx, mine.id)
    _is_hidden(work.update, world.ctx, mine.id, {"priority": 0})
    _is_hidden(work.forget, world.ctx, mine.id)
    assert world.archive.outbox() == []


def test_without_a_base_a_note_in_another_scope_moves_no_fact(world: World, fact: Fact) -> None:
    world.person_renames(fact, OTHER)
    world.lose_archive()
    world.quiesce()
    assert world.path(fact.id) == OTHER
    assert world.fact(fact.id).scope == "team-core"


def test_a_move_into_the_scope_that_an_agent_chose_is_no_question(world: World, fact: Fact) -> None:
    world.person_renames(fact, OTHER)
    world.agent_updates(fact.id, scope="project-tide")
    assert kinds(world.sync()) == []
    world.assert_at_rest()
    assert world.fact(fact.id).scope == "project-tide"
    assert world.notes() == [OTHER]


def test_another_agents_history_and_conflicts_are_not_shown(world: World) -> None:
    made = {"content": LINES, "title": "Mine"}
    mine = work.remember(world.ctx, made, agent="indy")
    world.quiesce()
    world.person_edits(mine, "Alpha says", "I say")
    world.agent_updates(mine.id, content=LINES.replace("Alpha says", "Indy says"))
    world.quiesce()
    (conflict,) = visible_conflicts(world.ctx, agent=None)
    assert visible_conflicts(world.ctx, agent="indy") == [conflict]
    assert visible_conflicts(world.ctx, agent="ada") == []
    for name in (conflict.id, conflict.id[:8], conflict.fact_id, conflict.path):
        assert find_conflict(world.ctx, name, agent="indy") == conflict
    with pytest.raises(errors.ConflictNotFoundError):
        find_conflict(world.ctx, conflict.id, agent="ada")
    assert work.history(world.ctx, mine.id, agent="indy")
    _is_hidden(work.history, world.ctx, mine.id)
    work.forget(world.ctx, mine.id, agent="indy")
    world.quiesce()
    assert work.history(world.ctx, mine.id, agent="indy")
    assert work.history(world.ctx, mine.id, agent=None)
    assert visible_conflicts(world.ctx, agent="indy") == [conflict]
    assert visible_conflicts(world.ctx, agent="ada") == []
    _is_hidden(work.history, world.ctx, mine.id)


def test_a_fact_that_never_was_has_no_history(world: World) -> None:
    with pytest.raises(errors.FactNotFoundError):
        work.history(world.ctx, world.clock.new_id(), agent=None)
    fact = world.agent_remembers("New.")
    assert work.history(world.ctx, fact.id, agent="ada") == []
    world.agent_forgets(fact.id)
    with pytest.raises(errors.FactForgottenError):
        work.history(world.ctx, fact.id, agent=None)


def test_an_agent_relates_facts_to_those_that_it_sees_alone(world: World) -> None:
    hidden = work.remember(world.ctx, {"content": "Ada's."}, agent="ada")
    shared = world.agent_remembers("Shared.", agent="ada")
    own = world.agent_remembers("Indy's.", agent="indy")
    both: dict[str, Value] = {"relatedFactIds": [shared.id, hidden.id]}
    with pytest.raises(errors.FactNotFoundError):
        work.remember(world.ctx, {"content": "-", **both}, agent="indy")
    with pytest.raises(errors.FactNotFoundError):
        work.update(world.ctx, own.id, both, agent="indy")
    one: dict[str, Value] = {"relatedFactIds": [shared.id]}
    assert work.update(world.ctx, own.id, one, agent="indy").related_fact_ids == (shared.id,)
    # What another writer related stays, whoever changes the rest.
    work.update(world.ctx, own.id, both, agent=None)
    done = work.update(world.ctx, own.id, {"priority": 0}, agent="indy")
    assert done.related_fact_ids == (shared.id, hidden.id)
