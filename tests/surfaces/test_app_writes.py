"""Writes through Obsidian, and the events of a bridge."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest
from msgspec import structs, to_builtins

from tests.bridges import offer
from tests.fakes import FakeClock
from vaultsync.backends.obsidian.vault_through_app import WriteReply
from vaultsync.errors import WriteNotFoundError
from vaultsync.service.events import MAX_EVENT_ROWS, MAX_UNFETCHED, Event, EventBus, Subscription
from vaultsync.service.obsidian_writes import UNRESPONSIVE_SECONDS, ObsidianWrites
from vaultsync.sync.report import ActionTaken, Report


class Listener:
    """A client of the events."""

    def __init__(self, events: EventBus, *, app: bool = True) -> None:
        self.woken = threading.Event()
        self.heard: Subscription = events.subscribe(self.woken.set, app=app)


@pytest.fixture
def events() -> EventBus:
    return EventBus()


def test_without_an_app_no_offer_is_made(events: EventBus) -> None:
    writes = ObsidianWrites(events, FakeClock())
    listener = Listener(events, app=False)

    assert not writes.is_connected
    assert not writes.is_open
    assert writes.offer(offer()) is None
    assert listener.heard.fetch() == []


def test_an_offer_returns_the_answer_of_the_app(events: EventBus) -> None:
    writes = ObsidianWrites(events, FakeClock(), wait=10)
    listener = Listener(events)
    answer = WriteReply(False, "0" * 64, "unsaved")

    with ThreadPoolExecutor() as pool:
        found = pool.submit(writes.offer, offer())
        assert listener.woken.wait(60)
        (event,) = [each for each in listener.heard.fetch() if each.kind == "write"]
        writes.on_reply(str(event.data["write"]), answer)

    assert found.result() == answer
    assert writes.is_open


def test_an_app_that_does_not_answer_is_not_asked_for_a_while(events: EventBus) -> None:
    clock = FakeClock()
    writes = ObsidianWrites(events, clock, wait=0.01)
    listener = Listener(events)

    assert writes.offer(offer()) is None

    assert writes.is_connected
    assert not writes.is_open
    clock.advance(UNRESPONSIVE_SECONDS + 1)
    assert writes.is_open
    assert writes.offer(offer()) is None
    (_, late) = listener.heard.fetch()
    with pytest.raises(WriteNotFoundError):
        writes.on_reply(str(late.data["write"]), WriteReply(applied=True))
    assert writes.is_open


def test_an_answer_at_the_end_counts(events: EventBus, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = ObsidianWrites(events, FakeClock(), wait=0)
    listener = Listener(events)
    answer = WriteReply(applied=True)

    def waited(replies: list[Future[WriteReply]], seconds: float) -> object:
        ended = wait(replies, seconds)
        (event,) = listener.heard.fetch()
        writes.on_reply(str(event.data["write"]), answer)
        return ended

    monkeypatch.setattr("vaultsync.service.obsidian_writes.wait", waited)
    assert writes.offer(offer()) == answer
    assert writes.is_open


def test_another_app_is_asked_when_the_last_one_did_not_answer(events: EventBus) -> None:
    writes = ObsidianWrites(events, FakeClock(), wait=0.01)
    first = Listener(events)
    writes.offer(offer())
    second = Listener(events)

    assert writes.is_open
    writes.offer(offer())
    assert [len(each.heard.fetch()) for each in (first, second)] == [1, 1]


def test_a_state_with_other_conflicts_is_two_events(events: EventBus) -> None:
    listener = Listener(events)
    for number in (0, 0, 2):
        events.publish("state", {"conflicts": number})

    kinds = [event.kind for event in listener.heard.fetch()]
    assert kinds == ["state", "state", "state", "conflict"]


def test_the_event_of_a_large_run_has_its_first_actions_and_all_counts(events: EventBus) -> None:
    listener = Listener(events)
    actions = [ActionTaken("create_note", f"{n}", f"{n}.md", (), "new") for n in range(1_000)]
    counts = {"created_in_vault": 1_000}
    report = Report("run", dry_run=False, seconds=1.0, counts=counts, actions=actions)
    events.publish_run(to_builtins(report))

    (event,) = listener.heard.fetch()
    first = structs.replace(report, actions=actions[:MAX_EVENT_ROWS])
    assert event == Event("pass", to_builtins(first))


def test_a_client_that_is_too_slow_is_dropped(events: EventBus) -> None:
    slow, gone = Listener(events), Listener(events)
    events.leave(gone.heard)
    for _ in range(MAX_UNFETCHED + 1):
        events.publish("pass", {})

    assert slow.heard.over
    assert gone.heard.over
    assert gone.heard.fetch() == []
    assert events.app() is None


def test_closing_the_events_ends_all_subscriptions_and_later_ones(events: EventBus) -> None:
    before = Listener(events)
    events.close()
    after = Listener(events)

    assert before.heard.over
    assert after.heard.over
    assert before.woken.is_set()
    after.heard.put(Event("pass", {}))
    assert after.heard.fetch() == []
