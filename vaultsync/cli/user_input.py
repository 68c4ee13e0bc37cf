"""Text from files and stdin, and questions to the user."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from vaultsync.cli.exit_codes import EXIT_FAILED
from vaultsync.cli.output import echo, is_terminal
from vaultsync.errors import UsageError

MAX_TEXT = 64 << 20
"""Maximum size of a text, or of a line of a file, in bytes: `/dev/zero` would fill the memory."""
TOO_LARGE = f"larger than {MAX_TEXT >> 20} MiB"


@contextmanager
def open_input(file: str) -> Iterator[BinaryIO]:
    """Open a file, or stdin for `-`.

    Raises:
        UsageError: stdin is closed.
    """
    if file == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed", hint="pipe the data in, or name a file")
        say_if_terminal_is_read()
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as stream:
        yield stream


def say_if_terminal_is_read() -> None:
    """Say that a command waits for input, if stdin is a terminal: it seems to hang."""
    if is_terminal(sys.stdin):
        echo("reading from the terminal; Ctrl-D ends the input", err=True)


def read_text(file: str, *, max_bytes: int = -1) -> str:
    """Read a file, or stdin for `-`: at most `max_bytes`, or all if it is negative.

    Raises:
        click.UsageError: it is not UTF-8, or too large to read all of it.
        UsageError: stdin is closed.
    """
    name = "standard input" if file == "-" else file
    with open_input(file) as stream:
        data = stream.read(MAX_TEXT + 1 if max_bytes < 0 else max_bytes)
    if len(data) > MAX_TEXT:
        raise click.UsageError(f"{name} is {TOO_LARGE}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{name} is not UTF-8 (byte {error.start})") from None


def text_or_stdin(argument: str | None, *, what: str, max_bytes: int = -1) -> str:
    """Return the text of an argument; read stdin if it is `-`, or is missing in a pipe.

    `what` names the text in the error message; `max_bytes` is as of `read_text()`.

    Raises:
        click.UsageError: there is no text, or it is not UTF-8.
    """
    if argument is not None and argument != "-":
        return argument
    if sys.stdin is None or (argument is None and sys.stdin.isatty()):
        message = f"no {what}: pass it as an argument, or pipe it in"
        raise click.UsageError(message)
    return read_text("-", max_bytes=max_bytes)


def confirm(question: str, *, declined: str = "nothing was changed") -> None:
    """Ask for confirmation on the terminal; end the command if the user declines.

    It then prints `declined`, as it does if the user interrupts it.
    """
    try:
        is_confirmed = click.confirm(question, err=True)
    except click.Abort:
        raise click.Abort(declined) from None
    if not is_confirmed:
        click.echo(declined, err=True)
        raise click.exceptions.Exit(EXIT_FAILED)
