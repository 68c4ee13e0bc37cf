"""Where a bridge of a vault listens, told in a file of its state folder while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from vaultsync.backends.state.token_file import write_private

_NAME = "bridge.json"
_LOOPBACK = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})")


class BridgeAddress(NamedTuple):
    """A bridge that said that it runs."""

    port: int
    pid: int
    agent: str | None
    """Who asks through it; None is a person, who sees all."""

    @property
    def address(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


class BridgeAddressFile:
    """The announcement in the state folder of a vault."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / _NAME

    def write(self, port: int, agent: str | None) -> None:
        """Say that a bridge of this process listens at a port.

        Raises:
            OSError.
        """
        said = {"address": f"http://127.0.0.1:{port}", "pid": os.getpid()}
        write_private(self._path, json.dumps({**said, "agent": agent}) + "\n")

    def find(self) -> BridgeAddress | None:
        """The bridge that runs; None when there is none, or it ended without a word."""
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            found = _LOOPBACK.fullmatch(said["address"])
            pid, agent = said["pid"], said.get("agent")
            if found is None or not isinstance(pid, int) or pid <= 0:
                return None
            os.kill(pid, 0)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return BridgeAddress(int(found[1]), pid, agent if isinstance(agent, str) else None)

    def is_own(self) -> bool:
        """Whether it is this process that said so."""
        found = self.find()
        return found is not None and found.pid == os.getpid()

    def remove_own(self) -> None:
        """Take back what this process said; what another one said stays."""
        if self.find() is None or self.is_own():
            with contextlib.suppress(OSError):
                self._path.unlink()
