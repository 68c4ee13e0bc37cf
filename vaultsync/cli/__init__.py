"""The command line: words -> `Memory` -> words.

One command is one call. This package loads click and nothing heavy; what a command
needs is loaded when it runs.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import click

from vaultsync import __version__
from vaultsync.cli import completion, facts, mirror, transfer
from vaultsync.cli.failure import exit_code
from vaultsync.cli.output import colour

SECTIONS: tuple[tuple[str, tuple[click.Command, ...]], ...] = (
    (
        "Facts",
        (
            mirror.init,
            facts.remember,
            facts.get,
            facts.list_facts,
            facts.update,
            facts.supersede,
            facts.forget,
            facts.restore,
            transfer.export_facts,
            transfer.import_facts,
        ),
    ),
    (
        "Mirror",
        (
            mirror.sync,
            mirror.adopt,
            mirror.status,
            mirror.conflicts,
            mirror.resolve,
            mirror.history,
            mirror.undo,
            mirror.verify,
            mirror.rebuild,
            mirror.doctor,
        ),
    ),
    ("Shell", (completion.completion,)),
)
"""All commands, in the order of `--help`."""


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
        sys.exit(exit_code(run, as_json="--json" in options))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order of the sections."""
        return [str(each.name) for _, section in SECTIONS for each in section]

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands under the names of their sections."""
        widest = max(map(len, self.list_commands(ctx)))
        for title, section in SECTIONS:
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (str(each.name).ljust(widest), each.get_short_help_str(64))
                        for each in section
                    ]
                )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="vaultsync %(version)s")
def cli() -> None:
    """The memory that people and agents share: a store of facts, a vault of notes.

    Each command takes --vault PATH, --state-dir DIR, --json and --quiet after its name.
    """


for _, _section in SECTIONS:
    for _command in _section:
        cli.add_command(_command)


def main() -> NoReturn:
    """Run the command line."""
    cli.main(prog_name="vaultsync")
