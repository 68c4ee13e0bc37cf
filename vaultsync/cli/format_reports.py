"""Print reports, status, verifications and checks, as JSON or as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import display_value
from vaultsync.cli.output import (
    Options,
    clean,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    style,
    suggest,
)
from vaultsync.cli.tables import print_pairs, table, terminal_width
from vaultsync.model.counts import count_noun
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.sync.decision_table import REASON_GONE, REASON_GONE_BOTH, REASON_MOVED
from vaultsync.sync.report import (
    ActionTaken,
    BlockState,
    DaemonState,
    Difference,
    DoctorCheck,
    EmbeddingState,
    MaintenanceReport,
    NoteStatus,
    ObservationCounts,
    Report,
    ReportedNotice,
    RunSummary,
    Status,
    Verification,
)
from vaultsync.sync.telemetry import Telemetry, TimePercentiles

if TYPE_CHECKING:
    from vaultsync.api.obsidian_views import ChangeNote

MAX_ACTIONS = 20
"""Maximum number of actions to list, unless `--verbose` is given."""
SHORT = 120
"""Seconds from which a duration is printed in minutes."""
MIN_ANSWERS = 20
"""Minimum number of answers for which `status` shows how long they took."""
MAX_NAMED_NOTES = 3
"""Maximum number of notes to name when all have the same problem."""
_COUNT_WORDS = (
    ("created_in_vault", "note", "created"),
    ("updated_in_vault", "note", "updated"),
    ("deleted_in_vault", "note", "deleted"),
    ("created_in_store", "fact", "created"),
    ("updated_in_store", "fact", "updated"),
    ("deleted_in_store", "fact", "deleted"),
    ("moved", "note", "moved"),
    ("merged", "fact", "merged"),
    ("conflicts", "conflict", ""),
    ("proposals_rejected", "proposal", "rejected"),
    ("proposals_expired", "proposal", "expired"),
)


_COPY_WORDS = {"settle_copy": "settled", "restore_copy": "restored"}
"""Action on a conflict copy -> what was done to it."""


def print_runs(options: Options, runs: Sequence[RunSummary], *, since: str | None) -> None:
    """Print runs, newest first; `since` only changes the message if there are none.

    On a terminal, ids are shortened as far as `undo` still finds the run.
    """
    if options.printed_as_json({"runs": runs}):
        return
    if not runs:
        when = " in that time" if since else " yet"
        options.print_message(f"no run has changed anything{when}")
    length = _TIME_IN_ID if is_terminal(sys.stdout) else None
    rows = [
        (
            _time(each.at),
            _run_kind(each),
            counts_in_words(each.counts) or "nothing changed on either side",
            each.run[:length],
        )
        for each in runs
    ]
    heads = ["at (UTC)", "kind", "what", "run"]
    table(heads, rows, whole=("at (UTC)", "kind", "run"), name="what")


def print_change_note(options: Options, note: ChangeNote) -> int:
    """Print the path of a change note, and return the exit code."""
    if not options.printed_as_json(note):
        echo(clean_one_line(note.path))
        counts = ", ".join(
            f"{count:,} {name if count > 1 else name.removesuffix('s')}"
            for name, count in note.counts.items()
            if count
        )
        summary = f"{note.status}: {counts or 'nothing changed'}"
        edited = "not updated, because it was edited: delete it to have it written again"
        options.print_message(edited if note.status == "edited" else summary)
    return EXIT_NEEDS_REVIEW if note.status == "edited" else EXIT_DONE


def describe_run(run: RunSummary) -> str:
    """Describe a run: `the sync of 2026-02-14 13:45:00 UTC (1 note created)`."""
    return f"the {_run_kind(run)} of {_time(run.at)} UTC ({counts_in_words(run.counts)})"


def _time(at: str) -> str:
    return clean_one_line(at[:19].replace("T", " "))


_TIME_IN_ID = 13
"""Length of the timestamp at the start of a run id. It has milliseconds and is unique in a vault;
its first 8 characters are the same for all runs of a minute."""


def _run_kind(run: RunSummary) -> str:
    """The kind of a run; for an undo, with the beginning of the id of the undone run."""
    kind, _, undone = clean_one_line(run.kind).partition(" ")
    return f"{kind} {undone[:_TIME_IN_ID]}".rstrip()


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Format the counts of what a run changed: `3 notes created, 1 conflict`."""
    return ", ".join(
        f"{count_noun(number, word)} {verb}".rstrip()
        for name, word, verb in _COUNT_WORDS
        if (number := counts.get(name, 0))
    )


