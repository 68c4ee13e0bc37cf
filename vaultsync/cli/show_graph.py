"""The graph and the links, as JSON or for a person."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from vaultsync.api.graphing import GraphColours, GraphExport
from vaultsync.cli.exit_codes import DONE, WAITS
from vaultsync.cli.format_facts import count, pairs
from vaultsync.cli.options import Options
from vaultsync.cli.output import echo, emit, is_terminal, one_line, say, style, table
from vaultsync.graph.model import Edge, Node
from vaultsync.graph.service import Neighborhood, stats_json
from vaultsync.graph.stats import GraphStats
from vaultsync.links.check import ALIAS_ONLY, AMBIGUOUS, BROKEN
from vaultsync.operations.check_links import LinkProblem, LinkReport

MANY = 20
"""What is listed unless all is wanted."""


def exported(options: Options, made: GraphExport, file: str) -> None:
    """What was written where."""
    if options.json:
        emit(
            {
                "file": file,
                "format": made.format,
                "nodes": made.nodes,
                "links": made.links,
            }
        )
        return
    said = f"{count(made.nodes, 'node')}, {count(made.links, 'link')}"
    if file == "-":
        say(options, said)
    elif not options.quiet:
        echo(f"{said} written to {one_line(file)} as {made.format}")


def stats(options: Options, found: GraphStats) -> None:
    """What the graph looks like."""
    if options.json:
        emit(stats_json(found))
        return
    sizes = ", ".join(f"{size:,}" for size in found.components[:MANY])
    more = len(found.components) - MANY
    rest = f" and {more:,} more" if more > 0 else ""
    parts = f"{len(found.components):,}" + (f", of {sizes} nodes{rest}" * bool(sizes))
    pairs(
        [
            ("nodes", f"{found.nodes:,}"),
            ("links", f"{found.edges:,}"),
            ("types", _counts(found.types.items())),
            ("kinds", _counts(found.kinds.items())),
            ("parts", parts),
            ("orphans", f"{len(found.orphans):,}"),
        ]
    )
    if found.hubs:
        _head("Hubs")
        rows = [
            [f"{hub.rank:.4f}", str(hub.degree), *_named(hub.node)]
            for hub in found.hubs
        ]
        table(["rank", "joined to", "name", "type", "note"], rows, whole=("rank",))
    if found.orphans:
        _head("Joined to nothing")
        some = found.orphans[:MANY]
        table(["name", "type", "note"], [_named(node) for node in some])
        _and_more(options, len(found.orphans) - len(some), "--json lists them all")


def _counts(many: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in many) or "none"


def _named(node: Node) -> list[str]:
    return [node.label, node.type, node.path or ""]


def _head(text: str) -> None:
    if is_terminal(sys.stdout):
        echo()
        echo(style(text, bold=True))


def _and_more(options: Options, number: int, hint: str) -> None:
    if number > 0:
        say(options, f"… and {number:,} more: {hint}")


def neighbors(options: Options, found: Neighborhood) -> None:
    """What a node is joined to, the nearest first."""
    if options.json:
        emit(found.as_json())
        return
    if is_terminal(sys.stdout):
        echo(style(one_line(found.node.label), bold=True))
        say(options, one_line(found.node.path or "it has no note"))
    rows = [
        [str(each.distance), _via(each.node, each.via), *_named(each.node)]
        for each in found.near
    ]
    table(["steps", "how", "name", "type", "note"], rows, whole=("steps",))
    if not rows:
        say(options, "nothing is joined to it")


def _via(node: Node, edges: Sequence[Edge]) -> str:
    """`mentions →`: it is mentioned; `← reports_to`: it says that of the other."""
    said = dict.fromkeys(
        f"{edge.label or edge.kind} →"
        if edge.target == node.id
        else f"← {edge.label or edge.kind}"
        for edge in edges
    )
    return ", ".join(said)


def coloured(options: Options, done: GraphColours) -> None:
    """What became of Obsidian's settings."""
    if options.json:
        emit({"path": done.path, "changed": done.changed})
        return
    if not done.changed:
        echo(f"every type has its colour already in {one_line(done.path)}")
        return
    echo(f"a colour for each type was added to {one_line(done.path)}")
    say(
        options,
        "Obsidian writes this file while it is open: restart it now, and if the colours"
        " are gone then, close it and run this again",
    )


_SAID = {
    BROKEN: ("broken link", "broken links"),
    AMBIGUOUS: ("ambiguous link", "ambiguous links"),
    ALIAS_ONLY: ("link by an alias only", "links by an alias only"),
}


def checked(options: Options, found: LinkReport, *, verbose: bool) -> int:
    """What is wrong with links; returns the exit code."""
    code = WAITS if found.problems else DONE
    if options.json:
        emit(found.as_json())
        return code
    links = sum(sum(hows.values()) for hows in found.links.values())
    if not options.quiet:
        said = [
            count(len(some), one, many=many)
            for kind, (one, many) in _SAID.items()
            if (some := found.of(kind))
        ]
        summary = ", ".join(said) or "every link leads somewhere"
        where = f"{count(links, 'link')} in {count(found.notes, 'note')}"
        echo(style(f"{summary} ({where})", bold=True))
    _listed(options, found.fixed, verbose=verbose, fixed=True)
    _listed(options, found.problems, verbose=verbose, fixed=False)
    if found.unreadable:
        names = ", ".join(found.unreadable[:MANY])
        say(options, f"\nnot all links of these could be read: {one_line(names)}")
    if found.run:
        say(options, f"\n`vaultsync undo {found.run}` takes the mending back")
    elif any(each.fix for each in found.problems):
        say(
            options,
            "\n`vaultsync links check --fix` mends those with a fix, in notes that are"
            " facts",
        )
    return code


def _listed(
    options: Options, many: Sequence[LinkProblem], *, verbose: bool, fixed: bool
) -> None:
    some = many if verbose else many[:MANY]
    if not some:
        return
    heads = ["fixed" if fixed else "problem", "note", "link", "why", "fix"]
    rows = [
        [
            "fixed" if fixed else each.problem.replace("_", " "),
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
