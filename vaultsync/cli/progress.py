"""Progress of long work: a bar on stderr, for a person who looks at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic

from vaultsync.cli.options import Options
from vaultsync.cli.output import clean, colour, is_terminal

PATIENCE = 0.5
"""Seconds; what is done sooner needs no bar, and no library that draws one."""


class LateBar:
    """A bar that appears only when the work takes long."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
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
def progress(options: Options) -> Iterator[LateBar | None]:
    """A bar, gone at the end; None where there is nobody to see one."""
    if options.quiet or options.json or not is_terminal(sys.stderr):
        yield None
        return
    bar = LateBar()
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
