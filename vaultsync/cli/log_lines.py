"""The log of a daemon: one line of JSON per event, for people and programs."""

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
"""Notices that are listed one by one; the others are only counted."""
UNLOGGED_EVENTS = frozenset({"state"})
"""Events for clients that show them; in a log they would be noise."""


class LogLines:
    """Writes one line per event, at once."""

    def __init__(self, stream: TextIO, now: Callable[[], datetime], *, quiet: bool = False) -> None:
        self._stream = stream
        self._now = now
        self._quiet = quiet

    def __call__(self, kind: str, data: Mapping[str, object]) -> None:
        """Log an event, without the contents of notes and with secrets redacted."""
        level = EVENT_LEVELS.get(kind, "info")
        if kind in UNLOGGED_EVENTS or (self._quiet and level == "info"):
            return
        shown = _run_summary(data) if kind == "pass" else dict(data)
        at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {key: _scrubbed(value) for key, value in shown.items()}
        line = {"at": at, "level": level, "event": kind, **fields}
        try:
            print(json.dumps(line), file=self._stream, flush=True)
        except (OSError, ValueError):
            return  # nothing reads the log any more; the daemon goes on


class _LogHandler(logging.Handler):
    """Logs the records of a logger as error events."""

    def __init__(self, log: LogLines) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record."""
        self._log("error", {"kind": record.name, "message": record.getMessage()})


@contextmanager
def log_as_json_lines(log: LogLines) -> Iterator[None]:
    """Send the warnings of this package's loggers to a log, while the context is open."""
    logger, handler = logging.getLogger("vaultsync"), _LogHandler(log)
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


def _run_summary(report: Mapping[str, object]) -> dict[str, object]:
    """A report without its actions: how many there were, and the notices."""
    counts, attention = report.get("counts"), report.get("attention")
    assert isinstance(counts, Mapping)  # noqa: S101 - the shape of a report
    assert isinstance(attention, (list, tuple))  # noqa: S101 - the same
    return {
        "run": report.get("run"),
        "seconds": report.get("seconds"),
        "counts": {name: n for name, n in counts.items() if n},
        "attention": [
            {"kind": each["kind"], "path": each["path"], "line": each["line"]}
            for each in attention[:MAX_LISTED_NOTICES]
        ],
        "attentions": len(attention),
    }
