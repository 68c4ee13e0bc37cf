"""Pending observations get tiers in one run, a person's word stands, and undo gives all back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.doubles.note_index import TemporaryIndex
from tests.world import World
from vaultsync.errors import IndexBusyError, InvalidFieldError
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import COMPRESSED, ORIGINAL
from vaultsync.model.permissions import AgentPermissions, Permissions
from vaultsync.model.schema import tier_of
from vaultsync.model.steps import finish
from vaultsync.notes.render import MAX_ORIGINAL_LENGTH
from vaultsync.observations import processing
from vaultsync.observations.classifier import BACKGROUND, CRITICAL, NOTABLE, ObservedText
from vaultsync.observations.compression import MAX_WORDS
from vaultsync.observations.observation_lists import (
    count_observations,
    listed_observation,
    newest_observations,
    shown_observation,
)
from vaultsync.observations.processing import ProcessReport, expanded, process
from vaultsync.observations.rules import RuleClassifier
from vaultsync.observations.service import observe
from vaultsync.operations.maintain import maintain_facts_in_steps
from vaultsync.operations.undo import undo_run
from vaultsync.sync.report import ObservationCounts

PRIVATE, TEAM = "private-indy", "team-core"
LONG = (
    "The nightly job started at two and loaded its configuration, then it fetched 4,211 rows"
    " from the Skarvik warehouse, wrote them to the cache, and waited for the next tick as it"
    " does each night, while the log said nothing that was not there the night"
    " before, and the night before that one, too."
)


class Answers:
    """A classifier whose answers a test chooses."""

    name = "answers"

    def __init__(self, *tiers: str | None) -> None:
        self.tiers = list(tiers)
        self.asked: list[str] = []

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        self.asked += [each.content for each in texts]
        return [self.tiers[0] if len(self.tiers) == 1 else self.tiers.pop(0) for _ in texts]

    def explain(self, text: ObservedText) -> tuple[str, ...]:
        return ()


def _observed(world: World, text: str = LONG) -> Fact:
    world.clock.advance(1)
    fact = observe(world.ctx, text, agent="indy")
    world.quiesce()
    return world.fact(fact.id)


@pytest.fixture
def fact(world: World) -> Fact:
    return _observed(world)


def _process(world: World, *tiers: str | None, dry_run: bool = False) -> ProcessReport:
    world.clock.advance(1)
    report = process(world.ctx, TemporaryIndex(), Answers(*tiers), dry_run=dry_run)
    world.quiesce()
    world.assert_at_rest()
    return report


def _timeless(world: World) -> dict[str, list[str]]:
    return {
        path: [line for line in world.text(path).split("\n") if "updatedAt" not in line]
        for path in world.notes()
    }


def _values(fact: Fact) -> Fact:
    return fact.evolve(updated_at=None)


def test_an_observation_waits_with_the_status_pending(fact: Fact) -> None:
    assert (fact.type, fact.status, fact.scope) == ("observation", "pending", PRIVATE)


def test_no_observation_lives_in_the_scope_of_a_team(world: World) -> None:
    with pytest.raises(InvalidFieldError, match="scope"):
        observe(world.ctx, "We met.", scope=TEAM, agent="indy")
    ctx = structs.replace(world.ctx, policy=world.ctx.policy._replace(default_scope=TEAM))
    with pytest.raises(InvalidFieldError, match="scope") as refused:
        observe(ctx, "We met.", agent=None)
    assert "name the agent" in refused.value.hint
    assert observe(ctx, "We met.", agent="indy").scope == PRIVATE


def test_what_was_written_since_is_classified_without_asking_the_index(world: World) -> None:
    _observed(world)
    world.mirrored("Not an observation.")
    since = world.ctx.store.state().seq
    new = _observed(world, f"{LONG} Again.")
    forgotten = _observed(world, f"{LONG} Never mind.")
    world.agent_forgets(forgotten.id)
    world.quiesce()

    report = process(world.ctx, Mock(spec=[]), Answers(CRITICAL), is_synced=True, since=since)

    assert {each.fact_id for each in report.actions} == {new.id}
    assert _process(world, CRITICAL).classified == 1


def test_background_that_an_agent_moved_stays_archived(world: World) -> None:
    fact = _observed(world)
    _process(world, BACKGROUND)
    world.agent_updates(fact.id, priority=1)
    world.quiesce()

    assert _process(world, CRITICAL).classified == 0
    assert world.fact(fact.id).status == "archived"


def test_of_many_writes_the_index_tells_which_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processing, "MAX_SINCE", 1)
    since = world.ctx.store.state().seq or 1
    for number in range(3):
        _observed(world, f"{LONG} {number}")

    report = process(world.ctx, TemporaryIndex(), Answers(CRITICAL), is_synced=True, since=since)

    assert report.classified == 3


def test_an_agent_classifies_what_it_may_change_and_not_all_that_it_sees() -> None:
    reads = AgentPermissions(read=(PRIVATE,), write=())
    world = World(permissions=Permissions(agents={"bo": reads}))
    fact = _observed(world)
    answers = Answers(CRITICAL)

    report = process(world.ctx, TemporaryIndex(), answers, agent="bo")

    assert (answers.asked, report.pending, world.fact(fact.id)) == ([], 0, fact)
    process(world.ctx, TemporaryIndex(), answers, agent="indy")
    assert world.fact(fact.id).status == "active"


@pytest.mark.parametrize(("tier", "priority"), [(CRITICAL, 0), (NOTABLE, 1)])
def test_what_matters_is_active_in_its_tiers_folder(world: World, tier: str, priority: int) -> None:
    fact = _observed(world)

    report = _process(world, tier)

    now = world.fact(fact.id)
    assert (now.priority, now.status, now.content) == (priority, "active", fact.content)
    assert world.path(fact.id).startswith(f"{PRIVATE}/observations/{tier}/")
    assert (report.classified, report.compressed, report.pending) == (1, 0, 0)


def test_the_background_is_shortened_archived_and_expires_with_original_kept(world: World) -> None:
    fact = _observed(world)

    report = _process(world, BACKGROUND)

    now = world.fact(fact.id)
    assert (now.priority, now.status) == (4, "archived")
    assert len(now.content.split()) <= MAX_WORDS
    assert (now.own[COMPRESSED], now.own[ORIGINAL]) == (True, fact.content)
    assert now.expires_at is not None
    assert len(LONG) > MAX_ORIGINAL_LENGTH
    assert ORIGINAL not in world.note(fact.id)
    assert (report.background, report.compressed) == (1, 1)


def test_background_that_waited_long_can_be_seen_before_it_expires(world: World) -> None:
    fact = _observed(world)
    world.clock.advance(100 * 86_400)
    _process(world, BACKGROUND)
    for days, is_alive in ((0, True), (55, True), (2, False)):
        world.clock.advance(days * 86_400)
        finish(maintain_facts_in_steps(world.ctx, max_delete=1))
        assert world.is_alive(fact.id) is is_alive


def test_a_short_original_stands_in_its_note(world: World) -> None:
    text = "Opened a file, and then one more; " * 4 + "closed it."
    fact = _observed(world, text)

    _process(world, BACKGROUND)

    assert len(text) <= MAX_ORIGINAL_LENGTH
    assert ORIGINAL in world.note(fact.id)


def test_a_background_text_of_few_words_is_archived_as_it_is(world: World) -> None:
    fact = _observed(world, "Opened a file.")

    _process(world, BACKGROUND)

    now = world.fact(fact.id)
    assert (now.status, now.content, now.own) == ("archived", "Opened a file.", {COMPRESSED: False})


def test_an_observation_that_is_not_answered_stays_pending(world: World, fact: Fact) -> None:
    report = _process(world, None)

    assert world.fact(fact.id) == fact
    assert (report.classified, report.pending, report.quiet) == (0, 1, True)


def test_a_dry_run_says_what_would_be_done_and_does_nothing(world: World, fact: Fact) -> None:
    report = _process(world, CRITICAL, dry_run=True)

    assert world.fact(fact.id) == fact
    assert (report.dry_run, report.critical) == (True, 1)


@pytest.mark.parametrize("tier", [CRITICAL, None], ids=["classified", "waiting"])
@pytest.mark.parametrize("dry_run", [True, False])
def test_the_report_counts_the_unchanged_facts(
    world: World, tier: str | None, *, dry_run: bool
) -> None:
    _observed(world)
    world.mirrored("Another fact.")

    report = _process(world, tier, dry_run=dry_run)

    assert report.counts["unchanged"] == 2 - report.classified


def test_each_entity_of_the_field_and_of_the_text_adds_to_the_importance_once(world: World) -> None:
    fact = _observed(world, f"[[Bob]] said: {LONG}")
    world.agent_updates(fact.id, entities=["bob", "Zoe", "[[Yan]]"])
    world.quiesce()

    _process(world, NOTABLE)

    assert world.fact(fact.id).importance == 0.65


def test_a_note_that_a_person_edited_is_neither_shortened_nor_archived(world: World) -> None:
    fact = _observed(world)
    world.person_edits(fact, "while the log said", "and the log said")

    _process(world, BACKGROUND)

    now = world.fact(fact.id)
    assert now.content == LONG.replace("while the log said", "and the log said")
    assert (now.priority, now.status, now.own, now.expires_at) == (4, "active", {}, None)


def test_the_tier_of_the_folder_that_a_person_moved_a_pending_note_to_stands(world: World) -> None:
    fact = _observed(world)
    old = world.path(fact.id)
    world.person_renames(old, old.replace("/notable/", "/critical/"))

    _process(world, BACKGROUND)

    now = world.fact(fact.id)
    assert (now.priority, now.status, now.content) == (0, "active", fact.content)


@pytest.mark.parametrize("text", [LONG, "Opened a file."], ids=["shortened", "short"])
def test_a_person_who_moves_a_note_from_the_background_has_it_back(world: World, text: str) -> None:
    fact = _observed(world, text)
    _process(world, BACKGROUND)
    old = world.path(fact.id)
    world.person_renames(old, old.replace("/background/", "/notable/"))

    _process(world, BACKGROUND)

    now = world.fact(fact.id)
    assert (now.priority, now.status, now.content) == (1, "active", fact.content)
    assert (now.own, now.expires_at) == ({}, None)


def test_what_a_person_archived_stays_archived(world: World, fact: Fact) -> None:
    _process(world, NOTABLE)
    world.person_edits(fact, "status: active", "status: archived")

    assert (_process(world, NOTABLE).classified, world.fact(fact.id).status) == (0, "archived")


def test_a_text_that_was_changed_after_it_was_shortened_stands_beside_its_original() -> None:
    fact = Fact("1", type="observation", content="Mine.", own={COMPRESSED: True, ORIGINAL: LONG})

    back = expanded(fact)
    assert (back.content, back.own) == ("Mine.", {ORIGINAL: LONG})


def test_an_observation_whose_classification_was_undone_stays_pending(world: World) -> None:
    fact = _observed(world)
    undo_run(world.ctx, _process(world, CRITICAL).run)
    world.quiesce()

    assert _process(world, CRITICAL).classified == 0
    assert world.fact(fact.id).status == "pending"


@pytest.mark.parametrize(("first", "tier"), [(BACKGROUND, CRITICAL), (NOTABLE, BACKGROUND)])
def test_a_note_moved_after_an_undo_has_that_tier(world: World, first: str, tier: str) -> None:
    fact = _observed(world)
    undo_run(world.ctx, _process(world, first).run)
    world.quiesce()
    old = world.path(fact.id)
    world.person_renames(old, old.replace("/notable/", f"/{tier}/"))

    run = _process(world, NOTABLE).run

    now = world.fact(fact.id)
    assert (tier_of(now.priority), now.status, now.content) == (tier, "active", fact.content)
    undo_run(world.ctx, run)
    world.quiesce()
    assert (_process(world, NOTABLE).classified, world.fact(fact.id).status) == (0, "pending")


def test_what_another_writes_meanwhile_stands_and_is_classified_later(world: World) -> None:
    fact = _observed(world)
    world.at_store("write", lambda: world.agent_updates(fact.id, content="Another text."))

    first = _process(world, CRITICAL)
    second = _process(world, CRITICAL)

    assert (first.classified, first.pending, second.classified) == (0, 1, 1)
    assert world.fact(fact.id).content == "Another text."


def test_the_newest_observations_are_listed_by_tier(world: World) -> None:
    first, second = _observed(world, "One."), _observed(world, "Two.")
    _process(world, CRITICAL, BACKGROUND)
    third = _observed(world, "Three.")

    def listed(tier: str | None) -> list[str]:
        found = newest_observations(world.ctx, TemporaryIndex(), tier=tier, agent=None, limit=10)
        return [each.id for each in found]

    assert listed(None) == [third.id, second.id, first.id]
    assert (listed(CRITICAL), listed(BACKGROUND)) == ([first.id], [second.id])
    assert listed("pending") == [third.id]


class BusyIndex(TemporaryIndex):
    """An index that another process is writing."""

    def update(self, *_: object, **__: object) -> None:
        raise IndexBusyError("another process is writing the note index")


def test_while_the_index_is_busy_observations_are_found_in_the_store(world: World) -> None:
    first, second = _observed(world, "One."), _observed(world, "Two.")
    world.mirrored(content="No observation.")

    found = newest_observations(world.ctx, BusyIndex(), tier=None, agent=None, limit=10)
    newest = newest_observations(world.ctx, BusyIndex(), tier="pending", agent=None, limit=1)
    report = process(world.ctx, BusyIndex(), Answers(CRITICAL))

    assert [each.id for each in found] == [second.id, first.id]
    assert newest == found[:1]
    assert (report.classified, report.pending) == (2, 0)


@given(st.lists(st.sampled_from([CRITICAL, NOTABLE, BACKGROUND, None, "index"]), max_size=6))
def test_counts_are_those_of_the_store_however_far_the_index_is(steps: list[str | None]) -> None:
    world, index, known = World(), TemporaryIndex(), Counter[str]()
    waiting: list[Fact] = []
    for tier in steps:
        if tier == "index":
            catch_up_note_index(world.ctx, index)
            continue
        waiting.append(_observed(world))
        if tier is not None:
            known[tier] += len(waiting)
            waiting.clear()
            _process(world, tier)

    counts = ObservationCounts(
        pending=len(waiting),
        critical=known[CRITICAL],
        notable=known[NOTABLE],
        background=known[BACKGROUND],
        compressed=known[BACKGROUND],
        oldest_pending=waiting[0].created_at if waiting else None,
    )
    for indexed in (index, TemporaryIndex()):
        assert count_observations(world.ctx, indexed, agent=None) == counts
    catch_up_note_index(world.ctx, index)
    with world.outage():
        without_store = count_observations(world.ctx, index, agent=None)
    assert without_store == structs.replace(counts, oldest_pending=None)


def test_progress_is_told(world: World) -> None:
    _observed(world)
    told: list[tuple[str, int, int]] = []

    process(
        world.ctx, TemporaryIndex(), Answers(BACKGROUND), progress=lambda *each: told.append(each)
    )

    assert ("observations", 1, 1) in told


def test_a_shown_observation_has_its_original_and_the_reasons(world: World) -> None:
    fact = _observed(world, "We decided to keep the old berth plan. " + LONG)
    _process(world, BACKGROUND)

    shown = shown_observation(world.fact(fact.id), RuleClassifier())

    assert (shown.tier, shown.compressed, shown.original) == (BACKGROUND, True, fact.content)
    assert "critical: decision (decided)" in shown.why
    assert listed_observation(fact).tier == "pending"


def test_only_observations_are_shown(world: World) -> None:
    with pytest.raises(InvalidFieldError, match="observation"):
        shown_observation(world.agent_remembers("A fact."), RuleClassifier())


def test_maintenance_deletes_expired_background_that_no_person_edited(world: World) -> None:
    kept, gone = _observed(world), _observed(world, LONG.replace("nightly", "daily"))
    _process(world, BACKGROUND)
    world.person_edits(kept, "priority: 4", "priority: 3")
    world.quiesce()
    world.clock.advance(57 * 24 * 3600)

    finish(maintain_facts_in_steps(world.ctx, max_delete=5))

    assert world.is_alive(kept.id)
    assert not world.is_alive(gone.id)


@given(
    texts=st.lists(
        st.sampled_from([LONG, "Short.", LONG[:150], "We lost 3 boxes; " * 12]),
        min_size=1,
        max_size=3,
    ),
    tiers=st.lists(st.sampled_from([CRITICAL, NOTABLE, BACKGROUND]), min_size=3, max_size=3),
)
def test_classifying_and_undoing_leaves_both_sides_as_they_were(
    texts: list[str], tiers: list[str]
) -> None:
    world = World()
    facts = [_observed(world, text) for text in texts]
    notes = _timeless(world)

    run = process(world.ctx, TemporaryIndex(), Answers(*tiers)).run
    world.quiesce()
    undo_run(world.ctx, run)
    world.quiesce()

    assert _timeless(world) == notes
    assert [_values(world.fact(x.id)) for x in facts] == [_values(x) for x in facts]
    world.assert_at_rest()
