"""While one batch waits for the disk or the clock, the next is decided; nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.fakes import FakeClock
from tests.world import SCOPE, World, die
from vaultsync.api.wiring import run_in_thread
from vaultsync.model.fact import make_fact
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.apply import MIN_BACKGROUND_ACTIONS, sleep_while, sync_while
from vaultsync.sync.context import Background, SyncPolicy

STEPS = 100


class _Work:
    """Steps that are counted."""

    def __init__(self) -> None:
        self.done = 0
        self.some = threading.Event()

    def steps(self) -> Iterator[None]:
        for _ in range(STEPS):
            self.done += 1
            if self.done == 3:
                self.some.set()
            yield


def test_little_work_is_done_before_the_disk_is_asked_and_in_no_thread() -> None:
    work, seen = _Work(), []

    def sync() -> None:
        seen.append((work.done, threading.current_thread() is threading.main_thread()))

    sync_while(sync, work.steps(), None)
    assert seen == [(STEPS, True)]


def test_work_goes_on_while_the_disk_is_waited_for() -> None:
    work = _Work()
    sync_while(lambda: None if work.some.wait(60) else die(), work.steps(), run_in_thread)
    assert work.done >= 3


def test_what_is_left_of_the_work_when_the_disk_answers_can_be_done_later() -> None:
    answered = threading.Event()

    def steps() -> Iterator[int]:
        for number in range(STEPS):
            if number:
                assert answered.wait(60)
                _let_others_run()
            yield number

    work = steps()
    sync_while(answered.set, work, run_in_thread)
    assert next(work, None)


def test_without_work_the_disk_is_waited_for_all_the_same() -> None:
    synced = threading.Event()
    sync_while(synced.set, iter(()), run_in_thread)
    assert synced.is_set()


@pytest.mark.parametrize("background", [None, run_in_thread])
def test_an_error_of_the_disk_is_raised(background: Background | None) -> None:
    def sync() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        sync_while(sync, _Work().steps(), background)


def test_work_that_fails_does_not_leave_the_disk_at_work() -> None:
    failing, ended = threading.Event(), threading.Event()

    def sync() -> None:
        assert failing.wait(60)
        _let_others_run()
        ended.set()

    def steps() -> Iterator[None]:
        yield
        failing.set()
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        sync_while(sync, steps(), run_in_thread)
    assert ended.is_set()


def test_work_goes_on_while_the_clock_is_waited_for() -> None:
    clock, work = FakeClock(), _Work()

    def slowly() -> Iterator[None]:
        for each in work.steps():
            clock.sleep(0.5)
            yield each

    sleep_while(clock, 1.9, slowly())
    assert (work.done, clock.monotonic()) == (4, 2)


@pytest.mark.parametrize("steps", [0, 3])
def test_what_is_left_of_the_time_when_the_work_is_done_is_slept(steps: int) -> None:
    clock = FakeClock()
    sleep_while(clock, 2, iter(range(steps)))
    assert clock.monotonic() == 2


@pytest.mark.parametrize("seconds", [0, -1])
def test_where_there_is_nothing_to_wait_for_no_work_is_begun(seconds: float) -> None:
    work = _Work()
    sleep_while(FakeClock(), seconds, work.steps())
    assert work.done == 0


def _with_facts(count: int) -> World:
    world = World(SyncPolicy(batch=MIN_BACKGROUND_ACTIONS))
    world.ctx = replace(world.ctx, background=run_in_thread)
    for number in range(count):
        fact_id = f"0193f6c2-0000-7000-8000-{number:012d}"
        said = {"title": f"Fact {number}", "content": f"What fact {number} says."}
        fact = make_fact({"id": fact_id, "scope": SCOPE, **said})
        world.store.write([StoreWrite(fact_id, fact, None, "indy")])
    return world


def test_a_pass_of_several_batches_writes_what_one_batch_would() -> None:
    world = _with_facts(2 * MIN_BACKGROUND_ACTIONS + 50)
    assert world.sync().counts["created_in_vault"] == 2 * MIN_BACKGROUND_ACTIONS + 50
    world.assert_at_rest()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_disk_that_fails_in_a_thread_stops_the_pass_before_the_base(number: int) -> None:
    world = _with_facts(2 * MIN_BACKGROUND_ACTIONS + 50)

    def fails() -> None:
        raise OSError(5, "Input/output error")

    world.at("sync", fails, number=number)
    with pytest.raises(OSError, match="Input/output"):
        world.sync()
    whole_batches = (number - 1) // 2
    assert world.archive.count_bases() == whole_batches * MIN_BACKGROUND_ACTIONS
    world.assert_at_rest()
    assert len(world.notes()) == 2 * MIN_BACKGROUND_ACTIONS + 50


def _let_others_run() -> None:
    threading.Event().wait(0.05)
