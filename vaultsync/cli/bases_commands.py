"""`bases`: tables and cards of facts for Obsidian Bases, and property types."""

from __future__ import annotations

import click

from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import common, flag, text_option
from vaultsync.cli.output import Options, clean_one_line, echo
from vaultsync.cli.tables import table


@click.group()
def bases() -> None:
    """Write tables of facts for Obsidian Bases."""


@bases.command()
@text_option("--folder", "PATH", "Folder in the vault.", default="Bases")
@common
def write(options: Options, *, folder: str) -> None:
    """Write a base for all facts, each type and each scope.

    Files that you edited are not changed; delete one to write it again.
    """
    with open_memory(options) as memory:
        report = memory.write_bases(folder)
    if options.printed_as_json(report):
        return
    echo(
        f"{report.written} written, {report.unchanged} unchanged in {clean_one_line(report.folder)}"
    )
    for each in report.edited:
        options.print_message(f"not updated, because it was edited: {clean_one_line(each)}")


@bases.command()
@flag("--write", "Add the missing types.", "writes")
@common
def types(options: Options, *, writes: bool) -> None:
    """Check the property types in Obsidian.

    Obsidian stores one type per property name in .obsidian/types.json and guesses the rest.
    Existing types are never changed. Close Obsidian first: it overwrites the file while it is open.
    """
    with open_memory(options) as memory:
        check = memory.property_types(write=writes)
    if options.printed_as_json(check):
        return
    state = "added" if check.written else "missing"
    rows = [[each.key, each.found, each.type, "clash"] for each in check.clashes]
    rows += [[key, "", fits, state] for key, fits in check.missing.items()]
    table(["property", "in Obsidian", "fits", "state"], rows, whole=("property", "state"))
    if not rows:
        options.print_message("all types fit")
    if check.clashes:
        options.print_message("change the type of a property in Obsidian, at its icon in a note")
    if check.missing and not check.written:
        options.print_message("`vaultsync bases types --write` adds what is missing")
