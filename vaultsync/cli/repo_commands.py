"""`repo`: conventions, decisions and notes about a git repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

from vaultsync.api.memory import Memory
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import print_recorded
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    DefaultGroup,
    agent_option,
    choice_option,
    common,
    flag,
    number_option,
    text_option,
)
from vaultsync.cli.output import Options, clean, clean_one_line, dim, echo
from vaultsync.cli.tables import print_pairs, table
from vaultsync.cli.user_input import text_or_stdin
from vaultsync.errors import VaultsyncError
from vaultsync.model.counts import count_noun

Command = Callable[..., Any]

repo_option = text_option(
    "--repo", "PATH", "A folder in the repository, or its hash; default: this folder."
)
branch_scope_option = choice_option(
    "--branch-scope",
    ("perBranch", "sharedRepo"),
    "Keep separate memories per branch, or share them; default: $MEMORY_BRANCH_SCOPE, else"
    " the setting.",
)
tag_option = text_option("--tag", "X", "A tag; repeatable.", "tags", multiple=True)
paths_option = text_option(
    "--path",
    "PATH",
    "An open file, from the root; repeatable; default: those with uncommitted changes.",
    "paths",
    multiple=True,
)
id_option = text_option("--id", "ID", "Id of the entry to change.")
unscoped_option = flag("--unscoped", "Apply it to every branch.")


def repo_options(command: Command) -> Command:
    """Add `--repo`, `--branch-scope` and `--agent`, which most of these commands take."""
    return repo_option(branch_scope_option(agent_option(command)))


@click.group(cls=DefaultGroup, default="list")
def repo() -> None:
    """Remember conventions, decisions and notes per git repository.

    Conventions, decisions, notes and summaries apply to the branch on which they were written,
    and to other branches once it is merged. Without a command, it lists what applies to the
    current branch.
    """


@repo.command()
@click.argument("path", required=False, metavar="[PATH]")
@branch_scope_option
@common
def identity(options: Options, *, path: str | None, branch_scope: Any) -> None:  # noqa: ANN401 - click's options
    """Show how vaultsync identifies the repository of a folder."""
    with open_memory(options) as memory:
        identity = memory.repos.identity(path, branch_scope=branch_scope)
    if options.printed_as_json(identity):
        return
    names = ("repo_hash", "lineage", "root", "remote", "branch", "commit", "branch_scope")
    print_pairs([(name.replace("_", " "), str(getattr(identity, name) or "–")) for name in names])
    for each in identity.warnings:
        options.print_message(dim(f"\n{clean(each)}"))


@repo.group()
def add() -> None:
    """Record a convention, a decision or a note."""


@add.command()
@click.argument("title")
@click.argument("text", required=False, metavar="[TEXT|-]")
@tag_option
@id_option
@unscoped_option
@repo_options
@common
def convention(options: Options, *, title: str, text: str | None, **values: Any) -> None:  # noqa: ANN401 - click's options
    """Record a convention.

    It replaces the convention of the same title on the branch. TEXT may be piped in.
    """
    content = text_or_stdin(text, what="text of the convention")
    with open_memory(options) as memory:
        entry = memory.repos.upsert_convention(title=title, content=content, **values)
        _print_entry(options, memory, entry)


@add.command()
@click.argument("summary")
@click.argument("rationale", required=False, metavar="[RATIONALE|-]")
@text_option(
    "--path", "PATH", "Path that it affects, from the root; repeatable.", "paths", multiple=True
)
@id_option
@unscoped_option
@repo_options
@common
def decision(
    options: Options,
    *,
    summary: str,
    rationale: str | None,
    paths: Sequence[str],
    **values: Any,  # noqa: ANN401 - click's options
) -> None:
    """Record a decision, and its rationale.

    It replaces the decision of the same summary on the branch.
    """
    rationale_text = "" if rationale is None else text_or_stdin(rationale, what="rationale")
    with open_memory(options) as memory:
        entry = memory.repos.upsert_decision(
            summary=summary, rationale=rationale_text, impacted_paths=paths, **values
        )
        _print_entry(options, memory, entry)


@add.command()
@click.argument("text", required=False, metavar="[TEXT|-]")
@choice_option("--source", ("manual", "agent", "tool"), "Source.")
@unscoped_option
@repo_options
@common
def note(options: Options, *, text: str | None, **values: Any) -> None:  # noqa: ANN401 - click's options
    """Record a note.

    TEXT may be piped in.
    """
    content = text_or_stdin(text, what="text of the note")
    with open_memory(options) as memory:
        entry = memory.repos.add_note(content=content, **values)
        _print_entry(options, memory, entry)


def _print_entry(options: Options, memory: Memory, entry: Any) -> None:  # noqa: ANN401 - one of four structs
    if options.printed_as_json(entry):
        return
    echo(clean_one_line(entry.id))
    with suppress(VaultsyncError):  # it is written, but cannot be read right now
        print_recorded(options, memory.get(entry.id, used=False))


@repo.command("list")
@repo_options
@common
def list_(options: Options, **values: Any) -> None:  # noqa: ANN401 - click's options
    """List what applies to the current branch."""
    with open_memory(options) as memory:
        memories = memory.repos.get_repo_memory(**values)
    if options.printed_as_json(memories):
        return
    rows = [["convention", x.id, x.title, ""] for x in memories.conventions]
    rows += [["decision", x.id, x.summary, ", ".join(x.impacted_paths)] for x in memories.decisions]
    rows += [["note", x.id, x.content, x.source] for x in memories.notes]
    rows += [["summary", x.id, x.summary, f"{x.run_id} {x.step_id}"] for x in memories.summaries]
    table(["kind", "id", "text", "about"], rows)
    if not rows:
        options.print_message("nothing is known about this branch")


@repo.command()
@click.argument("run")
@click.argument("step")
@click.argument("text", required=False, metavar="[TEXT|-]")
@tag_option
@text_option("--follow-up", "T", "Remaining task; repeatable.", "follow_ups", multiple=True)
@repo_options
@common
def summary(options: Options, *, run: str, step: str, text: str | None, **values: Any) -> None:  # noqa: ANN401 - click's options
    """Record a summary of completed work.

    Say what was done and what is left to do.

    TEXT may be piped in.
    """
    content = text_or_stdin(text, what="summary")
    with open_memory(options) as memory:
        entry = memory.repos.append_summary(run, step, content, **values)
        _print_entry(options, memory, entry)


@repo.command()
@number_option("--max-chars", "Maximum number of characters.", minimum=1, default=8_000)
@paths_option
@repo_options
@common
def context(options: Options, *, max_chars: int, paths: Sequence[str], **values: Any) -> None:  # noqa: ANN401 - click's options
    """Print the context for a work step."""
    with open_memory(options) as memory:
        pack = memory.repos.context(max_chars=max_chars, paths=paths or None, **values)
    if options.printed_as_json(pack):
        return
    echo(clean(pack.text.rstrip()))
    if not pack.items:
        options.print_message("nothing is known about this branch")
    if pack.left_out:
        options.print_message(dim(f"\n{len(pack.left_out)} left out; --json lists them"))


@repo.command()
@text_option("--from", "B", "Only memories from this branch.", "source")
@text_option("--to", "B", "Target branch; default: the current branch.", "target")
@repo_option
@common
def promote(options: Options, *, source: str | None, target: str | None, repo: str | None) -> None:
    """Record what a merge brought to a branch.

    Memories from branches that were squashed, rebased or cherry-picked then apply permanently, in
    all clones. The daemon does this automatically. `vaultsync undo` reverts it.
    """
    with open_memory(options) as memory:
        report = memory.repos.promote(repo, source=source, target=target)
    if options.printed_as_json(report):
        return
    echo(f"promoted: {report.promoted}")
    if report.run:
        options.print_message(f"`vaultsync undo {report.run}` reverts it")
    elif not report.promoted:
        options.print_message("entries that were merged with their commits apply without it")


@repo.command()
@text_option("--from", "B", "Source branch; it may be deleted.", "source", required=True)
@text_option("--to", "B", "Target branch.", "target", required=True)
@repo_option
@common
def copy(options: Options, *, source: str, target: str, repo: str | None) -> None:
    """Apply the memories of one branch to another, too.

    Use it after a branch was renamed or deleted. `vaultsync undo` reverts it.
    """
    with open_memory(options) as memory:
        report = memory.repos.copy(repo, source=source, target=target)
    if options.printed_as_json(report):
        return
    echo(f"copied: {report.copied}")
    if report.run:
        options.print_message(f"`vaultsync undo {report.run}` reverts it")


@repo.command("map")
@number_option("--max-chars", "Maximum number of characters.", default=4_000)
@paths_option
@flag("--refresh", "Read all files again, not only changed ones.")
@repo_option
@branch_scope_option
@common
def map_(options: Options, *, paths: Sequence[str], **values: Any) -> None:  # noqa: ANN401 - click's options
    """Print a map of the most referenced definitions in the code.

    Definitions that open files depend on come first. Only files tracked by git are included.
    """
    with open_memory(options) as memory:
        code_map = memory.repos.map(paths=paths or None, **values)
    if options.printed_as_json(code_map):
        return
    echo(clean(code_map.text.rstrip("\n")))
    if code_map.parser == "patterns":
        options.print_message(
            dim("definitions are guessed; to parse them: python -m pip install 'vaultsync[repo]'")
        )


@repo.command()
@click.argument("file")
@number_option("--budget", "Maximum size of the block in tokens.", metavar="TOKENS", default=1_000)
@flag("--dry-run", "Show the result without writing it.")
@repo_options
@common
def instructions(options: Options, *, file: str, **values: Any) -> int:  # noqa: ANN401 - click's options
    """Write the conventions into a file such as AGENTS.md.

    Only a managed block in the file changes. Without conventions, the block is removed. The exit
    code is 3 if some conventions did not fit into the budget.
    """
    with open_memory(options) as memory:
        result = memory.repos.instructions(file, **values)
    if not options.printed_as_json(result):
        outcome = "would be written" if result.dry_run else "was written"
        state = outcome if result.changed else "is up to date"
        size = count_noun(len(result.included), "convention")
        size += f", {result.tokens:,} of {result.budget:,} tokens"
        options.print_message(f"{clean_one_line(result.file)} {state}: {size}")
        if result.left_out:
            options.print_message(
                f"{len(result.left_out)} did not fit: {', '.join(result.left_out)}"
            )
    return EXIT_NEEDS_REVIEW if result.left_out else EXIT_DONE
