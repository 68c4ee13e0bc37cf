"""Erase facts from the small files of the state folder: logs, queues, kept copies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from vaultsync.backends.replace_file import replace_file
from vaultsync.storage.erasure import Traces

_LINES = re.compile(r"\.(?:log|jsonl)(?:\.[0-9a-f]+)?$")
"""Files of lines, of which each is about something else; rotated ones too."""
DISPOSABLE = ("memory-files/queue", "memory-files/kept")
"""Folders of files that are dropped whole."""


class StateFiles:
    """An `Erasable` of all logs, queues and kept copies in a state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def erase(self, traces: Traces) -> Mapping[str, int]:
        lines = files = 0
        for path in self._files():
            data = path.read_bytes()
            if not traces.mentions(data):
                continue
            if _LINES.search(path.name):
                before = data.splitlines(keepends=True)
                after = [line for line in before if not traces.mentions(line)]
                replace_file(path, b"".join(after))
                lines += len(before) - len(after)
            else:
                path.unlink()
                files += 1
        return {"log lines": lines, "queued and kept files": files}

    def _files(self) -> Iterator[Path]:
        for folder in (self._state_dir, self._state_dir / "memory-files"):
            for path in sorted(folder.glob("*")):
                if _LINES.search(path.name) and path.is_file():
                    yield path
        for name in DISPOSABLE:
            yield from sorted(filter(Path.is_file, (self._state_dir / name).glob("*")))
