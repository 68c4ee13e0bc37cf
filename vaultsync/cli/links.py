"""`links`: what Obsidian could not follow."""

from __future__ import annotations

import click

from vaultsync.cli.options import Options, common


@click.group()
def links() -> None:
    """Check where links lead."""


@links.command("check")
@click.option(
    "--fix",
    is_flag=True,
    help="Mend what leaves no doubt, in notes that are facts.",
)
@click.option("-v", "--verbose", is_flag=True, help="List every link, not only some.")
@common
def check(options: Options, *, fix: bool, verbose: bool) -> int:
    """Find links that Obsidian cannot follow, or not for sure.

    Broken: nothing is called so, or the note has no such heading or block. Ambiguous:
    several files are called so. Alias only: links do not follow aliases.
    """
    from vaultsync.cli import show_graph
    from vaultsync.cli import vault as session
    from vaultsync.cli.progress import progress

    with session.memory(options) as memory, progress(options) as bar:
        found = memory.links_check(fix=fix, progress=bar)
    return show_graph.checked(options, found, verbose=verbose)
