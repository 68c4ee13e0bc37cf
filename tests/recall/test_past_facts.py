"""The facts as they were: those that there were, in the version that each had."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from tests.doubles.note_index import TemporaryIndex
from tests.fakes import FakeClock
from tests.recalls import RecallWorld
from vaultsync.errors import InvalidFieldError
from vaultsync.model.fact import Fact
from vaultsync.notes.view import NoteView
from vaultsync.recall.past_facts import FixedClock, past_facts, past_moment
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.recall.service import WORDS_ONLY, RecallSearch
from vaultsync.storage.archive import HISTORY_SINCE_SETTING

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
HOUR = 3_600


def time(world: RecallWorld) -> str:
    """A moment, before which all is done, and after which the next begins."""
    world.clock.advance(HOUR)
    at = world.clock.now().isoformat()
    world.clock.advance(HOUR)
    return at


def known(world: RecallWorld, at: str, *, agent: str | None = None) -> dict[str, Fact]:
    store = past_facts(world.ctx, at, agent=agent).ctx.store
    return {fact.id: fact for fact in store.iter_facts()}


def ask(world: RecallWorld, question: str, at: str) -> RecallResult:
    past = past_facts(world.ctx, at, agent=None)
    sources = RecallSources(past.ctx, TemporaryIndex(), unknown=past.unknown)
    return RecallSearch(sources, RecallRequest(question, as_of=at, mode="fused")).answer()


def test_there_are_the_facts_that_were_created_until_then(world: RecallWorld) -> None:
    old = world.mirrored("The harbour has 38 berths.")
    at = time(world)
    world.mirrored("The harbour has a crane.")
    assert list(known(world, at)) == [old.id]


@pytest.mark.parametrize("synced", [True, False])
def test_each_is_in_the_version_that_it_had(world: RecallWorld, *, synced: bool) -> None:
    fact = world.mirrored("The harbour has 36 berths.", tags=["old"])
    times, texts = [time(world)], ["The harbour has 36 berths."]
    for berths in (38, 40, 42):
        texts.append(f"The harbour has {berths} berths.")
        world.agent_updates(fact.id, content=texts[-1], tags=[f"t{berths}"])
        if synced:
            world.sync()
        times.append(time(world))
    for at, text in zip(times, texts, strict=True):
        assert known(world, at)[fact.id].content == text
    assert known(world, times[0])[fact.id].tags == ("old",)
    world.sync()
    assert [known(world, at)[fact.id].content for at in times] == texts


def test_what_the_person_changed_in_the_note_is_as_it_was(world: RecallWorld) -> None:
    fact = world.mirrored("The harbour has 38 berths.")
    at = time(world)
    world.person_edits(fact, "38 berths", "42 berths")
    world.quiesce()
    assert world.fact(fact.id).content == "The harbour has 42 berths."
    assert known(world, at)[fact.id].content == "The harbour has 38 berths."
    assert [hit.id for hit in ask(world, "38", at)] == [fact.id]
    assert not ask(world, "42", at).hits


def test_a_fact_that_was_superseded_later_was_the_head(world: RecallWorld) -> None:
    old = world.mirrored("The harbour has 38 berths.")
    at = time(world)
    new = world.supersedes(old.id, "The harbour has 42 berths.")
    world.sync()
    later = time(world)
    assert [hit.id for hit in ask(world, "berths", at)] == [old.id]
    assert [hit.id for hit in ask(world, "berths", later)] == [new.id]
    assert known(world, later)[old.id].superseded_by_id == new.id


def test_a_fact_whose_newer_version_was_deleted_before_stays_superseded(world: RecallWorld) -> None:
    old = world.mirrored("The harbour has 38 berths.")
    new = world.supersedes(old.id, "The harbour has 42 berths.")
    world.sync()
    world.agent_forgets(new.id)
    world.quiesce()
    assert ask(world, "berths", time(world)).hits == ()
    assert known(world, time(world))[old.id].superseded_by_id == new.id


def test_a_fact_that_was_deleted_later_was_there(world: RecallWorld) -> None:
    fact = world.mirrored("The harbour has 38 berths.")
    at = time(world)
    world.agent_forgets(fact.id)
    world.quiesce()
    assert known(world, at)[fact.id].content == "The harbour has 38 berths."
    assert not known(world, time(world))


def test_an_agent_sees_what_it_may_see(world: RecallWorld) -> None:
    own = world.mirrored("Of Indy.", scope="private-indy")
    world.mirrored("Of Ada.", agent="ada", scope="private-ada")
    at = time(world)
    assert list(known(world, at, agent="indy")) == [own.id]
    assert len(known(world, at)) == 2


def test_expiry_and_age_are_those_of_the_time(world: RecallWorld) -> None:
    until = (world.clock.now() + timedelta(days=1)).isoformat()
    fact = world.mirrored("The gate is open.", expiresAt=until)
    at = time(world)
    world.clock.advance(48 * HOUR)
    assert not world.ask("gate").hits
    (hit,) = ask(world, "gate", at)
    assert hit.id == fact.id
    assert hit.recency == pytest.approx(1, abs=0.01)


def test_it_says_that_only_words_are_searched(world: RecallWorld) -> None:
    world.mirrored("The harbour has 38 berths.")
    found = ask(world, "berths", time(world))
    assert (found.degraded, found.source) == ((WORDS_ONLY,), "index")


def test_it_says_what_was_pruned_from_the_history(world: RecallWorld) -> None:
    world.mirrored("The harbour has 38 berths.")
    at = time(world)
    with world.ctx.archive.transaction():
        world.ctx.archive.set_setting(HISTORY_SINCE_SETTING, world.ctx.now())
    assert "was pruned" in ask(world, "berths", at).degraded[0]
    assert past_facts(world.ctx, time(world), agent=None).unknown == ()


def test_without_the_store_the_facts_are_as_of_the_last_run(world: RecallWorld) -> None:
    fact = world.mirrored("The harbour has 38 berths.")
    at = time(world)
    world.agent_updates(fact.id, content="The harbour has 42 berths.")
    world.sync()
    with world.outage():
        past = past_facts(world.ctx, at, agent=None)
    assert "last sync run" in past.unknown[0]
    (found,) = past.ctx.store.iter_facts()
    assert found.content == "The harbour has 38 berths."


def test_a_former_value_that_is_no_longer_valid_is_left_out(world: RecallWorld) -> None:
    fact = world.mirrored("The harbour has 38 berths.")
    at = time(world)
    world.agent_updates(fact.id, content="The harbour has 42 berths.")
    world.sync()
    history = world.ctx.archive.history(fact_id=fact.id)[-1]
    with world.ctx.archive.transaction():
        world.ctx.archive.add_history([history._replace(field="priority", before="high")])
    assert known(world, at)[fact.id].content == "The harbour has 38 berths."


def test_secrets_are_redacted_in_former_versions(world: RecallWorld) -> None:
    class Redacting(NoteView, frozen=True):
        def redact(self, fact: Fact) -> Fact:
            return fact.evolve(content=fact.content.replace("hunter2", "[REDACTED]"))

    fact = world.mirrored("The password is hunter2.")
    at = time(world)
    ctx = replace(world.ctx, view=Redacting(None))
    (found,) = past_facts(ctx, at, agent=None).ctx.store.find_many([fact.id]).values()
    assert found.content == "The password is [REDACTED]."


@pytest.mark.parametrize(
    ("as_of", "moment"),
    [
        ("2026-03-01", "2026-03-01T23:59:59.999999+00:00"),
        ("2026-02", "2026-02-28T23:59:59.999999+00:00"),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00+00:00"),
        ("2026-03-01T10:00:00", "2026-03-01T10:00:00+00:00"),
        ("2026-03-10", NOW.isoformat()),
        ("2030-01-01", NOW.isoformat()),
    ],
)
def test_a_day_stands_for_its_end_and_the_future_for_now(as_of: str, moment: str) -> None:
    assert past_moment(as_of, clock=FakeClock(NOW)).isoformat() == moment


def test_a_day_ends_where_it_is_asked() -> None:
    clock = FakeClock(NOW)
    clock.zone = ZoneInfo("America/Los_Angeles")
    assert past_moment("2026-03-01", clock=clock).isoformat() == "2026-03-02T07:59:59.999999+00:00"


@pytest.mark.parametrize("as_of", ["banana", "2026-13-01", "yesterday, at noon"])
def test_what_is_no_time_is_refused(as_of: str) -> None:
    with pytest.raises(InvalidFieldError):
        past_moment(as_of, clock=FakeClock(NOW))


def test_the_clock_of_the_past_goes_on_with_the_present_one(world: RecallWorld) -> None:
    clock = FixedClock(world.clock, NOW)
    before = clock.monotonic()
    clock.sleep(2)
    assert clock.monotonic() >= before + 2
    assert clock.now() == NOW
    assert clock.new_id() != clock.new_id()


def test_a_change_at_the_time_itself_holds(world: RecallWorld) -> None:
    fact = world.mirrored("The harbour has 38 berths.")
    world.agent_updates(fact.id, content="The harbour has 42 berths.")
    world.sync()
    at = world.ctx.archive.history(fact_id=fact.id)[-1].at
    world.agent_updates(fact.id, content="The harbour has 50 berths.")
    world.sync()
    assert known(world, at)[fact.id].content == "The harbour has 42 berths."
