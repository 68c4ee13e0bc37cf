"""The command that packs a context."""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, agent_option, common, filters, question

FORMATS = ("markdown", "xml", "json")
INTENTS = ("decisions", "recent", "balanced")


@click.command()
@click.argument("query", metavar="QUERY", callback=question)
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
    type=click.Choice(FORMATS),
    default="markdown",
    show_default=True,
    help="How it is written.",
)
@click.option(
    "--intent",
    type=click.Choice(INTENTS),
    help="What the question is after; else by its words.",
)
@filters
@agent_option
@common
def context(
    options: Options,
    *,
    query: str,
    budget: int,
    form: str,
    intent: str | None,
    types: Sequence[str],
    scopes: Sequence[str],
    tags: Sequence[str],
    user: str | None,
    agent: str | None,
) -> int:
    """Pack what answers a question into a budget of tokens.

    The text is printed on stdout. What is in it and why, where it can be read, and what
    had no room, is told on stderr.
    """
    from vaultsync.cli import show_context
    from vaultsync.cli import vault as session

    with session.packs(options, agent=agent) as memory:
        made = memory.context(
            query,
            budget=budget,
            format=form,
            intent=intent,
            types=types,
            scopes=scopes,
            tags=tags,
            user=user,
        )
        show_context.packed(options, made)
    return DONE
