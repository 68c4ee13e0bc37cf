"""The files in the state folder that announce the daemon and the bridge of a vault.

Each file is one JSON object, replaced atomically, and counts only while its process runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from vaultsync.backends.replace_file import read_json, replace_file, try_replace
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import Value

_LOOPBACK = lazy_pattern(r"http://127\.0\.0\.1:([0-9]{1,5})")


def _read_while_running(path: Path) -> dict[str, Any] | None:
    """The values of a file; None if there are none, or the process that wrote it has ended."""
    try:
        values = read_json(path)
        if not isinstance(values["pid"], int) or values["pid"] <= 0:
            return None
        os.kill(values["pid"], 0)
    except (OSError, OverflowError, ValueError, KeyError, TypeError):
        return None  # also if another user's process now has this id
    return dict(values)


class DaemonFile:
    """The daemon's state, for other processes.

    It is written after changes, and not flushed, because it is only about the present.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "daemon.json"

    def write(self, values: Mapping[str, Value]) -> None:
        """Write the values and the process id. Ignores a full disk."""
        text = json.dumps({**values, "pid": os.getpid()}, ensure_ascii=False)
        try_replace(self._path, f"{text}\n".encode())

    def read(self) -> dict[str, Value] | None:
        """The last written values; None if there are none, or the daemon has ended."""
        return _read_while_running(self._path)

    def remove(self) -> None:
        """Remove the file when the daemon ends."""
        with suppress(OSError):  # `read()` notices that the process has ended
            self._path.unlink()


class BridgeAddress(NamedTuple):
    """A running bridge."""

    address: str
    """Its URL."""
    port: int
    pid: int
    agent: str | None
    """The agent on whose behalf it asks; None for the user, who sees everything."""


class BridgeAddressFile:
    """The file that announces where the bridge of a vault listens."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "bridge.json"

    def write(self, port: int, agent: str | None) -> None:
        """Announce that a bridge of this process listens on a port."""
        values = {"address": f"http://127.0.0.1:{port}", "pid": os.getpid(), "agent": agent}
        replace_file(self._path, f"{json.dumps(values)}\n".encode())

    def find(self) -> BridgeAddress | None:
        """The running bridge; None if there is none, or its process has ended."""
        values = _read_while_running(self._path) or {}
        address, agent = str(values.get("address")), values.get("agent")
        found = _LOOPBACK.fullmatch(address)
        agent = agent if isinstance(agent, str) else None
        return BridgeAddress(address, int(found[1]), values["pid"], agent) if found else None

    def is_own(self) -> bool:
        """Whether the bridge belongs to this process."""
        found = self.find()
        return found is not None and found.pid == os.getpid()

    def remove_own(self) -> None:
        """Remove the file, unless it belongs to another running process."""
        if self.find() is None or self.is_own():
            with suppress(OSError):  # `find()` sees that the process has ended
                self._path.unlink()
