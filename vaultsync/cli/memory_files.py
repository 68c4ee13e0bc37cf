"""`memory-file`: MEMORY.md and its like, kept in step with the store.

What came of memory files, as JSON or for a person.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.exit_codes import DONE, WAITS
from vaultsync.cli.format_facts import count
from vaultsync.cli.format_reports import attention
from vaultsync.cli.options import Options, agent_option, common, text_of
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


@click.group("memory-file")
def memory_file() -> None:
    """Keep MEMORY.md and its like in step with the store."""


@memory_file.command("sync")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@agent_option
@click.option("--scope", metavar="S", help="Who may see new facts; else the agent's.")
@click.option(
    "--include",
    metavar="GLOB",
    multiple=True,
    help="Files of a folder that are taken; else MEMORY.md.",
)
@click.option(
    "--exclude", metavar="GLOB", multiple=True, help="Files that are not taken."
)
@click.option(
    "--again",
    is_flag=True,
    help="Say all anew: edits and deletions of its facts do not stand.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)
@common
def sync_file(
    options: Options,
    *,
    files: Sequence[str],
    agent: str | None,
    scope: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
    again: bool,
    dry_run: bool,
) -> int:
    """Bring the store up to what FILE says, a fact for each section.

    The file is the authority and is not changed. Of a folder those files are taken that
    --include names, such as '**/MEMORY.md'.
    """
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress

    with session.memory(options, agent=agent) as memory, progress(options) as bar:
        report = memory.sync_memory_file(
            *files,
            scope=scope,
            include=include,
            exclude=exclude,
            again=again,
            dry_run=dry_run,
            progress=bar,
        )
    return report(options, report)


@memory_file.command("add")
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("text", required=False)
@click.option(
    "--section", metavar="S", required=True, help="The heading that TEXT stands under."
)
@click.option(
    "--replace",
    "replace_all",
    is_flag=True,
    help="TEXT is all that the section says then.",
)
@agent_option
@common
def add_text(
    options: Options,
    *,
    file: str,
    text: str | None,
    section: str,
    replace_all: bool,
    agent: str | None,
) -> int:
    """Write an agent's TEXT into FILE; - or nothing reads stdin.

    Only sections that agents made are changed. A person's save at the same moment
    stands, and TEXT waits in the queue until the next sync.
    """
    said = text_of(text, what="text")

    from vaultsync.cli import vault as session

    with session.memory(options, agent=agent) as memory:
        added = memory.add_to_memory_file(
            file, said, section=section, replace_all=replace_all
        )
    return added(options, added)
