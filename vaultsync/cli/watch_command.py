"""`watch`: the daemon, which syncs vault and store until it is stopped, and its log."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from vaultsync.api.opening import current_time
from vaultsync.cli.command_log import LOGGER, LogTo
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_reports import counts_in_words
from vaultsync.cli.open_vault import load_vault_settings, open_memory
from vaultsync.cli.options import choice_option, common, flag, number_option
from vaultsync.cli.output import (
    Options,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    print_json,
    style,
    suggest,
)
from vaultsync.cli.stop_signals import until_signal
from vaultsync.cli.units import unit
from vaultsync.daemon.loop import EventSink
from vaultsync.errors import EngineBusyError
from vaultsync.extras import missing_extra
from vaultsync.model.counts import count_noun
from vaultsync.model.schema import Value
from vaultsync.privacy.redaction import scrub
from vaultsync.service.daemon_runner import ServeBridge, WatchService
from vaultsync.settings import user_path

EVENT_LEVELS = {"error": "error", "watcher": "info", "store": "warning", "rescan": "info"}
MAX_LISTED_NOTICES = 20
"""Maximum number of notices to list; the others are only counted."""
UNLOGGED_EVENTS = frozenset({"state"})
"""Events for clients of the bridge only."""


class LogLines:
    """Writes each event as one line at once; with `words`, as text with the local time."""

    def __init__(
        self,
        stream: TextIO,
        now: Callable[[], datetime],
        *,
        quiet: bool = False,
        words: bool = False,
    ) -> None:
        self._stream = stream
        self._now = now
        self._quiet = quiet
        self._words = words

    def __call__(self, kind: str, data: Mapping[str, object]) -> None:
        """Log an event, without the contents of notes and with secrets redacted."""
        level = EVENT_LEVELS.get(kind, "info")
        if kind in UNLOGGED_EVENTS or (self._quiet and level == "info"):
            return
        summary = _run_summary(data) if kind == "pass" else dict(data)
        fields = {key: _scrubbed(value) for key, value in summary.items()}
        now = self._now()
        if self._words:
            line = f"{dim(f'{now.astimezone():%H:%M:%S}')}  {event_in_words(kind, fields)}"
        else:
            at = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line = json.dumps({"at": at, "level": level, "event": kind, **fields})
        try:
            echo(suggest(line) if self._words else line, file=self._stream)
        except (OSError, ValueError):
            return  # the reader has closed the log; the daemon continues


@contextmanager
def log_as_json_lines(log: LogLines) -> Iterator[None]:
    """Send the warnings of this package's loggers to a log during the block."""

    def as_event(record: logging.LogRecord, _: str) -> None:
        log("error", {"kind": record.name, "message": record.getMessage()})

    handler = LogTo(logging.WARNING, as_event)
    LOGGER.addHandler(handler)
    before, LOGGER.propagate = LOGGER.propagate, False
    try:
        yield
    finally:
        LOGGER.propagate = before
        LOGGER.removeHandler(handler)


def event_in_words(kind: str, data: Mapping[str, Any]) -> str:
    """Describe an event in one line of text."""
    describe = _WORDS.get(kind)
    return describe(data) if describe else clean_one_line(f"{kind}: {json.dumps(data)}")


def _watcher_in_words(data: Mapping[str, Any]) -> str:
    name, reason = clean_one_line(data["watcher"]), clean_one_line(data["trouble"])
    if not name:
        return f"no watcher, so only scans find changes: {reason}"
    return f"{name} reports changes" + (f"; the last watcher failed: {reason}" if reason else "")


def _run_in_words(data: Mapping[str, Any]) -> str:
    changes = counts_in_words(data["counts"]) or "nothing changed"
    if not data["attentions"]:
        return changes
    first = clean_one_line(data["attention"][0]["path"])
    notices = count_noun(data["attentions"], "notice")
    return f"{changes}; {notices}, the first about {first} (`vaultsync status` explains)"


def _files_in_words(data: Mapping[str, Any]) -> str:
    files = ", ".join(map(clean_one_line, data["files"]))
    notices = data["attentions"]
    return f"synced {files}" + (f"; {count_noun(notices, 'notice')}" if notices else "")


def _derived_in_words(data: Mapping[str, Any]) -> str:
    behind = clean_one_line("; ".join(data["behind"]))
    return f"indexes are out of date: {behind}" if behind else "indexes are up to date"


