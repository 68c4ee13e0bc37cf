"""How long answers without a daemon took, in a file of the state folder, one line for each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vaultsync.backends.replace_file import append_line, read_file

if TYPE_CHECKING:  # a question writes a line, and reads none
    from vaultsync.sync.telemetry import TimePercentiles

ANSWER_LOG_NAME = "answers.log"
MAX_LOG_BYTES = 32 << 10
"""The size, about 1,500 answers, at which the file is rotated."""
_log = logging.getLogger(__name__)


class AnswerLog:
    """Names, sources and times; not what was asked. A line is one write, not flushed.

    Args:
        state_dir: the folder of the file.
        surface: who answers: `command` or `mcp`.
    """

    def __init__(self, state_dir: Path, surface: str) -> None:
        self._path = state_dir / ANSWER_LOG_NAME
        self._surface = surface

    def add(self, source: str, seconds: float) -> None:
        """Log an answer: its source, and how long it took."""
        try:
            size = append_line(self._path, f"{self._surface}.{source} {seconds:.4f}")
            if size > MAX_LOG_BYTES:
                self._path.replace(_before(self._path))
        except OSError as error:
            _log.debug("an answer was not measured: %s", error)


def read_answer_times(state_dir: Path) -> Mapping[str, TimePercentiles]:
    """Surface and source, as `command.index` -> how long the newest answers took."""
    from vaultsync.sync.telemetry import SavedTimes

    found: dict[str, SavedTimes] = {}
    path = state_dir / ANSWER_LOG_NAME
    for each in (_before(path), path):
        lines: list[str] = []
        with suppress(OSError):  # nothing was asked yet
            lines = read_file(each).decode(errors="replace").splitlines()
        for line in lines:
            name, _, seconds = line.partition(" ")
            with suppress(ValueError):  # cut by a full disk
                found.setdefault(name, SavedTimes()).add(float(seconds))
    named = {name: times.percentiles() for name, times in sorted(found.items())}
    return {name: times for name, times in named.items() if times}


def _before(path: Path) -> Path:
    return path.with_name(f"{path.name}.0")
