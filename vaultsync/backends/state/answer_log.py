"""Times of answers without a daemon, one line each, in a file in the state folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vaultsync.backends.replace_file import append_line, read_file

if TYPE_CHECKING:  # questions write a line, and read none
    from vaultsync.sync.telemetry import TimePercentiles

ANSWER_LOG_NAME = "answers.log"
MAX_LOG_BYTES = 32 << 10
"""The size, about 1,500 answers, at which the file is rotated."""
_log = logging.getLogger(__name__)


class AnswerLog:
    """Logs names, sources and times, but not questions. A line is one write, not flushed.

    Args:
        state_dir: the folder of the file.
        surface: the interface: `command` or `mcp`.
    """

    def __init__(self, state_dir: Path, surface: str) -> None:
        self._path = state_dir / ANSWER_LOG_NAME
        self._surface = surface

    def add(self, source: str, seconds: float) -> None:
        try:
            line = f"{self._surface}.{source} {seconds:.4f}"
            append_line(self._path, line, most=MAX_LOG_BYTES)
        except OSError as error:
            _log.debug("an answer was not measured: %s", error)


def read_answer_times(state_dir: Path) -> Mapping[str, TimePercentiles]:
    """Interface and source, such as `command.index` -> times of the newest answers."""
    from vaultsync.sync.telemetry import SavedTimes

    found: dict[str, SavedTimes] = {}
    path = state_dir / ANSWER_LOG_NAME
    for each in (path.with_name(f"{path.name}.1"), path):
        lines: list[str] = []
        with suppress(OSError):  # there were no questions yet
            lines = read_file(each).decode(errors="replace").splitlines()
        for line in lines:
            name, _, seconds = line.partition(" ")
            with suppress(ValueError):  # truncated by a full disk
                found.setdefault(name, SavedTimes()).add(float(seconds))
    named = {name: times.percentiles() for name, times in sorted(found.items())}
    return {name: times for name, times in named.items() if times}
