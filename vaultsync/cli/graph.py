"""`graph`: the graph of the memory, exported, counted, walked, coloured.

The graph and the links, as JSON or for a person.

`links`: what Obsidian could not follow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import click

from vaultsync.api.graphing import GraphColours, GraphExport
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import count_noun, print_pairs
from vaultsync.cli.options import Options, common
from vaultsync.cli.output import (
    clean_one_line,
    echo,
    is_terminal,
    print_json,
    print_message,
    style,
    table,
)
from vaultsync.graph.service import Neighborhood
from vaultsync.graph.stats import GraphStats, Neighbor, NodeName
from vaultsync.links.check import ALIAS_ONLY, AMBIGUOUS, BROKEN
from vaultsync.operations.check_links import LinkProblem, LinkReport

MAX_LISTED = 20
"""What is listed unless all is wanted."""


def print_exported(options: Options, made: GraphExport, file: str) -> None:
    """What was written where."""
    if options.json:
        print_json(
            {
                "file": file,
                "format": made.format,
                "nodes": made.nodes,
                "links": made.links,
            }
        )
        return
    said = f"{count_noun(made.nodes, 'node')}, {count_noun(made.links, 'link')}"
    if file == "-":
        print_message(options, said)
    elif not options.quiet:
        echo(f"{said} written to {clean_one_line(file)} as {made.format}")


def print_stats(options: Options, found: GraphStats) -> None:
    """What the graph looks like."""
    if options.json:
        print_json(found)
        return
    sizes = ", ".join(f"{size:,}" for size in found.components[:MAX_LISTED])
    more = len(found.components) - MAX_LISTED
    rest = f" and {more:,} more" if more > 0 else ""
    parts = f"{len(found.components):,}" + (f", of {sizes} nodes{rest}" * bool(sizes))
    print_pairs(
        [
            ("nodes", f"{found.nodes:,}"),
            ("links", f"{found.links:,}"),
            ("types", _counts(found.types.items())),
            ("kinds", _counts(found.kinds.items())),
            ("parts", parts),
            ("orphans", f"{len(found.orphans):,}"),
        ]
    )
    if found.hubs:
        _head("Hubs")
        rows = [[f"{hub.rank:.4f}", str(hub.degree), *_named(hub)] for hub in found.hubs]
        table(["rank", "joined to", "name", "type", "note"], rows, whole=("rank",))
    if found.orphans:
        _head("Joined to nothing")
        some = found.orphans[:MAX_LISTED]
        table(["name", "type", "note"], [_named(node) for node in some])
        _and_more(options, len(found.orphans) - len(some), "--json lists them all")


def _counts(many: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in many) or "none"


def _named(node: NodeName) -> list[str]:
    return [node.label, node.type, node.path or ""]


def _head(text: str) -> None:
    if is_terminal(sys.stdout):
        echo()
        echo(style(text, bold=True))


def _and_more(options: Options, number: int, hint: str) -> None:
    if number > 0:
        print_message(options, f"… and {number:,} more: {hint}")


def print_neighbors(options: Options, found: Neighborhood) -> None:
    """What a node is joined to, the nearest first."""
    if options.json:
        print_json(found)
        return
    if is_terminal(sys.stdout):
        echo(style(clean_one_line(found.label), bold=True))
        print_message(options, clean_one_line(found.path or "it has no note"))
    rows = [[str(each.distance), _via(each), *_named(each)] for each in found.neighbors]
    table(["steps", "how", "name", "type", "note"], rows, whole=("steps",))
    if not rows:
        print_message(options, "nothing is joined to it")


def _via(near: Neighbor) -> str:
    """`mentions →`: it is mentioned; `← reports_to`: it says that of the other."""
    said = dict.fromkeys(
        f"{edge.label or edge.type} →" if edge.target == near.id else f"← {edge.label or edge.type}"
        for edge in near.via
    )
    return ", ".join(said)


def print_coloured(options: Options, done: GraphColours) -> None:
    """What became of Obsidian's settings."""
    if options.json:
        print_json(done)
        return
    if not done.changed:
        echo(f"every type has its colour already in {clean_one_line(done.path)}")
        return
    echo(f"a colour for each type was added to {clean_one_line(done.path)}")
    print_message(
        options,
        "Obsidian writes this file while it is open: restart it now, and if the colours"
        " are gone then, close it and run this again",
    )


