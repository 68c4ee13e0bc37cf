"""Retries, for a store that is slow, busy or restarting.

Transient failures are retried after 1, 2, 4 … 30 s with jitter until a deadline. Every
request to Qdrant is idempotent, so a lost response does no harm.

A question or a run makes many requests. After one of them was given up, others are tried only
once until the store responds again, and fail immediately for as long as the last one waited: a
store that hangs costs that time once, not for each request.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.backoff import BackOff
from vaultsync.storage.clock import Clock

FIRST_WAIT, MAX_WAIT = 1.0, 30.0
HANG_SECONDS = 1.0
"""Seconds after which a request without a response counts as a hang."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """The failure of a request."""

    why: str
    passing: bool
    """Whether it is transient: the same request may succeed later."""
    refused: bool = False
    """Whether nothing listens there; not retried, unless the store has just responded."""
    wait: float | None = None
    """Seconds to wait, as requested by the response."""
    hint: str = ""
    """What the user can do."""


class RequestRefusedError(Exception):
    """A request that was not sent, with its failure."""

    def __init__(self, failure: RequestFailure) -> None:
        super().__init__(failure.why)
        self.failure = failure


class _Pause(NamedTuple):
    seconds: float


class RetryPolicy:
    """Retries requests until they succeed or are given up."""

    def __init__(
        self,
        clock: Clock,
        judge: Callable[[Exception], RequestFailure | None],
        *,
        seconds: float,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._judge = judge
        self._seconds = seconds
        self._jitter = jitter
        self._is_closed = self._has_replied = False
        self._given_up: RequestFailure | None = None
        self._rests_until = 0.0
        self._lock = threading.RLock()

    def ask(self, request: Callable[[], T]) -> T:
        """The result of a request; `StoreUnavailableError` if it is given up.

        Requests of threads are serialized. Between two attempts another thread may make one.
        """
        began = self._clock.monotonic()
        waits = BackOff(first=FIRST_WAIT, longest=MAX_WAIT, jitter=self._jitter)
        while True:
            with self._lock:
                answer = self._try(request, began, waits)
            if not isinstance(answer, _Pause):
                return answer
            self._clock.sleep(answer.seconds)

    def close(self) -> None:
        """Refuse all further requests."""
        self._is_closed = True

    def check_open(self) -> None:
        """Raise `StoreUnavailableError` after `close()`."""
        if self._is_closed:
            raise StoreUnavailableError("it was closed", helps="open it again")

    def _try(self, request: Callable[[], T], began: float, waits: BackOff) -> T | _Pause:
        """The result, or the wait before the next attempt."""
        self.check_open()
        asked = self._clock.monotonic()
        if self._given_up is not None and asked < self._rests_until:
            raise self._unavailable(self._given_up)
        deadline = began + (self._seconds if self._given_up is None else 0.0)
        try:
            answer = request()
        except Exception as error:
            failure = (
                error.failure if isinstance(error, RequestRefusedError) else self._judge(error)
            )
            if failure is None:
                raise
            wait = failure.wait or waits.next()
            now = self._clock.monotonic()
            late = now + wait > deadline
            gone = failure.refused and not self._has_replied
            if gone or late or not failure.passing:
                if now - asked >= HANG_SECONDS:
                    self._rests_until = 2 * now - began
                raise self._unavailable(failure) from error
            return _Pause(wait)
        self._has_replied, self._given_up = True, None
        return answer

    def _unavailable(self, failure: RequestFailure) -> StoreUnavailableError:
        # Until the store responds again, refused requests are not retried.
        self._has_replied, self._given_up = False, failure
        return StoreUnavailableError(failure.why, helps=failure.hint)
