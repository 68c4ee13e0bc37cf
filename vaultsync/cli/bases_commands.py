"""`bases`: tables and cards of the facts for Obsidian's Bases."""

from __future__ import annotations

import click

from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import common
from vaultsync.cli.output import Options, clean_one_line, echo, print_json, print_message


@click.group()
def bases() -> None:
    """Write tables of the facts for Obsidian's Bases."""


@bases.command()
@click.option(
    "--folder", default="Bases", show_default=True, metavar="PATH", help="Folder in the vault."
)
@common
def write(options: Options, *, folder: str) -> None:
    """Write a base for all facts, each type and each scope.

    A file that you edited is left alone; delete it to have it written again.
    """
    with open_memory(options) as memory:
        report = memory.write_bases(folder)
    if options.json:
        print_json(report)
        return
    echo(
        f"{report.written} written, {report.unchanged} unchanged in {clean_one_line(report.folder)}"
    )
    for each in report.edited:
        print_message(options, f"left alone, because it was edited: {clean_one_line(each)}")
