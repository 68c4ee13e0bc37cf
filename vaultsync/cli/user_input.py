"""What a user pipes in, and answers to a question."""

from __future__ import annotations

import sys

import click

from vaultsync.cli.exit_codes import EXIT_FAILED


def text_or_stdin(given: str | None, *, what: str, most_bytes: int = -1) -> str:
    """Return the text that was given; `-`, or nothing in a pipe, reads stdin.

    At most `most_bytes` are read; a negative number is no limit.

    Raises:
        click.UsageError: there is none, or it is not UTF-8.
    """
    if given is not None and given != "-":
        return given
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        message = f"no {what}: pass it as an argument, or pipe it in"
        raise click.UsageError(message)
    try:
        return sys.stdin.buffer.read(most_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 (byte {error.start})"
        raise click.UsageError(message) from None


def confirm(question: str) -> None:
    """Ask for a confirmation on the terminal, and end the command without one."""
    if not click.confirm(question, err=True):
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(EXIT_FAILED)
