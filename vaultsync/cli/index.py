"""The command that brings up to date what is derived from the facts."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, common


@click.command()
@click.option("--rebuild", is_flag=True, help="Make the indexes anew, from the facts.")
@common
def index(options: Options, *, rebuild: bool) -> int:
    """Bring `.index/`, the note index and the vectors up to date."""
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import emit, say
    from vaultsync.cli.progress import progress

    def told(cost: session.Cost) -> bool:
        say(
            options,
            f"another model is set than made the vectors: {cost.texts} texts of"
            f" {cost.facts} facts are embedded anew, which takes about"
            f" {cost.seconds:.0f} s",
        )
        return True

    with session.memory(options) as memory, progress(options) as bar:
        done = memory.index(rebuild=rebuild, told=told, progress=bar)
    if options.json:
        emit(done.as_json())
        return DONE
    say(
        options,
        f"{done.notes} facts can be found by their words, {done.chunks} by their meaning;"
        f" {done.embedded} texts were embedded, in {done.seconds:.1f} s",
    )
    for why in done.degraded:
        say(options, f"behind: {why}")
    return DONE
