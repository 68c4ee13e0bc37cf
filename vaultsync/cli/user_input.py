"""Text from stdin, and questions to the user."""

from __future__ import annotations

import sys

import click

from vaultsync.cli.exit_codes import EXIT_FAILED


def text_or_stdin(argument: str | None, *, what: str, max_bytes: int = -1) -> str:
    """Return the text of an argument; read stdin if it is `-`, or is missing in a pipe.

    `what` names the text in the error message. At most `max_bytes` are read, or all if it is
    negative.

    Raises:
        click.UsageError: there is no text, or it is not UTF-8.
    """
    if argument is not None and argument != "-":
        return argument
    if sys.stdin is None or (argument is None and sys.stdin.isatty()):
        message = f"no {what}: pass it as an argument, or pipe it in"
        raise click.UsageError(message)
    try:
        return sys.stdin.buffer.read(max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 (byte {error.start})"
        raise click.UsageError(message) from None


def confirm(question: str) -> None:
    """Ask for confirmation on the terminal; end the command if the user declines."""
    if not click.confirm(question, err=True):
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(EXIT_FAILED)
