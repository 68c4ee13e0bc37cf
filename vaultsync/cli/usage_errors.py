"""Explain mistakes in the words of a command, and suggest others."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import click

OTHER_NAMES = {
    name: command
    for command, names in (
        ("recall", "search query ask find"),
        ("get", "show cat view read"),
        ("remember", "add create new save store write"),
        ("forget", "delete remove rm"),
        ("sync", "pull push"),
        ("mcp", "serve server"),
        ("config", "set settings"),
        ("restore", "undelete unforget"),
        ("undo", "revert rollback"),
        ("watch", "daemon start"),
        *(("purge", "erase"), ("list", "ls"), ("status", "diff info"), ("resolve", "merge")),
        *(("--help", "help"), ("--version", "version")),
    )
    for name in names.split()
}
"""The name of a command in similar programs -> the command, or the option that does the same."""


OTHER_OPTIONS = (
    ("--limit", "-n -l -k --top --max"),
    ("--budget", "-b --tokens --max-tokens"),
    ("--tag", "-t --tags"),
    ("--add-tag", "-t --tag --tags"),
    ("--type", "-t --types --kind"),
    ("--scope", "-s --scopes"),
    ("--since", "--from --newer-than"),
    ("--newest", "--sort --latest --recent"),
    ("--dry-run", "-n --dryrun --preview"),
    ("--yes", "-y -f --force"),
    ("--confirm", "-f --force"),
    ("--content", "--text --body"),
    ("--field", "--set --property"),
    ("--set", "--field --property --title --type --priority --status --scope --context"),
)
"""An option, and the names of what means the same in similar programs or in other commands."""


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


_GIVEN = re.compile(r"\A[^:]*: (?P<value>.+?) is not (?:a valid integer range|in the range .*)\Z")


def usage_texts(error: click.ClickException) -> tuple[str, str, str]:
    """The kind, the message and the hint of an error that click raised."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    if isinstance(error, click.BadParameter) and (number := _number_expected(error.param)):
        given = _GIVEN.search(message)
        message = f"{number}, got {given['value'] if given else 'something else'}"
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "vaultsync"
    hint = f"`{path} --help` shows the usage"
    if isinstance(error, click.NoSuchOption) and context and not context.parent:
        hint = "options follow the command, as in `vaultsync status --json`; "
        hint += "`vaultsync --help` lists the commands"
        message = message.partition(" Did you mean")[0].removesuffix(".")
    elif isinstance(error, click.NoSuchOption):
        if other := _other_option(error):
            message = f"no such option {error.option_name!r}. Did you mean {other!r}?"
        if _may_be_text(error):
            hint += f"; put a text that begins with - after --, as in `{path} -- '- text'`"
    elif "unexpected extra argument" in message:
        hint += "; put a text or a title with spaces in quotes"
    kind = "UsageError" if isinstance(error, click.UsageError) else type(error).__name__
    return kind, message[:1].lower() + message[1:], hint


def _other_option(error: click.NoSuchOption) -> str:
    """The option of that meaning which the command has; empty if it has none."""
    name, parameters = error.option_name, error.ctx.command.params if error.ctx else ()
    known = {option for each in parameters for option in each.opts}
    other = next((x for x, names in OTHER_OPTIONS if x in known and name in names.split()), "")
    is_field = other == "--set" and name not in ("--field", "--property")
    return f"--set {name[2:]}=VALUE" if is_field else other


def _may_be_text(error: click.NoSuchOption) -> bool:
    """Whether an unknown option may be the text of a command that takes one.

    Of `-dash text`, click names only the first letter.
    """
    name, parameters = error.option_name, error.ctx.command.params if error.ctx else ()
    takes_text = any(isinstance(each, click.Argument) for each in parameters)
    return bool(re.search(r" |^-\d", name) or (takes_text and re.fullmatch("-[^-]", name)))


def _number_expected(parameter: click.Parameter | None) -> str:
    """What an option for a number expects; empty for others."""
    kind = parameter.type if parameter else None
    if parameter is None or not isinstance(kind, click.IntRange):
        return ""
    span = f"{kind.min} to {kind.max}" if kind.max is not None else f"{kind.min} or more"
    return f"{parameter.opts[-1]}: expected a whole number, {span}"
