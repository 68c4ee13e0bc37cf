"""What a daemon tells, as lines of JSON: for people who look, and for programs that read."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TextIO

from vaultsync.privacy.redaction import scrub

EVENT_LEVELS = {"error": "error", "watcher": "info", "store": "warning", "rescan": "info"}
MAX_LISTED_NOTICES = 20
"""Things that wait for a person, named one by one; the others are counted."""
UNLOGGED_EVENTS = frozenset({"state"})
"""Told to those who show it; in a log it would be noise."""


class LogLines:
    """Writes one line per thing that happened, at once."""

    def __init__(self, stream: TextIO, now: Callable[[], datetime], *, quiet: bool = False) -> None:
        self._stream = stream
        self._now = now
        self._quiet = quiet

    def __call__(self, kind: str, said: Mapping[str, object]) -> None:
        """Write it down, without what notes say."""
        level = EVENT_LEVELS.get(kind, "info")
        if kind in UNLOGGED_EVENTS or (self._quiet and level == "info"):
            return
        shown = _run_summary(said) if kind == "pass" else dict(said)
        at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {key: _scrubbed(value) for key, value in shown.items()}
        line = {"at": at, "level": level, "event": kind, **told}
        try:
            print(json.dumps(line), file=self._stream, flush=True)
        except (OSError, ValueError):
            return  # nobody reads it any more; the mirror goes on


class _LogHandler(logging.Handler):
    """Tells the records of a logger as errors."""

    def __init__(self, tell: LogLines) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell one."""
        self._tell("error", {"kind": record.name, "message": record.getMessage()})


@contextmanager
def log_as_json_lines(tell: LogLines) -> Iterator[None]:
    """Have what this package logs told as lines, for as long as they are written."""
    logger, handler = logging.getLogger("vaultsync"), _LogHandler(tell)
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


def _scrubbed(value: object) -> object:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {key: _scrubbed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scrubbed(each) for each in value]
    return value


def _run_summary(said: Mapping[str, object]) -> dict[str, object]:
    """A pass without its actions: what was done, counted, and what waits."""
    counts, attention = said.get("counts"), said.get("attention")
    assert isinstance(counts, Mapping)  # noqa: S101 - the shape of a report
    assert isinstance(attention, (list, tuple))  # noqa: S101 - the same
    return {
        "run": said.get("run"),
        "seconds": said.get("seconds"),
        "counts": {name: n for name, n in counts.items() if n},
        "attention": [
            {"kind": each["kind"], "path": each["path"], "line": each["line"]}
            for each in attention[:MAX_LISTED_NOTICES]
        ],
        "attentions": len(attention),
    }
