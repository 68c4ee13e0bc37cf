"""Where the bridge of a vault listens: a file in the state folder, as long as it runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from vaultsync.backends.replace_file import replace_file

_NAME = "bridge.json"
_LOOPBACK = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})")


class BridgeAddress(NamedTuple):
    """A bridge that runs."""

    port: int
    pid: int
    agent: str | None
    """On whose behalf it asks; None is the user, who sees everything."""

    @property
    def address(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"


class BridgeAddressFile:
    """The file in the state folder of one vault."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / _NAME

    def write(self, port: int, agent: str | None) -> None:
        """Announce that a bridge of this process listens at a port.

        Raises:
            OSError: the file cannot be written.
        """
        values = {"address": f"http://127.0.0.1:{port}", "pid": os.getpid(), "agent": agent}
        replace_file(self._path, f"{json.dumps(values)}\n".encode())

    def find(self) -> BridgeAddress | None:
        """The bridge that runs; None when there is none, or its process has ended."""
        try:
            values = json.loads(self._path.read_text(encoding="utf-8"))
            found = _LOOPBACK.fullmatch(values["address"])
            pid, agent = values["pid"], values.get("agent")
            if found is None or not isinstance(pid, int) or pid <= 0:
                return None
            os.kill(pid, 0)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return BridgeAddress(int(found[1]), pid, agent if isinstance(agent, str) else None)

    def is_own(self) -> bool:
        """Whether the bridge is of this process."""
        found = self.find()
        return found is not None and found.pid == os.getpid()

    def remove_own(self) -> None:
        """Remove the file, unless it is of another process that runs."""
        if self.find() is None or self.is_own():
            with contextlib.suppress(OSError):  # `find()` sees that the process has ended
                self._path.unlink()