def _error_in_words(data: Mapping[str, Any]) -> str:
    retry = f"; trying again in {data['again_in']:.0f} s" if "again_in" in data else ""
    hint = clean_one_line(data.get("hint") or "")
    error = f"{style('error:', fg='red', bold=True)} {clean_one_line(data['message'])}{retry}"
    return f"{error} ({hint})" if hint else error


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "ready": lambda data: f"watching {clean_one_line(data['vault'])}; Ctrl-C stops",
    "bridge": lambda data: f"the Obsidian plugin can connect to {clean_one_line(data['address'])}",
    "watcher": _watcher_in_words,
    "rescan": lambda data: f"scanning the whole vault: {clean_one_line(data['why'])}",
    "pass": _run_in_words,
    "store": lambda data: (
        f"the store is unavailable: {clean_one_line(data['away'])}"
        if data["away"]
        else "the store is available again"
    ),
    "memory-file": _files_in_words,
    "error": _error_in_words,
    "derived": _derived_in_words,
    "stopped": lambda data: f"stopped after {count_noun(data['passes'], 'sync', many='syncs')}",
}


def _scrubbed(value: object) -> object:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {key: _scrubbed(each) for key, each in value.items()}
    return [_scrubbed(each) for each in value] if isinstance(value, (list, tuple)) else value


def _run_summary(report: Mapping[str, object]) -> dict[str, object]:
    """Reduce a report to its counts and its notices, without the actions."""
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


@click.command()
@flag("--once-settled", "Stop once nothing is left to sync.")
@flag("--wait", "Wait while another process is syncing the vault.")
@flag("--no-bridge", "Do not serve the Obsidian plugin.")
@number_option("--port", "Port of the bridge; default: 27125.", minimum=1024, maximum=65535)
@click.option(
    "--log",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Append the log to FILE instead of stderr.",
)
@choice_option(
    "--print-unit",
    ("systemd", "launchd"),
    "Print a service unit that starts the daemon at login, and exit.",
)
@common
def watch(
    options: Options,
    *,
    once_settled: bool,
    wait: bool,
    no_bridge: bool,
    port: int | None,
    log: str | None,
    print_unit: str | None,
) -> int:
    """Sync continuously until stopped.

    Logs events on stderr: as text in a terminal, otherwise, and with --json, as one JSON object per
    line. Ctrl-C or SIGTERM stops it within five seconds; the next run continues where it stopped.
    """
    settings = load_vault_settings(options)
    if print_unit is not None:
        # A service does not inherit the environment variables that may name these folders.
        config_dir = _non_default(settings.machine_file.parents[1], "~/.config/vaultsync")
        state_dir = _non_default(settings.state_dir.parent, "~/.local/state/vaultsync")
        text = unit(print_unit, str(settings.root), state_dir=state_dir, config_dir=config_dir)
        if not options.printed_as_json({"kind": print_unit, "unit": text}):
            echo(text.rstrip("\n"))
        return EXIT_DONE
    with event_log(log, quiet=options.quiet, as_json=options.json) as lines:
        serve: ServeBridge | None = None
        log_event: EventSink = lines
        if not (no_bridge or once_settled):
            serve, log_event = _bridge_if_installed(port, lines)
        service = WatchService(settings, log=log_event, serve=serve, once=once_settled, wait=wait)
        with until_signal(service.stop) as stopped:
            try:
                state = service.run()
            except EngineBusyError:
                if not stopped.is_set():
                    raise
                once_settled = False  # stopped while waiting for another process
                state = {"passes": 0, "last_error": None}
    if options.json:
        print_json({"passes": state["passes"], "last_error": state["last_error"]})
    if not once_settled:
        return EXIT_DONE
    with open_memory(options) as memory:
        status = memory.status()
    return EXIT_NEEDS_REVIEW if status.attention or status.conflicts else EXIT_DONE


def _non_default(folder: Path, default: str) -> Path | None:
    """The folder, or None where it is the default."""
    return None if folder == user_path(default) else folder


def _bridge_if_installed(port: int | None, log: EventSink) -> tuple[ServeBridge | None, EventSink]:
    """Return the function that serves the bridge, and the log.

    If the libraries of the bridge are not installed, the function is None, and the log gets an
    error as soon as the daemon is ready; a daemon that cannot start logs its own error.
    """
    try:
        from vaultsync.http_bridge.bridge_server import running_bridge
    except ImportError as error:
        missing = missing_extra("the bridge", error)
        if missing is None:
            raise
        fields = {"kind": "MissingExtraError", "message": missing.message, "hint": missing.hint}
        return None, partial(_log_error_when_ready, log, fields)
    return partial(running_bridge, port=port), log


def _log_error_when_ready(
    log: EventSink, error: Mapping[str, Value], kind: str, data: Mapping[str, Value]
) -> None:
    log(kind, data)
    if kind == "ready":
        log("error", error)


@contextmanager
def event_log(path: str | None, *, quiet: bool, as_json: bool = False) -> Iterator[LogLines]:
    """Open the log of the daemon, which also gets the warnings of this package's loggers."""
    with nullcontext(sys.stderr) if path is None else Path(path).open("a", encoding="utf-8") as log:
        lines = LogLines(log, current_time, quiet=quiet, words=is_terminal(log) and not as_json)
        with log_as_json_lines(lines):
            yield lines
