"""`graph` and `links`: export and explore the graph, check links."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

import click
from msgspec import structs

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    choice_option,
    common,
    completes,
    flag,
    number_option,
    scope_option,
    text_option,
    verbose_flag,
)
from vaultsync.cli.output import Options, clean_one_line, echo, is_terminal, progress_bar, style
from vaultsync.cli.tables import print_pairs, table
from vaultsync.cli.transfer_commands import open_output, refuse_json_on_stdout
from vaultsync.graph.service import GraphExport, Neighborhood
from vaultsync.graph.stats import GraphStats, Neighbor, NodeName
from vaultsync.links.check import ALIAS_ONLY, AMBIGUOUS, BROKEN
from vaultsync.model.counts import count_noun
from vaultsync.operations.check_links import LinkProblem, LinkReport

_LINK_NAMES = {
    BROKEN: ("broken link", "broken links"),
    AMBIGUOUS: ("ambiguous link", "ambiguous links"),
    ALIAS_ONLY: ("link by alias only", "links by alias only"),
}
"""A problem of links -> what one and several of them are called."""
MAX_LISTED = 20
"""Maximum number of rows in a list, unless `--verbose` is given."""


def print_exported(options: Options, export: GraphExport, file: str) -> None:
    """Print the size, the file and the format of an exported graph."""
    if options.printed_as_json(
        {"file": file, "format": export.format, "nodes": export.nodes, "links": export.links}
    ):
        return
    summary = f"{count_noun(export.nodes, 'node')}, {count_noun(export.links, 'link')}"
    if file == "-":
        options.print_message(summary)
    elif not options.quiet:
        echo(f"{summary} written to {clean_one_line(file)} as {export.format}")


def print_stats(options: Options, stats: GraphStats) -> None:
    """Print counts, hubs and orphans of the graph."""
    if options.printed_as_json(stats):
        return
    sizes = ", ".join(f"{size:,}" for size in stats.components[:MAX_LISTED])
    more = len(stats.components) - MAX_LISTED
    rest = f" and {more:,} more" if more > 0 else ""
    components = f"{len(stats.components):,}" + (f", of {sizes} nodes{rest}" if sizes else "")
    print_pairs(
        [
            ("nodes", f"{stats.nodes:,}"),
            ("links", f"{stats.links:,}"),
            ("node types", _counts(stats.types.items())),
            ("link kinds", _counts(stats.kinds.items())),
            ("components", components),
            ("orphans", f"{len(stats.orphans):,}"),
        ]
    )
    if stats.hubs:
        _heading("Hubs")
        rows = [[f"{hub.rank:.4f}", str(hub.degree), *_cells(hub)] for hub in stats.hubs]
        table(
            ["PageRank", "neighbors", "name", "type", "note"],
            rows,
            whole=("PageRank",),
            name="name",
        )
    if stats.orphans:
        _heading("Orphans")
        orphans = stats.orphans[:MAX_LISTED]
        table(["name", "type", "note"], [_cells(node) for node in orphans])
        _print_more(options, len(stats.orphans) - len(orphans), "--json lists them all")


def _counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts) or "none"


def _cells(node: NodeName) -> list[str]:
    return [node.label, node.type, node.path or ""]


def _heading(text: str) -> None:
    if is_terminal(sys.stdout):
        echo()
        echo(style(text, bold=True))


def _print_more(options: Options, number: int, hint: str) -> None:
    if number > 0:
        options.print_message(f"… and {number:,} more: {hint}")


def print_neighbors(options: Options, neighborhood: Neighborhood) -> None:
    """Print the neighbors of a node, nearest first."""
    if options.printed_as_json(neighborhood):
        return
    if is_terminal(sys.stdout):
        echo(style(clean_one_line(neighborhood.label), bold=True))
        options.print_message(clean_one_line(neighborhood.path or "no note"))
    rows = [[str(each.distance), _via(each), *_cells(each)] for each in neighborhood.neighbors]
    table(["distance", "via", "name", "type", "note"], rows, whole=("distance",), name="name")
    if not rows:
        options.print_message("no neighbors")


def _via(near: Neighbor) -> str:
    """Format links with their direction: `mentions →` leads to `near`, `← reports_to` from it."""
    labels = dict.fromkeys(
        f"{edge.label or edge.type} →" if edge.target == near.id else f"← {edge.label or edge.type}"
        for edge in near.via
    )
    return ", ".join(labels)


def print_link_check(
    options: Options, report: LinkReport, *, kind: str | None = None, verbose: bool
) -> int:
    """Print the problems with links, all or those of one `kind`, and return the exit code."""
    if kind is not None:
        report = structs.replace(report, **{each: () for each in report.by_kind if each != kind})
    code = EXIT_NEEDS_REVIEW if report.problems else EXIT_DONE
    if options.printed_as_json(report):
        return code
    links = sum(sum(counts.values()) for counts in report.links.values())
    if not options.quiet:
        parts = [
            count_noun(len(problems), one, many=many)
            for each, (one, many) in _LINK_NAMES.items()
            if (problems := report.by_kind[each])
        ]
        nothing = f"no {_LINK_NAMES[kind][1]}" if kind else "every link resolves"
        summary = ", ".join(parts) or nothing
        where = f"{count_noun(links, 'link')} in {count_noun(report.notes, 'note')}"
        echo(style(f"{summary} ({where})", bold=True))
    _print_links(options, report.fixed, "", verbose=verbose)
    for each, problems in report.by_kind.items():  # broken links come first
        if kind in (None, each):
            _print_links(options, problems, each, verbose=verbose)
    if report.unreadable:
        names = ", ".join(report.unreadable[:MAX_LISTED])
        options.print_message(f"\nnotes that could not be read fully: {clean_one_line(names)}")
    if report.run:
        options.print_message(f"\n`vaultsync undo {report.run}` undoes the fixes")
    elif any(each.fix for each in report.problems):
        options.print_message(
            "\n`vaultsync links check --fix` applies the fixes, in notes of facts only"
        )
    return code


def _print_links(
    options: Options, problems: Sequence[LinkProblem], kind: str, *, verbose: bool
) -> None:
    """Print a table of the problems of a kind, or of the fixed links if `kind` is empty."""
    listed = problems if verbose else problems[:MAX_LISTED]
    if not listed:
        return
    label = kind.replace("_", " ") or "fixed"
    heads = ["problem" if kind else "fixed", "note", "link", "why", "fix"]
    rows = [
        [label, f"{each.path}:{each.line}", each.link, each.why, each.fix or ""] for each in listed
    ]
    if is_terminal(sys.stdout):
        echo()
    table(heads, rows, whole=heads, name="note", optional=("fix",))
    narrowed = f"--kind {kind.replace('_', '-')} --verbose" if kind else "--verbose"
    _print_more(options, len(problems) - len(listed), f"{narrowed} lists them all")


@click.group()
def links() -> None:
    """Check links between notes."""


@links.command("check")
@flag("--fix", "Fix links that have only one possible target, in notes of facts.")
@choice_option(
    "--kind",
    [each.replace("_", "-") for each in (BROKEN, AMBIGUOUS, ALIAS_ONLY)],
    "List only this kind of problem.",
)
@verbose_flag("List every link, and log details on stderr.")
@common
def check(options: Options, *, fix: bool, kind: str | None, verbose: bool) -> int:
    """Find links that Obsidian cannot resolve unambiguously.

    Broken: the file, heading or block does not exist. Ambiguous: several files have this name.
    Alias only: the name is an alias, which Obsidian does not resolve in links.
    """
    with open_memory(options) as memory, progress_bar(options) as bar:
        report = memory.links_check(fix=fix, progress=bar)
    kind = kind and kind.replace("-", "_")
    return print_link_check(options, report, kind=kind, verbose=verbose)


GRAPH_FORMATS = ("json", "graphml", "canvas", "html")
in_scope_option = scope_option("Only facts in this scope.")
depth_option = number_option("--depth", "Maximum number of links to follow.", minimum=1, default=1)


@click.group()
def graph() -> None:
    """Export and explore the graph of facts and entities."""


@graph.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@choice_option(
    "--format", GRAPH_FORMATS, "Format of FILE; default: by its extension, else json.", "form"
)
@text_option("--around", "NAME", "Only the neighborhood of this node.", names="fact")
@depth_option
@in_scope_option
@flag("--force", "Overwrite a canvas in the vault, or a file that is not an earlier export.")
@common
def export_graph(
    options: Options,
    *,
    file: str,
    form: str | None,
    force: bool,
    **selection: Any,  # noqa: ANN401 - the arguments of `Memory.graph_export`
) -> None:
    """Write the graph to FILE; - is stdout.

    html is a page that works offline, canvas opens in Obsidian, and graphml in Gephi and similar
    tools.
    """
    refuse_json_on_stdout(options, file)
    chosen = form or PurePath(file).suffix[1:].lower() or "json"
    if chosen not in GRAPH_FORMATS:
        message = f"{file}: unknown file extension; name the format, such as --format json"
        raise click.UsageError(message)
    if selection["around"] is None and selection["depth"] > 1:
        message = "--depth needs --around, without which the whole graph is exported"
        raise click.UsageError(message)
    with open_memory(options) as memory, progress_bar(options):
        export = memory.graph_export(format=chosen, **selection)
    from vaultsync.graph.graph_formats import begins_export  # noqa: PLC0415 - for this alone

    with open_output(file, force=force, is_export=begins_export) as write:
        write(export.text)
    print_exported(options, export, file)


@graph.command("stats")
@number_option("--hubs", "Maximum number of hubs to list.", default=10)
@in_scope_option
@common
def stats(options: Options, *, hubs: int, scope: str | None) -> None:
    """Show counts, hubs (by PageRank) and orphans."""
    with open_memory(options) as memory, progress_bar(options):
        counts = memory.graph_stats(scope=scope, hubs=hubs)
    print_stats(options, counts)


@graph.command("neighbors")
@click.argument("name", shell_complete=completes("fact"))
@depth_option
@in_scope_option
@common
def show_neighbors(options: Options, *, name: str, depth: int, scope: str | None) -> None:
    """List the neighbors of NAME.

    NAME is a title, an alias, an id or the path of a note.
    """
    with open_memory(options) as memory:
        neighborhood = memory.graph_neighbors(name, depth=depth, scope=scope)
    print_neighbors(options, neighborhood)


@graph.command("colours")
@common
def colours(options: Options) -> None:
    """Colour Obsidian's graph view by type.

    Adds a colour group for each type to .obsidian/graph.json. Obsidian overwrites that file
    while it is open: close Obsidian first, or restart it afterwards.
    """
    with open_memory(options) as memory:
        result = memory.graph_colours()
    if options.printed_as_json(result):
        return
    if not result.changed:
        echo(f"every type already has its colour in {clean_one_line(result.path)}")
    else:
        echo(f"added a colour for each type to {clean_one_line(result.path)}")
        options.print_message(
            "if Obsidian is open, restart it now; if the colours are missing then, close"
            " Obsidian and run this again"
        )
