"""Suggestions for a command that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

OTHER_NAMES = {
    name: command
    for command, names in (
        ("recall", "search query ask find"),
        ("get", "show cat view read"),
        ("remember", "add create new save store"),
        ("forget", "delete remove rm"),
        ("sync", "pull push"),
        ("mcp", "serve server"),
        ("config", "set settings"),
        *(("purge", "erase"), ("list", "ls"), ("undo", "revert"), ("status", "diff")),
    )
    for name in names.split()
}
"""The name of a command in similar programs -> the command."""


def no_such_command(
    name: str, commands: Collection[str], context: click.Context
) -> click.NoSuchCommand:
    """The error for an unknown command; it suggests a command of that meaning or similar names."""
    if name in OTHER_NAMES:
        text = f"No such command {name!r}. Did you mean {OTHER_NAMES[name]!r}?"
        return click.NoSuchCommand(name, text, ctx=context)
    return click.NoSuchCommand(name, possibilities=commands, ctx=context)


def context_of(group: click.Group, words: Sequence[str]) -> click.Context:
    """The context of the command that `words` begin with.

    The parser does not say to which command an option without its value belongs.
    """
    context = click.Context(group, info_name="vaultsync")
    for word in words:
        parent = context.command
        command = parent.get_command(context, word) if isinstance(parent, click.Group) else None
        if command is None:
            break
        context = click.Context(command, context, info_name=word)
    return context
