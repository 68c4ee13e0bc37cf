from __future__ import annotations

import pytest
from msgspec import structs

from tests.proposals.test_producers import FAILED, TIDES, named
from tests.proposals.world import ACCEPT, REJECT, ProposalWorld
from tests.world import SCOPE
from vaultsync.model.steps import finish
from vaultsync.notes.proposal_note import ACCEPTED
from vaultsync.operations.undo import undo_run
from vaultsync.proposals.answer_counts import MIN_ANSWERS, answer_counts, count_answers
from vaultsync.proposals.make_proposals import (
    AUTO,
    OFF,
    PROPOSE,
    MadeProposals,
    make_proposals_in_steps,
)
from vaultsync.proposals.producers import PRODUCERS
from vaultsync.proposals.service import accept_proposals, find_proposal


class RuleWorld(ProposalWorld):
    """A world in which maintenance lets the rules propose."""

    def maintain(
        self, mode: str = PROPOSE, *, kind: str = "duplicates", dry_run: bool = False
    ) -> MadeProposals:
        modes = dict.fromkeys(PRODUCERS, OFF) | {kind: mode}
        self.clock.advance(1)
        return finish(make_proposals_in_steps(self.ctx, modes, dry_run=dry_run))

    def twins(self, number: int = 1) -> None:
        for n in range(number):
            for _ in "ab":
                self.mirrored(f"{TIDES} No {n}.", type="fact", title=f"Tides {n}")


@pytest.fixture
def world() -> RuleWorld:
    return RuleWorld()


def test_maintenance_proposes_once_beside_the_note(world: RuleWorld) -> None:
    world.twins()
    assert world.maintain().proposed == {"duplicates": 1}
    assert len(world.review_notes()) == 1
    assert world.maintain().proposed == {}
    world.ticks(REJECT)
    world.settle()
    assert world.maintain().proposed == {}
    assert answer_counts(world.archive) == {"duplicates": (0, 1)}


def test_an_accepted_merge_leaves_one_fact_and_counts(world: RuleWorld) -> None:
    world.twins()
    world.maintain()
    world.ticks(ACCEPT)
    world.settle()

    assert len(world.facts()) == 1
    assert answer_counts(world.archive) == {"duplicates": (1, 0)}
    world.assert_at_rest()


def test_one_run_proposes_no_more_than_its_limit(world: RuleWorld) -> None:
    world.twins(PRODUCERS["duplicates"].most + 1)

    assert world.maintain().proposed == {"duplicates": PRODUCERS["duplicates"].most}
    assert world.maintain().proposed == {"duplicates": 1}


def test_a_fact_is_in_one_open_proposal_at_a_time(world: RuleWorld) -> None:
    for _ in range(3):
        world.mirrored(TIDES, type="fact")

    assert world.maintain().proposed == {"duplicates": 1}


def test_a_copy_stays_when_what_it_repeats_changed_or_is_gone(world: RuleWorld) -> None:
    world.twins(2)
    world.maintain()
    one, two = world.archive.proposals()
    world.agent_updates(one.changes[0].fact_id, content="Something else.")
    world.agent_forgets(two.changes[0].fact_id)
    done = accept_proposals(world.ctx, [one, two])

    assert [each.outcome for each in done.proposals] == ["", "expired"]
    assert world.is_alive(one.changes[1].fact_id)
    assert world.is_alive(two.changes[1].fact_id)


def test_a_dry_run_records_nothing(world: RuleWorld) -> None:
    world.twins()
    with world.nobody_writes():
        assert world.maintain(dry_run=True).proposed == {"duplicates": 1}

    assert world.outcomes() == []


def test_auto_accepts_at_once_and_can_be_undone(world: RuleWorld) -> None:
    world.twins()
    made = world.maintain(AUTO)

    assert (made.proposed, made.accepted) == ({"duplicates": 1}, {"duplicates": 1})
    assert world.review_notes() == []
    assert answer_counts(world.archive) == {}
    (record,) = world.archive.proposals(settled=True)
    undo_run(world.ctx, record.run)
    assert len(world.facts()) == 2
    world.assert_at_rest()


