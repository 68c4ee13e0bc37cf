"""What the daemon tells of itself, in a small file that other processes read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from vaultsync.model.schema import Value

DAEMON_FILE_NAME = "daemon.json"


class DaemonFile:
    """One JSON object in the state folder, replaced in one step; gone with its daemon.

    It is written when something changed, and never synced: what it says is about now.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / DAEMON_FILE_NAME

    def write(self, said: Mapping[str, Value]) -> None:
        """Tell it. A full disk keeps nobody from mirroring: it is then not told."""
        beside = self._path.with_name(f"{DAEMON_FILE_NAME}.{os.getpid()}")
        text = json.dumps({**said, "pid": os.getpid()}, ensure_ascii=False)
        try:
            fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(fd, "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
                file.write(text + "\n")
            beside.replace(self._path)
        except OSError:
            with suppress(OSError):
                beside.unlink(missing_ok=True)

    def read(self) -> dict[str, Value] | None:
        """What was told last; None when there is nothing, or its daemon is no more."""
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            os.kill(int(said["pid"]), 0)
        except PermissionError:
            return None  # another user's process has the number now
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return dict(said)

    def remove(self) -> None:
        """The daemon ends."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
