"""How much of all that could be tried is tried: HYPOTHESIS_PROFILE=thorough tries all."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Sequence
from typing import TypeVar

import vaultsync

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
T = TypeVar("T")


def in_turns(choices: Sequence[T], number: int) -> Sequence[T]:
    """All choices where much is tried; else one, and for the next number the next one."""
    return choices if THOROUGH else [choices[number % len(choices)]]


def load_everything() -> None:
    """Load all modules of the project.

    Hypothesis tries constants of the modules that are loaded: without this, which stories
    it tells would depend on the tests that ran before in the same process.
    """
    for each in pkgutil.walk_packages(vaultsync.__path__, "vaultsync."):
        if not each.name.endswith(".__main__"):
            importlib.import_module(each.name)