def run_summary(report: Report) -> str:
    """Summarize a report in one line: `3 notes created, 1 fact updated, 1 conflict`."""
    parts = [words] if (words := counts_in_words(report.counts)) else []
    is_settled = [each.action == "resolve_conflict" for each in report.actions]
    if settled := sum(is_settled):
        parts.append(f"{count_noun(settled, 'conflict')} resolved")
    for action, verb in _COPY_WORDS.items():
        if copies := sum(each.action == action for each in report.actions):
            parts.append(f"{count_noun(copies, 'conflict copy', many='conflict copies')} {verb}")
    has_changes = bool(parts)
    waiting = [each.reason for each in report.actions if each.action == "wait"]
    if gone := waiting.count(REASON_GONE):
        facts = "its fact" if gone == 1 else "their facts"
        parts.append(f"{count_noun(gone, 'note')} gone: the next sync deletes {facts}")
    if other_waits := len(waiting) - gone:
        parts.append(f"{count_noun(other_waits, 'note')} waiting")
    if not has_changes:
        same = count_noun(report.counts.get("unchanged", 0), "fact")
        idle = "nothing to do"
        if report.actions:
            idle = "nothing was changed yet" if gone else "nothing changed on either side"
        return ", ".join([idle, *parts, f"{same} unchanged"])
    line = ", ".join(parts)
    return f"dry run, nothing was changed; planned: {line}" if report.dry_run else line


_MAX_LEFT_OUT = 5
"""Maximum number of facts left out of a block to list."""
NOTHING_TO_UNDO = (
    "nothing to undo: the changes of that run have been changed again since, or belong to"
    " the user, such as the name of a note"
)


def print_report(
    options: Options,
    report: Report,
    open_conflicts: Sequence[ConflictRecord],
    *,
    verbose: bool,
    undone: bool = False,
) -> int:
    """Print the report of a run, or with `undone` that of an undo; return the exit code."""
    needs_review = report.attention or open_conflicts or report.counts.get("conflicts", 0)
    code = EXIT_NEEDS_REVIEW if needs_review else EXIT_DONE
    if options.printed_as_json(report):
        return code
    if not options.quiet:
        line = run_summary(report)
        if undone:
            has_copies = any(each.action in _COPY_WORDS for each in report.actions)
            is_empty = report.quiet and not has_copies
            line = NOTHING_TO_UNDO if is_empty else f"undone: {line}"
        echo(style(line, bold=True))
        _print_actions(report.actions, options, verbose=verbose)
        if isinstance(report, MaintenanceReport) and report.pruned:
            verb = "would remove" if report.dry_run else "removed"
            echo(f"{verb} data older than the limits in [retention]:")
            for kind, rows in report.pruned.items():
                echo(f"  {kind}: {rows:,}")
        if isinstance(report, MaintenanceReport):
            _print_proposed(options, report)
        _print_memory_files(report)
    print_notices(report.attention)
    if open_conflicts:
        number = count_noun(len(open_conflicts), "open conflict")
        options.print_message(f"\n{number}: `vaultsync conflicts` shows what differs")
    if not report.dry_run and report.changed:
        undo = f"`vaultsync undo {clean(report.run)}` undoes this run"
        options.print_message(dim(f"\n{report.seconds:.2f} s; {undo}"))
    return code


def _print_memory_files(report: Report) -> None:
    """Print the memory files that changed or whose facts did, and the blocks filled again."""
    from vaultsync.memory_files.report import VaultReport  # noqa: PLC0415 - rarely used

    if not isinstance(report, VaultReport) or report.memory_files is None:
        return
    prefix = "dry run: " if report.dry_run else ""
    for file in report.memory_files.files:
        counts = [f"{n:,} {name}" for name, n in file.counts.items() if n and name != "unchanged"]
        if counts or file.written:
            echo(f"{prefix}{clean(file.name)}: {', '.join(counts) or 'texts of agents written'}")
    for block in report.memory_files.blocks:
        if block.status == "written":
            facts = count_noun(len(block.included), "fact")
            echo(f"{prefix}{clean(block.name)}: block renewed, {facts}")


