"""Events of a vault, published to the clients of a bridge.

They are published from any thread without blocking: a client that is too slow is dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vaultsync.model.schema import Value

MAX_UNFETCHED = 1_000
"""Maximum number of unfetched events; a subscription with more ends."""


MAX_EVENT_ROWS = 200
"""Maximum number of actions, and of notices, in the event of a run: a first one has an action for
each note, and no more than a summary is shown to the user."""


class Event(NamedTuple):
    """One event."""

    kind: str
    """`state`, `pass`, `conflict` or `write`."""
    data: Mapping[str, Value]


class Subscription:
    """One client. `wake` is called from any thread when there are events to fetch."""

    def __init__(self, wake: Callable[[], None], *, app: bool) -> None:
        self.app = app
        """Whether it can write notes through Obsidian."""
        self._wake = wake
        self._waiting: deque[Event] = deque()
        self.over = False
        """Whether it has ended."""

    def fetch(self) -> list[Event]:
        """The events since the last call."""
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def put(self, event: Event) -> None:
        """Add an event; a subscription with too many of them ends."""
        if len(self._waiting) >= MAX_UNFETCHED:
            self.end()
        if not self.over:
            self._waiting.append(event)
            self._wake()

    def end(self) -> None:
        """End it; idempotent."""
        if not self.over:
            self.over = True
            self._wake()


class EventBus:
    """All subscriptions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Subscription] = []
        self._closed = False
        self._conflicts: object = None

    def publish(self, kind: str, data: Mapping[str, Value]) -> None:
        """Publish an event; a changed number of conflicts in a state is a second event."""
        events = [Event(kind, data)]
        with self._lock:
            self._all = [each for each in self._all if not each.over]
            listening = list(self._all)
            if kind == "state" and "conflicts" in data:
                before, self._conflicts = self._conflicts, data["conflicts"]
                if before is not None and before != self._conflicts:
                    events.append(Event("conflict", {"conflicts": data["conflicts"]}))
        for each in listening:
            for event in events:
                each.put(event)

    def publish_run(self, report: Mapping[str, Value]) -> None:
        """Publish the report of a run, with the first of its actions and notices."""
        first = {
            key: value[:MAX_EVENT_ROWS]
            for key, value in report.items()
            if isinstance(value, (list, tuple))
        }
        self.publish("pass", {**report, **first})

    def subscribe(self, wake: Callable[[], None], *, app: bool = False) -> Subscription:
        """Create a subscription to future events."""
        subscription = Subscription(wake, app=app)
        with self._lock:
            if self._closed:
                subscription.end()
            else:
                self._all.append(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """End a subscription; idempotent."""
        subscription.end()
        with self._lock:
            self._all = [each for each in self._all if each is not subscription]

    def app(self) -> Subscription | None:
        """The client that can write through Obsidian; of several, the newest."""
        with self._lock:
            apps = [each for each in self._all if each.app and not each.over]
        return apps[-1] if apps else None

    def close(self) -> None:
        """End all subscriptions, and later ones immediately."""
        with self._lock:
            self._closed = True
            listening, self._all = self._all, []
        for each in listening:
            each.end()
