"""Print reports, status, verifications and checks, as JSON or as text."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import count_noun, display_value, print_pairs
from vaultsync.cli.output import (
    Options,
    clean,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    print_json,
    print_message,
    style,
    table,
)
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.sync.decision_table import (
    REASON_BASE_ONLY,
    REASON_GONE,
    REASON_GONE_BOTH,
    REASON_MOVED,
)
from vaultsync.sync.report import (
    ActionTaken,
    BlockState,
    DaemonState,
    Difference,
    DoctorCheck,
    EmbeddingState,
    MaintenanceReport,
    ObservationCounts,
    Report,
    ReportedNotice,
    RunSummary,
    Status,
    Verification,
)
from vaultsync.sync.telemetry import Telemetry, TimePercentiles

if TYPE_CHECKING:
    from vaultsync.api.change_notes import ChangeNote

MAX_ACTIONS = 20
"""Maximum number of actions to list, unless `--verbose` is given."""
SHORT = 120
"""Seconds from which on a time is printed in minutes."""
FEWEST_ANSWERS = 20
"""Answers from which on `status` shows how long they took."""
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


def print_runs(options: Options, runs: Sequence[RunSummary], *, since: str | None) -> None:
    """Print runs since a date, newest first, or the JSON of all."""
    if options.json:
        print_json({"runs": runs})
        return
    if not runs:
        when = " in that time" if since else " yet"
        print_message(options, f"no run has changed anything{when}")
    rows = [
        (
            _time(each.at),
            _run_kind(each),
            counts_in_words(each.counts) or "nothing counted",
            each.run,
        )
        for each in runs
    ]
    table(["at (UTC)", "kind", "what", "run"], rows, whole=("at (UTC)", "kind", "run"))


def print_change_note(options: Options, note: ChangeNote) -> int:
    """Print where a note of changes is, and return the exit code."""
    if options.json:
        print_json(note)
    else:
        echo(clean_one_line(note.path))
        counts = ", ".join(f"{count:,} {name}" for name, count in note.counts.items() if count)
        found = f"{note.status}: {counts or 'nothing changed'}"
        edited = "not updated, because it was edited: delete it to have it written again"
        print_message(options, edited if note.status == "edited" else found)
    return EXIT_NEEDS_REVIEW if note.status == "edited" else EXIT_DONE


def describe_run(run: RunSummary) -> str:
    """One run in words: `the sync of 2026-02-14 13:45:00 UTC (1 note created)`."""
    return f"the {_run_kind(run)} of {_time(run.at)} UTC ({counts_in_words(run.counts)})"


def _time(at: str) -> str:
    """A stored time, to the second and with a space."""
    return clean_one_line(at[:19].replace("T", " "))


_TIME_IN_ID = 13
"""Characters of the time in the id of a run, to the millisecond. No two runs of a vault begin in
the same one; the first 8 characters are those of all runs of a minute."""


def _run_kind(run: RunSummary) -> str:
    """The kind of a run in one word or two: that of an undo names the beginning of its run."""
    kind, _, undone = clean_one_line(run.kind).partition(" ")
    return f"{kind} {undone[:_TIME_IN_ID]}".rstrip()


def counts_in_words(counts: Mapping[str, int]) -> str:
    """What a run did, without what it left as it is: `3 notes created, 1 conflict`."""
    return ", ".join(
        f"{count_noun(number, word)} {verb}".rstrip()
        for name, word, verb in _COUNT_WORDS
        if (number := counts.get(name, 0))
    )


def run_summary(done: Report) -> str:
    """Summarize a report in one line: `3 notes created, 1 fact updated, 1 conflict`."""
    parts = [words] if (words := counts_in_words(done.counts)) else []
    is_settled = [each.action == "resolve_conflict" for each in done.actions]
    if settled := sum(is_settled):
        parts.append(f"{count_noun(settled, 'conflict')} resolved")
    has_changes = bool(parts)
    waiting = [each.reason for each in done.actions if each.action == "wait"]
    if gone := waiting.count(REASON_GONE):
        facts = "its fact" if gone == 1 else "their facts"
        parts.append(f"{count_noun(gone, 'note')} gone: the next sync deletes {facts}")
    if waits := len(waiting) - gone:
        parts.append(f"{count_noun(waits, 'note')} waiting")
    if not has_changes:
        same = count_noun(done.counts.get("unchanged", 0), "fact")
        idle = "nothing to do"
        if done.actions:
            idle = "nothing was changed yet" if gone else "nothing changed on either side"
        return ", ".join([idle, *parts, f"{same} unchanged"])
    line = ", ".join(parts)
    return f"dry run, nothing was changed; planned: {line}" if done.dry_run else line


_MAX_LEFT_OUT = 5
"""Facts that were left out of a block and are named."""
NOTHING_TO_UNDO = (
    "nothing to undo: the changes of that run have been changed again since, or belong to"
    " the user, such as the name of a note"
)


def print_report(
    options: Options,
    done: Report,
    open_conflicts: Sequence[ConflictRecord],
    *,
    verbose: bool,
    undone: bool = False,
) -> int:
    """Print the report of a run, or (`undone`) of undoing one; return the exit code."""
    needs_review = done.attention or open_conflicts or done.counts.get("conflicts", 0)
    code = EXIT_NEEDS_REVIEW if needs_review else EXIT_DONE
    if options.json:
        print_json(done)
        return code
    if not options.quiet:
        line = run_summary(done)
        if undone:
            line = NOTHING_TO_UNDO if done.quiet else f"undone: {line}"
        echo(style(line, bold=True))
        _print_actions(done.actions, options, verbose=verbose)
        if isinstance(done, MaintenanceReport) and done.pruned:
            verb = "would remove" if done.dry_run else "removed"
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in done.pruned.items())
            echo(f"{verb} data older than the limits in [retention]: {kinds}")
        if isinstance(done, MaintenanceReport):
            _print_proposed(options, done)
        _print_memory_files(done)
    print_notices(done.attention)
    if open_conflicts:
        number = count_noun(len(open_conflicts), "open conflict")
        print_message(options, f"\n{number}: `vaultsync conflicts` shows what differs")
    if not done.dry_run and not done.quiet:
        undo = f"`vaultsync undo {clean(done.run)}` undoes this run"
        print_message(options, dim(f"\n{done.seconds:.2f} s; {undo}"))
    return code


def _print_memory_files(done: Report) -> None:
    """Print which memory files changed, or their facts, and which blocks were filled again."""
    from vaultsync.memory_files.report import VaultReport  # noqa: PLC0415 - few reports have them

    if not isinstance(done, VaultReport) or done.memory_files is None:
        return
    prefix = "dry run: " if done.dry_run else ""
    for file in done.memory_files.files:
        counts = [f"{n:,} {name}" for name, n in file.counts.items() if n and name != "unchanged"]
        if counts or file.written:
            echo(f"{prefix}{clean(file.name)}: {', '.join(counts) or 'texts of agents written'}")
    for block in done.memory_files.blocks:
        if block.status == "written":
            facts = count_noun(len(block.included), "fact")
            echo(f"{prefix}{clean(block.name)}: block renewed, {facts}")


_ACTION_WORDS = {
    ("record_base", REASON_MOVED): "move",
    ("drop_base", REASON_GONE_BOTH): "both gone",
}
"""Action and reason -> what the action is called where its name says what happens inside."""


def _print_actions(taken: Sequence[ActionTaken], options: Options, *, verbose: bool) -> None:
    if not verbose:  # changes that both sides have already are not worth a row
        taken = [each for each in taken if each.reason != REASON_BASE_ONLY]
    if not taken:
        return
    listed = taken if verbose else taken[:MAX_ACTIONS]
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
        heads, rows = _fitted(heads, rows)
    table(heads, rows, whole=heads[:2])
    if len(listed) < len(taken):
        print_message(options, f"… and {len(taken) - len(listed):,} more: --verbose lists them all")


def _fitted(heads: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Drop empty columns, and truncate paths at their start, to fit the terminal.

    The fields of something new are left out: they are all of its fields.
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
        row[1] = clean_one_line(row[1])
        if len(row[1]) > room:
            row[1] = f"…{row[1][1 - room :]}"
    return [heads[k] for k in full], [[row[k] for k in full] for row in rows]


def print_notices(notices: Sequence[ReportedNotice]) -> None:
    """Print what needs the user's attention: where, what, and a hint.

    Notices with the same message and hint are printed once, with all their notes.
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
            echo(f"  {style('hint:', bold=True)} {hint}")