_ACTION_WORDS = {
    ("record_base", REASON_MOVED): "move",
    ("drop_base", REASON_GONE_BOTH): "both gone",
}
"""Action and reason -> the word for the action where its own name is an internal term."""


def _print_actions(actions: Sequence[ActionTaken], options: Options, *, verbose: bool) -> None:
    if not verbose:  # without changes that both sides already have
        actions = [x for x in actions if x.action != "record_base" or x.reason == REASON_MOVED]
    if not actions:
        return
    listed = actions if verbose else actions[:MAX_ACTIONS]
    heads = ["action", "note or fact", "fields", "why"]
    rows = [
        [
            _ACTION_WORDS.get((each.action, each.reason), each.action.replace("_", " ")),
            each.path or each.fact_id,
            ", ".join(each.fields),
            each.reason,
        ]
        for each in listed
    ]
    if is_terminal(sys.stdout):
        echo()
        _fit_to_terminal(rows)
    table(heads, rows, whole=heads[:2], name=heads[1], optional=heads[2:])
    if len(listed) < len(actions):
        rest = len(actions) - len(listed)
        options.print_message(f"… and {rest:,} more: --verbose lists them all")


def _fit_to_terminal(rows: Sequence[list[str]]) -> None:
    """Truncate paths at the start, so that there is room for the reasons.

    Rows of new notes and facts list no fields, as all fields are new.
    """
    for row in rows:
        if row[0].startswith("create"):
            row[2] = ""
    action, _, fields, why = (max(map(len, column)) for column in zip(*rows, strict=True))
    room = max(28, terminal_width() - action - min(20, fields) - why - 6)
    for row in rows:
        path = clean_one_line(row[1])
        row[1] = path if len(path) <= room else f"…{path[1 - room :]}"


def print_notices(notices: Sequence[ReportedNotice]) -> None:
    """Print notices: path, message and hint.

    Notices with the same message and hint are printed once, with all their paths.
    """
    grouped: dict[tuple[str, str], list[str]] = {}
    for each in notices:
        where = f"{each.path}:{each.line}" if each.line else each.path
        message = clean_one_line(each.message)
        for place in (clean_one_line(where), clean_one_line(each.path)):
            if where:
                message = message.removeprefix(f"{place}: ").removeprefix(f"{place} ")
        grouped.setdefault((message, clean_one_line(each.hint)), []).append(clean_one_line(where))
    mark = style("!", fg="yellow", bold=True)
    for (message, hint), places in grouped.items():
        if len(places) <= MAX_NAMED_NOTES:
            echo()
            for place in places:
                echo(f"{mark} {place}: {message}" if place else f"{mark} {message}")
        else:
            echo(f"\n{mark} {count_noun(len(places), 'note')}: {message}")
            for place in places[:MAX_NAMED_NOTES]:
                echo(f"    {place}")
            echo(f"    … {len(places) - MAX_NAMED_NOTES:,} more")
        if hint:
            echo(f"  {style('hint:', bold=True)} {suggest(hint)}")


def print_status(options: Options, status: Status) -> int:
    """Print the status of a vault, and return the exit code."""
    code = EXIT_NEEDS_REVIEW if status.attention or status.conflicts else EXIT_DONE
    if options.printed_as_json(status):
        return code
    last = status.last_run
    proposals = _with_command(status.proposals, "vaultsync proposals list")
    print_pairs(
        [
            ("facts", f"{status.facts:,}"),
            ("notes", f"{status.notes:,}"),
            ("pending", _with_command(status.pending, "vaultsync sync")),
            ("conflicts", _with_command(status.conflicts, "vaultsync conflicts")),
            *([("proposals", proposals)] if status.proposals else []),
            *_observation_rows(status.observations),
            *(("no proposals", each) for each in status.silent_proposals),
            ("outbox", f"{status.outbox:,}"),
            ("not adopted", _with_command(status.foreign, "vaultsync adopt --dry-run")),
            ("last run", f"{last.at}, {last.kind}, run {last.run}" if last else "none yet"),
            ("engine", status.engine),
            *_embedding_rows(status),
            *_daemon_rows(status.daemon),
            *_answer_rows(status.answers),
            *((f"block of {each.file}", _block_text(each)) for each in status.blocks),
        ]
    )
    print_notices(status.attention)
    return code


