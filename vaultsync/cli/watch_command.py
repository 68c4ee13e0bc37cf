"""`watch`: the daemon, which syncs vault and store until it is stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import click

from vaultsync.api.opening import current_time
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.log_lines import LogLines, log_as_json_lines
from vaultsync.cli.open_vault import load_vault_settings, open_memory
from vaultsync.cli.options import choice_option, common, flag, number_option
from vaultsync.cli.output import Options, echo, is_terminal, print_json
from vaultsync.cli.stop_signals import until_signal
from vaultsync.cli.units import unit
from vaultsync.daemon.loop import EventSink
from vaultsync.errors import EngineBusyError, missing_extra
from vaultsync.model.schema import Value
from vaultsync.service.daemon_runner import ServeBridge, WatchService
from vaultsync.settings import user_path


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
