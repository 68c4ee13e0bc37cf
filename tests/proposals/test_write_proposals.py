"""What an agent may only propose is written as it wanted, once the user accepts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

import pytest
from msgspec import structs

from tests.proposals.world import ACCEPT, ProposalWorld
from tests.world import OPEN
from vaultsync import errors
from vaultsync.facts import service as work
from vaultsync.model.fact import Fact
from vaultsync.model.permissions import AgentPermissions, Permissions
from vaultsync.model.serialization import fact_to_values
from vaultsync.notes.proposal_note import ProposalRecord
from vaultsync.operations.export_import import import_facts
from vaultsync.operations.undo import undo_run
from vaultsync.proposals import write_proposals
from vaultsync.proposals.service import (
    accept_proposals,
    find_proposal,
    reject_proposals,
    settle_proposals,
    visible_proposals,
)
from vaultsync.proposals.write_proposals import propose_write
from vaultsync.sync.context import SyncContext
from vaultsync.sync.run import sync_once

AGENT = "ada"
T = TypeVar("T")


@pytest.fixture
def world() -> ProposalWorld:
    """One where agents may only propose to teams."""
    return ProposalWorld(permissions=Permissions())


def proposing(
    world: ProposalWorld, act: Callable[[SyncContext], T], agent: str = AGENT
) -> ProposalRecord | T:
    """What the engine does with a write of an agent."""
    world.clock.advance(1)
    try:
        return act(world.ctx)
    except (errors.ScopeDeniedError, errors.ImportLineError) as denied:
        if not denied.proposes:
            raise
        return propose_write(world.ctx, act, denied, agent=agent)


def proposed(
    world: ProposalWorld, act: Callable[[SyncContext], object], agent: str = AGENT
) -> ProposalRecord:
    made = proposing(world, act, agent)
    assert isinstance(made, ProposalRecord)
    return made


def _line(fact: Fact, **values: object) -> str:
    return json.dumps({**fact_to_values(fact), **values}, default=list)


class Act(Protocol):
    def __call__(self, ctx: SyncContext, fact: Fact) -> object: ...


ACTS: dict[str, Act] = {
    "remember": lambda ctx, fact: work.remember(
        ctx,
        {
            "content": "The ferry leaves at nine.",
            "type": "decision",
            "scope": "team-core",
            "tags": ["sea"],
            "decisionOutcome": "implemented",
            "mood": "calm",
        },
        agent=AGENT,
    ),
    "update": lambda ctx, fact: work.update(
        ctx, fact.id, {"content": "Other.", "mood": "calm"}, add_tags=["new"], agent=AGENT
    ),
    "supersede": lambda ctx, fact: work.supersede(ctx, fact.id, "It is otherwise.", agent=AGENT),
    "forget": lambda ctx, fact: work.forget(ctx, fact.id, agent=AGENT),
    "move": lambda ctx, fact: work.update(ctx, fact.id, {"scope": "team-tide"}, agent=AGENT),
    "import": lambda ctx, fact: import_facts(
        ctx,
        [_line(fact, content="Imported."), _line(fact, id=ID, createdAt="2025-01-01T00:00:00Z")],
        agent=AGENT,
    ),
}
ID = "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e01"


def said(world: ProposalWorld) -> list[dict[str, object]]:
    """What the facts say, without what is new in every world."""
    ids = {each.id: f"fact {each.title}" for each in world.facts()}
    found: list[dict[str, object]] = []
    for each in world.facts():
        values = fact_to_values(each)
        del values["updatedAt"]
        if each.created_at > "2026":
            del values["createdAt"]
        found.append({k: ids.get(v, v) if isinstance(v, str) else v for k, v in values.items()})
    return sorted(found, key=str)


@pytest.mark.parametrize("name", ACTS)
def test_what_is_accepted_is_as_the_agent_would_write_it(world: ProposalWorld, name: str) -> None:
    free = ProposalWorld(permissions=OPEN)
    ACTS[name](free.ctx, free.mirrored(agent="moss"))
    fact = _theirs(world)
    before = said(world)
    made = proposed(world, lambda ctx: ACTS[name](ctx, fact))
    world.settle()

    assert (made.kind, made.proposer) == ("write", AGENT)
    assert said(world) == before
    world.ticks(ACCEPT)
    report = world.settled()
    assert said(world) == said(free)
    world.assert_at_rest()
    changed = [each.fact_id for each in made.changes]
    assert {row.actor for row in world.store.feed() if row.fact_id in changed} == {AGENT}
    undo_run(world.ctx, report.run)
    assert said(world) == before
    world.assert_at_rest()


def _theirs(world: ProposalWorld) -> Fact:
    """A fact of the team that another agent wrote when it might."""
    policy = world.ctx.policy
    free = world.ctx.policy._replace(permissions=OPEN)
    structs.force_setattr(world.ctx, "policy", free)
    fact = world.mirrored(agent="moss")
    structs.force_setattr(world.ctx, "policy", policy)
    return fact


@pytest.mark.parametrize("name", ACTS)
def test_a_write_is_proposed_once_and_not_after_a_no(world: ProposalWorld, name: str) -> None:
    fact = _theirs(world)
    first, again = (proposed(world, lambda ctx: ACTS[name](ctx, fact)) for _ in range(2))
    assert first == again
    reject_proposals(world.ctx, [first])
    assert proposed(world, lambda ctx: ACTS[name](ctx, fact)).outcome == "rejected"


@pytest.mark.parametrize("name", ACTS)
def test_without_the_store_nothing_is_proposed_or_waits(world: ProposalWorld, name: str) -> None:
    fact = _theirs(world)

    def goes_away(ctx: SyncContext) -> object:
        world.store.away = ctx is not world.ctx
        return ACTS[name](ctx, fact)

    with pytest.raises(errors.StoreUnavailableError):
        proposing(world, goes_away)
    world.store.away = False
    assert not world.archive.outbox()
    assert not world.archive.proposals()


def test_accepting_on_two_machines_writes_it_once(world: ProposalWorld) -> None:
    fact = _theirs(world)
    other = ProposalWorld(permissions=Permissions())
    other.ctx = structs.replace(other.ctx, store=world.store, clock=world.clock)
    sync_once(other.ctx)
    for name in ("remember", "supersede", "forget"):
        made = proposed(world, partial(ACTS[name], fact=fact))
        with other.archive.transaction():
            other.archive.put_proposal(made)
        accept_proposals(world.ctx, [made])
        facts = said(world)
        accept_proposals(other.ctx, [made])
        assert said(world) == facts
        assert accept_proposals(world.ctx, [find_proposal(world.ctx, made.id)]).run is None


def test_a_proposal_is_seen_by_those_who_read_all_of_its_scopes(world: ProposalWorld) -> None:
    own = work.remember(world.ctx, {"content": "Own."}, agent=AGENT)
    lines = [_line(own, id=ID, scope="private-ada"), _line(own, scope="public")]
    made = proposed(world, lambda ctx: import_facts(ctx, lines, agent=AGENT))
    settle_proposals(world.ctx)

    (path,) = world.review_notes()
    assert path.startswith("private-ada/")
    assert visible_proposals(world.ctx, agent="moss") == []
    assert [each.id for each in visible_proposals(world.ctx, agent=AGENT)] == [made.id]


def test_a_hidden_proposal_whose_id_begins_alike_changes_no_answer(world: ProposalWorld) -> None:
    acts = (("private-ada", "public"), ("public", "team-core"))
    made = []
    for scopes in acts:
        lines = [json.dumps({"content": "Said.", "scope": each}) for each in scopes]
        made.append(proposed(world, partial(import_facts, lines=lines, agent=AGENT)))
    reject_proposals(world.ctx, [made[1]])
    with world.archive.transaction():
        world.archive.put_proposal(replace(made[0], id="a" * 16))
        world.archive.put_proposal(replace(made[1], id="a" * 15 + "b", outcome="rejected"))

    assert find_proposal(world.ctx, "a" * 8, agent="moss").id == "a" * 15 + "b"


def test_what_changes_nothing_is_done(world: ProposalWorld) -> None:
    fact = _theirs(world)
    same = {"content": fact.content}
    assert proposing(world, lambda ctx: work.update(ctx, fact.id, same, agent=AGENT)) == fact


def test_what_would_be_refused_is_not_proposed(
    world: ProposalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = _theirs(world)
    refused: list[tuple[type[Exception], Callable[[SyncContext], object]]] = [
        (
            errors.RevisionMismatchError,
            lambda ctx: work.update(ctx, fact.id, {"priority": 0}, agent=AGENT, expect="x"),
        ),
        (
            errors.IdTakenError,
            lambda ctx: work.remember(
                ctx, {"content": "-", "id": fact.id, "scope": "public"}, agent=AGENT
            ),
        ),
        (
            errors.ImportLineError,
            lambda ctx: import_facts(
                ctx,
                [_line(fact), json.dumps({"content": "-", "scope": "private-moss"})],
                agent=AGENT,
            ),
        ),
    ]
    for error, act in refused:
        with pytest.raises(error):
            proposing(world, act)
    monkeypatch.setattr(write_proposals, "MAX_CHANGES", 1)
    with pytest.raises(errors.UsageError, match="at most 1"):
        proposing(world, lambda ctx: ACTS["supersede"](ctx, fact))
    assert not world.archive.proposals()


def test_a_deleted_fact_comes_back_only_by_the_user(world: ProposalWorld) -> None:
    fact = _theirs(world)
    work.forget(world.ctx, fact.id, agent=None)
    for act in (
        lambda ctx: work.restore(ctx, fact.id, agent=AGENT),
        lambda ctx: import_facts(ctx, [_line(fact)], agent=AGENT),
    ):
        with pytest.raises((errors.ScopeDeniedError, errors.ImportLineError)):
            proposing(world, act)


def test_several_steps_are_one_proposal(world: ProposalWorld) -> None:
    """As `forget --restore-previous`: what was drafted is read again by the next step."""
    old = _theirs(world)
    new = work.supersede(world.ctx, old.id, "It is otherwise.", agent=None)

    def both(ctx: SyncContext) -> object:
        assert work.forget(ctx, new.id, agent=AGENT).previous == old.id
        with pytest.raises(errors.FactForgottenError):
            work.get(ctx, new.id, agent=AGENT)
        return work.restore(ctx, old.id, agent=AGENT)

    made = proposed(world, both)
    assert world.is_alive(new.id)
    accept_proposals(world.ctx, [made])
    assert not world.is_alive(new.id)
    assert world.fact(old.id).superseded_by_id is None


def test_a_draft_that_is_deleted_again_is_nothing(world: ProposalWorld) -> None:
    def both(ctx: SyncContext) -> object:
        fact = work.remember(ctx, {"content": "-", "scope": "public"}, agent=AGENT)
        return work.forget(ctx, fact.id, agent=AGENT)

    assert not isinstance(proposing(world, both), ProposalRecord)


def test_an_agent_proposes_where_its_table_says(world: ProposalWorld) -> None:
    table = Permissions({AGENT: AgentPermissions(write=(), propose=("project-x",))})
    structs.force_setattr(world.ctx, "policy", world.ctx.policy._replace(permissions=table))
    said_there = {"content": "Said.", "scope": "project-x"}
    made = proposed(world, lambda ctx: work.remember(ctx, said_there, agent=AGENT))
    assert made.scope == "project-x"
    with pytest.raises(errors.ScopeDeniedError) as denied:
        work.remember(world.ctx, {**said_there, "scope": "public"}, agent=AGENT)
    assert not denied.value.proposes


def test_what_is_changed_and_changed_back_is_no_proposal(world: ProposalWorld) -> None:
    fact = _theirs(world)

    def both(ctx: SyncContext) -> object:
        work.update(ctx, fact.id, {"priority": 0}, agent=AGENT)
        assert ctx.store.get(fact.id).priority == 0
        assert ctx.store.tombstone(fact.id) is None
        assert [each.id for each in ctx.store.iter_facts()] == [fact.id]
        with pytest.raises(errors.FactNotFoundError):
            ctx.store.get(ID)
        return work.update(ctx, fact.id, {"priority": fact.priority}, agent=AGENT)

    assert not isinstance(proposing(world, both), ProposalRecord)
