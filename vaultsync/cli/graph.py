"""`graph`: the graph of the memory, exported, counted, walked, coloured."""

from __future__ import annotations

from pathlib import PurePath

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, common

FORMATS = ("json", "graphml", "canvas", "html")
scope_option = click.option("--scope", metavar="S", help="Only the facts of a scope.")
depth_option = click.option(
    "--depth",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Up to how many steps away.",
)


@click.group()
def graph() -> None:
    """Draw, count and walk what joins facts and entities."""


@graph.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="The form of FILE; else by its ending, json where it has none.",
)
@click.option("--around", metavar="NAME", help="Only what is near this.")
@depth_option
@scope_option
@common
def export_graph(
    options: Options,
    *,
    file: str,
    form: str | None,
    around: str | None,
    depth: int,
    scope: str | None,
) -> int:
    """Write the graph to FILE; - is stdout.

    html is one page that needs no network, canvas opens in Obsidian, graphml in Gephi
    and others.
    """
    if file == "-" and options.json:
        message = "with --json FILE cannot be -, for stdout is one JSON object then"
        raise click.UsageError(message)

    from vaultsync.cli import files, show_graph
    from vaultsync.cli import vault as session

    chosen = form or PurePath(file).suffix[1:].lower() or "json"
    if chosen not in FORMATS:
        message = f"{file}: no form has this ending; say which one: --format json, …"
        raise click.UsageError(message)
    with session.memory(options) as memory:
        made = memory.graph_export(
            format=chosen, scope=scope, around=around, depth=depth
        )
    with files.writer(file) as write:
        write(made.text)
    show_graph.exported(options, made, file)
    return DONE


@graph.command("stats")
@click.option(
    "--hubs",
    metavar="N",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many hubs to list.",
)
@scope_option
@common
def stats(options: Options, *, hubs: int, scope: str | None) -> int:
    """Count parts, hubs (by PageRank) and what stands alone."""
    from vaultsync.cli import show_graph
    from vaultsync.cli import vault as session

    with session.memory(options) as memory:
        found = memory.graph_stats(scope=scope, hubs=hubs)
    show_graph.stats(options, found)
    return DONE


@graph.command("neighbors")
@click.argument("name")
@depth_option
@scope_option
@common
def show_neighbors(
    options: Options, *, name: str, depth: int, scope: str | None
) -> int:
    """List what NAME is joined to.

    NAME is a title, an alias, an id or the path of a note.
    """
    from vaultsync.cli import show_graph
    from vaultsync.cli import vault as session

    with session.memory(options) as memory:
        found = memory.graph_neighbors(name, depth=depth, scope=scope)
    show_graph.neighbors(options, found)
    return DONE


@graph.command("colours")
@common
def colours(options: Options) -> int:
    """Colour Obsidian's own graph view by type.

    Adds a colour group for each type to .obsidian/graph.json, and changes nothing else
    in it. Obsidian writes that file itself while it is open: close it first, or restart
    it afterwards.
    """
    from vaultsync.cli import show_graph
    from vaultsync.cli import vault as session

    with session.memory(options) as memory:
        done = memory.graph_colours()
    show_graph.coloured(options, done)
    return DONE
