"""Print conflicts and history, as JSON or as text; of long values, only the differences."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from itertools import groupby
from operator import eq
from shlex import quote

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import display_value
from vaultsync.cli.output import (
    Options,
    clean,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    print_json,
    style,
)
from vaultsync.cli.tables import print_pairs, side_by_side, table, terminal_width
from vaultsync.markdown.diff3 import common_lines, hunks_of
from vaultsync.model.counts import count_noun
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import (
    COMMAND_ACTOR,
    ConflictRecord,
    FieldConflict,
    author_of,
    is_deletion,
)
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.report import ShownCopy, conflicts_and_copies, history_of, resolved_conflict

MAX_WHOLE_LENGTH = 60
"""Maximum length of a value that is shown whole, in characters."""
MAX_CHANGED_LINES = 8
"""Maximum number of lines of a change to show."""


def differing_parts(texts: Sequence[str]) -> list[str]:
    """Reduce texts to the lines that not all of them share, with one line of context."""
    split = [text.split("\n") for text in texts]
    if max(map(len, split)) <= MAX_CHANGED_LINES:
        return list(texts)
    return [
        _without_common_lines(lines, [*split[:number], *split[number + 1 :]])
        for number, lines in enumerate(split)
    ]


def _without_common_lines(lines: list[str], others: Sequence[list[str]]) -> str:
    nearby: set[int] = set()
    for other in others:
        at = 0
        for same in (*(one for one, _ in common_lines(lines, other)), len(lines)):
            if at < same:
                nearby.update(range(max(at - 1, 0), min(same + 1, len(lines))))
            at = same + 1
    shown: list[str] = []
    end = 0
    for k in sorted(nearby):
        shown += (["…"] if end < k else []) + [lines[k]]
        end = k + 1
    return "\n".join([*shown, "…"] if end < len(lines) else shown)


def changed_lines(before: str, after: str, *, width: int) -> list[str]:
    """List changed lines as `- ` and `+ ` lines, truncated to `width` around the difference."""
    old, new = before.split("\n"), after.split("\n")
    shown: list[str] = []
    for hunk in hunks_of(old, new):
        gone, fresh = old[hunk.start : hunk.end], new[hunk.begin : hunk.stop]
        for removed, added in itertools.zip_longest(gone, fresh, fillvalue=""):
            at = sum(itertools.takewhile(bool, map(eq, removed, added)))
            for mark, line in (("-", removed), ("+", added)):
                if line.strip():
                    shown.append(f"{mark} {_excerpt(line, at, width - 2)}")
    if len(shown) > MAX_CHANGED_LINES:
        rest = count_noun(len(shown) - MAX_CHANGED_LINES, "more line")
        shown[MAX_CHANGED_LINES:] = [f"… {rest}"]
    return shown


def _excerpt(line: str, at: int, width: int) -> str:
    """Truncate a line to `width` characters that include the one at `at`."""
    start = max(0, at - width // 3) if len(line) > width else 0
    rest = line[start:]
    head = "…" if start else ""
    if len(head) + len(rest) <= width:
        return head + rest
    return f"{head}{rest[: width - len(head) - 1]}…"


def print_conflicts(
    options: Options, conflicts: Sequence[ConflictRecord], copies: Sequence[ShownCopy]
) -> int:
    """Print the open conflicts and conflict copies, and return the exit code."""
    code = EXIT_NEEDS_REVIEW if conflicts or copies else EXIT_DONE
    if options.json:
        print_json(conflicts_and_copies(conflicts, copies))
    elif not is_terminal(sys.stdout):
        table([], [row for each in conflicts for row in _rows(each)])
    else:
        for each in conflicts:
            draw_conflict(each)
    for copy in copies:
        path = clean_one_line(quote(copy.path))
        message = f"{path} is a conflict copy of {clean_one_line(copy.note)}"
        options.print_message(f"{message}: `vaultsync resolve {path} --take merge|keep|drop`")
    if not (conflicts or copies):
        options.print_message("no open conflicts")
    if conflicts:
        conflict_id = clean_one_line(conflicts[0].id) if len(conflicts) == 1 else "CONFLICT_ID"
        options.print_message(
            f"`vaultsync resolve {conflict_id} --take store` takes the store's values,"
            " `--take vault` keeps those of the note; `vaultsync resolve` asks"
        )
    return code


def _rows(conflict: ConflictRecord) -> list[list[str]]:
    where = [conflict.id, conflict.fact_id, conflict.path]
    return [[*where, each.field, *_values(each)] for each in conflict.fields]


def _values(each: FieldConflict) -> list[str]:
    """The values of base, vault and store; a deletion has no base value, only a revision."""
    base = None if is_deletion(each) else each.base
    return [display_value(base), display_value(each.vault), display_value(each.store)]


def draw_conflict(conflict: ConflictRecord) -> None:
    """Draw a conflict on a terminal: base, vault and store of each field."""
    echo(style(clean_one_line(conflict.title or conflict.path), bold=True))
    print_pairs(
        [
            ("conflict", conflict.id),
            ("fact", conflict.fact_id),
            ("note", conflict.path),
            ("conflict note", conflict.conflict_path or "–"),
        ]
    )
    actor = "" if conflict.actor == COMMAND_ACTOR else conflict.actor
    side_by_side(
        ["field", "base", "vault (you)", f"store ({actor or author_of(conflict)})"],
        [[each.field, *differing_parts(_values(each))] for each in conflict.fields],
    )
    echo()


def print_resolved(
    options: Options, resolved: ConflictRecord, still_open: Sequence[ConflictRecord]
) -> int:
    """Print what was resolved and what is still open, and return the exit code."""
    if not options.printed_as_json(resolved_conflict(resolved, still_open)):
        partly = resolved.id in {each.id for each in still_open}
        title = clean_one_line(resolved.title or resolved.path)
        count = count_noun(len(still_open), "conflict") if still_open else "no conflict"
        outcome = "partly resolved" if partly else "resolved"
        options.print_message(f"{title}: {outcome}, {count} left")
    return EXIT_NEEDS_REVIEW if still_open else EXIT_DONE


def print_history(options: Options, entries: Sequence[HistoryEntry]) -> None:
    """Print changes, oldest first."""
    if options.json:
        print_json(history_of(entries))
        return
    if is_terminal(sys.stdout):
        _draw_history(entries)
    else:
        table([], [_entry(each) for each in entries])
    if not entries:
        options.print_message("no changes recorded")


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


def _draw_history(history: Sequence[HistoryEntry]) -> None:
    for (run, side, actor), group in groupby(
        history, lambda each: (each.run, each.side, each.actor)
    ):
        changes = list(group)
        head = f"{changes[0].at}  {side}, {actor}"
        echo(f"{style(clean_one_line(head), bold=True)}  {dim('run ' + clean_one_line(run))}")
        for each in changes:
            echo(f"  {clean_one_line(each.field)}:{_change(each.before, each.after)}")


def _change(before: Value, after: Value) -> str:
    """Format a change: both values, or the changed lines of two long texts."""
    if isinstance(before, str) and isinstance(after, str):
        texts = clean(before), clean(after)
        if before != after and min(map(len, texts)) > MAX_WHOLE_LENGTH:
            width = terminal_width() - 6
            return "".join(f"\n    {line}" for line in changed_lines(*texts, width=width))
    return f" {_shorten(before)} → {_shorten(after)}"


def _shorten(value: Value) -> str:
    text = clean_one_line(display_value(value))
    return text if len(text) <= MAX_WHOLE_LENGTH else f"{text[: MAX_WHOLE_LENGTH - 1]}…"
