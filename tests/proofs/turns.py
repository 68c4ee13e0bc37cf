"""How much of all that could be tried is tried: HYPOTHESIS_PROFILE=thorough tries all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
T = TypeVar("T")


def in_turns(choices: Sequence[T], number: int) -> Sequence[T]:
    """All choices where much is tried; else one, and for the next number the next one."""
    return choices if THOROUGH else [choices[number % len(choices)]]
