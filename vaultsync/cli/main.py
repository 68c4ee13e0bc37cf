"""The command line: words -> `Memory` -> words.

One command is one call. This package loads click and nothing heavy; what a command
needs is loaded when it runs.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import click

from vaultsync import __version__
from vaultsync.cli.exit_codes import exit_code
from vaultsync.cli.output import colour

COMMAND_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Facts": {
        "init": "sync_commands.init",
        "remember": "fact_commands.remember",
        "get": "fact_commands.get",
        "list": "fact_commands.list_facts",
        "update": "fact_commands.update",
        "supersede": "fact_commands.supersede",
        "forget": "fact_commands.forget",
        "restore": "fact_commands.restore",
        "export": "transfer_commands.export_facts",
        "import": "transfer_commands.import_facts",
    },
    "Mirror": {
        "sync": "sync_commands.sync",
        "adopt": "sync_commands.adopt",
        "status": "sync_commands.status",
        "conflicts": "sync_commands.conflicts",
        "resolve": "sync_commands.resolve",
        "history": "sync_commands.history",
        "undo": "sync_commands.undo",
        "verify": "sync_commands.verify",
        "rebuild": "sync_commands.rebuild",
        "maintain": "sync_commands.maintain",
        "migrate": "sync_commands.migrate",
        "doctor": "sync_commands.doctor",
        "memory-file": "memory_file_commands.memory_file",
    },
    "Recall": {
        "recall": "recall_commands.recall",
        "context": "recall_commands.context",
        "index": "recall_commands.index",
        "graph": "graph_commands.graph",
        "links": "graph_commands.links",
    },
    "Long-running": {
        "watch": "watch_command.watch",
        "bridge": "bridge_commands.bridge",
        "mcp": "mcp_commands.mcp",
    },
    "Obsidian": {"plugin": "plugin_commands.plugin"},
    "Shell": {"completion": "completion_command.completion"},
}
"""All commands by their sections, in the order of `--help`, and where each is."""
COMMANDS = {name: at for section in COMMAND_SECTIONS.values() for name, at in section.items()}


GC_THRESHOLD = 100_000
"""Objects from which on rubbish is looked for. What is loaded for a command is none: to
look for some among it took a tenth of an answer."""


class Commands(click.Group):
    """The commands, whose every end is an exit code of the contract."""

    def main(
        self,
        args: Sequence[str] | None = None,
        *more: Any,  # noqa: ANN401 - click's own
        **extra: Any,  # noqa: ANN401
    ) -> NoReturn:
        """Run the command that `args` name, and exit."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a name in no encoding
        words = list(sys.argv[1:] if args is None else args)
        options = words[: words.index("--")] if "--" in words else words
        extra |= {"standalone_mode": False, "color": colour()}
        run = partial(super().main, args, *more, **extra)
        sys.exit(exit_code(run, words=options))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order of the sections."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """A command; only the module that it is in is loaded."""
        at = COMMANDS.get(cmd_name)
        if at is None:
            return None
        module, _, attribute = at.partition(".")
        found = import_module(f"vaultsync.cli.{module}")
        command: click.Command = getattr(found, attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; for a mistyped one, the names that are like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            name = error.command_name
            raise click.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the names of their sections."""
        widest = max(map(len, COMMANDS))
        for title, section in COMMAND_SECTIONS.items():
            with formatter.section(title):
                rows = []
                for name in section:
                    command = self.get_command(ctx, name)
                    assert command is not None  # noqa: S101 - it is in the table
                    rows.append((name.ljust(widest), command.get_short_help_str(64)))
                formatter.write_dl(rows)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="vaultsync %(version)s")
def cli() -> None:
    """The memory that people and agents share: a store of facts, a vault of notes.

    Each command takes --vault PATH, --state-dir DIR, --json and --quiet after its name.
    """


def main() -> NoReturn:
    """Run the command line, and end the process."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        cli.main(prog_name="vaultsync")
    except SystemExit as end:
        _exit_without_teardown(end)
        raise


def _exit_without_teardown(end: SystemExit) -> None:
    """End without taking apart what was loaded, which takes a tenth of an answer.

    All that was opened is closed. Whoever left a thread, or whose words do not go out,
    ends as Python does.
    """
    if threading.active_count() == 1 and isinstance(end.code, int):
        atexit._run_exitfuncs()  # noqa: SLF001 - what Python itself calls at the end
        with suppress(OSError, ValueError):
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(end.code)
