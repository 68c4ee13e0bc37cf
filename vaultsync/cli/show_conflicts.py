"""Conflicts and histories, as JSON or for a person."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vaultsync.cli.failure import DONE, WAITS
from vaultsync.cli.options import Options
from vaultsync.cli.output import (
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
"""Characters of a value in a table on a terminal."""


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
    short = is_terminal(sys.stdout)
    table(
        ["at", "side", "actor", "field", "before", "after", "run"],
        [
            [
                each.at,
                each.side,
                each.actor,
                each.field,
                _value(each.before, short=short),
                _value(each.after, short=short),
                each.run,
            ]
            for each in found
        ],
        whole=("at", "side", "field"),
    )
    if not found:
        say(options, "no changes recorded")


def _value(value: Value, *, short: bool) -> str:
    text = one_line(shown(value))
    return f"{text[: LONG - 1]}…" if short and len(text) > LONG else text
