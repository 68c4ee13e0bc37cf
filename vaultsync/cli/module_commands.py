"""`module`: layered documents of a project, mirrored to a remote."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_reports import print_notices
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import agent_option, common, text_option
from vaultsync.cli.output import Options, clean, clean_one_line, echo, print_json
from vaultsync.cli.user_input import text_or_stdin
from vaultsync.model.counts import count_noun

folder_option = text_option(
    "--folder",
    "DIR",
    "The folder of the modules; default: docs/memories of the git repository here, else of the"
    " vault.",
    type=click.Path(file_okay=False),
)


@click.group()
def module() -> None:
    """Write, read and sync the layered documents of a project."""


@module.command()
@click.argument("topic")
@click.argument("chunk")
@click.argument("text", required=False, metavar="[TEXT|-]")
@text_option("--title", "S", "Title; default: the first heading.")
@text_option("--tag", "X", "A tag; repeatable.", "tags", multiple=True)
@text_option(
    "--expect",
    "SHA256",
    "Fail unless the module has this checksum; `new`: unless it does not exist.",
)
@folder_option
@agent_option
@common
def write(
    options: Options,
    *,
    topic: str,
    chunk: str,
    text: str | None,
    title: str | None,
    tags: tuple[str, ...],
    expect: str | None,
    folder: str | None,
) -> int:
    """Write a module, and mirror it.

    TEXT is the complete content of the module; - or no TEXT reads stdin.
    """
    content = text_or_stdin(text, what="text")
    with open_memory(options) as memory:
        written = memory.modules.write(
            topic, chunk, content, title=title, tags=tags or None, expect=expect, folder=folder
        )
    if not options.printed_as_json(written):
        echo(clean_one_line(written.path))
        why = f": {clean_one_line(written.reason)}" if written.reason else ""
        options.print_message(f"{written.sync_status}{why}")
        print_notices(written.attention)
    return EXIT_NEEDS_REVIEW if written.attention else EXIT_DONE


@module.command()
@click.argument("topic")
@click.argument("chunk", required=False)
@folder_option
@agent_option
@common
def read(options: Options, *, topic: str, chunk: str | None, folder: str | None) -> None:
    """Print a topic, or one module of it.

    The remote is asked first; if it gives no confident answer, the files are read.
    """
    with open_memory(options) as memory:
        answer = memory.modules.read(topic, chunk, folder=folder)
    if options.printed_as_json(answer):
        return
    echo(clean(answer.text.rstrip("\n")))
    confidence = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
    reason = f" ({clean_one_line(answer.reason)})" if answer.reason else ""
    options.print_message(f"source: {answer.source}{confidence}{reason}")


@module.command()
@text_option("--chunk", "ID", "Sync only this module.")
@folder_option
@agent_option
@common
def sync(options: Options, *, chunk: str | None, folder: str | None) -> int:
    """Sync edited modules to files, facts, index and remote.

    Modules in the backlog are sent again.
    """
    with open_memory(options) as memory:
        report = memory.modules.sync(chunk, folder=folder)
    if not options.printed_as_json(report):
        done = [
            (report.facts, f"{count_noun(report.facts, 'fact')} updated"),
            (report.files, f"{count_noun(report.files, 'file')} updated"),
            (report.synced, f"{report.synced} synced"),
            (report.removed, f"{report.removed} removed from the remote"),
            (report.failed, f"{report.failed} failed"),
            (report.pending, f"{report.pending} pending"),
        ]
        echo(f"modules: {', '.join(words for number, words in done if number) or 'nothing to do'}")
        print_notices(report.attention)
        if report.run:
            options.print_message(f"`vaultsync undo {report.run}` reverts it")
    return EXIT_NEEDS_REVIEW if report.attention or report.pending else EXIT_DONE


@module.command()
@folder_option
@agent_option
@common
def status(options: Options, *, folder: str | None) -> int:
    """Show the backlog of modules not sent to the remote.

    The exit code is 3 if too many modules are waiting, or one has waited too long.
    """
    with open_memory(options) as memory:
        backlog = memory.modules.status(folder=folder)
    if not options.printed_as_json(backlog):
        oldest = f", the oldest for {backlog.oldest_hours:.1f} hours" if backlog.pending else ""
        number = count_noun(backlog.pending, "module")
        echo(f"{clean_one_line(backlog.folder)}: {number} pending{oldest}")
        options.print_message(f"remote: {clean_one_line(backlog.remote or 'none')}")
        print_notices(backlog.attention)
    return EXIT_NEEDS_REVIEW if backlog.alert or backlog.attention else EXIT_DONE


@module.command()
@folder_option
@agent_option
@common
def index(options: Options, *, folder: str | None) -> None:
    """Generate memory-index.json from the manifests, and print it."""
    with open_memory(options) as memory:
        print_json(memory.modules.index(folder=folder))