def print_note_status(options: Options, status: NoteStatus) -> int:
    """Print the status of one note, and return the exit code."""
    if not options.printed_as_json(status):
        rows = [
            ("note", status.path),
            ("status", status.state.replace("_", " ")),
            ("fact", status.fact_id or "none"),
            ("why", status.message),
            ("to do", suggest(status.hint)),
        ]
        print_pairs([row for row in rows if row[1]])
    return EXIT_NEEDS_REVIEW if status.state in {"attention", "conflict"} else EXIT_DONE


def _embedding_rows(status: Status) -> list[tuple[str, str]]:
    if status.embedding is None or not status.facts:
        return []
    return [("embedding", embedding_text(status.embedding, status.facts))]


def _answer_rows(answers: Mapping[str, TimePercentiles]) -> Iterator[tuple[str, str]]:
    """The rows of response times with enough answers for a 95th percentile."""
    names = {"command": "answers to commands", "mcp": "answers by MCP"}
    for name, times in answers.items():
        if times.count >= MIN_ANSWERS:
            surface, _, source = name.partition(".")
            yield from _time_rows({f"{names.get(surface, surface)}, {source}": times})


def _block_text(block: BlockState) -> str:
    text = f"{count_noun(block.included, 'fact')}, {block.tokens:,} of {block.budget:,} tokens"
    if block.status == "edited":
        text = "edited, and not updated"
    if not block.left_out:
        return text
    names = ", ".join(clean(each.title) for each in block.left_out[:_MAX_LEFT_OUT])
    more = ", …" if len(block.left_out) > _MAX_LEFT_OUT else ""
    return f"{text}; {len(block.left_out):,} left out: {names}{more}"


def _telemetry_rows(telemetry: Telemetry) -> list[tuple[str, str]]:
    """The rows of a daemon's measurements: medians and 95th percentiles."""
    times = {
        "facts to notes": telemetry.write_through,
        "notes to facts": telemetry.note_to_store,
        **{f"recall, {source}": each for source, each in telemetry.recall.items()},
    }
    rows = [*_time_rows({name: each for name, each in times.items() if each is not None})]
    if telemetry.edits:
        edits = count_noun(telemetry.edits, "edit")
        rows.append(("conflicts so far", f"{telemetry.conflicts:,} in {edits}"))
    if telemetry.restarts:
        crashes = f", {telemetry.crashes} of them after a crash" if telemetry.crashes else ""
        rows.append(("restarts", f"{telemetry.restarts:,}{crashes}"))
    return rows


def _time_rows(times: Mapping[str, TimePercentiles]) -> Iterator[tuple[str, str]]:
    for name, each in times.items():
        yield name, f"{_milliseconds(each.p50)}, p95 {_milliseconds(each.p95)}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _daemon_rows(state: DaemonState | None) -> list[tuple[str, str]]:
    if state is None:
        return []
    watcher = state.watcher or "none"
    if state.watcher_trouble:
        watcher += f" (the last one failed: {state.watcher_trouble})"
    rows = [
        ("daemon", f"since {state.since}"),
        ("watcher", watcher),
        ("lag", f"{state.lag_seconds} s"),
    ]
    if error := state.last_error:
        rows.append(("failing" if state.failing else "last error", f"{error.at}: {error.message}"))
        if error.hint:
            rows.append(("hint", suggest(error.hint)))
    return [*rows, *(_telemetry_rows(state.telemetry) if state.telemetry else [])]


