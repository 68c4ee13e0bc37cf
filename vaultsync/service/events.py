"""What happens in a vault, told to whoever listens: a bridge, its clients, an agent.

Told from any thread, and never waited for: who does not listen fast enough is let go.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vaultsync.model.schema import Value

MAX_UNFETCHED = 1_000
"""So many events that nobody fetched are the end of a subscription."""


class Event(NamedTuple):
    """One thing that happened."""

    kind: str
    """`state`, `pass`, `conflict` or `write`."""
    data: Mapping[str, Value]


class Subscription:
    """One listener. `wake` is called from any thread when there is something to fetch."""

    def __init__(self, wake: Callable[[], None], *, app: bool) -> None:
        self.app = app
        """Whether it can write notes through Obsidian."""
        self._wake = wake
        self._waiting: deque[Event] = deque()
        self._over = False

    @property
    def over(self) -> bool:
        """Whether nothing will come any more."""
        return self._over

    def fetch(self) -> list[Event]:
        """What came since the last time."""
        found = []
        while self._waiting:
            found.append(self._waiting.popleft())
        return found

    def put(self, event: Event) -> None:
        """Give it an event; one that does not fetch any is over."""
        if len(self._waiting) >= MAX_UNFETCHED:
            self.end()
        if not self._over:
            self._waiting.append(event)
            self._wake()

    def end(self) -> None:
        """Let go of it; harmless when repeated."""
        if not self._over:
            self._over = True
            self._wake()


class EventBus:
    """All who listen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Subscription] = []
        self._closed = False
        self._conflicts: object = None

    def publish(self, kind: str, data: Mapping[str, Value]) -> None:
        """Tell everybody; a state with another number of conflicts is two events."""
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

    def subscribe(self, wake: Callable[[], None], *, app: bool = False) -> Subscription:
        """Listen from now on."""
        made = Subscription(wake, app=app)
        with self._lock:
            if self._closed:
                made.end()
            else:
                self._all.append(made)
        return made

    def leave(self, subscription: Subscription) -> None:
        """Listen no more; harmless when repeated."""
        subscription.end()
        with self._lock:
            self._all = [each for each in self._all if each is not subscription]

    def app(self) -> Subscription | None:
        """The listener that can write through Obsidian; of several, the newest."""
        with self._lock:
            apps = [each for each in self._all if each.app and not each.over]
        return apps[-1] if apps else None

    def close(self) -> None:
        """Let go of everybody; who comes later is let go at once."""
        with self._lock:
            self._closed = True
            listening, self._all = self._all, []
        for each in listening:
            each.end()
