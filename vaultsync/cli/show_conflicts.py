"""Conflicts and histories, as JSON or for a person."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby

from vaultsync.cli.failure import DONE, WAITS
from vaultsync.cli.options import Options
from vaultsync.cli.output import (
    dim,
    echo,
    emit,
    is_terminal,
    one_line,
    say,
    side_by_side,
    style,
    table,
)
from vaultsync.cli.show import count, pairs, shown
from vaultsync.core.conflict import Conflict, conflict_json
from vaultsync.core.fields import Value
from vaultsync.ports import HistoryEntry


def conflicts(options: Options, found: Sequence[Conflict]) -> int:
    """The open conflicts, each field side by side; returns the exit code."""
    code = WAITS if found else DONE
    if options.json:
        emit({"conflicts": [conflict_json(each) for each in found]})
    elif not is_terminal(sys.stdout):
        table([], [row for each in found for row in _rows(each)])
    else:
        for each in found:
            _draw(each)
    if not found:
        say(options, "no open conflicts")
    else:
        say(
            options,
            "`vaultsync resolve CONFLICT_ID --take store` takes the agent's values,"
            " `--take vault` keeps those of the note",
        )
    return code


def _rows(conflict: Conflict) -> list[list[str]]:
    return [
        [
            conflict.id,
            conflict.fact_id,
            conflict.path,
            each.field,
            shown(each.base),
            shown(each.vault),
            shown(each.store),
        ]
        for each in conflict.fields
    ]


def _draw(conflict: Conflict) -> None:
    title = one_line(conflict.title or conflict.path)
    echo(style(title, bold=True))
    pairs(
        [
            ("conflict", conflict.id),
            ("fact", conflict.fact_id),
            ("note", conflict.path),
            ("conflict note", conflict.conflict_path or "–"),
        ]
    )
    side_by_side(
        ["field", "base", "vault (in the note now)", f"store ({conflict.actor})"],
        [
            [each.field, shown(each.base), shown(each.vault), shown(each.store)]
            for each in conflict.fields
        ],
    )
    echo()


def resolved(options: Options, settled: Conflict, left: Sequence[Conflict]) -> int:
    """What was settled, and what is left; returns the exit code."""
    if options.json:
        emit(
            {
                "conflicts": [conflict_json(each) for each in left],
                "resolved": conflict_json(settled),
            }
        )
    else:
        still = {each.id for each in left}
        done = "settled in part" if settled.id in still else "settled"
        title = one_line(settled.title or settled.path)
        say(options, f"{title}: {done}, {count(len(left), 'conflict')} left")
    return WAITS if left else DONE


LONG = 60
"""Characters of a value on a terminal; the whole of it is in a pipe and in JSON."""


def history(options: Options, found: Sequence[HistoryEntry]) -> None:
    """Who changed what when, oldest first."""
    if options.json:
        emit(
            {
                "history": [
                    {
                        "run": each.run,
                        "at": each.at,
                        "side": each.side,
                        "actor": each.actor,
                        "field": each.field,
                        "before": each.before,
                        "after": each.after,
                    }
                    for each in found
                ]
            }
        )
        return
    if is_terminal(sys.stdout):
        _draw_history(found)
    else:
        table([], [_entry(each) for each in found])
    if not found:
        say(options, "no changes recorded")


def _entry(entry: HistoryEntry) -> list[str]:
    return [
        entry.at,
        entry.side,
        entry.actor,
        entry.field,
        shown(entry.before),
        shown(entry.after),
        entry.run,
    ]


def _draw_history(found: Sequence[HistoryEntry]) -> None:
    for run, entries in groupby(found, key=lambda each: each.run):
        some = list(entries)
        head = f"{some[0].at}  {some[0].side}, {some[0].actor}"
        echo(f"{style(one_line(head), bold=True)}  {dim('run ' + one_line(run))}")
        for each in some:
            change = f"{_short(each.before)} → {_short(each.after)}"
            echo(f"  {one_line(each.field)}: {change}")


def _short(value: Value) -> str:
    text = one_line(shown(value))
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"