def print_status(options: Options, found: Status) -> int:
    """Print the status of a vault, and return the exit code."""
    code = EXIT_NEEDS_REVIEW if found.attention or found.conflicts else EXIT_DONE
    if options.json:
        print_json(found)
        return code
    print_pairs(
        [
            ("facts", f"{found.facts:,}"),
            ("notes", f"{found.notes:,}"),
            ("pending", _with_command(found.pending, "vaultsync sync")),
            ("conflicts", _with_command(found.conflicts, "vaultsync conflicts")),
            *_proposals(found.proposals),
            *_observations(found.observations),
            *(("no proposals", each) for each in found.silent_proposals),
            ("outbox", f"{found.outbox:,}"),
            ("not adopted", _with_command(found.foreign, "vaultsync adopt --dry-run")),
            ("last run", _last_run(found)),
            ("engine", found.engine),
            *_embedding_rows(found),
            *_daemon_rows(found.daemon),
            *_answer_rows(found.answers),
            *((f"block of {each.file}", _block_text(each)) for each in found.blocks),
        ]
    )
    print_notices(found.attention)
    return code


def _embedding_rows(found: Status) -> list[tuple[str, str]]:
    """The row of the vectors, where there is a text to embed."""
    if found.embedding is None or not found.facts:
        return []
    return [("embedding", embedding_text(found.embedding))]


