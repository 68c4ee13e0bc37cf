"""`export` and `import`: all facts as JSON Lines."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, common


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@common
def export_facts(options: Options, *, file: str) -> int:
    """Write all facts to FILE, a line of JSON each; - is stdout.

    FILE appears whole or not at all.
    """
    if file == "-" and options.json:
        message = "with --json FILE cannot be -, for stdout is one JSON object then"
        raise click.UsageError(message)

    from vaultsync.cli import files
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.memory(options) as memory, files.writer(file) as write:
        count = memory.export(write)
    show.transferred(options, count, f"written to {file}", data=file != "-")
    return DONE


@click.command("import")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, readable=True)
)
@common
def import_facts(options: Options, *, file: str) -> int:
    """Take facts from FILE, a line of JSON each; - is stdin.

    All lines are taken or, when one is bad, none.
    """
    from vaultsync.cli import files, output
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.memory(options) as memory, files.reader(file) as source:
        count = memory.import_(files.lines(source))
    show.transferred(options, count, f"taken from {file}", data=True)
    if count and not options.json:
        output.say(options, "`vaultsync sync` writes their notes")
    return DONE
