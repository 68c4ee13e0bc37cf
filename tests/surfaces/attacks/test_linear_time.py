"""Whatever a text is made of, everything that reads it takes time in proportion to its size.

The time of a size is that of the fastest of a few runs, and only two sizes of one text are
compared, within one process; a suspicious pair is measured again with more runs. What is fast
even at the larger size is not compared: the clock would decide.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from itertools import islice

import pytest

from tests.surfaces.attacks.hostile_texts import HostileText, hostile_texts
from tests.surfaces.attacks.text_readers import READERS

MAX_EXPONENT = 1.15
"""Of the time over the size."""
KIB = 1 << 10
TEXTS = hostile_texts()
SHORT = 40
"""In the short form, each reader takes every so many-th text, and those that were quadratic."""
WERE_QUADRATIC = (
    "nest '![' '](a)'",
    "grow '`'",
    "repeat '## Related Facts\\n'",
    "number 'password: pw{}Xy!\\n'",
    "repeat 'eyJ'",
    "repeat '[[a.'",
)
TOO_SHORT = 0.02
"""Seconds below which nothing is compared."""


def _seconds(read: Callable[[str], object], text: str, runs: int) -> float:
    found = []
    gc.disable()
    try:
        for _ in range(runs):
            began = time.perf_counter()
            read(text)
            found.append(time.perf_counter() - began)
    finally:
        gc.enable()
    return min(found)


def _exponent(
    read: Callable[[str], object], make: HostileText, small: int, large: int
) -> tuple[float, float]:
    """The exponent between two sizes, and the seconds of the larger one."""
    exponent, after = 0.0, 0.0
    for runs in (1, 3, 6, 12):  # the machine may be busy with other things
        after = _seconds(read, make(large), runs)
        if after < TOO_SHORT:
            return 0.0, after
        before = _seconds(read, make(small), runs)
        exponent = math.log(after / max(before, 1e-6)) / math.log(large / small)
        if exponent <= MAX_EXPONENT:
            break
    return exponent, after


def test_there_are_more_than_three_hundred_kinds_of_text() -> None:
    assert len(TEXTS) >= 313
    assert all(KIB // 2 <= len(make(KIB)) <= 2 * KIB for make in TEXTS.values())


@pytest.mark.parametrize("reader", READERS)
def test_a_text_that_is_four_times_as_long_takes_four_times_as_long(reader: str) -> None:
    offset = list(READERS).index(reader) % SHORT
    for name in {*WERE_QUADRATIC, *islice(TEXTS, offset, None, SHORT)}:
        # A cheap look first: what is quadratic takes long at this size.
        seconds = _seconds(READERS[reader], TEXTS[name](32 * KIB), 1)
        if seconds > 0.3:
            exponent, _ = _exponent(READERS[reader], TEXTS[name], 8 * KIB, 32 * KIB)
            assert exponent <= 1.5, (reader, name, exponent)


@pytest.mark.slow
@pytest.mark.timeout(1700)
@pytest.mark.parametrize("reader", READERS)
def test_the_time_of_every_reader_is_linear(reader: str) -> None:
    failed = []
    for name, make in TEXTS.items():
        exponent, seconds = _exponent(READERS[reader], make, 64 * KIB, 256 * KIB)
        if exponent > MAX_EXPONENT:
            exponent, seconds = _exponent(READERS[reader], make, 256 * KIB, 1024 * KIB)
        if exponent > MAX_EXPONENT:
            failed.append((name, round(exponent, 2), round(seconds, 2)))
    assert not failed, failed
