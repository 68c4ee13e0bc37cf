"""How commands print: data on stdout, words on stderr, nothing that steers a terminal.

On a terminal tables are drawn to its width. In a pipe they are one row a line, parted
by tabs, without headings, and nothing is cut off.

Progress of long work: a bar on stderr, for a person who looks at a terminal.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, TextIO

import click

from vaultsync.cli.options import Options

if TYPE_CHECKING:
    from msgspec import Struct


# Patterns are compiled when they are first used: most answers need one of them.
_SEQUENCES = (
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
# All that is left of control characters, and what turns the reading direction around
# ("Trojan Source"); half characters, which no encoding takes.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_IN_JSON = r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


def clean(text: str) -> str:
    """Text of anybody's, without what a terminal would obey."""
    return re.sub(_CONTROL, "", re.sub(_SEQUENCES, "", text.replace("\r\n", "\n")))


def clean_one_line(text: str) -> str:
    """The same in one line."""
    return " ".join(clean(text).split())


def colour() -> bool | None:
    """Whether to colour; None leaves it to whether it is a terminal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it."""
    return stream is not None and stream.isatty()


def style(text: str, *, fg: str | None = None, bold: bool = False) -> str:
    """Text with a colour, which `echo` drops where it does not belong."""
    return click.style(text, fg=fg, bold=bold or None)


def dim(text: str) -> str:
    """Text that steps back."""
    return click.style(text, dim=True)


def echo(text: str = "", *, err: bool = False) -> None:
    """Print text that has been cleaned and perhaps styled."""
    click.echo(text, err=err, color=colour())


def print_message(options: Options, text: str) -> None:
    """Print words for a person, on stderr."""
    if not options.quiet and not options.json:
        echo(text, err=True)


def print_json(values: Struct | Mapping[str, object]) -> None:
    """Print one JSON object: in one line, or readable on a terminal."""
    import json

    text = json.dumps(
        values,
        default=_plain,
        ensure_ascii="utf" not in (getattr(sys.stdout, "encoding", "") or "utf").lower(),
        allow_nan=False,
        indent=2 if is_terminal(sys.stdout) else None,
    )
    if not text.isascii() or "\x7f" in text:
        text = re.sub(_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", text)
    echo(text)


def _plain(value: object) -> object:
    """What JSON has of a struct."""
    from msgspec import to_builtins

    return to_builtins(value)


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, whole: Sequence[str] = ()
) -> None:
    """Print rows; on a terminal under `heads`, with only the `whole` columns uncut."""
    if not rows:
        return
    if is_terminal(sys.stdout):
        _draw(heads, rows, whole)
        return
    for row in rows:
        echo("\t".join(clean_one_line(cell) for cell in row))


def side_by_side(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw texts of many lines beside each other, on a terminal."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(header_style="bold", show_lines=True)
    for head in heads:
        drawn.add_column(Text(clean(head)), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(clean(cell)) for cell in row))
    _print(drawn)


def _draw(heads: Sequence[str], rows: Sequence[Sequence[str]], whole: Sequence[str]) -> None:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    # Everything is Text: in a str, rich would obey [markup].
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, head in enumerate(heads):
        keep = head in whole
        widest = max(cell_len(clean_one_line(row[number])) for row in rows) if keep else None
        drawn.add_column(head, no_wrap=keep, min_width=widest, overflow="ellipsis")
    for row in rows:
        drawn.add_row(
            *(Text(clean_one_line(each), no_wrap=True, overflow="ellipsis") for each in row)
        )
    _print(drawn)


def _print(drawn: object) -> None:
    import shutil

    from rich.console import Console

    console = Console(
        file=sys.stdout,
        highlight=False,
        width=shutil.get_terminal_size().columns,
        color_system=None if colour() is False else "auto",
    )
    console.print(drawn)


BAR_DELAY = 0.5
"""Seconds; what is done sooner needs no bar, and no library that draws one."""


class DelayedBar:
    """A bar that appears only when the work takes long."""

    def __init__(self, *, patience: float = BAR_DELAY) -> None:
        self._appears = monotonic() + patience
        self._show: Callable[[str, int, int], None] | None = None
        self._open = ExitStack()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far the work is."""
        if self._show is None:
            if monotonic() < self._appears:
                return
            self._show = _drawn(self._open)
        self._show(clean(stage), done, total)

    def close(self) -> None:
        """Take the bar away."""
        self._open.close()


@contextmanager
def progress_bar(options: Options) -> Iterator[DelayedBar | None]:
    """A bar, gone at the end; None where there is nobody to see one."""
    if options.quiet or options.json or not is_terminal(sys.stderr):
        yield None
        return
    bar = DelayedBar()
    try:
        yield bar
    finally:
        bar.close()


def _drawn(until: ExitStack) -> Callable[[str, int, int], None]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True, highlight=False, no_color=colour() is False),
        transient=True,
    )
    until.enter_context(bar)
    task = bar.add_task("")

    def show(stage: str, done: int, total: int) -> None:
        if bar.tasks[0].description != stage:
            bar.reset(task, description=stage)
        bar.update(task, completed=done, total=total or None)

    return show
