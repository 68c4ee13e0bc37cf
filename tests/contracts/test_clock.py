from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from time import tzset
from uuid import RFC_4122, UUID
from zoneinfo import ZoneInfo

import pytest

from tests.fakes import START, FakeClock
from vaultsync.backends.system.system_clock import IdSource, SystemClock
from vaultsync.model.canonical import check_id
from vaultsync.recall.past_facts import FixedClock
from vaultsync.storage.clock import Clock

CLOCKS: dict[str, Callable[[], Clock]] = {"system": SystemClock, "fake": FakeClock}


@pytest.fixture(params=CLOCKS)
def clock(request: pytest.FixtureRequest) -> Clock:
    return CLOCKS[request.param]()


@pytest.mark.parametrize("seconds", [0.02, 0, -1])
def test_the_time_is_in_utc_and_sleeping_lets_it_pass(clock: Clock, seconds: float) -> None:
    assert clock.now().utcoffset() == timedelta(0)
    before = clock.monotonic()

    clock.sleep(seconds)

    assert max(0, seconds) <= clock.monotonic() - before < 20


def test_an_id_is_a_canonical_uuid_7_and_begins_with_its_milliseconds(clock: Clock) -> None:
    before = int(clock.now().timestamp() * 1000)
    made = clock.new_id()
    after = int(clock.now().timestamp() * 1000)

    assert check_id(made) == made
    assert (UUID(made).version, UUID(made).variant) == (7, RFC_4122)
    assert before <= UUID(made).int >> 80 <= after


def test_ids_grow_even_when_there_are_more_than_a_millisecond_can_count(clock: Clock) -> None:
    made = [clock.new_id() for _ in range(20_000)]

    assert made == sorted(set(made))


def test_ids_grow_when_the_clock_goes_back_and_follow_it_once_it_has_caught_up() -> None:
    clock = FakeClock()
    made = [clock.new_id()]
    for _ in range(5_000):
        clock.set_back(3600)
        made.append(clock.new_id())
    clock.advance(5_001 * 3600)
    made.append(clock.new_id())

    assert made == sorted(set(made))
    assert UUID(made[-1]).int >> 80 == int(clock.now().timestamp() * 1000)


def test_a_full_counter_borrows_from_the_next_millisecond() -> None:
    source = IdSource(lambda: 5, lambda bits: 2**bits - 1)
    made = [UUID(source.new()).int for _ in range(2050)]

    assert [each >> 80 for each in made[:2049]] == [5] * 2049
    assert made[2049] >> 80 == 6
    assert made == sorted(set(made))


def test_random_bits_do_not_reach_version_and_variant() -> None:
    for bit in (0, 1):
        made = UUID(IdSource(lambda: 5, partial(_constant, bit)).new())

        assert (made.version, made.variant) == (7, RFC_4122)
        assert made.int & (2**62 - 1) == bit * (2**62 - 1)


def test_ids_of_two_clocks_at_one_moment_differ() -> None:
    assert SystemClock().new_id() != SystemClock().new_id()


def test_a_fake_clock_stands_still_until_it_is_moved_and_repeats_its_ids() -> None:
    clock = FakeClock()
    clock.advance(90)
    assert clock.now() == START + timedelta(seconds=90)
    clock.set_back(100)
    assert (clock.now() < START, clock.monotonic()) == (True, 90)

    made, again, other = (
        [each.new_id() for _ in range(3)] for each in (FakeClock(), FakeClock(), FakeClock(seed=1))
    )
    assert made == again != other


def _constant(bit: int, bits: int) -> int:
    return bit * ((1 << bits) - 1)


@pytest.fixture
def los_angeles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    tzset()
    yield
    monkeypatch.undo()
    tzset()


def _in_los_angeles(name: str) -> Clock:
    if name == "system":
        return FixedClock(SystemClock(), START)
    clock = FakeClock()
    clock.zone = ZoneInfo("America/Los_Angeles")
    return clock


@pytest.mark.usefixtures("los_angeles")
@pytest.mark.parametrize("name", CLOCKS)
def test_a_day_is_that_of_the_place_and_has_the_offset_of_that_day(name: str) -> None:
    clock = _in_los_angeles(name)
    assert str(clock.local_day(datetime(2026, 11, 29, 3, 5, tzinfo=UTC))) == "2026-11-28"
    for day, time in (
        ("2026-11-28", "2026-11-28T08:00:00Z"),
        ("2026-07-01", "2026-07-01T07:00:00Z"),
        ("2026-11-01", "2026-11-01T07:00:00Z"),  # daylight saving ends on this day
        ("2026-11-02", "2026-11-02T08:00:00Z"),
    ):
        assert clock.start_of_day(day) == time
    assert str(clock.local_day(clock.now())) == "2026-02-14"


def test_a_date_stands_for_its_beginning_in_utc() -> None:
    assert FakeClock().start_of_day("2026-11-28") == "2026-11-28"


@pytest.mark.usefixtures("los_angeles")
@pytest.mark.parametrize("day", [date.min, date.max])
def test_the_ends_of_the_calendar_have_days_too(day: date) -> None:
    clock = SystemClock()
    assert abs((date.fromisoformat(clock.start_of_day(str(day))[:10]) - day).days) <= 1
    noon = datetime(day.year, day.month, day.day, 0, 0, tzinfo=UTC)
    assert abs((clock.local_day(noon) - day).days) <= 1
