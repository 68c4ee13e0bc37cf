"""Rows of a store that no longer hold a fact, because the disk or another program damaged them.

A damaged row does not affect others: it is left out, and named where it matters.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ParamSpec

from vaultsync.model.fact import Fact

P = ParamSpec("P")
_log = logging.getLogger(__name__)
_ERRORS = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""The errors of decoding a fact from invalid text."""
MAX_REASON_CHARS = 100


class DamagedRows:
    """The damaged rows that an open store has met."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self.reasons: Mapping[str, str] = MappingProxyType(self._reasons)
        """The id of each fact that could not be read the last time -> why."""

    def read(
        self, fact_id: str, read: Callable[P, Fact | None], *given: P.args, **named: P.kwargs
    ) -> Fact | None:
        """What `read` returns for a row and the other arguments; None for a damaged row.

        `read` decodes the fact; it returns None if the row should have none.
        """
        try:
            fact = read(*given, **named)
        except _ERRORS as error:
            why = f"{type(error).__name__}: {error}"[:MAX_REASON_CHARS]
        else:
            if fact is None or fact.id == fact_id:
                self._reasons.pop(fact_id, None)
                return fact
            why = "it does not contain a fact with that id"
        if fact_id not in self._reasons:
            _log.warning("the row of fact %s is damaged and was skipped", fact_id)
        self._reasons[fact_id] = why
        return None