def embedding_text(state: EmbeddingState, facts: int) -> str:
    """Describe the progress of embedding: `43 % of the facts, 4,210 texts left, …`.

    `facts` is the number of all facts.
    """
    if state.complete:
        return f"complete, {count_noun(state.facts, 'fact')}"
    if not state.share:
        parts = [f"none yet of {count_noun(facts, 'fact')}"]
    elif state.share < 1:
        parts = [f"{state.share:.0%} of the facts"]
    else:
        parts = ["all facts, but not their latest changes"]
    if state.texts_left:
        parts.append(f"{count_noun(state.texts_left, 'text')} left")
    if state.texts_per_second:
        parts.append(f"{state.texts_per_second:.0f} texts/s")
    if state.seconds_left is not None:
        parts.append(f"about {_duration(state.seconds_left)}")
    if state.pid is not None and state.texts_per_second:
        parts.append(f"by process {state.pid}")
    elif state.pid is not None:  # it has the lowest priority
        parts.append(f"process {state.pid} loads the model or waits for other programs")
    elif state.degraded:
        parts.append(state.degraded)
    else:
        parts.append(f"`vaultsync index` embeds {'the rest' if state.share else 'them'}")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < SHORT else f"{seconds / 60:.0f} min"


def _print_proposed(options: Options, report: MaintenanceReport) -> None:
    if report.proposed:
        verb = "would propose" if report.dry_run else "proposed"
        kinds = ", ".join(f"{number} {kind}" for kind, number in report.proposed.items())
        accepted = sum(report.accepted.values())
        at_once = f", {accepted} accepted at once" if accepted else ""
        echo(f"{verb}: {kinds}{at_once}")
    for each in report.silent:
        options.print_message(f"no more proposals of {each}")


def _observation_rows(found: ObservationCounts) -> list[tuple[str, str]]:
    rows = []
    if found.pending:
        since = f", the oldest of {found.oldest_pending[:10]}" if found.oldest_pending else ""
        command = _with_command(found.pending, "vaultsync observations process")
        rows.append(("to classify", command + since))
    tiers = (
        f"{found.critical:,} critical, {found.notable:,} notable, {found.background:,} background"
    )
    if found.critical or found.notable or found.background:
        rows.append(("observations", f"{tiers} ({found.compressed:,} archived)"))
    return rows


def _with_command(number: int, command: str) -> str:
    return f"{number:,} (`{command}`)" if number else "0"


def print_verification(options: Options, verification: Verification) -> None:
    """Print that both sides are equal, or where they differ."""
    if options.printed_as_json(verification):
        return
    if verification.equal:
        echo(f"equal: {count_noun(verification.checked, 'fact')}, field by field")
    else:
        differ = count_noun(len(verification.differences), "difference")
        echo(style(f"not equal: {differ} in {count_noun(verification.checked, 'fact')}", bold=True))
        _print_differences(verification.differences)
        options.print_message(
            "`vaultsync sync` makes them equal; `vaultsync status` lists what needs your decision"
        )
    if verification.held:
        values = count_noun(len(verification.held), "invalid value")
        echo(f"\n{values} in notes; the facts keep their previous values")
        _print_differences(verification.held)


def _print_differences(differences: Sequence[Difference]) -> None:
    table(
        ["note or fact", "field", "vault", "store", "base", "why"],
        [
            [
                each.path or each.fact_id,
                each.field,
                display_value(each.vault),
                display_value(each.store),
                display_value(each.base),
                _without_path(each.why, each.path),
            ]
            for each in differences
        ],
        whole=("field",),
    )


def _without_path(why: str, path: str | None) -> str:
    """Remove the note's path from a message, for a row that already shows it."""
    where, _, rest = why.removeprefix(path or "").partition(": ")
    if not path or not why.startswith(path) or where.strip(":0123456789"):
        return why
    return f"line {where[1:]}: {rest}" if where else rest


def print_checks(options: Options, checks: Sequence[DoctorCheck]) -> None:
    """Print checks, each marked as passed or failed."""
    if options.printed_as_json({"checks": checks}):
        return
    is_unicode = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    good, bad = ("✓", "✗") if is_unicode else ("ok", "FAILED")
    width = max((len(each.name) for each in checks), default=0)
    for each in checks:
        mark = style(good, fg="green") if each.ok else style(bad, fg="red", bold=True)
        echo(f"{mark} {clean_one_line(each.name).ljust(width)}  {clean_one_line(each.message)}")
        if each.hint and not each.ok:
            hint = suggest(clean_one_line(each.hint))
            echo(f"  {' ' * width}  {style('hint:', bold=True)} {hint}")
