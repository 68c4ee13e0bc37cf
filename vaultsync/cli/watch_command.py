"""`watch`: the daemon, which mirrors both ways until a signal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.options import Options, common
from vaultsync.cli.output import echo, print_json

EventSink: TypeAlias = "Callable[[str, Mapping[str, Value]], None]"

if TYPE_CHECKING:
    from vaultsync.cli.serving import BridgeInDaemon
    from vaultsync.model.schema import Value


@click.command()
@click.option("--once-settled", is_flag=True, help="Stop at the first quiet moment.")
@click.option("--wait", is_flag=True, help="Wait while another engine has the vault.")
@click.option("--no-bridge", is_flag=True, help="Without HTTP for the Obsidian plugin.")
@click.option("--port", type=click.IntRange(1024, 65535), help="Of the bridge.")
@click.option(
    "--log",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Where the log goes, line by line; else stderr.",
)
@click.option(
    "--print-unit",
    type=click.Choice(("systemd", "launchd")),
    help="Print what starts the daemon with your session, and do nothing else.",
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
    """Keep vault and store equal until a signal.

    What happens is told on stderr, a line of JSON each. Ctrl-C or SIGTERM end it within
    two seconds; what was begun is taken up by the next pass.
    """
    from vaultsync.cli import open_vault as session

    settings = session.load_vault_settings(options)
    if print_unit is not None:
        from vaultsync.cli.units import unit

        text = unit(print_unit, str(settings.root), state_dir=options.state_dir)
        if options.json:
            print_json({"kind": print_unit, "unit": text})
        else:
            echo(text.rstrip("\n"))
        return EXIT_DONE
    with ExitStack() as closing:
        told = [closing.enter_context(event_logging(log, quiet=options.quiet))]

        def tell(kind: str, said: Mapping[str, Value]) -> None:
            for each in told:
                each(kind, said)

        bridge = None if no_bridge or once_settled else _bridge_if_installed(tell)
        watching = session.make_daemon_runner(
            settings, tell=tell, once=once_settled, wait=wait, app=bridge.writes if bridge else None
        )
        closing.enter_context(_until_signal(watching.stop))
        if bridge is not None:
            told.append(partial(bridge.tell, watching))
            # Not before it has the vault: another one's bridge may be announced.
            serve = bridge.bridge(watching, port=port, tell=tell)

            def begin(kind: str, _said: Mapping[str, Value]) -> None:
                if kind == "ready":
                    tell("bridge", {"address": closing.enter_context(serve).address})

            told.append(begin)
        said = watching.run()
    if options.json:
        print_json({"passes": said["passes"], "last_error": said["last_error"]})
    if once_settled:
        return EXIT_NEEDS_REVIEW if session.needs_review(options) else EXIT_DONE
    return EXIT_DONE


def _bridge_if_installed(tell: EventSink) -> BridgeInDaemon | None:
    """What a bridge in this daemon shares with it; None where nothing can serve."""
    try:
        from vaultsync.cli.serving import BridgeInDaemon
    except ImportError as error:
        tell("error", {"kind": "ImportError", "message": f"no bridge: {error}"})
        return None
    return BridgeInDaemon()


@contextmanager
def event_logging(path: str | None, *, quiet: bool) -> Iterator[EventSink]:
    """Where what happens is told, and what is logged elsewhere in this process."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.log_lines import LogLines, log_as_json_lines

    with ExitStack() as closing:
        stream = sys.stderr
        if path is not None:
            stream = closing.enter_context(open(path, "a", encoding="utf-8"))  # noqa: PTH123 - as click gave it
        lines = LogLines(stream, session.log_time, quiet=quiet)
        with log_as_json_lines(lines):
            yield lines


@contextmanager
def _until_signal(stop: Callable[[], None]) -> Iterator[None]:
    """The first SIGINT or SIGTERM stops in good order, the second one at once."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def told(number: int, _frame: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        stop()

    try:
        for each in before:
            signal.signal(each, told)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
