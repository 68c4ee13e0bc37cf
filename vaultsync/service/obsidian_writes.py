"""Changes of notes that Obsidian is asked to make, and what it answers.

The engine waits for an answer, but not long. An app that did not answer is not asked again
for a while, so that a pass over many notes does not wait for each of them.
"""

from __future__ import annotations

import threading

from vaultsync.backends.obsidian.vault_through_app import WriteOffer, WriteReply
from vaultsync.errors import WriteNotFoundError
from vaultsync.service.events import Event, EventBus
from vaultsync.storage.clock import Clock

REPLY_TIMEOUT = 2.0
"""Seconds in which the app must answer."""
UNRESPONSIVE_SECONDS = 30.0
"""Seconds for which an app that did not answer is left alone."""


class _PendingOffer:
    """One offer that waits for its answer."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: WriteReply | None = None


class ObsidianWrites:
    """The app at the other end of the events, if one listens that can write."""

    def __init__(self, events: EventBus, clock: Clock, *, wait: float = REPLY_TIMEOUT) -> None:
        self._events = events
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._waiting: dict[str, _PendingOffer] = {}
        self._asleep: tuple[object, float] = (None, 0.0)
        """Who did not answer, and until when that counts."""

    @property
    def is_connected(self) -> bool:
        """Whether an app listens."""
        return self._events.app() is not None

    @property
    def is_open(self) -> bool:
        """Whether an app listens that answers, as far as anybody knows."""
        app = self._events.app()
        who, until = self._asleep
        return app is not None and (app is not who or self._clock.monotonic() >= until)

    def offer(self, offer: WriteOffer) -> WriteReply | None:
        """Ask the app, and wait for its answer."""
        app = self._events.app()
        if app is None:
            return None
        write, waiting = self._clock.new_id(), _PendingOffer()
        with self._lock:
            self._waiting[write] = waiting
        app.put(
            Event(
                "write",
                {
                    "write": write,
                    "action": offer.action,
                    "path": offer.path,
                    "to": offer.to,
                    "expect": offer.expect,
                    "text": offer.text,
                },
            )
        )
        answered = waiting.done.wait(self._wait)
        with self._lock:
            self._waiting.pop(write, None)
        if not answered:
            self._asleep = (app, self._clock.monotonic() + UNRESPONSIVE_SECONDS)
        return waiting.answer

    def answered(self, write: str, answer: WriteReply) -> None:
        """Take an answer.

        Raises:
            WriteNotFoundError: nobody waits for it (any more).
        """
        self._asleep = (None, 0.0)
        with self._lock:
            waiting = self._waiting.pop(write, None)
        if waiting is None:
            raise WriteNotFoundError(write)
        waiting.answer = answer
        waiting.done.set()
