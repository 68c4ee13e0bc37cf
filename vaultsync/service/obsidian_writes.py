"""Changes to notes that Obsidian is asked to make, and its responses.

The engine waits briefly for a response. An app that did not respond is not asked again for a
while, so that a run over many notes does not wait for each of them.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait

from msgspec import to_builtins

from vaultsync.backends.obsidian.vault_through_app import WriteOffer, WriteReply
from vaultsync.errors import WriteNotFoundError
from vaultsync.service.events import Event, EventBus
from vaultsync.storage.clock import Clock

REPLY_TIMEOUT = 2.0
"""Seconds to wait for the app's response."""
UNRESPONSIVE_SECONDS = 30.0
"""Seconds for which an app that did not respond is not asked."""


class ObsidianWrites:
    """Writes notes through the connected app, if there is one. Implements `ObsidianApp`."""

    def __init__(self, events: EventBus, clock: Clock, *, wait: float = REPLY_TIMEOUT) -> None:
        self._events = events
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[WriteReply]] = {}
        self._asleep: tuple[object, float] = (None, 0.0)
        """The client that did not respond, and the time until which it is not asked."""

    @property
    def is_connected(self) -> bool:
        """Whether an app is connected."""
        return self._events.app() is not None

    @property
    def is_open(self) -> bool:
        """Whether an app is connected that is expected to respond."""
        app = self._events.app()
        sleeping, until = self._asleep
        return app is not None and (app is not sleeping or self._clock.monotonic() >= until)

    def offer(self, offer: WriteOffer) -> WriteReply | None:
        """Ask the app, and wait for its response; None if there is none."""
        app = self._events.app()
        if app is None:
            return None
        write = self._clock.new_id()
        reply: Future[WriteReply] = Future()
        with self._lock:
            self._waiting[write] = reply
        app.put(Event("write", {"write": write, **to_builtins(offer)}))
        wait([reply], self._wait)
        with self._lock:
            self._waiting.pop(write, None)
        if not reply.done():
            self._asleep = (app, self._clock.monotonic() + UNRESPONSIVE_SECONDS)
            return None
        return reply.result()

    def on_reply(self, write: str, answer: WriteReply) -> None:
        """Accept a response.

        Raises:
            WriteNotFoundError: nothing waits for it, or no longer.
        """
        self._asleep = (None, 0.0)
        with self._lock:
            waiting = self._waiting.pop(write, None)
            if waiting is None:
                raise WriteNotFoundError(write)
            waiting.set_result(answer)  # with the lock: an accepted response is never late
