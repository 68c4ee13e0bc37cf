"""Conflicts and histories, as JSON or for a person.

Long texts, shortened to the lines in which they differ.
"""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import count_noun, display_value, print_pairs
from vaultsync.cli.options import Options
from vaultsync.cli.output import (
    clean,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    print_json,
    print_message,
    side_by_side,
    style,
    table,
)
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import Conflict, FieldConflict, is_deletion
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.report import history_of, resolved_conflict, shown_conflicts

MAX_WHOLE_LENGTH = 60
"""Characters of a value that is shown whole."""
MAX_CHANGED_LINES = 8
"""Lines of a change that are shown."""


def differing_parts(texts: Sequence[str]) -> list[str]:
    """The texts with only the lines that not all have, and one line around each."""
    rows = [text.split("\n") for text in texts]
    if max(map(len, rows)) <= MAX_CHANGED_LINES:
        return list(texts)
    return [_without_common(mine, rows) for mine in rows]


def _without_common(mine: list[str], rows: Sequence[list[str]]) -> str:
    common = set(range(len(mine)))
    for other in rows:
        blocks = _compared(mine, other).get_matching_blocks()
        common &= {k for a, _, size in blocks for k in range(a, a + size)}
    kept = {k + near for k in range(len(mine)) if k not in common for near in (-1, 0, 1)}
    shown: list[str] = []
    for k, line in enumerate(mine):
        if k in kept:
            shown.append(line)
        elif shown[-1:] != ["…"]:
            shown.append("…")
    return "\n".join(shown)


def changed_lines(before: str, after: str, *, width: int) -> list[str]:
    """`- ` and `+ ` lines, each cut to `width` around where it differs."""
    old, new = before.split("\n"), after.split("\n")
    shown: list[str] = []
    for tag, a, b, c, d in _compared(old, new).get_opcodes():
        if tag == "equal":
            continue
        for gone, come in itertools.zip_longest(old[a:b], new[c:d], fillvalue=""):
            at = _first_difference(gone, come)
            for mark, line in (("-", gone), ("+", come)):
                if line.strip():
                    shown.append(f"{mark} {_cut(line, at, width - 2)}")
    if len(shown) > MAX_CHANGED_LINES:
        shown[MAX_CHANGED_LINES:] = [f"… {len(shown) - MAX_CHANGED_LINES} more lines"]
    return shown


def _compared(one: list[str], other: list[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    same = (k for k, (mine, yours) in pairs if mine != yours)
    return next(same, min(len(one), len(other)))


def _cut(line: str, at: int, width: int) -> str:
    """At most `width` characters of a line, with the one at `at` among them."""
    start = max(0, at - width // 3) if len(line) > width else 0
    some = line[start:]
    head = "…" if start else ""
    if len(head) + len(some) <= width:
        return head + some
    return f"{head}{some[: width - len(head) - 1]}…"


def print_conflicts(options: Options, found: Sequence[Conflict]) -> int:
    """The open conflicts, each field side by side; returns the exit code."""
    code = EXIT_NEEDS_REVIEW if found else EXIT_DONE
    if options.json:
        print_json(shown_conflicts(found))
    elif not is_terminal(sys.stdout):
        table([], [row for each in found for row in _rows(each)])
    else:
        for each in found:
            _draw(each)
    if not found:
        print_message(options, "no open conflicts")
    else:
        named = clean_one_line(found[0].id) if len(found) == 1 else "CONFLICT_ID"
        print_message(
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
    return [display_value(base), display_value(each.vault), display_value(each.store)]


def _draw(conflict: Conflict) -> None:
    title = clean_one_line(conflict.title or conflict.path)
    echo(style(title, bold=True))
    print_pairs(
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
                *differing_parts(_values(each)),
            ]
            for each in conflict.fields
        ],
    )
    echo()


def print_resolved(options: Options, settled: Conflict, left: Sequence[Conflict]) -> int:
    """What was settled, and what is left; returns the exit code."""
    if options.json:
        print_json(resolved_conflict(settled, left))
    else:
        still = {each.id for each in left}
        done = "settled in part" if settled.id in still else "settled"
        title = clean_one_line(settled.title or settled.path)
        open_ = count_noun(len(left), "conflict") if left else "no conflict"
        print_message(options, f"{title}: {done}, {open_} left")
    return EXIT_NEEDS_REVIEW if left else EXIT_DONE


def print_history(options: Options, found: Sequence[HistoryEntry]) -> None:
    """Who changed what when, oldest first."""
    if options.json:
        print_json(history_of(found))
        return
    if is_terminal(sys.stdout):
        _draw_history(found)
    else:
        table([], [_entry(each) for each in found])
    if not found:
        print_message(options, "no changes recorded")


def _entry(entry: HistoryEntry) -> list[str]:
    return [
        entry.at,
        entry.side,
        entry.actor,
        entry.field,
        display_value(entry.before),
        display_value(entry.after),
        entry.run,
    ]


def _draw_history(found: Sequence[HistoryEntry]) -> None:
    for (run, side, actor), entries in groupby(found, key=_whose):
        some = list(entries)
        head = f"{some[0].at}  {side}, {actor}"
        echo(f"{style(clean_one_line(head), bold=True)}  {dim('run ' + clean_one_line(run))}")
        for each in some:
            echo(f"  {clean_one_line(each.field)}:{_change(each.before, each.after)}")


def _whose(entry: HistoryEntry) -> tuple[str, str, str]:
    return entry.run, entry.side, entry.actor


def _change(before: Value, after: Value) -> str:
    """Values side by side, or the lines that differ of two long texts."""
    if isinstance(before, str) and isinstance(after, str):
        whole = clean(before), clean(after)
        if before != after and min(map(len, whole)) > MAX_WHOLE_LENGTH:
            width = shutil.get_terminal_size().columns - 6
            lines = changed_lines(*whole, width=width)
            return "".join(f"\n    {line}" for line in lines)
    return f" {_short(before)} → {_short(after)}"


def _short(value: Value) -> str:
    text = clean_one_line(display_value(value))
    return text if len(text) <= MAX_WHOLE_LENGTH else f"{text[: MAX_WHOLE_LENGTH - 1]}…"
