"""Print tables: fitted to the width of a terminal, tab-separated in a pipe.

In a pipe, a table has one row per line, without headings, and nothing is truncated.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from vaultsync.cli.output import clean, clean_one_line, colour, dim, echo, is_terminal, style

MIN_COLUMN = 12
"""Minimum width of a truncated column: a narrower one would say little."""
_GAP = "  "
"""Between two columns."""


def print_pairs(rows: Sequence[tuple[str, str]], *, indent: str = "") -> None:
    """Print names and values in two columns."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        echo(f"{indent}{dim(name.ljust(width))}  {clean_one_line(text)}")


def terminal_width() -> int:
    """The width of the terminal in columns."""
    import shutil  # slow to load: it imports five compression libraries

    return shutil.get_terminal_size().columns


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    whole: Sequence[str] = (),
    name: str = "",
    optional: Sequence[str] = (),
) -> None:
    """Print rows; on a terminal, below `heads` and truncated except in the `whole` columns.

    A terminal shows no `optional` column that is empty. On one that is too narrow, each row becomes
    a block of lines, below its cell in the column `name`, by default the first.
    """
    if not rows:
        return
    cells = [[clean_one_line(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout):
        columns = dict(zip(heads, zip(*cells, strict=True), strict=True))
        columns = {k: each for k, each in columns.items() if k not in optional or any(each)}
        _draw(columns, whole, name or heads[0])
        return
    for row in cells:
        echo("\t".join(row))


def side_by_side(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw a table of multi-line texts on a terminal."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(header_style="bold", show_lines=True)
    for head in heads:
        drawn.add_column(Text(clean(head)), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(clean(cell)) for cell in row))
    _print(drawn)


def _draw(columns: Mapping[str, Sequence[str]], whole: Sequence[str], name: str) -> None:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    widths = {head: max(map(cell_len, (head, *cells))) for head, cells in columns.items()}
    least = sum(n if head in whole else min(n, MIN_COLUMN) for head, n in widths.items())
    if least + len(_GAP) * (len(columns) - 1) > terminal_width():
        for row in zip(*columns.values(), strict=True):
            named = dict(zip(columns, row, strict=True))
            echo(style(named.pop(name), bold=True))
            print_pairs([each for each in named.items() if each[1]], indent=_GAP)
        return
    # Every cell is a Text: in a str, rich would interpret [markup].
    drawn = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for head, width in widths.items():
        whole_width = width if head in whole else None
        drawn.add_column(head, no_wrap=head in whole, min_width=whole_width, overflow="ellipsis")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*(Text(each, no_wrap=True, overflow="ellipsis") for each in row))
    _print(drawn)


def _print(drawn: object) -> None:
    from rich.console import Console

    console = Console(
        file=sys.stdout,
        highlight=False,
        width=terminal_width(),
        color_system=None if colour() is False else "auto",
    )
    console.print(drawn)
