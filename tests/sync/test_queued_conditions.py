"""A condition travels with the change that waits for the store, and is checked twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world import ALPHA, World, kinds, notice, refuse
from vaultsync.errors import RevisionMismatchError, StoreUnavailableError
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.notes.conflict_note import FieldConflict
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict
from vaultsync.sync.sync_request import SyncRequest


def _go_away() -> None:
    raise StoreUnavailableError("again")


def _update(world: World, fact: Fact, content: str, expect: str | None) -> None:
    said = {"content": content}
    fact_work.update(world.ctx, fact.id, said, agent="indy", expect=expect)


@pytest.mark.parametrize("call", ["update", "forget"])
def test_a_condition_known_to_be_false_is_refused(world: World, fact: Fact, call: str) -> None:
    nonsense = "999-nonsense"
    calls: dict[str, Callable[[], object]] = {
        "update": lambda: _update(world, fact, "Blind.", nonsense),
        "forget": lambda: fact_work.forget(world.ctx, fact.id, agent="indy", expect=nonsense),
    }
    with world.outage():
        with pytest.raises(RevisionMismatchError) as refused:
            calls[call]()
        assert (refused.value.expected, refused.value.found) == (nonsense, fact.revision)
        new = world.agent_remembers("New.", title="New")
        with pytest.raises(RevisionMismatchError):
            fact_work.forget(world.ctx, new.id, agent="indy", expect="1-x")
        with pytest.raises(StoreUnavailableError):
            fact_work.restore(world.ctx, fact.id, agent="indy", expect=fact.revision)
    assert len(world.archive.outbox()) == 1
    world.assert_at_rest()
    assert world.fact(fact.id).content == fact.content


def test_a_change_whose_condition_holds_is_delivered(world: World, fact: Fact) -> None:
    with world.outage():
        _update(world, fact, "Once.", fact.revision)
        # Its author saw the queued change before it, and nothing newer.
        _update(world, fact, "Twice.", fact.revision)
        _update(world, fact, "Thrice.", None)
        fact_work.update(world.ctx, fact.id, {"mood": "x"}, agent="indy", expect=fact.revision)
    world.assert_at_rest()
    assert world.fact(fact.id).content == "Thrice."
    assert world.fact(fact.id).properties == {"mood": "x"}
    assert world.conflicts() == []


def test_a_fact_that_waits_can_be_changed_if_nobody_else_did(world: World, fact: Fact) -> None:
    with world.outage():
        new = world.agent_remembers("New.", title="New")
        _update(world, new, "Newer.", new.revision)
    _update(world, new, "Newest.", new.revision)
    world.assert_at_rest()
    assert world.fact(new.id).content == "Newest."
    with pytest.raises(RevisionMismatchError):
        _update(world, new, "Too late.", new.revision)
    assert world.conflicts() == []


def test_a_change_whose_condition_fails_later_is_a_conflict(world: World, fact: Fact) -> None:
    with world.outage():
        _update(world, fact, "Conditional.", fact.revision)
        _update(world, fact, "Conditional, again.", fact.revision)
    # It merges without a conflict, were it not for the condition.
    world.agent_updates(fact.id, agent="ada", tags=["new"])
    report = world.sync()
    assert kinds(report) == ["not_delivered"]
    assert report.attention[0].path == world.path(fact.id)
    now = world.fact(fact.id)
    assert (now.content, now.tags) == (fact.content, ("new",))
    first, second = world.conflicts()
    assert [first.fields, second.fields] == [
        (FieldConflict("content", fact.content, fact.content, "Conditional."),),
        (FieldConflict("content", "Conditional.", fact.content, "Conditional, again."),),
    ]
    assert world.archive.outbox() == []
    world.assert_at_rest()
    resolution = ConflictResolution(first, "store", ("content",))
    resolve_conflict(world.ctx, resolution)
    world.quiesce()
    assert world.fact(fact.id).content == "Conditional."


def test_a_change_that_a_lost_answer_had_made_is_no_conflict(world: World, fact: Fact) -> None:
    world.store.lose_ack = True
    _update(world, fact, "Conditional.", fact.revision)
    world.store.lose_ack = False
    with world.outage():
        world.agent_updates(fact.id, tags=["more"])
    assert world.sync().attention == []
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.content, now.tags) == ("Conditional.", ("more",))
    assert world.conflicts() == []


@pytest.mark.parametrize("changed", [False, True])
def test_a_deletion_that_is_refused_later_is_told(world: World, fact: Fact, changed: bool) -> None:
    world.mirrored("Stays.", title="A bystander")
    with world.outage():
        fact_work.forget(world.ctx, fact.id, agent="indy", expect=fact.revision)
    if changed:
        # To the same values: the deleting agent had not seen this all the same.
        world.agent_updates(fact.id, agent="ada", content="Other.")
        world.agent_updates(fact.id, agent="ada", content=fact.content)
    assert kinds(world.sync()) == ["not_delivered"] * changed
    world.assert_at_rest()
    assert world.is_alive(fact.id) == changed


def test_a_change_of_what_was_deleted_meanwhile_is_in_the_history(world: World, fact: Fact) -> None:
    world.mirrored("Stays.", title="A bystander")
    with world.outage():
        _update(world, fact, "Conditional.", fact.revision)
    world.agent_forgets(fact.id, agent="ada")
    told = notice(world.sync(), "not_delivered")
    assert "deleted" in told.message
    assert fact.id in told.hint
    world.assert_at_rest()
    assert not world.is_alive(fact.id)
    refused = [x for x in world.archive.history(fact_id=fact.id) if x.field == "outbox"]
    assert [(x.before, x.after) for x in refused] == [
        ("update refused", {"content": "Conditional."})
    ]


def test_a_condition_outlives_a_crash_between_two_deliveries(world: World, fact: Fact) -> None:
    with world.outage():
        _update(world, fact, "Once.", fact.revision)
        _update(world, fact, "Twice.", fact.revision)
    world.at("write", _go_away, number=2)
    world.sync()
    assert [each.expect for each in world.archive.outbox()] == [world.fact(fact.id).revision]
    world.assert_at_rest()
    assert world.fact(fact.id).content == "Twice."
    assert world.conflicts() == []


def test_changes_wait_while_their_conflict_note_cannot_be_written(world: World, fact: Fact) -> None:
    other = world.mirrored("Other.", title="Other")
    with world.outage():
        _update(world, fact, "Mine.", None)
        _update(world, other, "Others.", None)
        _update(world, fact, "Mine, too.", None)
    fact_work.update(world.ctx, fact.id, {"content": "Theirs."}, agent="ada")
    world.at("create", refuse)
    report = world.sync()
    assert world.path(fact.id) in notice(report, "not_written").message
    assert world.fact(other.id).content == "Others."
    assert [each.fact_id for each in world.archive.outbox()] == [fact.id, fact.id]
    world.quiesce()
    assert world.archive.outbox() == []
    assert world.fact(fact.id).content == "Theirs."
    assert len(world.conflicts()) == 2
    assert "not_written" not in kinds(world.sync())


@pytest.mark.parametrize(
    "queued",
    ["edit", "conflict", "new", "new, written", "written", "deletion", "overtaken", "refused"],
)
def test_a_dry_run_knows_what_queued_changes_will_do(world: World, fact: Fact, queued: str) -> None:
    world.store.lose_ack = "written" in queued
    if queued == "new, written":
        fact = world.agent_remembers("New.", title="New")
    elif queued == "written":
        _update(world, fact, "Before.", fact.revision)
    world.store.lose_ack = False
    with world.outage():
        if queued == "new":
            world.agent_remembers("New.", title="New")
        elif queued in ("deletion", "overtaken"):
            fact_work.forget(world.ctx, fact.id, agent="indy")
        else:
            expect = None if queued in ("edit", "conflict") else fact.revision
            _update(world, fact, "Once.", expect)
            _update(world, fact, "Twice.", expect)
    if queued in ("overtaken", "refused"):
        world.agent_updates(fact.id, content="Faster.")
    if queued in ("conflict", "refused"):
        world.person_edits(fact, ALPHA, "Mine.")
    with world.nobody_writes():
        planned = world.sync(SyncRequest(dry_run=True))
    done = world.sync()
    assert [x.action for x in planned.actions] == [x.action for x in done.actions]
    assert [x.fields for x in planned.actions] == [x.fields for x in done.actions]
    assert {**planned.counts, "unchanged": 0} == {**done.counts, "unchanged": 0}
    assert kinds(planned) == kinds(done)