def test_what_is_accepted_at_once_does_not_wait_for_other_kinds(world: RuleWorld) -> None:
    world.twins()
    steps = make_proposals_in_steps(world.ctx, dict.fromkeys(PRODUCERS, AUTO))
    while not world.archive.proposals(settled=True):
        next(steps)
    steps.close()  # the daemon ends
    assert world.archive.proposals() == []


def test_a_kind_of_which_most_were_rejected_falls_silent_until_it_was_off(world: RuleWorld) -> None:
    world.twins()
    count_answers(world.ctx, ["duplicates"] * 3, accepted=True)
    count_answers(world.ctx, ["duplicates"] * (MIN_ANSWERS - 4), accepted=False)
    assert world.maintain(dry_run=True).silent == []
    count_answers(world.ctx, ["duplicates"], accepted=False)
    assert world.maintain().silent == ["duplicates: 7 of 10 were rejected"]
    assert world.maintain().proposed == {}
    assert world.maintain(OFF).silent == []
    assert world.maintain().proposed == {"duplicates": 1}


def test_a_note_for_a_name_is_made_where_the_facts_are(world: RuleWorld) -> None:
    for each in named("Pier Box"):
        world.agent_remembers(each.content, entities=["Pier Box"])
    world.sync()
    modes = dict.fromkeys(PRODUCERS, OFF) | {"link": PROPOSE}
    assert finish(make_proposals_in_steps(world.ctx, modes)).proposed == {"link": 1}
    (path,) = world.review_notes()
    assert path == f"{SCOPE}/proposals/create-a-note-for-pier-box.proposal.md"
    (record,) = world.archive.proposals()
    done = accept_proposals(world.ctx, [find_proposal(world.ctx, record.id)])
    made = world.fact(done.proposals[0].changes[0].fact_id)
    assert (made.title, made.type, made.created_at != "") == ("Pier Box", "entity", True)
    assert f"{SCOPE}/entities/Pier Box.md" in world.vault.files
    undo_run(world.ctx, str(done.run))
    assert not world.is_alive(made.id)
    world.assert_at_rest()


def test_repeated_observations_are_one_fact_with_links_asked_about_once(world: RuleWorld) -> None:
    kind = "consolidation"

    def observed(first: int) -> list[str]:
        texts = (FAILED.format(each, each) for each in range(first, first + 3))
        made = [world.mirrored(each, type="observation", status="archived") for each in texts]
        return [each.id for each in made]

    ids = observed(1)
    assert world.maintain(kind=kind).proposed == {kind: 1}
    (note,) = world.review_notes()
    assert all(f"- [[{world.path(each)[:-3]}|" in world.text(note) for each in ids)
    observed(4)
    assert world.maintain(kind=kind).proposed == {}
    world.ticks(ACCEPT)
    report = world.settled()
    (fact,) = (each for each in world.facts() if each.type == "fact")
    assert list(fact.related_fact_ids) == ids
    assert (world.maintain(kind=kind).proposed, world.fact(fact.id).importance) == ({kind: 1}, None)
    world.ticks(ACCEPT)
    world.settle()
    assert world.fact(fact.id).importance == 0.6
    assert world.maintain(kind=kind).proposed == {}
    undo_run(world.ctx, report.run)
    assert not world.is_alive(fact.id)


@pytest.mark.parametrize("kind", ["duplicates", "link", "consolidation"])
def test_what_two_machines_on_one_store_propose_is_done_once(world: RuleWorld, kind: str) -> None:
    if kind == "link":
        for fact in named("Pier Box"):
            world.agent_remembers(fact.content, entities=["Pier Box"])
    else:
        world.twins()
        for number in range(3):
            text = FAILED.format(number, number)
            world.mirrored(text, type="observation", status="archived")
    other = RuleWorld()
    other.ctx = structs.replace(other.ctx, store=world.store, clock=world.clock)
    for each in (world, other):
        each.sync()
        assert each.maintain(kind=kind).proposed == {kind: 1}
        each.ticks(ACCEPT)

    world.settle()
    facts = world.facts()
    other.settle()

    assert world.facts() == facts
    assert world.outcomes() == other.outcomes() == [ACCEPTED]
    for each in (world, other):
        each.sync()
        each.assert_at_rest()
