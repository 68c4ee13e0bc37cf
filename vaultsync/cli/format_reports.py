"""Passes, status, proofs and checks, as JSON or for a person."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence

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
    style,
    table,
)
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import Conflict
from vaultsync.storage.archive import Attention
from vaultsync.sync.decision_table import SAME_MEANING
from vaultsync.sync.report import (
    ActionTaken,
    Check,
    Difference,
    Report,
    Status,
    Verification,
)

MANY = 20
"""Actions that are listed unless all are wanted."""
SEVERAL = 3
"""Notes that are named one by one when all have the same trouble."""
_DID = (
    ("created_in_vault", "note", "created"),
    ("updated_in_vault", "note", "updated"),
    ("deleted_in_vault", "note", "deleted"),
    ("created_in_store", "fact", "created"),
    ("updated_in_store", "fact", "updated"),
    ("deleted_in_store", "fact", "deleted"),
    ("moved", "note", "moved"),
    ("merged", "fact", "merged"),
    ("conflicts", "conflict", ""),
)


def summary(done: Report) -> str:
    """One line: `3 notes created, 1 fact updated, 1 conflict`."""
    said = [
        f"{count(number, word)} {verb}".rstrip()
        for name, word, verb in _DID
        if (number := done.counts.get(name, 0))
    ]
    if waits := sum(each.action == "wait" for each in done.actions):
        said.append(f"{count(waits, 'note')} waiting")
    if not said or said[0].endswith("waiting"):
        same = count(done.counts.get("unchanged", 0), "fact")
        idle = "nothing changed on either side" if done.actions else "nothing to do"
        return ", ".join([idle, *said, f"{same} unchanged"])
    line = ", ".join(said)
    return f"dry run, nothing was done; it would be: {line}" if done.dry_run else line


NOT_BACK = (
    "nothing to take back: what that run changed was changed again since, or is a"
    " person's own, as the name of a note is"
)


def report(
    options: Options,
    done: Report,
    open_conflicts: Sequence[Conflict],
    *,
    verbose: bool,
    undone: bool = False,
) -> int:
    """What a pass did, or (`undone`) the taking back of a run; returns the exit code."""
    code = WAITS if done.attention or open_conflicts else DONE
    if done.counts.get("conflicts", 0):
        code = WAITS  # of a dry run, say: it would wait
    if options.json:
        emit(done.as_json())
        return code
    if not options.quiet:
        line = summary(done)
        if undone:
            line = NOT_BACK if done.quiet else f"taken back: {line}"
        echo(style(line, bold=True))
        _actions(done.actions, options, verbose=verbose)
    attention(done.attention)
    if open_conflicts:
        waiting = count(len(open_conflicts), "open conflict")
        say(options, f"\n{waiting}: `vaultsync conflicts` shows what differs")
    if not done.dry_run and not done.quiet:
        seconds = f"{done.seconds:.2f} s"
        say(
            options,
            dim(f"\n{seconds}; `vaultsync undo {clean(done.run)}` takes it back"),
        )
    return code


def _actions(taken: Sequence[ActionTaken], options: Options, *, verbose: bool) -> None:
    if not verbose:  # what both sides say already is news to nobody
        taken = [each for each in taken if each.reason != SAME_MEANING]
    if not taken:
        return
    some = taken if verbose else taken[:MANY]
    heads = ["action", "note or fact", "fields", "why"]
    rows = [
        [
            each.action.replace("_", " "),
            each.path or each.fact_id,
            ", ".join(each.fields),
            each.reason,
        ]
        for each in some
    ]
    if is_terminal(sys.stdout):
        echo()
        heads, rows = _fitted(heads, rows)
    table(heads, rows, whole=heads[:2])
    if len(some) < len(taken):
        say(options, f"… and {len(taken) - len(some):,} more: --verbose lists them all")


def _fitted(
    heads: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Without an empty column, and with paths cut where it hurts least: in front.

    What is new has all its fields from the same hand, so that they say nothing.
    """
    for row in rows:
        if row[0].startswith("create"):
            row[2] = ""
    full = [k for k in range(len(heads)) if any(row[k] for row in rows)]
    width = shutil.get_terminal_size().columns
    fields = min(20, max(len(row[2]) for row in rows))
    others = max(len(row[0]) for row in rows) + max(len(row[3]) for row in rows)
    room = max(28, width - others - fields - 2 * len(full))
    for row in rows:
        row[1] = one_line(row[1])
        if len(row[1]) > room:
            row[1] = f"…{row[1][1 - room :]}"
    return [heads[k] for k in full], [[row[k] for k in full] for row in rows]


