"""Work in steps, between which a caller may do something else."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Work that yields after each step, and returns its result; it begins with the first `next()`."""


def finish(steps: Steps[T]) -> T:
    """Do all steps, one after the other, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
