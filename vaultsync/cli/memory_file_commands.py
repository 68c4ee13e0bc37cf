"""`memory-file`: sync MEMORY.md and similar files with the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_reports import print_notices
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    agent_option,
    choice_option,
    common,
    dry_run_option,
    flag,
    number_option,
    scope_option,
    text_option,
)
from vaultsync.cli.output import Options, clean_one_line, dim, echo, progress_bar, style
from vaultsync.cli.tables import table
from vaultsync.cli.user_input import text_or_stdin
from vaultsync.memory_files.host_limits import HOST_LIMITS
from vaultsync.memory_files.report import AddResult, FileResult, ManagedFile, MemoryFileReport
from vaultsync.model.counts import count_noun

_ACTION_WORDS = (
    ("created", "new"),
    ("updated", "changed"),
    ("forgotten", "forgotten"),
    ("let_go", "detached"),
    ("rewritten", "rewritten"),
    ("removed", "removed"),
    ("returned", "back in the file"),
    ("unchanged", "unchanged"),
)

_MAX_NAMED = 5
"""Maximum number of short sections to list."""


def print_memory_report(options: Options, report: MemoryFileReport) -> int:
    """Print what a sync did, and return the exit code."""
    code = EXIT_NEEDS_REVIEW if report.attention else EXIT_DONE
    if options.printed_as_json(report):
        return code
    if not options.quiet:
        for file in report.files:
            _print_file(options, file, report)
    print_notices(report.attention)
    if report.run and report.counts["forgotten"]:
        options.print_message(f"`vaultsync undo {report.run}` restores what was forgotten")
    if not report.quiet and not report.dry_run:
        options.print_message(dim(f"\n{report.seconds:.2f} s"))
    return code


def _print_file(options: Options, file: FileResult, report: MemoryFileReport) -> None:
    parts = [f"{file.counts[name]} {word}" for name, word in _ACTION_WORDS if file.counts[name]]
    notices = [each for each in report.attention if each.path == file.name]
    failed = any(each.kind.endswith("Error") for each in notices)
    line = ", ".join(parts) or ("skipped" if failed else "nothing to remember")
    prefix = "dry run: " if report.dry_run else ""
    echo(style(f"{prefix}{clean_one_line(file.name)}: {line}", bold=True))
    rows = [
        [
            "detach" if each.action == "let_go" else each.action,
            f"{each.title} (line {each.line})" if each.line else each.title,
            ", ".join(each.fields),
            each.reason,
        ]
        for each in file.actions
    ]
    table(["action", "section", "fields", "why"], rows)
    if file.agent:
        text = f"its facts are those of the agent {file.agent}, as before"
        options.print_message(clean_one_line(text))
    if file.written:
        options.print_message(f"{count_noun(file.written, 'queued text')} written to the file")
    if file.left_out:
        names = ", ".join(clean_one_line(each) for each in file.short[:_MAX_NAMED])
        more = ", …" if len(file.short) > _MAX_NAMED else ""
        number = count_noun(file.left_out, "section")
        options.print_message(f"{number} too short to remember: {names}{more}")
    if file.pending:
        number = count_noun(len(file.pending), "fact")
        pronoun = "it" if len(file.pending) == 1 else "them"
        options.print_message(f"{number} not embedded yet; keyword search finds {pronoun}")


def print_added(options: Options, added: AddResult) -> int:
    """Print what happened to an agent's text, and return the exit code."""
    notices = added.synced and added.synced.attention
    code = EXIT_NEEDS_REVIEW if notices or added.status == "queued" else EXIT_DONE
    if options.printed_as_json(added):
        return code
    where = f"{clean_one_line(added.name)}, section {clean_one_line(added.section)}"
    if added.status == "queued":
        options.print_message(f"queued for {where}: {added.reason}")
    elif added.status == "unchanged":
        options.print_message(f"already in {where}")
    else:
        options.print_message(f"written to {where}")
    if added.synced:
        print_memory_report(options, added.synced)
    return code


def _nothing_to_write(scopes: Sequence[str]) -> str:
    """Describe how to add a fact if there is none for a block."""
    if scopes:
        where = f"the scope {scopes[0]} has" if len(scopes) == 1 else f"{', '.join(scopes)} have"
        remember = f"`vaultsync remember TEXT --scope {scopes[0]}` stores one"
        more = "; `vaultsync list` shows the scopes of facts"
    else:
        where, remember, more = "there are", "`vaultsync remember TEXT` stores one", ""
    text = f"{where} no facts but those that come from the file itself: {remember}{more}"
    return clean_one_line(text)