def attention(notices: Sequence[Attention]) -> None:
    """What waits for a person: where, what and how to mend it.

    What is said of many notes is said once.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for each in notices:
        where = f"{each.path}:{each.line}" if each.line else str(each.path or "")
        words = one_line(each.message)
        for place in (one_line(where), one_line(str(each.path))):
            if where:
                words = words.removeprefix(f"{place}: ").removeprefix(f"{place} ")
        alike.setdefault((words, one_line(each.hint)), []).append(one_line(where))
    mark = style("!", fg="yellow", bold=True)
    for (words, hint), places in alike.items():
        if len(places) <= SEVERAL:
            echo()
            for place in places:
                echo(f"{mark} {place}: {words}" if place else f"{mark} {words}")
        else:
            echo(f"\n{mark} {count(len(places), 'note')}: {words}")
            for place in places[:SEVERAL]:
                echo(f"    {place}")
            echo(f"    … {len(places) - SEVERAL:,} more")
        if hint:
            echo(f"  {style('hint:', bold=True)} {hint}")


def status(options: Options, found: Status) -> int:
    """What waits and what is wrong; returns the exit code."""
    code = WAITS if found.attention or found.conflicts else DONE
    if options.json:
        emit(found.as_json())
        return code
    pairs(
        [
            ("facts", f"{found.facts:,}"),
            ("notes", f"{found.notes:,}"),
            ("pending", _then(found.pending, "vaultsync sync")),
            ("conflicts", _then(found.conflicts, "vaultsync conflicts")),
            ("outbox", f"{found.outbox:,}"),
            ("not taken", _then(found.foreign, "vaultsync adopt --dry-run")),
            ("last run", _last_run(found)),
            ("engine", found.engine),
            *_daemon(found.daemon),
        ]
    )
    attention(found.attention)
    return code


def _daemon(told: Mapping[str, Value] | None) -> list[tuple[str, str]]:
    """What the daemon tells of itself, if one runs."""
    if told is None:
        return []
    watcher = shown(told.get("watcher")) or "none"
    if told.get("watcher_trouble"):
        watcher += f" (the last one failed: {shown(told['watcher_trouble'])})"
    rows = [
        ("daemon", f"since {shown(told.get('since'))}"),
        ("watcher", watcher),
        ("lag", f"{shown(told.get('lag_seconds'))} s"),
    ]
    error = told.get("last_error")
    if isinstance(error, Mapping):
        said = f"{shown(error.get('at'))}: {shown(error.get('message'))}"
        rows.append(("last error" if not told.get("failing") else "failing", said))
        if error.get("hint"):
            rows.append(("hint", shown(error["hint"])))
    return rows


def _then(number: int, command: str) -> str:
    return f"{number:,} (`{command}`)" if number else "0"


def _last_run(found: Status) -> str:
    if not found.last_run:
        return "none yet"
    at, kind, run = (shown(found.last_run.get(key)) for key in ("at", "kind", "run"))
    return f"{at}, {kind}, run {run}"


def verification(options: Options, found: Verification) -> None:
    """The proof that both sides are equal, or where they are not."""
    if options.json:
        emit(found.as_json())
        return
    if found.equal:
        echo(f"equal: {count(found.checked, 'fact')}, field by field")
    else:
        differ = count(len(found.differences), "difference")
        echo(style(f"not equal: {differ} in {count(found.checked, 'fact')}", bold=True))
        _differences(found.differences)
        say(
            options,
            "`vaultsync sync` makes them equal; what waits for a person is named by"
            " `vaultsync status`",
        )
    if found.held:
        values = count(len(found.held), "value")
        echo(f"\n{values} in notes that no field takes; the facts keep what they have")
        _differences(found.held)


def _differences(found: Sequence[Difference]) -> None:
    table(
        ["note or fact", "field", "vault", "store", "base", "why"],
        [
            [
                each.path or each.fact_id,
                each.field,
                shown(each.vault),
                shown(each.store),
                shown(each.base),
                _without_path(each.why, each.path),
            ]
            for each in found
        ],
        whole=("field",),
    )


def _without_path(why: str, path: str | None) -> str:
    """What is wrong with a note, in a row that names the note already."""
    where, _, rest = why.removeprefix(path or "").partition(": ")
    if not path or not why.startswith(path) or where.strip(":0123456789"):
        return why
    return f"line {where[1:]}: {rest}" if where else rest


def checks(options: Options, found: Sequence[Check]) -> None:
    """What was checked, each with its mark."""
    if options.json:
        emit({"checks": [each.as_json() for each in found]})
        return
    fancy = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    good, bad = ("✓", "✗") if fancy else ("ok", "FAILED")
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        mark = style(good, fg="green") if each.ok else style(bad, fg="red", bold=True)
        echo(f"{mark} {one_line(each.name).ljust(width)}  {one_line(each.message)}")
        if each.hint and not each.ok:
            echo(f"  {' ' * width}  {style('hint:', bold=True)} {one_line(each.hint)}")
