"""Take the time of things in turns, and what follows from the times."""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import linear_regression, median, quantiles


@dataclass(frozen=True, slots=True)
class Timed:
    """How long something took."""

    seconds: float
    cpu: float
    """Seconds of user and system time, of this process and those it waited for."""


def _cpu() -> float:
    waited = os.times()
    return time.process_time() + waited.children_user + waited.children_system


def timed(act: Callable[[], object]) -> Timed:
    """Do it once, after the rubbish of what came before is gone."""
    gc.collect()
    cpu, began = _cpu(), time.perf_counter()
    act()
    seconds = time.perf_counter() - began
    return Timed(seconds, _cpu() - cpu)


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured in turns."""

    floor: list[Timed]
    ours: list[Timed]


def in_turns(floor: Callable[[], object], ours: Callable[[], object], *, times: int) -> Pair:
    """Both, one after the other, again and again: a busy moment hits both."""
    pair = Pair([], [])
    for _ in range(times):
        pair.floor.append(timed(floor))
        pair.ours.append(timed(ours))
    return pair


def middle(times: list[Timed]) -> float:
    return median(each.seconds for each in times)


def middle_cpu(times: list[Timed]) -> float:
    return median(each.cpu for each in times)


def p95(seconds: list[float]) -> float:
    """What 95 of 100 do not exceed."""
    return quantiles(seconds, n=20, method="inclusive")[-1]


def exponent(seconds: Mapping[int, float]) -> float:
    """The power of n that the times grow by: 1 is linear."""
    sizes = [math.log(n) for n in seconds]
    return linear_regression(sizes, [math.log(t) for t in seconds.values()]).slope
