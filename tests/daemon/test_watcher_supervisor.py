from __future__ import annotations

import pytest

from tests.watching import FakeWatcher
from vaultsync.daemon.ports import WatchEvents
from vaultsync.daemon.schedule import Intervals
from vaultsync.daemon.watcher_supervisor import FAILURE_WINDOW, WatcherSupervisor

RHYTHM = Intervals()


class Kept:
    """A keeper with watchers that a test makes ill."""

    def __init__(
        self,
        *,
        fail_to_start: int = 0,
        error: OSError | None = None,
        answers: bool = True,
        rhythm: Intervals = RHYTHM,
    ) -> None:
        self.made: list[FakeWatcher] = []
        self.left = fail_to_start
        self.error = error or OSError(28, "no space left on device")
        self.answers = answers
        self.keeper = WatcherSupervisor(self._make, rhythm, jitter=lambda: 1.0)
        self.now = 0.0
        self.told: list[tuple[float, str]] = []

    def _make(self, polls: bool) -> FakeWatcher:
        made = FakeWatcher(polls=polls, answers=self.answers, starts=self._start)
        self.made.append(made)
        return made

    def _start(self) -> None:
        if self.left:
            self.left -= 1
            raise self.error

    def runs(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            if why := self.keeper.check_health(self.now):
                self.told.append((self.now, why))
            self.keeper.drain()
            self.now += 0.25


def test_a_watcher_that_begins_means_a_look_at_the_vault() -> None:
    kept = Kept()
    assert kept.keeper.drain() == WatchEvents()
    kept.runs(60)
    assert kept.told == [(0.0, "fake was started")]
    assert len(kept.made) == 1
    assert kept.made[0].probed >= 15


def test_a_dead_watcher_is_noticed_within_five_seconds_and_started_again() -> None:
    kept = Kept()
    kept.runs(7.1)
    kept.made[0].ill = "a thread that watches has ended"
    began = kept.now
    kept.runs(5)
    assert kept.made[0].stopped
    assert len(kept.made) == 2
    assert kept.told[1][0] - began < 5
    assert kept.keeper.failure == "a thread that watches has ended"


def test_a_watcher_that_hears_nothing_is_noticed_within_five_seconds() -> None:
    kept = Kept()
    kept.runs(20.1)
    kept.made[0].answers = False
    began = kept.now
    kept.runs(5)
    assert len(kept.made) == 2
    assert kept.told[1][0] - began <= 5
    assert kept.keeper.failure == "it reports no events"


def test_after_some_failures_a_watcher_that_looks_by_itself_takes_over() -> None:
    kept = Kept(answers=False)
    kept.runs(30)
    assert [each.polls for each in kept.made] == [False, False, False, True]
    assert kept.made[-1].probed == 0


def test_a_watcher_that_polls_after_failures_is_replaced_in_the_end() -> None:
    kept = Kept(answers=False)
    kept.runs(30)
    kept.answers = True
    kept.runs(FAILURE_WINDOW + 10)
    assert [each.polls for each in kept.made] == [False, False, False, True, False]
    assert kept.made[3].stopped


def test_a_vault_that_is_not_mounted_is_no_failure_of_the_watcher() -> None:
    kept = Kept(fail_to_start=6, error=FileNotFoundError(2, "No such file or directory", "/vault"))
    kept.runs(120)
    assert "/vault" in kept.keeper.failure
    assert len(kept.made) == 7
    assert not any(each.polls for each in kept.made)


@pytest.mark.parametrize("polls", [False, True])
def test_after_a_loss_a_new_watcher_begins_at_once(*, polls: bool) -> None:
    """The one before may not watch the folders whose events it lost."""
    kept = Kept()
    kept.runs(1.1)
    kept.made[0].polls = polls  # it looks at all folders each time
    kept.made[0].heard.append(WatchEvents(lost="the queue was full"))
    assert kept.keeper.drain().lost
    kept.runs(0.1)
    assert kept.made[0].stopped is not polls
    assert [why for _, why in kept.told] == ["fake was started"] * (1 if polls else 2)
    assert kept.keeper.failure == ""


def test_failures_of_long_ago_do_not_count() -> None:
    kept = Kept()
    for _ in range(5):
        kept.runs(400)
        kept.made[-1].ill = "it died"
    kept.runs(2)
    assert not any(each.polls for each in kept.made)


def test_a_watcher_that_cannot_start_is_tried_again_ever_more_rarely() -> None:
    kept = Kept(fail_to_start=5)
    kept.runs(0.1)
    assert kept.keeper.name == ""
    assert "no space left" in kept.keeper.failure
    kept.runs(60)
    assert len(kept.made) == 6
    assert [each.polls for each in kept.made] == [False] * 3 + [True] * 3
    assert (kept.told, kept.keeper.name) == ([(31.0, "fake was started")], "fake")


def test_a_probe_that_cannot_be_done_says_nothing() -> None:
    kept = Kept()
    kept.runs(1)

    def full() -> None:
        raise OSError(28, "no space left on device")

    kept.made[0].probe = full  # type: ignore[method-assign]
    kept.runs(30)
    assert len(kept.made) == 1


def test_the_first_probe_that_is_unheard_counts_not_the_last() -> None:
    kept = Kept(answers=False, rhythm=Intervals(probe=1.0, answer=4.0))
    for second in range(7):
        kept.keeper.check_health(second)
    assert kept.made[0].probed > 2
    assert len(kept.made) == 2


def test_a_probe_is_not_unheard_because_the_daemon_was_busy_elsewhere() -> None:
    kept = Kept()
    while not (kept.made and kept.made[0].probed):
        kept.keeper.check_health(kept.now)
        kept.now += 0.25
    kept.now += 30  # a model was loaded, say, and nobody listened
    kept.runs(20)
    assert len(kept.made) == 1
    kept.made[0].answers = False
    kept.runs(6)
    assert len(kept.made) == 2


def test_a_probe_of_before_a_sleep_is_not_waited_for() -> None:
    kept = Kept(answers=False)
    kept.runs(2.6)
    assert kept.made[0].probed == 0
    kept.runs(1)
    assert kept.made[0].probed == 1
    kept.keeper.after_sleep()
    kept.now += 100
    kept.made[0].answers = True
    kept.runs(2)
    assert len(kept.made) == 1


def test_a_keeper_that_is_closed_listens_no_more() -> None:
    kept = Kept()
    kept.keeper.close()
    kept.runs(1)
    kept.keeper.close()
    assert kept.made[0].stopped
    assert kept.keeper.name == ""
