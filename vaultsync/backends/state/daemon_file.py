"""What the daemon reports about itself, in a small file that other processes read."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from vaultsync.backends.replace_file import replace_file
from vaultsync.model.schema import Value

_log = logging.getLogger(__name__)

DAEMON_FILE_NAME = "daemon.json"


class DaemonFile:
    """One JSON object in the state folder, replaced in one step; gone with its daemon.

    It is written when something changed, and not flushed: it is about this moment only.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / DAEMON_FILE_NAME

    def write(self, values: Mapping[str, Value]) -> None:
        """Write the values and the process id. A full disk must not stop the daemon."""
        text = json.dumps({**values, "pid": os.getpid()}, ensure_ascii=False)
        try:
            replace_file(self._path, f"{text}\n".encode(), durable=False)
        except OSError as error:
            _log.debug("%s was not written: %s", self._path, error)

    def read(self) -> dict[str, Value] | None:
        """The values written last; None when there are none, or the daemon has ended."""
        try:
            values = json.loads(self._path.read_text(encoding="utf-8"))
            os.kill(int(values["pid"]), 0)
        except (OSError, ValueError, KeyError, TypeError):
            return None  # also when another user's process has the number now
        return dict(values)

    def remove(self) -> None:
        """Remove the file: the daemon ends."""
        with suppress(OSError):  # `read()` sees that the process has ended
            self._path.unlink(missing_ok=True)