def print_managed(options: Options, file: ManagedFile, scopes: Sequence[str] = ()) -> int:
    """Print the facts and the size of a block, and return the exit code.

    `scopes` are the scopes that were requested for its facts.
    """
    code = EXIT_NEEDS_REVIEW if file.attention else EXIT_DONE
    if options.printed_as_json(file):
        return code
    prefix = "dry run: " if file.dry_run else ""
    echo(style(f"{prefix}{clean_one_line(file.name)}: {file.status}", bold=True))
    if not file.attention:
        max_bytes = f" of {file.max_bytes:,}" if file.max_bytes else ""
        max_lines = f" of {file.max_lines:,}" if file.max_lines else ""
        line = (
            f"{count_noun(len(file.included), 'fact')}, {file.tokens:,} of {file.budget:,} tokens"
        )
        line += f"; the file has {file.bytes:,}{max_bytes} bytes and {file.lines:,}{max_lines}"
        options.print_message(f"{line} lines ({file.host})")
    if not (file.included or file.left_out or file.edits or file.attention):
        options.print_message(_nothing_to_write(scopes))
    if file.edits:
        options.print_message("\nyour edits:")
        rows = [
            [each.action.replace("_", " "), each.title, ", ".join(each.fields), each.reason]
            for each in file.edits
        ]
        table(["what", "fact", "fields", "why"], rows)
    if file.left_out:
        options.print_message(f"\n{count_noun(len(file.left_out), 'fact')} left out:")
        table(
            ["fact", "path", "why"],
            [[each.title, each.path or each.id, each.reason] for each in file.left_out],
        )
    print_notices(file.attention)
    return code


@click.group("memory-file")
def memory_file() -> None:
    """Sync MEMORY.md and similar files with the store."""


@memory_file.command("sync")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@agent_option
@scope_option("The scope of new facts; default: the agent's.")
@text_option(
    "--include", "GLOB", "Files to sync in a folder; default: MEMORY.md; repeatable.", multiple=True
)
@text_option("--exclude", "GLOB", "Files to skip; repeatable.", multiple=True)
@flag("--again", "Write every section to its fact again, replacing edits and deletions of facts.")
@dry_run_option
@text_option("--confirm", "TOKEN", "Confirm the sync that the guard stopped, by its id.")
@common
def sync_file(options: Options, *, files: Sequence[str], **request: Any) -> int:  # noqa: ANN401 - click's options
    """Update the store from FILE, one fact per section.

    FILE is the source of truth; only its managed sections change, to match their facts. If FILE
    is a folder, --include selects files in it, such as '**/MEMORY.md'.
    """
    with open_memory(options) as memory, progress_bar(options) as bar:
        report = memory.sync_memory_file(*files, **request, progress=bar)
    return print_memory_report(options, report)


@memory_file.command("add")
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("text", required=False)
@text_option("--section", "S", "The heading of the section.", required=True)
@flag("--replace", "Replace the content of the section with TEXT.", "replace_all")
@agent_option
@common
def add_text(
    options: Options, *, file: str, text: str | None, section: str, replace_all: bool
) -> int:
    """Add an agent's TEXT to FILE; - or no TEXT reads stdin.

    Only sections that agents created are changed. If the user saves FILE at the same
    moment, the user's version is kept and TEXT is queued until the next sync.
    """
    content = text_or_stdin(text, what="text")
    with open_memory(options) as memory:
        added = memory.add_to_memory_file(file, content, section=section, replace_all=replace_all)
    return print_added(options, added)


@memory_file.command("manage")
@click.argument("file", type=click.Path(dir_okay=False))
@number_option(
    "--budget", "Maximum size of the block in tokens.", metavar="TOKENS", minimum=1, default=2_000
)
@number_option("--max-bytes", "Maximum size of FILE; default: that of the host.", minimum=1)
@number_option("--max-lines", "Maximum lines of FILE; default: those of the host.", minimum=1)
@choice_option(
    "--host", list(HOST_LIMITS), "The host that reads FILE; default: guessed from its name."
)
@choice_option(
    "--form",
    ["full", "index"],
    "Write a section per fact, or a line with its path.",
    default="full",
)
@text_option(
    "--scope", "S", "Only facts of this scope; repeatable.", "scopes", multiple=True, names="scope"
)
@agent_option
@dry_run_option
@common
def manage_file(options: Options, *, file: str, scopes: Sequence[str], **request: Any) -> int:  # noqa: ANN401 - click's options
    """Fill a block of FILE with the facts that a session needs.

    FILE is MEMORY.md, CLAUDE.md, AGENTS.md, GEMINI.md or similar. The block contains whole facts,
    most important first, up to its limits. Nothing outside the block changes. Your edits in
    the block are synced to the facts.
    """
    with open_memory(options) as memory:
        managed = memory.manage_memory_file(file, scopes=scopes, **request)
    return print_managed(options, managed, scopes)
