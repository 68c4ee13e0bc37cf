"""The command that answers questions."""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, agent_option, common, filters, question
from vaultsync.errors.usage import UsageError

MODES = ("auto", "index", "vector", "fused")


@click.command()
@click.argument("query", metavar="QUERY", callback=question)
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
    type=click.Choice(MODES),
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
@click.option(
    "--vault-only", is_flag=True, help="Read the files of .index/ alone: no store."
)
@click.option("--explain", is_flag=True, help="Tell what each stage found, and when.")
@agent_option
@common
def recall(
    options: Options,
    *,
    query: str,
    limit: int,
    mode: str,
    types: Sequence[str],
    scopes: Sequence[str],
    tags: Sequence[str],
    max_priority: int,
    since: str | None,
    user: str | None,
    vault_only: bool,
    explain: bool,
    agent: str | None,
) -> int:
    """Find the facts that answer a question.

    QUERY is plain words; "in quotes" is a phrase that must occur, and type:decision,
    tag:ops, tier:critical, since:2026-03 and until:2026-05-01 filter.
    """
    from vaultsync.cli import show_recall
    from vaultsync.cli import vault as session

    if vault_only:
        if explain or mode not in {"auto", "index"}:
            option = "--explain" if explain else f"--mode {mode}"
            raise UsageError(
                f"{option} cannot be served with --vault-only, which finds by words alone",
                hint=f"leave out {option}, or ask without --vault-only where the store is",
            )
        found = session.from_files(
            options,
            query,
            agent=agent,
            limit=limit,
            types=types,
            scopes=scopes,
            tags=tags,
            max_priority=max_priority,
            since=since,
            user=user,
        )
        show_recall.recalled(options, found)
        return DONE
    with session.answers(options, agent=agent) as memory:
        found = memory.recall(
            query,
            limit=limit,
            mode=mode,
            types=types,
            scopes=scopes,
            tags=tags,
            max_priority=max_priority,
            since=since,
            user=user,
            explain=explain,
        )
        # Shown before it closes: what was recalled is written down after the answer.
        empty = not found.hits and memory.is_empty
        show_recall.recalled(options, found, empty=empty)
    return DONE