_EDGE_WORDS = {
    BROKEN: ("broken link", "broken links"),
    AMBIGUOUS: ("ambiguous link", "ambiguous links"),
    ALIAS_ONLY: ("link by an alias only", "links by an alias only"),
}


def print_link_check(options: Options, found: LinkReport, *, verbose: bool) -> int:
    """What is wrong with links; returns the exit code."""
    code = EXIT_NEEDS_REVIEW if found.problems else EXIT_DONE
    if options.json:
        print_json(found)
        return code
    links = sum(sum(hows.values()) for hows in found.links.values())
    if not options.quiet:
        said = [
            count_noun(len(some), one, many=many)
            for kind, (one, many) in _EDGE_WORDS.items()
            if (some := found.by_kind[kind])
        ]
        summary = ", ".join(said) or "every link leads somewhere"
        where = f"{count_noun(links, 'link')} in {count_noun(found.notes, 'note')}"
        echo(style(f"{summary} ({where})", bold=True))
    _listed(options, found.fixed, {}, verbose=verbose)
    kinds = {id(p): kind for kind, some in found.by_kind.items() for p in some}
    _listed(options, found.problems, kinds, verbose=verbose)
    if found.unreadable:
        names = ", ".join(found.unreadable[:MAX_LISTED])
        print_message(options, f"\nnot all links of these could be read: {clean_one_line(names)}")
    if found.run:
        print_message(options, f"\n`vaultsync undo {found.run}` takes the mending back")
    elif any(each.fix for each in found.problems):
        print_message(
            options,
            "\n`vaultsync links check --fix` mends those with a fix, in notes that are facts",
        )
    return code


def _listed(
    options: Options,
    many: Sequence[LinkProblem],
    kinds: Mapping[int, str],
    *,
    verbose: bool,
) -> None:
    """A table of problems of some kinds, or (without) of what was fixed."""
    some = many if verbose else many[:MAX_LISTED]
    if not some:
        return
    heads = ["problem" if kinds else "fixed", "note", "link", "why", "fix"]
    rows = [
        [
            kinds.get(id(each), "fixed").replace("_", " "),
            f"{each.path}:{each.line}",
            each.link,
            each.why,
            each.fix or "",
        ]
        for each in some
    ]
    if is_terminal(sys.stdout):
        echo()
        if not any(each.fix for each in some):
            heads, rows = heads[:-1], [row[:-1] for row in rows]
    table(heads, rows, whole=(heads[0], "link"))
    _and_more(options, len(many) - len(some), "--verbose lists them all")


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
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory, progress_bar(options) as bar:
        found = memory.links_check(fix=fix, progress=bar)
    return print_link_check(options, found, verbose=verbose)


GRAPH_FORMATS = ("json", "graphml", "canvas", "html")
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
    type=click.Choice(GRAPH_FORMATS),
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

    from vaultsync.cli import export_import as files
    from vaultsync.cli import vault as session

    chosen = form or PurePath(file).suffix[1:].lower() or "json"
    if chosen not in GRAPH_FORMATS:
        message = f"{file}: no form has this ending; say which one: --format json, …"
        raise click.UsageError(message)
    with session.open_memory(options) as memory:
        made = memory.graph_export(format=chosen, scope=scope, around=around, depth=depth)
    with files.open_output(file) as write:
        write(made.text)
    print_exported(options, made, file)
    return EXIT_DONE


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
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        found = memory.graph_stats(scope=scope, hubs=hubs)
    print_stats(options, found)
    return EXIT_DONE


@graph.command("neighbors")
@click.argument("name")
@depth_option
@scope_option
@common
def show_neighbors(options: Options, *, name: str, depth: int, scope: str | None) -> int:
    """List what NAME is joined to.

    NAME is a title, an alias, an id or the path of a note.
    """
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        found = memory.graph_neighbors(name, depth=depth, scope=scope)
    print_neighbors(options, found)
    return EXIT_DONE


@graph.command("colours")
@common
def colours(options: Options) -> int:
    """Colour Obsidian's own graph view by type.

    Adds a colour group for each type to .obsidian/graph.json, and changes nothing else
    in it. Obsidian writes that file itself while it is open: close it first, or restart
    it afterwards.
    """
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        done = memory.graph_colours()
    print_coloured(options, done)
    return EXIT_DONE
