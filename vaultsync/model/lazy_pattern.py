"""Regular expressions that are compiled when they are first used.

Modules have some two hundred patterns, and a command uses a few of them: compiling those that
a cold `vaultsync recall` only loads took a twentieth of its time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import AnyStr, cast

compiled = cache(re.compile)
"""Compiles a pattern once, for those that are chosen from a table or put together."""


class _LazyPattern:
    """Stands for a pattern: what is asked of it is from then on an attribute of its own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        """A method or an attribute of the pattern, which `re` compiles once."""
        found: object = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile()`, but compiled when a method of it is first called.

    What is wrong with a pattern is so raised there: it is for patterns that tests run.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(source, flags))
