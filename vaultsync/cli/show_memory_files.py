"""What came of memory files, as JSON or for a person."""

from __future__ import annotations

from vaultsync.cli.exit_codes import DONE, WAITS
from vaultsync.cli.format_facts import count
from vaultsync.cli.format_reports import attention
from vaultsync.cli.options import Options
from vaultsync.cli.output import dim, echo, emit, one_line, say, style, table
from vaultsync.memory_files.report import Added, FileDone, MemoryFileReport

_DID = (
    ("created", "new"),
    ("updated", "changed"),
    ("forgotten", "forgotten"),
    ("let_go", "let go"),
    ("unchanged", "unchanged"),
)


def report(options: Options, done: MemoryFileReport) -> int:
    """What a sync did; returns the exit code."""
    code = WAITS if done.attention else DONE
    if options.json:
        emit(done.as_json())
        return code
    for file in done.files:
        _file(options, file, dry_run=done.dry_run)
    attention(done.attention)
    if not done.quiet and not done.dry_run:
        say(options, dim(f"\n{done.seconds:.2f} s"))
    return code


def _file(options: Options, file: FileDone, *, dry_run: bool) -> None:
    if options.quiet:
        return
    counts = file.counts
    did = [f"{counts[name]} {words}" for name, words in _DID if counts[name]]
    unread = any(each.kind.endswith("Error") for each in file.attention)
    nothing = "left out" if unread else "nothing in it to remember"
    line = ", ".join(did) or nothing
    would = "dry run: " if dry_run else ""
    echo(style(f"{would}{one_line(file.name)}: {line}", bold=True))
    rows = [
        [
            each.action.replace("_", " "),
            f"{each.title} (line {each.line})" if each.line else each.title,
            ", ".join(each.fields),
            each.reason,
        ]
        for each in file.actions
    ]
    table(["action", "section", "fields", "why"], rows)
    if file.written:
        say(options, f"{count(file.written, 'waiting text')} written into it")
    if file.left_out:
        say(options, f"{count(file.left_out, 'section')} too short to be remembered")
    if file.pending:
        waits = count(len(file.pending), "fact")
        say(options, f"{waits} not embedded yet; the next sync or pass tries again")


def added(options: Options, done: Added) -> int:
    """What became of an agent's text; returns the exit code."""
    waits = bool(done.synced and done.synced.attention)
    code = WAITS if waits or done.status == "queued" else DONE
    if options.json:
        emit(done.as_json())
        return code
    where = f"{one_line(done.name)}, section {one_line(done.section)}"
    if done.status == "queued":
        say(options, f"waits for {where}: {done.reason}")
    elif done.status == "unchanged":
        say(options, f"it is there already: {where}")
    else:
        say(options, f"written into {where}")
    if done.synced:
        report(options, done.synced)
    return code
