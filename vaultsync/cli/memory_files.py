"""`memory-file`: MEMORY.md and its like, kept in step with the store.

What came of memory files, as JSON or for a person.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import count_noun
from vaultsync.cli.format_reports import print_notices
from vaultsync.cli.options import Options, agent_option, common, text_or_stdin
from vaultsync.cli.output import clean_one_line, dim, echo, print_json, print_message, style, table
from vaultsync.memory_files.report import AddResult, FileResult, MemoryFileReport

_ACTION_WORDS = (
    ("created", "new"),
    ("updated", "changed"),
    ("forgotten", "forgotten"),
    ("let_go", "let go"),
    ("unchanged", "unchanged"),
)


def print_memory_report(options: Options, done: MemoryFileReport) -> int:
    """What a sync did; returns the exit code."""
    code = EXIT_NEEDS_REVIEW if done.attention else EXIT_DONE
    if options.json:
        print_json(done)
        return code
    for file in done.files:
        _file(options, file, done)
    print_notices(done.attention)
    if not done.quiet and not done.dry_run:
        print_message(options, dim(f"\n{done.seconds:.2f} s"))
    return code


def _file(options: Options, file: FileResult, done: MemoryFileReport) -> None:
    if options.quiet:
        return
    counts = file.counts
    did = [f"{counts[name]} {words}" for name, words in _ACTION_WORDS if counts[name]]
    told = [each for each in done.attention if each.path == file.name]
    unread = any(each.kind.endswith("Error") for each in told)
    nothing = "left out" if unread else "nothing in it to remember"
    line = ", ".join(did) or nothing
    would = "dry run: " if done.dry_run else ""
    echo(style(f"{would}{clean_one_line(file.name)}: {line}", bold=True))
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
        print_message(options, f"{count_noun(file.written, 'waiting text')} written into it")
    if file.left_out:
        print_message(
            options,
            f"{count_noun(file.left_out, 'section')} too short to be remembered",
        )
    if file.pending:
        waits = count_noun(len(file.pending), "fact")
        print_message(options, f"{waits} not embedded yet; the next sync or pass tries again")


def print_added(options: Options, done: AddResult) -> int:
    """What became of an agent's text; returns the exit code."""
    waits = bool(done.synced and done.synced.attention)
    code = EXIT_NEEDS_REVIEW if waits or done.status == "queued" else EXIT_DONE
    if options.json:
        print_json(done)
        return code
    where = f"{clean_one_line(done.name)}, section {clean_one_line(done.section)}"
    if done.status == "queued":
        print_message(options, f"waits for {where}: {done.reason}")
    elif done.status == "unchanged":
        print_message(options, f"it is there already: {where}")
    else:
        print_message(options, f"written into {where}")
    if done.synced:
        print_memory_report(options, done.synced)
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
@click.option("--exclude", metavar="GLOB", multiple=True, help="Files that are not taken.")
@click.option(
    "--again",
    is_flag=True,
    help="Say all anew: edits and deletions of its facts do not stand.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
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
    from vaultsync.cli.output import progress_bar

    with (
        session.open_memory(options, agent=agent) as memory,
        progress_bar(options) as bar,
    ):
        report = memory.sync_memory_file(
            *files,
            scope=scope,
            include=include,
            exclude=exclude,
            again=again,
            dry_run=dry_run,
            progress=bar,
        )
    return print_memory_report(options, report)


@memory_file.command("add")
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("text", required=False)
@click.option("--section", metavar="S", required=True, help="The heading that TEXT stands under.")
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
    said = text_or_stdin(text, what="text")

    from vaultsync.cli import vault as session

    with session.open_memory(options, agent=agent) as memory:
        added = memory.add_to_memory_file(file, said, section=section, replace_all=replace_all)
    return print_added(options, added)
