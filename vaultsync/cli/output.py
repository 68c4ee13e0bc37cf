"""Print data on stdout and messages on stderr, without control characters from facts.

Long operations show a progress bar on stderr.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import NamedTuple, TextIO

import click

COMMAND_WORDS: ContextVar[Sequence[str]] = ContextVar("words of the running command", default=())
JSON_BEGUN: ContextVar[bool] = ContextVar("whether JSON was written to stdout", default=False)


class Options(NamedTuple):
    """The options that all commands share, and `--agent` of those that have it."""

    vault: str | None
    state_dir: str | None
    json: bool
    quiet: bool
    agent: str | None = None
    verbose: bool = False

    def print_message(self, text: str) -> None:
        """Print a message for the user on stderr, unless `--quiet` or `--json` is given."""
        if not self.quiet and not self.json:
            echo(suggest(text), err=True)

    def printed_as_json(self, values: object) -> bool:
        """Print one JSON object if `--json` is given, and return whether it is."""
        if self.json:
            print_json(values)
        return self.json


# Patterns are compiled when first used: most commands need only one of them.
_SEQUENCES = (
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
# The remaining control characters, those that change the text direction ("Trojan Source"),
# and lone surrogates, which cannot be encoded.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_IN_JSON = r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


def clean(text: str) -> str:
    """Remove escape sequences and control characters from untrusted text."""
    return re.sub(_CONTROL, "", re.sub(_SEQUENCES, "", text.replace("\r\n", "\n")))


def clean_one_line(text: str) -> str:
    """Clean a text, and collapse its whitespace to single spaces."""
    return " ".join(clean(text).split())


def colour() -> bool | None:
    """False if colour is turned off; None if it depends on the stream."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal."""
    return stream is not None and stream.isatty()


def style(text: str, *, fg: str | None = None, bold: bool = False) -> str:
    """Style a text; `echo()` removes the style if the stream is not a terminal."""
    return click.style(text, fg=fg, bold=bold or None)


def dim(text: str) -> str:
    """Style a text as less important."""
    return click.style(text, dim=True)


def echo(text: str = "", *, err: bool = False, file: TextIO | None = None) -> None:
    """Print a text, which must be clean and may be styled, and flush the stream."""
    click.echo(text, file=file, err=err, color=colour())


def suggest(text: str) -> str:
    """A message whose commands name the same vault as the command that runs."""
    from vaultsync.cli.given_vault import with_given_options  # few commands have messages

    return with_given_options(text, COMMAND_WORDS.get())


def print_json(values: object) -> None:
    """Print one JSON object: indented on a terminal, else on one line."""
    from msgspec import to_builtins

    text = json.dumps(
        values,
        default=to_builtins,
        ensure_ascii="utf" not in (getattr(sys.stdout, "encoding", "") or "utf").lower(),
        allow_nan=False,
        indent=2 if is_terminal(sys.stdout) else None,
    )
    JSON_BEGUN.set(True)
    echo(escape_control(text))


def escape_control(text: str) -> str:
    """JSON with the control characters escaped that JSON itself leaves as they are."""
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_IN_JSON, lambda match: f"\\u{ord(match[0]):04x}", text)


BAR_DELAY = 0.5
"""Seconds before a bar is shown; shorter operations do not load the library that draws it."""


class DelayedBar:
    """A progress bar that appears after `delay` seconds, even before the first report."""

    def __init__(self, *, delay: float = BAR_DELAY) -> None:
        self._shown = ("read", 0, 0)
        self._show: Callable[[str, int, int], None] | None = None
        self._stack = ExitStack()
        self._timer = Timer(delay, self._draw)
        self._timer.daemon = True

    def start(self) -> None:
        """Begin to wait; the work begins now."""
        self._timer.start()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of a stage are finished."""
        self._shown = (clean(stage), done, total)
        if self._show is not None:
            self._show(*self._shown)

    def _draw(self) -> None:
        self._show = _draw_bar(self._stack)
        self._show(*self._shown)

    def close(self) -> None:
        """Remove the bar."""
        self._timer.cancel()
        self._timer.join()
        self._stack.close()


@contextmanager
def progress_bar(options: Options) -> Iterator[DelayedBar | None]:
    """Show a progress bar during the block; None unless stderr is a terminal."""
    if options.quiet or options.json or not is_terminal(sys.stderr):
        yield None
        return
    bar = DelayedBar()
    bar.start()
    try:
        yield bar
    finally:
        bar.close()


def _draw_bar(stack: ExitStack) -> Callable[[str, int, int], None]:
    """Show a bar until `stack` is closed; return the function that updates it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True, highlight=False, no_color=colour() is False),
        transient=True,
        redirect_stdout=False,
    )
    stack.enter_context(bar)
    task = bar.add_task("", total=None)

    def show(stage: str, done: int, total: int) -> None:
        if bar.tasks[0].description != stage:
            bar.reset(task, description=stage)
        bar.tasks[0].total = total or None  # `update()` cannot say that it is not known
        bar.update(task, completed=done)

    return show
