"""Conflicts and histories, as JSON or for a person."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from itertools import groupby

from vaultsync.cli.differing import LONG, changed_lines, essence
from vaultsync.cli.exit_codes import DONE, WAITS
from vaultsync.cli.format_facts import count, pairs, shown
from vaultsync.cli.options import Options
from vaultsync.cli.output import (
    clean,
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
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import (
    Conflict,
    FieldConflict,
    conflict_json,
    is_deletion,
)
from vaultsync.storage.records import HistoryEntry


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
        named = one_line(found[0].id) if len(found) == 1 else "CONFLICT_ID"
        say(
            options,
            f"`vaultsync resolve {named} --take store` takes the store's values,"
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
            *_values(each),
        ]
        for each in conflict.fields
    ]


def _values(each: FieldConflict) -> list[str]:
    """What was agreed on, and what each side says."""
    base = None if is_deletion(each) else each.base  # it is a revision then
    return [shown(base), shown(each.vault), shown(each.store)]


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
            [
                each.field,
                *essence(_values(each)),
            ]
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
        open_ = count(len(left), "conflict") if left else "no conflict"
        say(options, f"{title}: {done}, {open_} left")
    return WAITS if left else DONE


def history(options: Options, found: Sequence[HistoryEntry]) -> None:
    """Who changed what when, oldest first."""
    if options.json:
        emit({"history": [each.as_json() for each in found]})
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
    for (run, side, actor), entries in groupby(found, key=_whose):
        some = list(entries)
        head = f"{some[0].at}  {side}, {actor}"
        echo(f"{style(one_line(head), bold=True)}  {dim('run ' + one_line(run))}")
        for each in some:
            echo(f"  {one_line(each.field)}:{_change(each.before, each.after)}")


def _whose(entry: HistoryEntry) -> tuple[str, str, str]:
    return entry.run, entry.side, entry.actor


def _change(before: Value, after: Value) -> str:
    """Values side by side, or the lines that differ of two long texts."""
    if isinstance(before, str) and isinstance(after, str):
        whole = clean(before), clean(after)
        if before != after and min(map(len, whole)) > LONG:
            width = shutil.get_terminal_size().columns - 6
            lines = changed_lines(*whole, width=width)
            return "".join(f"\n    {line}" for line in lines)
    return f" {_short(before)} → {_short(after)}"


def _short(value: Value) -> str:
    text = one_line(shown(value))
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"
