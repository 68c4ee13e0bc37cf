"""`memory-file`: MEMORY.md and its like, kept in step with the store."""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.options import Options, agent_option, common, text_of


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
    from vaultsync.cli import show_memory_files
    from vaultsync.cli import vault as session
    from vaultsync.cli.progress import progress

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
    return show_memory_files.report(options, report)


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

    from vaultsync.cli import show_memory_files
    from vaultsync.cli import vault as session

    with session.memory(options, agent=agent) as memory:
        added = memory.add_to_memory_file(
            file, said, section=section, replace_all=replace_all
        )
    return show_memory_files.added(options, added)
