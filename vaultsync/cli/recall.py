"""The command that answers questions.

The command that brings up to date what is derived from the facts.

A context pack, as JSON or for a person. Loaded when there is one.

An answer, as JSON or for a person. Loaded when there is one.

The command that packs a context.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import Options, agent_option, common, filters, non_empty_question
from vaultsync.cli.output import (
    clean,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    print_json,
    print_message,
    style,
)
from vaultsync.context_packs.pack import ContextPack
from vaultsync.errors import UsageError
from vaultsync.recall.result import Hit, RecallResult, RecallStage, said_of


@click.command()
@click.option("--rebuild", is_flag=True, help="Make the indexes anew, from the facts.")
@common
def index(options: Options, *, rebuild: bool) -> int:
    """Bring `.index/`, the note index and the vectors up to date."""
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import print_json, print_message, progress_bar

    def told(cost: session.EmbeddingCost) -> bool:
        print_message(
            options,
            f"another model is set than made the vectors: {cost.texts} texts of"
            f" {cost.facts} facts are embedded anew, which takes about"
            f" {cost.seconds:.0f} s",
        )
        return True

    with session.open_memory(options) as memory, progress_bar(options) as bar:
        done = memory.index(rebuild=rebuild, told=told, progress=bar)
    if options.json:
        print_json(done)
        return EXIT_DONE
    print_message(
        options,
        f"{done.notes} facts can be found by their words, {done.chunks} by their meaning;"
        f" {done.embedded} texts were embedded, in {done.seconds:.1f} s",
    )
    for why in done.degraded:
        print_message(options, f"behind: {why}")
    return EXIT_DONE


MAX_LEFT_OUT = 10
"""Facts that were left out that are listed."""


def print_pack(options: Options, made: ContextPack) -> None:
    """The text; on stderr what is in it, why, and what was left out."""
    if options.json:
        print_json(made)
        return
    if made.text:
        echo(clean(made.text))
    _explain(options, made)
    for sentence in made.degraded:
        print_message(options, clean_one_line(sentence))


def _explain(options: Options, made: ContextPack) -> None:
    by = "by estimate" if made.counter == "estimate" else f"by {made.counter}"
    spent = ", ".join(f"{tier} {used:,}" for tier, used in made.by_tier.items())
    total = f"{made.tokens:,} of {made.budget:,} tokens {clean_one_line(by)}"
    print_message(options, f"\n{style(total, bold=True)} ({made.intent}: {spent})")
    for item in made.items:
        print_message(options, f"{item.tokens:6,}  {item.tier:10}  {clean_one_line(item.title)}")
        print_message(options, dim(f"        {clean_one_line(item.reason)}"))
        print_message(options, dim(f"        {clean_one_line(item.citation)}"))
    if not made.items:
        print_message(options, "nothing is packed")
    if made.left_out:
        cost = sum(each.tokens for each in made.left_out)
        print_message(options, f"left out: {len(made.left_out)}, {cost:,} tokens")
    for left in made.left_out[:MAX_LEFT_OUT]:
        why = f"{clean_one_line(left.title)}: {clean_one_line(left.reason)}"
        print_message(options, f"{left.tokens:6,}  {why}")
    if len(made.left_out) > MAX_LEFT_OUT:
        print_message(options, dim(f"        … and {len(made.left_out) - MAX_LEFT_OUT} more"))


MAX_CANDIDATES = 5
"""Candidates of a stage that are shown."""
_BY = {
    "index": "by words",
    "vector": "by meaning",
    "fused": "by words and by meaning",
    "index-files": "in the files of .index/",
}


def print_hits(options: Options, found: RecallResult, *, empty: bool = False) -> None:
    """The hits, best first, and how sure the answer is; or why there are none."""
    if options.json:
        print_json(said_of(found))
        return
    show = _on_terminal if is_terminal(sys.stdout) else _in_pipe
    for rank, hit in enumerate(found, 1):
        show(rank, hit)
    titles = {hit.id: hit.title for hit in found}
    for stage in found.stages:
        _stage(stage, titles)
    for sentence in found.degraded:
        print_message(options, clean_one_line(sentence))
    count = f"{len(found)} hit{'' if len(found) == 1 else 's'}"
    if not found.hits:
        hint = "other words, fewer filters or --max-priority 4 may find more"
        if empty:
            hint = "no fact is remembered yet; `vaultsync adopt` takes your notes in"
        print_message(options, f"nothing found: {hint}")
        return
    print_message(
        options,
        f"{count} {_BY[found.source]} in {found.seconds * 1000:.0f} ms,"
        f" confidence {found.confidence:.2f}",
    )


def _on_terminal(rank: int, hit: Hit) -> None:
    echo(
        f"{dim(f'{rank:2}.')} {style(clean_one_line(hit.title), bold=True)}"
        f"  {dim(f'{hit.type} · {hit.score:.2f}')}"
    )
    if hit.snippet and clean_one_line(hit.snippet) != clean_one_line(hit.title):
        echo(f"    {clean_one_line(hit.snippet)}")
    echo(dim(f"    {clean_one_line(hit.why)}"))
    echo(dim(f"    {clean_one_line(hit.path or 'no note yet')}") + "\n")


def _in_pipe(rank: int, hit: Hit) -> None:  # noqa: ARG001 - as on a terminal
    cells = (hit.id, f"{hit.score:.4f}", hit.type, hit.title, hit.path or "", hit.why)
    echo("\t".join(clean_one_line(each) for each in (*cells, hit.snippet)))


def _stage(stage: RecallStage, titles: Mapping[str, str]) -> None:
    seen = stage.candidates
    found = f", {len(seen)} candidates" if seen else ""
    echo(f"{stage.stage}: {stage.seconds * 1000:.1f} ms{found}")
    for each in seen[:MAX_CANDIDATES]:
        echo(f"  {each.score:8.4f}  {clean_one_line(titles.get(each.id, each.id))}")
    if len(seen) > MAX_CANDIDATES:
        echo(dim(f"  … and {len(seen) - MAX_CANDIDATES} more"))


PACK_FORMATS = ("markdown", "xml", "json")
INTENT_NAMES = ("decisions", "recent", "balanced")


@click.command()
@click.argument("query", metavar="QUERY", callback=non_empty_question)
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=0),
    default=4000,
    show_default=True,
    help="Never more than so many.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(PACK_FORMATS),
    default="markdown",
    show_default=True,
    help="How it is written.",
)
@click.option(
    "--intent",
    type=click.Choice(INTENT_NAMES),
    help="What the question is after; else by its words.",
)
@filters
@agent_option
@common
def context(
    options: Options,
    *,
    form: str,
    agent: str | None,
    **said: Any,  # noqa: ANN401 - the query and its filters, as `ContextRequest` has them
) -> int:
    """Pack what answers a question into a budget of tokens.

    The text is printed on stdout. What is in it and why, where it can be read, and what
    had no room, is told on stderr.
    """
    from vaultsync.cli import vault as session

    with session.open_packs(options, agent=agent) as memory:
        made = memory.context(**said, format=form)
        print_pack(options, made)
    return EXIT_DONE


MODE_NAMES = ("auto", "index", "vector", "fused")


@click.command()
@click.argument("query", metavar="QUERY", callback=non_empty_question)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="At most so many.",
)
@click.option(
    "--mode",
    type=click.Choice(MODE_NAMES),
    default="auto",
    show_default=True,
    help="By words, by meaning, by both, or as it needs.",
)
@filters
@click.option(
    "--max-priority",
    metavar="N",
    type=click.IntRange(0, 4),
    default=2,
    show_default=True,
    help="Down to this priority; 4 is all.",
)
@click.option("--since", metavar="DATE", help="Only those from this day on.")
@click.option("--vault-only", is_flag=True, help="Read the files of .index/ alone: no store.")
@click.option("--explain", is_flag=True, help="Tell what each stage found, and when.")
@agent_option
@common
def recall(
    options: Options,
    *,
    mode: str,
    vault_only: bool,
    explain: bool,
    agent: str | None,
    **said: Any,  # noqa: ANN401 - the query and its filters, as `RecallRequest` has them
) -> int:
    """Find the facts that answer a question.

    QUERY is plain words; "in quotes" is a phrase that must occur, and type:decision,
    tag:ops, tier:critical, since:2026-03 and until:2026-05-01 filter.
    """
    from vaultsync.cli import vault as session
    from vaultsync.recall.request import RecallRequest

    if vault_only:
        if explain or mode not in {"auto", "index"}:
            option = "--explain" if explain else f"--mode {mode}"
            raise UsageError(
                f"{option} cannot be served with --vault-only, which finds by words alone",
                hint=f"leave out {option}, or ask without --vault-only where the store is",
            )
        asked = RecallRequest(**said, agent=agent)
        found = session.answer_from_files(options, asked)
        print_hits(options, found)
        return EXIT_DONE
    with session.open_answers(options, agent=agent) as memory:
        found = memory.recall(**said, mode=mode, explain=explain)
        # Shown before it closes: what was recalled is written down after the answer.
        empty = not found.hits and memory.is_empty
        print_hits(options, found, empty=empty)
    return EXIT_DONE
