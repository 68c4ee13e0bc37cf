"""The share of all cases that tests try: HYPOTHESIS_PROFILE=thorough tries all.

Otherwise they try samples, the same in every run. TEST_TURN=N selects other samples; those of
all turns cover all cases.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

import vaultsync

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
TURN = int(os.environ.get("TEST_TURN", "0"))
"""The number of the samples; the head of a run prints it."""
T = TypeVar("T")


def in_turns(choices: Sequence[T], number: int) -> Sequence[T]:
    """All choices in a thorough run; else the one of this turn and number."""
    return choices if THOROUGH else [choices[(number + TURN) % len(choices)]]


def sampled(choices: Sequence[T], one_in: int, number: int = 0) -> Sequence[T]:
    """All choices where much is tried; else one in so many, or none; other ones for each number."""
    return choices if THOROUGH else choices[(number + TURN) % one_in :: one_in]


def load_all_modules() -> None:
    """Load all modules, for Hypothesis tries constants of those that are loaded.

    Otherwise, which examples a test tries would depend on the tests before it in its process.
    """
    for each in pkgutil.walk_packages(vaultsync.__path__, "vaultsync."):
        if not each.name.endswith(".__main__"):
            importlib.import_module(each.name)


def tell_stories(
    machine: type[RuleBasedStateMachine], examples: tuple[int, int], steps: tuple[int, int]
) -> None:
    """Run a state machine with a number of examples and steps, and another if thorough."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            deadline=None,
            max_examples=examples[THOROUGH],
            stateful_step_count=steps[THOROUGH],
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            report_multiple_bugs=False,
        ),
    )