def _answer_rows(answers: Mapping[str, TimePercentiles]) -> Iterator[tuple[str, str]]:
    """How long answers took, once there are enough for a 95th percentile."""
    names = {"command": "answers to commands", "mcp": "answers by MCP"}
    for name, times in answers.items():
        if times.count >= FEWEST_ANSWERS:
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


def _telemetry_rows(found: Telemetry) -> list[tuple[str, str]]:
    """The rows of what a daemon measured: medians, and what 95 of 100 do not exceed."""
    times = {
        "facts to notes": found.write_through,
        "notes to facts": found.note_to_store,
        **{f"recall, {source}": each for source, each in found.recall.items()},
    }
    rows = [*_time_rows({name: each for name, each in times.items() if each is not None})]
    if found.edits:
        each_1000 = f"{found.conflicts_per_1000_edits:g} of 1,000 edits"
        rows.append(("conflicts so far", each_1000))
    if found.restarts:
        crashes = f", {found.crashes} of them after a crash" if found.crashes else ""
        rows.append(("restarts", f"{found.restarts:,}{crashes}"))
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
            rows.append(("hint", error.hint))
    return [*rows, *(_telemetry_rows(state.telemetry) if state.telemetry else [])]


def embedding_text(state: EmbeddingState) -> str:
    """How far the texts are embedded: `43 % of the facts, 4,210 texts left, …`."""
    if state.complete:
        return f"complete, {count_noun(state.facts, 'fact')}"
    if not state.share:
        parts = ["none yet"]
    elif state.share < 1:
        parts = [f"{state.share:.0%} of the facts"]
    else:
        parts = ["all facts, not all changes"]
    if state.texts_left:
        parts.append(f"{count_noun(state.texts_left, 'text')} left")
    if state.texts_per_second:
        parts.append(f"{state.texts_per_second:.0f} texts/s")
    if state.seconds_left is not None:
        parts.append(f"about {_duration(state.seconds_left)}")
    if state.pid is not None:
        parts.append(f"by process {state.pid}")
    elif state.degraded:
        parts.append(state.degraded)
    else:
        parts.append(f"`vaultsync index` embeds {'the rest' if state.share else 'them'}")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < SHORT else f"{seconds / 60:.0f} min"


def _print_proposed(options: Options, done: MaintenanceReport) -> None:
    if done.proposed:
        verb = "would propose" if done.dry_run else "proposed"
        kinds = ", ".join(f"{number} {kind}" for kind, number in done.proposed.items())
        accepted = sum(done.accepted.values())
        at_once = f", {accepted} accepted at once" if accepted else ""
        echo(f"{verb}: {kinds}{at_once}")
    for each in done.silent:
        print_message(options, f"no more proposals of {each}")


def _proposals(number: int) -> list[tuple[str, str]]:
    command = _with_command(number, "vaultsync proposals list")
    return [("proposals", command)] if number else []


def _observations(found: ObservationCounts) -> list[tuple[str, str]]:
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


def _last_run(found: Status) -> str:
    last = found.last_run
    if last is None:
        return "none yet"
    return f"{last.at}, {last.kind}, run {last.run}"


def print_verification(options: Options, found: Verification) -> None:
    """Print that both sides are equal, or where they differ."""
    if options.json:
        print_json(found)
        return
    if found.equal:
        echo(f"equal: {count_noun(found.checked, 'fact')}, field by field")
    else:
        differ = count_noun(len(found.differences), "difference")
        echo(style(f"not equal: {differ} in {count_noun(found.checked, 'fact')}", bold=True))
        _print_differences(found.differences)
        print_message(
            options,
            "`vaultsync sync` makes them equal; `vaultsync status` lists what needs your decision",
        )
    if found.held:
        values = count_noun(len(found.held), "invalid value")
        echo(f"\n{values} in notes; the facts keep their previous values")
        _print_differences(found.held)


def _print_differences(found: Sequence[Difference]) -> None:
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
            for each in found
        ],
        whole=("field",),
    )


def _without_path(why: str, path: str | None) -> str:
    """Remove the note's path from a message, for a row that names the note already."""
    where, _, rest = why.removeprefix(path or "").partition(": ")
    if not path or not why.startswith(path) or where.strip(":0123456789"):
        return why
    return f"line {where[1:]}: {rest}" if where else rest


def print_checks(options: Options, found: Sequence[DoctorCheck]) -> None:
    """Print checks, each with a mark."""
    if options.json:
        print_json({"checks": found})
        return
    fancy = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    good, bad = ("✓", "✗") if fancy else ("ok", "FAILED")
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        mark = style(good, fg="green") if each.ok else style(bad, fg="red", bold=True)
        echo(f"{mark} {clean_one_line(each.name).ljust(width)}  {clean_one_line(each.message)}")
        if each.hint and not each.ok:
            echo(f"  {' ' * width}  {style('hint:', bold=True)} {clean_one_line(each.hint)}")
