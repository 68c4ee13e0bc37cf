"""The paths that a watcher reports, collected from its threads until they are drained."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from vaultsync.backends.filesystem.tree import is_unusable_name
from vaultsync.daemon.ports import WatchEvents
from vaultsync.model.paths import VaultPath

MAX_PATHS = 50_000
"""Maximum number of paths that are kept; with more, a full scan is cheaper."""
SIGNALS_FOLDER = "watch"
"""The folder in the state folder that a watcher watches in addition to the vault."""
STORE_SIGNAL = "store"
"""The file in it that a process touches after it wrote to the store."""
PROBE_FILE = "probe"
"""The file in the state folder that is touched to test whether the watcher reports it."""


class EventCollector:
    """Collects paths until they are drained. Any thread may use it."""

    def __init__(self, root: Path, state_dir: Path, wake: Callable[[], None]) -> None:
        self.root = str(root)
        self.canary = state_dir / SIGNALS_FOLDER
        self._prefix = self.root.rstrip("/") + "/"
        self._probe = str(self.canary / PROBE_FILE)
        self._store_signal = str(self.canary / STORE_SIGNAL)
        self._wake = wake
        self._lock = threading.Lock()
        self._notes: set[VaultPath] = set()
        self._others: set[VaultPath] = set()
        self._lost = ""
        self._probes = 0
        self._store = False
        self._failure = ""
        self._identity: tuple[int, int] | None = None
        self._threads: Sequence[threading.Thread] = ()
        """Those that read events, while it watches."""

    def begin(self) -> None:
        """Record the identity of the root, and create the folder for probes."""
        self._identity = self._look()
        self.canary.mkdir(mode=0o700, exist_ok=True)

    def _look(self) -> tuple[int, int]:
        found = os.stat(self.root)  # noqa: PTH116 - each second, and faster
        return (found.st_dev, found.st_ino)

    def add(self, paths: Iterable[str]) -> None:
        """Add paths as the system reports them."""
        notes, others, signals = [], [], []
        for path in paths:
            if path in (self._probe, self._store_signal):
                signals.append(path)
                continue
            inside = path.removeprefix(self._prefix)
            if inside is path or not inside or inside[0] == "." or "/." in inside:
                if path == self.root:
                    others.append(VaultPath(""))
                continue
            if is_unusable_name(inside):
                others.append(VaultPath(""))
            elif inside[-3:].lower() == ".md":
                notes.append(VaultPath(inside))
            elif _may_be_folder(path):
                others.append(VaultPath(inside))
        if not (notes or others or signals):
            return
        with self._lock:
            self._probes += signals.count(self._probe)
            self._store = self._store or self._store_signal in signals
            self._notes.update(notes)
            self._others.update(others)
            if len(self._notes) + len(self._others) > MAX_PATHS:
                self._forget(f"more than {MAX_PATHS:,} paths changed at once")
        self._wake()

    def lose(self, why: str) -> None:
        """Record that events were lost."""
        with self._lock:
            self._forget(why)
        self._wake()

    def _forget(self, why: str) -> None:
        self._notes.clear()
        self._others.clear()
        self._lost = why

    def fail(self, why: str) -> None:
        """Record that the watcher has stopped working."""
        self._failure = self._failure or why
        self._wake()

    def drain(self) -> WatchEvents:
        with self._lock:
            notes, others = frozenset(self._notes), frozenset(self._others)
            events = WatchEvents(notes, others, self._lost, self._probes, self._store)
            self._forget("")
            self._probes = 0
            self._store = False
        return events

    def failure(self) -> str:
        if not all(each.is_alive() for each in self._threads):
            self.fail("a thread that watches has ended")
        if self._failure:
            return self._failure
        try:
            same = self._look() == self._identity
        except OSError as error:
            return f"{self.root} cannot be seen: {error.strerror}"
        return "" if same else f"{self.root} is not the folder that is being watched"

    def probe(self) -> None:
        path = self.canary / PROBE_FILE
        path.write_bytes(b"")
        path.unlink(missing_ok=True)


def signal_store_change(state_dir: Path) -> None:
    """Notify a daemon of this machine that the store was written.

    Raises:
        OSError: the state folder cannot be written.
    """
    with contextlib.suppress(FileNotFoundError):  # no daemon has watched this vault yet
        (state_dir / SIGNALS_FOLDER / STORE_SIGNAL).write_bytes(b"")


def _may_be_folder(path: str) -> bool:
    """Whether a path that is not a note is a folder, or may have been one."""
    try:
        # Called for each event of a burst, for which creating a `Path` takes too long.
        return os.path.isdir(path) or not os.path.lexists(path)  # noqa: PTH112 - see above
    except (OSError, ValueError):
        return True
