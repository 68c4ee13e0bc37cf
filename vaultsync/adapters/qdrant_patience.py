"""Asking again: a store that is slow, busy or restarting is not away yet.

What may pass is tried again after 1, 2, 4 … 30 s with jitter, as long as patience lasts.
Every request to Qdrant is safe to be made twice, so an answer that got lost is no harm.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from vaultsync.errors import StoreUnavailableError
from vaultsync.ports import Clock

FIRST, LONGEST = 1.0, 30.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong with a request."""

    why: str
    passing: bool
    """Whether the same request may be answered later."""
    refused: bool = False
    """Nobody listens there: it is away, unless it was there a moment ago."""
    wait: float | None = None
    """The seconds that the answer names."""
    hint: str = ""


class Patience:
    """Makes requests until they are answered, or it is plain that they are not."""

    def __init__(
        self,
        clock: Clock,
        judge: Callable[[Exception], Trouble | None],
        *,
        seconds: float,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._judge = judge
        self._seconds = seconds
        self._jitter = jitter
        self._answered = False
        self._lock = threading.RLock()

    def ask(self, request: Callable[[], T]) -> T:
        """The answer of a request.

        Raises:
            StoreUnavailableError: there is none.
        """
        with self._lock:
            return self._ask(request)

    def _ask(self, request: Callable[[], T]) -> T:
        deadline = self._clock.monotonic() + self._seconds
        pause = FIRST
        while True:
            try:
                answer = request()
            except Exception as error:
                trouble = self._judge(error)
                if trouble is None:
                    raise
                wait = trouble.wait or pause * (0.5 + self._jitter() / 2)
                late = self._clock.monotonic() + wait > deadline
                gone = trouble.refused and not self._answered
                if gone or late or not trouble.passing:
                    raise self._away(trouble) from error
                self._clock.sleep(wait)
                pause = min(2 * pause, LONGEST)
            else:
                self._answered = True
                return answer

    def _away(self, trouble: Trouble) -> StoreUnavailableError:
        # Until it answers again nobody waits for what is refused.
        self._answered = False
        away = StoreUnavailableError(trouble.why)
        if trouble.hint:
            away.hint = trouble.hint
        return away
